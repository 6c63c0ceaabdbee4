/* The library and Apache Curator's InterProcessMutex on the same paths: they
 * exclude each other, queue in one line, see each other and write alike. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "mix.h"

static struct live live;
static struct peer curator;
static uvzk_mutex_t mutex;
static struct attempt ours;

/* Our client with a mutex on the path, and Curator with one that it calls L. */
static void begin(const char *path)
{
    live_open(&live);
    memset(&mutex, 0, sizeof(mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, path), 0);
    other_side_start(&live, &curator, 0);
    assert_non_null(peer_ask(&curator, "made L", "mutex L %s", path));
}

static void end(const char *path)
{
    assert_true(live_wait_children(&live, path, 0));
    other_side_end(&curator);
    live_end(&live);
}

/* ------------------------------------------------------------------ exclusion */

static void test_curator_waits_for_us(void **state)
{
    const char *path = "/interop/first";
    (void)state;
    begin(path);
    assert_int_equal(attempt_start(&ours, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_non_null(peer_ask(&curator, "timeout t", "try t L 200"));
    peer_say(&curator, "acquire j L");
    assert_true(live_wait_children(&live, path, 2));
    assert_null(peer_heard(&curator, "granted j"));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    assert_non_null(peer_expect(&curator, "granted j"));
    assert_non_null(peer_ask(&curator, "released j", "release j L"));
    end(path);
}

static void test_we_wait_for_curator(void **state)
{
    const char *path = "/interop/second";
    (void)state;
    begin(path);
    assert_non_null(peer_ask(&curator, "granted j", "acquire j L"));
    assert_int_equal(attempt_start_within(&ours, &mutex, UVZK_TRY_ONCE), 0);
    assert_true(attempt_wait_told(live.loop, &ours));
    assert_int_equal(ours.status, UV_ETIMEDOUT);
    assert_int_equal(attempt_start(&ours, &mutex, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &ours));
    assert_int_equal(ours.ahead, 1);
    assert_int_equal(ours.acquired, 0);
    assert_non_null(peer_ask(&curator, "released j", "release j L"));
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    end(path);
}

/* ---------------------------------------------------------------------- order */

/* Five of each in turn: c0 j0 c1 j1 ... */
static void send_ten(struct mix *mix)
{
    char who[8];
    for (int i = 0; i < 5; i++) {
        snprintf(who, sizeof(who), "c%d", i);
        mix_send_ours(mix, who, &mutex, 1);
        snprintf(who, sizeof(who), "j%d", i);
        mix_send_theirs(mix, &curator, who, "L", 1);
    }
}

static void test_one_line_for_both(void **state)
{
    static struct mix mix;
    const char *path = "/fifo";
    char entries[256];
    (void)state;
    begin(path);
    mix_begin(&mix, &live, path, "lock-", 1, 1);
    send_ten(&mix);
    mix_run(&mix, 1);
    mix_entries(&mix, entries, sizeof(entries));
    assert_string_equal(entries, "c0 j0 c1 j1 c2 j2 c3 j3 c4 j4");
    mix_end(&mix);
    end(path);
}

static void test_two_thousand_grants_in_a_crowd_of_ten(void **state)
{
    static struct mix mix;
    const char *path = "/interop/crowd";
    (void)state;
    begin(path);
    mix_begin(&mix, &live, path, "lock-", 200, 1);
    send_ten(&mix);
    mix_run(&mix, 1);
    print_message("%zu grants, %zu of them from one side to the other\n",
                  mix.verdict.entries, mix.verdict.crossings);
    assert_true(mix.verdict.crossings >= 200); /* else nothing was shown */
    mix_end(&mix);
    end(path);
}

/* ------------------------------------------------------------- names and data */

static void test_both_see_the_same_participants(void **state)
{
    const char *path = "/interop/seen";
    (void)state;
    begin(path);
    assert_int_equal(attempt_start(&ours, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &ours));
    peer_say(&curator, "acquire j L");
    assert_true(live_wait_children(&live, path, 2));
    assert_same_participants(&live, &mutex, &curator, "L", 2);
    assert_true(attempt_release_and_wait(live.loop, &ours));
    assert_non_null(peer_expect(&curator, "granted j"));
    assert_non_null(peer_ask(&curator, "released j", "release j L"));
    end(path);
}

static void test_names_and_data_are_alike(void **state)
{
    const char *path = "/interop/names";
    struct raw_names names;
    char node[256], data[2][64];
    struct in_addr address;
    struct Stat stats[2];
    (void)state;
    begin(path);
    assert_non_null(peer_ask(&curator, "granted j", "acquire j L"));
    assert_int_equal(attempt_start(&ours, &mutex, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &ours));
    assert_int_equal(raw_children(live.raw, path, &names), ZOK);
    assert_int_equal(names.count, 2);
    for (int i = 0; i < 2; i++) {
        assert_name_survives(names.names[i], "lock-");
        snprintf(node, sizeof(node), "%s/%s", path, names.names[i]);
        assert_int_equal(raw_get(live.raw, node, data[i], sizeof(data[i])), ZOK);
        assert_int_equal(raw_exists(live.raw, node, &stats[i]), ZOK);
        print_message("%s: %s\n", i == 0 ? "Curator" : "uvzk", data[i]);
        assert_int_equal(inet_pton(AF_INET, data[i], &address), 1);
        assert_int_equal(stats[i].dataLength, strlen(data[i]));
        assert_int_not_equal(stats[i].ephemeralOwner, 0);
    }
    raw_names_free(&names);
    peer_say(&curator, "release j L");
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    end(path);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curator_waits_for_us),
        cmocka_unit_test(test_we_wait_for_curator),
        cmocka_unit_test(test_one_line_for_both),
        cmocka_unit_test(test_two_thousand_grants_in_a_crowd_of_ten),
        cmocka_unit_test(test_both_see_the_same_participants),
        cmocka_unit_test(test_names_and_data_are_alike),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
