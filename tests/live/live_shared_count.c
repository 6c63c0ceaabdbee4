/* Curator's TestSharedCount, test by test, on a real server; strict where Curator's
 * tests are content with less. */
#define THREADED /* for the blocking calls */
#include "live.h"

#include <stdlib.h>
#include <string.h>

#define COUNT "/count"
#define CLIENTS 5
#define VALUES 100
#define RESTARTS 10

/* Somebody who shares the count: a client of its own, on the test's loop. */
struct party {
    uvzk_client_t client;
    uvzk_shared_count_t count;
    int told, troubles, closed;
    int32_t seen[VALUES + 8]; /* what was told, in order */
    int states;               /* told: SUSPENDED */
};

struct outcome {
    uvzk_set_t request;
    int told, status;
    int32_t known; /* by then */
};

static struct live live;
static struct party parties[CLIENTS];

/* -------------------------------------------------------------------- the parties */

static void on_count(uvzk_shared_count_t *count, int status, int32_t value)
{
    struct party *party = count->data;

    if (status != 0) {
        party->troubles++;
        return;
    }
    assert_true(party->told < VALUES + 8);
    party->seen[party->told++] = value;
}

static void on_party_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct party *party = client->data;

    party->states += state == UVZK_STATE_SUSPENDED;
}

static void on_party_closed(uvzk_client_t *client)
{
    struct party *party = client->data;

    party->closed++;
}

static void party_open(struct party *party, const char *hosts, int32_t seed)
{
    uvzk_client_options_t options = live.options;

    memset(party, 0, sizeof(*party));
    party->client.data = party;
    party->count.data = party;
    options.hosts = hosts;
    options.state_cb = on_party_state;
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = 1000;
    options.retry.max_retries = 10;
    assert_int_equal(uvzk_client_init(live.loop, &party->client, &options), 0);
    assert_int_equal(
        uvzk_shared_count_init(&party->client, &party->count, COUNT, seed, on_count), 0);
    assert_int_equal(uvzk_client_start(&party->client), 0);
}

/* The value of a client goes with it. */
static void party_close(struct party *party)
{
    assert_int_equal(uvzk_client_close(&party->client, on_party_closed), 0);
    assert_true(run_until_count(live.loop, &party->closed, 1));
    assert_null(party->count.impl);
}

static int32_t known_to(const struct party *party)
{
    int32_t value = -1;

    assert_int_equal(uvzk_shared_count_get(&party->count, &value, NULL), 0);
    return value;
}

static uvzk_value_version_t version_of(const struct party *party)
{
    uvzk_value_version_t version = {0, 0};

    assert_int_equal(uvzk_shared_count_get(&party->count, NULL, &version), 0);
    return version;
}

/* Removes the znode too: the next test begins anew. */
static void end(void)
{
    assert_int_equal(raw_delete(live.raw, COUNT), ZOK);
    live_end(&live);
}

/* ------------------------------------------------------------------------ the sets */

static void on_set(uvzk_set_t *request, int status)
{
    struct outcome *outcome = request->data;

    outcome->told++;
    outcome->status = status;
}

static void wait_told(struct outcome *outcome)
{
    assert_int_equal(outcome->told, 0);
    assert_true(run_until_count(live.loop, &outcome->told, 1));
}

static void begin_set(struct party *party, struct outcome *outcome, int32_t value)
{
    memset(outcome, 0, sizeof(*outcome));
    outcome->request.data = outcome;
    assert_int_equal(
        uvzk_shared_count_set(&party->count, &outcome->request, value, on_set), 0);
}

static int set(struct party *party, int32_t value)
{
    struct outcome outcome;

    begin_set(party, &outcome, value);
    wait_told(&outcome);
    return outcome.status;
}

static int try_set(struct party *party, uvzk_value_version_t version, int32_t value)
{
    struct outcome outcome = {.told = 0};

    outcome.request.data = &outcome;
    assert_int_equal(uvzk_shared_count_try_set(&party->count, &outcome.request, &version,
                                               value, on_set),
                     0);
    wait_told(&outcome);
    return outcome.status;
}

/* As it stands on the server: four bytes, the high one first. */
static void assert_znode(unsigned char low_byte, int32_t version)
{
    char bytes[16];
    int length = sizeof(bytes);
    struct Stat stat;
    const char expected[4] = {0, 0, 0, (char)low_byte};

    assert_int_equal(zoo_get(live.raw, COUNT, 0, bytes, &length, &stat), ZOK);
    assert_int_equal(length, 4);
    assert_memory_equal(bytes, expected, 4);
    assert_int_equal(stat.version, version);
    assert_int_equal(stat.ephemeralOwner, 0);
}

static void set_by_another(unsigned char low_byte)
{
    const char bytes[4] = {0, 0, 0, (char)low_byte};

    assert_int_equal(zoo_set(live.raw, COUNT, bytes, 4, -1), ZOK);
}

static bool everyone_was_told(void *context)
{
    const int *times = context;

    for (int i = 0; i < CLIENTS; i++) {
        if (parties[i].told < *times) {
            return false;
        }
    }
    return true;
}

/* ----------------------------------------------------------------------- the tests */

/* All see the same values in the same order; here also each of them, once. */
static void test_multi_clients(void **state)
{
    int32_t values[VALUES];
    int times = 1;

    (void)state;
    live_begin(&live);
    for (int i = 0; i < CLIENTS; i++) {
        party_open(&parties[i], live.options.hosts, 10);
    }
    assert_true(run_until(live.loop, everyone_was_told, &times, PATIENCE_MS));
    srand(20261121);
    for (int i = 0; i < VALUES; i++) {
        values[i] = (int32_t)rand() * (i % 2 == 0 ? 1 : -1);
        assert_int_equal(set(&parties[i % CLIENTS], values[i]), 0);
        times++;
        assert_true(run_until(live.loop, everyone_was_told, &times, PATIENCE_MS));
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(parties[i].told, VALUES + 1);
        assert_int_equal(parties[i].troubles, 0);
        assert_int_equal(parties[i].seen[0], 10);
        assert_memory_equal(parties[i].seen + 1, values, sizeof(values));
        party_close(&parties[i]);
    }
    end();
}

static void test_simple(void **state)
{
    struct party *party = &parties[0];

    (void)state;
    live_begin(&live);
    party_open(party, live.options.hosts, 0);
    assert_true(run_until_count(live.loop, &party->told, 1));
    assert_znode(0, 0);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(try_set(party, version_of(party), 5 * i), 0);
        assert_int_equal(known_to(party), 5 * i);
        assert_true(run_until_count(live.loop, &party->told, 1 + i));
        assert_int_equal(party->seen[i], 5 * i);
    }
    run_for(live.loop, 200);
    assert_int_equal(party->told, 4); /* its own sets are not told twice */
    assert_znode(15, 3);
    party_close(party);
    end();
}

static void test_simple_versioned(void **state)
{
    struct party *party = &parties[0];
    uvzk_set_t request = {.data = NULL};

    (void)state;
    live_begin(&live);
    party_open(party, live.options.hosts, 0);
    assert_true(run_until_count(live.loop, &party->told, 1));
    assert_int_equal(version_of(party).version, 0);
    assert_int_equal(set(party, 1), 0);
    uvzk_value_version_t current = version_of(party);
    assert_int_equal(current.version, 1);
    assert_int_equal(set(party, 1), 0); /* the same value is a new version */
    current = version_of(party);
    assert_int_equal(current.version, 2);

    uvzk_value_version_t wrong = current;
    wrong.mzxid--;
    assert_int_equal(try_set(party, wrong, 3), UVZK_EBADVERSION);
    wrong = current;
    wrong.version--;
    assert_int_equal(try_set(party, wrong, 4), UVZK_EBADVERSION);
    wrong.version = -1; /* which would be any, to ZooKeeper */
    assert_int_equal(
        uvzk_shared_count_try_set(&party->count, &request, &wrong, 5, on_set), UV_EINVAL);
    assert_znode(1, 2);
    assert_int_equal(try_set(party, current, 6), 0);
    assert_int_equal(version_of(party).version, 3);

    current = version_of(party);
    set_by_another(9); /* unknown to the count as yet */
    assert_int_equal(try_set(party, current, 7), UVZK_EBADVERSION);
    assert_int_equal(known_to(party), 9); /* but known by now */
    assert_znode(9, 4);
    party_close(party);
    end();
}

static void test_multi_client_versioned(void **state)
{
    struct party *one = &parties[0], *two = &parties[1];

    (void)state;
    live_begin(&live);
    party_open(one, live.options.hosts, 1);
    assert_true(run_until_count(live.loop, &one->told, 1));
    party_open(two, live.options.hosts, 1);
    assert_true(run_until_count(live.loop, &two->told, 1));
    uvzk_value_version_t read_by_one = version_of(one), read_by_two = version_of(two);
    assert_true(read_by_one.mzxid == read_by_two.mzxid);
    assert_int_equal(try_set(one, read_by_one, 10), 0);
    assert_int_equal(try_set(two, read_by_two, 20), UVZK_EBADVERSION);
    assert_int_equal(known_to(two), 10); /* it was read again before that was told */
    assert_int_equal(try_set(two, version_of(two), 20), 0);
    assert_true(run_until_count(live.loop, &one->told, 3));
    assert_int_equal(known_to(one), 20);
    assert_znode(20, 2);
    party_close(one);
    party_close(two);
    end();
}

static void test_multi_client_different_seed(void **state)
{
    struct party *one = &parties[0], *two = &parties[1];

    (void)state;
    live_begin(&live);
    party_open(one, live.options.hosts, 10);
    assert_true(run_until_count(live.loop, &one->told, 1));
    party_open(two, live.options.hosts, 20);
    assert_true(run_until_count(live.loop, &two->told, 1));
    assert_int_equal(known_to(one), 10);
    assert_int_equal(known_to(two), 10);
    assert_znode(10, 0);
    party_close(one);
    party_close(two);
    end();
}

/* SUSPENDED is told while the value is being read: nothing waits for retries. */
static void test_disconnect_event_on_watcher_does_not_retry(void **state)
{
    struct party *party = &parties[0];
    struct outcome outcome;

    (void)state;
    live_begin(&live);
    live_use_proxy(&live);
    party_open(party, live.options.hosts, 10);
    assert_true(run_until_count(live.loop, &party->told, 1));
    proxy_hold_requests(&live.proxy);
    set_by_another(11); /* the watch fires, the read that follows is held */
    run_for(live.loop, 100);
    proxy_refuse(&live.proxy);
    assert_true(run_until_count(live.loop, &party->states, 1));
    begin_set(party, &outcome, 12);
    run_for(live.loop, 500);
    assert_int_equal(outcome.told, 0); /* it waits, and blocks nobody */
    assert_int_equal(party->told, 1);
    assert_int_equal(party->troubles, 0);
    proxy_pass(&live.proxy);
    wait_told(&outcome);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(known_to(party), 12);
    party_close(party);
    end();
}

/* Curator allows one event after the reconnection; here there is none either. */
static void test_disconnect_reconnect_event_does_not_fire_value_watcher(void **state)
{
    struct party *party = &parties[0];

    (void)state;
    live_begin(&live);
    live_use_proxy(&live);
    party_open(party, live.options.hosts, 10);
    assert_true(run_until_count(live.loop, &party->told, 1));
    for (int i = 1; i <= 3; i++) {
        proxy_refuse(&live.proxy);
        assert_true(run_until_count(live.loop, &party->states, i));
        proxy_pass(&live.proxy);
        assert_int_equal(set(party, 10 + i), 0); /* it is connected again */
        assert_true(run_until_count(live.loop, &party->told, 1 + i));
        run_for(live.loop, 100);
        assert_int_equal(party->told, 1 + i);
        assert_int_equal(party->troubles, 0);
    }
    set_by_another(99);
    assert_true(run_until_count(live.loop, &party->told, 5));
    assert_int_equal(known_to(party), 99);
    party_close(party);
    end();
}

/* One is cut off while another sets the value and the server restarts. */
static void test_disconnect_reconnect_with_multiple_clients(void **state)
{
    struct party *one = &parties[0], *two = &parties[1];

    (void)state;
    live_begin(&live);
    live_use_proxy(&live);
    party_open(one, server_hosts(live_server), 0);
    party_open(two, live.proxy.hosts, 0);
    assert_true(run_until_count(live.loop, &one->told, 1));
    assert_true(run_until_count(live.loop, &two->told, 1));
    for (int i = 1; i <= RESTARTS; i++) {
        proxy_refuse(&live.proxy);
        assert_true(run_until_count(live.loop, &two->states, i));
        assert_int_equal(set(one, i), 0);
        assert_true(server_restart(live_server));
        proxy_pass(&live.proxy);
        assert_true(run_until_count(live.loop, &two->told, 1 + i));
        assert_int_equal(known_to(two), i);
        assert_int_equal(two->seen[i], i);
        assert_int_equal(set(two, known_to(two)), 0); /* to know that it is connected */
        assert_true(run_until_count(live.loop, &two->told, 2 + i));
        two->told--; /* that was not the question */
        assert_true(run_until_count(live.loop, &one->told, 1 + 2 * i));
    }
    assert_int_equal(one->troubles + two->troubles, 0);
    party_close(one);
    party_close(two);
    raw_close(live.raw); /* it may not have outlived the restarts */
    live.raw = raw_open(server_hosts(live_server));
    assert_non_null(live.raw);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multi_clients),
        cmocka_unit_test(test_simple),
        cmocka_unit_test(test_simple_versioned),
        cmocka_unit_test(test_multi_client_versioned),
        cmocka_unit_test(test_multi_client_different_seed),
        cmocka_unit_test(test_disconnect_event_on_watcher_does_not_retry),
        cmocka_unit_test(test_disconnect_reconnect_event_does_not_fire_value_watcher),
        cmocka_unit_test(test_disconnect_reconnect_with_multiple_clients),
    };

    return cmocka_run_group_tests_name("shared count", tests, live_server_start,
                                       live_server_stop);
}
