#include "live.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_MS 10000

#include "servers.h"

/* Whether the server is as the last test should have left it. */
static bool server_is_clean = true;

int live_server_start(void **state)
{
    (void)state;
    live_server = server_start(NULL);
    return live_server == NULL ? -1 : 0;
}

int live_server_stop(void **state)
{
    (void)state;
    server_stop(live_server);
    live_server = NULL;
    return 0;
}

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct live *live = client->data;
    if (live->state_count < LIVE_STATES_MAX) {
        live->states[live->state_count++] = state;
    }
}

static void on_log(uvzk_client_t *client, int level, const char *line)
{
    (void)client;
    fprintf(stderr, "uvzk log %d: %s\n", level, line);
}

static void on_closed(uvzk_client_t *client)
{
    struct live *live = client->data;
    live->closed++;
}

static void nothing(uv_work_t *work)
{
    (void)work;
}

static void done(uv_work_t *work, int status)
{
    *(bool *)work->data = status == 0;
}

static int threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = -2; /* "." and ".." */

    assert_non_null(tasks);
    while (readdir(tasks) != NULL) {
        count++;
    }
    (void)closedir(tasks);
    return count;
}

/* Those of libuv's pool come with the first work and stay. */
static void count_threads(struct live *live)
{
    bool is_done = false;
    uv_work_t work = {.data = &is_done};

    assert_int_equal(uv_queue_work(live->loop, &work, nothing, done), 0);
    assert_true(run_until_set(live->loop, &is_done));
    live->threads = threads();
}

/* One that has been joined may be seen a little longer. */
static bool no_thread_is_left(void *context)
{
    const struct live *live = context;

    return threads() <= live->threads;
}

void live_begin(struct live *live)
{
    memset(live, 0, sizeof(*live));
    if (!server_is_clean) {
        server_kill(live_server);
        server_wipe(live_server);
        assert_true(server_restart(live_server));
    }
    server_is_clean = false;
    live->loop = malloc(sizeof(*live->loop));
    assert_non_null(live->loop);
    assert_int_equal(uv_loop_init(live->loop), 0);
    count_threads(live);
    live->raw = raw_open(server_hosts(live_server));
    assert_non_null(live->raw);
    uvzk_client_options_init(&live->options);
    live->options.hosts = server_hosts(live_server);
    live->options.session_timeout_ms = SESSION_MS;
    live->options.tick_ms = server_tick_ms(live_server);
    live->options.state_cb = on_state;
    live->options.log_cb = getenv("UVZK_TEST_LOG") != NULL ? on_log : NULL;
}

void live_use_proxy(struct live *live)
{
    assert_int_equal(proxy_open(live->loop, &live->proxy, server_port(live_server)), 0);
    live->options.hosts = live->proxy.hosts;
    live->proxied = true;
}

void live_start(struct live *live)
{
    assert_int_equal(uvzk_client_init(live->loop, &live->client, &live->options), 0);
    live->client.data = live;
    assert_int_equal(uvzk_client_start(&live->client), 0);
    live->started = true;
}

void live_open(struct live *live)
{
    live_begin(live);
    live_start(live);
}

struct state_wait {
    const struct live *live;
    int from;
    uvzk_client_state_t state;
};

static bool was_told(void *context)
{
    const struct state_wait *wait = context;
    for (int i = wait->from; i < wait->live->state_count; i++) {
        if (wait->live->states[i] == wait->state) {
            return true;
        }
    }
    return false;
}

bool live_wait_state(struct live *live, int from, uvzk_client_state_t state)
{
    struct state_wait wait = {live, from, state};
    return run_until(live->loop, was_told, &wait, PATIENCE_MS);
}

uvzk_client_stats_t live_stats(const struct live *live)
{
    uvzk_client_stats_t stats;
    memset(&stats, 0, sizeof(stats));
    uvzk_client_stats(&live->client, &stats);
    return stats;
}

static bool client_is_idle(void *context)
{
    const struct live *live = context;
    uvzk_client_stats_t stats = live_stats(live);
    return stats.contenders == 0 && stats.watches == 0;
}

static bool server_has_forgotten(void *context)
{
    (void)context;
    return server_ephemeral_count(live_server) == 0 &&
           server_watch_count(live_server) == 0;
}

void live_assert_nothing_left(struct live *live)
{
    if (live->closed == 0 && live->started) {
        run_until(live->loop, client_is_idle, live, PATIENCE_MS);
        uvzk_client_stats_t stats = live_stats(live);
        assert_int_equal(stats.contenders, 0);
        assert_int_equal(stats.watches, 0);
    }
    run_until(live->loop, server_has_forgotten, NULL, PATIENCE_MS);
    assert_int_equal(server_ephemeral_count(live_server), 0);
    assert_int_equal(server_watch_count(live_server), 0);
}

void live_close_client(struct live *live)
{
    assert_int_equal(uvzk_client_close(&live->client, on_closed), 0);
    assert_int_equal(live->closed, 0);
    assert_true(run_until_count(live->loop, &live->closed, 1));
}

void live_end(struct live *live)
{
    live_assert_nothing_left(live);
    if (live->closed == 0 && live->started) {
        live_close_client(live);
    }
    if (live->proxied) {
        proxy_close(&live->proxy);
    }
    raw_close(live->raw);
    assert_true(run_until(live->loop, no_thread_is_left, live, PATIENCE_MS));
    assert_int_equal(run_down(live->loop), 0);
    free(live->loop);
    assert_true(live->closed <= 1);
    server_is_clean = true;
}

struct children_wait {
    struct live *live;
    const char *path;
    long count;
};

static bool has_children(void *context)
{
    const struct children_wait *wait = context;
    return raw_children_count(wait->live->raw, wait->path) == wait->count;
}

bool live_wait_children(struct live *live, const char *path, long count)
{
    struct children_wait wait = {live, path, count};
    return run_until(live->loop, has_children, &wait, PATIENCE_MS);
}
