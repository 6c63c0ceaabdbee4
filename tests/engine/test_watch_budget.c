/* What a session may have under watch is limited, and each waiter that is first in a
 * directory needs some of it: its predecessor's watch for certain, its guard only where
 * there is room. Ten thousand of them wait in one session. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/client.h"
#include "engine/watch_budget.h"
#include "sim.h"

#define WAITERS 10000
#define LONG_NAME "/l/a-directory-whose-name-is-longer-than-that-of-others-"
#define NODE_PATH_LENGTH (sizeof(LONG_NAME) - 1 + 5 + 56) /* "00000/_c_", a UUID, ... */
#define TIMEOUT_MS 10000U
#define ABOUT_A_MINUTE 60000U

struct waiter {
    uvzk_mutex_t mutex;
    uvzk_hold_t request;
    char foreigner[96]; /* path of who stands before it */
};

static struct {
    struct sim *sim;
    struct uvzk__port *port;
    uvzk_client_t client;
    struct waiter *waiters;
    int granted, refused, released, closed;
} crowd;

static void on_acquired(uvzk_hold_t *hold, int status)
{
    (void)hold;
    crowd.granted += status == 0;
    crowd.refused += status != 0;
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    fail_msg("lost: %s", uvzk_err_name(reason));
}

static void on_released(uvzk_hold_t *hold, int status)
{
    (void)hold;
    assert_int_equal(status, 0);
    crowd.released++;
}

static void on_closed(uvzk_client_t *client)
{
    (void)client;
    crowd.closed++;
}

static void await(const int *counter, int value, uint64_t ms)
{
    for (uint64_t i = 0; i < ms && *counter < value; i++) {
        sim_run_for(crowd.sim, 1);
    }
    assert_int_equal(*counter, value);
}

static void begin(void)
{
    struct sim_options options;
    uvzk_client_options_t client_options;

    sim_options_init(&options);
    options.session_timeout_ms = TIMEOUT_MS;
    options.trace = false;
    crowd.sim = sim_new(1, &options);
    crowd.port = sim_port_new(crowd.sim, "c");
    crowd.granted = crowd.refused = crowd.released = crowd.closed = 0;
    crowd.waiters = calloc(WAITERS, sizeof(struct waiter));
    assert_non_null(crowd.waiters);
    uvzk_client_options_init(&client_options);
    client_options.hosts = "simulated:1";
    client_options.session_timeout_ms = TIMEOUT_MS;
    assert_int_equal(
        uvzk__client_create(&crowd.client, crowd.port, &client_options, UVZK__TUNE_ALL),
        0);
    assert_int_equal(uvzk_client_start(&crowd.client), 0);
    assert_non_null(sim_create_by_hand(crowd.sim, "/l", UVZK__PERSISTENT));
}

static void ask(struct waiter *waiter, const char *path,
                const uvzk_acquire_options_t *options)
{
    assert_int_equal(uvzk_mutex_init(&crowd.client, &waiter->mutex, path), 0);
    assert_int_equal(uvzk_lock_acquire(&waiter->mutex, &waiter->request, options,
                                       on_acquired, on_lost),
                     0);
}

/* Each behind somebody else, in a directory of its own. */
static void queue_up(const uvzk_acquire_options_t *options, int count)
{
    char path[16], prefix[96];

    for (int i = 0; i < count; i++) {
        struct waiter *waiter = &crowd.waiters[i];
        (void)snprintf(path, sizeof(path), "/l/%05d", i);
        assert_non_null(sim_create_by_hand(crowd.sim, path, UVZK__PERSISTENT));
        (void)snprintf(prefix, sizeof(prefix),
                       "%s/_c_01234567-89ab-4cde-8f01-23456789abcd-lock-", path);
        const char *made =
            sim_create_by_hand(crowd.sim, prefix, UVZK__EPHEMERAL_SEQUENTIAL);
        (void)snprintf(waiter->foreigner, sizeof(waiter->foreigner), "%s", made);
        ask(waiter, path, options);
    }
}

static void foreigners_go(int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(sim_delete_by_hand(crowd.sim, crowd.waiters[i].foreigner), 0);
    }
}

/* Each in a directory of its own, with nobody before it. */
static void take(const uvzk_acquire_options_t *options, int count)
{
    char path[96];

    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof(path), LONG_NAME "%05d", i);
        ask(&crowd.waiters[i], path, options);
    }
}

/* Who has been granted. */
static void let_go(void)
{
    for (int i = 0; i < WAITERS; i++) {
        if (crowd.waiters[i].request.impl != NULL) {
            assert_int_equal(uvzk_hold_release(&crowd.waiters[i].request, on_released),
                             0);
        }
    }
    await(&crowd.released, crowd.granted, ABOUT_A_MINUTE);
}

static void end(void)
{
    assert_int_equal(uvzk_client_close(&crowd.client, on_closed), 0);
    await(&crowd.closed, 1, TIMEOUT_MS);
    sim_free(crowd.sim);
    free(crowd.waiters);
}

static void ten_thousand_wait_and_are_granted(void **state)
{
    uvzk_client_stats_t stats;

    (void)state;
    begin();
    queue_up(NULL, WAITERS);
    sim_run_for(crowd.sim, 10000);
    assert_int_equal(crowd.granted + crowd.refused, 0);
    uvzk_client_stats(&crowd.client, &stats);
    assert_int_equal(stats.contenders, WAITERS);
    assert_in_range(stats.watches, WAITERS + 1000, 2 * WAITERS); /* some have guards */
    foreigners_go(WAITERS);
    await(&crowd.granted, WAITERS, ABOUT_A_MINUTE);
    let_go();
    end();
}

static void on_revoked(uvzk_hold_t *hold)
{
    (void)hold;
}

static void begin_revocable(uvzk_acquire_options_t *options)
{
    begin();
    uvzk_acquire_options_init(options);
    options->revoke_cb = on_revoked;
}

/* A plea is heard by the guard alone. */
static void who_is_revocable_is_refused_rather_than_deaf(void **state)
{
    uvzk_acquire_options_t options;
    uvzk_client_stats_t stats;

    (void)state;
    begin_revocable(&options);
    queue_up(&options, WAITERS);
    sim_run_for(crowd.sim, 20000);
    assert_true(crowd.refused > 0);
    uvzk_client_stats(&crowd.client, &stats);
    assert_int_equal(stats.contenders, WAITERS - crowd.refused);
    assert_int_equal(stats.watches, 2 * stats.contenders);
    end();
}

/* All that a reconnection names are the guards of those that hold. */
static void who_is_revocable_has_no_guard_beyond_the_budget(void **state)
{
    uvzk_acquire_options_t options;
    uvzk_client_stats_t stats;

    (void)state;
    begin_revocable(&options);
    take(&options, WAITERS);
    sim_run_for(crowd.sim, 20000);
    assert_int_equal(crowd.granted + crowd.refused, WAITERS);
    uvzk_client_stats(&crowd.client, &stats);
    assert_int_equal(stats.contenders, crowd.granted);
    assert_int_equal(sim_armed(crowd.port), crowd.granted);
    assert_in_range((size_t)crowd.granted * NODE_PATH_LENGTH, UVZK__WATCH_BYTES_MAX / 2,
                    UVZK__WATCH_BYTES_MAX);
    let_go();
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_wait_and_are_granted),
        cmocka_unit_test(who_is_revocable_is_refused_rather_than_deaf),
        cmocka_unit_test(who_is_revocable_has_no_guard_beyond_the_budget),
    };
    return cmocka_run_group_tests_name("watch budget", tests, NULL, NULL);
}
