/* SPDX-License-Identifier: Apache-2.0 */
/* A combination: a future that is done when all, any or n of several futures are done
 * (uvzk_future_all_of, _any_of, _n_of).
 *
 * It is PENDING until enough parts are done with 0, or until too many have failed. When
 * it is done with 0, it is HOLDING, and the parts that won stay its parts. A combination
 * that this one is a part of may still fail, and then gives up those parts together with
 * this one. The parts that did not win are given up as soon as the combination is
 * done. */
#include <stdint.h>

#include "base/refusal.h"
#include "future/future.h"

#define DEPTH_MAX 64

struct part {
    struct uvzk__future *future; /* NULL: it is no longer a part */
    /* Of place i, in parts[i]: the index of the part that was i-th to be done. */
    size_t winner;
    int status; /* the status as counted; UV_EAGAIN: not counted yet */
};

struct combination {
    struct uvzk__future future;
    struct part *parts;
    size_t count, needed;
    size_t done, failed; /* how many parts are counted as done with 0, and as failed */
    /* The status of the part that failed first; the combination's status if it fails. */
    int first_failure;
};

static struct combination *combination_of(struct uvzk__future *future)
{
    return UVZK__CONTAINER_OF(future, struct combination, future);
}

static void combination_detach(struct combination *combination, size_t index)
{
    struct uvzk__future *part = combination->parts[index].future;

    if (part != NULL) {
        part->combination = NULL;
        part->index = 0;
        combination->parts[index].future = NULL;
    }
}

/* Gives up the parts that are not wanted, in their order; with `winners` those that are
 * done with 0 as well. */
static void give_up_parts(struct combination *combination, bool winners)
{
    for (size_t i = 0; i < combination->count; i++) {
        struct part *part = &combination->parts[i];
        if (part->future != NULL && (winners || part->status != 0)) {
            struct uvzk__future *future = part->future;
            /* Detached first, so that its end is not reported to this combination. */
            combination_detach(combination, i);
            uvzk__future_give_up(future, UV_ECANCELED);
        }
    }
}

static void detach_parts(struct uvzk__future *future)
{
    for (size_t i = 0; i < combination_of(future)->count; i++) {
        combination_detach(combination_of(future), i);
    }
}

static bool combination_withdraw(struct uvzk__future *future)
{
    give_up_parts(combination_of(future), true);
    return true;
}

static void free_parts(struct uvzk__future *future)
{
    detach_parts(future);
    uvzk__free(combination_of(future)->parts);
}

/* ------------------------------------------------------------------- counting */

static void combination_decide(struct combination *combination)
{
    struct uvzk__future *future = &combination->future;

    if (future->state != UVZK__FUTURE_PENDING) {
        return;
    }
    if (combination->done == combination->needed) {
        give_up_parts(combination, false);
        uvzk__future_holding(future);
    } else if (combination->count - combination->failed < combination->needed) {
        uvzk__future_give_up(future, combination->first_failure);
    }
}

static void count_failure(struct combination *combination, size_t index, int status)
{
    combination->parts[index].status = status;
    if (combination->failed++ == 0) {
        combination->first_failure = status;
    }
}

static void combination_count(struct combination *combination, size_t index, int status)
{
    if (status == 0) {
        combination->parts[index].status = 0;
        combination->parts[combination->done++].winner = index;
    } else {
        count_failure(combination, index, status);
    }
}

static void part_done(struct uvzk__future *future, struct uvzk__future *part)
{
    if (future->state == UVZK__FUTURE_PENDING) {
        combination_count(combination_of(future), part->index, part->status);
        combination_decide(combination_of(future));
    }
}

/* A part that was counted as done with 0 has lost its result: removes it from the places.
 * The following ones move up. */
static void take_back(struct combination *combination, size_t index)
{
    size_t place = 0;

    while (combination->parts[place].winner != index) {
        place++;
    }
    combination->done--;
    for (; place < combination->done; place++) {
        combination->parts[place].winner = combination->parts[place + 1].winner;
    }
}

/* In a pending combination the part now counts as failed. The status of a combination
 * that is done does not change. But if that combination is a part itself, the one around
 * it has lost this part. */
static void part_lost(struct uvzk__future *future, struct uvzk__future *part, int reason)
{
    struct combination *combination = combination_of(future);

    if (future->state == UVZK__FUTURE_PENDING &&
        combination->parts[part->index].status == 0) {
        take_back(combination, part->index);
        count_failure(combination, part->index, reason);
        combination_decide(combination);
    } else if (future->state == UVZK__FUTURE_HOLDING && future->combination != NULL) {
        future->combination->kind->part_lost(future->combination, future, reason);
    }
}

static void part_gone(struct uvzk__future *future, struct uvzk__future *part)
{
    struct combination *combination = combination_of(future);

    if (future->state == UVZK__FUTURE_PENDING &&
        combination->parts[part->index].status == UV_EAGAIN) {
        count_failure(combination, part->index, UV_ECANCELED);
        combination_decide(combination);
    } else {
        part_lost(future, part, UV_ECANCELED);
    }
    /* Deciding may have detached the part already. */
    if (part->combination == future) {
        combination_detach(combination, part->index);
    }
}

static bool combination_holds(const struct uvzk__future *future)
{
    return future->state == UVZK__FUTURE_HOLDING;
}

static const struct uvzk__future_kind kind = {
    .withdraw = combination_withdraw,
    .leave = detach_parts,
    .freed = free_parts,
    .part_done = part_done,
    .part_lost = part_lost,
    .part_gone = part_gone,
    .holds = combination_holds,
};

/* -------------------------------------------------------------------- combining */

/* A part may be combined again only when all combinations around it are done. */
static bool belongs_to_pending(const struct uvzk__future *part)
{
    const struct uvzk__future *whole = part->combination;

    while (whole != NULL && whole->state != UVZK__FUTURE_PENDING) {
        whole = whole->combination;
    }
    return whole != NULL;
}

/* Returns true if the part belongs to the client of this session, in any of its
 * sessions. */
static bool is_of(const struct uvzk__future *part, const struct uvzk__session *session)
{
    return part->session != NULL && part->session->handle == session->handle;
}

/* Checks one part and marks it, so that the same part is found if it is listed twice.
 * Returns 0, UVZK_ESTATE, UV_EINVAL or UV_EBUSY, and marks only at 0. */
static int combination_name(const uvzk_future_t *handle,
                            const struct uvzk__session *session)
{
    struct uvzk__future *part = uvzk__future_of(handle);

    if (part == NULL) {
        return handle == NULL ? uvzk__refuse(UV_EINVAL, "parts: one is NULL")
                              : uvzk__refuse(UVZK_ESTATE, "parts: one is not in use");
    }
    if (!is_of(part, session) || part->kind->outlives || part->depth >= DEPTH_MAX) {
        return uvzk__refuse(UV_EINVAL,
                            !is_of(part, session) ? "parts: not all of one client"
                            : part->kind->outlives
                                ? "parts: one is the future of a client's close"
                                : "parts: combinations are nested more than 64 deep");
    }
    if (part->listed || belongs_to_pending(part)) {
        return uvzk__refuse(UV_EBUSY, part->listed
                                          ? "parts: one is named twice"
                                          : "parts: one belongs to another combination");
    }
    part->listed = true;
    return 0;
}

static int combination_check(uvzk_future_t *const *parts, size_t count, size_t needed,
                             struct uvzk__session **session)
{
    if (parts == NULL || needed == 0 || needed > count) {
        return uvzk__refuse(UV_EINVAL, parts == NULL ? "parts is NULL"
                                                     : "n is 0, or more than count");
    }
    const struct uvzk__future *first = uvzk__future_of(parts[0]);
    size_t named = 0;
    int status = 0;

    *session = first == NULL ? NULL : first->session;
    if (first != NULL && *session == NULL) {
        return uvzk__refuse(UVZK_ECLOSED, "parts: their client is closed");
    }
    while (named < count && status == 0) {
        status = combination_name(parts[named], *session);
        named += status == 0;
    }
    /* The marks are only for the check. */
    while (named > 0) {
        uvzk__future_of(parts[--named])->listed = false;
    }
    return status;
}

static void combination_attach(struct combination *combination, size_t index,
                               struct uvzk__future *part)
{
    if (part->combination != NULL) {
        /* It leaves a combination that is done. */
        part->combination->kind->part_gone(part->combination, part);
    }
    part->combination = &combination->future;
    part->index = index;
    uvzk__future_contains(&combination->future, part);
    combination->parts[index].future = part;
    combination->parts[index].status = UV_EAGAIN;
}

/* Counts the parts that are done already, in their order. A part that was done with 0 and
 * has lost its hold since counts as failed. */
static void count_done(struct combination *combination)
{
    for (size_t i = 0; i < combination->count; i++) {
        const struct uvzk__future *part = combination->parts[i].future;
        bool gone = part->kind->holds != NULL && !part->kind->holds(part);
        if (part->status != UV_EAGAIN && combination->done < combination->needed) {
            combination_count(combination, i,
                              part->status == 0 && gone ? UVZK_ENOTHELD : part->status);
        }
    }
}

/* The parts are checked before anything is changed, so an error leaves them as they
 * were. */
static int combination_combine(uvzk_future_t *handle, uvzk_future_t *const *parts,
                               size_t count, size_t needed)
{
    struct uvzk__future *future;
    struct uvzk__session *session = NULL;
    int status = combination_check(parts, count, needed, &session);

    if (status != 0) {
        return handle == NULL ? uvzk__refuse(UV_EINVAL, "future is NULL") : status;
    }
    status = uvzk__future_new(handle, &kind, sizeof(struct combination), &future);
    if (status != 0) {
        return status;
    }
    struct combination *combination = combination_of(future);
    combination->parts = uvzk__calloc(count, sizeof(combination->parts[0]));
    if (combination->parts == NULL) {
        return uvzk__future_begun(future, session, UV_ENOMEM);
    }
    combination->count = count;
    combination->needed = needed;
    for (size_t i = 0; i < count; i++) {
        combination_attach(combination, i, uvzk__future_of(parts[i]));
    }
    (void)uvzk__future_begun(future, session, 0);
    count_done(combination);
    /* May end the combination before any callback has been added: its status is known
     * when the call returns. */
    combination_decide(combination);
    return 0;
}

/* ------------------------------------------------------------- the public functions */

int uvzk_future_n_of(uvzk_future_t *future, uvzk_future_t *const *parts, size_t count,
                     size_t n)
{
    return combination_combine(future, parts, count, n);
}

int uvzk_future_all_of(uvzk_future_t *future, uvzk_future_t *const *parts, size_t count)
{
    return combination_combine(future, parts, count, count);
}

int uvzk_future_any_of(uvzk_future_t *future, uvzk_future_t *const *parts, size_t count)
{
    return combination_combine(future, parts, count, 1);
}

size_t uvzk_future_winner(const uvzk_future_t *handle, size_t place)
{
    struct uvzk__future *future = uvzk__future_done(handle, &kind);

    return future != NULL && place < combination_of(future)->done
               ? combination_of(future)->parts[place].winner
               : SIZE_MAX;
}
