/* Two persistent nodes of one client at one path, or two members of one group with one id:
 * the second is refused, or waits until the first is closed. Otherwise each would take the
 * znode for its own, because it is in their session, and set the other's data back for ever. */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "group_process.h"
#include "persistent_process.h"

#define GROUP_PATH "/app/workers" /* the znode of a member "w" is the persistent node's */

/* A world without randomness, with one process, "c", and a second persistent node. */
struct scene {
    struct world world;
    struct persistent_process c;
    uvzk_persistent_node_t second;
    int told, status; /* by the second one */
};

static int begin_with(void **state, uint32_t sessions, uint32_t mode)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    uvzk_client_options_t options;

    assert_non_null(scene);
    world_begin_exact(&scene->world, UVZK__TUNE_ALL, 1);
    process_options(&options);
    options.sessions = sessions;
    scene->c.mode = mode;
    process_begin(&scene->c.process, &scene->world, "c", &options);
    assert_int_equal(persistent_process_init(&scene->c, "here"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 1);
    *state = scene;
    return 0;
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

static int end(void **state)
{
    struct scene *scene = *state;

    persistent_process_end(&scene->c);
    world_end(&scene->world);
    free(scene);
    return 0;
}

#define CASES(test)                                                   \
    cmocka_unit_test_setup_teardown(test, begin_ephemeral, end),      \
        cmocka_unit_test_setup_teardown(test, begin_persistent, end), \
        cmocka_unit_test_setup_teardown(test, begin_sessions, end)

static void second_told(uvzk_persistent_node_t *node, int status)
{
    struct scene *scene = node->data;

    scene->told++;
    scene->status = status;
}

static int open_second(struct scene *scene)
{
    scene->second.data = scene;
    return uvzk_persistent_node_init(&scene->c.process.client, &scene->second,
                                     PERSISTENT_PROCESS_PATH, scene->c.mode, "second", 6,
                                     second_told);
}

static bool has_data(const struct scene *scene, const char *wanted)
{
    size_t length;
    const void *data = sim_data(scene->world.sim, PERSISTENT_PROCESS_PATH, &length);

    return data != NULL && length == strlen(wanted) && memcmp(data, wanted, length) == 0;
}

static void the_second_is_refused(void **state)
{
    struct scene *scene = *state;
    uvzk_group_member_t member = {.data = NULL};

    assert_int_equal(open_second(scene), UV_EEXIST);
    assert_non_null(strstr(uvzk_refusal(UV_EEXIST), "of that path already"));
    assert_null(scene->second.impl);
    assert_int_equal(uvzk_group_member_init(&scene->c.process.client, &member, GROUP_PATH,
                                            "w", "third", 5, NULL, NULL),
                     UV_EEXIST);
    assert_null(member.impl);
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_true(has_data(scene, "here"));
    assert_int_equal(scene->c.told, 1);
}

static void it_may_be_opened_when_the_first_is_closed(void **state)
{
    struct scene *scene = *state;

    persistent_process_close(&scene->c);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(open_second(scene), 0);
    persistent_process_await(&scene->c, &scene->told, 1);
    while (scene->status != 0) {
        persistent_process_await(&scene->c, &scene->told, scene->told + 1);
    }
    assert_true(has_data(scene, "second"));
    assert_int_equal(uvzk_persistent_node_close(&scene->second, NULL), 0);
    world_run_for(&scene->world, 1000);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

/* In one turn. The close of the first does not delete the znode of the second. */
static void it_waits_for_the_close_of_the_first(void **state)
{
    struct scene *scene = *state;

    persistent_process_close(&scene->c);
    assert_int_equal(open_second(scene), 0);
    assert_int_equal(scene->told, 0);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(scene->c.close_status, 0);
    while (scene->told == 0 || scene->status != 0) {
        persistent_process_await(&scene->c, &scene->told, scene->told + 1);
    }
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_true(has_data(scene, "second"));
    assert_int_equal(open_second(scene), UV_EBUSY);
    assert_int_equal(persistent_process_init(&scene->c, "third"), UV_EEXIST);
    assert_int_equal(uvzk_persistent_node_close(&scene->second, NULL), 0);
    scene->c.node_closed = 0; /* it is closed once more */
    assert_int_equal(persistent_process_init(&scene->c, "third"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 2);
    assert_true(has_data(scene, "third"));
}

/* The close takes longer, because an ACL forbids the delete at first: what is deleted at last
 * is not the second one's. */
static void it_waits_for_a_slow_close(void **state)
{
    struct scene *scene = *state;

    sim_refuse(scene->world.sim, UVZK__RPC_DELETE, UVZK_ENOAUTH, 2);
    persistent_process_close(&scene->c);
    assert_int_equal(open_second(scene), 0);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(scene->told, 0);
    world_run_for(&scene->world, 1000);
    assert_int_equal(scene->told, 1);
    assert_int_equal(scene->status, 0);
    assert_true(has_data(scene, "second"));
    assert_int_equal(uvzk_persistent_node_close(&scene->second, NULL), 0);
    world_run_for(&scene->world, 1000);
}

/* Each of them was opened and closed again before the first was gone. */
static void many_wait_for_one_another(void **state)
{
    enum { MANY = 4 };
    struct scene *scene = *state;
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
    struct scene *scene = *state;

    sim_refuse(scene->world.sim, UVZK__RPC_DELETE, UVZK_EREJECTED, 1);
    persistent_process_close(&scene->c);
    assert_int_equal(open_second(scene), 0);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(scene->c.close_status, UVZK_EREJECTED);
    while (scene->told == 0 || scene->status != 0) {
        persistent_process_await(&scene->c, &scene->told, scene->told + 1);
    }
    assert_true(has_data(scene, "second"));
    assert_int_equal(uvzk_persistent_node_close(&scene->second, NULL), 0);
    world_run_for(&scene->world, 1000);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

/* The end of a session ends the closes of ephemeral nodes, in whatever order. */
static void the_session_ends_meanwhile(void **state)
{
    struct scene *scene = *state;
    uvzk_persistent_node_t third = {.data = NULL};

    persistent_process_close(&scene->c);
    assert_int_equal(open_second(scene), 0);
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
    assert_true(has_data(scene, "third"));
    assert_int_equal(uvzk_persistent_node_close(&third, NULL), 0);
    world_run_for(&scene->world, 1000);
    assert_null(third.impl);
}

static void the_client_is_closed_meanwhile(void **state)
{
    struct scene *scene = *state;

    scene->c.disturbed = true;
    persistent_process_close(&scene->c);
    assert_int_equal(open_second(scene), 0);
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
