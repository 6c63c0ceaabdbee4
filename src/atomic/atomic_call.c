/* Makes, queues and ends the calls of an atomic long, and reports their outcome at the
 * end of the turn (atomic_call.h). atomic_long.c decides which call is current. */
#include "atomic/atomic_call.h"

#include "base/memory.h"
#include "engine/req.h"
#include "engine/turn.h"

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

struct uvzk__atomic_call *uvzk__atomic_call_new(struct uvzk__link *calls,
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

void uvzk__atomic_call_begin(struct uvzk__session *session,
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
