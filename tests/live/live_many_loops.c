/* Loops of their own in threads of their own, each with clients that come and go, all
 * begun at one moment: what clients share in a process (the C client's settings, the
 * routes of its log, libuv's thread pool) is shared by these too. For ThreadSanitizer
 * most of all. */
#include "live.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 3
#define CLIENTS 3 /* of each loop, at once */

struct one {
    uvzk_client_t client;
    uvzk_mutex_t mutex;
    struct attempt attempt;
    int closed, lines;
};

struct worker {
    pthread_t thread;
    uv_loop_t loop;
    struct one clients[CLIENTS];
    bool well;
};

static pthread_barrier_t start;
static struct worker workers[THREADS];

static void on_closed(uvzk_client_t *client)
{
    ((struct one *)client->data)->closed++;
}

static void on_log(uvzk_client_t *client, int level, const char *line)
{
    (void)level;
    (void)line;
    ((struct one *)client->data)->lines++;
}

/* Whether each step was accepted. The locks of all are the same, so that they meet. */
static bool begin_one(struct worker *worker, int index)
{
    struct one *one = &worker->clients[index];
    uvzk_client_options_t options;
    char path[32];
    memset(one, 0, sizeof(*one));
    one->client.data = one;
    uvzk_client_options_init(&options);
    options.hosts = server_hosts(live_server);
    options.session_timeout_ms = 10000;
    options.tick_ms = server_tick_ms(live_server);
    options.log_cb = on_log;
    snprintf(path, sizeof(path), "/loops/%d", index);
    return uvzk_client_init(&worker->loop, &one->client, &options) == 0 &&
           uvzk_client_start(&one->client) == 0 &&
           uvzk_mutex_init(&one->client, &one->mutex, path) == 0 &&
           attempt_start(&one->attempt, &one->mutex, NULL) == 0;
}

/* The last one is closed while it connects, another one while it holds. */
static bool end_one(struct worker *worker, int index)
{
    struct one *one = &worker->clients[index];
    bool well = true;
    if (index + 1 < CLIENTS) {
        well = attempt_wait_granted(&worker->loop, &one->attempt);
    }
    if (index == 0) {
        well = well && attempt_release_and_wait(&worker->loop, &one->attempt);
    }
    return uvzk_client_close(&one->client, on_closed) == 0 && well;
}

static bool run_round(struct worker *worker)
{
    bool well = uv_loop_init(&worker->loop) == 0;
    for (int i = 0; i < CLIENTS; i++) {
        well = begin_one(worker, i) && well;
    }
    for (int i = CLIENTS - 1; i >= 0; i--) {
        well = end_one(worker, i) && well;
    }
    well = uv_run(&worker->loop, UV_RUN_DEFAULT) == 0 && well;
    for (int i = 0; i < CLIENTS; i++) {
        well = well && worker->clients[i].closed == 1;
    }
    return uv_loop_close(&worker->loop) == 0 && well;
}

static void *work(void *context)
{
    struct worker *worker = context;
    worker->well = true;
    for (int i = 0; i < ROUNDS; i++) {
        (void)pthread_barrier_wait(&start);
        worker->well = run_round(worker) && worker->well;
    }
    return NULL;
}

static void test_loops_side_by_side(void **state)
{
    (void)state;
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_true(workers[i].well);
    }
    assert_int_equal(pthread_barrier_destroy(&start), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_side_by_side),
    };
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
