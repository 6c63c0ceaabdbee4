/* SPDX-License-Identifier: Apache-2.0 */
/* One task of redis_tasks: it tries, waits and tries again, holds, releases, and acquires
 * again. With several servers a lock is held if most of them have given it (Redlock). */
#include <stdlib.h>
#include <string.h>

#include "journal.h"
#include "redis_tasks.h"

#define LEASE_MS "60000"

enum { RETRY_MS = 10, LONG_RETRY_MS = 200, JITTER_MS = 100 };

const char redis_release_script[] =
    "if redis.call('get', KEYS[1]) == ARGV[1] then "
    "redis.call('del', KEYS[1]) "
    "if ARGV[2] ~= '' then redis.call('publish', ARGV[2], '0') end "
    "return 1 end return 0";

static void try_lock(struct redis_task *task);

static size_t server_count(const struct redis_task *task)
{
    return task->run->server_count;
}

static bool has_most(const struct redis_task *task)
{
    return task->yes > server_count(task) / 2;
}

/* Counts one server's answer. Returns true if it was the last one. */
static bool answered(struct redis_task *task, const redisReply *reply, bool yes)
{
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        redis_fail(task->run, reply == NULL ? "a connection has ended" : reply->str);
        return false;
    }
    task->yes += yes;
    return ++task->answers == server_count(task) && task->run->phase != CLOSING;
}

static void send_to_all(struct redis_task *task, redisCallbackFn *callback, int argc,
                        const char **argv)
{
    task->answers = 0;
    task->yes = 0;
    for (size_t s = 0; s < server_count(task); s++) {
        redisAsyncCommandArgv(task->place->session->servers[s], callback, task, argc,
                              argv, NULL);
    }
}

static void send_release(struct redis_task *task, redisCallbackFn *callback)
{
    const char *channel = task->run->wait == REDISSON ? task->place->channel : "";
    const char *words[] = {
        "EVALSHA", task->run->release_sha, "1", task->place->key, task->value, channel};

    send_to_all(task, callback, 6, words);
}

/* ------------------------------------------------------------------- release */

static void on_released(redisAsyncContext *context, void *reply, void *data)
{
    struct redis_task *task = data;
    struct redis_run *run = task->run;
    const redisReply *answer = reply;

    (void)context;
    if (!answered(task, answer, answer != NULL && answer->integer == 1)) {
        return;
    }
    if (!has_most(task)) {
        redis_fail(run, "a lock was gone before its release");
        return;
    }
    journal_add(run->journal, (size_t)(task - run->tasks), 0, task->granted_ns,
                task->released_ns);
    if (run->window.open) {
        run->cycle_count++;
        latencies_add(&run->cycles, window_now() - task->asked_ns);
    }
    if (run->phase >= ENDING) {
        redis_task_ended(run);
    } else if (run->in_turn && run->grants == task->grants_before) {
        run->resting = task;
    } else {
        redis_acquire(task);
    }
}

static void release(struct redis_task *task)
{
    exclusion_leave(task->path);
    task->grants_before = task->run->grants;
    task->released_ns = window_now();
    send_release(task, on_released);
}

static void on_hold_ends(uv_timer_t *timer)
{
    release(timer->data);
}

/* ------------------------------------------------------------------- waiting */

static void on_pause_ends(uv_timer_t *timer)
{
    try_lock(timer->data);
}

static void on_message(redisAsyncContext *context, void *reply, void *data)
{
    struct redis_place *place = data;
    const redisReply *answer = reply;

    (void)context;
    if (answer == NULL || answer->type != REDIS_REPLY_ARRAY || answer->elements < 3) {
        return;
    }
    if (strcmp(answer->element[0]->str, "subscribe") == 0) {
        /* What was released before is not told: those who wait try again. */
        struct redis_task *waiting = place->first;
        place->first = place->last = NULL;
        while (waiting != NULL) {
            struct redis_task *task = waiting;
            waiting = task->next;
            try_lock(task);
        }
    } else if (place->first != NULL) {
        struct redis_task *task = place->first;
        place->first = task->next;
        try_lock(task);
    } else {
        place->message = true;
    }
}

static void await_message(struct redis_task *task)
{
    struct redis_place *place = task->place;

    if (place->message) {
        place->message = false;
        try_lock(task);
        return;
    }
    task->next = NULL;
    if (place->first == NULL) {
        place->first = task;
    } else {
        place->last->next = task;
    }
    place->last = task;
    if (!place->subscribes) {
        place->subscribes = true;
        redisAsyncCommand(place->session->messages, on_message, place, "SUBSCRIBE %s",
                          place->channel);
    }
}

static void wait_for_lock(struct redis_task *task)
{
    if (task->run->phase >= ENDING) {
        redis_task_ended(task->run);
        return;
    }
    switch (task->run->wait) {
    case REDLOCK:
        uv_timer_start(&task->timer, on_pause_ends,
                       LONG_RETRY_MS - JITTER_MS + (uint64_t)rand() % (2 * JITTER_MS + 1),
                       0);
        break;
    case REDIS_SEMAPHORE:
        uv_timer_start(&task->timer, on_pause_ends, RETRY_MS, 0);
        break;
    case REDISSON:
        await_message(task);
        break;
    }
}

/* ------------------------------------------------------------------- acquire */

static void on_given_back(redisAsyncContext *context, void *reply, void *data)
{
    (void)context;
    if (answered(data, reply, false)) {
        wait_for_lock(data);
    }
}

static void granted(struct redis_task *task)
{
    struct redis_run *run = task->run;

    task->granted_ns = window_now();
    if (run->window.open) {
        latencies_add(&run->acquires, task->granted_ns - task->asked_ns);
    }
    run->grants++;
    if (run->resting != NULL) {
        struct redis_task *resting = run->resting;
        run->resting = NULL;
        redis_acquire(resting);
    }
    /* These locks have no token. */
    exclusion_enter(task->path, true, task->path->last_alone + 1);
    if (run->hold_ms > 0) {
        uv_timer_start(&task->timer, on_hold_ends, run->hold_ms, 0);
    } else {
        release(task);
    }
}

static void on_tried(redisAsyncContext *context, void *reply, void *data)
{
    struct redis_task *task = data;
    const redisReply *answer = reply;

    (void)context;
    if (!answered(task, answer, answer != NULL && answer->type == REDIS_REPLY_STATUS)) {
        return;
    }
    if (has_most(task)) {
        granted(task);
    } else if (task->yes > 0) {
        send_release(task, on_given_back);
    } else {
        wait_for_lock(task);
    }
}

static void try_lock(struct redis_task *task)
{
    const char *words[] = {"SET", task->place->key, task->value, "NX", "PX", LEASE_MS};

    send_to_all(task, on_tried, 6, words);
}

void redis_acquire(struct redis_task *task)
{
    snprintf(task->value, sizeof(task->value), "%08x%08x%08x%08x", (unsigned)rand(),
             (unsigned)rand(), (unsigned)rand(), (unsigned)rand());
    task->asked_ns = window_now();
    try_lock(task);
}
