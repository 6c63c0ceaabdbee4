/* SPDX-License-Identifier: Apache-2.0 */
/* Two processes of the library in one line, the other one perhaps of another version
 * (rolling_upgrade): what one holds keeps the other out, and tokens grow from either to the
 * other. */
#include <stdio.h>
#include <string.h>

#include "mix.h"

#define EACH 6
#define TIMES 20
#define ROUND_TRIPS 4

static struct world world;
static struct process us;
static struct peer other;
static struct mix mix;

static void begin(const char *path, const char *line, const char *token, int round_trips)
{
    both_sides_begin(&world, path, &us, &other);
    mix_begin(&mix, &world, line, token, TIMES, round_trips);
}

static void end(void)
{
    mix_end(&mix);
    both_sides_end(&world, &other);
}

/* One of ours, one of theirs, and so on. */
static void send_pair(uvzk_lock_t *ours, const char *theirs, unsigned permits)
{
    int number = mix.count / 2;
    char who[16];

    snprintf(who, sizeof(who), "c%d", number);
    mix_send_ours(&mix, who, &us, ours, permits);
    snprintf(who, sizeof(who), "p%d", number);
    mix_send_theirs(&mix, &other, who, theirs, permits);
}

static void test_mutexes(void **state)
{
    static uvzk_mutex_t lock;
    (void)state;

    begin("/uvzk/m", "/uvzk/m", "lock-", 1);
    memset(&lock, 0, sizeof(lock));
    assert_int_equal(uvzk_mutex_init(&us.client, &lock, "/uvzk/m"), 0);
    assert_non_null(peer_ask(&other, "made L", "mutex L /uvzk/m"));
    for (int i = 0; i < EACH; i++) {
        send_pair(&lock, "L", 1);
    }
    mix_run(&mix, 1);
    assert_true(mix.result.crossings > EACH);
    end();
}

static void test_readers_and_writers(void **state)
{
    static uvzk_rwlock_t lock;
    (void)state;

    begin("/uvzk/rw", "/uvzk/rw", "__WRIT__", ROUND_TRIPS);
    memset(&lock, 0, sizeof(lock));
    assert_int_equal(uvzk_rwlock_init(&us.client, &lock, "/uvzk/rw"), 0);
    assert_non_null(peer_ask(&other, "made L", "rw L /uvzk/rw"));
    for (int i = 0; i < EACH; i++) {
        bool writes = i % 3 == 2;
        send_pair(writes ? &lock.write : &lock.read, writes ? "L.write" : "L.read",
                  writes ? MIX_MAX : 1);
    }
    mix_run(&mix, MIX_MAX);
    assert_true(mix.result.peak > 1 && mix.result.crossings > EACH);
    end();
}

static void test_leases(void **state)
{
    static uvzk_semaphore_t lock;
    (void)state;

    begin("/uvzk/s/leases", "/uvzk/s/locks", "lock-", ROUND_TRIPS);
    memset(&lock, 0, sizeof(lock));
    assert_int_equal(uvzk_semaphore_init(&us.client, &lock, "/uvzk/s", 3, NULL), 0);
    assert_non_null(peer_ask(&other, "made L", "semaphore L /uvzk/s 3"));
    mix.permits_are_leases = true;
    for (int i = 0; i < EACH; i++) {
        send_pair(&lock, "L", i % 2 == 0 ? 1 : 2);
    }
    mix_run(&mix, 3);
    assert_true(mix.result.peak > 1 && mix.result.crossings > EACH);
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mutexes),
        cmocka_unit_test(test_readers_and_writers),
        cmocka_unit_test(test_leases),
    };

    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
