/* The library and kazoo's Lock on the same paths.
 *
 * As it comes, with extra_lock_patterns=("lock-",), kazoo waits for whoever queued
 * before it under Curator's names. Not the reverse: its own znodes, <32 hex
 * digits>__lock__<number>, are no contenders to Curator and to us, so we are granted
 * beside a kazoo that holds. They count as foreign children.
 *
 * Both ways it works as soon as kazoo's znodes are named _c_<32 hex
 * digits>-lock-<number>: two attributes of its Lock set after it was made, see
 * NamedLock in KazooPeer.py. */
#include <stdio.h>
#include <string.h>

#include "mix.h"

static struct live live;
static struct peer kazoo;
static uvzk_mutex_t mutex;
static struct attempt ours;

/* Our client with a mutex on the path, and kazoo with a lock of this kind that it
 * calls L. */
static void begin(const char *path, const char *kind)
{
    live_open(&live);
    memset(&mutex, 0, sizeof(mutex));
    assert_int_equal(uvzk_mutex_init(&live.client, &mutex, path), 0);
    other_side_start(&live, &kazoo, 0);
    assert_non_null(peer_ask(&kazoo, "made L", "%s L %s", kind, path));
}

static void end(const char *path)
{
    assert_true(live_wait_children(&live, path, 0));
    other_side_end(&kazoo);
    live_end(&live);
}

static void assert_kazoo_waits_for_us(const char *path, const char *kind)
{
    begin(path, kind);
    assert_int_equal(attempt_start(&ours, &mutex, NULL), 0);
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_non_null(peer_ask(&kazoo, "timeout t", "try t L 200"));
    peer_say(&kazoo, "acquire k L");
    assert_true(live_wait_children(&live, path, 2));
    assert_null(peer_heard(&kazoo, "granted k"));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    assert_non_null(peer_expect(&kazoo, "granted k"));
    assert_non_null(peer_ask(&kazoo, "released k", "release k L"));
    end(path);
}

static void test_kazoo_waits_for_us(void **state)
{
    (void)state;
    assert_kazoo_waits_for_us("/interop/kazoo", "mutex");
}

static void test_kazoo_under_our_names_waits_for_us(void **state)
{
    (void)state;
    assert_kazoo_waits_for_us("/interop/named", "named_mutex");
}

/* Many of ours before it: it is let in when the last of them is gone. */
static void test_kazoo_waits_for_all_of_ours(void **state)
{
    static struct attempt queue[5];
    const char *path = "/interop/behind";
    (void)state;
    begin(path, "mutex");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(attempt_start(&queue[i], &mutex, NULL), 0);
        assert_true(live_wait_children(&live, path, i + 1));
    }
    peer_say(&kazoo, "acquire k L");
    assert_true(live_wait_children(&live, path, 6));
    for (int i = 0; i < 5; i++) {
        assert_true(attempt_wait_granted(live.loop, &queue[i]));
        assert_null(peer_heard(&kazoo, "granted k"));
        assert_true(attempt_release_and_wait(live.loop, &queue[i]));
    }
    assert_non_null(peer_expect(&kazoo, "granted k"));
    assert_non_null(peer_ask(&kazoo, "released k", "release k L"));
    end(path);
}

static void test_we_wait_for_kazoo_under_our_names(void **state)
{
    const char *path = "/interop/first";
    (void)state;
    begin(path, "named_mutex");
    assert_non_null(peer_ask(&kazoo, "granted k", "acquire k L"));
    assert_int_equal(attempt_start_within(&ours, &mutex, UVZK_TRY_ONCE), 0);
    assert_true(attempt_wait_told(live.loop, &ours));
    assert_int_equal(ours.status, UV_ETIMEDOUT);
    assert_int_equal(attempt_start(&ours, &mutex, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &ours));
    assert_int_equal(ours.ahead, 1);
    assert_int_equal(ours.acquired, 0);
    assert_non_null(peer_ask(&kazoo, "released k", "release k L"));
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    end(path);
}

static void send_ten(struct mix *mix)
{
    char who[8];
    for (int i = 0; i < 5; i++) {
        snprintf(who, sizeof(who), "c%d", i);
        mix_send_ours(mix, who, &mutex, 1);
        snprintf(who, sizeof(who), "k%d", i);
        mix_send_theirs(mix, &kazoo, who, "L", 1);
    }
}

static void test_one_line_for_both_under_our_names(void **state)
{
    static struct mix mix;
    const char *path = "/interop/line";
    char entries[256];
    (void)state;
    begin(path, "named_mutex");
    mix_begin(&mix, &live, path, "lock-", 1, 1);
    send_ten(&mix);
    mix_run(&mix, 1);
    mix_entries(&mix, entries, sizeof(entries));
    assert_string_equal(entries, "c0 k0 c1 k1 c2 k2 c3 k3 c4 k4");
    mix_end(&mix);
    end(path);
}

static void test_two_thousand_grants_in_a_crowd_of_ten(void **state)
{
    static struct mix mix;
    const char *path = "/interop/crowd";
    (void)state;
    begin(path, "named_mutex");
    mix_begin(&mix, &live, path, "lock-", 200, 1);
    send_ten(&mix);
    mix_run(&mix, 1);
    print_message("%zu grants, %zu of them from one side to the other\n",
                  mix.verdict.entries, mix.verdict.crossings);
    assert_true(mix.verdict.crossings >= 200); /* else nothing was shown */
    mix_end(&mix);
    end(path);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kazoo_waits_for_us),
        cmocka_unit_test(test_kazoo_waits_for_all_of_ours),
        cmocka_unit_test(test_kazoo_under_our_names_waits_for_us),
        cmocka_unit_test(test_we_wait_for_kazoo_under_our_names),
        cmocka_unit_test(test_one_line_for_both_under_our_names),
        cmocka_unit_test(test_two_thousand_grants_in_a_crowd_of_ten),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
