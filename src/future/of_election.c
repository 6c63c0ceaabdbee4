/* The futures of calls on an election: lead, participants and close. */

#include "base/memory.h"
#include "base/refusal.h"
#include "election/election.h"
#include "election/known_participant.h"
#include "future/future.h"

/* ----------------------------------------------------------------------- lead */

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

int uvzk_election_lead_future(uvzk_election_t *election, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &leading, sizeof(struct leading), &future);

    if (status != 0) {
        return status;
    }
    struct uvzk__lead_request *request =
        &UVZK__CONTAINER_OF(future, struct leading, future)->request;
    request->done = has_led;
    status = uvzk__election_wait_to_lead(election, request);
    return uvzk__future_begun(future, uvzk__election_session(election), status);
}

/* --------------------------------------------------------------- participants */

struct participants_result {
    struct uvzk__future future;
    uvzk_req_t request;
    const uvzk_election_participant_t **participants; /* owned, and so is each of them */
    size_t count;
};

static struct participants_result *participants_result_of(struct uvzk__future *future)
{
    return UVZK__CONTAINER_OF(future, struct participants_result, future);
}

static void free_participants(struct uvzk__future *future)
{
    struct participants_result *result = participants_result_of(future);

    for (size_t i = 0; i < result->count; i++) {
        uvzk__known_participant_free(result->participants[i]);
    }
    uvzk__free(result->participants);
}

static const struct uvzk__future_kind participants_kind = {.freed = free_participants};

/* Copies what the callback only borrows. Returns 0 or UV_ENOMEM. */
static int copy_participants(struct participants_result *result,
                             const uvzk_election_participant_t *const *participants,
                             size_t count)
{
    result->participants = uvzk__calloc(count + 1, sizeof(result->participants[0]));
    if (result->participants == NULL) {
        return UV_ENOMEM;
    }
    for (; result->count < count; result->count++) {
        const uvzk_election_participant_t *copy =
            uvzk__known_participant_copy(participants[result->count]);
        if (copy == NULL) {
            return UV_ENOMEM;
        }
        result->participants[result->count] = copy;
    }
    return 0;
}

static void told(uvzk_req_t *request, int status)
{
    const uvzk_election_participant_t *const *participants =
        request->result->participants;
    size_t count = request->result->count;
    struct participants_result *result =
        UVZK__CONTAINER_OF(request, struct participants_result, request);

    if (status == 0) {
        status = copy_participants(result, participants, count);
    }
    uvzk__future_over(&result->future, status);
}

int uvzk_election_participants_future(uvzk_election_t *election, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &participants_kind,
                                  sizeof(struct participants_result), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_election_participants(election,
                                        &participants_result_of(future)->request, told);
    return uvzk__future_begun(future, uvzk__election_session(election), status);
}

int uvzk_future_election_participants(
    const uvzk_future_t *shell, const uvzk_election_participant_t *const **participants,
    size_t *count)
{
    struct uvzk__future *future = uvzk__future_done(shell, &participants_kind);

    if (shell == NULL) {
        return uvzk__refuse(UV_EINVAL, "future is NULL");
    }
    if (future == NULL) {
        return uvzk__refuse(
            UVZK_ESTATE, "future: not of a list of participants of an election that has "
                         "succeeded");
    }
    if (participants != NULL) {
        *participants = participants_result_of(future)->participants;
    }
    if (count != NULL) {
        *count = participants_result_of(future)->count;
    }
    return 0;
}

/* ---------------------------------------------------------------------- close */

static void closed(uvzk_election_t *election)
{
    uvzk__future_over(election->end_future, 0);
}

int uvzk_election_close_future(uvzk_election_t *election, uvzk_future_t *shell,
                               unsigned mode)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &uvzk__future_plain, sizeof(*future), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_election_close(election, mode, closed);
    if (status == 0) {
        election->end_future = future;
    }
    return uvzk__future_begun(future, uvzk__election_session(election), status);
}
