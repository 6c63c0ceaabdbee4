/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_election_lead_future. */

#include "election/election.h"
#include "future/future.h"

struct leading {
    struct uvzk__future future;
    struct uvzk__lead_request request;
};

static void has_led(struct uvzk__lead_request *request, int status)
{
    uvzk__future_over(&UVZK__CONTAINER_OF(request, struct leading, request)->future,
                      status);
}

static bool stop_waiting(struct uvzk__future *future)
{
    uvzk__list_remove(&UVZK__CONTAINER_OF(future, struct leading, future)->request.link);
    return true;
}

static const struct uvzk__future_kind leading = {.withdraw = stop_waiting};

int uvzk_election_lead_future(uvzk_election_t *election, uvzk_future_t *handle)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(handle, &leading, sizeof(struct leading), &future);

    if (status != 0) {
        return status;
    }
    struct uvzk__lead_request *request =
        &UVZK__CONTAINER_OF(future, struct leading, future)->request;
    request->done = has_led;
    status = uvzk__election_wait_to_lead(election, request);
    return uvzk__future_begun(future, uvzk__election_session(election), status);
}
