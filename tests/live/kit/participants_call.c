/* SPDX-License-Identifier: Apache-2.0 */
#include "participants_call.h"

#include <stdio.h>
#include <string.h>

static void on_listed(uvzk_req_t *request, int status)
{
    const char *const *paths = request->result->paths;
    size_t count = request->result->count;
    struct participants_call *participants = request->data;

    assert_int_equal(status, 0);
    participants->told++;
    participants->count = count;
    participants->holding = request->result->holding;
    for (size_t i = 0; i < count && i < PARTICIPANTS_CALL_PATHS; i++) {
        (void)snprintf(participants->paths[i], sizeof(participants->paths[i]), "%s",
                       paths[i]);
    }
}

void participants_call_run(struct participants_call *participants, struct world *world,
                           uvzk_lock_t *lock)
{
    memset(participants, 0, sizeof(*participants));
    participants->request.data = participants;
    assert_int_equal(uvzk_lock_participants(lock, &participants->request, on_listed), 0);
    assert_int_equal(participants->told, 0);
    assert_true(world_await(world, &participants->told, PATIENCE_MS));
}
