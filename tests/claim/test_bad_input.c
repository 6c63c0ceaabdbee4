/* SPDX-License-Identifier: Apache-2.0 */
/* Bad input, over the simulator: each has a clear error or the right service,
 * and none leaves a znode, a watch, a contender or a wrong grant behind. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/place.h"
#include "world.h"

#define UUID "64fc66ae-773f-4d77-9695-eba698b095f7"
#define DIGITS32 "64fc66ae773f4d779695eba698b095f7"
#define LIMIT UVZK__SEQUENCE_LIMIT
#define HOUR_MS 3600000U
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct world world;
static struct process here, there;
static struct {
    int warnings, errors; /* lines logged by the first process */
    int expected_errors;
    char line[1024]; /* the last of them */
} logged;
static uvzk_mutex_t other; /* than the first process's own */
static struct hold first, second, third;

/* Until the condition holds; fails after a virtual hour. */
#define UNTIL(condition)                                  \
    do {                                                  \
        uint64_t until_end = world_now(&world) + HOUR_MS; \
        while (!(condition)) {                            \
            assert_true(world_now(&world) < until_end);   \
            world_run_for(&world, 1);                     \
        }                                                 \
    } while (0)

/* ------------------------------------------------------------ begin and end */

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    /* Some of the children are contenders of other kinds (test_mixed_kinds). */
    if (client == &here.client && strcmp(module, "kinds") != 0) {
        logged.errors += level == UVZK_LOG_ERROR;
        logged.warnings += level == UVZK_LOG_WARN;
        (void)snprintf(logged.line, sizeof(logged.line), "%s", line);
    }
}

static uvzk_client_options_t usual_options(void)
{
    uvzk_client_options_t options;

    process_options(&options);
    options.log_cb = on_log;
    return options;
}

static void begin_with(void *const *state, const uvzk_client_options_t *options)
{
    memset(&logged, 0, sizeof(logged));
    memset(&other, 0, sizeof(other));
    memset(&first, 0, sizeof(first));
    world_begin(&world, 1, state);
    process_make(&here, &world, "here", options);
}

/* A process that is connected. */
static void begin(void *const *state)
{
    uvzk_client_options_t options = usual_options();

    begin_with(state, &options);
    process_start(&here);
    assert_true(process_await_connected(&here, 1000));
}

/* And a mutex of it on this path. */
static void begin_on(void *const *state, const char *path)
{
    begin(state);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, path), 0);
}

static size_t ephemerals(const struct process *process)
{
    return sim_ephemeral_count(world.sim, sim_session_id(process->port));
}

static void end(void)
{
    assert_int_equal(logged.errors, logged.expected_errors);
    for (const struct process *process = world.processes; process != NULL;
         process = process->next) {
        if (!process->closing) {
            UNTIL(process_contenders(process) == 0 &&
                  process_metrics(process).foreign == 0);
            UNTIL(sim_outstanding(process->port) == 0);
            assert_int_equal(ephemerals(process), 0);
        }
    }
    world_end(&world);
}

static void start(struct hold *hold, uvzk_lock_t *on)
{
    hold_begin_on(hold, &here, on, 0, UVZK_WAIT_FOREVER);
}

static void grant(struct hold *hold, uvzk_lock_t *on)
{
    hold_take_on(hold, &here, on, 0);
}

/* It waits in the queue, behind so many. */
static void await_place(const struct hold *hold, uint64_t ahead)
{
    assert_true(world_await(&world, &hold->queued, HOUR_MS));
    assert_int_equal(hold->ahead, ahead);
}

static void queue_up(struct hold *hold, uint64_t ahead)
{
    start(hold, NULL);
    await_place(hold, ahead);
}

static size_t znodes(void)
{
    return world_queue_length(&world);
}

/* The acquire is refused with this status, and nothing of it is left. */
static void refuse_with(uvzk_lock_t *on, int status)
{
    start(&third, on);
    hold_await_status(&third, HOUR_MS, status);
    UNTIL(process_contenders(&here) == 0);
}

/* How many take part, as uvzk_lock_participants tells, and who comes first. */
static char first_participant[HOLD_PATH_MAX];

static void on_participants(uvzk_req_t *request, int status)
{
    const char *const *paths = request->result->paths;
    size_t count = request->result->count;
    (void)status;
    (void)snprintf(first_participant, sizeof(first_participant), "%s",
                   count > 0 ? paths[0] : "");
    *(int *)request->data = (int)count;
}

static int participants(void)
{
    int count = -1;
    uvzk_req_t listing = {.data = &count};

    assert_int_equal(uvzk_lock_participants(&here.mutex, &listing, on_participants), 0);
    UNTIL(count >= 0);
    return count;
}

/* --------------------------------------------------------------------- paths */

static char *path_of_length(size_t length)
{
    char *path = malloc(length + 1);
    assert_non_null(path);
    memset(path, 'x', length);
    path[0] = '/';
    path[length] = '\0';
    return path;
}

static int init_with_length(size_t length)
{
    char *path = path_of_length(length);
    int status = uvzk_mutex_init(&here.client, &other, path);
    free(path);
    return status;
}

static void test_refuses_malformed_paths(void **state)
{
    static const char *const malformed[] = {"",
                                            "/",
                                            "bad",
                                            "bad/lock",
                                            " /bad",
                                            "//",
                                            "//bad",
                                            "/bad/",
                                            "/bad//a",
                                            "/bad/./a",
                                            "/bad/../a",
                                            "/.",
                                            "/..",
                                            "/bad/.",
                                            "/bad/..",
                                            "/bad\n",
                                            "/bad/\x01",
                                            "/\x1f",
                                            "/\x7f",
                                            "/\xc2\x80",
                                            "/\xc2\x9f",
                                            "/\xee\x80\x80",
                                            "/\xef\xbf\xb0",
                                            "/\xed\xa0\x80",
                                            "/\xf0\x9f\x94\x92",
                                            "/\xff",
                                            "/\xc3",
                                            "/\xc0\xaf"};
    begin(state);
    for (size_t i = 0; i < LENGTH(malformed); i++) {
        if (uvzk_mutex_init(&here.client, &other, malformed[i]) != UVZK_EPATH) {
            fail_msg("taken: \"%s\"", malformed[i]);
        }
        assert_null(other.impl);
        assert_int_equal(uvzk_lock_close(&other, NULL), UVZK_ESTATE);
    }
    assert_int_equal(init_with_length(1025), UVZK_EPATH);
    assert_int_equal(init_with_length(1000000), UVZK_EPATH);
    assert_int_equal(sim_submitted(here.port), 1); /* the barrier */
    assert_int_equal(init_with_length(1024), 0);
    end();
}

static void test_counts_the_namespace_into_the_length(void **state)
{
    uvzk_client_options_t options = usual_options();
    options.ns = "app";
    begin_with(state, &options);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, "/"), UVZK_EPATH);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, "/../b"), UVZK_EPATH);
    assert_int_equal(init_with_length(1021), UVZK_EPATH);
    assert_int_equal(init_with_length(1020), 0);
    end();
}

/* Which has no path of its own: the namespace leaves room for its member's only. */
static void test_a_multi_lock_needs_no_room_for_a_path(void **state)
{
    uvzk_client_options_t options = usual_options();
    char *ns = path_of_length(1 + 1024 - strlen(WORLD_PATH) - 1);
    uvzk_lock_t *member = &here.mutex;
    options.ns = ns + 1;
    begin_with(state, &options);
    assert_int_equal(init_with_length(strlen(WORLD_PATH) + 2), UVZK_EPATH);
    assert_int_equal(uvzk_multilock_init(&here.client, &other, &member, 1, 0, NULL), 0);
    process_start(&here);
    grant(&first, &other);
    hold_give_back(&first);
    end();
    free(ns);
}

static void test_serves_the_longest_and_the_deepest_path(void **state)
{
    char deep[1025];
    uvzk_mutex_t deepest = {.data = NULL};
    char *longest = path_of_length(1024);
    for (size_t i = 0; i < 1024; i++) {
        deep[i] = i % 2 == 0 ? '/' : 'd';
    }
    deep[1024] = '\0';
    begin_on(state, longest);
    assert_int_equal(uvzk_mutex_init(&here.client, &deepest, deep), 0);
    grant(&first, &other);
    hold_begin_on(&second, &here, &deepest, 0, UVZK_WAIT_FOREVER);
    hold_await(&second, HOUR_MS);
    assert_true(sim_exists(world.sim, uvzk_hold_path(&first.request)));
    assert_true(sim_exists(world.sim, uvzk_hold_path(&second.request)));
    assert_int_equal(strncmp(uvzk_hold_path(&second.request), deep, 1024), 0);
    hold_give_back(&first);
    hold_give_back(&second);
    assert_int_equal(world_children(&world, deep), 0);
    end();
    free(longest);
}

/* ------------------------------------------------------------------- options */

static void ignore_session(struct uvzk__port_user *user,
                           const struct uvzk__session_event *event)
{
    (void)user;
    (void)event;
}

static void ignore_trouble(struct uvzk__port_user *user,
                           const struct uvzk__connect_error *error)
{
    (void)user;
    (void)error;
}

static void ignore_turn(struct uvzk__port_user *user)
{
    (void)user;
}

static void no_log(struct uvzk__port_user *user, int level, const char *module,
                   const char *line)
{
    (void)user;
    fail_msg("logged at %d by %s: %s", level, module, line);
}

static struct uvzk__port_user nobody = {.session = ignore_session,
                                        .no_connection = ignore_trouble,
                                        .turn = ignore_turn,
                                        .log = no_log,
                                        .closed = ignore_turn};

/* What is said of making a client with these; it is closed again. */
static int make_briefly(const uvzk_client_options_t *options)
{
    uvzk_client_t client = {.data = NULL};

    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    struct uvzk__port *port = sim_port_new(world.sim, "here");
    int status = uvzk__client_create(&client, port, options, world.tuning);
    if (status == 0) {
        assert_int_equal(uvzk_client_close(&client, NULL), 0);
    } else {
        port->user = &nobody; /* still ours */
        port->close(port);
    }
    world_run_for(&world, 1000);
    assert_null(client.impl);
    world_end(&world);
    return status;
}

#define REFUSED(status, field, value)                               \
    do {                                                            \
        uvzk_client_options_t refused_options = usual_options();    \
        refused_options.field = (value);                            \
        assert_int_equal(make_briefly(&refused_options), (status)); \
    } while (0)

static void test_refuses_options(void **state)
{
    (void)state;
    assert_int_equal(make_briefly(NULL), UV_EINVAL);
    REFUSED(UV_EINVAL, size, 0);
    REFUSED(UV_EINVAL, size, sizeof(size_t));
    REFUSED(UV_EINVAL, size, offsetof(uvzk_client_options_t, sessions));
    REFUSED(0, size, sizeof(uvzk_client_options_t) + 1); /* of a later version */
    REFUSED(UV_EINVAL, hosts, NULL);
    REFUSED(UV_EINVAL, hosts, "");
    REFUSED(UV_EINVAL, session_timeout_ms, (uint32_t)INT32_MAX + 1);
    REFUSED(UV_EINVAL, tick_ms, UINT32_MAX);
    REFUSED(UV_EINVAL, proof, UVZK_PROOF_NONE + 1);
    REFUSED(UV_EINVAL, proof, UINT32_MAX);
    REFUSED(UV_EINVAL, retry.kind, UVZK_RETRY_FOREVER + 1);
    REFUSED(UV_EINVAL, retry.kind, UINT32_MAX);
    REFUSED(UV_EINVAL, auth_length, 1); /* without a scheme, without bytes */
    REFUSED(UV_EINVAL, default_data_length, 1);
    REFUSED(UV_EINVAL, acl_count, 1);
    REFUSED(0, session_timeout_ms, 86400000);
    REFUSED(0, close_wait_ms, UINT32_MAX);
}

static void test_refuses_options_that_go_together(void **state)
{
    static char bytes[1000001];
    uvzk_client_options_t options = usual_options();
    (void)state;
    options.auth_scheme = "digest";
    options.auth_length = 1;
    assert_int_equal(make_briefly(&options), UV_EINVAL);
    options.auth = bytes;
    options.auth_length = sizeof(bytes);
    assert_int_equal(make_briefly(&options), UV_EINVAL);
    options.auth_scheme = NULL;
    options.auth_length = 1;
    assert_int_equal(make_briefly(&options), UV_EINVAL);

    options = usual_options();
    options.default_data = bytes;
    options.default_data_length = sizeof(bytes);
    assert_int_equal(make_briefly(&options), UV_EINVAL);
    options.default_data_length = sizeof(bytes) - 1;
    assert_int_equal(make_briefly(&options), 0);
    options.default_data_length = 0;
    assert_int_equal(make_briefly(&options), 0);

    options = usual_options();
    options.retry = (uvzk_retry_policy_t){.kind = UVZK_RETRY_FOREVER};
    assert_int_equal(make_briefly(&options), UV_EINVAL);
    options.retry = (uvzk_retry_policy_t){.max_retries = 3};
    assert_int_equal(make_briefly(&options), UV_EINVAL);
}

static int make_with_acl(const uvzk_acl_t *acl, size_t count)
{
    uvzk_client_options_t options = usual_options();
    options.acl = acl;
    options.acl_count = count;
    return make_briefly(&options);
}

static void test_refuses_acls(void **state)
{
    const uvzk_acl_t good = {UVZK_PERM_ALL, "world", "anyone"};
    const uvzk_acl_t bad[] = {{UVZK_PERM_ALL, NULL, "anyone"},
                              {UVZK_PERM_ALL, "world", NULL},
                              {UVZK_PERM_ALL, NULL, NULL},
                              {0, "world", "anyone"},
                              {UVZK_PERM_ALL + 1, "world", "anyone"},
                              {UINT32_MAX, "world", "anyone"}};
    (void)state;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        const uvzk_acl_t both[] = {good, bad[i]};
        assert_int_equal(make_with_acl(&bad[i], 1), UV_EINVAL);
        assert_int_equal(make_with_acl(both, 2), UV_EINVAL);
    }
    assert_int_equal(make_with_acl(NULL, 2), UV_EINVAL);
    assert_int_equal(make_with_acl(&good, 1), 0);
}

static void test_refuses_malformed_namespaces(void **state)
{
    static const char *const malformed[] = {
        "/",   "/app", "app/",     "a//b", ".",        "..",  "a/./b",           "a/../b",
        "a\n", "\x7f", "\xc2\x80", "\xff", "\xe2\x82", "a/.", "\xf0\x9f\x94\x92"};
    char longest[1025];
    (void)state;
    for (size_t i = 0; i < LENGTH(malformed); i++) {
        REFUSED(UVZK_EPATH, ns, malformed[i]);
    }
    memset(longest, 'n', sizeof(longest));
    longest[1024] = '\0';
    REFUSED(UVZK_EPATH, ns, longest);
    longest[1023] = '\0';
    REFUSED(0, ns, longest);
    REFUSED(0, ns, "");
    REFUSED(0, ns, "a/b");
}

static void test_refuses_acquire_options(void **state)
{
    static char bytes[1000001];
    uvzk_acquire_options_t options, good;
    begin(state);
    uvzk_acquire_options_init(&good);
#define ACQUIRE_REFUSED(change)                                               \
    do {                                                                      \
        options = good;                                                       \
        change;                                                               \
        assert_int_equal(hold_ask(&first, &here, NULL, &options), UV_EINVAL); \
    } while (0)
    ACQUIRE_REFUSED(options.size = 0);
    ACQUIRE_REFUSED(options.size = offsetof(uvzk_acquire_options_t, timeout_ms));
    ACQUIRE_REFUSED(options.timeout_ms = -2);
    ACQUIRE_REFUSED(options.timeout_ms = INT64_MIN);
    ACQUIRE_REFUSED(options.node_data_length = 1);
    ACQUIRE_REFUSED(options.node_data = bytes; options.node_data_length = sizeof(bytes));
    ACQUIRE_REFUSED(options.node_data = bytes; options.node_data_length = SIZE_MAX);
    world_run_for(&world, 1000);
    assert_int_equal(first.answered, 0);
    assert_int_equal(process_contenders(&here), 0);
    end();
}

static void test_takes_options_at_their_limits(void **state)
{
    static char bytes[1000000];
    uvzk_acquire_options_t options;
    size_t length = 1;
    begin(state);
    uvzk_acquire_options_init(&options);
    options.timeout_ms = INT64_MAX;
    options.node_data = bytes;
    options.node_data_length = sizeof(bytes);
    assert_int_equal(hold_ask(&first, &here, NULL, &options), 0);
    hold_await(&first, HOUR_MS);
    assert_non_null(sim_data(world.sim, uvzk_hold_path(&first.request), &length));
    assert_int_equal(length, sizeof(bytes));
    options.node_data_length = 0;
    assert_int_equal(hold_ask(&second, &here, NULL, &options), 0);
    assert_true(world_await(&world, &second.queued, HOUR_MS));
    world_run_for(&world, HOUR_MS);
    assert_int_equal(second.answered, 0); /* INT64_MAX is no time in the past */
    hold_give_back(&first);
    hold_await(&second, HOUR_MS);
    assert_non_null(sim_data(world.sim, uvzk_hold_path(&second.request), &length));
    assert_int_equal(length, 0);
    hold_give_back(&second);
    end();
}

/* ---------------------------------------------------------------------- NULL */

static void on_verified(uvzk_req_t *request, int status)
{
    *(int *)request->data = status;
}

static void test_refuses_null(void **state)
{
    uvzk_hold_t request = {.data = NULL};
    uvzk_req_t question = {.data = NULL};
    uvzk_req_t listing = {.data = NULL};
    begin(state);
    grant(&first, NULL);
    assert_int_equal(uvzk_client_start(NULL), UV_EINVAL);
    assert_int_equal(uvzk_client_close(NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_mutex_init(NULL, &other, WORLD_PATH), UV_EINVAL);
    assert_int_equal(uvzk_mutex_init(&here.client, NULL, WORLD_PATH), UV_EINVAL);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, NULL), UV_EINVAL);
    assert_int_equal(uvzk_lock_close(NULL, NULL), UV_EINVAL);
    assert_int_equal(
        uvzk_lock_acquire(NULL, &request, NULL, hold_unexpected_cb, hold_unexpected_cb),
        UV_EINVAL);
    assert_int_equal(uvzk_lock_acquire(&here.mutex, NULL, NULL, hold_unexpected_cb,
                                       hold_unexpected_cb),
                     UV_EINVAL);
    assert_int_equal(
        uvzk_lock_acquire(&here.mutex, &request, NULL, NULL, hold_unexpected_cb),
        UV_EINVAL);
    assert_int_equal(
        uvzk_lock_acquire(&here.mutex, &request, NULL, hold_unexpected_cb, NULL),
        UV_EINVAL);
    assert_int_equal(uvzk_lock_participants(NULL, &listing, on_participants), UV_EINVAL);
    assert_int_equal(uvzk_lock_participants(&here.mutex, NULL, on_participants),
                     UV_EINVAL);
    assert_int_equal(uvzk_lock_participants(&here.mutex, &listing, NULL), UV_EINVAL);
    assert_int_equal(uvzk_hold_release(NULL, hold_unexpected_cb), UV_EINVAL);
    assert_int_equal(uvzk_hold_cancel(NULL), UV_EINVAL);
    assert_int_equal(uvzk_hold_verify(NULL, &question, on_verified), UV_EINVAL);
    assert_int_equal(uvzk_hold_verify(&first.request, NULL, on_verified), UV_EINVAL);
    assert_int_equal(uvzk_hold_verify(&first.request, &question, NULL), UV_EINVAL);
    world_run_for(&world, 60000);
    assert_null(request.impl);
    assert_null(question.impl);
    assert_null(listing.impl);
    assert_true(hold_holds(&first) && uvzk_hold_is_valid(&first.request));
    hold_give_back(&first);
    end();
}

/* None, the same one twice, one that is no lock; one alone is enough. */
static void test_refuses_members(void **state)
{
    static uvzk_multilock_t multilock;
    uvzk_lock_t *const twice[] = {&here.mutex, &here.mutex}, *const none[] = {&other};
    uvzk_client_t *client = &here.client;
    begin(state);
    assert_int_equal(uvzk_multilock_init(client, &multilock, NULL, 1, 0, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_multilock_init(client, &multilock, twice, 0, 0, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_multilock_init(client, &multilock, twice, 2, 0, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_multilock_init(client, &multilock, none, 1, 0, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_multilock_init(client, &multilock, twice, 1, 0, NULL), 0);
    grant(&first, &multilock);
    hold_give_back(&first);
    assert_int_equal(uvzk_lock_close(&multilock, NULL), 0);
    end();
}

static void test_answers_about_nothing(void **state)
{
    static uvzk_client_t client;
    static uvzk_mutex_t unused;
    static uvzk_hold_t request;
    uvzk_client_metrics_t metrics, zeros;
    (void)state;
    memset(&zeros, 0, sizeof(zeros));
    zeros.size = sizeof(zeros);
    for (int fresh = 0; fresh < 2; fresh++) {
        const uvzk_client_t *c = fresh ? &client : NULL;
        const uvzk_mutex_t *m = fresh ? &unused : NULL;
        const uvzk_hold_t *r = fresh ? &request : NULL;
        memset(&metrics, 0xff, sizeof(metrics));
        assert_int_equal(uvzk_client_state(c), UVZK_STATE_CLOSED);
        assert_int_equal(uvzk_client_session_id(c), 0);
        assert_int_equal(uvzk_client_session_timeout(c), 0);
        uvzk_client_metrics_init(&metrics);
        assert_int_equal(uvzk_client_metrics(c, &metrics),
                         fresh ? UVZK_ESTATE : UV_EINVAL);
        assert_memory_equal(&metrics, &zeros, sizeof(metrics));
        assert_int_equal(uvzk_lock_is_held(m), 0);
        assert_int_equal(uvzk_lock_is_held_by(m, &metrics), 0);
        assert_int_equal(uvzk_lock_is_held_by(m, NULL), 0);
        assert_int_equal(uvzk_hold_is_valid(r), 0);
        assert_int_equal(uvzk_hold_token(r), 0);
        assert_null(uvzk_hold_path(r));
        assert_int_equal(uvzk_hold_valid_until(r), 0);
    }
    assert_int_equal(uvzk_replace_allocator(NULL, realloc, calloc, free), UV_EINVAL);
    assert_int_equal(uvzk_replace_allocator(malloc, NULL, calloc, free), UV_EINVAL);
    assert_int_equal(uvzk_replace_allocator(malloc, realloc, NULL, free), UV_EINVAL);
    assert_int_equal(uvzk_replace_allocator(malloc, realloc, calloc, NULL), UV_EINVAL);
    for (int code = -8000; code < 100; code++) {
        assert_non_null(uvzk_strerror(code));
        assert_non_null(uvzk_err_name(code));
    }
    assert_non_null(uvzk_strerror(INT32_MIN));
    assert_non_null(uvzk_err_name(INT32_MAX));
}

static void test_writes_nothing_to_null(void **state)
{
    begin(state);
    uvzk_client_metrics_init_size(NULL, sizeof(uvzk_client_metrics_t));
    uvzk_client_options_init_size(NULL, sizeof(uvzk_client_options_t));
    uvzk_acquire_options_init_size(NULL, sizeof(uvzk_acquire_options_t));
    end();
}

/* -------------------------------------------------------------- wrong states */

static void never_closed(uvzk_client_t *client)
{
    (void)client;
    fail_msg("a refused close is told");
}

static void test_client_states(void **state)
{
    static uvzk_client_t unused;
    uvzk_client_options_t options = usual_options();
    begin_with(state, &options);
    assert_int_equal(uvzk_client_start(&unused), UVZK_ESTATE);
    assert_int_equal(uvzk_client_close(&unused, never_closed), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&unused, &other, WORLD_PATH), UVZK_ESTATE);
    start(&first, NULL); /* waits for a connection nobody asked for yet */
    hold_begin(&second, &here, UVZK_TRY_ONCE);
    hold_await_status(&second, HOUR_MS, UVZK_ECONNLOSS);
    process_start(&here);
    assert_int_equal(uvzk_client_start(&here.client), UVZK_ESTATE);
    hold_await(&first, HOUR_MS);
    assert_int_equal(uvzk_client_start(&here.client), UVZK_ESTATE);
    process_close(&here);
    for (int i = 0; i < 2; i++) { /* while it closes, and when it is closed */
        assert_int_equal(uvzk_client_start(&here.client), UVZK_ESTATE);
        assert_int_equal(uvzk_client_close(&here.client, never_closed), UVZK_ESTATE);
        assert_int_equal(uvzk_mutex_init(&here.client, &other, WORLD_PATH), UVZK_ESTATE);
        assert_int_equal(hold_ask(&second, &here, NULL, NULL), UVZK_ECLOSED);
        assert_int_equal(uvzk_client_state(&here.client), UVZK_STATE_CLOSED);
        assert_true(world_await(&world, &here.closed, HOUR_MS));
    }
    assert_int_equal(first.reason, UVZK_ECLOSED);
    assert_int_equal(uvzk_lock_close(&here.mutex, NULL), UVZK_ESTATE);
    world_run_for(&world, HOUR_MS);
    assert_int_equal(here.closed, 1);
    end();
}

/* uvzk.h: UV_EBUSY: the client is in use. */
static void test_a_client_in_use_is_not_made_anew(void **state)
{
    uvzk_client_options_t options = usual_options();
    begin(state);
    void *impl = here.client.impl;
    struct uvzk__port *port = sim_port_new(world.sim, "again");
    assert_int_equal(uvzk__client_create(&here.client, port, &options, world.tuning),
                     UV_EBUSY);
    port->user = &nobody;
    port->close(port);
    assert_ptr_equal(here.client.impl, impl);
    grant(&first, NULL);
    hold_give_back(&first);
    end();
}

static void count_mutex_close(uvzk_mutex_t *closed)
{
    ++*(int *)closed->data;
}

static void test_mutex_states(void **state)
{
    uvzk_req_t listing = {.data = NULL};
    int closed = 0;
    begin(state);
    other.data = &closed;
    assert_int_equal(hold_ask(&first, &here, &other, NULL), UVZK_ECLOSED);
    assert_int_equal(uvzk_lock_participants(&other, &listing, on_participants),
                     UVZK_ECLOSED);
    assert_int_equal(uvzk_lock_close(&other, count_mutex_close), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, WORLD_PATH), 0);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, "/elsewhere"), UV_EBUSY);
    grant(&first, &other);
    assert_int_equal(uvzk_lock_close(&other, count_mutex_close), 0);
    assert_int_equal(uvzk_lock_close(&other, count_mutex_close), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, WORLD_PATH), UV_EBUSY);
    assert_int_equal(hold_ask(&second, &here, &other, NULL), UVZK_ECLOSED);
    assert_int_equal(uvzk_lock_participants(&other, &listing, on_participants),
                     UVZK_ECLOSED);
    UNTIL(closed == 1);
    assert_int_equal(first.reason, UVZK_ECLOSED);
    assert_int_equal(hold_ask(&second, &here, &other, NULL), UVZK_ECLOSED);
    assert_int_equal(uvzk_lock_close(&other, count_mutex_close), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, WORLD_PATH),
                     0); /* a new life */
    grant(&first, &other);
    hold_give_back(&first);
    end();
    assert_int_equal(closed, 1);
}

/* Nothing but a pending request is cancelled, nothing but a hold is released
 * or verified, and only a request that is over is used again. */
static void expect_not_held(struct hold *hold)
{
    uvzk_req_t question = {.data = NULL};

    assert_int_equal(uvzk_hold_release(&hold->request, hold_unexpected_cb),
                     UVZK_ENOTHELD);
    assert_int_equal(uvzk_hold_verify(&hold->request, &question, on_verified),
                     UVZK_ENOTHELD);
    assert_int_equal(uvzk_hold_token(&hold->request), 0);
    assert_null(uvzk_hold_path(&hold->request));
    assert_int_equal(uvzk_hold_valid_until(&hold->request), 0);
}

static void expect_not_pending(struct hold *hold)
{
    assert_int_equal(uvzk_hold_cancel(&hold->request), UVZK_ESTATE);
}

static void expect_busy(struct hold *hold)
{
    assert_int_equal(uvzk_lock_acquire(&here.mutex, &hold->request, NULL,
                                       hold_unexpected_cb, hold_unexpected_cb),
                     UV_EBUSY);
}

static void expect_idle(struct hold *hold)
{
    expect_not_held(hold);
    expect_not_pending(hold);
}

static void test_request_states(void **state)
{
    begin(state);
    expect_idle(&first);
    start(&first, NULL); /* pending */
    expect_not_held(&first);
    expect_busy(&first);
    hold_await(&first, HOUR_MS); /* held */
    expect_busy(&first);
    expect_not_pending(&first);
    assert_true(uvzk_hold_is_valid(&first.request));
    hold_release(&first); /* being released */
    expect_busy(&first);
    expect_idle(&first);
    hold_await_released(&first, HOUR_MS, 0);
    expect_idle(&first);
    start(&first, NULL);
    hold_cancel(&first); /* being cancelled */
    expect_busy(&first);
    expect_idle(&first);
    hold_await_status(&first, HOUR_MS, UV_ECANCELED);
    expect_idle(&first);
    end();
}

static void test_a_lost_request_is_idle(void **state)
{
    begin(state);
    grant(&first, NULL);
    process_expire(&here);
    hold_await_lost(&first, HOUR_MS, UVZK_EEXPIRED);
    expect_idle(&first);
    grant(&first, NULL);
    hold_give_back(&first);
    end();
}

/* Inside its FINAL callback a request is over already. */
static int final_cancel, final_release;

static void probe_final(uvzk_hold_t *hold, int status)
{
    (void)status;
    final_cancel = uvzk_hold_cancel(hold);
    final_release = uvzk_hold_release(hold, hold_unexpected_cb);
}

static void test_a_final_callback_finds_its_request_idle(void **state)
{
    uvzk_hold_t request = {.data = NULL};
    begin(state);
    final_cancel = final_release = 0;
    assert_int_equal(
        uvzk_lock_acquire(&here.mutex, &request, NULL, probe_final, hold_unexpected_cb),
        0);
    assert_int_equal(uvzk_hold_cancel(&request), 0);
    UNTIL(final_cancel != 0);
    assert_int_equal(final_cancel, UVZK_ESTATE);
    assert_int_equal(final_release, UVZK_ENOTHELD);
    end();
}

static void test_questions_are_asked_one_at_a_time(void **state)
{
    int status = HOLD_NO_STATUS, count = -1;
    uvzk_req_t question = {.data = &status};
    uvzk_req_t listing = {.data = &count};
    begin(state);
    grant(&first, NULL);
    assert_int_equal(uvzk_hold_verify(&first.request, &question, on_verified), 0);
    assert_int_equal(uvzk_hold_verify(&first.request, &question, on_verified), UV_EBUSY);
    assert_int_equal(uvzk_lock_participants(&here.mutex, &listing, on_participants), 0);
    assert_int_equal(uvzk_lock_participants(&here.mutex, &listing, on_participants),
                     UV_EBUSY);
    UNTIL(status != HOLD_NO_STATUS && count >= 0);
    assert_int_equal(status, 0);
    assert_int_equal(count, 1);
    hold_give_back(&first);
    status = HOLD_NO_STATUS;
    assert_int_equal(uvzk_hold_verify(&first.request, &question, on_verified),
                     UVZK_ENOTHELD);
    world_run_for(&world, 10000);
    assert_int_equal(status, HOLD_NO_STATUS);
    end();
}

/* ------------------------------------------------------- somebody else's hold */

static void test_only_the_holding_request_releases(void **state)
{
    int alice, bob;
    begin_on(state, WORLD_PATH);
    hold_begin_for(&first, &here, &alice, UVZK_WAIT_FOREVER);
    hold_await(&first, HOUR_MS);
    hold_begin_for(&second, &here, &bob, UVZK_WAIT_FOREVER);
    hold_begin_on_for(&third, &here, &other, &alice); /* another lock */
    UNTIL(second.queued == 1 && third.queued == 1);
    assert_int_equal(uvzk_hold_release(&second.request, hold_unexpected_cb),
                     UVZK_ENOTHELD);
    assert_int_equal(uvzk_hold_release(&third.request, hold_unexpected_cb),
                     UVZK_ENOTHELD);
    assert_true(uvzk_lock_is_held_by(&here.mutex, &alice));
    assert_false(uvzk_lock_is_held_by(&here.mutex, &bob));
    assert_false(uvzk_lock_is_held_by(&other, &alice));
    expect_not_pending(&first);
    assert_true(hold_holds(&first) && uvzk_hold_is_valid(&first.request));
    hold_give_back(&first);
    hold_await(&second, HOUR_MS);
    assert_true(hold_pending(&third));
    hold_give_back(&second);
    hold_acquire_release(&third, HOUR_MS);
    end();
}

/* uvzk.h forbids moving a request; a copy must not end the hold of the original,
 * whose callback would then come for a struct that nobody released. */
static void test_a_copy_of_a_request_is_no_hold(void **state)
{
    uvzk_req_t question = {.data = NULL};
    uvzk_hold_t copy;
    begin(state);
    start(&first, NULL);
    copy = first.request;
    assert_int_equal(uvzk_hold_cancel(&copy), UVZK_ESTATE);
    hold_await(&first, HOUR_MS);
    copy = first.request;
    assert_int_equal(uvzk_hold_verify(&copy, &question, NULL), UV_EINVAL);
    assert_int_equal(uvzk_hold_is_valid(&copy), 0);
    assert_int_equal(uvzk_hold_release(&copy, hold_unexpected_cb), UVZK_ENOTHELD);
    assert_true(uvzk_hold_is_valid(&first.request));
    hold_give_back(&first);
    end();
}

/* ------------------------------------------------------------ foreign children */

/* Of hand-made nodes, kazoo, an old go-zookeeper, zoo_lock; and near misses. */
static const char *const foreign_names[] = {"0",
                                            "-1",
                                            "lock-",
                                            "x-lock-0000000000",
                                            "_c_x-lock-0000000000",
                                            "lock-0000000000",
                                            "zzzz",
                                            "_c_" UUID "-lock-",
                                            "_c_" UUID "-lock-000000000",
                                            "_c_" UUID "-lock-00000000000",
                                            "_c_" UUID "-lock-2147483648",
                                            "_c_" UUID "-lock--2147483649",
                                            "_c_" UUID "-WORLD_PATH-0000000000",
                                            "_c_" UUID "-lease-0000000000",
                                            "_c_" UUID "-__READ__0000000000",
                                            "_d_" UUID "-lock-0000000000",
                                            "_c_" UUID "_lock-0000000000",
                                            DIGITS32 "__lock__0000000000",
                                            DIGITS32 "__rlock__0000000000",
                                            "_c_" DIGITS32 "-lock-",
                                            "lock-0000000001",
                                            "x-0123456789abcdef-0000000000",
                                            "a b",
                                            "%s%n",
                                            "\xc3\xa4\xc3\xb6-lock-0000000000",
                                            "\xe6\xbc\xa2\xe5\xad\x97",
                                            "\xf0\x9f\x94\x92"};

static struct world_path child(const char *name)
{
    struct world_path path;

    (void)snprintf(path.text, sizeof(path.text), WORLD_PATH "/%s", name);
    return path;
}

static void put_child(const char *name, enum uvzk__mode mode)
{
    assert_non_null(sim_create_by_hand(world.sim, child(name).text, mode));
}

static void put_foreign_children(void)
{
    for (size_t i = 0; i < LENGTH(foreign_names); i++) {
        put_child(foreign_names[i], i % 2 ? UVZK__EPHEMERAL : UVZK__PERSISTENT);
    }
}

static void expect_foreign(const struct process *process, size_t count)
{
    assert_int_equal(process_metrics(process).foreign, count);
}

/* Two processes, three contenders, and all of them served in order. */
static void serve_among(size_t foreign_nodes)
{
    process_begin(&there, &world, "there", NULL);
    grant(&first, NULL);
    expect_foreign(&here, foreign_nodes);
    assert_int_equal(logged.warnings, 1);
    assert_non_null(strstr(logged.line, WORLD_PATH));
    hold_begin(&second, &there, UVZK_WAIT_FOREVER);
    await_place(&second, 1);
    expect_foreign(&there, foreign_nodes);
    queue_up(&third, 2);
    assert_int_equal(participants(), 3);
    expect_foreign(&here, foreign_nodes);
    hold_give_back(&first);
    hold_await(&second, HOUR_MS);
    assert_true(hold_pending(&third));
    hold_give_back(&second);
    hold_acquire_release(&third, HOUR_MS);
    assert_true(first.token < second.token && second.token < third.token);
    assert_int_equal(logged.warnings, 1); /* said once, not at each listing */
    assert_int_equal(znodes(), foreign_nodes);
    end();
}

static void test_serves_among_foreign_children(void **state)
{
    begin(state);
    world_make_path(&world, WORLD_PATH);
    put_foreign_children();
    serve_among(LENGTH(foreign_names));
}

static void test_serves_among_ten_thousand_foreign_children(void **state)
{
    char name[64];
    begin(state);
    world_make_path(&world, WORLD_PATH);
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof(name), "x%d-lock-%010d", i, i);
        put_child(name, i % 2 ? UVZK__EPHEMERAL : UVZK__PERSISTENT);
    }
    serve_among(10000);
}

/* They come while the lock is held and waited for. */
static void test_foreign_children_may_come_and_go(void **state)
{
    begin(state);
    grant(&first, NULL);
    queue_up(&second, 1);
    put_foreign_children();
    queue_up(&third, 2);
    expect_foreign(&here, LENGTH(foreign_names));
    assert_int_equal(logged.warnings, 1);
    hold_give_back(&first);
    hold_await(&second, HOUR_MS);
    for (size_t i = 0; i < LENGTH(foreign_names); i++) {
        assert_int_equal(sim_delete_by_hand(world.sim, child(foreign_names[i]).text), 0);
    }
    queue_up(&first, 2);
    expect_foreign(&here, 0);
    hold_give_back(&second);
    hold_acquire_release(&third, HOUR_MS);
    hold_acquire_release(&first, HOUR_MS);
    end();
}

/* go-zookeeper's names are contenders': they are waited for, not passed. */
static void test_waits_for_a_contender_of_go(void **state)
{
    static const char path[] = WORLD_PATH "/_c_" DIGITS32 "-lock-0000000000";
    begin(state);
    world_make_path(&world, WORLD_PATH);
    assert_non_null(sim_create_by_hand(world.sim, path, UVZK__EPHEMERAL));
    queue_up(&first, 1);
    assert_int_equal(participants(), 2);
    world_run_for(&world, 60000);
    assert_int_equal(first.answered, 0);
    expect_foreign(&here, 0);
    assert_int_equal(sim_delete_by_hand(world.sim, path), 0);
    hold_acquire_release(&first, HOUR_MS);
    end();
}

/* A lock below a lock: the inner directory is a foreign child of the outer. */
static void test_a_lock_inside_a_lock(void **state)
{
    begin(state);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, WORLD_PATH "/inner"), 0);
    grant(&first, &other);
    grant(&second, NULL);
    expect_foreign(&here, 1);
    assert_true(uvzk_hold_is_valid(&first.request) &&
                uvzk_hold_is_valid(&second.request));
    hold_give_back(&second);
    hold_give_back(&first);
    end();
}

/* ----------------------------------------------------------- worn-out suffixes */

static void begin_near(void *const *state, int32_t counter)
{
    begin(state);
    world_make_path(&world, WORLD_PATH);
    assert_int_equal(sim_set_counter(world.sim, WORLD_PATH, counter), 0);
}

static void test_refuses_worn_out_suffixes(void **state)
{
    static const int32_t worn[] = {LIMIT + 1, INT32_MAX - 1, INT32_MAX,    -1,
                                   -5,        INT32_MIN,     INT32_MIN + 1};
    for (size_t i = 0; i < LENGTH(worn); i++) {
        begin_near(state, worn[i]);
        refuse_with(NULL, UVZK_EEXHAUSTED);
        assert_int_equal(znodes(), 0);
        assert_int_equal(sim_set_counter(world.sim, WORLD_PATH, worn[i]), 0);
        refuse_with(NULL, UVZK_EEXHAUSTED);
        assert_int_equal(znodes(), 0);
        end();
    }
}

/* Its own znode, on its way out, is no foreign child. */
static void test_its_own_worn_out_znode_is_not_foreign(void **state)
{
    begin_near(state, LIMIT + 1);
    refuse_with(NULL, UVZK_EEXHAUSTED);
    assert_int_equal(logged.warnings, 0);
    end();
}

static void test_serves_up_to_the_last_suffix(void **state)
{
    begin_near(state, LIMIT - 1);
    grant(&first, NULL);
    assert_non_null(strstr(uvzk_hold_path(&first.request), "-lock-2146435070"));
    start(&second, NULL); /* the last one */
    start(&third, NULL);
    hold_await_status(&third, HOUR_MS, UVZK_EEXHAUSTED);
    assert_true(world_await(&world, &second.queued, HOUR_MS));
    UNTIL(znodes() == 2);
    assert_true(uvzk_hold_is_valid(&first.request));
    hold_give_back(&first);
    hold_await(&second, HOUR_MS);
    hold_give_back(&second);
    end();
}

/* Many at once at the edge: those before it are served, the others told. */
static void test_a_crowd_at_the_last_suffix(void **state)
{
    static struct hold crowd[20];
    int served = 0;
    begin_near(state, LIMIT - 9);
    for (size_t i = 0; i < LENGTH(crowd); i++) {
        start(&crowd[i], NULL);
    }
    for (size_t i = 0; i < LENGTH(crowd); i++) {
        hold_await_answer(&crowd[i], HOUR_MS);
        if (crowd[i].status == 0) {
            served++;
            hold_give_back(&crowd[i]);
        } else {
            assert_int_equal(crowd[i].status, UVZK_EEXHAUSTED);
        }
    }
    assert_int_equal(served, 10);
    UNTIL(znodes() == 0);
    end();
}

/* The suffix is learnt from a listing: the create's reply was lost. */
static void test_a_worn_out_suffix_after_a_lost_reply(void **state)
{
    begin_near(state, LIMIT + 1);
    sim_lose_reply(here.port);
    refuse_with(NULL, UVZK_EEXHAUSTED);
    assert_int_equal(znodes(), 0);
    end();
}

/* Tried once, given up while the create is under way: the same leftovers. */
static void test_gives_up_on_a_worn_out_suffix(void **state)
{
    begin_near(state, -7);
    hold_begin(&first, &here, UVZK_TRY_ONCE);
    start(&second, NULL);
    hold_cancel(&second);
    hold_await_status(&first, HOUR_MS, UVZK_EEXHAUSTED);
    hold_await_status(&second, HOUR_MS, UV_ECANCELED);
    UNTIL(process_contenders(&here) == 0);
    assert_int_equal(znodes(), 0);
    end();
}

static void test_a_sequential_create_that_exists(void **state)
{
    begin(state);
    world_make_path(&world, WORLD_PATH);
    sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ENODEEXISTS, 1);
    refuse_with(NULL, UVZK_EEXHAUSTED);
    assert_int_equal(znodes(), 0);
    grant(&first, NULL); /* the counter was worn out, the lock is not */
    hold_give_back(&first);
    end();
}

/* A waiter whose znode is deleted gets a new one, and that is worn out. */
static void test_a_second_znode_that_is_worn_out(void **state)
{
    begin_near(state, LIMIT - 1);
    struct world_path holder = world_foreign_node(&world, WORLD_PATH, "lock-");
    queue_up(&first, 1);
    assert_int_equal(znodes(), 2);
    world_delete_child(&world, WORLD_PATH, 1);
    hold_await_status(&first, HOUR_MS, UVZK_EEXHAUSTED);
    UNTIL(process_contenders(&here) == 0);
    assert_int_equal(znodes(), 1);
    world_delete(&world, &holder);
    end();
}

static const char *const worn_out_names[] = {
    "_c_" UUID "-lock--000000001", "_c_" UUID "-lock--2147483648",
    "_c_" UUID "-lock-2147483647", "_c_" UUID "-lock-2146435072",
    "_c_" DIGITS32 "-lock--2147483647"};

static void put_worn_out(void)
{
    world_make_path(&world, WORLD_PATH);
    for (size_t i = 0; i < LENGTH(worn_out_names); i++) {
        put_child(worn_out_names[i], UVZK__EPHEMERAL);
    }
}

static void test_worn_out_contenders_block_nobody(void **state)
{
    begin(state);
    put_worn_out();
    grant(&first, NULL);
    queue_up(&second, 1);
    expect_foreign(&here, LENGTH(worn_out_names));
    assert_int_equal(logged.warnings, 1);
    hold_give_back(&first);
    hold_acquire_release(&second, HOUR_MS);
    assert_int_equal(znodes(), LENGTH(worn_out_names));
    end();
}

/* The two listings agree on who is a contender, and the holder comes first. */
static void test_participants_without_worn_out_ones(void **state)
{
    begin(state);
    put_worn_out();
    grant(&first, NULL);
    expect_foreign(&here, LENGTH(worn_out_names));
    assert_int_equal(participants(), 1);
    assert_string_equal(first_participant, uvzk_hold_path(&first.request));
    expect_foreign(&here, LENGTH(worn_out_names));
    hold_give_back(&first);
    end();
}

/* ------------------------------------------------------------------ odd things */

static void test_a_lock_below_an_ephemeral_znode(void **state)
{
    uvzk_mutex_t deep = {.data = NULL};
    begin_on(state, "/mortal/lock");
    assert_int_equal(uvzk_mutex_init(&here.client, &deep, "/mortal/deep/er/lock"), 0);
    assert_non_null(sim_create_by_hand(world.sim, "/mortal", UVZK__EPHEMERAL));
    refuse_with(&other, UVZK_ENOCHILDREN);
    refuse_with(&deep, UVZK_ENOCHILDREN);
    assert_int_equal(world_children(&world, "/mortal"), 0);
    uint64_t asked = sim_submitted(here.port);
    world_run_for(&world, 2000);
    assert_true(sim_submitted(here.port) <= asked + 4); /* the session's touches */
    end();
}

static void test_a_lock_on_an_ephemeral_znode(void **state)
{
    begin_on(state, "/mortal");
    assert_non_null(sim_create_by_hand(world.sim, "/mortal", UVZK__EPHEMERAL));
    uint64_t asked = sim_submitted(here.port);
    refuse_with(&other, UVZK_ENOCHILDREN);
    /* Not searched for: two creates, and the session's first touch. */
    assert_true(sim_submitted(here.port) <= asked + 3);
    assert_int_equal(sim_delete_by_hand(world.sim, "/mortal"), 0);
    grant(&first, &other);
    hold_give_back(&first);
    end();
}

/* A contender's own znode is no place for a lock either. */
static void test_a_lock_on_a_hold(void **state)
{
    begin(state);
    grant(&first, NULL);
    assert_int_equal(
        uvzk_mutex_init(&here.client, &other, uvzk_hold_path(&first.request)), 0);
    start(&third, &other);
    hold_await_status(&third, HOUR_MS, UVZK_ENOCHILDREN);
    assert_true(uvzk_hold_is_valid(&first.request));
    hold_give_back(&first);
    end();
}

/* The server's answer when the chroot is missing: every create finds no parent. */
static void test_a_missing_chroot(void **state)
{
    begin(state);
    sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ENONODE, 3);
    refuse_with(NULL, UVZK_ENONODE);
    sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ENONODE, 3);
    hold_begin(&first, &here, UVZK_TRY_ONCE);
    hold_await_status(&first, HOUR_MS, UVZK_ENONODE);
    assert_int_equal(participants(), 0);
    grant(&first, NULL); /* somebody has made it */
    hold_give_back(&first);
    end();
}

/* A session that is too short to be proved: said at once, and nobody hangs that
 * has asked not to. */
static void test_a_session_too_short_to_be_proved(void **state)
{
    uvzk_client_options_t options = usual_options();
    options.tick_ms = 60000;
    begin_with(state, &options);
    process_start(&here);
    assert_true(process_await_connected(&here, HOUR_MS));
    logged.expected_errors = 1;
    UNTIL(logged.errors == 1);
    world_run_for(&world, 60000); /* a session just opened proves itself, for once */
    hold_begin(&first, &here, 5000);
    hold_await_status(&first, HOUR_MS, UVZK_EPROOF);
    hold_begin(&second, &here, UVZK_TRY_ONCE);
    hold_await_status(&second, HOUR_MS, UVZK_EPROOF);
    end();
}

/* --------------------------------------------------------------------- main */

#define QUICK(test) ((struct CMUnitTest){#test, test, NULL, NULL, &world_tuned})
#define PLAIN(test) ((struct CMUnitTest){#test " plain", test, NULL, NULL, &world_plain})
#define BOTH(test) QUICK(test), PLAIN(test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        QUICK(test_refuses_malformed_paths),
        QUICK(test_counts_the_namespace_into_the_length),
        QUICK(test_a_multi_lock_needs_no_room_for_a_path),
        BOTH(test_serves_the_longest_and_the_deepest_path),
        QUICK(test_refuses_options),
        QUICK(test_refuses_options_that_go_together),
        QUICK(test_refuses_acls),
        QUICK(test_refuses_malformed_namespaces),
        QUICK(test_refuses_acquire_options),
        QUICK(test_takes_options_at_their_limits),
        QUICK(test_refuses_null),
        QUICK(test_refuses_members),
        QUICK(test_answers_about_nothing),
        QUICK(test_client_states),
        QUICK(test_a_client_in_use_is_not_made_anew),
        QUICK(test_mutex_states),
        QUICK(test_request_states),
        QUICK(test_a_lost_request_is_idle),
        QUICK(test_a_final_callback_finds_its_request_idle),
        QUICK(test_questions_are_asked_one_at_a_time),
        QUICK(test_only_the_holding_request_releases),
        QUICK(test_a_copy_of_a_request_is_no_hold),
        BOTH(test_serves_among_foreign_children),
        BOTH(test_serves_among_ten_thousand_foreign_children),
        BOTH(test_foreign_children_may_come_and_go),
        BOTH(test_waits_for_a_contender_of_go),
        QUICK(test_a_lock_inside_a_lock),
        BOTH(test_refuses_worn_out_suffixes),
        BOTH(test_its_own_worn_out_znode_is_not_foreign),
        BOTH(test_serves_up_to_the_last_suffix),
        BOTH(test_a_crowd_at_the_last_suffix),
        BOTH(test_a_worn_out_suffix_after_a_lost_reply),
        BOTH(test_gives_up_on_a_worn_out_suffix),
        BOTH(test_a_sequential_create_that_exists),
        BOTH(test_a_second_znode_that_is_worn_out),
        BOTH(test_worn_out_contenders_block_nobody),
        QUICK(test_participants_without_worn_out_ones),
        QUICK(test_a_lock_below_an_ephemeral_znode),
        QUICK(test_a_lock_on_an_ephemeral_znode),
        QUICK(test_a_lock_on_a_hold),
        QUICK(test_a_missing_chroot),
        QUICK(test_a_session_too_short_to_be_proved),
        QUICK(test_writes_nothing_to_null),
    };
    return cmocka_run_group_tests_name("bad_input", tests, NULL, NULL);
}
