/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of the current call of an atomic long (atomic_try.h). atomic_long.c calls
 * uvzk__atomic_try_send when something may be sent; each reply comes back here.
 *
 * A read may always be repeated; a write only if it was certainly not carried out. After
 * the reply to a write was lost, the znode is read on the next connection (find_out). The
 * result of that read is certain, for two reasons. Requests of one session are carried
 * out in their order, even over a new connection, because a server that has taken over
 * the session refuses requests from the old connection. And a quorum has accepted the
 * barrier of the new connection before the read. If the session has ended, nothing is
 * certain, because its last requests may still be on their way to the leader. */
#include "atomic/atomic_try.h"

#include <string.h>

#include "base/retry.h"
#include "engine/submission.h"
#include "engine/turn.h"

#define ANY_VERSION (-1)

static void atomic_try_submit(struct uvzk__atomic_long *atomic,
                              enum uvzk__atomic_state doing)
{
    uvzk__move(atomic->session, &uvzk__atomic_machine, atomic, doing);
    uvzk__submit(atomic->session, &atomic->rpc);
}

/* Called first for every reply. Returns the current call. NULL: the call that the request
 * was for has ended, and so has every other that was there; the atomic long may be freed
 * when the caller pumps it. */
static struct uvzk__atomic_call *reply_begins(struct uvzk__rpc *rpc, int status,
                                              struct uvzk__atomic_long **atomic_out)
{
    struct uvzk__atomic_long *atomic =
        UVZK__CONTAINER_OF(rpc, struct uvzk__atomic_long, rpc);
    struct uvzk__atomic_call *call = uvzk__atomic_call_first(&atomic->calls);

    uvzk__answered(atomic->session, rpc, status,
                   rpc->kind != UVZK__RPC_GET /* all others are transactions */);
    uvzk__move(atomic->session, &uvzk__atomic_machine, atomic, UVZK__ATOMIC_IDLE);
    *atomic_out = atomic;
    /* A call that came after the end of all others has not begun. */
    return call != NULL && call->begun ? call : NULL;
}

static void atomic_try_decide(struct uvzk__atomic_long *atomic,
                              struct uvzk__atomic_call *call, int status)
{
    uvzk__atomic_call_decide(atomic->session, call, status);
}

/* --------------------------------------------------------------- the promoted phase */

/* The mutex is acquired and released by the public functions of the library. The callbacks
 * return to the current call. */
static struct uvzk__atomic_long *atomic_of(const uvzk_hold_t *hold)
{
    return hold->data;
}

bool uvzk__atomic_promotion_is_possible(const struct uvzk__atomic_long *atomic)
{
    return atomic->promotion.mutex.impl != NULL;
}

/* The call that the mutex is for, or was for: NULL if that has ended. A later call cannot
 * be promoted before this hold is released. */
static struct uvzk__atomic_call *promoted_call(const struct uvzk__atomic_long *atomic)
{
    struct uvzk__atomic_call *call = uvzk__atomic_call_first(&atomic->calls);

    return call != NULL && call->promoted ? call : NULL;
}

bool uvzk__atomic_promotion_is_over(const struct uvzk__atomic_long *atomic)
{
    /* The close of the mutex also ends the hold. */
    return atomic->promotion.holding && !atomic->closing && promoted_call(atomic) == NULL;
}

static void atomic_promotion_acquired(uvzk_hold_t *hold, int status)
{
    struct uvzk__atomic_long *atomic = atomic_of(hold);
    struct uvzk__atomic_call *call = promoted_call(atomic);

    uvzk__move(atomic->session, &uvzk__atomic_machine, atomic, UVZK__ATOMIC_IDLE);
    atomic->promotion.holding = status == 0;
    if (status != 0 && call != NULL) {
        uvzk__atomic_call_decide(atomic->session, call, status);
    }
    uvzk__atomic_pump(atomic);
}

static void atomic_promotion_lost(uvzk_hold_t *hold, int reason)
{
    struct uvzk__atomic_long *atomic = atomic_of(hold);

    (void)reason;
    atomic->promotion.holding = false;
    /* The release was refused because the loss was under way. */
    if (atomic->state == UVZK__ATOMIC_RELEASING) {
        uvzk__move(atomic->session, &uvzk__atomic_machine, atomic, UVZK__ATOMIC_IDLE);
        uvzk__atomic_pump(atomic);
    }
}

/* The current call enters the promoted phase: acquires the mutex. */
static void atomic_promotion_acquire(struct uvzk__atomic_long *atomic)
{
    struct uvzk__atomic_call *call = uvzk__atomic_call_first(&atomic->calls);
    uvzk_acquire_options_t options;

    uvzk__atomic_call_promote(atomic->session, call);
    uvzk_acquire_options_init(&options);
    options.timeout_ms = atomic->promotion.timeout_ms;
    atomic->promotion.hold.data = atomic;
    int status =
        uvzk_lock_acquire(&atomic->promotion.mutex, &atomic->promotion.hold, &options,
                          atomic_promotion_acquired, atomic_promotion_lost);
    if (status == 0) {
        uvzk__move(atomic->session, &uvzk__atomic_machine, atomic,
                   UVZK__ATOMIC_ACQUIRING);
    } else {
        uvzk__atomic_call_decide(atomic->session, call, status);
    }
}

void uvzk__atomic_promotion_cancel(struct uvzk__atomic_long *atomic)
{
    /* Refused if the callback is due already; then a granted hold is released. */
    (void)uvzk_hold_cancel(&atomic->promotion.hold);
}

static void atomic_promotion_released(uvzk_hold_t *hold, int status)
{
    struct uvzk__atomic_long *atomic = atomic_of(hold);

    (void)status;
    atomic->promotion.holding = false;
    uvzk__move(atomic->session, &uvzk__atomic_machine, atomic, UVZK__ATOMIC_IDLE);
    uvzk__atomic_pump(atomic);
}

void uvzk__atomic_promotion_release(struct uvzk__atomic_long *atomic)
{
    uvzk__move(atomic->session, &uvzk__atomic_machine, atomic, UVZK__ATOMIC_RELEASING);
    /* Refused only if the hold is lost: atomic_promotion_lost() will be called. */
    (void)uvzk_hold_release(&atomic->promotion.hold, atomic_promotion_released);
}

/* ---------------------------------------------------------------------- retries */

void uvzk__atomic_try_end_pause(struct uvzk__atomic_long *atomic)
{
    uvzk__timer_clear(atomic->session, &atomic->pause);
    uvzk__move(atomic->session, &uvzk__atomic_machine, atomic, UVZK__ATOMIC_IDLE);
}

void uvzk__atomic_try_pause_due(struct uvzk__timer *timer)
{
    struct uvzk__atomic_long *atomic =
        UVZK__CONTAINER_OF(timer, struct uvzk__atomic_long, pause);

    uvzk__move(atomic->session, &uvzk__atomic_machine, atomic, UVZK__ATOMIC_IDLE);
    uvzk__atomic_pump(atomic);
}

/* Counts one more retry. Returns true if the policy allows it. */
static bool count_retry(struct uvzk__atomic_long *atomic, struct uvzk__atomic_call *call,
                        uint64_t *sleep_ms)
{
    const uvzk_retry_policy_t *policy =
        call->promoted ? &atomic->promotion.retry : &atomic->retry;
    uint64_t random = 0;

    (void)uvzk__random(atomic->session, &random, sizeof(random));
    return uvzk__retry_allow(policy, call->retries++,
                             uvzk__now(atomic->session) - call->began_ms, random,
                             sleep_ms);
}

/* Another client was faster. The reading of the next try is recent enough: the server has
 * answered a transaction of this session, so it has applied the other client's write. */
static void try_failed(struct uvzk__atomic_long *atomic, struct uvzk__atomic_call *call)
{
    uint64_t sleep_ms;

    call->step = UVZK__ATOMIC_READ;
    if (call->kind == UVZK__ATOMIC_COMPARE_AND_SET) {
        atomic_try_decide(atomic, call, UVZK_EBADVERSION);
    } else if (count_retry(atomic, call, &sleep_ms)) {
        if (sleep_ms > 0) {
            uvzk__move(atomic->session, &uvzk__atomic_machine, atomic,
                       UVZK__ATOMIC_PAUSING);
            uvzk__timer_set(atomic->session, &atomic->pause,
                            uvzk__now(atomic->session) + sleep_ms);
        }
    } else if (!call->promoted && uvzk__atomic_promotion_is_possible(atomic)) {
        atomic_promotion_acquire(atomic);
    } else {
        atomic_try_decide(atomic, call, UVZK_EBADVERSION);
    }
}

/* --------------------------------------------------------------------- catching up */

static void caught_up(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__atomic_long *atomic;
    struct uvzk__atomic_call *call = reply_begins(rpc, reply->status, &atomic);

    if (call != NULL && reply->status == 0) {
        call->caught_up = true;
        call->step = UVZK__ATOMIC_READ;
    } else if (call != NULL && !uvzk__is_transient(reply->status)) {
        atomic_try_decide(atomic, call, reply->status);
    }
    uvzk__atomic_pump(atomic);
}

/* An empty multi, as the barrier of a connection (engine/barrier.h). */
static void catch_up(struct uvzk__atomic_long *atomic)
{
    uvzk__rpc_prepare(&atomic->rpc, UVZK__RPC_MULTI, "/", caught_up);
    atomic_try_submit(atomic, UVZK__ATOMIC_CATCHING_UP);
}

/* The reading shows that the call changes nothing. That is true only if the server did
 * not lag. */
static void decide_by_reading(struct uvzk__atomic_long *atomic,
                              struct uvzk__atomic_call *call, int status)
{
    if (call->caught_up) {
        atomic_try_decide(atomic, call, status);
    } else {
        call->step = UVZK__ATOMIC_CATCH_UP;
    }
}

/* ------------------------------------------------- the outcome of a write or create */

/* uvzk looks for a write over a version that was read, in the session that sent it. */
static void write_lost(struct uvzk__atomic_long *atomic, struct uvzk__atomic_call *call,
                       int status)
{
    if (uvzk__says_session_over(status)) {
        atomic_try_decide(atomic, call, uvzk__status_of_write(status));
    } else if (call->step == UVZK__ATOMIC_WRITE) {
        atomic_try_decide(atomic, call, UVZK_ECONNLOSS);
    } else {
        call->step = UVZK__ATOMIC_FIND_OUT;
    }
}

/* The call's own value was sent. refused: acts on the server's refusal. */
static void write_replied(struct uvzk__atomic_long *atomic,
                          struct uvzk__atomic_call *call, int status,
                          void (*refused)(struct uvzk__atomic_long *,
                                          struct uvzk__atomic_call *, int status))
{
    enum uvzk__outcome outcome = uvzk__outcome_of(status);

    if (outcome != UVZK__OUTCOME_NOT_SENT) { /* else again */
        uvzk__atomic_call_count(call);
    }
    if (outcome == UVZK__OUTCOME_DONE) {
        atomic_try_decide(atomic, call, 0);
    } else if (outcome == UVZK__OUTCOME_UNKNOWN) {
        write_lost(atomic, call, status);
    } else if (outcome == UVZK__OUTCOME_REFUSED) {
        refused(atomic, call, status);
    }
}

/* ----------------------------------------------------------------------- creating */

static void atomic_try_made(struct uvzk__rpc *rpc, const struct uvzk__reply *reply);

static void atomic_try_make(struct uvzk__atomic_long *atomic)
{
    if (uvzk__may_send(atomic->session)) {
        uvzk__node_create_prepare(atomic->session, &atomic->create, &atomic->rpc,
                                  atomic_try_made);
        atomic_try_submit(atomic, UVZK__ATOMIC_CREATING);
    } /* else pump() starts again with the call's step */
}

/* Creates the znode with this number. */
static void begin_to_make(struct uvzk__atomic_long *atomic, int64_t number)
{
    uvzk__atomic_number_write(atomic->bytes, number);
    uvzk__node_create_begin(&atomic->create);
    atomic_try_make(atomic);
}

/* A call that needs a znode creates it with the number 0, the value of a missing znode.
 * So it does not matter which client creates it, or how often. */
static void made_for_a_write(struct uvzk__atomic_long *atomic,
                             struct uvzk__atomic_call *call, int status)
{
    if (status == 0 || status == UVZK_ENODEEXISTS || uvzk__is_transient(status)) {
        call->step = UVZK__ATOMIC_READ;
    } else {
        atomic_try_decide(atomic, call, status);
    }
}

/* The create had the call's own value. */
static void make_refused(struct uvzk__atomic_long *atomic, struct uvzk__atomic_call *call,
                         int status)
{
    if (status != UVZK_ENODEEXISTS || call->kind == UVZK__ATOMIC_INITIALIZE) {
        atomic_try_decide(atomic, call, status);
    } /* else it is there by now, and is set */
}

static void atomic_try_made(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__atomic_long *atomic;
    struct uvzk__atomic_call *call = reply_begins(rpc, reply->status, &atomic);

    if (call != NULL &&
        uvzk__node_create_next(atomic->session, &atomic->create, rpc, reply->status)) {
        atomic_try_make(atomic);
    } else if (call != NULL && call->step == UVZK__ATOMIC_WRITE &&
               uvzk__node_create_is_last(&atomic->create)) {
        write_replied(atomic, call, reply->status, make_refused);
    } else if (call != NULL && call->step == UVZK__ATOMIC_WRITE) {
        /* An ancestor was not created: nothing has changed. */
        if (!uvzk__is_transient(reply->status)) {
            atomic_try_decide(atomic, call, reply->status);
        }
    } else if (call != NULL) {
        made_for_a_write(atomic, call, reply->status);
    }
    uvzk__atomic_pump(atomic);
}

/* ------------------------------------------------------------------------ writing */

static void write_refused(struct uvzk__atomic_long *atomic,
                          struct uvzk__atomic_call *call, int status)
{
    if (status == UVZK_ENONODE && call->kind == UVZK__ATOMIC_FORCE_SET) {
        begin_to_make(atomic, call->operand);
    } else if (status == UVZK_ENONODE || status == UVZK_EBADVERSION) {
        try_failed(atomic, call); /* it was deleted or changed since the reading */
    } else {
        atomic_try_decide(atomic, call, status);
    }
}

static void atomic_try_written(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__atomic_long *atomic;
    struct uvzk__atomic_call *call = reply_begins(rpc, reply->status, &atomic);

    if (call != NULL) {
        write_replied(atomic, call, reply->status, write_refused);
    }
    uvzk__atomic_pump(atomic);
}

static void write_value(struct uvzk__atomic_long *atomic, struct uvzk__atomic_call *call,
                        int32_t version)
{
    uvzk__atomic_number_write(atomic->bytes, call->value.post_value);
    uvzk__rpc_prepare(&atomic->rpc, UVZK__RPC_SET, atomic->path, atomic_try_written);
    atomic->rpc.data = atomic->bytes;
    atomic->rpc.data_length = sizeof(atomic->bytes);
    atomic->rpc.version = version;
    atomic_try_submit(atomic, UVZK__ATOMIC_WRITING);
}

static void write_without_reading(struct uvzk__atomic_long *atomic,
                                  struct uvzk__atomic_call *call)
{
    call->value.post_value = call->operand;
    if (call->kind == UVZK__ATOMIC_INITIALIZE) {
        begin_to_make(atomic, call->operand);
    } else {
        write_value(atomic, call, ANY_VERSION);
    }
}

/* ------------------------------------------------------------------------ reading */

/* Computes what the call writes, from the number that the znode has. */
static void number_read(struct uvzk__atomic_long *atomic, struct uvzk__atomic_call *call,
                        int64_t number)
{
    call->value.pre_value = call->value.post_value = number;
    switch ((enum uvzk__atomic_kind)call->kind) {
    case UVZK__ATOMIC_GET:
        atomic_try_decide(atomic, call, 0);
        return;
    case UVZK__ATOMIC_COMPARE_AND_SET:
        if (number != call->expected) {
            decide_by_reading(atomic, call, UVZK_EBADVERSION);
            return;
        }
        call->value.post_value = call->operand;
        break;
    case UVZK__ATOMIC_ADD:
        if (!uvzk__atomic_number_add(number, call->operand, &call->value.post_value)) {
            decide_by_reading(atomic, call, UV_ERANGE);
            return;
        }
        break;
    default:
        call->value.post_value = call->operand;
        break;
    }
    if (uvzk__may_send(atomic->session)) {
        write_value(atomic, call, call->over.version);
    } /* else pump() starts again with a reading */
}

static void atomic_try_missing(struct uvzk__atomic_long *atomic,
                               struct uvzk__atomic_call *call)
{
    call->value.pre_value = call->value.post_value = 0;
    if (call->kind == UVZK__ATOMIC_GET) {
        atomic_try_decide(atomic, call, 0);
    } else if (call->kind == UVZK__ATOMIC_COMPARE_AND_SET) {
        decide_by_reading(atomic, call, UVZK_ENONODE);
    } else {
        begin_to_make(atomic, 0);
    }
}

static void read_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__atomic_long *atomic;
    struct uvzk__atomic_call *call = reply_begins(rpc, reply->status, &atomic);
    int64_t number;

    if (call != NULL && reply->status == 0) {
        call->over = reply->stat;
        if (uvzk__atomic_number_read(reply->data, reply->data_length, &number)) {
            number_read(atomic, call, number);
        } else {
            decide_by_reading(atomic, call, UVZK_EDATA);
        }
    } else if (call != NULL && reply->status == UVZK_ENONODE) {
        atomic_try_missing(atomic, call);
    } else if (call != NULL && !uvzk__is_transient(reply->status)) {
        atomic_try_decide(atomic, call, reply->status);
    }
    uvzk__atomic_pump(atomic);
}

static void read_number(struct uvzk__atomic_long *atomic)
{
    uvzk__rpc_prepare(&atomic->rpc, UVZK__RPC_GET, atomic->path, read_replied);
    atomic_try_submit(atomic, UVZK__ATOMIC_READING);
}

/* -------------------------------------------------------------------- finding out */

/* Returns true if the znode shows that the write was not carried out: it still has the
 * version over which the call has written; or exactly one write has followed, and that
 * one has written another number. If it has written the same number, it may be the call's
 * or another client's, because a version does not show whose write it is. */
static bool is_certainly_not_written(const struct uvzk__atomic_call *call,
                                     const struct uvzk__reply *reply)
{
    int64_t number;

    if (reply->stat.czxid != call->over.czxid) {
        return false; /* the znode with that version was deleted, written or not */
    }
    if (reply->stat.mzxid == call->over.mzxid) {
        return true;
    }
    return reply->stat.version == (int32_t)((uint32_t)call->over.version + 1U) &&
           !(uvzk__atomic_number_read(reply->data, reply->data_length, &number) &&
             number == call->value.post_value);
}

static void found_out(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__atomic_long *atomic;
    struct uvzk__atomic_call *call = reply_begins(rpc, reply->status, &atomic);

    if (call != NULL && reply->status == 0 && is_certainly_not_written(call, reply)) {
        if (reply->stat.mzxid == call->over.mzxid) {
            call->step = UVZK__ATOMIC_READ; /* no other client was faster: the same try
                                               again */
        } else {
            try_failed(atomic, call);
        }
    } else if (call != NULL &&
               (!uvzk__is_transient(reply->status) || reply->status == UVZK_EEXPIRED)) {
        atomic_try_decide(atomic, call, UVZK_ECONNLOSS);
    }
    uvzk__atomic_pump(atomic);
}

/* Still in the session of the write: its end would have decided the call. */
static void find_out(struct uvzk__atomic_long *atomic)
{
    uvzk__rpc_prepare(&atomic->rpc, UVZK__RPC_GET, atomic->path, found_out);
    atomic_try_submit(atomic, UVZK__ATOMIC_FINDING_OUT);
}

void uvzk__atomic_try_send(struct uvzk__atomic_long *atomic,
                           struct uvzk__atomic_call *call)
{
    switch ((enum uvzk__atomic_step)call->step) {
    case UVZK__ATOMIC_READ:
        read_number(atomic);
        break;
    case UVZK__ATOMIC_CATCH_UP:
        catch_up(atomic);
        break;
    case UVZK__ATOMIC_WRITE:
        write_without_reading(atomic, call);
        break;
    case UVZK__ATOMIC_FIND_OUT:
        find_out(atomic);
        break;
    }
}
