/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials that the server refuses, while hundreds of transactions wait to be sent:
 * the C client's zoo_amulti does not survive a session that ends while it runs, and the
 * refusal ends it. A run that fails is a process that is killed.
 *
 *   UVZK_RUNS=200 build/tests/live_refused_credentials      the longer run */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 50
#define MULTILOCKS 200
#define RUNS 24

/* How many wait: with few the client is connected for a moment yet when they are sent,
 * with many they take longer. */
static const int crowds[] = {20, 50, 100, MULTILOCKS};

static struct world world;
static struct process a;
static int pool;
static uvzk_mutex_t members[MEMBERS];
static uvzk_multilock_t multilocks[MULTILOCKS];
static struct hold holds[MULTILOCKS];

static void begin_all(void)
{
    uvzk_lock_t *list[MEMBERS];
    char path[32];
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(path, sizeof(path), "/refused/%02d", i);
        memset(&members[i], 0, sizeof(members[i]));
        assert_int_equal(uvzk_mutex_init(&a.client, &members[i], path), 0);
        list[i] = &members[i];
    }
    for (int i = 0; i < pool; i++) {
        memset(&multilocks[i], 0, sizeof(multilocks[i]));
        assert_int_equal(
            uvzk_multilock_init(&a.client, &multilocks[i], list, MEMBERS, 0, NULL), 0);
        hold_begin_on(&holds[i], &a, &multilocks[i], 1, UVZK_WAIT_FOREVER);
    }
}

static void be_refused(void)
{
    world_begin(&world, NULL);
    world.options.auth_scheme = "no-such-scheme";
    world.options.auth = "x";
    world.options.auth_length = 1;
    process_begin(&a, &world, "a", NULL);
    begin_all();
    assert_true(world_await_count(&world, &world.ends, pool, PATIENCE_MS));
    for (int i = 0; i < pool; i++) {
        assert_int_equal(holds[i].status, UVZK_EAUTH);
    }
    world_end(&world);
}

static void test_refusal_under_transactions(void **state)
{
    const char *wanted = getenv("UVZK_RUNS");
    int runs = wanted != NULL ? atoi(wanted) : RUNS;
    (void)state;
    for (int i = 0; i < runs; i++) {
        pool = crowds[(size_t)i % (sizeof(crowds) / sizeof(crowds[0]))];
        be_refused();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusal_under_transactions),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
