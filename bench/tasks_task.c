/* SPDX-License-Identifier: Apache-2.0 */
/* One task: it acquires, releases, and acquires again; and the checks at each grant. */
#include "journal.h"
#include "tasks_run.h"

static struct task *of(uvzk_hold_t *hold)
{
    return (struct task *)(void *)hold;
}

/* xorshift64*. Each task has its own seed, the same in every run. */
static uint64_t next_random(struct task *task)
{
    task->random ^= task->random >> 12;
    task->random ^= task->random << 25;
    task->random ^= task->random >> 27;
    return task->random * 2685821657736338717U >> 32;
}

static void end_task(struct tasks_run *run, struct task *task)
{
    if (run->options->hold_ms > 0) {
        uv_close((uv_handle_t *)&task->hold_ends, NULL);
    }
    tasks_task_ended(run);
}

static void ended_by(struct tasks_run *run, struct task *task, uint64_t *count, int code)
{
    /* The codes with which holds end when the clients are closed are no errors. */
    if (run->phase < CLOSING) {
        ++*count;
        if (run->result->first_error == 0) {
            run->result->first_error = code;
        }
    }
    end_task(run, task);
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct tasks_run *run = hold->data;
    struct task *task = of(hold);

    if (status < 0) {
        ended_by(run, task, &run->result->lost, status);
        return;
    }
    run->fresh -= !task->has_cycled;
    task->has_cycled = true;
    if (run->window.open) {
        run->result->cycles++;
        latencies_add(&run->cycles, window_now() - task->asked_ns);
    }
    if (run->phase < ENDING) {
        task_acquire(run, task);
    } else {
        end_task(run, task);
    }
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct tasks_run *run = hold->data;

    exclusion_leave(of(hold)->path);
    ended_by(run, of(hold), &run->result->lost, reason);
}

/* A release is refused only if the hold is lost already. Then on_lost will run. */
static void give_back(struct task *task)
{
    struct tasks_run *run = task->hold.data;
    int64_t token = uvzk_hold_token(&task->hold); /* 0 from the release on */
    uint64_t now = window_now();

    task->path->released_ns = now;
    if (uvzk_hold_release(&task->hold, on_released) == 0) {
        exclusion_leave(task->path);
        journal_add(run->journal, (size_t)(task - run->tasks), token, task->granted_ns,
                    now);
    }
}

static void on_hold_ends(uv_timer_t *timer)
{
    give_back(timer->data);
}

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct tasks_run *run = hold->data;
    struct task *task = of(hold);
    bool alone = run->options->recipe == MUTEX ||
                 (run->options->recipe == READ_WRITE && !task->reads) ||
                 (run->options->recipe == SEMAPHORE && run->options->leases == 1);

    if (status < 0) {
        ended_by(run, task, &run->result->refused, status);
        return;
    }
    task->granted_ns = window_now();
    if (run->window.open) {
        latencies_add(&run->acquires, task->granted_ns - task->asked_ns);
        if (task->path->released_ns != 0) {
            latencies_add(&run->handovers, task->granted_ns - task->path->released_ns);
        }
    }
    task->path->released_ns = 0;
    run->result->invalid_grants += !uvzk_hold_is_valid(hold);
    exclusion_enter(task->path, alone, uvzk_hold_token(hold));
    if (run->options->hold_ms > 0) {
        uv_timer_start(&task->hold_ends, on_hold_ends, run->options->hold_ms, 0);
    } else {
        give_back(task);
    }
}

static uvzk_lock_t *choose_lock(const struct tasks_run *run, struct task *task)
{
    if (run->options->recipe != READ_WRITE) {
        return &task->place->lock;
    }
    task->reads = next_random(task) % 100 < run->options->readers;
    return task->reads ? &task->place->both.read : &task->place->both.write;
}

void task_acquire(struct tasks_run *run, struct task *task)
{
    task->hold.data = run;
    task->asked_ns = window_now();
    int rc = uvzk_lock_acquire(choose_lock(run, task), &task->hold, NULL, on_acquired,
                               on_lost);
    if (rc < 0) {
        ended_by(run, task, &run->result->refused, rc);
        tasks_fail(run, "an acquire was not accepted: %s", uvzk_strerror(rc));
    }
}
