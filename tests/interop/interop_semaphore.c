/* SPDX-License-Identifier: Apache-2.0 */
/* The library and Apache Curator's InterProcessSemaphoreV2 and
 * InterProcessSemaphoreMutex on the same paths: together they never have more leases than
 * there are, wait in one line, and see each other's leases.
 *
 * Curator takes several leases one by one and waits with those that it has: two of
 * its threads, or one and a client of ours, that want more than is left wait for each other
 * for ever. So where there is a crowd, only ours take several. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "counter.h"
#include "mix.h"
#include "participants_call.h"

static struct world world;
static struct process us;
static struct peer curator;
static uvzk_semaphore_t semaphore;
static struct hold ours, more;

static void begin(void)
{
    both_sides_begin(&world, NULL, &us, &curator);
    memset(&semaphore, 0, sizeof(semaphore));
}

/* Both sides with a semaphore on the path, Curator calls it S. */
static void begin_semaphore(const char *path, unsigned leases)
{
    begin();
    assert_int_equal(uvzk_semaphore_init(&us.client, &semaphore, path, leases, NULL), 0);
    assert_non_null(peer_ask(&curator, "made S", "semaphore S %s %u", path, leases));
}

static void end(const char *path)
{
    static const char *const directories[] = {"locks", "leases"};
    char directory[256];
    for (int i = 0; i < 2; i++) {
        snprintf(directory, sizeof(directory), "%s/%s", path, directories[i]);
        assert_true(world_await_children(&world, directory, 0));
    }
    both_sides_end(&world, &curator);
}

static void we_ask_for(struct hold *hold, uint32_t leases)
{
    hold_begin_on(hold, &us, &semaphore, leases, UVZK_WAIT_FOREVER);
}

static void we_take(struct hold *hold, uint32_t leases)
{
    hold_take_on(hold, &us, &semaphore, leases);
    assert_int_equal(uvzk_hold_node_count(&hold->request), leases);
}

static void we_try_in_vain(uint32_t leases)
{
    static struct hold vain;
    hold_begin_on(&vain, &us, &semaphore, leases, UVZK_TRY_ONCE);
    hold_await_status(&vain, PATIENCE_MS, UV_ETIMEDOUT);
    hold_expect_timeout(&vain, &us, &semaphore, leases, 200);
}

/* ------------------------------------------------------------------- room */

/* Until so many have ever been created below the path. */
static void wait_created(const char *path, long count)
{
    uint64_t since = world_now(&world);
    while (raw_creation_count(world.raw, path) < count) {
        assert_true(world_turn(&world, since));
    }
}

static void test_curator_waits_for_our_leases(void **state)
{
    (void)state;
    begin_semaphore("/interop/a", 3);
    we_take(&ours, 2);
    assert_non_null(peer_ask(&curator, "timeout t", "try t S 200 2"));
    assert_non_null(peer_ask(&curator, "granted j", "acquire j S"));
    peer_say(&curator, "acquire k S 2");
    assert_true(world_await_children(&world, "/interop/a/leases", 4));
    assert_null(peer_heard(&curator, "granted k"));
    /* Its first lease stands; when there is room for it, it makes the second one. */
    long created = raw_creation_count(world.raw, "/interop/a/leases");
    assert_int_equal(uvzk_hold_return_leases(&ours.request, 1), 0);
    wait_created("/interop/a/leases", created + 1);
    assert_null(peer_heard(&curator, "granted k"));
    hold_give_back(&ours);
    assert_non_null(peer_expect(&curator, "granted k"));
    assert_non_null(peer_ask(&curator, "released k", "release k S 2"));
    assert_non_null(peer_ask(&curator, "released j", "release j S"));
    end("/interop/a");
}

/* We hold a lease only when there is room for all that are asked for. */
static void test_we_wait_for_curators_leases(void **state)
{
    (void)state;
    begin_semaphore("/interop/b", 3);
    assert_non_null(peer_ask(&curator, "granted j", "acquire j S 2"));
    we_take(&more, 1);
    we_try_in_vain(1);
    hold_give_back(&more);
    we_try_in_vain(2);
    assert_true(world_await_children(&world, "/interop/b/locks", 0));
    we_ask_for(&ours, 3);
    assert_true(world_await_children(&world, "/interop/b/locks", 1));
    assert_non_null(peer_ask(&curator, "timeout t", "try t S 200"));
    assert_true(world_await_children(&world, "/interop/b/leases", 2));
    assert_non_null(peer_ask(&curator, "released j", "release j S"));
    world_run_for(&world, 100);
    assert_int_equal(ours.answered, 0);
    assert_int_equal(world_children(&world, "/interop/b/leases"), 1);
    assert_non_null(peer_ask(&curator, "released j", "release j S"));
    hold_await(&ours, PATIENCE_MS);
    assert_int_equal(uvzk_hold_node_count(&ours.request), 3);
    hold_give_back(&ours);
    end("/interop/b");
}

/* ------------------------------------------------------------------ order, crowds */

/* c0 j0 c1 j1 ... ; only our first one may take several. */
static void send_ten(struct mix *mix, const unsigned permits[5])
{
    char who[8];
    mix->permits_are_leases = true;
    for (int i = 0; i < 5; i++) {
        snprintf(who, sizeof(who), "c%d", i);
        mix_send_ours(mix, who, &us, &semaphore, permits[i]);
        snprintf(who, sizeof(who), "j%d", i);
        mix_send_theirs(mix, &curator, who, "S", 1);
    }
}

static void assert_one_line(const char *line)
{
    static struct mix mix;
    const unsigned permits[5] = {1, 1, 1, 1, 1};
    char entries[256];
    mix_begin(&mix, &world, line, "lock-", 1, 1);
    send_ten(&mix, permits);
    mix_run(&mix, 1);
    mix_entries(&mix, entries, sizeof(entries));
    assert_string_equal(entries, "c0 j0 c1 j1 c2 j2 c3 j3 c4 j4");
    mix_end(&mix);
}

static void assert_crowd(const char *line, const unsigned permits[5], unsigned leases,
                         int times)
{
    static struct mix mix;
    mix_begin(&mix, &world, line, "lock-", times, leases > 1 ? 8 : 1);
    send_ten(&mix, permits);
    mix_run(&mix, leases);
    print_message("%zu grants, %zu of them from one side to the other, %zu at once\n",
                  mix.result.entries, mix.result.crossings, mix.result.peak);
    assert_true(mix.result.crossings >= (size_t)times); /* else nothing was shown */
    assert_true(leases == 1 || mix.result.peak >= 2);
    mix_end(&mix);
}

static void test_one_line_for_both(void **state)
{
    (void)state;
    begin_semaphore("/interop/line", 1);
    assert_one_line("/interop/line/locks");
    end("/interop/line");
}

static void test_two_thousand_grants_in_a_crowd_of_ten(void **state)
{
    const unsigned permits[5] = {1, 2, 1, 3, 1};
    (void)state;
    begin_semaphore("/interop/crowd", 3);
    assert_crowd("/interop/crowd/locks", permits, 3, 200);
    end("/interop/crowd");
}

/* ---------------------------------------------------------------- shared count */

static struct counter counter;

/* Both sides with a semaphore whose maximum is the count on `count`, which Curator
 * calls N. */
static void begin_counted(const char *path, const char *count, int leases)
{
    begin();
    counter_begin(&counter, &us, count, leases);
    counter_await(&counter, 1);
    assert_int_equal(uvzk_semaphore_init(&us.client, &semaphore, path, 0, &counter.count),
                     0);
    assert_non_null(peer_ask(&curator, "value N ", "count N %s 99", count));
    assert_non_null(peer_ask(&curator, "made S", "counted S %s N", path));
}

static void end_counted(const char *path)
{
    assert_int_equal(uvzk_lock_close(&semaphore, NULL), 0);
    assert_int_equal(counter.troubles, 0);
    counter_close(&counter);
    end(path);
}

static void test_curator_raises_the_count(void **state)
{
    (void)state;
    begin_counted("/interop/up", "/interop/up-count", 1);
    assert_non_null(peer_ask(&curator, "granted j", "acquire j S"));
    we_ask_for(&ours, 1);
    assert_true(world_await_children(&world, "/interop/up/locks", 1));
    world_run_for(&world, 100);
    assert_int_equal(ours.answered, 0);
    assert_non_null(peer_ask(&curator, "set N", "set N 2"));
    hold_await(&ours, PATIENCE_MS);
    /* Lowered, it takes nothing from anybody. */
    assert_non_null(peer_ask(&curator, "set N", "set N 1"));
    counter_await(&counter, 3);
    assert_true(hold_holds(&ours));
    assert_non_null(peer_ask(&curator, "released j", "release j S"));
    we_try_in_vain(1);
    hold_give_back(&ours);
    end_counted("/interop/up");
}

static void test_we_raise_the_count(void **state)
{
    (void)state;
    begin_counted("/interop/we", "/interop/we-count", 1);
    we_take(&ours, 1);
    peer_say(&curator, "acquire j S");
    assert_true(world_await_children(&world, "/interop/we/leases", 2));
    assert_null(peer_heard(&curator, "granted j"));
    assert_int_equal(counter_set(&counter, 2), 0);
    assert_non_null(peer_expect(&curator, "granted j"));
    assert_int_equal(counter_set(&counter, 1), 0);
    assert_non_null(peer_expect(&curator, "changed N 1"));
    hold_give_back(&ours);
    assert_non_null(peer_ask(&curator, "timeout t", "try t S 200"));
    we_try_in_vain(1);
    assert_non_null(peer_ask(&curator, "released j", "release j S"));
    end_counted("/interop/we");
}

static void test_a_thousand_grants_with_a_shared_count(void **state)
{
    const unsigned permits[5] = {1, 2, 1, 3, 1};
    (void)state;
    begin_counted("/interop/counted", "/interop/counted-count", 3);
    assert_crowd("/interop/counted/locks", permits, 3, 100);
    end_counted("/interop/counted");
}

/* ------------------------------------------------------------- semaphore mutex */

static void begin_mutex(const char *path)
{
    begin();
    assert_int_equal(uvzk_semaphore_mutex_init(&us.client, &semaphore, path), 0);
    assert_non_null(peer_ask(&curator, "made S", "semaphore_mutex S %s", path));
}

static void test_semaphore_mutexes_exclude_each_other(void **state)
{
    (void)state;
    begin_mutex("/interop/mutex");
    we_take(&ours, 1);
    assert_non_null(peer_ask(&curator, "timeout t", "try t S 200"));
    peer_say(&curator, "acquire j S");
    assert_true(world_await_children(&world, "/interop/mutex/leases", 2));
    assert_null(peer_heard(&curator, "granted j"));
    hold_give_back(&ours);
    assert_non_null(peer_expect(&curator, "granted j"));
    we_try_in_vain(1);
    we_ask_for(&ours, 1);
    assert_true(world_await_children(&world, "/interop/mutex/locks", 1));
    assert_non_null(peer_ask(&curator, "released k", "release k S")); /* by anyone */
    hold_await(&ours, PATIENCE_MS);
    hold_give_back(&ours);
    end("/interop/mutex");
}

static void test_one_line_for_both_semaphore_mutexes(void **state)
{
    (void)state;
    begin_mutex("/interop/mline");
    assert_one_line("/interop/mline/locks");
    end("/interop/mline");
}

static void test_two_thousand_grants_of_a_semaphore_mutex(void **state)
{
    const unsigned permits[5] = {1, 1, 1, 1, 1};
    (void)state;
    begin_mutex("/interop/mcrowd");
    assert_crowd("/interop/mcrowd/locks", permits, 1, 200);
    end("/interop/mcrowd");
}

/* ----------------------------------------------------- names, data, participants */

/* Curator names leases in no order; we by their numbers, then those that wait. */
static void test_both_see_the_same_leases(void **state)
{
    static struct participants_call listing;
    const char *leases = "/interop/seen/leases";
    (void)state;
    begin_semaphore("/interop/seen", 3);
    we_take(&ours, 2);
    assert_non_null(peer_ask(&curator, "granted j", "acquire j S"));
    long created = raw_creation_count(world.raw, leases);
    we_ask_for(&more, 1);
    wait_created(leases, created + 1);
    assert_true(world_await_children(&world, leases, 3)); /* and counted it */
    participants_call_run(&listing, &world, &semaphore);
    assert_int_equal(listing.holding, 3);
    assert_int_equal(listing.count, 4);
    const char *theirs = peer_ask(&curator, "participants 3 ", "participants S");
    assert_non_null(theirs);
    for (size_t i = 0; i < listing.holding; i++) {
        const char *name = strrchr(listing.paths[i], '/') + 1;
        assert_int_equal(strncmp(listing.paths[i], leases, strlen(leases)), 0);
        assert_name_survives(listing.paths[i], "lease-");
        assert_non_null(strstr(theirs, name));
    }
    assert_name_survives(listing.paths[3], "lock-");
    assert_string_equal(uvzk_hold_node_path(&ours.request, 0), listing.paths[0]);
    assert_string_equal(uvzk_hold_node_path(&ours.request, 1), listing.paths[1]);
    hold_give_back(&ours);
    hold_await(&more, PATIENCE_MS);
    hold_give_back(&more);
    assert_non_null(peer_ask(&curator, "released j", "release j S"));
    end("/interop/seen");
}

static void test_leases_have_an_address_as_data(void **state)
{
    const char *leases = "/interop/data/leases";
    struct in_addr address;
    struct Stat stat;
    char data[64];
    (void)state;
    begin_semaphore("/interop/data", 2);
    we_take(&ours, 1);
    assert_non_null(peer_ask(&curator, "granted j", "acquire j S"));
    assert_int_equal(world_children(&world, leases), 2);
    for (size_t i = 0; i < 2; i++) {
        struct world_path node = world_child(&world, leases, i);
        assert_name_survives(node.text, "lease-");
        assert_int_equal(raw_get(world.raw, node.text, data, sizeof(data)), ZOK);
        assert_int_equal(inet_pton(AF_INET, data, &address), 1);
        assert_int_equal(raw_exists(world.raw, node.text, &stat), ZOK);
        assert_int_not_equal(stat.ephemeralOwner, 0);
    }
    hold_give_back(&ours);
    assert_non_null(peer_ask(&curator, "released j", "release j S"));
    end("/interop/data");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curator_waits_for_our_leases),
        cmocka_unit_test(test_we_wait_for_curators_leases),
        cmocka_unit_test(test_one_line_for_both),
        cmocka_unit_test(test_two_thousand_grants_in_a_crowd_of_ten),
        cmocka_unit_test(test_curator_raises_the_count),
        cmocka_unit_test(test_we_raise_the_count),
        cmocka_unit_test(test_a_thousand_grants_with_a_shared_count),
        cmocka_unit_test(test_semaphore_mutexes_exclude_each_other),
        cmocka_unit_test(test_one_line_for_both_semaphore_mutexes),
        cmocka_unit_test(test_two_thousand_grants_of_a_semaphore_mutex),
        cmocka_unit_test(test_both_see_the_same_leases),
        cmocka_unit_test(test_leases_have_an_address_as_data),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
