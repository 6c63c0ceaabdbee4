#include "writers.h"

#include <string.h>

static int owner; /* its address */

void writers_begin(struct writers *writers, uint64_t seed, void *const *state)
{
    struct process *a = &writers->a, *b = &writers->b;

    memset(writers, 0, sizeof(*writers));
    world_begin_two(&writers->world, seed, state, a, b);
    assert_int_equal(uvzk_rwlock_init(&a->client, &writers->of_a, WRITERS_PATH), 0);
    assert_int_equal(uvzk_rwlock_init(&b->client, &writers->of_b, WRITERS_PATH), 0);
    hold_begin_on_for(&writers->writing, a, &writers->of_a.write, &owner);
    hold_await(&writers->writing, 1000);
    assert_true(process_await_connected(b, 1000));
    hold_begin_on_for(&writers->next, b, &writers->of_b.write, NULL);
}

void writers_downgrade(struct writers *writers)
{
    hold_begin_on_for(&writers->reading, &writers->a, &writers->of_a.read, &owner);
}
