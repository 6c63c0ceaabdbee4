/* SPDX-License-Identifier: Apache-2.0 */
/* The library and Apache Curator's InterProcessReadWriteLock (5.4) on the same
 * paths: readers of both share, writers of both exclude, all queue in one line, and
 * our downgrade holds against their writers. */
#include <stdio.h>
#include <string.h>

#include "mix.h"

#define ALL MIX_MAX /* a writer's permits */

static struct world world;
static struct process us;
static struct peer curator;
static uvzk_rwlock_t lock;
static struct hold ours, more;

/* Our process with a lock on the path, and Curator with one that it calls L. */
static void begin(const char *path)
{
    both_sides_begin(&world, path, &us, &curator);
    memset(&lock, 0, sizeof(lock));
    assert_int_equal(uvzk_rwlock_init(&us.client, &lock, path), 0);
    assert_non_null(peer_ask(&curator, "made L", "rw L %s", path));
}

static void end(void)
{
    both_sides_end(&world, &curator);
}

static void we_acquire(struct hold *hold, uvzk_lock_t *half)
{
    hold_take_for(hold, &us, half, NULL);
}

static void we_try_in_vain(uvzk_lock_t *half)
{
    static struct hold vain;
    hold_try(&vain, &us, half, UVZK_TRY_ONCE, UV_ETIMEDOUT);
    hold_expect_timeout(&vain, &us, half, 1, 200);
}

/* Curator's thread j queues, and has seen that it must wait for the contender in this
 * place, the first one being 0. */
static void curator_queues(const char *half, size_t place)
{
    struct world_path node = world_child(&world, world.path, place);
    peer_say(&curator, "acquire j L.%s", half);
    assert_true(other_side_wait_watches(&us, node.text));
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
    (void)state;
    begin("/interop/w");
    const char *halves[] = {"read", "write"};
    for (int i = 0; i < 2; i++) {
        we_acquire(&ours, &lock.write);
        assert_non_null(peer_ask(&curator, "timeout t", "try t L.%s 200", halves[i]));
        curator_queues(halves[i], 0);
        hold_give_back(&ours);
        curator_is_granted(halves[i]);
    }
    end();
}

static void test_curator_writes_after_our_reader(void **state)
{
    (void)state;
    begin("/interop/r");
    we_acquire(&ours, &lock.read);
    assert_non_null(peer_ask(&curator, "granted t", "acquire t L.read"));
    assert_non_null(peer_ask(&curator, "released t", "release t L.read"));
    assert_non_null(peer_ask(&curator, "timeout t", "try t L.write 200"));
    curator_queues("write", 0);
    hold_give_back(&ours);
    curator_is_granted("write");
    end();
}

static void test_we_wait_for_curators_writer(void **state)
{
    uvzk_lock_t *halves[] = {&lock.read, &lock.write};
    (void)state;
    begin("/interop/cw");
    for (int i = 0; i < 2; i++) {
        assert_non_null(peer_ask(&curator, "granted j", "acquire j L.write"));
        we_try_in_vain(halves[i]);
        hold_queue(&ours, &us, halves[i]);
        assert_int_equal(ours.answered, 0);
        assert_non_null(peer_ask(&curator, "released j", "release j L.write"));
        hold_await(&ours, PATIENCE_MS);
        hold_give_back(&ours);
    }
    end();
}

static void test_we_write_after_curators_reader(void **state)
{
    (void)state;
    begin("/interop/cr");
    assert_non_null(peer_ask(&curator, "granted j", "acquire j L.read"));
    we_acquire(&more, &lock.read);
    hold_give_back(&more);
    we_try_in_vain(&lock.write);
    hold_queue(&ours, &us, &lock.write);
    assert_int_equal(ours.answered, 0);
    assert_non_null(peer_ask(&curator, "released j", "release j L.read"));
    hold_await(&ours, PATIENCE_MS);
    hold_give_back(&ours);
    end();
}

/* ---------------------------------------------------------------------- order */

/* A reader of either side behind a waiting writer of the other one. */
static void test_a_waiting_writer_stops_later_readers(void **state)
{
    (void)state;
    begin("/interop/stop");
    we_acquire(&ours, &lock.read);
    curator_queues("write", 0);
    we_try_in_vain(&lock.read);
    hold_give_back(&ours);
    curator_is_granted("write");

    assert_non_null(peer_ask(&curator, "granted k", "acquire k L.read"));
    hold_queue(&ours, &us, &lock.write);
    assert_non_null(peer_ask(&curator, "timeout t", "try t L.read 200"));
    curator_queues("read", 1);
    assert_non_null(peer_ask(&curator, "released k", "release k L.read"));
    hold_await(&ours, PATIENCE_MS);
    assert_null(peer_heard(&curator, "granted j"));
    hold_give_back(&ours);
    curator_is_granted("read");
    end();
}

/* No two readers stand side by side, so that only one order is right. */
static void test_one_line_for_both(void **state)
{
    static struct mix mix;
    char entries[256];
    (void)state;
    begin("/interop/line");
    mix_begin(&mix, &world, world.path, "__WRIT__", 1, 1);
    mix_send_ours(&mix, "c0", &us, &lock.read, 1);
    mix_send_theirs(&mix, &curator, "j1", "L.write", ALL);
    mix_send_ours(&mix, "c2", &us, &lock.write, ALL);
    mix_send_theirs(&mix, &curator, "j3", "L.read", 1);
    mix_send_ours(&mix, "c4", &us, &lock.write, ALL);
    mix_send_ours(&mix, "c5", &us, &lock.read, 1);
    mix_send_theirs(&mix, &curator, "j6", "L.write", ALL);
    mix_send_theirs(&mix, &curator, "j7", "L.write", ALL);
    mix_send_downgrading(&mix, "c8", &us, &lock, ALL);
    mix_send_theirs(&mix, &curator, "j9", "L.write", ALL);
    mix_run(&mix, ALL);
    mix_entries(&mix, entries, sizeof(entries));
    assert_string_equal(entries, "c0 j1 c2 j3 c4 c5 j6 j7 c8 j9");
    mix_end(&mix);
    end();
}

/* On each side a writer and four readers, of ours one more a writer that goes on as a
 * reader. */
static void test_two_thousand_grants_in_a_crowd_of_ten(void **state)
{
    static struct mix mix;
    char who[8];
    (void)state;
    begin("/interop/crowd");
    mix_begin(&mix, &world, world.path, "__WRIT__", 200, 4);
    mix_send_downgrading(&mix, "c0", &us, &lock, ALL);
    mix_send_theirs(&mix, &curator, "j0", "L.write", ALL);
    mix_send_ours(&mix, "c1", &us, &lock.write, ALL);
    mix_send_theirs(&mix, &curator, "j1", "L.read", 1);
    for (int i = 2; i < 5; i++) {
        snprintf(who, sizeof(who), "c%d", i);
        mix_send_ours(&mix, who, &us, &lock.read, 1);
        snprintf(who, sizeof(who), "j%d", i);
        mix_send_theirs(&mix, &curator, who, "L.read", 1);
    }
    mix_run(&mix, ALL);
    print_message("%zu grants, %zu of them from one side to the other, %zu at once\n",
                  mix.result.entries, mix.result.crossings, mix.result.peak);
    assert_true(mix.result.crossings >= 200); /* else nothing was shown */
    assert_true(mix.result.peak >= 3);
    mix_end(&mix);
    end();
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
    (void)state;
    begin("/interop/down");
    hold_take_for(&ours, &us, &lock.write, &ours);
    curator_queues("write", 0);
    hold_take_for(&more, &us, &lock.read, &ours);
    assert_int_equal(sequence_of(more.path), sequence_of(ours.path));
    assert_int_equal(more.token, ours.token);
    hold_give_back(&ours);
    /* Curator is woken by that, looks again, and then watches our reader. */
    assert_true(other_side_wait_watches(&us, more.path));
    assert_null(peer_heard(&curator, "granted j"));
    hold_give_back(&more);
    curator_is_granted("write");
    end();
}

/* ----------------------------------------------------- names, data, participants */

static void test_both_see_the_same_participants(void **state)
{
    (void)state;
    begin("/interop/seen");
    we_acquire(&ours, &lock.read);
    assert_non_null(peer_ask(&curator, "granted k", "acquire k L.read"));
    hold_queue(&more, &us, &lock.write);
    curator_queues("write", 2);
    assert_same_participants(&world, &lock.read, &curator, "L.read", 2);
    assert_same_participants(&world, &lock.write, &curator, "L.write", 2);
    assert_int_equal(world_children(&world, world.path), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_name_survives(world_child(&world, world.path, i).text,
                             i < 2 ? "__READ__" : "__WRIT__");
    }
    hold_give_back(&ours);
    assert_non_null(peer_ask(&curator, "released k", "release k L.read"));
    hold_await(&more, PATIENCE_MS);
    hold_give_back(&more);
    curator_is_granted("write");
    end();
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
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
