/* SPDX-License-Identifier: Apache-2.0 */
/* One contender of many_locks: acquire, hold, release, and the checks that are possible
 * at the moment of the grant. many_locks_rounds.c starts each contender once in each
 * round. The callbacks report to it when a contender has its place (granted or queued)
 * and when it has ended, and that moves the run to its next phase. */
#include <stdlib.h>
#include <string.h>

#include "many_locks_run.h"

static struct contender *of(uvzk_hold_t *hold)
{
    return (struct contender *)(void *)hold;
}

static struct lock *lock_of(struct run *run, const struct contender *contender)
{
    return &run->locks[contender->lock];
}

/* Notes the first error of the run. The codes with which holds end when the clients are
 * closed are no errors. */
static void note_error(struct run *run, int code)
{
    if (run->result->first_error == 0 && run->phase < CLOSING_CLIENTS) {
        run->result->first_error = code;
    }
}

/* Returns true if this callback is allowed. Each request ends exactly once, so a callback
 * after the end, or in a wrong state, is counted as an extra one. */
static bool expected(struct run *run, const struct contender *contender,
                     bool in_right_state)
{
    run->events++;
    if (!in_right_state || contender->state == ENDED) {
        run->result->extra_answers++;
        return false;
    }
    return true;
}

static void end(struct run *run, struct contender *contender)
{
    struct lock *lock = lock_of(run, contender);
    if (lock->holder == contender) {
        lock->holder = NULL;
    }
    bool was_pending = contender->state == PENDING;
    contender->state = ENDED;
    if (was_pending) {
        round_contender_placed(run);
    }
    round_contender_ended(run);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct run *run = hold->data;
    struct contender *contender = of(hold);

    if (!expected(run, contender, contender->state == RELEASING)) {
        return;
    }
    if (status == 0) {
        run->result->released++;
    } else {
        run->result->lost += status == UVZK_ELOST;
        note_error(run, status);
    }
    end(run, contender);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct run *run = hold->data;
    struct contender *contender = of(hold);

    if (!expected(run, contender, contender->state == HELD)) {
        return;
    }
    run->result->lost += reason != UVZK_ECLOSED;
    note_error(run, reason);
    end(run, contender);
}

static void give_back(struct run *run, struct contender *contender)
{
    struct lock *lock = lock_of(run, contender);
    uint64_t now = uv_hrtime();

    /* A release is refused only if the hold is lost already. Then on_lost will run. */
    if (uvzk_hold_release(&contender->request, on_released) == 0) {
        contender->state = RELEASING;
        lock->freed_ns = now;
        if (lock->holder == contender) {
            lock->holder = NULL;
        }
    }
}

/* All holds last equally long, so holds are added to the list of due ones in the right
 * order, and one timer for its first entry is enough. */
void contender_hold_begins(struct run *run, struct contender *contender)
{
    if (run->options->hold_ms == 0) {
        give_back(run, contender);
        return;
    }
    contender->due_ms = uv_now(&run->loop) + run->options->hold_ms;
    contender->next_due = NULL;
    if (run->due_last != NULL) {
        run->due_last->next_due = contender;
    } else {
        run->due_first = contender;
        uv_timer_start(&run->hold_timer, contender_hold_due, run->options->hold_ms, 0);
    }
    run->due_last = contender;
}

void contender_hold_due(uv_timer_t *timer)
{
    struct run *run = timer->data;
    uint64_t now = uv_now(&run->loop);

    while (run->due_first != NULL && run->due_first->due_ms <= now) {
        struct contender *contender = run->due_first;
        run->due_first = contender->next_due;
        if (run->due_first == NULL) {
            run->due_last = NULL;
        }
        /* A hold that was lost meanwhile is still in the list; its contender has
         * ended. */
        if (contender->state == HELD) {
            give_back(run, contender);
        }
    }
    if (run->due_first != NULL) {
        uv_timer_start(timer, contender_hold_due, run->due_first->due_ms - now, 0);
    }
}

/* Returns the sequence number at the end of a lock znode's name, or -1 if there is
 * none. */
static int64_t sequence_of(const char *path)
{
    const char *digits = path == NULL ? NULL : strrchr(path, '-');
    return digits == NULL ? -1 : (int64_t)strtoll(digits + 1, NULL, 10);
}

/* Tokens are czxids and sequence numbers count creates, so both must grow from grant to
 * grant: tokens always, and sequence numbers as long as the directory exists. The
 * directory exists during the whole round, because its queue is never empty. */
static void check_grant(struct run *run, struct contender *contender)
{
    struct lock *lock = lock_of(run, contender);
    const uvzk_hold_t *hold = &contender->request;
    int64_t token = uvzk_hold_token(hold);
    int64_t sequence = sequence_of(uvzk_hold_path(hold));

    if (!uvzk_hold_is_valid(hold)) {
        run->result->invalid_grants++;
    } else if (lock->holder != NULL && uvzk_hold_is_valid(&lock->holder->request)) {
        run->result->overlaps++;
    }
    if (token <= lock->last_token || sequence <= lock->last_sequence) {
        run->result->out_of_order++;
    }
    lock->last_token = token;
    lock->last_sequence = sequence;
    lock->holder = contender;
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct run *run = hold->data;
    struct contender *contender = of(hold);
    struct lock *lock = lock_of(run, contender);
    uint64_t now = uv_hrtime();

    if (!expected(run, contender,
                  contender->state == PENDING || contender->state == QUEUED)) {
        return;
    }
    if (status < 0) {
        run->result->refused += status != UVZK_ECLOSED;
        note_error(run, status);
        end(run, contender);
        return;
    }
    run->result->granted++;
    check_grant(run, contender);
    latencies_add(&run->acquire_latencies, now - contender->asked_ns);
    if (lock->freed_ns != 0) {
        latencies_add(&run->handover_latencies, now - lock->freed_ns);
    }
    bool was_pending = contender->state == PENDING;
    bool draining = run->phase == DRAINING;
    contender->state = HELD;
    if (was_pending) {
        round_contender_placed(run);
    }
    if (draining) {
        contender_hold_begins(run, contender);
    }
}

static void on_queued(uvzk_hold_t *hold, uint64_t ahead)
{
    struct run *run = hold->data;
    struct contender *contender = of(hold);

    (void)ahead;
    run->events++;
    if (contender->state == PENDING) {
        contender->state = QUEUED;
        round_contender_placed(run);
    }
}

void contender_start(struct run *run, struct contender *contender, uvzk_mutex_t *mutex)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.queued_cb = on_queued;
    contender->request.data = run;
    contender->state = PENDING;
    contender->asked_ns = uv_hrtime();
    int rc =
        uvzk_lock_acquire(mutex, &contender->request, &options, on_acquired, on_lost);
    if (rc < 0) {
        contender->state = IDLE;
        note_error(run, rc);
        run_fail(run, "an acquire was not accepted: %s", uvzk_strerror(rc));
    } else {
        run->result->asked++;
    }
}
