/* SPDX-License-Identifier: Apache-2.0 */
/* An ephemeral znode has no children. What needs a znode below one that this client owns is
 * refused before it sends anything, and so is an owner whose znode would be above what is
 * open already. */
#include "owner_things.h"

#define CASES(test)                                                                \
    cmocka_unit_test_setup_teardown(test, owner_scene_begin_one, owner_scene_end), \
        cmocka_unit_test_setup_teardown(test, owner_scene_begin_sessions,          \
                                        owner_scene_end)

#define PATH PERSISTENT_PROCESS_PATH
#define BESIDE PATH "side"

static void refuses(struct owner_scene *scene, const struct thing *thing,
                    const char *path)
{
    struct things things = {.client = &scene->c.process.client};
    uint64_t before = things_requests(scene);

    assert_int_equal(thing->open(&things, path), UVZK_ENOCHILDREN);
    assert_non_null(strstr(uvzk_refusal(UVZK_ENOCHILDREN), "at or below"));
    assert_int_equal(things_requests(scene), before);
    world_run_for(&scene->world, 1000); /* a barrier or an atomic long is closed */
}

static void refuses_all(struct owner_scene *scene)
{
    for (size_t i = 0; i < things_with_children_count; i++) {
        refuses(scene, &things_with_children[i], PATH);
        refuses(scene, &things_with_children[i], PATH "/below/it");
    }
    for (size_t i = 0; i < things_with_a_znode_count; i++) {
        refuses(scene, &things_with_a_znode[i], PATH "/below/it");
    }
}

/* A mutex may be there again, and above, and beside. */
static void accepts(struct owner_scene *scene, const char *path)
{
    struct things things = {.client = &scene->c.process.client};

    assert_int_equal(things_mutex.open(&things, path), 0);
    assert_int_equal(uvzk_lock_close(&things.lock, NULL), 0);
    world_run_for(&scene->world, 1000);
}

static void nothing_below_a_lock(void **state)
{
    struct owner_scene *scene = *state;

    assert_int_equal(owner_scene_open_lock(scene), 0);
    refuses_all(scene);
    accepts(scene, OWNER_SCENE_DIRECTORY);
    accepts(scene, BESIDE);
    owner_scene_close_lock(scene);
    accepts(scene, PATH);
}

static void nothing_below_a_node(void **state)
{
    struct owner_scene *scene = *state;

    owner_scene_open_node(scene);
    refuses_all(scene);
    accepts(scene, OWNER_SCENE_DIRECTORY);
    accepts(scene, BESIDE "/deep");
    persistent_process_close(&scene->c);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    accepts(scene, PATH);
}

static void nothing_below_a_member(void **state)
{
    struct owner_scene *scene = *state;
    uvzk_group_member_t member = {.data = NULL};

    assert_int_equal(uvzk_group_member_init(&scene->c.process.client, &member,
                                            OWNER_SCENE_DIRECTORY, "w", "", 0, NULL,
                                            NULL),
                     0);
    refuses_all(scene);
    assert_int_equal(uvzk_group_member_close(&member, NULL), 0);
    world_run_for(&scene->world, 1000);
    accepts(scene, PATH);
}

/* A persistent znode may have children. */
static void anything_below_a_persistent_node(void **state)
{
    struct owner_scene *scene = *state;

    scene->c.mode = UVZK_PERSISTENT_NODE_PERSISTENT;
    owner_scene_open_node(scene);
    accepts(scene, PATH);
    accepts(scene, PATH "/below/it");
}

/* ------------------------------------------------------------------- the other order */

static void refuses_owners(struct owner_scene *scene)
{
    uvzk_group_member_t member = {.data = NULL};
    uint64_t before = things_requests(scene);

    assert_int_equal(owner_scene_open_lock(scene), UV_EEXIST);
    assert_non_null(strstr(uvzk_refusal(UV_EEXIST), "below that path"));
    assert_int_equal(persistent_process_init(&scene->c, "here"), UV_EEXIST);
    assert_int_equal(uvzk_group_member_init(&scene->c.process.client, &member,
                                            OWNER_SCENE_DIRECTORY, "w", "", 0, NULL,
                                            NULL),
                     UV_EEXIST);
    assert_int_equal(things_requests(scene), before);
}

static void accepts_a_lock(struct owner_scene *scene)
{
    assert_int_equal(owner_scene_open_lock(scene), 0);
    owner_scene_close_lock(scene);
}

static void no_owner_above_a_lock(void **state)
{
    static const char *const paths[] = {PATH, PATH "/below/it", PATH "/other", PATH "/l"};
    struct owner_scene *scene = *state;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct things things = {.client = &scene->c.process.client};
        assert_int_equal(things_mutex.open(&things, paths[i]), 0);
        refuses_owners(scene);
        assert_int_equal(uvzk_lock_close(&things.lock, NULL), 0);
        world_run_for(&scene->world, 1000);
    }
    accepts_a_lock(scene);
}

static void no_owner_above(struct owner_scene *scene, const struct thing *thing,
                           const char *path)
{
    struct things things = {.client = &scene->c.process.client};

    assert_int_equal(thing->open(&things, path), 0);
    world_run_for(&scene->world, 1000);
    refuses_owners(scene);
    thing->close(&things);
    world_run_for(&scene->world, 1000);
    accepts_a_lock(scene);
    scene->c.disturbed = true; /* what it has made is left */
}

static void no_owner_above_a_value(void **state)
{
    no_owner_above(*state, &things_value, PATH "/below/it");
}

static void no_owner_above_a_double_barrier(void **state)
{
    no_owner_above(*state, &things_double_barrier, PATH);
}

static void no_owner_above_a_changed_number(void **state)
{
    no_owner_above(*state, &things_number, PATH "/below/it");
}

static void no_owner_above_a_set_barrier(void **state)
{
    no_owner_above(*state, &things_barrier, PATH "/below/it");
}

/* A path that begins with the same letters is another one. */
static void owners_beside_are_accepted(void **state)
{
    struct owner_scene *scene = *state;
    struct things things = {.client = &scene->c.process.client};

    assert_int_equal(things_mutex.open(&things, BESIDE), 0);
    owner_scene_open_node(scene);
    assert_int_equal(uvzk_lock_close(&things.lock, NULL), 0);
    world_run_for(&scene->world, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASES(nothing_below_a_lock),
        CASES(nothing_below_a_node),
        CASES(nothing_below_a_member),
        CASES(anything_below_a_persistent_node),
        CASES(no_owner_above_a_lock),
        CASES(no_owner_above_a_value),
        CASES(no_owner_above_a_double_barrier),
        CASES(no_owner_above_a_changed_number),
        CASES(no_owner_above_a_set_barrier),
        CASES(owners_beside_are_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
