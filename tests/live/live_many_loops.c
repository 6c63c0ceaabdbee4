/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of their own in threads of their own, each with clients that come and go, all
 * begun at one moment: what clients share in a process (the C client's settings, the
 * routes of its log, libuv's thread pool) is shared by these too. For ThreadSanitizer
 * most of all. */
#include "world.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS 3
#define CLIENTS 3 /* of each loop, at once */

/* A world of its own. */
struct worker {
    pthread_t thread;
    struct world world;
    struct process processes[CLIENTS];
    struct hold holds[CLIENTS];
};

static pthread_barrier_t start;
static struct worker workers[THREADS];

static void ignore_line(uvzk_client_t *client, int level, const char *module,
                        const char *line)
{
    (void)module;
    (void)client;
    (void)level;
    (void)line;
}

/* The same for all, so that they meet. */
static const char *const paths[CLIENTS] = {"/loops/0", "/loops/1", "/loops/2"};

static void begin_one(struct worker *worker, int index)
{
    worker->world.path = paths[index];
    process_begin(&worker->processes[index], &worker->world, "one", NULL);
    hold_begin(&worker->holds[index], &worker->processes[index], UVZK_WAIT_FOREVER);
}

/* The last one is closed while it connects, another one while it holds. */
static void end_one(struct worker *worker, int index)
{
    if (index + 1 < CLIENTS) {
        hold_await(&worker->holds[index], PATIENCE_MS);
    }
    if (index == 0) {
        hold_give_back(&worker->holds[index]);
    }
    process_close(&worker->processes[index]);
}

static void run_round(struct worker *worker)
{
    world_begin_beside(&worker->world, NULL);
    worker->world.options.log_cb = ignore_line;
    for (int i = 0; i < CLIENTS; i++) {
        begin_one(worker, i);
    }
    for (int i = CLIENTS - 1; i >= 0; i--) {
        end_one(worker, i);
    }
    world_end(&worker->world);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(worker->processes[i].closed, 1);
    }
}

/* Without a test around it a failed assertion ends the program. */
static void *work(void *context)
{
    for (int i = 0; i < ROUNDS; i++) {
        (void)pthread_barrier_wait(&start);
        run_round(context);
    }
    return NULL;
}

static void test_loops_side_by_side(void **state)
{
    static struct world world;
    (void)state;
    world_begin(&world, NULL);
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    }
    assert_int_equal(pthread_barrier_destroy(&start), 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_side_by_side),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
