#include "contest.h"

#include "run_loop.h"

static void take(struct contestant *contestant);

static void after(struct contestant *contestant, uint64_t ms, uv_timer_cb then)
{
    uv_timer_start(&contestant->timer, then, ms, 0);
}

static void take_again(uv_timer_t *timer)
{
    take(timer->data);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    (void)status;
    take(hold->data);
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
    uvzk_hold_release(&contestant->request, on_released);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct contestant *contestant = hold->data;
    (void)reason;
    contestant->contest->losses++;
    uv_timer_stop(&contestant->timer);
    end(contestant);
    take(contestant);
}

static unsigned valid_holds(const struct contest *contest)
{
    unsigned count = 0;
    for (const struct contestant *one = contest->contestants; one != NULL;
         one = one->next) {
        count += uvzk_hold_is_valid(&one->request) ? 1 : 0;
    }
    return count;
}

static void judge(struct contest *contest, const struct contestant *granted)
{
    int64_t token = uvzk_hold_token(&granted->request);
    contest->grants++;
    contest->excesses += valid_holds(contest) > contest->permits;
    contest->regressions += contest->permits == 1 && token <= contest->token;
    contest->token = token;
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct contestant *contestant = hold->data;
    struct contest *contest = contestant->contest;
    if (status != 0) {
        contest->refusals++;
        after(contestant, contest->pause_ms, take_again);
        return;
    }
    contestant->grants++;
    judge(contest, contestant);
    if (contestant->granted != NULL) {
        contestant->granted(contestant);
    }
    after(contestant, contest->hold_ms, give_back);
}

static void mark_over(uv_handle_t *timer)
{
    struct contestant *contestant = timer->data;
    contestant->over = true;
}

static void take(struct contestant *contestant)
{
    if (contestant->contest->stopping) {
        uv_close((uv_handle_t *)&contestant->timer, mark_over);
    } else if (uvzk_lock_acquire(contestant->lock, &contestant->request, NULL,
                                 on_acquired, on_lost) != 0) {
        contestant->contest->refusals++;
        after(contestant, contestant->contest->pause_ms, take_again);
    }
}

void contest_join(struct contest *contest, struct contestant *contestant, uv_loop_t *loop,
                  uvzk_lock_t *lock)
{
    contestant->contest = contest;
    contestant->next = contest->contestants;
    contest->contestants = contestant;
    contestant->lock = lock;
    contestant->request.data = contestant;
    uv_timer_init(loop, &contestant->timer);
    contestant->timer.data = contestant;
    take(contestant);
}

void contest_mark(struct contest *contest)
{
    for (struct contestant *one = contest->contestants; one != NULL; one = one->next) {
        one->grants_before = one->grants;
    }
}

bool contest_has_gone_round(const struct contest *contest)
{
    for (const struct contestant *one = contest->contestants; one != NULL;
         one = one->next) {
        if (one->grants == one->grants_before) {
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

bool contest_stop(struct contest *contest, uv_loop_t *loop)
{
    contest->stopping = true;
    return run_until(loop, all_are_over, contest, PATIENCE_MS);
}
