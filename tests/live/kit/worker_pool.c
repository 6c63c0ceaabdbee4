/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_pool.h"

#include <stdlib.h>
#include <string.h>

#define HOLD_TURNS_MAX 4U

void worker_pool_open(struct worker_pool *pool, struct world *world, int count)
{
    memset(pool, 0, sizeof(*pool));
    pool->world = world;
    pool->count = count;
    pool->workers = calloc((size_t)count, sizeof(pool->workers[0]));
    assert_non_null(pool->workers);
    pool->random = seeded_begin();
    for (int i = 0; i < count; i++) {
        pool->workers[i].pool = pool;
        pool->workers[i].number = i;
        uvzk_acquire_options_init(&pool->workers[i].options);
    }
}

void worker_pool_assign(struct worker_pool *pool, int number, struct process *process,
                        uvzk_lock_t *lock, int rounds)
{
    struct worker *worker = &pool->workers[number];
    worker->process = process;
    worker->lock = lock;
    worker->rounds = rounds;
}

void worker_pool_close(struct worker_pool *pool)
{
    free(pool->workers);
    pool->workers = NULL;
}

bool worker_holds(const struct worker *worker)
{
    return worker->busy && uvzk_hold_is_valid(&worker->hold.request);
}

int worker_pool_holders(const struct worker_pool *pool)
{
    int holders = 0;
    for (int i = 0; i < pool->count; i++) {
        holders += worker_holds(&pool->workers[i]);
    }
    return holders;
}

bool worker_pool_is_busy(const struct worker_pool *pool)
{
    for (int i = 0; i < pool->count; i++) {
        if (pool->workers[i].busy) {
            return true;
        }
    }
    return false;
}

static void begin_round(struct worker *worker)
{
    struct worker_pool *pool = worker->pool;
    if (pool->prepare != NULL) {
        pool->prepare(worker);
    }
    assert_int_equal(
        hold_ask(&worker->hold, worker->process, worker->lock, &worker->options), 0);
    worker->turns = (int)seeded_below(&pool->random, HOLD_TURNS_MAX);
    worker->rounds--;
    worker->busy = true;
}

static void end_round(struct worker *worker)
{
    const struct hold *hold = &worker->hold;
    int status = hold->status != 0 ? hold->status
                 : hold->lost > 0  ? hold->reason
                                   : hold->release_status;
    worker->pool->grants += hold->status == 0;
    /* The round has ended with its session. The worker repeats it. */
    if (status != 0) {
        assert_true(worker->pool->sessions_may_end);
        assert_true(status == UVZK_EEXPIRED || status == UVZK_EPROOF ||
                    status == UVZK_ELOST);
        worker->expired++;
        worker->rounds++;
    }
    worker->busy = false;
}

/* Returns false if the worker has nothing left to do. */
static bool move_on(struct worker *worker)
{
    const struct worker_pool *pool = worker->pool;
    if (worker->busy && hold_over(&worker->hold)) {
        end_round(worker);
    } else if (worker->busy && hold_holds(&worker->hold) && !pool->keep_holds &&
               worker->turns-- == 0) {
        hold_release(&worker->hold);
    }
    if (!worker->busy && worker->rounds > 0 && !pool->paused) {
        begin_round(worker);
    }
    return worker->busy || worker->rounds > 0;
}

bool worker_pool_turn(void *context)
{
    struct worker_pool *pool = context;
    bool done = true;
    if (pool->check != NULL) {
        pool->check(pool);
    }
    for (int i = 0; i < pool->count; i++) {
        done = !move_on(&pool->workers[i]) && done;
    }
    return done;
}

void worker_pool_finish(struct worker_pool *pool)
{
    assert_true(world_await_that(pool->world, worker_pool_turn, pool));
}
