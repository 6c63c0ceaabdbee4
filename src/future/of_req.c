/* SPDX-License-Identifier: Apache-2.0 */
/* Futures of requests: uvzk_future_req hands out the request of a future for any function
 * that takes one, and uvzk_future_complete is its callback. The function tells the owner of
 * the request whether the call has begun (engine/req.h). What the call has found is copied,
 * because the callback only borrows it. */
#include <string.h>

#include "base/memory.h"
#include "election/election_participants.h"
#include "engine/req.h"
#include "future/future.h"

struct requested {
    struct uvzk__future future;
    uvzk_req_t req;
    uvzk_result_t result; /* what it points to is the future's */
    uvzk_stat_t stat;
    uvzk_atomic_value_t value;
};

static struct requested *requested_of(struct uvzk__future *future)
{
    return UVZK__CONTAINER_OF(future, struct requested, future);
}

/* ---------------------------------------------------------------- what it has found */

/* Copies the paths into one allocation: the pointers, then the texts. NULL: out of
 * memory. */
static const char **copy_paths(const char *const *paths, size_t count)
{
    size_t size = count * sizeof(paths[0]) + 1; /* not 0 even without paths */

    for (size_t i = 0; i < count; i++) {
        size += strlen(paths[i]) + 1;
    }
    const char **copy = uvzk__malloc(size);
    char *text = copy == NULL ? NULL : (char *)(copy + count);
    for (size_t i = 0; copy != NULL && i < count; i++) {
        size_t length = strlen(paths[i]) + 1;
        copy[i] = memcpy(text, paths[i], length);
        text += length;
    }
    return copy;
}

static void free_participants(const uvzk_election_participant_t *const *participants,
                              size_t count)
{
    for (size_t i = 0; participants != NULL && i < count; i++) {
        uvzk__known_participant_free(participants[i]);
    }
    uvzk__free((void *)(uintptr_t)participants);
}

/* NULL: out of memory. */
static const uvzk_election_participant_t **
copy_participants(const uvzk_election_participant_t *const *participants, size_t count)
{
    const uvzk_election_participant_t **copy = uvzk__calloc(count + 1, sizeof(copy[0]));

    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = uvzk__known_participant_copy(participants[i]);
        if (copy[i] == NULL) {
            free_participants(copy, i);
            return NULL;
        }
    }
    return copy;
}

static void free_result(struct uvzk__future *future)
{
    const uvzk_result_t *result = &requested_of(future)->result;

    uvzk__free((void *)(uintptr_t)result->data);
    uvzk__free((void *)(uintptr_t)result->paths);
    free_participants(result->participants, result->count);
}

/* Returns 0 or UV_ENOMEM. */
static int copy_result(struct requested *requested, const uvzk_result_t *found)
{
    uvzk_result_t *result = &requested->result;
    bool complete = true;

    *result = uvzk__result_of_nothing();
    result->failed_op = found->failed_op;
    if (found->value != NULL) {
        requested->value = *found->value;
        result->value = &requested->value;
    }
    if (found->stat != NULL) {
        requested->stat = *found->stat;
        result->stat = &requested->stat;
        result->data = uvzk__memdup(found->data, found->length);
        result->length = found->length;
        complete = result->data != NULL;
    }
    if (found->paths != NULL) {
        result->paths = copy_paths(found->paths, found->count);
        result->holding = found->holding;
        complete = result->paths != NULL;
    }
    if (found->participants != NULL) {
        result->participants = copy_participants(found->participants, found->count);
        complete = result->participants != NULL;
    }
    result->count = complete ? found->count : 0;
    return complete ? 0 : UV_ENOMEM;
}

/* ---------------------------------------------------------------------- the call */

static void of_req_begun(uvzk_req_t *req, struct uvzk__session *session)
{
    (void)uvzk__future_begun(&UVZK__CONTAINER_OF(req, struct requested, req)->future,
                             session, 0);
}

/* A request that is under way is refused too, for a second call. */
static void of_req_refused(uvzk_req_t *req, int status)
{
    struct uvzk__future *future = &UVZK__CONTAINER_OF(req, struct requested, req)->future;

    if (future->state == UVZK__FUTURE_NEW) {
        (void)uvzk__future_begun(future, NULL, status);
    }
}

static const struct uvzk__req_owner owner = {
    .cb = uvzk_future_complete, .begun = of_req_begun, .refused = of_req_refused};

/* Its callback runs in any case, and ends the future. A call that cannot be cancelled, or
 * that has been already, goes on by itself. */
static bool of_req_withdraw(struct uvzk__future *future)
{
    (void)uvzk_req_cancel(&requested_of(future)->req);
    return false;
}

static const struct uvzk__future_kind kind = {.withdraw = of_req_withdraw,
                                              .freed = free_result};

void uvzk_future_complete(uvzk_req_t *req, int status)
{
    if (req == NULL || req->owner != &owner) {
        return;
    }
    struct requested *requested = UVZK__CONTAINER_OF(req, struct requested, req);
    const uvzk_result_t *found = req->result;

    /* Until the future is dropped the request is in use, for no other call. */
    req->impl = requested;
    req->result = NULL;
    /* A cancelled future does not show what its call has found. */
    if (requested->future.state == UVZK__FUTURE_PENDING) {
        int copied = copy_result(requested, found);
        status = copied != 0 ? copied : status;
        req->result = &requested->result;
    }
    uvzk__future_over(&requested->future, status);
}

uvzk_req_t *uvzk_future_req(uvzk_future_t *handle)
{
    struct uvzk__future *future = handle == NULL ? NULL : handle->impl;

    if (future == NULL) {
        int status = uvzk__future_new(handle, &kind, sizeof(struct requested), &future);
        if (status != 0) {
            return uvzk__req_that_fails(status);
        }
        requested_of(future)->req.owner = &owner;
        handle->impl = future;
    }
    return future->kind == &kind ? &requested_of(future)->req
                                 : uvzk__req_that_fails(UV_EBUSY);
}
