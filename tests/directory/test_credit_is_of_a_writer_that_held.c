/* A writer may be granted while the one before it, of the same client, is still to be
 * deleted: nobody passes that one. But of one that never held nobody knows whether it
 * stands; it and its successor may have been deleted by hand, and others been let in. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#define PATH "/rw"
#define WRITERS 2

/* A reads, and two of it wait to write; B waits to read. */
struct queue {
    struct world world;
    struct process a, b;
    uvzk_rwlock_t of_a, of_b;
    struct hold reading, first, second, other;
};

static void begin(struct queue *queue, void *const *state)
{
    memset(queue, 0, sizeof(*queue));
    world_begin(&queue->world, 1, state);
    process_begin(&queue->a, &queue->world, "a", NULL);
    process_begin(&queue->b, &queue->world, "b", NULL);
    assert_int_equal(uvzk_rwlock_init(&queue->a.client, &queue->of_a, PATH), 0);
    assert_int_equal(uvzk_rwlock_init(&queue->b.client, &queue->of_b, PATH), 0);
    hold_begin_on_for(&queue->reading, &queue->a, &queue->of_a.read, &queue->reading);
    hold_await(&queue->reading, 2000);
    hold_begin_on_for(&queue->first, &queue->a, &queue->of_a.write, &queue->first);
    hold_begin_on_for(&queue->second, &queue->a, &queue->of_a.write, &queue->second);
    world_run_for(&queue->world, 500);
    hold_begin_on_for(&queue->other, &queue->b, &queue->of_b.read, &queue->other);
    world_run_for(&queue->world, 500);
    assert_int_equal(queue->other.answered, 0);
}

static void delete_writers(struct queue *queue)
{
    const char *names[8];
    char victims[WRITERS][128];
    size_t found = 0, count = sim_children(queue->world.sim, PATH, names, 8);

    for (size_t i = 0; i < count; i++) {
        if (strstr(names[i], "__WRIT__") != NULL) {
            assert_true(found < WRITERS);
            (void)snprintf(victims[found++], sizeof(victims[0]), PATH "/%s", names[i]);
        }
    }
    assert_int_equal(found, WRITERS);
    for (size_t i = 0; i < found; i++) {
        assert_int_equal(sim_delete_by_hand(queue->world.sim, victims[i]), 0);
    }
}

static void nobody_writes_beside_a_reader(void **state)
{
    struct queue queue;

    begin(&queue, state);
    delete_writers(&queue);
    hold_await(&queue.other, 1000);
    sim_disconnect(queue.a.port, SIM_RESET, 1000);
    hold_release(&queue.reading);
    hold_cancel(&queue.first);
    for (unsigned i = 0; i < 3000; i++) {
        world_run_for(&queue.world, 1);
        assert_true(hold_holds(&queue.other));
        assert_false(hold_holds(&queue.second));
    }
    hold_give_back(&queue.other);
    hold_await(&queue.second, 2000);
    hold_give_back(&queue.second);
    assert_int_equal(queue.reading.released, 1);
    world_end(&queue.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(nobody_writes_beside_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
