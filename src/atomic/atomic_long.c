/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions on atomic longs, and their calls (atomic_long.h): makes and queues
 * them, decides which one is current, and reports their outcome at the end of the turn. What
 * a call sends is in atomic_try.c. */
#include "atomic/atomic_long.h"

#include <string.h>

#include "atomic/atomic_try.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/refusal.h"
#include "base/retry.h"
#include "base/struct_size.h"
#include "engine/handle_end.h"
#include "engine/req.h"
#include "engine/submission.h"
#include "engine/turn.h"

#define RETRY_BASE_MS 10U
#define RETRY_SLEEP_MS 1000U
#define RETRY_COUNT 10U

/* ----------------------------------------------------------------- the machine */

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__ATOMIC_, IDLE, CATCHING_UP, READING, CREATING, WRITING, FINDING_OUT,
                PAUSING, ACQUIRING, RELEASING),
    UVZK__STATE(UVZK__ATOMIC_, CATCHING_UP, IDLE),
    UVZK__STATE(UVZK__ATOMIC_, READING, IDLE),
    UVZK__STATE(UVZK__ATOMIC_, CREATING, IDLE),
    UVZK__STATE(UVZK__ATOMIC_, WRITING, IDLE),
    UVZK__STATE(UVZK__ATOMIC_, FINDING_OUT, IDLE),
    UVZK__STATE(UVZK__ATOMIC_, PAUSING, IDLE),
    UVZK__STATE(UVZK__ATOMIC_, ACQUIRING, IDLE),
    UVZK__STATE(UVZK__ATOMIC_, RELEASING, IDLE),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__atomic_long *atomic = object;

    switch (atomic->state) {
    case UVZK__ATOMIC_PAUSING:
        return !atomic->ended && !uvzk__list_empty(&atomic->calls);
    case UVZK__ATOMIC_ACQUIRING:
        return !atomic->ended && !atomic->promotion.holding;
    case UVZK__ATOMIC_RELEASING:
        return !atomic->ended && atomic->promotion.holding;
    default:
        return true;
    }
}

const struct uvzk__machine uvzk__atomic_machine =
    UVZK__MACHINE("atomic long", table, struct uvzk__atomic_long, state, invariant_holds);

/* ------------------------------------------------------------------------- one call */

/* The call is freed before the callback, which may use the handle for the next one. */
static void atomic_call_tell(struct uvzk__notification *notification)
{
    struct uvzk__atomic_call *call =
        UVZK__CONTAINER_OF(notification, struct uvzk__atomic_call, notification);
    uvzk_req_t *handle = call->handle;
    uvzk_req_cb cb = call->cb;
    uvzk_atomic_value_t value = call->value;
    uvzk_result_t result = uvzk__result_of_nothing();
    int status = call->status;

    result.value = &value;
    uvzk__free(call);
    uvzk__req_end(handle, cb, status, &result);
}

static bool needs_no_reading(enum uvzk__atomic_kind kind)
{
    return kind == UVZK__ATOMIC_FORCE_SET || kind == UVZK__ATOMIC_INITIALIZE;
}

/* Makes a call and appends it to the list. NULL: out of memory. */
static struct uvzk__atomic_call *atomic_call_new(struct uvzk__link *calls,
                                                 uvzk_req_t *handle, uvzk_req_cb cb,
                                                 enum uvzk__atomic_kind kind,
                                                 int64_t operand, int64_t expected)
{
    struct uvzk__atomic_call *call = uvzk__calloc(1, sizeof(*call));

    if (call == NULL) {
        return NULL;
    }
    call->handle = handle;
    call->cb = cb;
    call->kind = (uint8_t)kind;
    call->operand = operand;
    call->expected = expected;
    call->step = needs_no_reading(kind) ? UVZK__ATOMIC_WRITE : UVZK__ATOMIC_READ;
    call->value.size = sizeof(call->value);
    call->notification.notify_cb = atomic_call_tell;
    uvzk__list_init(&call->notification.link);
    uvzk__list_append(calls, &call->link);
    uvzk__req_begin(handle, call, NULL);
    return call;
}

struct uvzk__atomic_call *uvzk__atomic_call_first(const struct uvzk__link *calls)
{
    return uvzk__list_empty(calls)
               ? NULL
               : UVZK__CONTAINER_OF(calls->next, struct uvzk__atomic_call, link);
}

static uint64_t phase_ms(struct uvzk__session *session,
                         const struct uvzk__atomic_call *call)
{
    return !call->begun ? 0 : uvzk__now(session) - call->began_ms;
}

static void end_phase(struct uvzk__session *session, struct uvzk__atomic_call *call)
{
    if (call->promoted) {
        call->value.promoted_ms = phase_ms(session, call);
    } else {
        call->value.optimistic_ms = phase_ms(session, call);
    }
}

/* The call begins. */
static void atomic_call_begin(struct uvzk__session *session,
                              struct uvzk__atomic_call *call)
{
    if (!call->begun) {
        call->begun = true;
        call->began_ms = uvzk__now(session);
    }
}

void uvzk__atomic_call_promote(struct uvzk__session *session,
                               struct uvzk__atomic_call *call)
{
    end_phase(session, call);
    call->promoted = true;
    call->began_ms = uvzk__now(session);
    call->retries = 0;
    /* The mutex may be held in another session, at another server. This session's server
     * may not have applied yet what the previous holder wrote. */
    call->step = UVZK__ATOMIC_CATCH_UP;
}

void uvzk__atomic_call_count(struct uvzk__atomic_call *call)
{
    if (call->promoted) {
        call->value.promoted_tries++;
    } else {
        call->value.optimistic_tries++;
    }
}

void uvzk__atomic_call_decide(struct uvzk__session *session,
                              struct uvzk__atomic_call *call, int status)
{
    end_phase(session, call);
    call->status = status;
    if (status != 0) {
        call->value.post_value = call->value.pre_value;
    }
    uvzk__list_remove(&call->link);
    uvzk__notify_later(session, &call->notification);
}

/* ----------------------------------------------------------------- the current call */

static void free_atomic(struct uvzk__atomic_long *atomic)
{
    uvzk__node_create_free(&atomic->create);
    uvzk__free(atomic->path);
    uvzk__free(atomic);
}

void uvzk__atomic_pump(struct uvzk__atomic_long *atomic)
{
    if (atomic->state != UVZK__ATOMIC_IDLE) {
        return;
    }
    if (atomic->ended) {
        free_atomic(atomic);
        return;
    }
    if (atomic->closing || uvzk__session_is_closing(atomic->session)) {
        return;
    }
    if (uvzk__atomic_promotion_is_over(atomic)) {
        uvzk__atomic_promotion_release(atomic);
        return;
    }
    struct uvzk__atomic_call *call = uvzk__atomic_call_first(&atomic->calls);
    if (call == NULL) {
        return;
    }
    atomic_call_begin(atomic->session, call);
    if (uvzk__may_send(atomic->session)) {
        uvzk__atomic_try_send(atomic, call);
    }
}

/* All calls end with this code, whatever request is under way for the first of them. */
static void end_calls(struct uvzk__atomic_long *atomic, int code)
{
    struct uvzk__atomic_call *call;

    while ((call = uvzk__atomic_call_first(&atomic->calls)) != NULL) {
        uvzk__atomic_call_decide(atomic->session, call, code);
    }
    if (atomic->state == UVZK__ATOMIC_PAUSING) {
        uvzk__atomic_try_end_pause(atomic);
    } else if (atomic->state == UVZK__ATOMIC_ACQUIRING) {
        uvzk__atomic_promotion_cancel(atomic);
    }
}

/* The user's struct and the path belong to the user again. */
static void leave_handle(struct uvzk__atomic_long *atomic)
{
    atomic->handle->impl = NULL;
    uvzk__session_object_end(&atomic->object);
    uvzk__znode_owner_end(atomic->session, &atomic->owner);
}

/* -------------------------------------------------------- what its session tells it */

static struct uvzk__atomic_long *atomic_at(struct uvzk__session_object *object)
{
    return UVZK__CONTAINER_OF(object, struct uvzk__atomic_long, object);
}

static void atomic_long_resume(struct uvzk__session_object *object)
{
    uvzk__atomic_pump(atomic_at(object));
}

/* The outcome of a write whose reply was lost can no longer be determined. */
static void session_ended(struct uvzk__session_object *object, int code)
{
    struct uvzk__atomic_long *atomic = atomic_at(object);
    struct uvzk__atomic_call *call = uvzk__atomic_call_first(&atomic->calls);

    (void)code;
    if (call != NULL && call->step == UVZK__ATOMIC_FIND_OUT) {
        uvzk__atomic_call_decide(atomic->session, call, UVZK_ECONNLOSS);
    }
}

static void atomic_long_unreachable(struct uvzk__session_object *object, int code)
{
    end_calls(atomic_at(object), code);
}

static void free_object(struct uvzk__session_object *object)
{
    leave_handle(atomic_at(object));
    free_atomic(atomic_at(object));
}

static const struct uvzk__session_object_kind object_kind = {
    .resume = atomic_long_resume,
    .session_ended = session_ended,
    .unreachable = atomic_long_unreachable,
    .client_ended = free_object,
};

/* ----------------------------------------------------------------- init, close */

void uvzk_atomic_long_options_init_size(uvzk_atomic_long_options_t *options, size_t size)
{
    static const uvzk_retry_policy_t policy = {.kind = UVZK_RETRY_EXPONENTIAL,
                                               .base_ms = RETRY_BASE_MS,
                                               .max_sleep_ms = RETRY_SLEEP_MS,
                                               .max_retries = RETRY_COUNT};
    uvzk_atomic_long_options_t defaults = {.size = size,
                                           .retry = policy,
                                           .mutex_timeout_ms = UVZK_WAIT_FOREVER,
                                           .mutex_retry = policy};

    if (options != NULL) {
        memset(options, 0, size);
        memcpy(options, &defaults, uvzk__size_known_to_both(size, sizeof(defaults)));
    }
}

/* Reads the options of the program over this library's defaults. */
static int read_options(uvzk_atomic_long_options_t *into,
                        const uvzk_atomic_long_options_t *from)
{
    uvzk_atomic_long_options_init(into);
    if (from != NULL &&
        from->size < UVZK__SIZE_UP_TO(uvzk_atomic_long_options_t, mutex_retry)) {
        return uvzk__refuse(UV_EINVAL, "options.size: begin with "
                                       "uvzk_atomic_long_options_init");
    }
    if (from != NULL) {
        uvzk__settings_from(into, from, sizeof(*into));
    }
    if (into->mutex_timeout_ms < UVZK_WAIT_FOREVER) {
        return uvzk__refuse(UV_EINVAL, "options.mutex_timeout_ms is below -1");
    }
    int status = uvzk__retry_normalize(&into->retry);
    return status != 0 ? status : uvzk__retry_normalize(&into->mutex_retry);
}

/* The close of the mutex has ended its hold, and all calls have ended before. */
static void mutex_closed(uvzk_lock_t *mutex)
{
    struct uvzk__atomic_long *atomic = mutex->data;

    /* After the callbacks of the calls, which may be in another session. */
    uvzk__notify_later(atomic->session, &atomic->notification);
}

static void atomic_long_closed(struct uvzk__notification *notification)
{
    struct uvzk__atomic_long *atomic =
        UVZK__CONTAINER_OF(notification, struct uvzk__atomic_long, notification);
    uvzk_atomic_long_t *handle = atomic->handle;
    uvzk_atomic_long_close_cb close_cb = atomic->close_cb;

    leave_handle(atomic);
    atomic->ended = true;
    uvzk__atomic_pump(atomic);
    struct uvzk__end_listener *listener = uvzk__end_take(&handle->end);

    if (close_cb != NULL) {
        close_cb(handle);
    }
    uvzk__end_tell(listener, 0);
}

static struct uvzk__atomic_long *new_atomic(struct uvzk__session *session,
                                            const char *path)
{
    struct uvzk__atomic_long *atomic = uvzk__calloc(1, sizeof(*atomic));

    if (atomic == NULL) {
        return NULL;
    }
    atomic->path = uvzk__path_join(uvzk__namespace_of(session), path);
    if (atomic->path == NULL ||
        !uvzk__node_create_init(&atomic->create, atomic->path, UVZK__PERSISTENT)) {
        free_atomic(atomic);
        return NULL;
    }
    atomic->session = uvzk__home_of(session, atomic->path);
    uvzk__node_create_set_data(&atomic->create, atomic->bytes, sizeof(atomic->bytes));
    atomic->pause.due = uvzk__atomic_try_pause_due;
    atomic->notification.notify_cb = atomic_long_closed;
    atomic->promotion.mutex.data = atomic;
    uvzk__list_init(&atomic->notification.link);
    uvzk__list_init(&atomic->calls);
    return atomic;
}

int uvzk_atomic_long_init(uvzk_client_t *client, uvzk_atomic_long_t *handle,
                          const char *path, const uvzk_atomic_long_options_t *options)
{
    uvzk_atomic_long_options_t known;
    int status = uvzk__check_init(client, "the atomic long", handle,
                                  handle == NULL ? NULL : handle->impl, path);

    if (status == 0) {
        status = read_options(&known, options);
    }
    if (status == 0 && known.mutex_path != NULL && strcmp(known.mutex_path, path) == 0) {
        status = uvzk__refuse(UV_EINVAL, "options.mutex_path is the path of the number");
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__atomic_long *atomic = new_atomic(client->impl, path);
    if (atomic == NULL) {
        return UV_ENOMEM;
    }
    if (known.mutex_path != NULL) {
        status = uvzk_mutex_init(client, &atomic->promotion.mutex, known.mutex_path);
    }
    if (status != 0) {
        free_atomic(atomic);
        return status;
    }
    atomic->retry = known.retry;
    atomic->promotion.retry = known.mutex_retry;
    atomic->promotion.timeout_ms = known.mutex_timeout_ms;
    atomic->handle = handle;
    handle->impl = atomic;
    uvzk__session_object_begin(atomic->session, &atomic->object, &object_kind, NULL);
    return 0;
}

int uvzk_atomic_long_close(uvzk_atomic_long_t *handle, uvzk_atomic_long_close_cb close_cb)
{
    struct uvzk__atomic_long *atomic = handle == NULL ? NULL : handle->impl;

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "the atomic long is NULL");
    }
    if (atomic == NULL || atomic->closing) {
        return uvzk__refuse(UVZK_ESTATE,
                            "the atomic long is closing, or not initialised");
    }
    atomic->closing = true;
    atomic->close_cb = close_cb;
    uvzk__end_begin(&handle->end, atomic->session);
    end_calls(atomic, UVZK_ECLOSED);
    if (!uvzk__atomic_promotion_is_possible(atomic) ||
        uvzk_lock_close(&atomic->promotion.mutex, mutex_closed) != 0) {
        uvzk__notify_later(atomic->session, &atomic->notification);
    }
    return 0;
}

struct uvzk__session *uvzk__atomic_long_session(const uvzk_atomic_long_t *handle)
{
    const struct uvzk__atomic_long *atomic = handle == NULL ? NULL : handle->impl;

    return atomic == NULL ? NULL : atomic->session;
}

/* -------------------------------------------------------------------- the calls */

static int begin_call(uvzk_atomic_long_t *handle, uvzk_req_t *call_handle,
                      enum uvzk__atomic_kind kind, int64_t operand, int64_t expected,
                      uvzk_req_cb cb)
{
    int status = handle == NULL ? uvzk__refuse(UV_EINVAL, "the atomic long is NULL")
                                : uvzk__req_check(call_handle, cb);
    if (status != 0) {
        return status;
    }
    struct uvzk__atomic_long *atomic = handle->impl;
    if (atomic == NULL || atomic->closing || uvzk__session_is_closing(atomic->session)) {
        return uvzk__refuse(UVZK_ECLOSED, "the atomic long or its client is closing, or "
                                          "it is not initialised");
    }
    if (kind != UVZK__ATOMIC_GET) {
        status = uvzk__znode_owner_begin(atomic->session, &atomic->owner, atomic->path,
                                         UVZK__OWNED_BY_NUMBER, false);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__atomic_call *call =
        atomic_call_new(&atomic->calls, call_handle, cb, kind, operand, expected);
    if (call == NULL) {
        return UV_ENOMEM;
    }
    /* The call ends without a request; its callback still runs at the end of the turn. */
    if (atomic->session->auth_failed) {
        uvzk__atomic_call_decide(atomic->session, call, UVZK_EAUTH);
    }
    uvzk__atomic_pump(atomic);
    return 0;
}

static int atomic_long_begin(uvzk_atomic_long_t *handle, uvzk_req_t *call_handle,
                             enum uvzk__atomic_kind kind, int64_t operand,
                             int64_t expected, uvzk_req_cb cb)
{
    int status = begin_call(handle, call_handle, kind, operand, expected, cb);

    return uvzk__req_begun(call_handle, uvzk__atomic_long_session(handle), status);
}

int uvzk_atomic_long_get(uvzk_atomic_long_t *atomic, uvzk_req_t *call, uvzk_req_cb cb)
{
    return atomic_long_begin(atomic, call, UVZK__ATOMIC_GET, 0, 0, cb);
}

int uvzk_atomic_long_add(uvzk_atomic_long_t *atomic, uvzk_req_t *call, int64_t delta,
                         uvzk_req_cb cb)
{
    return atomic_long_begin(atomic, call, UVZK__ATOMIC_ADD, delta, 0, cb);
}

int uvzk_atomic_long_compare_and_set(uvzk_atomic_long_t *atomic, uvzk_req_t *call,
                                     int64_t expected, int64_t value, uvzk_req_cb cb)
{
    return atomic_long_begin(atomic, call, UVZK__ATOMIC_COMPARE_AND_SET, value, expected,
                             cb);
}

int uvzk_atomic_long_try_set(uvzk_atomic_long_t *atomic, uvzk_req_t *call, int64_t value,
                             uvzk_req_cb cb)
{
    return atomic_long_begin(atomic, call, UVZK__ATOMIC_TRY_SET, value, 0, cb);
}

int uvzk_atomic_long_force_set(uvzk_atomic_long_t *atomic, uvzk_req_t *call,
                               int64_t value, uvzk_req_cb cb)
{
    return atomic_long_begin(atomic, call, UVZK__ATOMIC_FORCE_SET, value, 0, cb);
}

int uvzk_atomic_long_create(uvzk_atomic_long_t *atomic, uvzk_req_t *call, int64_t value,
                            uvzk_req_cb cb)
{
    return atomic_long_begin(atomic, call, UVZK__ATOMIC_INITIALIZE, value, 0, cb);
}
