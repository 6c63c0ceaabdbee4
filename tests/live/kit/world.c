/* SPDX-License-Identifier: Apache-2.0 */
/* The world of the live tests: begins and ends it, runs its loop, and changes and reads
 * znodes through a session of its own (raw.c). Tests, hold.c and process.c call it.
 *
 * The one idea: world_end looks for what the clients have left: contenders, watches,
 * znodes, threads and handles. So every test checks that the library cleans up, whatever
 * it is about. */
#define THREADED /* declares the C client's blocking calls */
#include "world.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void world_note(struct world *world, const char *format, ...)
{
    va_list arguments;

    (void)world;
    if (getenv("UVZK_VERBOSE") != NULL) {
        va_start(arguments, format);
        (void)vfprintf(stderr, format, arguments);
        va_end(arguments);
        (void)fputc('\n', stderr);
    }
}

void world_fail(struct world *world, const char *format, ...)
{
    char text[256];
    va_list arguments;

    (void)world;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fail_msg("%s", text);
}

bool world_has_queued_cb(const struct world *world)
{
    (void)world;
    return true;
}

void world_granted(struct world *world, struct hold *hold)
{
    (void)world;
    (void)hold;
}

/* ------------------------------------------------------------ its clients */

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    (void)module;
    struct process *process = client->data;

    world_note(process->world, "%s logs %d: %s", process->name, level, line);
}

bool world_is_native(void)
{
    const char *transport = getenv("UVZK_TEST_TRANSPORT");

    return transport != NULL && strcmp(transport, "native") == 0;
}

void world_client_options(uvzk_client_options_t *options)
{
    options->transport =
        world_is_native() ? UVZK_TRANSPORT_NATIVE : UVZK_TRANSPORT_C_CLIENT;
    options->hosts = servers_hosts();
    options->session_timeout_ms = WORLD_SESSION_MS;
    options->tick_ms = servers_tick_ms();
    options->log_cb = getenv("UVZK_VERBOSE") != NULL ? on_log : NULL;
}

int world_create_client(struct world *world, struct process *process,
                        const uvzk_client_options_t *options)
{
    return uvzk_client_init(world->loop, &process->client, options);
}

void world_expire(struct world *world, struct process *process)
{
    const struct proxy *proxy = &world->proxy;

    assert_true(proxy->session_id == uvzk_client_session_id(&process->client));
    assert_int_equal(
        raw_expire_session(servers_hosts(), proxy->session_id, proxy->session_password),
        0);
}

/* ---------------------------------------------------------------- threads */

int world_threads(void)
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

static void nothing(uv_work_t *work)
{
    (void)work;
}

static void done(uv_work_t *work, int status)
{
    *(int *)work->data = status == 0;
}

/* libuv starts the threads of its pool at the first work and keeps them. So work is done
 * before the threads are counted. */
static void count_threads(struct world *world)
{
    int is_done = 0;
    uv_work_t work = {.data = &is_done};

    assert_int_equal(uv_queue_work(world->loop, &work, nothing, done), 0);
    assert_true(world_await(world, &is_done, PATIENCE_MS));
    world->threads = world_threads();
}

/* The kernel may show a thread for a moment after it was joined. */
static bool no_thread_is_left(void *context)
{
    const struct world *world = context;

    return world_threads() <= world->threads;
}

/* ------------------------------------------------------------------ begin */

void world_begin_beside(struct world *world, const char *path)
{
    memset(world, 0, sizeof(*world));
    world->path = path == NULL ? WORLD_PATH : path;
    world->loop = malloc(sizeof(*world->loop));
    assert_non_null(world->loop);
    assert_int_equal(uv_loop_init(world->loop), 0);
    process_options(&world->options);
}

void world_begin(struct world *world, const char *path)
{
    assert_true(servers_make_whole());
    world_begin_beside(world, path);
    count_threads(world);
    world_look_again(world);
}

void world_begin_one(struct world *world, const char *path, struct process *a)
{
    world_begin(world, path);
    process_begin(a, world, "a", NULL);
}

void world_begin_two(struct world *world, const char *path, struct process *a,
                     struct process *b)
{
    world_begin_one(world, path, a);
    process_begin(b, world, "b", NULL);
}

void world_begin_held(struct world *world, const char *path, struct process *a,
                      struct hold *held)
{
    world_begin_one(world, path, a);
    hold_take(held, a);
}

void world_use_proxy(struct world *world)
{
    assert_int_equal(proxy_open(world->loop, &world->proxy, server_port(live_server)), 0);
    world->options.hosts = world->proxy.hosts;
    world->proxied = true;
}

/* -------------------------------------------------------------- time passes */

uint64_t world_now(const struct world *world)
{
    (void)world;
    return uvzk_now();
}

void world_run_for(struct world *world, uint64_t ms)
{
    run_for(world->loop, ms);
}

bool world_await_count(struct world *world, const int *counter, int value, uint64_t ms)
{
    return run_until_count(world->loop, counter, value, ms);
}

bool world_await(struct world *world, const int *counter, uint64_t ms)
{
    return world_await_count(world, counter, 1, ms);
}

bool world_await_that(struct world *world, condition_fn condition, void *context)
{
    return run_until(world->loop, condition, context, PATIENCE_MS);
}

bool world_turn(struct world *world, uint64_t since_ms)
{
    run_once(world->loop);
    return world_now(world) - since_ms < PATIENCE_MS;
}

/* ------------------------------------------------------------------------ end */

void world_assert_idle(struct world *world, const struct process *process)
{
    uint64_t since = world_now(world);
    uvzk_client_metrics_t metrics = process_metrics(process);

    /* Contenders are deleted in the background after a release, and watches are removed
     * then. */
    while (metrics.contenders + metrics.watches != 0) {
        if (!world_turn(world, since)) {
            world_fail(world, "%s: contenders or watches left", process->name);
        }
        metrics = process_metrics(process);
    }
}

void world_assert_nothing_left(struct world *world)
{
    uint64_t since = world_now(world);

    for (struct process *process = world->processes; process != NULL;
         process = process->next) {
        world_assert_idle(world, process);
    }
    while (world->raw != NULL &&
           (!servers_are_bare() || world_children(world, world->path) != 0)) {
        if (!world_turn(world, since)) {
            world_fail(world, "watches or znodes left");
        }
    }
}

void world_end(struct world *world)
{
    world_assert_nothing_left(world);
    while (world->processes != NULL) {
        process_end(world->processes);
    }
    if (world->holds != NULL) {
        world_fail(world, "%s is never answered", world->holds->process->name);
    }
    if (world->proxied) {
        proxy_close(&world->proxy);
    }
    raw_close(world->raw);
    assert_true(world->raw == NULL || world_await_that(world, no_thread_is_left, world));
    assert_int_equal(run_down(world->loop), 0);
    free(world->loop);
    /* A world beside another world has not checked the servers. */
    if (world->raw != NULL) {
        servers_are_clean();
    }
}

/* --------------------------------------------------------------- the raw view */

void world_look_from(struct world *world, const char *hosts)
{
    raw_close(world->raw);
    world->raw = raw_open(hosts);
    assert_non_null(world->raw);
}

void world_look_again(struct world *world)
{
    world_look_from(world, servers_hosts());
}

void world_make_path(struct world *world, const char *path)
{
    char way[HOLD_PATH_MAX];

    for (size_t i = 1; i <= strlen(path); i++) {
        if (path[i] == '/' || path[i] == '\0') {
            (void)snprintf(way, sizeof(way), "%.*s", (int)i, path);
            int status = raw_create(world->raw, way);
            assert_true(status == ZOK || status == ZNODEEXISTS);
        }
    }
}

struct world_path world_foreign_node(struct world *world, const char *directory,
                                     const char *end)
{
    struct world_path path;

    assert_int_equal(
        raw_contend_as(world->raw, directory, end, path.text, sizeof(path.text)), ZOK);
    return path;
}

struct world_path world_child(struct world *world, const char *directory, size_t place)
{
    struct world_path path;
    struct raw_names names;

    assert_int_equal(raw_children(world->raw, directory, &names), ZOK);
    assert_true(place < names.count);
    (void)snprintf(path.text, sizeof(path.text), "%s/%s", directory, names.names[place]);
    raw_names_free(&names);
    return path;
}

void world_delete(struct world *world, const struct world_path *path)
{
    assert_int_equal(raw_delete(world->raw, path->text), ZOK);
}

void world_assert_data(struct world *world, const char *path, const void *bytes,
                       size_t length)
{
    char data[256];
    int got = sizeof(data);

    assert_int_equal(zoo_get(world->raw, path, 0, data, &got, NULL), ZOK);
    assert_int_equal(got, length);
    assert_memory_equal(data, bytes, length);
}

void world_set_data(struct world *world, const char *path, const void *bytes,
                    size_t length)
{
    assert_int_equal(zoo_set(world->raw, path, bytes, (int)length, -1), ZOK);
}

long world_children(struct world *world, const char *path)
{
    return raw_children_count(world->raw, path);
}

bool world_await_children(struct world *world, const char *path, long count)
{
    uint64_t since = world_now(world);

    while (world_children(world, path) != count) {
        if (!world_turn(world, since)) {
            print_error("%ld below %s, not %ld\n", world_children(world, path), path,
                        count);
            return false;
        }
    }
    return true;
}
