/* SPDX-License-Identifier: Apache-2.0 */
#include "contention.h"

static void take(struct contention_user *contention_user);

static void after(struct contention_user *contention_user, uint64_t ms, uv_timer_cb then)
{
    uv_timer_start(&contention_user->timer, then, ms, 0);
}

static void take_again(uv_timer_t *timer)
{
    take(timer->data);
}

/* The user no longer holds the lock: it was lost, or is about to be released. */
static void end(struct contention_user *contention_user)
{
    if (contention_user->ended != NULL) {
        contention_user->ended(contention_user);
    }
}

static void give_back(uv_timer_t *timer)
{
    struct contention_user *contention_user = timer->data;
    end(contention_user);
    (void)hold_ask_release(&contention_user->hold); /* refused if it is already lost */
}

static unsigned valid_holds(const struct contention *contention)
{
    unsigned count = 0;
    for (const struct contention_user *one = contention->contention_users; one != NULL;
         one = one->next) {
        count += uvzk_hold_is_valid(&one->hold.request) ? 1 : 0;
    }
    return count;
}

/* Counts the valid holds at a grant. With one permit, the fencing token must have
 * grown. */
static void check_grant(struct contention *contention,
                        const struct contention_user *granted)
{
    unsigned valid = valid_holds(contention);
    contention->grants++;
    contention->most = valid > contention->most ? valid : contention->most;
    contention->excesses += valid > contention->permits;
    contention->regressions +=
        contention->permits == 1 && granted->hold.token <= contention->token;
    contention->token = granted->hold.token;
}

static void be_granted(struct contention_user *contention_user)
{
    contention_user->grants++;
    check_grant(contention_user->contention, contention_user);
    if (contention_user->granted != NULL) {
        contention_user->granted(contention_user);
    }
    after(contention_user, contention_user->contention->hold_ms, give_back);
}

static void on_told(struct hold *hold)
{
    struct contention_user *contention_user = hold->data;
    struct contention *contention = contention_user->contention;
    if (hold->released > 0) {
        take(contention_user);
    } else if (hold->lost > 0) {
        contention->losses++;
        uv_timer_stop(&contention_user->timer);
        end(contention_user);
        take(contention_user);
    } else if (hold->status != 0) {
        contention->refusals++;
        after(contention_user, contention->pause_ms, take_again);
    } else {
        be_granted(contention_user);
    }
}

static void mark_over(uv_handle_t *timer)
{
    struct contention_user *contention_user = timer->data;
    contention_user->over = true;
}

static void take(struct contention_user *contention_user)
{
    struct contention *contention = contention_user->contention;
    if (contention->stopping || contention_user->leaving) {
        uv_close((uv_handle_t *)&contention_user->timer, mark_over);
        return;
    }
    if (hold_ask(&contention_user->hold, contention_user->process, contention_user->lock,
                 NULL) != 0) {
        contention->refusals++;
        after(contention_user, contention->pause_ms, take_again);
    }
    /* hold_ask has zeroed the hold. No callback comes inside that call. */
    contention_user->hold.data = contention_user;
    contention_user->hold.hook = on_told;
}

void contention_join(struct contention *contention,
                     struct contention_user *contention_user, struct process *process,
                     uvzk_lock_t *lock)
{
    contention_user->contention = contention;
    contention_user->next = contention->contention_users;
    contention->contention_users = contention_user;
    contention_user->process = process;
    contention_user->lock = lock;
    uv_timer_init(process->world->loop, &contention_user->timer);
    contention_user->timer.data = contention_user;
    take(contention_user);
}

void contention_mark(struct contention *contention)
{
    for (struct contention_user *one = contention->contention_users; one != NULL;
         one = one->next) {
        one->grants_before = one->grants;
    }
}

bool contention_all_granted(const struct contention *contention, int times)
{
    for (const struct contention_user *one = contention->contention_users; one != NULL;
         one = one->next) {
        if (!one->leaving && one->grants - one->grants_before < times) {
            return false;
        }
    }
    return true;
}

static bool is_over(void *context)
{
    const struct contention_user *contention_user = context;
    return contention_user->over;
}

bool contention_leave(struct contention_user *contention_user)
{
    contention_user->leaving = true;
    return world_await_that(contention_user->process->world, is_over, contention_user);
}

static bool all_are_over(void *context)
{
    const struct contention *contention = context;
    for (const struct contention_user *one = contention->contention_users; one != NULL;
         one = one->next) {
        if (!one->over) {
            return false;
        }
    }
    return true;
}

bool contention_stop(struct contention *contention, struct world *world)
{
    contention->stopping = true;
    return world_await_that(world, all_are_over, contention);
}

void contention_assert_clean(const struct contention *contention)
{
    assert_int_equal(contention->excesses, 0);
    assert_int_equal(contention->regressions, 0);
    assert_int_equal(contention->losses, 0);
    assert_int_equal(contention->refusals, 0);
}
