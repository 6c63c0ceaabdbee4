/* Acquires and releases the mutex of the promoted phase by the public functions of the
 * library (atomic_promotion.h). atomic_try.c asks for it; the callbacks return to the
 * current call. */
#include "atomic/atomic_promotion.h"

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

void uvzk__atomic_promotion_acquire(struct uvzk__atomic_long *atomic)
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
