/* Bad input, over the simulator: each has a clear error or the right service,
 * and none leaves a znode, a watch, a contender or a wrong grant behind. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attempt.h"
#include "client.h"
#include "order.h"
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
#define UNTIL(condition)                                                                 \
    do {                                                                                 \
        uint64_t until_end = sim_now(sim) + HOUR_MS;                                     \
        while (!(condition)) {                                                           \
            assert_true(sim_now(sim) < until_end);                                       \
            assert_true(sim_step(sim));                                                  \
        }                                                                                \
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

static uvzk_options_t usual_options(void)
{
    uvzk_options_t options;
    uvzk_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = 10000;
    options.log_cb = on_log;
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = 50;
    options.retry.max_retries = 3;
    return options;
}

static int sit_with(struct seat *seat, const char *name, const uvzk_options_t *options)
{
    memset(seat, 0, sizeof(*seat));
    seat->client.data = seat;
    seat->port = sim_port_new(sim, name);
    return uvzk__client_create(&seat->client, seat->port, options, tuning);
}

static void sit(struct seat *seat, const char *name)
{
    uvzk_options_t options = usual_options();
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
          sim_outstanding(seat->port) == 0);
    assert_int_equal(stats_of(seat).foreign, 0);
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
    static const char *const malformed[] = {
        "",       "/",        "bad",       "bad/lock",   " /bad",       "//",
        "//bad",  "/bad/",    "/bad//a",   "/bad/./a",   "/bad/../a",   "/.",
        "/..",    "/bad/.",   "/bad/..",   "/bad\n",     "/bad/\x01",   "/\x1f",
        "/\x7f",  "/\xc2\x80", "/\xc2\x9f", "/\xee\x80\x80", "/\xef\xbf\xb0",
        "/\xed\xa0\x80", "/\xf0\x9f\x94\x92", "/\xff", "/\xc3", "/\xc0\xaf"};
    (void)state;
    begin_on(LOCK);
    for (size_t i = 0; i < LENGTH(malformed); i++) {
        if (uvzk_mutex_init(&here.client, &other, malformed[i]) != UVZK_EPATH) {
            fail_msg("taken: \"%s\"", malformed[i]);
        }
        assert_null(other.impl);
        assert_int_equal(uvzk_mutex_close(&other, NULL), UVZK_ESTATE);
    }
    assert_int_equal(init_with_length(1025), UVZK_EPATH);
    assert_int_equal(init_with_length(1000000), UVZK_EPATH);
    assert_int_equal(sim_submitted(here.port), 0);
    assert_int_equal(init_with_length(1024), 0);
    end();
}

static void test_counts_the_namespace_into_the_length(void **state)
{
    uvzk_options_t options;
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
    assert_true(sim_exists(sim, uvzk_node_path(&first.request)));
    assert_true(sim_exists(sim, uvzk_node_path(&second.request)));
    assert_int_equal(strncmp(uvzk_node_path(&second.request), deep, 1024), 0);
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
static int sit_briefly(const uvzk_options_t *options)
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

#define REFUSED(status, field, value)                                                    \
    do {                                                                                 \
        uvzk_options_t refused_options = usual_options();                                \
        refused_options.field = (value);                                                 \
        assert_int_equal(sit_briefly(&refused_options), (status));                       \
    } while (0)

static void test_refuses_options(void **state)
{
    (void)state;
    assert_int_equal(sit_briefly(NULL), UV_EINVAL);
    REFUSED(UV_EINVAL, size, 0);
    REFUSED(UV_EINVAL, size, sizeof(size_t));
    REFUSED(UV_EINVAL, size, offsetof(uvzk_options_t, session_timeout_ms) - 1);
    REFUSED(UV_EINVAL, hosts, NULL);
    REFUSED(UV_EINVAL, hosts, "");
    REFUSED(UV_EINVAL, session_timeout_ms, (uint32_t)INT32_MAX + 1);
    REFUSED(UV_EINVAL, tick_ms, UINT32_MAX);
    REFUSED(UV_EINVAL, proof, UVZK_PROOF_NONE + 1);
    REFUSED(UV_EINVAL, proof, UINT32_MAX);
    REFUSED(UV_EINVAL, retry.kind, UVZK_RETRY_FOREVER + 1);
    REFUSED(UV_EINVAL, retry.kind, UINT32_MAX);
    REFUSED(UV_EINVAL, auth_length, 1);
    REFUSED(UV_EINVAL, auth, (REFUSED(UV_EINVAL, default_data_length, 1), NULL));
    (void)state;
}
