/* SPDX-License-Identifier: Apache-2.0 */
/* A client uses one znode for one purpose. A shared count is opened before whatever makes its
 * znode as a parent; a barrier is not set or removed where something is below; a shared value,
 * a shared count, an atomic long, a barrier and a lock with a fixed name do not write one
 * another's znode. The second one is refused before it sends anything. */
#include "owner_things.h"

#define CASES(test)                                                    \
    cmocka_unit_test_setup_teardown(test, owner_scene_begin_one, end), \
        cmocka_unit_test_setup_teardown(test, owner_scene_begin_sessions, end)

#define PATH PERSISTENT_PROCESS_PATH
#define BELOW PATH "/below"

static struct things things_of(struct owner_scene *scene)
{
    return (struct things){.client = &scene->c.process.client};
}

static void end_thing(struct owner_scene *scene, const struct thing *thing,
                      struct things *things)
{
    thing->close(things);
    world_run_for(&scene->world, 1000);
}

static void refuses(struct owner_scene *scene, const struct thing *thing,
                    const char *sentence)
{
    struct things things = things_of(scene);
    uint64_t before = things_requests(scene);

    assert_int_equal(thing->open(&things, PATH), UV_EEXIST);
    assert_non_null(strstr(uvzk_refusal(UV_EEXIST), sentence));
    assert_int_equal(things_requests(scene), before);
    world_run_for(&scene->world, 1000);
}

static void accepts(struct owner_scene *scene, const struct thing *thing)
{
    struct things things = things_of(scene);

    assert_int_equal(thing->open(&things, PATH), 0);
    world_run_for(&scene->world, 1000);
    end_thing(scene, thing, &things);
}

/* Calls check while each thing is open that makes the znode at the path. */
static void with_each_below(struct owner_scene *scene,
                            void (*check)(struct owner_scene *))
{
    for (size_t i = 0; i < things_with_children_count; i++) {
        struct things things = things_of(scene);
        assert_int_equal(things_with_children[i].open(&things, PATH), 0);
        check(scene);
        end_thing(scene, &things_with_children[i], &things);
    }
    for (size_t i = 0; i < things_with_a_znode_count; i++) {
        struct things things = things_of(scene);
        assert_int_equal(things_with_a_znode[i].open(&things, BELOW), 0);
        check(scene);
        end_thing(scene, &things_with_a_znode[i], &things);
    }
}

/* ------------------------------------------------------------------------ the counts */

static void refuses_a_count(struct owner_scene *scene)
{
    refuses(scene, &things_count, "open the count first");
}

static void a_count_is_opened_before_what_makes_its_znode(void **state)
{
    struct owner_scene *scene = *state;

    with_each_below(scene, refuses_a_count);
    accepts(scene, &things_count);
}

/* Another count of that path may come at any time. */
static void what_needs_a_counts_znode_comes_behind(void **state)
{
    struct owner_scene *scene = *state;
    struct things counts = things_of(scene), things = things_of(scene);

    assert_int_equal(things_count.open(&counts, PATH), 0);
    for (size_t i = 0; i < things_with_children_count; i++) {
        assert_int_equal(things_with_children[i].open(&things, PATH), 0);
        accepts(scene, &things_count);
        end_thing(scene, &things_with_children[i], &things);
    }
    end_thing(scene, &things_count, &counts);
}

/* Its data are those that the program has given to the node. */
static void a_count_reads_what_a_persistent_node_has(void **state)
{
    struct owner_scene *scene = *state;

    owner_scene_open_node(scene);
    accepts(scene, &things_count);
    accepts(scene, &things_value);
}

/* ---------------------------------------------------------------------- the barriers */

static void not_called(uvzk_req_t *call, int status)
{
    (void)call;
    fail_msg("called with %d", status);
}

static void waited(uvzk_req_t *call, int status)
{
    *(int *)call->data = status;
}

/* A wait is no change. */
static void refuses_to_remove(struct owner_scene *scene, int code)
{
    int status = 0;
    uvzk_barrier_t barrier = {.data = NULL};
    uvzk_req_t call = {.data = &status};
    uint64_t before = things_requests(scene);

    assert_int_equal(uvzk_barrier_init(&scene->c.process.client, &barrier, PATH), 0);
    assert_int_equal(uvzk_barrier_remove(&barrier, &call, not_called), code);
    assert_non_null(strstr(uvzk_refusal(code), "close it first"));
    assert_int_equal(things_requests(scene), before);
    assert_int_equal(uvzk_barrier_wait(&barrier, &call, 100, waited), 0);
    world_run_for(&scene->world, 1000);
    assert_true(status == 0 || status == UV_ETIMEDOUT);
    assert_int_equal(uvzk_barrier_close(&barrier, NULL), 0);
    world_run_for(&scene->world, 1000);
}

static void refuses_a_barrier(struct owner_scene *scene)
{
    refuses(scene, &things_barrier, "close it first");
    refuses_to_remove(scene, UVZK_ENOTEMPTY);
}

static void no_barrier_above_what_needs_its_znode(void **state)
{
    struct owner_scene *scene = *state;

    with_each_below(scene, refuses_a_barrier);
    accepts(scene, &things_barrier);
}

static void no_barrier_where_a_value_is(void **state)
{
    static const struct thing *const values[] = {&things_value, &things_count};
    struct owner_scene *scene = *state;

    for (size_t i = 0; i < 2; i++) {
        struct things things = things_of(scene);
        assert_int_equal(values[i]->open(&things, PATH), 0);
        refuses(scene, &things_barrier, i == 0 ? "shared value" : "shared count");
        refuses_to_remove(scene, UV_EEXIST);
        end_thing(scene, values[i], &things);
    }
    accepts(scene, &things_barrier);
}

static void none(uvzk_req_t *call, int status)
{
    (void)call;
    (void)status;
}

/* Its own first set is nothing that stands in the way, nor is that of another handle. */
static void a_barrier_is_set_and_removed_again(void **state)
{
    struct owner_scene *scene = *state;
    struct things things = things_of(scene);

    assert_int_equal(things_barrier.open(&things, PATH), 0);
    for (int i = 0; i < 3; i++) {
        world_run_for(&scene->world, 1000);
        assert_true(sim_exists(scene->world.sim, PATH));
        accepts(scene, &things_barrier);
        assert_int_equal(uvzk_barrier_remove(&things.barrier, &things.call, none), 0);
        world_run_for(&scene->world, 1000);
        assert_false(sim_exists(scene->world.sim, PATH));
        assert_int_equal(uvzk_barrier_set(&things.barrier, &things.call, none), 0);
    }
    world_run_for(&scene->world, 1000);
    end_thing(scene, &things_barrier, &things);
}

/* ------------------------------------------------------------- two kinds of data */

static void refuses_while(struct owner_scene *scene, const struct thing *open,
                          const struct thing *other, const char *sentence)
{
    struct things things = things_of(scene);

    assert_int_equal(open->open(&things, PATH), 0);
    world_run_for(&scene->world, 1000);
    refuses(scene, other, sentence);
    end_thing(scene, open, &things);
    accepts(scene, other);
}

static void no_number_where_a_count_is(void **state)
{
    refuses_while(*state, &things_count, &things_number, "shared count");
}

static void no_count_where_a_number_is(void **state)
{
    refuses_while(*state, &things_number, &things_count, "atomic long");
}

static void no_number_where_a_barrier_is(void **state)
{
    refuses_while(*state, &things_barrier, &things_number, "barrier");
}

static void no_barrier_where_a_number_is(void **state)
{
    refuses_while(*state, &things_number, &things_barrier, "atomic long");
}

static void no_count_where_a_barrier_is(void **state)
{
    refuses_while(*state, &things_barrier, &things_count, "barrier");
}

static void a_number_where_a_value_is(void **state)
{
    struct owner_scene *scene = *state;
    struct things things = things_of(scene);

    assert_int_equal(things_value.open(&things, PATH), 0);
    accepts(scene, &things_number);
    end_thing(scene, &things_value, &things);
}

static void was_read(uvzk_req_t *call, int status)
{
    *(int *)call->data = status;
}

/* A number that is only read, and a barrier that is only waited for, write nothing. */
static void who_only_reads_is_in_nobodys_way(void **state)
{
    struct owner_scene *scene = *state;
    uvzk_client_t *client = &scene->c.process.client;
    int read = 1, status = 1;
    uvzk_atomic_long_t number = {.data = NULL};
    uvzk_req_t change = {.data = &read};
    uvzk_barrier_t barrier = {.data = NULL};
    uvzk_req_t call = {.data = &status};

    assert_int_equal(uvzk_atomic_long_init(client, &number, PATH, NULL), 0);
    assert_int_equal(uvzk_atomic_long_get(&number, &change, was_read), 0);
    assert_int_equal(uvzk_barrier_init(client, &barrier, PATH), 0);
    assert_int_equal(uvzk_barrier_wait(&barrier, &call, UVZK_WAIT_FOREVER, waited), 0);
    world_run_for(&scene->world, 1000);
    assert_int_equal(read, 0);
    assert_int_equal(status, 0);
    accepts(scene, &things_count);
    assert_int_equal(owner_scene_open_lock(scene), 0);
    owner_scene_close_lock(scene);
    assert_int_equal(uvzk_atomic_long_close(&number, NULL), 0);
    assert_int_equal(uvzk_barrier_close(&barrier, NULL), 0);
    world_run_for(&scene->world, 1000);
}

/* --------------------------------------------------------- locks with a fixed name */

static void no_lock_where_another_znode_is(void **state)
{
    static const struct thing *const all[] = {&things_value, &things_count,
                                              &things_number, &things_barrier};
    struct owner_scene *scene = *state;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct things things = things_of(scene);
        assert_int_equal(all[i]->open(&things, PATH), 0);
        world_run_for(&scene->world, 1000);
        uint64_t before = things_requests(scene);
        assert_int_equal(owner_scene_open_lock(scene), UV_EEXIST);
        assert_non_null(strstr(uvzk_refusal(UV_EEXIST), "of that path"));
        assert_int_equal(things_requests(scene), before);
        end_thing(scene, all[i], &things);
    }
    assert_int_equal(owner_scene_open_lock(scene), 0);
    owner_scene_close_lock(scene);
}

static void no_count_where_a_lock_is(void **state)
{
    struct owner_scene *scene = *state;

    assert_int_equal(owner_scene_open_lock(scene), 0);
    refuses(scene, &things_count, "close the lock first");
    accepts(scene, &things_value);
    owner_scene_close_lock(scene);
}

/* A group's entry of another client's member is only read. */
static void a_lock_where_a_znode_is_only_followed(void **state)
{
    struct owner_scene *scene = *state;
    uvzk_group_member_t member = {.data = NULL};

    assert_int_equal(uvzk_group_member_init(&scene->c.process.client, &member,
                                            OWNER_SCENE_DIRECTORY, "m", "", 0, NULL,
                                            NULL),
                     0);
    world_run_for(&scene->world, 1000);
    assert_non_null(sim_create_by_hand(scene->world.sim, PATH, UVZK__PERSISTENT));
    world_run_for(&scene->world, 1000);
    assert_int_equal(owner_scene_open_lock(scene), 0);
    owner_scene_close_lock(scene);
    assert_int_equal(uvzk_group_member_close(&member, NULL), 0);
    world_run_for(&scene->world, 1000);
}

/* What is left behind is nobody's. */
static int end(void **state)
{
    struct owner_scene *scene = *state;

    scene->c.disturbed = true;
    return owner_scene_end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASES(a_count_is_opened_before_what_makes_its_znode),
        CASES(what_needs_a_counts_znode_comes_behind),
        CASES(a_count_reads_what_a_persistent_node_has),
        CASES(no_barrier_above_what_needs_its_znode),
        CASES(no_barrier_where_a_value_is),
        CASES(a_barrier_is_set_and_removed_again),
        CASES(no_number_where_a_count_is),
        CASES(no_count_where_a_number_is),
        CASES(no_number_where_a_barrier_is),
        CASES(no_barrier_where_a_number_is),
        CASES(no_count_where_a_barrier_is),
        CASES(a_number_where_a_value_is),
        CASES(who_only_reads_is_in_nobodys_way),
        CASES(no_lock_where_another_znode_is),
        CASES(no_count_where_a_lock_is),
        CASES(a_lock_where_a_znode_is_only_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
