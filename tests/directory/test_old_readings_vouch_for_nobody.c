/* Whoever waits knows of its znode by what the server has shown of it. What was shown
 * before the node went for which it waited says nothing: its own may have gone in between,
 * deleted by hand, and others been let in. A busy loop is handed both at once, the reading
 * and the news of that node's end, and looks at what has come of them only then. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define PATH "/rw"
#define STALL_MS 300U

/* Of these A wants to know positions, and lists for that; simultaneous events come in any
 * order, some of the readings just before the news. */
#define SEED_FIRST 3U
#define SEED_STEP 6U
#define SEEDS 40U

struct stage {
    struct world world;
    struct process a, b;
    uvzk_rwlock_t of_a, of_b;
    struct hold writing, first, second, third;
    struct hold before, held, waits, other, last;
};

/* A has asked for a listing, which is executed while its loop is busy. */
static void stall_with_a_listing(struct stage *stage, size_t from)
{
    assert_true(world_await_line(&stage->world, from, "a", "children", 500));
    sim_stall(stage->a.port, STALL_MS);
    world_run_for(&stage->world, 50);
}

/* B writes, two of A wait to read, and a third one comes. */
static void a_reader_behind_a_foreign_writer(uint64_t seed, void *const *state)
{
    struct stage stage;

    memset(&stage, 0, sizeof(stage));
    world_begin_two(&stage.world, seed, state, &stage.a, &stage.b);
    assert_int_equal(uvzk_rwlock_init(&stage.a.client, &stage.of_a, PATH), 0);
    assert_int_equal(uvzk_rwlock_init(&stage.b.client, &stage.of_b, PATH), 0);
    hold_begin_on_for(&stage.writing, &stage.b, &stage.of_b.write, NULL);
    hold_await(&stage.writing, 1000);
    hold_begin_on_for(&stage.first, &stage.a, &stage.of_a.read, NULL);
    hold_begin_on_for(&stage.second, &stage.a, &stage.of_a.read, NULL);
    world_run_for(&stage.world, 500);
    size_t from = stage.world.line_count;
    hold_begin_on_for(&stage.third, &stage.a, &stage.of_a.read, NULL);
    stall_with_a_listing(&stage, from);
    world_delete_child(&stage.world, PATH, 2); /* the second one's */
    hold_release(&stage.writing);
    hold_await(&stage.first, 1000);
    hold_await(&stage.second, 3000); /* on a znode that stands */
    hold_await(&stage.third, 1000);
    hold_give_back(&stage.first);
    hold_give_back(&stage.second);
    hold_give_back(&stage.third);
    world_end(&stage.world);
}

/* A holds, B waits, with one of A before it, and another one of A comes. */
static void a_waiter_behind_a_holder_of_ours(uint64_t seed, void *const *state)
{
    struct stage stage;

    memset(&stage, 0, sizeof(stage));
    world_begin_two(&stage.world, seed, state, &stage.a, &stage.b);
    hold_take(&stage.before, &stage.b);
    hold_begin(&stage.held, &stage.a, UVZK_WAIT_FOREVER);
    world_run_for(&stage.world, 500);
    hold_give_back(&stage.before);
    hold_await(&stage.held, 500); /* with a watch on its znode */
    hold_begin(&stage.waits, &stage.a, UVZK_WAIT_FOREVER);
    world_run_for(&stage.world, 500);
    hold_begin(&stage.other, &stage.b, UVZK_WAIT_FOREVER);
    world_run_for(&stage.world, 500);
    size_t from = stage.world.line_count;
    hold_begin(&stage.last, &stage.a, UVZK_WAIT_FOREVER);
    stall_with_a_listing(&stage, from);
    world_delete_child(&stage.world, WORLD_PATH, 1);
    world_delete_child(&stage.world, WORLD_PATH, 0);
    stage.a.killed = true; /* it holds on until it has heard of that */
    hold_await(&stage.other, 1000);
    assert_true(world_await(&stage.world, &stage.held.lost, STALL_MS + 100));
    stage.a.killed = false;
    world_run_for(&stage.world, 500);
    assert_int_equal(stage.waits.answered, 0);
    assert_int_equal(stage.last.answered, 0);
    hold_give_back(&stage.other);
    hold_await(&stage.last, 1000);
    hold_give_back(&stage.last);
    hold_await(&stage.waits, 1000);
    hold_give_back(&stage.waits);
    world_end(&stage.world);
}

/* A has asked for a listing, then for the delete of what it held. The listing has been
 * executed, the delete has not, and of what they show nothing has been looked at. */
static void stall_between(struct stage *stage, size_t from)
{
    sim_stall(stage->a.port, STALL_MS);
    assert_true(world_await_line(&stage->world, from, "a", "server: children", 100));
    assert_int_equal(world_count(&stage->world, from, "a", "server: delete"), 0);
}

/* A lets go while its next one is on its way (tuned) or has just come (plain). */
static void a_waiter_behind_a_delete_of_ours(uint64_t seed, void *const *state)
{
    struct stage stage;

    memset(&stage, 0, sizeof(stage));
    world_begin_two(&stage.world, seed, state, &stage.a, &stage.b);
    hold_take(&stage.held, &stage.a);
    size_t from = stage.world.line_count;
    hold_begin(&stage.waits, &stage.a, UVZK_WAIT_FOREVER);
    assert_true(world_await_line(&stage.world, from, "a", "children", 500));
    hold_release(&stage.held);
    assert_true(world_await_line(&stage.world, from, "a", "delete", 10));
    stall_between(&stage, from);
    world_delete_child(&stage.world, WORLD_PATH, 1);
    hold_begin(&stage.other, &stage.b, UVZK_WAIT_FOREVER);
    hold_await(&stage.other, STALL_MS);
    world_run_for(&stage.world, STALL_MS + 500);
    assert_int_equal(stage.waits.answered, 0);
    hold_give_back(&stage.other);
    hold_await(&stage.waits, 1000);
    hold_give_back(&stage.waits);
    world_end(&stage.world);
}

/* A writes, and two of it wait to read. It lets go, and the first one gives up, which is
 * the one that would have had to be seen anew. */
static void a_reader_behind_one_that_gave_up(uint64_t seed, void *const *state)
{
    struct stage stage;

    memset(&stage, 0, sizeof(stage));
    world_begin_one(&stage.world, seed, state, &stage.a);
    assert_int_equal(uvzk_rwlock_init(&stage.a.client, &stage.of_a, PATH), 0);
    hold_begin_on_for(&stage.writing, &stage.a, &stage.of_a.write, &stage.writing);
    hold_await(&stage.writing, 1000);
    hold_begin_on_for(&stage.first, &stage.a, &stage.of_a.read, &stage.first);
    hold_begin_on_for(&stage.second, &stage.a, &stage.of_a.read, &stage.second);
    world_run_for(&stage.world, 500);
    size_t from = stage.world.line_count;
    hold_begin_on_for(&stage.third, &stage.a, &stage.of_a.read, &stage.third);
    assert_true(world_await_line(&stage.world, from, "a", "children", 500));
    hold_release(&stage.writing);
    assert_true(world_await_line(&stage.world, from, "a", "delete", 10));
    hold_cancel(&stage.first);
    assert_true(world_await(&stage.world, &stage.first.answered, 1));
    stall_between(&stage, from);
    world_delete_child(&stage.world, PATH, 2); /* the second one's */
    hold_await(&stage.second, 3000);           /* on a znode that stands */
    hold_await(&stage.third, 1000);
    hold_give_back(&stage.second);
    hold_give_back(&stage.third);
    world_end(&stage.world);
}

static void of_a_reader_behind_a_foreign_writer(void **state)
{
    for (uint64_t i = 0; i < SEEDS; i++) {
        a_reader_behind_a_foreign_writer(SEED_FIRST + i * SEED_STEP, state);
    }
}

static void of_a_waiter_behind_a_holder_of_ours(void **state)
{
    for (uint64_t i = 0; i < SEEDS; i++) {
        a_waiter_behind_a_holder_of_ours(SEED_FIRST + i * SEED_STEP, state);
    }
}

static void of_a_waiter_behind_a_delete_of_ours(void **state)
{
    for (uint64_t i = 0; i < SEEDS; i++) {
        a_waiter_behind_a_delete_of_ours(SEED_FIRST + i * SEED_STEP, state);
    }
}

static void of_a_reader_behind_one_that_gave_up(void **state)
{
    for (uint64_t i = 0; i < SEEDS; i++) {
        a_reader_behind_one_that_gave_up(SEED_FIRST + i * SEED_STEP, state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(of_a_reader_behind_a_foreign_writer),
        WORLD_TEST(of_a_waiter_behind_a_holder_of_ours),
        WORLD_TEST(of_a_waiter_behind_a_delete_of_ours),
        WORLD_CASE(of_a_reader_behind_one_that_gave_up, plain), /* else it has credit */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
