/* SPDX-License-Identifier: Apache-2.0 */
/* CURATOR-436: asking who takes part in a lock that nobody has ever used died of the
 * missing path. Here there is nobody, and asking makes nothing. */
#include "world.h"

#include <stdio.h>

struct question {
    uvzk_req_t request;
    int told, status;
    size_t count;
};

static void on_listed(uvzk_req_t *request, int status)
{
    size_t count = request->result->count;
    struct question *query = request->data;

    query->told++;
    query->status = status;
    query->count = count;
}

static void nobody_takes_part(struct world *world, uvzk_lock_t *lock)
{
    struct question question = {0};

    question.request.data = &question;
    assert_int_equal(uvzk_lock_participants(lock, &question.request, on_listed), 0);
    assert_true(world_await(world, &question.told, 2000));
    assert_int_equal(question.status, 0);
    assert_int_equal(question.count, 0);
}

static void of_every_recipe(void **state)
{
    static const char *const parts[] = {"", "/locks", "/leases"};

    for (unsigned there = 0; there <= 3; there++) {
        struct world world;
        struct process a;
        uvzk_semaphore_mutex_t semaphore_mutex = {0};
        char path[64];

        world_begin_one(&world, there, state, &a);
        assert_true(process_await_connected(&a, 1000));
        process_make_rwlock(&a, "/rw");
        process_make_semaphore(&a, "/s", 3);
        assert_int_equal(uvzk_semaphore_mutex_init(&a.client, &semaphore_mutex, "/s"), 0);
        for (unsigned i = 0; i < there; i++) { /* of the semaphore's, so many exist */
            (void)snprintf(path, sizeof(path), "/s%s", parts[i]);
            assert_non_null(sim_create_by_hand(world.sim, path, UVZK__PERSISTENT));
        }
        size_t nodes = sim_node_count(world.sim);
        nobody_takes_part(&world, &a.mutex);
        nobody_takes_part(&world, &a.rwlock.read);
        nobody_takes_part(&world, &a.rwlock.write);
        nobody_takes_part(&world, &a.semaphore);
        nobody_takes_part(&world, &semaphore_mutex);
        assert_int_equal(sim_node_count(world.sim), nodes);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(of_every_recipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
