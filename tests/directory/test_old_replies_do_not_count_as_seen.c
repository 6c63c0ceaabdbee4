/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever waits knows of its znode by what the server has shown of it. What was shown
 * before the node went for which it waited says nothing: its own may have gone in between,
 * deleted by hand, and others been let in. A busy loop is handed both at once, the reading
 * and the news of that node's end, and looks at what has come of them only then. */
#include "world.h"

#define PATH "/rw"
#define STALL_MS 300U
#define STEP_MS 8U /* shorter than most round trips */

/* Of these A wants to know positions, and lists for that; simultaneous events come in any
 * order, some of the readings just before the news. */
#define SEED_FIRST 3U
#define SEED_STEP 6U
#define SEEDS 40U

static struct world world;
static struct process a, b;
static struct hold before, writing, held, first, second, third, waits, other, last;

/* A has asked for a listing, which is executed while its loop is busy. */
static void stall_with_a_listing(size_t from)
{
    process_await_line(&a, from, "children", 500);
    sim_stall(a.port, STALL_MS);
    world_run_for(&world, 50);
}

/* B writes, two of A wait to read, and a third one comes. */
static void a_reader_behind_a_foreign_writer(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    process_make_rwlock(&a, PATH);
    process_make_rwlock(&b, PATH);
    hold_begin_on_for(&writing, &b, &b.rwlock.write, NULL);
    hold_await(&writing, 1000);
    hold_begin_on_for(&first, &a, &a.rwlock.read, NULL);
    hold_begin_on_for(&second, &a, &a.rwlock.read, NULL);
    world_run_for(&world, 500);
    size_t from = world.line_count;
    hold_begin_on_for(&third, &a, &a.rwlock.read, NULL);
    stall_with_a_listing(from);
    world_delete_child(&world, PATH, 2); /* the second one's */
    hold_release(&writing);
    hold_await(&first, 1000);
    hold_await(&second, 3000); /* on a znode that stands */
    hold_await(&third, 1000);
    hold_give_back(&first);
    hold_give_back(&second);
    hold_give_back(&third);
    world_end(&world);
}

/* A holds, and B waits, with one of A before it. */
static void begin_behind_a_holder_of_ours(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    hold_take(&before, &b);
    hold_begin(&held, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    hold_give_back(&before);
    hold_await(&held, 500); /* with a watch on its znode */
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    hold_begin(&other, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
}

/* What A holds and what waits behind it; B is let in. */
static void delete_what_a_has(void)
{
    world_delete_child(&world, WORLD_PATH, 1);
    world_delete_child(&world, WORLD_PATH, 0);
    a.killed = true; /* it holds on until it has heard of that */
    hold_await(&other, 1000);
    assert_true(world_await(&world, &held.lost, STALL_MS + 100));
}

/* B has got what A has lost by two deletes. */
static void end_behind_a_holder_of_ours(void)
{
    a.killed = false;
    world_run_for(&world, 500);
    assert_int_equal(waits.answered, 0);
    assert_int_equal(last.answered, 0);
    hold_give_back(&other);
    hold_acquire_release(&last, 1000);
    hold_acquire_release(&waits, 1000);
    world_end(&world);
}

/* Another one of A comes. */
static void a_waiter_behind_a_holder_of_ours(uint64_t seed, void *const *state)
{
    begin_behind_a_holder_of_ours(seed, state);
    size_t from = world.line_count;
    hold_begin(&last, &a, UVZK_WAIT_FOREVER);
    stall_with_a_listing(from);
    delete_what_a_has();
    end_behind_a_holder_of_ours();
}

/* No event tells A of what it holds: its proof does, which is executed behind the
 * listing and the deletes. Whether a listing and a proof were under way together when
 * another one of A came so late. */
static bool a_waiter_and_a_proof(uint64_t seed, void *const *state, uint64_t ms)
{
    begin_behind_a_holder_of_ours(seed, state);
    world_run_for(&world, ms);
    size_t from = world.line_count;
    hold_begin(&last, &a, UVZK_WAIT_FOREVER);
    process_await_line(&a, from, "server: children", 500);
    bool together = world_count(&world, from, "a", "multi") >
                    world_count(&world, from, "a", "multi ->") +
                        world_count(&world, from, "a", "server: multi");
    if (together) {
        sim_stall(a.port, STALL_MS);
        sim_lose_events(a.port, 16);
        delete_what_a_has();
        sim_lose_events(a.port, 0);
        end_behind_a_holder_of_ours();
    } else {
        hold_give_back(&held);
        hold_acquire_release(&waits, 1000);
        hold_acquire_release(&other, 1000);
        hold_acquire_release(&last, 1000);
        world_end(&world);
    }
    return together;
}

/* A has asked for a listing, then for the delete of what it held. The listing has been
 * executed, the delete has not, and of what they show nothing has been looked at. */
static void stall_between(size_t from)
{
    sim_stall(a.port, STALL_MS);
    process_await_line(&a, from, "server: children", 100);
    assert_int_equal(world_count(&world, from, "a", "server: delete"), 0);
}

/* A lets go while its next one is on its way (tuned) or has just come (plain). */
static void a_waiter_behind_a_delete_of_ours(uint64_t seed, void *const *state)
{
    world_begin_two(&world, seed, state, &a, &b);
    hold_take(&held, &a);
    size_t from = world.line_count;
    hold_begin(&waits, &a, UVZK_WAIT_FOREVER);
    process_await_line(&a, from, "children", 500);
    hold_release(&held);
    process_await_line(&a, from, "delete", 10);
    stall_between(from);
    world_delete_child(&world, WORLD_PATH, 1);
    hold_begin(&other, &b, UVZK_WAIT_FOREVER);
    hold_await(&other, STALL_MS);
    world_run_for(&world, STALL_MS + 500);
    assert_int_equal(waits.answered, 0);
    hold_give_back(&other);
    hold_acquire_release(&waits, 1000);
    world_end(&world);
}

/* A writes, and two of it wait to read. It lets go, and the first one gives up, which is
 * the one that would have had to be seen anew. */
static void a_reader_behind_one_that_gave_up(uint64_t seed, void *const *state)
{
    world_begin_one(&world, seed, state, &a);
    process_make_rwlock(&a, PATH);
    hold_begin_on_for(&writing, &a, &a.rwlock.write, &writing);
    hold_await(&writing, 1000);
    hold_begin_on_for(&first, &a, &a.rwlock.read, &first);
    hold_begin_on_for(&second, &a, &a.rwlock.read, &second);
    world_run_for(&world, 500);
    size_t from = world.line_count;
    hold_begin_on_for(&third, &a, &a.rwlock.read, &third);
    process_await_line(&a, from, "children", 500);
    hold_release(&writing);
    process_await_line(&a, from, "delete", 10);
    hold_cancel(&first);
    hold_await_status(&first, 1, UV_ECANCELED);
    stall_between(from);
    world_delete_child(&world, PATH, 2); /* the second one's */
    hold_await(&second, 3000);           /* on a znode that stands */
    hold_await(&third, 1000);
    hold_give_back(&second);
    hold_give_back(&third);
    world_end(&world);
}

/* Each of those, of many seeds. */
static void with_all_seeds(void *const *state, void (*story)(uint64_t, void *const *))
{
    for (uint64_t i = 0; i < SEEDS; i++) {
        story(SEED_FIRST + i * SEED_STEP, state);
    }
}

static void of_a_reader_behind_a_foreign_writer(void **state)
{
    with_all_seeds(state, a_reader_behind_a_foreign_writer);
}

static void of_a_waiter_behind_a_holder_of_ours(void **state)
{
    with_all_seeds(state, a_waiter_behind_a_holder_of_ours);
}

static void of_a_waiter_and_a_proof(void **state)
{
    unsigned together = 0;

    for (uint64_t ms = 0; ms < WORLD_TIMEOUT_MS / 6; ms += STEP_MS) {
        for (uint64_t i = 0; i < SEEDS / 5; i++) {
            together += a_waiter_and_a_proof(SEED_FIRST + i * SEED_STEP, state, ms);
        }
    }
    assert_true(together > 0);
}

static void of_a_waiter_behind_a_delete_of_ours(void **state)
{
    with_all_seeds(state, a_waiter_behind_a_delete_of_ours);
}

static void of_a_reader_behind_one_that_gave_up(void **state)
{
    with_all_seeds(state, a_reader_behind_one_that_gave_up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(of_a_reader_behind_a_foreign_writer),
        WORLD_TEST(of_a_waiter_behind_a_holder_of_ours),
        WORLD_TEST(of_a_waiter_and_a_proof),
        WORLD_TEST(of_a_waiter_behind_a_delete_of_ours),
        WORLD_CASE(of_a_reader_behind_one_that_gave_up, plain), /* else it has credit */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
