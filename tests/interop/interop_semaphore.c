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

#include "mix.h"

static struct live live;
static struct peer curator;
static uvzk_semaphore_t semaphore;
static struct attempt ours, more;

static void begin(void)
{
    live_open(&live);
    memset(&semaphore, 0, sizeof(semaphore));
    other_side_start(&live, &curator, 0);
}

/* Both sides with a semaphore on the path, Curator calls it S. */
static void begin_semaphore(const char *path, unsigned leases)
{
    begin();
    assert_int_equal(uvzk_semaphore_init(&live.client, &semaphore, path, leases, NULL),
                     0);
    assert_non_null(peer_ask(&curator, "made S", "semaphore S %s %u", path, leases));
}

static void end(const char *path)
{
    char directory[256];
    snprintf(directory, sizeof(directory), "%s/locks", path);
    assert_true(live_wait_children(&live, directory, 0));
    snprintf(directory, sizeof(directory), "%s/leases", path);
    assert_true(live_wait_children(&live, directory, 0));
    other_side_end(&curator);
    live_end(&live);
}

static void we_ask_for(struct attempt *attempt, uint32_t leases, int64_t timeout_ms)
{
    uvzk_acquire_options_t options;
    uvzk_acquire_options_init(&options);
    options.leases = leases;
    options.timeout_ms = timeout_ms;
    assert_int_equal(attempt_start(attempt, &semaphore, &options), 0);
}

static void we_take(struct attempt *attempt, uint32_t leases)
{
    we_ask_for(attempt, leases, UVZK_WAIT_FOREVER);
    assert_true(attempt_wait_granted(live.loop, attempt));
    assert_int_equal(uvzk_hold_lease_count(&attempt->request), leases);
}

static void we_try_in_vain(uint32_t leases)
{
    static struct attempt vain;
    const int64_t timeouts[] = {UVZK_TRY_ONCE, 200};
    for (int i = 0; i < 2; i++) {
        we_ask_for(&vain, leases, timeouts[i]);
        assert_true(attempt_wait_told(live.loop, &vain));
        assert_int_equal(vain.status, UV_ETIMEDOUT);
    }
}

/* ------------------------------------------------------------------- room */

struct creations {
    const char *path;
    long count;
};

static bool has_created(void *context)
{
    const struct creations *wanted = context;
    return raw_creation_count(live.raw, wanted->path) >= wanted->count;
}

static void test_curator_waits_for_our_leases(void **state)
{
    (void)state;
    begin_semaphore("/interop/a", 3);
    we_take(&ours, 2);
    assert_non_null(peer_ask(&curator, "timeout t", "try t S 200 2"));
    assert_non_null(peer_ask(&curator, "granted j", "acquire j S"));
    peer_say(&curator, "acquire k S 2");
    assert_true(live_wait_children(&live, "/interop/a/leases", 4));
    assert_null(peer_heard(&curator, "granted k"));
    /* Its first lease stands; when there is room for it, it makes the second one. */
    struct creations second = {"/interop/a/leases",
                               1 + raw_creation_count(live.raw, "/interop/a/leases")};
    assert_int_equal(uvzk_hold_return_leases(&ours.request, 1), 0);
    assert_true(run_until(live.loop, has_created, &second, PATIENCE_MS));
    assert_null(peer_heard(&curator, "granted k"));
    assert_true(attempt_release_and_wait(live.loop, &ours));
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
    assert_true(attempt_release_and_wait(live.loop, &more));
    we_try_in_vain(2);
    assert_true(live_wait_children(&live, "/interop/b/locks", 0));
    we_ask_for(&ours, 3, UVZK_WAIT_FOREVER);
    assert_true(live_wait_children(&live, "/interop/b/locks", 1));
    assert_non_null(peer_ask(&curator, "timeout t", "try t S 200"));
    assert_true(live_wait_children(&live, "/interop/b/leases", 2));
    assert_non_null(peer_ask(&curator, "released j", "release j S"));
    run_for(live.loop, 100);
    assert_int_equal(ours.acquired, 0);
    assert_int_equal(raw_children_count(live.raw, "/interop/b/leases"), 1);
    assert_non_null(peer_ask(&curator, "released j", "release j S"));
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_int_equal(uvzk_hold_lease_count(&ours.request), 3);
    assert_true(attempt_release_and_wait(live.loop, &ours));
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
        mix_send_ours(mix, who, &semaphore, permits[i]);
        snprintf(who, sizeof(who), "j%d", i);
        mix_send_theirs(mix, &curator, who, "S", 1);
    }
}

static void assert_one_line(const char *line)
{
    static struct mix mix;
    const unsigned permits[5] = {1, 1, 1, 1, 1};
    char entries[256];
    mix_begin(&mix, &live, line, "lock-", 1, 1);
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
    mix_begin(&mix, &live, line, "lock-", times, leases > 1 ? 8 : 1);
    send_ten(&mix, permits);
    mix_run(&mix, leases);
    print_message("%zu grants, %zu of them from one side to the other, %zu at once\n",
                  mix.verdict.entries, mix.verdict.crossings, mix.verdict.peak);
    assert_true(mix.verdict.crossings >= (size_t)times); /* else nothing was shown */
    assert_true(leases == 1 || mix.verdict.peak >= 2);
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

static uvzk_shared_count_t count;
static int count_told, count_set, count_closed;

static void on_count(uvzk_shared_count_t *changed, int status, int32_t value)
{
    (void)changed;
    (void)value;
    assert_int_equal(status, 0);
    count_told++;
}

static void on_count_set(uvzk_set_t *request, int status)
{
    (void)request;
    assert_int_equal(status, 0);
    count_set++;
}

static void on_count_closed(uvzk_shared_count_t *closed)
{
    (void)closed;
    count_closed++;
}

/* Both sides with a semaphore whose maximum is the count on `counter`, which Curator
 * calls N. */
static void begin_counted(const char *path, const char *counter, int leases)
{
    begin();
    memset(&count, 0, sizeof(count));
    count_told = count_closed = 0;
    assert_int_equal(
        uvzk_shared_count_init(&live.client, &count, counter, leases, on_count), 0);
    assert_true(run_until_count(live.loop, &count_told, 1));
    assert_int_equal(uvzk_semaphore_init(&live.client, &semaphore, path, 0, &count), 0);
    assert_non_null(peer_ask(&curator, "value N ", "count N %s 99", counter));
    assert_non_null(peer_ask(&curator, "made S", "counted S %s N", path));
}

static void end_counted(const char *path)
{
    assert_int_equal(uvzk_lock_close(&semaphore, NULL), 0);
    assert_int_equal(uvzk_shared_count_close(&count, on_count_closed), 0);
    assert_true(run_until_count(live.loop, &count_closed, 1));
    end(path);
}

static void we_set_count(int32_t value)
{
    static uvzk_set_t request;
    count_set = 0;
    assert_int_equal(uvzk_shared_count_set(&count, &request, value, on_count_set), 0);
    assert_true(run_until_count(live.loop, &count_set, 1));
}

static void test_curator_raises_the_count(void **state)
{
    (void)state;
    begin_counted("/interop/up", "/interop/up-count", 1);
    assert_non_null(peer_ask(&curator, "granted j", "acquire j S"));
    we_ask_for(&ours, 1, UVZK_WAIT_FOREVER);
    assert_true(live_wait_children(&live, "/interop/up/locks", 1));
    run_for(live.loop, 100);
    assert_int_equal(ours.acquired, 0);
    assert_non_null(peer_ask(&curator, "set N", "set N 2"));
    assert_true(attempt_wait_granted(live.loop, &ours));
    /* Lowered, it takes nothing from anybody. */
    assert_non_null(peer_ask(&curator, "set N", "set N 1"));
    assert_true(run_until_count(live.loop, &count_told, 3));
    assert_true(attempt_holds(&ours));
    assert_non_null(peer_ask(&curator, "released j", "release j S"));
    we_try_in_vain(1);
    assert_true(attempt_release_and_wait(live.loop, &ours));
    end_counted("/interop/up");
}

static void test_we_raise_the_count(void **state)
{
    (void)state;
    begin_counted("/interop/we", "/interop/we-count", 1);
    we_take(&ours, 1);
    peer_say(&curator, "acquire j S");
    assert_true(live_wait_children(&live, "/interop/we/leases", 2));
    assert_null(peer_heard(&curator, "granted j"));
    we_set_count(2);
    assert_non_null(peer_expect(&curator, "granted j"));
    we_set_count(1);
    assert_non_null(peer_expect(&curator, "changed N 1"));
    assert_true(attempt_release_and_wait(live.loop, &ours));
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
    assert_int_equal(uvzk_semaphore_mutex_init(&live.client, &semaphore, path), 0);
    assert_non_null(peer_ask(&curator, "made S", "semaphore_mutex S %s", path));
}

static void test_semaphore_mutexes_exclude_each_other(void **state)
{
    (void)state;
    begin_mutex("/interop/mutex");
    we_take(&ours, 1);
    assert_non_null(peer_ask(&curator, "timeout t", "try t S 200"));
    peer_say(&curator, "acquire j S");
    assert_true(live_wait_children(&live, "/interop/mutex/leases", 2));
    assert_null(peer_heard(&curator, "granted j"));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    assert_non_null(peer_expect(&curator, "granted j"));
    we_try_in_vain(1);
    we_ask_for(&ours, 1, UVZK_WAIT_FOREVER);
    assert_true(live_wait_children(&live, "/interop/mutex/locks", 1));
    assert_non_null(peer_ask(&curator, "released k", "release k S")); /* by anyone */
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_true(attempt_release_and_wait(live.loop, &ours));
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

static struct {
    uvzk_participants_t request;
    bool told;
    size_t count, holding;
    char paths[8][128];
} listing;

static void on_listed(uvzk_participants_t *request, int status, const char *const *paths,
                      size_t length)
{
    assert_int_equal(status, 0);
    assert_true(length <= 8);
    listing.count = length;
    listing.holding = uvzk_participants_holding(request);
    for (size_t i = 0; i < length; i++) {
        snprintf(listing.paths[i], sizeof(listing.paths[i]), "%s", paths[i]);
    }
    listing.told = true;
}

/* Curator names leases in no order; we by their numbers, then those that wait. */
static void test_both_see_the_same_leases(void **state)
{
    const char *leases = "/interop/seen/leases";
    (void)state;
    begin_semaphore("/interop/seen", 3);
    we_take(&ours, 2);
    assert_non_null(peer_ask(&curator, "granted j", "acquire j S"));
    struct creations surplus = {leases, 1 + raw_creation_count(live.raw, leases)};
    we_ask_for(&more, 1, UVZK_WAIT_FOREVER);
    assert_true(run_until(live.loop, has_created, &surplus, PATIENCE_MS));
    assert_true(live_wait_children(&live, leases, 3)); /* and counted it */
    memset(&listing, 0, sizeof(listing));
    assert_int_equal(uvzk_lock_participants(&semaphore, &listing.request, on_listed), 0);
    assert_true(run_until_set(live.loop, &listing.told));
    assert_int_equal(listing.holding, 3);
    assert_int_equal(listing.count, 4);
    const char *theirs = peer_ask(&curator, "participants 3 ", "participants S");
    assert_non_null(theirs);
    for (size_t i = 0; i < listing.holding; i++) {
        const char *name = strrchr(listing.paths[i], '/') + 1;
        assert_int_equal(strncmp(listing.paths[i], leases, strlen(leases)), 0);
        assert_name_survives(name, "lease-");
        assert_non_null(strstr(theirs, name));
    }
    assert_name_survives(strrchr(listing.paths[3], '/') + 1, "lock-");
    assert_string_equal(uvzk_hold_lease_path(&ours.request, 0), listing.paths[0]);
    assert_string_equal(uvzk_hold_lease_path(&ours.request, 1), listing.paths[1]);
    assert_true(attempt_release_and_wait(live.loop, &ours));
    assert_true(attempt_wait_granted(live.loop, &more));
    assert_true(attempt_release_and_wait(live.loop, &more));
    assert_non_null(peer_ask(&curator, "released j", "release j S"));
    end("/interop/seen");
}

static void test_leases_have_an_address_as_data(void **state)
{
    const char *leases = "/interop/data/leases";
    struct raw_names names;
    struct in_addr address;
    struct Stat stat;
    char node[256], data[64];
    (void)state;
    begin_semaphore("/interop/data", 2);
    we_take(&ours, 1);
    assert_non_null(peer_ask(&curator, "granted j", "acquire j S"));
    assert_int_equal(raw_children(live.raw, leases, &names), ZOK);
    assert_int_equal(names.count, 2);
    for (size_t i = 0; i < names.count; i++) {
        assert_name_survives(names.names[i], "lease-");
        snprintf(node, sizeof(node), "%s/%s", leases, names.names[i]);
        assert_int_equal(raw_get(live.raw, node, data, sizeof(data)), ZOK);
        assert_int_equal(inet_pton(AF_INET, data, &address), 1);
        assert_int_equal(raw_exists(live.raw, node, &stat), ZOK);
        assert_int_not_equal(stat.ephemeralOwner, 0);
    }
    raw_names_free(&names);
    assert_true(attempt_release_and_wait(live.loop, &ours));
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
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
