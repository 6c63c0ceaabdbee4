/* SPDX-License-Identifier: Apache-2.0 */
/* Futures: their states, their memory, their callbacks, and the public functions that
 * work on a future of any call (future.h). The files of_*.c make futures and report the
 * ends of their calls; combination.c makes futures of futures.
 *
 * A future that becomes done inside a callback of its call runs its own callbacks at
 * once, while the result is known to be true. A future that becomes done by a call of the
 * user, such as a cancel, or by its deadline, runs them at the end of the turn. */
#include "future/future.h"

#include "base/refusal.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__FUTURE_, NEW, PENDING),
    UVZK__STATE(UVZK__FUTURE_, PENDING, HOLDING, LEAVING, OVER),
    UVZK__STATE(UVZK__FUTURE_, HOLDING, LEAVING, OVER),
    UVZK__STATE(UVZK__FUTURE_, LEAVING, OVER),
    UVZK__FINAL(UVZK__FUTURE_, OVER),
};

const struct uvzk__future_kind uvzk__future_plain = {0};

/* One callback that the user has added. */
struct then {
    struct uvzk__link link;
    uvzk_future_cb cb;
    void *context;
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__future *future = object;

    return future->state != UVZK__FUTURE_HOLDING ||
           (future->handle != NULL && future->session != NULL);
}

const struct uvzk__machine uvzk__future_machine =
    UVZK__MACHINE("future", table, struct uvzk__future, state, invariant_holds);

/* ------------------------------------------------------------------ freeing */

static void forget_thens(struct uvzk__link *thens)
{
    struct uvzk__link *link;

    while ((link = uvzk__list_take(thens)) != NULL) {
        uvzk__free(UVZK__CONTAINER_OF(link, struct then, link));
    }
}

static void free_future(struct uvzk__future *future)
{
    uvzk__list_remove(&future->of_session);
    uvzk__list_remove(&future->notification.link);
    if (future->kind->freed != NULL) {
        future->kind->freed(future);
    }
    uvzk__free(future);
}

void uvzk__future_ref(struct uvzk__future *future)
{
    future->refs++;
}

void uvzk__future_unref(struct uvzk__future *future)
{
    future->refs--;
    if (future->handle == NULL && future->state == UVZK__FUTURE_OVER &&
        future->refs == 0) {
        free_future(future);
    }
}

/* --------------------------------------------------------------------- reporting */

/* Runs the callbacks that are in the list now. Those that a callback adds run next time.
 * The loop ends if a callback drops the future. */
static void future_deliver(struct uvzk__notification *notification)
{
    struct uvzk__future *future =
        UVZK__CONTAINER_OF(notification, struct uvzk__future, notification);
    struct uvzk__link thens, *link;

    uvzk__list_move(&future->thens, &thens);
    uvzk__future_ref(future);
    while (future->handle != NULL && (link = uvzk__list_take(&thens)) != NULL) {
        /* Copied and freed first, because the callback may do anything with the
         * future. */
        struct then then = *UVZK__CONTAINER_OF(link, struct then, link);
        uvzk__free(UVZK__CONTAINER_OF(link, struct then, link));
        then.cb(future->handle, future->status, then.context);
    }
    forget_thens(&thens);
    uvzk__future_unref(future);
}

/* A future that is done no longer has a deadline. */
static void stop_waiting(struct uvzk__future *future)
{
    if (future->session != NULL) {
        uvzk__timer_clear(future->session, &future->deadline);
    }
}

/* Sets the final status. First the callbacks of this future run, then the combination
 * that it is a part of is informed. in_callback: a callback of the call has brought the
 * status, so they run at once, while it is true. Otherwise they run at the end of the
 * turn. */
static void future_settle(struct uvzk__future *future, int status, bool in_callback)
{
    future->status = status;
    stop_waiting(future);
    if (in_callback) {
        future_deliver(&future->notification);
    } else if (!uvzk__list_empty(&future->thens)) {
        uvzk__notify_later(future->session, &future->notification);
    }
    if (future->combination != NULL) {
        future->combination->kind->part_done(future->combination, future);
    }
}

/* ---------------------------------------------------------------- state changes */

void uvzk__future_holding(struct uvzk__future *future)
{
    uvzk__move(future->session, &uvzk__future_machine, future, UVZK__FUTURE_HOLDING);
    uvzk__future_ref(future);
    future_settle(future, 0, true);
    uvzk__future_unref(future);
}

void uvzk__future_over(struct uvzk__future *future, int status)
{
    /* The state says what the end means: PENDING, a result; HOLDING, a loss; LEAVING,
     * nothing that the user does not know. */
    unsigned before = future->state;

    uvzk__move(future->session, &uvzk__future_machine, future, UVZK__FUTURE_OVER);
    uvzk__future_ref(future);
    if (before == UVZK__FUTURE_PENDING) {
        future_settle(future, status, true);
    } else if (before == UVZK__FUTURE_HOLDING && future->combination != NULL) {
        future->combination->kind->part_lost(future->combination, future, status);
    }
    uvzk__future_unref(future);
}

void uvzk__future_give_up(struct uvzk__future *future, int status)
{
    /* LEAVING or OVER: it has been given up or has ended already. */
    if (future->state != UVZK__FUTURE_PENDING && future->state != UVZK__FUTURE_HOLDING) {
        return;
    }
    bool pending = future->state == UVZK__FUTURE_PENDING;

    uvzk__move(future->session, &uvzk__future_machine, future, UVZK__FUTURE_LEAVING);
    /* The status of a HOLDING future stays 0. */
    if (pending) {
        future_settle(future, status, false);
    }
    /* If withdraw returns false, the call is still under way and calls
     * uvzk__future_over(). */
    if (future->kind->withdraw != NULL && future->kind->withdraw(future)) {
        uvzk__move(future->session, &uvzk__future_machine, future, UVZK__FUTURE_OVER);
    }
}

static void deadline_due(struct uvzk__timer *timer)
{
    uvzk__future_give_up(UVZK__CONTAINER_OF(timer, struct uvzk__future, deadline),
                         UV_ETIMEDOUT);
}

/* --------------------------------------------------------------- making and ending */

int uvzk__future_new(uvzk_future_t *handle, const struct uvzk__future_kind *kind,
                     size_t size, struct uvzk__future **made)
{
    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "future is NULL");
    }
    if (handle->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "future is in use, or not zeroed");
    }
    struct uvzk__future *future = uvzk__calloc(1, size);
    if (future == NULL) {
        return UV_ENOMEM;
    }
    future->handle = handle;
    future->kind = kind;
    future->status = UV_EAGAIN;
    future->notification.notify_cb = future_deliver;
    future->deadline.due = deadline_due;
    uvzk__list_init(&future->of_session);
    uvzk__list_init(&future->thens);
    uvzk__list_init(&future->notification.link);
    *made = future;
    return 0;
}

int uvzk__future_begun(struct uvzk__future *future, struct uvzk__session *session,
                       int status)
{
    /* The call has failed at once: the handle is not in use. */
    if (status != 0) {
        future->handle->impl = NULL;
        free_future(future);
        return status;
    }
    future->session = session;
    uvzk__move(session, &uvzk__future_machine, future, UVZK__FUTURE_PENDING);
    uvzk__list_append(&session->futures->all, &future->of_session);
    future->handle->impl = future;
    return 0;
}

void uvzk__futures_init(struct uvzk__futures *futures)
{
    uvzk__list_init(&futures->all);
}

/* Only futures of the client's own close can still be pending here. */
void uvzk__futures_session_gone(struct uvzk__session *session)
{
    struct uvzk__link *link;

    while ((link = uvzk__list_take(&session->futures->all)) != NULL) {
        struct uvzk__future *future =
            UVZK__CONTAINER_OF(link, struct uvzk__future, of_session);
        stop_waiting(future);
        future->session = NULL;
    }
}

struct uvzk__future *uvzk__future_of(const uvzk_future_t *handle)
{
    struct uvzk__future *future = handle == NULL ? NULL : handle->impl;

    return future == NULL || future->handle != handle || future->state == UVZK__FUTURE_NEW
               ? NULL
               : future;
}

struct uvzk__future *uvzk__future_done(const uvzk_future_t *handle,
                                       const struct uvzk__future_kind *kind)
{
    struct uvzk__future *future = uvzk__future_of(handle);

    return future == NULL || future->kind != kind || future->status != 0 ? NULL : future;
}

/* ------------------------------------------------------------ the public functions */

int uvzk_future_status(const uvzk_future_t *handle)
{
    const struct uvzk__future *future = uvzk__future_of(handle);

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "future is NULL");
    }
    return future == NULL ? uvzk__refuse(UVZK_ESTATE, "future is not in use")
                          : future->status;
}

int uvzk_future_then(uvzk_future_t *handle, uvzk_future_cb cb, void *context)
{
    struct uvzk__future *future = uvzk__future_of(handle);

    if (handle == NULL || cb == NULL) {
        return uvzk__refuse(UV_EINVAL, handle == NULL ? "future is NULL" : "cb is NULL");
    }
    if (future == NULL) {
        return uvzk__refuse(UVZK_ESTATE, "future is not in use");
    }
    bool done = future->status != UV_EAGAIN;
    /* No loop would run the callback. */
    if (done && future->session == NULL) {
        return uvzk__refuse(UVZK_ECLOSED, "future: its client is closed");
    }
    struct then *then = uvzk__calloc(1, sizeof(*then));
    if (then == NULL) {
        return UV_ENOMEM;
    }
    then->cb = cb;
    then->context = context;
    uvzk__list_init(&then->link);
    uvzk__list_append(&future->thens, &then->link);
    if (done) {
        uvzk__notify_later(future->session, &future->notification);
    }
    return 0;
}

/* 0 if the future is pending; otherwise the code for a call that would change it. */
static int check_pending(const uvzk_future_t *handle)
{
    const struct uvzk__future *future = uvzk__future_of(handle);

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "future is NULL");
    }
    return uvzk__refuse_if(UVZK_ESTATE,
                           future == NULL || future->state != UVZK__FUTURE_PENDING
                               ? "future is done, or not in use"
                               : NULL);
}

int uvzk_future_cancel(uvzk_future_t *handle)
{
    int status = check_pending(handle);

    if (status == 0) {
        uvzk__future_give_up(uvzk__future_of(handle), UV_ECANCELED);
    }
    return status;
}

int uvzk_future_deadline(uvzk_future_t *handle, uint64_t timeout_ms)
{
    struct uvzk__future *future = uvzk__future_of(handle);
    int status = check_pending(handle);

    if (status == 0 && future->session == NULL) {
        return uvzk__refuse(UVZK_ECLOSED, "future: its client is closed");
    }
    if (status == 0) {
        uint64_t now = uvzk__now(future->session);
        uvzk__timer_set(future->session, &future->deadline,
                        timeout_ms > UINT64_MAX - now ? UINT64_MAX : now + timeout_ms);
    }
    return status;
}

void uvzk_future_drop(uvzk_future_t *handle)
{
    struct uvzk__future *future = handle == NULL ? NULL : handle->impl;

    if (future == NULL || future->handle != handle) {
        return;
    }
    /* Its request was handed out, and no call has begun with it. */
    if (future->state == UVZK__FUTURE_NEW) {
        handle->impl = NULL;
        free_future(future);
        return;
    }
    /* From now on the handle belongs to the caller, and no callback runs. */
    handle->impl = NULL;
    future->handle = NULL;
    forget_thens(&future->thens);
    uvzk__list_remove(&future->notification.link);
    uvzk__future_ref(future);
    if (future->state == UVZK__FUTURE_HOLDING && future->kind->leave != NULL) {
        future->kind->leave(future);
        uvzk__move(future->session, &uvzk__future_machine, future, UVZK__FUTURE_OVER);
    } else {
        uvzk__future_give_up(future, UV_ECANCELED);
    }
    /* The combination counts the part as failed, or as lost. */
    if (future->combination != NULL) {
        future->combination->kind->part_gone(future->combination, future);
    }
    uvzk__future_unref(future);
}
