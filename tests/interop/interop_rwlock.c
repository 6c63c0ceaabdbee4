/* The library and Apache Curator's InterProcessReadWriteLock (5.4) on the same
 * paths: readers of both share, writers of both exclude, all queue in one line, and
 * our downgrade holds against their writers. */
#include <stdio.h>
#include <string.h>

#include "mix.h"

#define ALL MIX_MAX /* a writer's permits */

static struct live live;
static struct peer curator;
static uvzk_rwlock_t lock;
static struct attempt ours, more;

/* Our client with a lock on the path, and Curator with one that it calls L. */
static void begin(const char *path)
{
    live_open(&live);
    memset(&lock, 0, sizeof(lock));
    assert_int_equal(uvzk_rwlock_init(&live.client, &lock, path), 0);
    other_side_start(&live, &curator, 0);
    assert_non_null(peer_ask(&curator, "made L", "rw L %s", path));
}

static void end(const char *path)
{
    assert_true(live_wait_children(&live, path, 0));
    other_side_end(&curator);
    live_end(&live);
}

static void we_acquire(struct attempt *attempt, uvzk_lock_t *half, void *owner)
{
    assert_int_equal(attempt_start_for(attempt, half, owner), 0);
    assert_true(attempt_wait_granted(live.loop, attempt));
}

static void we_try_in_vain(uvzk_lock_t *half)
{
    static struct attempt vain;
    assert_int_equal(attempt_start_within(&vain, half, UVZK_TRY_ONCE), 0);
    assert_true(attempt_wait_told(live.loop, &vain));
    assert_int_equal(vain.status, UV_ETIMEDOUT);
    assert_int_equal(attempt_start_within(&vain, half, 200), 0);
    assert_true(attempt_wait_told(live.loop, &vain));
    assert_int_equal(vain.status, UV_ETIMEDOUT);
}

/* Curator's thread j queues, and has seen that it must wait for the contender in this
 * place, the first one being 0. */
static void curator_queues(const char *path, const char *half, size_t place)
{
    struct raw_names names;
    char node[256];
    assert_int_equal(raw_children(live.raw, path, &names), ZOK);
    assert_true(place < names.count);
    snprintf(node, sizeof(node), "%s/%s", path, names.names[place]);
    raw_names_free(&names);
    peer_say(&curator, "acquire j L.%s", half);
    assert_true(other_side_wait_watches(&live, node));
    assert_null(peer_heard(&curator, "granted j"));
}

static void curator_is_granted(const char *half)
{
    assert_non_null(peer_expect(&curator, "granted j"));
    assert_non_null(peer_ask(&curator, "released j", "release j L.%s", half));
}

/* ------------------------------------------------------------------ exclusion */

static void test_curator_waits_for_our_writer(void **state)
{
    const char *path = "/interop/w";
    (void)state;
    begin(path);
    const char *halves[] = {"read", "write"};
    for (int i = 0; i < 2; i++) {
        we_acquire(&ours, &lock.write, NULL);
        assert_non_null(peer_ask(&curator, "timeout t", "try t L.%s 200", halves[i]));
        curator_queues(path, halves[i], 0);
        assert_true(attempt_release_and_wait(live.loop, &ours));
        curator_is_granted(halves[i]);
    }
    end(path);
}

static void test_curator_writes_after_our_reader(void **state)
{
    const char *path = "/interop/r";
    (void)state;
    begin(path);
    we_acquire(&ours, &lock.read, NULL);
    assert_non_null(peer_ask(&curator, "granted t", "acquire t L.read"));
    assert_non_null(peer_ask(&curator, "released t", "release t L.read"));
    assert_non_null(peer_ask(&curator, "timeout t", "try t L.write 200"));
    curator_queues(path, "write", 0);
    assert_true(attempt_release_and_wait(live.loop, &ours));
    curator_is_granted("write");
    end(path);
}

static void test_we_wait_for_curators_writer(void **state)
{
    const char *path = "/interop/cw";
    uvzk_lock_t *halves[] = {&lock.read, &lock.write};
    (void)state;
    begin(path);
    for (int i = 0; i < 2; i++) {
        assert_non_null(peer_ask(&curator, "granted j", "acquire j L.write"));
        we_try_in_vain(halves[i]);
        assert_int_equal(attempt_start(&ours, halves[i], NULL), 0);
        assert_true(attempt_wait_queued(live.loop, &ours));
        assert_int_equal(ours.acquired, 0);
        assert_non_null(peer_ask(&curator, "released j", "release j L.write"));
        assert_true(attempt_wait_granted(live.loop, &ours));
        assert_true(attempt_release_and_wait(live.loop, &ours));
    }
    end(path);
}

static void test_we_write_after_curators_reader(void **state)
{
    const char *path = "/interop/cr";
    (void)state;
    begin(path);
    assert_non_null(peer_ask(&curator, "granted j", "acquire j L.read"));
    we_acquire(&more, &lock.read, NULL);
    assert_true(attempt_release_and_wait(live.loop, &more));
    we_try_in_vain(&lock.write);
    assert_int_equal(attempt_start(&ours, &lock.write, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &ours));
    assert_int_equal(ours.acquired, 0);
    assert_non_null(peer_ask(&curator, "released j", "release j L.read"));
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    end(path);
}

/* ---------------------------------------------------------------------- order */

/* A reader of either side behind a waiting writer of the other one. */
static void test_a_waiting_writer_stops_later_readers(void **state)
{
    const char *path = "/interop/stop";
    (void)state;
    begin(path);
    we_acquire(&ours, &lock.read, NULL);
    curator_queues(path, "write", 0);
    we_try_in_vain(&lock.read);
    assert_true(attempt_release_and_wait(live.loop, &ours));
    curator_is_granted("write");

    assert_non_null(peer_ask(&curator, "granted k", "acquire k L.read"));
    assert_int_equal(attempt_start(&ours, &lock.write, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &ours));
    assert_non_null(peer_ask(&curator, "timeout t", "try t L.read 200"));
    curator_queues(path, "read", 1);
    assert_non_null(peer_ask(&curator, "released k", "release k L.read"));
    assert_true(attempt_wait_granted(live.loop, &ours));
    assert_null(peer_heard(&curator, "granted j"));
    assert_true(attempt_release_and_wait(live.loop, &ours));
    curator_is_granted("read");
    end(path);
}

/* No two readers stand side by side, so that only one order is right. */
static void test_one_line_for_both(void **state)
{
    static struct mix mix;
    const char *path = "/interop/line";
    char entries[256];
    (void)state;
    begin(path);
    mix_begin(&mix, &live, path, "__WRIT__", 1, 1);
    mix_send_ours(&mix, "c0", &lock.read, 1);
    mix_send_theirs(&mix, &curator, "j1", "L.write", ALL);
    mix_send_ours(&mix, "c2", &lock.write, ALL);
    mix_send_theirs(&mix, &curator, "j3", "L.read", 1);
    mix_send_ours(&mix, "c4", &lock.write, ALL);
    mix_send_ours(&mix, "c5", &lock.read, 1);
    mix_send_theirs(&mix, &curator, "j6", "L.write", ALL);
    mix_send_theirs(&mix, &curator, "j7", "L.write", ALL);
    mix_send_downgrading(&mix, "c8", &lock, ALL);
    mix_send_theirs(&mix, &curator, "j9", "L.write", ALL);
    mix_run(&mix, ALL);
    mix_entries(&mix, entries, sizeof(entries));
    assert_string_equal(entries, "c0 j1 c2 j3 c4 c5 j6 j7 c8 j9");
    mix_end(&mix);
    end(path);
}

/* On each side a writer and four readers, of ours one more a writer that goes on as a
 * reader. */
static void test_two_thousand_grants_in_a_crowd_of_ten(void **state)
{
    static struct mix mix;
    const char *path = "/interop/crowd";
    char who[8];
    (void)state;
    begin(path);
    mix_begin(&mix, &live, path, "__WRIT__", 200, 4);
    mix_send_downgrading(&mix, "c0", &lock, ALL);
    mix_send_theirs(&mix, &curator, "j0", "L.write", ALL);
    mix_send_ours(&mix, "c1", &lock.write, ALL);
    mix_send_theirs(&mix, &curator, "j1", "L.read", 1);
    for (int i = 2; i < 5; i++) {
        snprintf(who, sizeof(who), "c%d", i);
        mix_send_ours(&mix, who, &lock.read, 1);
        snprintf(who, sizeof(who), "j%d", i);
        mix_send_theirs(&mix, &curator, who, "L.read", 1);
    }
    mix_run(&mix, ALL);
    print_message("%zu grants, %zu of them from one side to the other, %zu at once\n",
                  mix.verdict.entries, mix.verdict.crossings, mix.verdict.peak);
    assert_true(mix.verdict.crossings >= 200); /* else nothing was shown */
    assert_true(mix.verdict.peak >= 3);
    mix_end(&mix);
    end(path);
}

/* ------------------------------------------------------------------ downgrade */

static long sequence_of(const char *path)
{
    size_t length = strlen(path);
    long sequence = -1;
    assert_true(length > 10);
    assert_int_equal(sscanf(path + length - 10, "%10ld", &sequence), 1);
    return sequence;
}

/* Curator's writer queues between our write and our read. */
static void test_our_downgrade_keeps_curators_writer_out(void **state)
{
    const char *path = "/interop/down";
    (void)state;
    begin(path);
    we_acquire(&ours, &lock.write, &ours);
    curator_queues(path, "write", 0);
    we_acquire(&more, &lock.read, &ours);
    assert_int_equal(sequence_of(uvzk_hold_path(&more.request)),
                     sequence_of(uvzk_hold_path(&ours.request)));
    assert_int_equal(more.token, ours.token);
    assert_true(attempt_release_and_wait(live.loop, &ours));
    /* Curator is woken by that, looks again, and then watches our reader. */
    assert_true(other_side_wait_watches(&live, uvzk_hold_path(&more.request)));
    assert_null(peer_heard(&curator, "granted j"));
    assert_true(attempt_release_and_wait(live.loop, &more));
    curator_is_granted("write");
    end(path);
}

/* ----------------------------------------------------- names, data, participants */

static void test_both_see_the_same_participants(void **state)
{
    const char *path = "/interop/seen";
    struct raw_names names;
    (void)state;
    begin(path);
    we_acquire(&ours, &lock.read, NULL);
    assert_non_null(peer_ask(&curator, "granted k", "acquire k L.read"));
    assert_int_equal(attempt_start(&more, &lock.write, NULL), 0);
    assert_true(attempt_wait_queued(live.loop, &more));
    curator_queues(path, "write", 2);
    assert_same_participants(&live, &lock.read, &curator, "L.read", 2);
    assert_same_participants(&live, &lock.write, &curator, "L.write", 2);
    assert_int_equal(raw_children(live.raw, path, &names), ZOK);
    assert_int_equal(names.count, 4);
    for (size_t i = 0; i < names.count; i++) {
        assert_name_survives(names.names[i], i < 2 ? "__READ__" : "__WRIT__");
    }
    raw_names_free(&names);
    assert_true(attempt_release_and_wait(live.loop, &ours));
    assert_non_null(peer_ask(&curator, "released k", "release k L.read"));
    assert_true(attempt_wait_granted(live.loop, &more));
    assert_true(attempt_release_and_wait(live.loop, &more));
    curator_is_granted("write");
    end(path);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curator_waits_for_our_writer),
        cmocka_unit_test(test_curator_writes_after_our_reader),
        cmocka_unit_test(test_we_wait_for_curators_writer),
        cmocka_unit_test(test_we_write_after_curators_reader),
        cmocka_unit_test(test_a_waiting_writer_stops_later_readers),
        cmocka_unit_test(test_one_line_for_both),
        cmocka_unit_test(test_two_thousand_grants_in_a_crowd_of_ten),
        cmocka_unit_test(test_our_downgrade_keeps_curators_writer_out),
        cmocka_unit_test(test_both_see_the_same_participants),
    };
    if (!other_side_commands(argc, argv, 1)) {
        return 2;
    }
    return cmocka_run_group_tests(tests, live_server_start, live_server_stop);
}
