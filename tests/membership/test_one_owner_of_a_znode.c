/* SPDX-License-Identifier: Apache-2.0 */
/* A persistent node and a driver lock of one client at one path of a znode, or one of them
 * and a barrier: each would take the znode for its own, because it is in their session. The
 * second is refused before it sends anything. */
#include "owner_scene.h"

#define CASES(test)                                                                \
    cmocka_unit_test_setup_teardown(test, owner_scene_begin_one, owner_scene_end), \
        cmocka_unit_test_setup_teardown(test, owner_scene_begin_sessions,          \
                                        owner_scene_end)

static void hold_lock(struct owner_scene *scene)
{
    assert_int_equal(owner_scene_open_lock(scene), 0);
    owner_scene_acquire(scene);
}

/* Also while it is closing, and until the znode is gone. */
static void no_node_where_a_lock_is(void **state)
{
    struct owner_scene *scene = *state;
    uvzk_group_member_t member = {.data = NULL};

    hold_lock(scene);
    assert_int_equal(persistent_process_init(&scene->c, "here"), UV_EEXIST);
    assert_non_null(strstr(uvzk_refusal(UV_EEXIST), "close the lock first"));
    assert_int_equal(uvzk_group_member_init(&scene->c.process.client, &member,
                                            OWNER_SCENE_DIRECTORY, "w", "there", 5, NULL,
                                            NULL),
                     UV_EEXIST);
    assert_null(member.impl);
    world_run_for(&scene->world, 1000);
    assert_true(uvzk_hold_is_valid(&scene->hold));
    owner_scene_begin_close(scene);
    assert_int_equal(persistent_process_init(&scene->c, "here"), UV_EEXIST);
    persistent_process_await(&scene->c, &scene->closed, 1);
    world_run_for(&scene->world, 1000);
}

static void no_lock_where_a_node_is(void **state)
{
    struct owner_scene *scene = *state;

    owner_scene_open_node(scene);
    assert_int_equal(owner_scene_open_lock(scene), UV_EEXIST);
    assert_non_null(strstr(uvzk_refusal(UV_EEXIST), "persistent node"));
    assert_null(scene->lock.impl);
    persistent_process_close(&scene->c);
    assert_int_equal(owner_scene_open_lock(scene), UV_EEXIST);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    hold_lock(scene);
    owner_scene_close_lock(scene);
}

/* They exclude one another. The znode has an owner until both are closed. */
static void two_locks_have_one_name(void **state)
{
    struct owner_scene *scene = *state;
    uvzk_lock_t other = {.data = scene};

    assert_int_equal(owner_scene_init_lock(scene, &other), 0);
    hold_lock(scene);
    owner_scene_close_lock(scene);
    assert_int_equal(persistent_process_init(&scene->c, "here"), UV_EEXIST);
    assert_int_equal(uvzk_lock_close(&other, NULL), 0);
    world_run_for(&scene->world, 1000);
}

/* A lock with sequential names has other znodes. */
static void a_lock_with_other_names_is_no_owner(void **state)
{
    struct owner_scene *scene = *state;
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "w";
    owner_scene_open_node(scene);
    assert_int_equal(uvzk_lock_init_with_driver(&scene->c.process.client, &scene->lock,
                                                OWNER_SCENE_DIRECTORY, &driver),
                     0);
    owner_scene_close_lock(scene);
}

static void not_called(uvzk_req_t *call, int status)
{
    (void)call;
    fail_msg("called with %d", status);
}

static void refuses_barriers(struct owner_scene *scene, const char *sentence)
{
    uvzk_client_t *client = &scene->c.process.client;
    uvzk_barrier_t barrier = {.data = NULL};
    uvzk_req_t call = {.data = NULL};

    assert_int_equal(uvzk_barrier_init(client, &barrier, PERSISTENT_PROCESS_PATH), 0);
    assert_int_equal(uvzk_barrier_set(&barrier, &call, not_called), UV_EEXIST);
    assert_non_null(strstr(uvzk_refusal(UV_EEXIST), sentence));
    assert_int_equal(uvzk_barrier_remove(&barrier, &call, not_called), UV_EEXIST);
    assert_int_equal(uvzk_barrier_close(&barrier, NULL), 0);
    world_run_for(&scene->world, 1000);
    assert_true(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

static void no_barrier_is_set_where_a_lock_is(void **state)
{
    struct owner_scene *scene = *state;

    hold_lock(scene);
    refuses_barriers(scene, "close the lock first");
    assert_int_equal(scene->lost, 0);
    owner_scene_close_lock(scene);
}

static void no_barrier_is_set_where_a_node_is(void **state)
{
    struct owner_scene *scene = *state;

    owner_scene_open_node(scene);
    refuses_barriers(scene, "persistent node");
    assert_int_equal(scene->c.told, 1);
}

/* Its `ready` would be the znode of the member. */
static void no_double_barrier_is_entered_where_ready_is_owned(void **state)
{
    struct owner_scene *scene = *state;
    uvzk_client_t *client = &scene->c.process.client;
    uvzk_group_member_t member = {.data = NULL};
    uvzk_double_barrier_t barrier = {.data = NULL};
    uvzk_req_t call = {.data = NULL};

    assert_int_equal(uvzk_group_member_init(client, &member, OWNER_SCENE_DIRECTORY,
                                            "ready", "m", 1, NULL, NULL),
                     0);
    assert_int_equal(
        uvzk_double_barrier_init(client, &barrier, OWNER_SCENE_DIRECTORY, 1, NULL), 0);
    assert_int_equal(uvzk_double_barrier_enter(&barrier, &call, 1000, not_called),
                     UV_EEXIST);
    assert_int_equal(uvzk_double_barrier_close(&barrier, NULL), 0);
    assert_int_equal(uvzk_group_member_close(&member, NULL), 0);
    world_run_for(&scene->world, 1000);
}

static void number_told(uvzk_req_t *call, int status)
{
    *(int *)call->data = status;
}

/* It would be created where a lock's znode is to be. It may be read. */
static void no_number_is_changed_where_a_lock_is(void **state)
{
    struct owner_scene *scene = *state;
    uvzk_atomic_long_t number = {.data = NULL};
    int status = 0;
    uvzk_req_t call = {.data = &status};

    assert_int_equal(owner_scene_open_lock(scene), 0);
    assert_int_equal(uvzk_atomic_long_init(&scene->c.process.client, &number,
                                           PERSISTENT_PROCESS_PATH, NULL),
                     0);
    assert_int_equal(uvzk_atomic_long_add(&number, &call, 1, number_told), UV_EEXIST);
    assert_int_equal(uvzk_atomic_long_get(&number, &call, number_told), 0);
    world_run_for(&scene->world, 1000);
    assert_int_equal(status, 0);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
    owner_scene_close_lock(scene);
    assert_int_equal(uvzk_atomic_long_close(&number, NULL), 0);
    world_run_for(&scene->world, 1000);
}

static void value_told(uvzk_shared_value_t *value, int status)
{
    *(int *)value->data = status;
}

/* The seed of a value does not become the lock's znode, which would be nobody's. */
static void no_seed_is_written_where_a_lock_is(void **state)
{
    struct owner_scene *scene = *state;
    int told = 0;
    uvzk_shared_value_t value = {.data = &told};

    assert_int_equal(owner_scene_open_lock(scene), 0);
    assert_int_equal(uvzk_shared_value_init(&scene->c.process.client, &value,
                                            PERSISTENT_PROCESS_PATH, "seed", 4,
                                            value_told),
                     0);
    world_run_for(&scene->world, 1000);
    assert_int_equal(told, UVZK_ENONODE);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
    owner_scene_acquire(scene);
    world_run_for(&scene->world, 1000);
    assert_int_equal(told, 0);
    owner_scene_close_lock(scene);
    assert_int_equal(told, UVZK_ENONODE);
    assert_int_equal(uvzk_shared_value_close(&value, NULL), 0);
    world_run_for(&scene->world, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASES(no_node_where_a_lock_is),
        CASES(no_lock_where_a_node_is),
        CASES(two_locks_have_one_name),
        CASES(a_lock_with_other_names_is_no_owner),
        CASES(no_barrier_is_set_where_a_lock_is),
        CASES(no_barrier_is_set_where_a_node_is),
        CASES(no_number_is_changed_where_a_lock_is),
        CASES(no_seed_is_written_where_a_lock_is),
        CASES(no_double_barrier_is_entered_where_ready_is_owned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
