/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds of many_locks. In each round first all contenders queue, and then the queues
 * drain, until each contender has had the lock and has released it. */
#include "counting_allocator.h"
#include "leftovers.h"
#include "many_locks_run.h"

static void begin_round(struct run *run)
{
    const struct many_locks_options *options = run->options;

    run->round++;
    run->placed = 0;
    run->ended = 0;
    run->due_first = NULL;
    run->due_last = NULL;
    for (size_t i = 0; i < options->locks; i++) {
        /* The server may have removed the empty directory since the last round. A new
         * directory counts from 0 again. */
        run->locks[i].last_sequence = -1;
        run->locks[i].freed_ns = 0;
    }
    run_begin_phase(run, QUEUEING);
    for (size_t n = 0; n < run->count && run->phase == QUEUEING; n++) {
        size_t lock = n / options->contenders;
        size_t mutex = n % options->contenders % run->mutexes_per_lock;
        contender_start(run, &run->contenders[n],
                        &run->mutexes[lock * run->mutexes_per_lock + mutex]);
    }
}

static void begin_draining(struct run *run)
{
    struct many_locks_result *result = run->result;
    uint64_t requests = run_requests(run) - run->phase_began_requests;
    uint64_t took = uv_hrtime() - run->phase_began_ns;

    result->queue_ns += took;
    if (run->round == 1) {
        result->first_queue_requests = requests;
        result->bytes_pending = counting_allocator_bytes();
        result->bytes_peak = counting_allocator_peak();
    } else {
        result->later_queue_requests += requests;
        result->later_ns += took;
    }
    run_begin_phase(run, DRAINING);
    uv_update_time(&run->loop);
    for (size_t i = 0; i < run->options->locks; i++) {
        if (run->locks[i].holder != NULL) {
            contender_hold_begins(run, run->locks[i].holder);
        }
    }
}

void round_contender_placed(struct run *run)
{
    if (run->phase == QUEUEING) {
        progress_step(&run->progress, "queueing");
        if (++run->placed == run->count) {
            begin_draining(run);
        }
    }
}

void round_contender_ended(struct run *run)
{
    struct many_locks_result *result = run->result;

    if (run->phase != QUEUEING && run->phase != DRAINING) {
        return;
    }
    progress_step(&run->progress, "draining");
    if (++run->ended < run->count) {
        return;
    }
    uint64_t took = uv_hrtime() - run->phase_began_ns;
    result->drain_ns += took;
    result->later_ns += run->round == 1 ? 0 : took;
    result->drain_requests += run_requests(run) - run->phase_began_requests;
    if (run->round < run->options->rounds) {
        begin_round(run);
    } else {
        ending_begin(run);
    }
}

static int open_mutexes(struct run *run)
{
    const struct many_locks_options *options = run->options;
    char path[96];

    for (size_t i = 0; i < options->locks; i++) {
        leftovers_lock_path(path, sizeof(path), run->result->base, i);
        for (size_t j = 0; j < run->mutexes_per_lock; j++) {
            uvzk_client_t *client = &run->clients[(i + j) % options->clients];
            uvzk_mutex_t *mutex = &run->mutexes[i * run->mutexes_per_lock + j];
            mutex->data = run;
            int rc = uvzk_mutex_init(client, mutex, path);
            if (rc < 0) {
                return rc;
            }
            run->mutexes_open++;
        }
    }
    return 0;
}

void rounds_begin(struct run *run)
{
    run->result->connect_ns = uv_hrtime() - run->phase_began_ns;
    run->result->bytes_before = counting_allocator_bytes();
    counting_allocator_reset_peak();
    int rc = open_mutexes(run);
    if (rc < 0) {
        run_fail(run, "a mutex could not be opened: %s", uvzk_strerror(rc));
        return;
    }
    begin_round(run);
}
