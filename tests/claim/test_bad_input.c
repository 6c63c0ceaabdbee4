/* Bad input, over the simulator: each has a clear error or the right service,
 * and none leaves a znode, a watch, a contender or a wrong grant behind. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attempt.h"
#include "base/order.h"
#include "client/client.h"
#include "sim.h"

#define LOCK "/bad/lock"
#define UUID "64fc66ae-773f-4d77-9695-eba698b095f7"
#define DIGITS32 "64fc66ae773f4d779695eba698b095f7"
#define LIMIT UVZK__SEQUENCE_LIMIT
#define HOUR_MS 3600000U
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* A process with one client. */
struct seat {
    uvzk_client_t client;
    struct uvzk__port *port;
    int closed;
    int warnings, errors; /* lines logged */
    char line[1024];      /* the last of them */
};

static struct sim *sim;
static struct seat here, there;
static unsigned tuning = UVZK__TUNE_ALL;
static uvzk_mutex_t mutex, other;
static struct attempt first, second, third;

/* Steps until the condition holds; fails after a virtual hour. */
#define UNTIL(condition)                             \
    do {                                             \
        uint64_t until_end = sim_now(sim) + HOUR_MS; \
        while (!(condition)) {                       \
            assert_true(sim_now(sim) < until_end);   \
            assert_true(sim_step(sim));              \
        }                                            \
    } while (0)

/* ------------------------------------------------------------ begin and end */

static void on_log(uvzk_client_t *client, int level, const char *line)
{
    struct seat *seat = client->data;
    seat->errors += level == UVZK_LOG_ERROR;
    seat->warnings += level == UVZK_LOG_WARN;
    snprintf(seat->line, sizeof(seat->line), "%s", line);
}

static void on_closed(uvzk_client_t *client)
{
    ((struct seat *)client->data)->closed++;
}

static uvzk_client_options_t usual_options(void)
{
    uvzk_client_options_t options;
    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = 10000;
    options.log_cb = on_log;
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = 50;
    options.retry.max_retries = 3;
    return options;
}

static int sit_with(struct seat *seat, const char *name,
                    const uvzk_client_options_t *options)
{
    memset(seat, 0, sizeof(*seat));
    seat->client.data = seat;
    seat->port = sim_port_new(sim, name);
    return uvzk__client_create(&seat->client, seat->port, options, tuning);
}

static void sit(struct seat *seat, const char *name)
{
    uvzk_client_options_t options = usual_options();
    assert_int_equal(sit_with(seat, name, &options), 0);
}

static void begin_quiet(void)
{
    sim = sim_new(1, NULL);
    memset(&mutex, 0, sizeof(mutex));
    memset(&other, 0, sizeof(other));
    memset(&here, 0, sizeof(here));
    memset(&there, 0, sizeof(there));
}

/* A client that is connected and a mutex of it. */
static void begin_on(const char *path)
{
    begin_quiet();
    sit(&here, "here");
    assert_int_equal(uvzk_mutex_init(&here.client, &mutex, path), 0);
    assert_int_equal(uvzk_client_start(&here.client), 0);
    UNTIL(uvzk_client_state(&here.client) == UVZK_STATE_CONNECTED);
}

static uvzk_client_stats_t stats_of(const struct seat *seat)
{
    uvzk_client_stats_t stats;
    uvzk_client_stats(&seat->client, &stats);
    return stats;
}

static void leave(struct seat *seat)
{
    if (seat->port == NULL) {
        return;
    }
    UNTIL(stats_of(seat).contenders == 0 && stats_of(seat).watches == 0 &&
          stats_of(seat).foreign == 0 && sim_outstanding(seat->port) == 0);
    assert_int_equal(sim_armed(seat->port), 0);
    int64_t session = sim_session_id(seat->port);
    assert_int_equal(sim_ephemeral_count(sim, session), 0);
    assert_int_equal(uvzk_client_close(&seat->client, on_closed), 0);
    UNTIL(seat->closed == 1);
    assert_null(seat->client.impl);
    seat->port = NULL;
}

static void end(void)
{
    leave(&here);
    leave(&there);
    assert_int_equal(sim_watch_count(sim), 0);
    sim_free(sim);
}

static bool is_told(const struct attempt *attempt)
{
    return attempt->acquired == 1;
}

static void start(struct attempt *attempt, uvzk_mutex_t *on)
{
    memset(attempt, 0, sizeof(*attempt));
    assert_int_equal(attempt_start(attempt, on, NULL), 0);
}

static void grant(struct attempt *attempt, uvzk_mutex_t *on)
{
    start(attempt, on);
    UNTIL(is_told(attempt));
    assert_int_equal(attempt->status, 0);
}

static void let_go(struct attempt *attempt)
{
    assert_int_equal(attempt_release(attempt), 0);
    UNTIL(attempt->released == 1);
    assert_int_equal(attempt->release_status, 0);
}

/* The acquire is refused with this status, and nothing of it is left. */
static void refuse_with(uvzk_mutex_t *on, int status)
{
    start(&third, on);
    UNTIL(is_told(&third));
    assert_int_equal(third.status, status);
    assert_null(third.request.impl);
    UNTIL(stats_of(&here).contenders == 0);
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
    (void)state;
    begin_on(LOCK);
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
    uvzk_client_options_t options;
    (void)state;
    begin_quiet();
    options = usual_options();
    options.ns = "app";
    assert_int_equal(sit_with(&here, "here", &options), 0);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, "/"), UVZK_EPATH);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, "/../b"), UVZK_EPATH);
    assert_int_equal(init_with_length(1021), UVZK_EPATH);
    assert_int_equal(init_with_length(1020), 0);
    end();
}

static void test_serves_the_longest_and_the_deepest_path(void **state)
{
    char deep[1025];
    (void)state;
    char *longest = path_of_length(1024);
    for (size_t i = 0; i < 1024; i++) {
        deep[i] = i % 2 == 0 ? '/' : 'd';
    }
    deep[1024] = '\0';
    begin_on(longest);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, deep), 0);
    grant(&first, &mutex);
    grant(&second, &other);
    assert_true(sim_exists(sim, uvzk_hold_path(&first.request)));
    assert_true(sim_exists(sim, uvzk_hold_path(&second.request)));
    assert_int_equal(strncmp(uvzk_hold_path(&second.request), deep, 1024), 0);
    let_go(&first);
    let_go(&second);
    assert_int_equal(sim_children(sim, deep, NULL, 0), 0);
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

static void ignore_turn(struct uvzk__port_user *user)
{
    (void)user;
}

static void ignore_log(struct uvzk__port_user *user, int level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

static struct uvzk__port_user nobody = {.session = ignore_session,
                                        .turn = ignore_turn,
                                        .log = ignore_log,
                                        .closed = ignore_turn};

/* What a client is told that is made with these; it is closed again. */
static int sit_briefly(const uvzk_client_options_t *options)
{
    sim = sim_new(1, NULL);
    memset(&there, 0, sizeof(there));
    int status = sit_with(&here, "here", options);
    if (status == 0) {
        end();
        return 0;
    }
    assert_null(here.client.impl);
    here.port->user = &nobody; /* still ours */
    here.port->close(here.port);
    sim_run_for(sim, 1000);
    sim_free(sim);
    return status;
}

#define REFUSED(status, field, value)                              \
    do {                                                           \
        uvzk_client_options_t refused_options = usual_options();   \
        refused_options.field = (value);                           \
        assert_int_equal(sit_briefly(&refused_options), (status)); \
    } while (0)

static void test_refuses_options(void **state)
{
    (void)state;
    assert_int_equal(sit_briefly(NULL), UV_EINVAL);
    REFUSED(UV_EINVAL, size, 0);
    REFUSED(UV_EINVAL, size, sizeof(size_t));
    REFUSED(UV_EINVAL, size, sizeof(uvzk_client_options_t) - 1);
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
    assert_int_equal(sit_briefly(&options), UV_EINVAL);
    options.auth = bytes;
    options.auth_length = sizeof(bytes);
    assert_int_equal(sit_briefly(&options), UV_EINVAL);
    options.auth_scheme = NULL;
    options.auth_length = 1;
    assert_int_equal(sit_briefly(&options), UV_EINVAL);

    options = usual_options();
    options.default_data = bytes;
    options.default_data_length = sizeof(bytes);
    assert_int_equal(sit_briefly(&options), UV_EINVAL);
    options.default_data_length = sizeof(bytes) - 1;
    assert_int_equal(sit_briefly(&options), 0);
    options.default_data_length = 0;
    assert_int_equal(sit_briefly(&options), 0);

    options = usual_options();
    options.retry = (uvzk_retry_policy_t){.kind = UVZK_RETRY_FOREVER};
    assert_int_equal(sit_briefly(&options), UV_EINVAL);
    options.retry = (uvzk_retry_policy_t){.max_retries = 3};
    assert_int_equal(sit_briefly(&options), UV_EINVAL);
}

static int sit_with_acl(const uvzk_acl_t *acl, size_t count)
{
    uvzk_client_options_t options = usual_options();
    options.acl = acl;
    options.acl_count = count;
    return sit_briefly(&options);
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
        assert_int_equal(sit_with_acl(&bad[i], 1), UV_EINVAL);
        assert_int_equal(sit_with_acl(both, 2), UV_EINVAL);
    }
    assert_int_equal(sit_with_acl(NULL, 2), UV_EINVAL);
    assert_int_equal(sit_with_acl(&good, 1), 0);
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
    (void)state;
    begin_on(LOCK);
    uvzk_acquire_options_init(&good);
    memset(&first, 0, sizeof(first));
#define ACQUIRE_REFUSED(change)                                               \
    do {                                                                      \
        options = good;                                                       \
        change;                                                               \
        assert_int_equal(attempt_start(&first, &mutex, &options), UV_EINVAL); \
        assert_null(first.request.impl);                                      \
    } while (0)
    ACQUIRE_REFUSED(options.size = 0);
    ACQUIRE_REFUSED(options.size = offsetof(uvzk_acquire_options_t, timeout_ms));
    ACQUIRE_REFUSED(options.timeout_ms = -2);
    ACQUIRE_REFUSED(options.timeout_ms = INT64_MIN);
    ACQUIRE_REFUSED(options.node_data_length = 1);
    ACQUIRE_REFUSED(options.node_data = bytes; options.node_data_length = sizeof(bytes));
    ACQUIRE_REFUSED(options.node_data = bytes; options.node_data_length = SIZE_MAX);
    sim_run_for(sim, 1000);
    assert_int_equal(first.acquired, 0);
    assert_int_equal(stats_of(&here).contenders, 0);
    end();
}

static void test_takes_options_at_their_limits(void **state)
{
    static char bytes[1000000];
    uvzk_acquire_options_t options;
    size_t length = 1;
    (void)state;
    begin_on(LOCK);
    uvzk_acquire_options_init(&options);
    options.timeout_ms = INT64_MAX;
    options.node_data = bytes;
    options.node_data_length = sizeof(bytes);
    assert_int_equal(attempt_start(&first, &mutex, &options), 0);
    UNTIL(is_told(&first));
    assert_int_equal(first.status, 0);
    assert_non_null(sim_data(sim, uvzk_hold_path(&first.request), &length));
    assert_int_equal(length, sizeof(bytes));
    options.node_data_length = 0;
    assert_int_equal(attempt_start(&second, &mutex, &options), 0);
    UNTIL(second.queued == 1);
    sim_run_for(sim, HOUR_MS);
    assert_int_equal(second.acquired, 0); /* INT64_MAX is no time in the past */
    let_go(&first);
    UNTIL(is_told(&second));
    assert_non_null(sim_data(sim, uvzk_hold_path(&second.request), &length));
    assert_int_equal(length, 0);
    let_go(&second);
    end();
}

/* ---------------------------------------------------------------------- NULL */

static void on_acquired(uvzk_hold_t *hold, int status)
{
    (void)hold;
    (void)status;
    fail_msg("told of a call that was refused");
}

static void on_released(uvzk_hold_t *hold, int status)
{
    on_acquired(hold, status);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    on_acquired(hold, reason);
}

static void on_verified(uvzk_verify_t *request, int status)
{
    *(int *)request->data = status;
}

static void on_participants(uvzk_participants_t *request, int status,
                            const char *const *paths, size_t count)
{
    (void)status;
    (void)paths;
    *(int *)request->data = (int)count;
}

static void test_refuses_null(void **state)
{
    uvzk_hold_t request = {.data = NULL};
    uvzk_verify_t question = {.data = NULL};
    uvzk_participants_t listing = {.data = NULL};
    (void)state;
    begin_on(LOCK);
    grant(&first, &mutex);
    assert_int_equal(uvzk_client_start(NULL), UV_EINVAL);
    assert_int_equal(uvzk_client_close(NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_mutex_init(NULL, &other, LOCK), UV_EINVAL);
    assert_int_equal(uvzk_mutex_init(&here.client, NULL, LOCK), UV_EINVAL);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, NULL), UV_EINVAL);
    assert_int_equal(uvzk_lock_close(NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_lock_acquire(NULL, &request, NULL, on_acquired, on_lost),
                     UV_EINVAL);
    assert_int_equal(uvzk_lock_acquire(&mutex, NULL, NULL, on_acquired, on_lost),
                     UV_EINVAL);
    assert_int_equal(uvzk_lock_acquire(&mutex, &request, NULL, NULL, on_lost), UV_EINVAL);
    assert_int_equal(uvzk_lock_acquire(&mutex, &request, NULL, on_acquired, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_lock_participants(NULL, &listing, on_participants), UV_EINVAL);
    assert_int_equal(uvzk_lock_participants(&mutex, NULL, on_participants), UV_EINVAL);
    assert_int_equal(uvzk_lock_participants(&mutex, &listing, NULL), UV_EINVAL);
    assert_int_equal(uvzk_hold_release(NULL, on_released), UV_EINVAL);
    assert_int_equal(uvzk_hold_release(&first.request, NULL), UV_EINVAL);
    assert_int_equal(uvzk_hold_cancel(NULL), UV_EINVAL);
    assert_int_equal(uvzk_hold_verify(NULL, &question, on_verified), UV_EINVAL);
    assert_int_equal(uvzk_hold_verify(&first.request, NULL, on_verified), UV_EINVAL);
    assert_int_equal(uvzk_hold_verify(&first.request, &question, NULL), UV_EINVAL);
    sim_run_for(sim, 60000);
    assert_null(request.impl);
    assert_null(question.impl);
    assert_null(listing.impl);
    assert_true(attempt_holds(&first) && uvzk_hold_is_valid(&first.request));
    let_go(&first);
    end();
}

/* None, the same one twice, one that is no lock; one alone is enough. */
static void test_refuses_members(void **state)
{
    static uvzk_multilock_t multilock;
    uvzk_lock_t *const twice[] = {&mutex, &mutex}, *const none[] = {&other};
    uvzk_client_t *client = &here.client;
    (void)state;
    begin_on(LOCK);
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
    let_go(&first);
    assert_int_equal(uvzk_lock_close(&multilock, NULL), 0);
    end();
}

static void test_answers_about_nothing(void **state)
{
    static uvzk_client_t client;
    static uvzk_mutex_t unused;
    static uvzk_hold_t request;
    uvzk_client_stats_t stats, zeros;
    (void)state;
    memset(&zeros, 0, sizeof(zeros));
    for (int fresh = 0; fresh < 2; fresh++) {
        const uvzk_client_t *c = fresh ? &client : NULL;
        const uvzk_mutex_t *m = fresh ? &unused : NULL;
        const uvzk_hold_t *r = fresh ? &request : NULL;
        memset(&stats, 0xff, sizeof(stats));
        assert_int_equal(uvzk_client_state(c), UVZK_STATE_CLOSED);
        assert_int_equal(uvzk_client_session_id(c), 0);
        assert_int_equal(uvzk_client_session_timeout(c), 0);
        uvzk_client_stats(c, &stats);
        assert_memory_equal(&stats, &zeros, sizeof(stats));
        assert_int_equal(uvzk_lock_is_held(m), 0);
        assert_int_equal(uvzk_lock_is_held_by(m, &stats), 0);
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
    (void)state;
    begin_on(LOCK);
    uvzk_client_stats(&here.client, NULL);
    uvzk_client_options_init_size(NULL, sizeof(uvzk_client_options_t));
    uvzk_acquire_options_init_size(NULL, sizeof(uvzk_acquire_options_t));
    end();
}

/* -------------------------------------------------------------- wrong states */

static void test_client_states(void **state)
{
    static uvzk_client_t unused;
    (void)state;
    begin_quiet();
    assert_int_equal(uvzk_client_start(&unused), UVZK_ESTATE);
    assert_int_equal(uvzk_client_close(&unused, on_closed), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&unused, &mutex, LOCK), UVZK_ESTATE);
    sit(&here, "here");
    assert_int_equal(uvzk_mutex_init(&here.client, &mutex, LOCK), 0);
    start(&first, &mutex); /* waits for a connection nobody asked for yet */
    assert_int_equal(attempt_start_within(&second, &mutex, UVZK_TRY_ONCE), 0);
    UNTIL(is_told(&second));
    assert_int_equal(second.status, UVZK_ECONNLOSS);
    assert_int_equal(uvzk_client_start(&here.client), 0);
    assert_int_equal(uvzk_client_start(&here.client), UVZK_ESTATE);
    UNTIL(is_told(&first));
    assert_int_equal(uvzk_client_start(&here.client), UVZK_ESTATE);
    assert_int_equal(first.status, 0);
    assert_int_equal(uvzk_client_close(&here.client, on_closed), 0);
    assert_int_equal(uvzk_client_start(&here.client), UVZK_ESTATE);
    assert_int_equal(uvzk_client_close(&here.client, on_closed), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, LOCK), UVZK_ESTATE);
    assert_int_equal(attempt_start(&second, &mutex, NULL), UVZK_ECLOSED);
    assert_int_equal(uvzk_client_state(&here.client), UVZK_STATE_CLOSED);
    UNTIL(here.closed == 1);
    assert_int_equal(first.lost_reason, UVZK_ECLOSED);
    assert_int_equal(uvzk_client_start(&here.client), UVZK_ESTATE);
    assert_int_equal(uvzk_client_close(&here.client, on_closed), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, LOCK), UVZK_ESTATE);
    assert_int_equal(attempt_start(&second, &mutex, NULL), UVZK_ECLOSED);
    assert_int_equal(uvzk_lock_close(&mutex, NULL), UVZK_ESTATE);
    sim_run_for(sim, HOUR_MS);
    assert_int_equal(here.closed, 1);
    here.port = NULL;
    end();
}

/* uvzk.h: UV_EBUSY: the client is in use. */
static void test_a_client_in_use_is_not_made_anew(void **state)
{
    uvzk_client_options_t options = usual_options();
    (void)state;
    begin_on(LOCK);
    void *impl = here.client.impl;
    struct uvzk__port *port = sim_port_new(sim, "again");
    int status = uvzk__client_create(&here.client, port, &options, tuning);
    if (status == 0) { /* let both go all the same */
        assert_int_equal(uvzk_client_close(&here.client, on_closed), 0);
        UNTIL(here.closed == 1);
        here.closed = 0;
        here.client.impl = impl;
    } else {
        port->user = &nobody;
        port->close(port);
    }
    assert_ptr_equal(here.client.impl, impl);
    grant(&first, &mutex);
    let_go(&first);
    end();
    assert_int_equal(status, UV_EBUSY);
}

static void count_mutex_close(uvzk_mutex_t *closed)
{
    ++*(int *)closed->data;
}

static void test_mutex_states(void **state)
{
    uvzk_participants_t listing = {.data = NULL};
    int closed = 0;
    (void)state;
    begin_on(LOCK);
    other.data = &closed;
    assert_int_equal(attempt_start(&first, &other, NULL), UVZK_ECLOSED);
    assert_int_equal(uvzk_lock_participants(&other, &listing, on_participants),
                     UVZK_ECLOSED);
    assert_int_equal(uvzk_lock_close(&other, count_mutex_close), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, LOCK), 0);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, "/elsewhere"), UV_EBUSY);
    grant(&first, &other);
    assert_int_equal(uvzk_lock_close(&other, count_mutex_close), 0);
    assert_int_equal(uvzk_lock_close(&other, count_mutex_close), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, LOCK), UV_EBUSY);
    assert_int_equal(attempt_start(&second, &other, NULL), UVZK_ECLOSED);
    assert_int_equal(uvzk_lock_participants(&other, &listing, on_participants),
                     UVZK_ECLOSED);
    UNTIL(closed == 1);
    assert_int_equal(first.lost_reason, UVZK_ECLOSED);
    assert_int_equal(attempt_start(&second, &other, NULL), UVZK_ECLOSED);
    assert_int_equal(uvzk_lock_close(&other, count_mutex_close), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, LOCK), 0); /* a new life */
    grant(&first, &other);
    let_go(&first);
    end();
    assert_int_equal(closed, 1);
}

/* Nothing but a pending request is cancelled, nothing but a hold is released
 * or verified, and only a request that is over is used again. */
static void test_request_states(void **state)
{
    uvzk_verify_t question = {.data = NULL};
    (void)state;
    begin_on(LOCK);
    memset(&first, 0, sizeof(first));
#define NOT_HELD(attempt)                                                              \
    do {                                                                               \
        assert_int_equal(attempt_release(&(attempt)), UVZK_ENOTHELD);                  \
        assert_int_equal(uvzk_hold_verify(&(attempt).request, &question, on_verified), \
                         UVZK_ENOTHELD);                                               \
        assert_int_equal(uvzk_hold_token(&(attempt).request), 0);                      \
        assert_null(uvzk_hold_path(&(attempt).request));                               \
        assert_int_equal(uvzk_hold_valid_until(&(attempt).request), 0);                \
    } while (0)
#define BUSY(attempt)                                                              \
    assert_int_equal(                                                              \
        uvzk_lock_acquire(&mutex, &(attempt).request, NULL, on_acquired, on_lost), \
        UV_EBUSY)
    NOT_HELD(first); /* idle */
    assert_int_equal(uvzk_hold_cancel(&first.request), UVZK_ESTATE);
    start(&first, &mutex); /* pending */
    NOT_HELD(first);
    BUSY(first);
    UNTIL(is_told(&first)); /* held */
    BUSY(first);
    assert_int_equal(uvzk_hold_cancel(&first.request), UVZK_ESTATE);
    assert_true(uvzk_hold_is_valid(&first.request));
    assert_int_equal(attempt_release(&first), 0); /* being released */
    BUSY(first);
    NOT_HELD(first);
    assert_int_equal(uvzk_hold_cancel(&first.request), UVZK_ESTATE);
    UNTIL(first.released == 1); /* released */
    NOT_HELD(first);
    assert_int_equal(uvzk_hold_cancel(&first.request), UVZK_ESTATE);
    start(&first, &mutex);
    assert_int_equal(uvzk_hold_cancel(&first.request), 0); /* being cancelled */
    NOT_HELD(first);
    BUSY(first);
    assert_int_equal(uvzk_hold_cancel(&first.request), UVZK_ESTATE);
    UNTIL(is_told(&first)); /* cancelled */
    NOT_HELD(first);
    assert_int_equal(uvzk_hold_cancel(&first.request), UVZK_ESTATE);
    assert_true(attempt_is_over(&first));
    end();
}

static void test_a_lost_request_is_idle(void **state)
{
    uvzk_verify_t question = {.data = NULL};
    (void)state;
    begin_on(LOCK);
    grant(&first, &mutex);
    assert_true(sim_expire(here.port));
    UNTIL(first.lost == 1);
    assert_int_equal(first.lost_reason, UVZK_EEXPIRED);
    assert_null(first.request.impl);
    NOT_HELD(first);
    assert_int_equal(uvzk_hold_cancel(&first.request), UVZK_ESTATE);
    assert_int_equal(first.released, 0);
    grant(&first, &mutex);
    let_go(&first);
    end();
}

/* Inside its FINAL callback a request is over already. */
static int final_cancel, final_release;

static void probe_final(uvzk_hold_t *hold, int status)
{
    (void)status;
    final_cancel = uvzk_hold_cancel(hold);
    final_release = uvzk_hold_release(hold, on_released);
}

static void test_a_final_callback_finds_its_request_idle(void **state)
{
    uvzk_hold_t request = {.data = NULL};
    (void)state;
    begin_on(LOCK);
    final_cancel = final_release = 0;
    assert_int_equal(uvzk_lock_acquire(&mutex, &request, NULL, probe_final, on_lost), 0);
    assert_int_equal(uvzk_hold_cancel(&request), 0);
    UNTIL(final_cancel != 0);
    assert_int_equal(final_cancel, UVZK_ESTATE);
    assert_int_equal(final_release, UVZK_ENOTHELD);
    end();
}

static void test_questions_are_asked_one_at_a_time(void **state)
{
    int status = ATTEMPT_UNTOLD, count = -1;
    uvzk_verify_t question = {.data = &status};
    uvzk_participants_t listing = {.data = &count};
    (void)state;
    begin_on(LOCK);
    grant(&first, &mutex);
    assert_int_equal(uvzk_hold_verify(&first.request, &question, on_verified), 0);
    assert_int_equal(uvzk_hold_verify(&first.request, &question, on_verified), UV_EBUSY);
    assert_int_equal(uvzk_lock_participants(&mutex, &listing, on_participants), 0);
    assert_int_equal(uvzk_lock_participants(&mutex, &listing, on_participants), UV_EBUSY);
    UNTIL(status != ATTEMPT_UNTOLD && count >= 0);
    assert_int_equal(status, 0);
    assert_int_equal(count, 1);
    let_go(&first);
    status = ATTEMPT_UNTOLD;
    assert_int_equal(uvzk_hold_verify(&first.request, &question, on_verified),
                     UVZK_ENOTHELD);
    sim_run_for(sim, 10000);
    assert_int_equal(status, ATTEMPT_UNTOLD);
    end();
}

/* ------------------------------------------------------- somebody else's hold */

static void test_only_the_holding_request_releases(void **state)
{
    int alice, bob;
    (void)state;
    begin_on(LOCK);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, LOCK), 0);
    assert_int_equal(attempt_start_for(&first, &mutex, &alice), 0);
    UNTIL(is_told(&first));
    assert_int_equal(attempt_start_for(&second, &mutex, &bob), 0);
    assert_int_equal(attempt_start_for(&third, &other, &alice), 0); /* another lock */
    UNTIL(second.queued == 1 && third.queued == 1);
    assert_int_equal(attempt_release(&second), UVZK_ENOTHELD);
    assert_int_equal(attempt_release(&third), UVZK_ENOTHELD);
    assert_true(uvzk_lock_is_held_by(&mutex, &alice));
    assert_false(uvzk_lock_is_held_by(&mutex, &bob));
    assert_false(uvzk_lock_is_held_by(&other, &alice));
    assert_int_equal(uvzk_hold_cancel(&first.request), UVZK_ESTATE);
    assert_true(attempt_holds(&first) && uvzk_hold_is_valid(&first.request));
    let_go(&first);
    UNTIL(is_told(&second));
    assert_int_equal(third.acquired, 0);
    let_go(&second);
    UNTIL(is_told(&third));
    let_go(&third);
    end();
}

/* uvzk.h forbids moving a request; a copy must not end the hold of the original,
 * whose callback would then come for a struct that nobody released. */
static void test_a_copy_of_a_request_is_no_hold(void **state)
{
    uvzk_verify_t question = {.data = NULL};
    uvzk_hold_t copy;
    (void)state;
    begin_on(LOCK);
    start(&first, &mutex);
    copy = first.request;
    int cancelled = uvzk_hold_cancel(&copy);
    UNTIL(is_told(&first));
    int pending_status = first.status;
    if (pending_status != 0) {
        grant(&first, &mutex);
    }
    copy = first.request;
    int verified = uvzk_hold_verify(&copy, &question, NULL);
    int held = uvzk_hold_is_valid(&copy);
    int released = uvzk_hold_release(&copy, on_released);
    copy.impl = NULL;
    if (released == 0) {
        here.port = NULL; /* the test has failed; do not be told of it */
    }
    assert_int_equal(cancelled, UVZK_ESTATE);
    assert_int_equal(pending_status, 0);
    assert_int_equal(verified, UV_EINVAL);
    assert_int_equal(released, UVZK_ENOTHELD);
    assert_int_equal(held, 0);
    assert_true(uvzk_hold_is_valid(&first.request));
    let_go(&first);
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
                                            "_c_" UUID "-LOCK-0000000000",
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

static void put_child(const char *parent, const char *name, enum uvzk__mode mode)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", parent, name);
    assert_non_null(sim_create_by_hand(sim, path, mode));
}

static void make_lock_directory(void)
{
    assert_non_null(sim_create_by_hand(sim, "/bad", UVZK__PERSISTENT));
    assert_non_null(sim_create_by_hand(sim, LOCK, UVZK__PERSISTENT));
}

static void put_foreign_children(void)
{
    for (size_t i = 0; i < LENGTH(foreign_names); i++) {
        put_child(LOCK, foreign_names[i], i % 2 ? UVZK__EPHEMERAL : UVZK__PERSISTENT);
    }
}

/* Two processes, three contenders, and all of them served in order. */
static void serve_among(size_t foreigners)
{
    int count = -1;
    uvzk_participants_t listing = {.data = &count};
    uvzk_mutex_t remote = {.data = NULL};
    sit(&there, "there");
    assert_int_equal(uvzk_mutex_init(&there.client, &remote, LOCK), 0);
    assert_int_equal(uvzk_client_start(&there.client), 0);
    grant(&first, &mutex);
    assert_int_equal(stats_of(&here).foreign, foreigners);
    assert_int_equal(here.warnings, 1);
    assert_non_null(strstr(here.line, LOCK));
    start(&second, &remote);
    UNTIL(second.queued == 1);
    assert_int_equal(second.ahead, 1);
    assert_int_equal(stats_of(&there).foreign, foreigners);
    start(&third, &mutex);
    UNTIL(third.queued == 1);
    assert_int_equal(third.ahead, 2);
    assert_int_equal(uvzk_lock_participants(&mutex, &listing, on_participants), 0);
    UNTIL(count >= 0);
    assert_int_equal(count, 3);
    assert_int_equal(stats_of(&here).foreign, foreigners);
    let_go(&first);
    UNTIL(is_told(&second));
    assert_int_equal(third.acquired, 0);
    let_go(&second);
    UNTIL(is_told(&third));
    let_go(&third);
    assert_true(first.token < second.token && second.token < third.token);
    assert_int_equal(here.warnings, 1); /* said once, not at each listing */
    assert_int_equal(sim_children(sim, LOCK, NULL, 0), foreigners);
    end();
}

static void test_serves_among_foreign_children(void **state)
{
    (void)state;
    begin_on(LOCK);
    make_lock_directory();
    put_foreign_children();
    serve_among(LENGTH(foreign_names));
}

static void test_serves_among_ten_thousand_foreign_children(void **state)
{
    char name[64];
    (void)state;
    begin_on(LOCK);
    make_lock_directory();
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof(name), "x%d-lock-%010d", i, i);
        put_child(LOCK, name, i % 2 ? UVZK__EPHEMERAL : UVZK__PERSISTENT);
    }
    serve_among(10000);
}

/* They come while the lock is held and waited for. */
static void test_foreign_children_may_come_and_go(void **state)
{
    (void)state;
    begin_on(LOCK);
    grant(&first, &mutex);
    start(&second, &mutex);
    UNTIL(second.queued == 1);
    put_foreign_children();
    start(&third, &mutex);
    UNTIL(third.queued == 1);
    assert_int_equal(third.ahead, 2);
    assert_int_equal(stats_of(&here).foreign, LENGTH(foreign_names));
    assert_int_equal(here.warnings, 1);
    let_go(&first);
    UNTIL(is_told(&second));
    for (size_t i = 0; i < LENGTH(foreign_names); i++) {
        char path[256];
        snprintf(path, sizeof(path), LOCK "/%s", foreign_names[i]);
        assert_int_equal(sim_delete_by_hand(sim, path), 0);
    }
    start(&first, &mutex);
    UNTIL(first.queued == 1);
    assert_int_equal(stats_of(&here).foreign, 0);
    let_go(&second);
    UNTIL(is_told(&third));
    let_go(&third);
    UNTIL(is_told(&first));
    let_go(&first);
    end();
}

/* go-zookeeper's names are contenders': they are waited for, not passed. */
static void test_waits_for_a_contender_of_go(void **state)
{
    static const char path[] = LOCK "/_c_" DIGITS32 "-lock-0000000000";
    int count = -1;
    uvzk_participants_t listing = {.data = &count};
    (void)state;
    begin_on(LOCK);
    make_lock_directory();
    assert_non_null(sim_create_by_hand(sim, path, UVZK__EPHEMERAL));
    start(&first, &mutex);
    UNTIL(first.queued == 1);
    assert_int_equal(first.ahead, 1);
    assert_int_equal(uvzk_lock_participants(&mutex, &listing, on_participants), 0);
    UNTIL(count >= 0);
    assert_int_equal(count, 2);
    sim_run_for(sim, 60000);
    assert_int_equal(first.acquired, 0);
    assert_int_equal(stats_of(&here).foreign, 0);
    assert_int_equal(sim_delete_by_hand(sim, path), 0);
    UNTIL(is_told(&first));
    let_go(&first);
    end();
}

/* A lock below a lock: the inner directory is a foreign child of the outer. */
static void test_a_lock_inside_a_lock(void **state)
{
    (void)state;
    begin_on(LOCK);
    assert_int_equal(uvzk_mutex_init(&here.client, &other, LOCK "/inner"), 0);
    grant(&first, &other);
    grant(&second, &mutex);
    assert_int_equal(stats_of(&here).foreign, 1);
    assert_true(uvzk_hold_is_valid(&first.request) &&
                uvzk_hold_is_valid(&second.request));
    let_go(&second);
    let_go(&first);
    end();
}

/* ----------------------------------------------------------- worn-out suffixes */

static void begin_near(int32_t counter)
{
    begin_on(LOCK);
    make_lock_directory();
    assert_int_equal(sim_set_counter(sim, LOCK, counter), 0);
}

static void test_refuses_worn_out_suffixes(void **state)
{
    static const int32_t worn[] = {LIMIT + 1, INT32_MAX - 1, INT32_MAX,    -1,
                                   -5,        INT32_MIN,     INT32_MIN + 1};
    (void)state;
    for (size_t i = 0; i < LENGTH(worn); i++) {
        begin_near(worn[i]);
        refuse_with(&mutex, UVZK_EEXHAUSTED);
        assert_int_equal(sim_children(sim, LOCK, NULL, 0), 0);
        assert_int_equal(sim_set_counter(sim, LOCK, worn[i]), 0);
        refuse_with(&mutex, UVZK_EEXHAUSTED);
        assert_int_equal(sim_children(sim, LOCK, NULL, 0), 0);
        end();
    }
}

/* Its own znode, on its way out, is no foreign child. */
static void test_its_own_worn_out_znode_is_not_foreign(void **state)
{
    (void)state;
    begin_near(LIMIT + 1);
    refuse_with(&mutex, UVZK_EEXHAUSTED);
    int warnings = here.warnings;
    end();
    assert_int_equal(warnings, 0);
}

static void test_serves_up_to_the_last_suffix(void **state)
{
    (void)state;
    begin_near(LIMIT - 1);
    grant(&first, &mutex);
    assert_non_null(strstr(uvzk_hold_path(&first.request), "-lock-2146435070"));
    start(&second, &mutex); /* the last one */
    start(&third, &mutex);
    UNTIL(is_told(&third));
    assert_int_equal(third.status, UVZK_EEXHAUSTED);
    UNTIL(second.queued == 1);
    UNTIL(sim_children(sim, LOCK, NULL, 0) == 2);
    assert_true(uvzk_hold_is_valid(&first.request));
    let_go(&first);
    UNTIL(is_told(&second));
    assert_int_equal(second.status, 0);
    let_go(&second);
    end();
}

/* Many at once at the edge: those before it are served, the others told. */
static void test_a_crowd_at_the_last_suffix(void **state)
{
    static struct attempt crowd[20];
    int served = 0, refused = 0;
    (void)state;
    begin_near(LIMIT - 9);
    for (size_t i = 0; i < LENGTH(crowd); i++) {
        start(&crowd[i], &mutex);
    }
    for (size_t i = 0; i < LENGTH(crowd); i++) {
        UNTIL(is_told(&crowd[i]));
        if (crowd[i].status == 0) {
            served++;
            let_go(&crowd[i]);
        } else {
            assert_int_equal(crowd[i].status, UVZK_EEXHAUSTED);
            refused++;
        }
    }
    assert_int_equal(served, 10);
    assert_int_equal(refused, 10);
    UNTIL(sim_children(sim, LOCK, NULL, 0) == 0);
    end();
}

/* The suffix is learnt from a listing: the create's reply was lost. */
static void test_a_worn_out_suffix_after_a_lost_reply(void **state)
{
    (void)state;
    begin_near(LIMIT + 1);
    sim_lose_reply(here.port);
    refuse_with(&mutex, UVZK_EEXHAUSTED);
    assert_int_equal(sim_children(sim, LOCK, NULL, 0), 0);
    end();
}

/* Tried once, given up while the create is under way: the same leftovers. */
static void test_gives_up_on_a_worn_out_suffix(void **state)
{
    (void)state;
    begin_near(-7);
    assert_int_equal(attempt_start_within(&first, &mutex, UVZK_TRY_ONCE), 0);
    start(&second, &mutex);
    assert_int_equal(uvzk_hold_cancel(&second.request), 0);
    UNTIL(is_told(&first) && is_told(&second));
    assert_int_equal(first.status, UVZK_EEXHAUSTED);
    assert_int_equal(second.status, UV_ECANCELED);
    UNTIL(stats_of(&here).contenders == 0);
    assert_int_equal(sim_children(sim, LOCK, NULL, 0), 0);
    end();
}

static void test_a_sequential_create_that_exists(void **state)
{
    (void)state;
    begin_on(LOCK);
    make_lock_directory();
    sim_refuse(sim, UVZK__RPC_CREATE, UVZK_ENODEEXISTS, 1);
    refuse_with(&mutex, UVZK_EEXHAUSTED);
    assert_int_equal(sim_children(sim, LOCK, NULL, 0), 0);
    grant(&first, &mutex); /* the counter was worn out, the lock is not */
    let_go(&first);
    end();
}

/* A waiter whose znode is deleted gets a new one, and that is worn out. */
static void test_a_second_znode_that_is_worn_out(void **state)
{
    const char *names[2];
    char holder[256], ours[256];
    (void)state;
    begin_near(LIMIT - 1);
    assert_non_null(
        sim_create_by_hand(sim, LOCK "/_c_" UUID "-lock-", UVZK__EPHEMERAL_SEQUENTIAL));
    start(&first, &mutex);
    UNTIL(first.queued == 1);
    assert_int_equal(sim_children(sim, LOCK, names, 2), 2);
    snprintf(holder, sizeof(holder), LOCK "/%s", names[0]);
    snprintf(ours, sizeof(ours), LOCK "/%s", names[1]);
    assert_int_equal(sim_delete_by_hand(sim, ours), 0);
    UNTIL(is_told(&first));
    assert_int_equal(first.status, UVZK_EEXHAUSTED);
    UNTIL(stats_of(&here).contenders == 0);
    assert_int_equal(sim_children(sim, LOCK, NULL, 0), 1);
    assert_int_equal(sim_delete_by_hand(sim, holder), 0);
    end();
}

static const char *const worn_out_names[] = {
    "_c_" UUID "-lock--000000001", "_c_" UUID "-lock--2147483648",
    "_c_" UUID "-lock-2147483647", "_c_" UUID "-lock-2146435072",
    "_c_" DIGITS32 "-lock--2147483647"};

static void put_worn_out(void)
{
    make_lock_directory();
    for (size_t i = 0; i < LENGTH(worn_out_names); i++) {
        put_child(LOCK, worn_out_names[i], UVZK__EPHEMERAL);
    }
}

static void test_worn_out_contenders_block_nobody(void **state)
{
    (void)state;
    begin_on(LOCK);
    put_worn_out();
    grant(&first, &mutex);
    start(&second, &mutex);
    UNTIL(second.queued == 1);
    assert_int_equal(second.ahead, 1);
    assert_int_equal(stats_of(&here).foreign, LENGTH(worn_out_names));
    assert_int_equal(here.warnings, 1);
    let_go(&first);
    UNTIL(is_told(&second));
    let_go(&second);
    assert_int_equal(sim_children(sim, LOCK, NULL, 0), LENGTH(worn_out_names));
    end();
}

/* The two listings agree on who is a contender, and the holder comes first. */
static char first_participant[256];

static void note_first(uvzk_participants_t *request, int status, const char *const *paths,
                       size_t count)
{
    on_participants(request, status, paths, count);
    snprintf(first_participant, sizeof(first_participant), "%s",
             count > 0 ? paths[0] : "");
}

static void test_participants_without_worn_out_ones(void **state)
{
    int count = -1;
    uvzk_participants_t listing = {.data = &count};
    (void)state;
    begin_on(LOCK);
    put_worn_out();
    grant(&first, &mutex);
    uint64_t before = stats_of(&here).foreign;
    assert_int_equal(uvzk_lock_participants(&mutex, &listing, note_first), 0);
    UNTIL(count >= 0);
    uint64_t after = stats_of(&here).foreign;
    char holder[256];
    snprintf(holder, sizeof(holder), "%s", uvzk_hold_path(&first.request));
    let_go(&first);
    end();
    assert_int_equal(before, LENGTH(worn_out_names));
    assert_int_equal(after, before);
    assert_int_equal(count, 1);
    assert_string_equal(first_participant, holder);
}

/* ------------------------------------------------------------------ odd things */

static void test_a_lock_below_an_ephemeral_znode(void **state)
{
    (void)state;
    begin_on("/mortal/lock");
    assert_int_equal(uvzk_mutex_init(&here.client, &other, "/mortal/deep/er/lock"), 0);
    assert_non_null(sim_create_by_hand(sim, "/mortal", UVZK__EPHEMERAL));
    refuse_with(&mutex, UVZK_ENOCHILDREN);
    refuse_with(&other, UVZK_ENOCHILDREN);
    assert_int_equal(sim_children(sim, "/mortal", NULL, 0), 0);
    uint64_t asked = sim_submitted(here.port);
    sim_run_for(sim, 2000);
    assert_true(sim_submitted(here.port) <= asked + 4); /* the session's touches */
    end();
}

static void test_a_lock_on_an_ephemeral_znode(void **state)
{
    (void)state;
    begin_on("/mortal");
    assert_non_null(sim_create_by_hand(sim, "/mortal", UVZK__EPHEMERAL));
    uint64_t asked = sim_submitted(here.port);
    refuse_with(&mutex, UVZK_ENOCHILDREN);
    /* Not searched for: two creates, and the session's first touch. */
    assert_true(sim_submitted(here.port) <= asked + 3);
    assert_int_equal(sim_delete_by_hand(sim, "/mortal"), 0);
    grant(&first, &mutex);
    let_go(&first);
    end();
}

/* A contender's own znode is no place for a lock either. */
static void test_a_lock_on_a_hold(void **state)
{
    (void)state;
    begin_on(LOCK);
    grant(&first, &mutex);
    assert_int_equal(
        uvzk_mutex_init(&here.client, &other, uvzk_hold_path(&first.request)), 0);
    start(&third, &other);
    UNTIL(is_told(&third));
    assert_int_equal(third.status, UVZK_ENOCHILDREN);
    assert_true(uvzk_hold_is_valid(&first.request));
    let_go(&first);
    end();
}

/* The server's answer when the chroot is missing: every create finds no parent. */
static void test_a_missing_chroot(void **state)
{
    int count = -1;
    uvzk_participants_t listing = {.data = &count};
    (void)state;
    begin_on(LOCK);
    sim_refuse(sim, UVZK__RPC_CREATE, UVZK_ENONODE, 3);
    refuse_with(&mutex, UVZK_ENONODE);
    sim_refuse(sim, UVZK__RPC_CREATE, UVZK_ENONODE, 3);
    assert_int_equal(attempt_start_within(&first, &mutex, UVZK_TRY_ONCE), 0);
    UNTIL(is_told(&first));
    assert_int_equal(first.status, UVZK_ENONODE);
    assert_int_equal(uvzk_lock_participants(&mutex, &listing, on_participants), 0);
    UNTIL(count >= 0);
    assert_int_equal(count, 0);
    grant(&first, &mutex); /* somebody has made it */
    let_go(&first);
    end();
}

/* A session that is too short to be proved: said at once, and nobody hangs that
 * has asked not to. */
static void test_a_session_too_short_to_be_proved(void **state)
{
    uvzk_client_options_t options = usual_options();
    (void)state;
    begin_quiet();
    options.tick_ms = 60000;
    assert_int_equal(sit_with(&here, "here", &options), 0);
    assert_int_equal(uvzk_mutex_init(&here.client, &mutex, LOCK), 0);
    assert_int_equal(uvzk_client_start(&here.client), 0);
    UNTIL(uvzk_client_state(&here.client) == UVZK_STATE_CONNECTED);
    UNTIL(here.errors == 1);
    sim_run_for(sim, 60000); /* a session just opened proves itself, for once */
    assert_int_equal(attempt_start_within(&first, &mutex, 5000), 0);
    UNTIL(is_told(&first));
    assert_int_equal(first.status, UVZK_EPROOF);
    assert_int_equal(attempt_start_within(&second, &mutex, UVZK_TRY_ONCE), 0);
    sim_run_for(sim, HOUR_MS);
    int told = second.acquired, status = second.status;
    if (told == 0) {
        assert_int_equal(uvzk_hold_cancel(&second.request), 0);
    }
    UNTIL(is_told(&second));
    end();
    assert_int_equal(told, 1);
    assert_int_equal(status, UVZK_EPROOF);
}

/* --------------------------------------------------------------------- main */

static int with_all(void **state)
{
    (void)state;
    tuning = UVZK__TUNE_ALL;
    return 0;
}

static int with_none(void **state)
{
    (void)state;
    tuning = 0;
    return 0;
}

#define QUICK(test)                       \
    {                                     \
#test, test, with_all, NULL, NULL \
    }
#define PLAIN(test)                                 \
    {                                               \
#test " plain", test, with_none, NULL, NULL \
    }

static const struct CMUnitTest tests[] = {
    QUICK(test_refuses_malformed_paths),
    QUICK(test_counts_the_namespace_into_the_length),
    QUICK(test_serves_the_longest_and_the_deepest_path),
    PLAIN(test_serves_the_longest_and_the_deepest_path),
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
    QUICK(test_serves_among_foreign_children),
    PLAIN(test_serves_among_foreign_children),
    QUICK(test_serves_among_ten_thousand_foreign_children),
    PLAIN(test_serves_among_ten_thousand_foreign_children),
    QUICK(test_foreign_children_may_come_and_go),
    PLAIN(test_foreign_children_may_come_and_go),
    QUICK(test_waits_for_a_contender_of_go),
    PLAIN(test_waits_for_a_contender_of_go),
    QUICK(test_a_lock_inside_a_lock),
    QUICK(test_refuses_worn_out_suffixes),
    PLAIN(test_refuses_worn_out_suffixes),
    QUICK(test_its_own_worn_out_znode_is_not_foreign),
    PLAIN(test_its_own_worn_out_znode_is_not_foreign),
    QUICK(test_serves_up_to_the_last_suffix),
    PLAIN(test_serves_up_to_the_last_suffix),
    QUICK(test_a_crowd_at_the_last_suffix),
    PLAIN(test_a_crowd_at_the_last_suffix),
    QUICK(test_a_worn_out_suffix_after_a_lost_reply),
    PLAIN(test_a_worn_out_suffix_after_a_lost_reply),
    QUICK(test_gives_up_on_a_worn_out_suffix),
    PLAIN(test_gives_up_on_a_worn_out_suffix),
    QUICK(test_a_sequential_create_that_exists),
    PLAIN(test_a_sequential_create_that_exists),
    QUICK(test_a_second_znode_that_is_worn_out),
    PLAIN(test_a_second_znode_that_is_worn_out),
    QUICK(test_worn_out_contenders_block_nobody),
    PLAIN(test_worn_out_contenders_block_nobody),
    QUICK(test_participants_without_worn_out_ones),
    QUICK(test_a_lock_below_an_ephemeral_znode),
    QUICK(test_a_lock_on_an_ephemeral_znode),
    QUICK(test_a_lock_on_a_hold),
    QUICK(test_a_missing_chroot),
    QUICK(test_a_session_too_short_to_be_proved),
    QUICK(test_writes_nothing_to_null),
};

int main(void)
{
    return cmocka_run_group_tests_name("bad_input", tests, NULL, NULL);
}
