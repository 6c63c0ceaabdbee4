/* Whoever waits knows of its znode by what the server has shown of it. What was shown
 * before the node went for which it waited says nothing: its own may have gone in between,
 * deleted by hand, and others been let in. A busy loop is handed both at once, the reading
 * and the news of that node's end, and looks at what has come of them only then. */
#include "acquire.h"

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
    struct scene scene;
    struct process a, b;
    uvzk_rwlock_t of_a, of_b;
    struct acquire writing, first, second, third;
    struct claim before, held, waits, other, last;
};

/* A has asked for a listing, which is executed while its loop is busy. */
static void stall_with_a_listing(struct stage *stage, size_t from)
{
    assert_true(scene_await_line(&stage->scene, from, "a", "children", 500));
    sim_stall(stage->a.port, STALL_MS);
    scene_run_for(&stage->scene, 50);
}

/* B writes, two of A wait to read, and a third one comes. */
static void a_reader_behind_a_foreign_writer(uint64_t seed, void *const *state)
{
    struct stage stage;

    memset(&stage, 0, sizeof(stage));
    scene_begin_two(&stage.scene, seed, state, &stage.a, &stage.b);
    assert_int_equal(uvzk_rwlock_init(&stage.a.client, &stage.of_a, PATH), 0);
    assert_int_equal(uvzk_rwlock_init(&stage.b.client, &stage.of_b, PATH), 0);
    acquire_begin_for(&stage.writing, &stage.b, &stage.of_b.write, NULL);
    acquire_await(&stage.writing, 1000);
    acquire_begin_for(&stage.first, &stage.a, &stage.of_a.read, NULL);
    acquire_begin_for(&stage.second, &stage.a, &stage.of_a.read, NULL);
    scene_run_for(&stage.scene, 500);
    size_t from = stage.scene.line_count;
    acquire_begin_for(&stage.third, &stage.a, &stage.of_a.read, NULL);
    stall_with_a_listing(&stage, from);
    scene_delete_child(&stage.scene, PATH, 2); /* the second one's */
    acquire_release(&stage.writing);
    acquire_await(&stage.first, 1000);
    acquire_await(&stage.second, 3000); /* on a znode that stands */
    acquire_await(&stage.third, 1000);
    acquire_give_back(&stage.first);
    acquire_give_back(&stage.second);
    acquire_give_back(&stage.third);
    scene_end(&stage.scene);
}

/* A holds, B waits, with one of A before it, and another one of A comes. */
static void a_waiter_behind_a_holder_of_ours(uint64_t seed, void *const *state)
{
    struct stage stage;

    memset(&stage, 0, sizeof(stage));
    scene_begin_two(&stage.scene, seed, state, &stage.a, &stage.b);
    claim_take(&stage.before, &stage.b);
    claim_begin(&stage.held, &stage.a, UVZK_WAIT_FOREVER);
    scene_run_for(&stage.scene, 500);
    claim_give_back(&stage.before);
    claim_await(&stage.held, 500); /* with a watch on its znode */
    claim_begin(&stage.waits, &stage.a, UVZK_WAIT_FOREVER);
    scene_run_for(&stage.scene, 500);
    claim_begin(&stage.other, &stage.b, UVZK_WAIT_FOREVER);
    scene_run_for(&stage.scene, 500);
    size_t from = stage.scene.line_count;
    claim_begin(&stage.last, &stage.a, UVZK_WAIT_FOREVER);
    stall_with_a_listing(&stage, from);
    scene_delete_child(&stage.scene, SCENE_PATH, 1);
    scene_delete_child(&stage.scene, SCENE_PATH, 0);
    stage.a.killed = true; /* it holds on until it has heard of that */
    claim_await(&stage.other, 1000);
    assert_true(scene_await(&stage.scene, &stage.held.lost, STALL_MS + 100));
    stage.a.killed = false;
    scene_run_for(&stage.scene, 500);
    assert_int_equal(stage.waits.acquired, 0);
    assert_int_equal(stage.last.acquired, 0);
    claim_give_back(&stage.other);
    claim_await(&stage.last, 1000);
    claim_give_back(&stage.last);
    claim_await(&stage.waits, 1000);
    claim_give_back(&stage.waits);
    scene_end(&stage.scene);
}

/* A has asked for a listing, then for the delete of what it held. The listing has been
 * executed, the delete has not, and of what they show nothing has been looked at. */
static void stall_between(struct stage *stage, size_t from)
{
    sim_stall(stage->a.port, STALL_MS);
    assert_true(scene_await_line(&stage->scene, from, "a", "server: children", 100));
    assert_int_equal(scene_count(&stage->scene, from, "a", "server: delete"), 0);
}

/* A lets go while its next one is on its way (tuned) or has just come (plain). */
static void a_waiter_behind_a_delete_of_ours(uint64_t seed, void *const *state)
{
    struct stage stage;

    memset(&stage, 0, sizeof(stage));
    scene_begin_two(&stage.scene, seed, state, &stage.a, &stage.b);
    claim_take(&stage.held, &stage.a);
    size_t from = stage.scene.line_count;
    claim_begin(&stage.waits, &stage.a, UVZK_WAIT_FOREVER);
    assert_true(scene_await_line(&stage.scene, from, "a", "children", 500));
    claim_release(&stage.held);
    assert_true(scene_await_line(&stage.scene, from, "a", "delete", 10));
    stall_between(&stage, from);
    scene_delete_child(&stage.scene, SCENE_PATH, 1);
    claim_begin(&stage.other, &stage.b, UVZK_WAIT_FOREVER);
    claim_await(&stage.other, STALL_MS);
    scene_run_for(&stage.scene, STALL_MS + 500);
    assert_int_equal(stage.waits.acquired, 0);
    claim_give_back(&stage.other);
    claim_await(&stage.waits, 1000);
    claim_give_back(&stage.waits);
    scene_end(&stage.scene);
}

/* A writes, and two of it wait to read. It lets go, and the first one gives up, which is
 * the one that would have had to be seen anew. */
static void a_reader_behind_one_that_gave_up(uint64_t seed, void *const *state)
{
    struct stage stage;

    memset(&stage, 0, sizeof(stage));
    scene_begin_one(&stage.scene, seed, state, &stage.a);
    assert_int_equal(uvzk_rwlock_init(&stage.a.client, &stage.of_a, PATH), 0);
    acquire_begin_for(&stage.writing, &stage.a, &stage.of_a.write, &stage.writing);
    acquire_await(&stage.writing, 1000);
    acquire_begin_for(&stage.first, &stage.a, &stage.of_a.read, &stage.first);
    acquire_begin_for(&stage.second, &stage.a, &stage.of_a.read, &stage.second);
    scene_run_for(&stage.scene, 500);
    size_t from = stage.scene.line_count;
    acquire_begin_for(&stage.third, &stage.a, &stage.of_a.read, &stage.third);
    assert_true(scene_await_line(&stage.scene, from, "a", "children", 500));
    acquire_release(&stage.writing);
    assert_true(scene_await_line(&stage.scene, from, "a", "delete", 10));
    assert_int_equal(uvzk_hold_cancel(&stage.first.request), 0);
    assert_true(scene_await(&stage.scene, &stage.first.acquired, 1));
    stall_between(&stage, from);
    scene_delete_child(&stage.scene, PATH, 2); /* the second one's */
    acquire_await(&stage.second, 3000);        /* on a znode that stands */
    acquire_await(&stage.third, 1000);
    acquire_give_back(&stage.second);
    acquire_give_back(&stage.third);
    scene_end(&stage.scene);
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
        SCENE_TEST(of_a_reader_behind_a_foreign_writer),
        SCENE_TEST(of_a_waiter_behind_a_holder_of_ours),
        SCENE_TEST(of_a_waiter_behind_a_delete_of_ours),
        SCENE_CASE(of_a_reader_behind_one_that_gave_up, plain), /* else it has credit */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
