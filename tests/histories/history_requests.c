/* SPDX-License-Identifier: Apache-2.0 */
/* A request that is refused is not repeated without a pause, whatever was refused: in no
 * second does a client send more than a busy one would, by far. */
#include <inttypes.h>

#include "history_parts.h"

/* Of the client itself, and of each ticket. Three times what has been seen. */
#define REQUESTS_A_SECOND 240U
#define REQUESTS_A_TICKET 20U

void requests_begin(struct client_slot *slot)
{
    for (int i = 0; i < slot->sessions; i++) {
        request_rate_begin(&slot->request_rates[i], slot->history->sim, slot->ports[i],
                           history_transport.submitted);
    }
}

void requests_check(struct client_slot *slot)
{
    struct history *history = slot->history;
    uint64_t acquisitions =
        (uint64_t)history->worker_count * (uint64_t)history->recipe->acquisition_count;
    for (int i = 0; i < slot->sessions; i++) {
        uint64_t sent = request_rate_now(&slot->request_rates[i]);
        if (sent > REQUESTS_A_SECOND + REQUESTS_A_TICKET * acquisitions) {
            history_fail(history, "client %d sends %" PRIu64 " requests in a second",
                         slot->number, sent);
        }
    }
}
