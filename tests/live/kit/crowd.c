#include "crowd.h"

#include <stdlib.h>
#include <string.h>

#define HOLD_TURNS_MAX 4U

void crowd_open(struct crowd *crowd, struct world *world, int count)
{
    memset(crowd, 0, sizeof(*crowd));
    crowd->world = world;
    crowd->count = count;
    crowd->workers = calloc((size_t)count, sizeof(crowd->workers[0]));
    assert_non_null(crowd->workers);
    crowd->random = seeded_begin();
    for (int i = 0; i < count; i++) {
        crowd->workers[i].crowd = crowd;
        crowd->workers[i].number = i;
        uvzk_acquire_options_init(&crowd->workers[i].options);
    }
}

void crowd_employ(struct crowd *crowd, int number, struct process *process,
                  uvzk_lock_t *lock, int rounds)
{
    struct worker *worker = &crowd->workers[number];
    worker->process = process;
    worker->lock = lock;
    worker->rounds = rounds;
}

void crowd_close(struct crowd *crowd)
{
    free(crowd->workers);
    crowd->workers = NULL;
}

bool worker_holds(const struct worker *worker)
{
    return worker->busy && uvzk_hold_is_valid(&worker->hold.request);
}

int crowd_holders(const struct crowd *crowd)
{
    int holders = 0;
    for (int i = 0; i < crowd->count; i++) {
        holders += worker_holds(&crowd->workers[i]);
    }
    return holders;
}

bool crowd_is_busy(const struct crowd *crowd)
{
    for (int i = 0; i < crowd->count; i++) {
        if (crowd->workers[i].busy) {
            return true;
        }
    }
    return false;
}

static void begin_round(struct worker *worker)
{
    struct crowd *crowd = worker->crowd;
    if (crowd->prepare != NULL) {
        crowd->prepare(worker);
    }
    assert_int_equal(
        hold_ask(&worker->hold, worker->process, worker->lock, &worker->options), 0);
    worker->turns = (int)seeded_below(&crowd->random, HOLD_TURNS_MAX);
    worker->rounds--;
    worker->busy = true;
}

static void end_round(struct worker *worker)
{
    const struct hold *hold = &worker->hold;
    int status = hold->status != 0 ? hold->status
                 : hold->lost > 0  ? hold->reason
                                   : hold->release_status;
    worker->crowd->grants += hold->status == 0;
    if (status != 0) {
        assert_true(worker->crowd->sessions_may_end);
        assert_true(status == UVZK_EEXPIRED || status == UVZK_EPROOF ||
                    status == UVZK_ELOST);
        worker->expired++;
        worker->rounds++;
    }
    worker->busy = false;
}

/* false: it has nothing left to do. */
static bool move_on(struct worker *worker)
{
    const struct crowd *crowd = worker->crowd;
    if (worker->busy && hold_over(&worker->hold)) {
        end_round(worker);
    } else if (worker->busy && hold_holds(&worker->hold) && !crowd->clinging &&
               worker->turns-- == 0) {
        hold_release(&worker->hold);
    }
    if (!worker->busy && worker->rounds > 0 && !crowd->resting) {
        begin_round(worker);
    }
    return worker->busy || worker->rounds > 0;
}

bool crowd_turn(void *context)
{
    struct crowd *crowd = context;
    bool done = true;
    if (crowd->check != NULL) {
        crowd->check(crowd);
    }
    for (int i = 0; i < crowd->count; i++) {
        done = !move_on(&crowd->workers[i]) && done;
    }
    return done;
}

void crowd_finish(struct crowd *crowd)
{
    assert_true(world_await_that(crowd->world, crowd_turn, crowd));
}
