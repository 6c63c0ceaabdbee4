/* SPDX-License-Identifier: Apache-2.0 */
/* Two persistent nodes of one client at one path, or two members of one group with one id:
 * the second is refused, or waits until the first is closed. Otherwise each would take the
 * znode for its own, because it is in their session, and set the other's data back for ever. */
#include "owner_scene.h"

static int begin_with(void **state, uint32_t sessions, uint32_t mode)
{
    int status = owner_scene_begin(state, sessions, mode);

    owner_scene_open_node(*state);
    return status;
}

static int begin_ephemeral(void **state)
{
    return begin_with(state, 1, UVZK_PERSISTENT_NODE_EPHEMERAL);
}

static int begin_persistent(void **state)
{
    return begin_with(state, 1, UVZK_PERSISTENT_NODE_PERSISTENT);
}

static int begin_sessions(void **state)
{
    return begin_with(state, 3, UVZK_PERSISTENT_NODE_EPHEMERAL);
}

#define CASES(test)                                                               \
    cmocka_unit_test_setup_teardown(test, begin_ephemeral, owner_scene_end),      \
        cmocka_unit_test_setup_teardown(test, begin_persistent, owner_scene_end), \
        cmocka_unit_test_setup_teardown(test, begin_sessions, owner_scene_end)

static void the_second_is_refused(void **state)
{
    struct owner_scene *scene = *state;
    uvzk_group_member_t member = {.data = NULL};

    assert_int_equal(owner_scene_open_second(scene), UV_EEXIST);
    assert_non_null(strstr(uvzk_refusal(UV_EEXIST), "of that path already"));
    assert_null(scene->second.impl);
    assert_int_equal(uvzk_group_member_init(&scene->c.process.client, &member,
                                            OWNER_SCENE_DIRECTORY, "w", "third", 5, NULL,
                                            NULL),
                     UV_EEXIST);
    assert_null(member.impl);
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_true(owner_scene_has(scene, "here"));
    assert_int_equal(scene->c.told, 1);
}

static void it_may_be_opened_when_the_first_is_closed(void **state)
{
    struct owner_scene *scene = *state;

    persistent_process_close(&scene->c);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(owner_scene_open_second(scene), 0);
    owner_scene_await_second(scene);
    assert_true(owner_scene_has(scene, "second"));
    assert_int_equal(uvzk_persistent_node_close(&scene->second, NULL), 0);
    world_run_for(&scene->world, 1000);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

/* In one turn. The close of the first does not delete the znode of the second. */
static void it_waits_for_the_close_of_the_first(void **state)
{
    struct owner_scene *scene = *state;

    persistent_process_close(&scene->c);
    assert_int_equal(owner_scene_open_second(scene), 0);
    assert_int_equal(scene->told, 0);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(scene->c.close_status, 0);
    owner_scene_await_second(scene);
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_true(owner_scene_has(scene, "second"));
    assert_int_equal(owner_scene_open_second(scene), UV_EBUSY);
    assert_int_equal(persistent_process_init(&scene->c, "third"), UV_EEXIST);
    assert_int_equal(uvzk_persistent_node_close(&scene->second, NULL), 0);
    scene->c.node_closed = 0; /* it is closed once more */
    assert_int_equal(persistent_process_init(&scene->c, "third"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 2);
    assert_true(owner_scene_has(scene, "third"));
}

/* The close takes longer, because an ACL forbids the delete at first: what is deleted at last
 * is not the second one's. */
static void it_waits_for_a_slow_close(void **state)
{
    struct owner_scene *scene = *state;

    sim_refuse(scene->world.sim, UVZK__RPC_DELETE, UVZK_ENOAUTH, 2);
    persistent_process_close(&scene->c);
    assert_int_equal(owner_scene_open_second(scene), 0);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(scene->told, 0);
    world_run_for(&scene->world, 1000);
    assert_int_equal(scene->told, 1);
    assert_int_equal(scene->status, 0);
    assert_true(owner_scene_has(scene, "second"));
    assert_int_equal(uvzk_persistent_node_close(&scene->second, NULL), 0);
    world_run_for(&scene->world, 1000);
}

/* Each of them was opened and closed again before the first was gone. */
static void many_wait_for_one_another(void **state)
{
    enum { MANY = 4 };
    struct owner_scene *scene = *state;
    uvzk_persistent_node_t nodes[MANY];

    memset(nodes, 0, sizeof(nodes));
    persistent_process_close(&scene->c);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(uvzk_persistent_node_init(&scene->c.process.client, &nodes[i],
                                                   PERSISTENT_PROCESS_PATH, scene->c.mode,
                                                   "x", 1, NULL),
                         0);
        assert_int_equal(uvzk_persistent_node_close(&nodes[i], NULL), 0);
    }
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    world_run_for(&scene->world, 1000);
    for (int i = 0; i < MANY; i++) {
        assert_null(nodes[i].impl);
    }
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

/* The close of the first is refused for good: the second has the znode. */
static void it_has_what_the_first_could_not_delete(void **state)
{
    struct owner_scene *scene = *state;

    sim_refuse(scene->world.sim, UVZK__RPC_DELETE, UVZK_EREJECTED, 1);
    persistent_process_close(&scene->c);
    assert_int_equal(owner_scene_open_second(scene), 0);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(scene->c.close_status, UVZK_EREJECTED);
    owner_scene_await_second(scene);
    assert_true(owner_scene_has(scene, "second"));
    assert_int_equal(uvzk_persistent_node_close(&scene->second, NULL), 0);
    world_run_for(&scene->world, 1000);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

/* The end of a session ends the closes of ephemeral nodes, in whatever order. */
static void the_session_ends_meanwhile(void **state)
{
    struct owner_scene *scene = *state;
    uvzk_persistent_node_t third = {.data = NULL};

    persistent_process_close(&scene->c);
    assert_int_equal(owner_scene_open_second(scene), 0);
    assert_int_equal(uvzk_persistent_node_close(&scene->second, NULL), 0);
    assert_int_equal(uvzk_persistent_node_init(&scene->c.process.client, &third,
                                               PERSISTENT_PROCESS_PATH, scene->c.mode,
                                               "third", 5, NULL),
                     0);
    for (uint32_t i = 0; i < scene->c.process.sessions; i++) {
        (void)sim_expire_connected(scene->c.process.ports[i]);
    }
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_null(scene->second.impl);
    assert_true(owner_scene_has(scene, "third"));
    assert_int_equal(uvzk_persistent_node_close(&third, NULL), 0);
    world_run_for(&scene->world, 1000);
    assert_null(third.impl);
}

static void the_client_is_closed_meanwhile(void **state)
{
    struct owner_scene *scene = *state;

    scene->c.disturbed = true;
    persistent_process_close(&scene->c);
    assert_int_equal(owner_scene_open_second(scene), 0);
    process_close(&scene->c.process);
    persistent_process_await(&scene->c, &scene->c.process.closed, 1);
    assert_int_equal(scene->c.node_closed, 1);
    assert_null(scene->second.impl);
    (void)sim_delete_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASES(the_second_is_refused),
        CASES(it_may_be_opened_when_the_first_is_closed),
        CASES(it_waits_for_the_close_of_the_first),
        CASES(it_waits_for_a_slow_close),
        CASES(many_wait_for_one_another),
        CASES(it_has_what_the_first_could_not_delete),
        CASES(the_session_ends_meanwhile),
        CASES(the_client_is_closed_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
