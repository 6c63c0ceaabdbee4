/* A request that is refused is not repeated without a pause, whatever was refused: in no
 * second does a client send more than a busy one would, by far. */
#include <inttypes.h>

#include "history_parts.h"

/* Of the client itself, and of each ticket. Three times what has been seen. */
#define REQUESTS_A_SECOND 240U
#define REQUESTS_A_TICKET 20U

void requests_begin(struct seat *seat)
{
    for (int i = 0; i < seat->sessions; i++) {
        pace_begin(&seat->paces[i], seat->history->sim, seat->ports[i]);
    }
}

void requests_check(struct seat *seat)
{
    struct history *history = seat->history;
    uint64_t tickets =
        (uint64_t)history->actor_count * (uint64_t)history->recipe->ticket_count;
    for (int i = 0; i < seat->sessions; i++) {
        uint64_t sent = pace_look(&seat->paces[i]);
        if (sent > REQUESTS_A_SECOND + REQUESTS_A_TICKET * tickets) {
            history_fail(history, "client %d sends %" PRIu64 " requests in a second",
                         seat->number, sent);
        }
    }
}
