#include "contest.h"

static void take(struct contestant *contestant);

static void after(struct contestant *contestant, uint64_t ms, uv_timer_cb then)
{
    uv_timer_start(&contestant->timer, then, ms, 0);
}

static void take_again(uv_timer_t *timer)
{
    take(timer->data);
}

static void end(struct contestant *contestant)
{
    if (contestant->ended != NULL) {
        contestant->ended(contestant);
    }
}

static void give_back(uv_timer_t *timer)
{
    struct contestant *contestant = timer->data;
    end(contestant);
    (void)hold_ask_release(&contestant->hold); /* it may be lost, and not told yet */
}

static unsigned valid_holds(const struct contest *contest)
{
    unsigned count = 0;
    for (const struct contestant *one = contest->contestants; one != NULL;
         one = one->next) {
        count += uvzk_hold_is_valid(&one->hold.request) ? 1 : 0;
    }
    return count;
}

static void judge(struct contest *contest, const struct contestant *granted)
{
    unsigned valid = valid_holds(contest);
    contest->grants++;
    contest->most = valid > contest->most ? valid : contest->most;
    contest->excesses += valid > contest->permits;
    contest->regressions +=
        contest->permits == 1 && granted->hold.token <= contest->token;
    contest->token = granted->hold.token;
}

static void be_granted(struct contestant *contestant)
{
    contestant->grants++;
    judge(contestant->contest, contestant);
    if (contestant->granted != NULL) {
        contestant->granted(contestant);
    }
    after(contestant, contestant->contest->hold_ms, give_back);
}

static void on_told(struct hold *hold)
{
    struct contestant *contestant = hold->data;
    struct contest *contest = contestant->contest;
    if (hold->released > 0) {
        take(contestant);
    } else if (hold->lost > 0) {
        contest->losses++;
        uv_timer_stop(&contestant->timer);
        end(contestant);
        take(contestant);
    } else if (hold->status != 0) {
        contest->refusals++;
        after(contestant, contest->pause_ms, take_again);
    } else {
        be_granted(contestant);
    }
}

static void mark_over(uv_handle_t *timer)
{
    struct contestant *contestant = timer->data;
    contestant->over = true;
}

static void take(struct contestant *contestant)
{
    struct contest *contest = contestant->contest;
    if (contest->stopping) {
        uv_close((uv_handle_t *)&contestant->timer, mark_over);
        return;
    }
    if (hold_ask(&contestant->hold, contestant->process, contestant->lock, NULL) != 0) {
        contest->refusals++;
        after(contestant, contest->pause_ms, take_again);
    }
    contestant->hold.data = contestant;
    contestant->hold.hook = on_told;
}

void contest_join(struct contest *contest, struct contestant *contestant,
                  struct process *process, uvzk_lock_t *lock)
{
    contestant->contest = contest;
    contestant->next = contest->contestants;
    contest->contestants = contestant;
    contestant->process = process;
    contestant->lock = lock;
    uv_timer_init(process->world->loop, &contestant->timer);
    contestant->timer.data = contestant;
    take(contestant);
}

void contest_mark(struct contest *contest)
{
    for (struct contestant *one = contest->contestants; one != NULL; one = one->next) {
        one->grants_before = one->grants;
    }
}

bool contest_has_gone_round(const struct contest *contest, int times)
{
    for (const struct contestant *one = contest->contestants; one != NULL;
         one = one->next) {
        if (one->grants - one->grants_before < times) {
            return false;
        }
    }
    return true;
}

static bool all_are_over(void *context)
{
    const struct contest *contest = context;
    for (const struct contestant *one = contest->contestants; one != NULL;
         one = one->next) {
        if (!one->over) {
            return false;
        }
    }
    return true;
}

bool contest_stop(struct contest *contest, struct world *world)
{
    contest->stopping = true;
    return world_await_that(world, all_are_over, contest);
}

void contest_assert_fair(const struct contest *contest)
{
    assert_int_equal(contest->excesses, 0);
    assert_int_equal(contest->regressions, 0);
    assert_int_equal(contest->losses, 0);
    assert_int_equal(contest->refusals, 0);
}
