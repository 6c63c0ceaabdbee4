/* SPDX-License-Identifier: Apache-2.0 */
/* What a group member promises, one by one. */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "group_process.h"

#define OTHER GROUP_PROCESS_PATH "/x"

/* A world without randomness, with two members, "c" and "d". */
struct scene {
    struct world world;
    struct group_process c, d;
};

static int begin(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    world_begin_exact(&scene->world, UVZK__TUNE_ALL, 1);
    group_process_open(&scene->c, &scene->world, "c", "one");
    group_process_open(&scene->d, &scene->world, "d", "two");
    group_process_await_list(&scene->c, "c=one d=two ");
    group_process_await_list(&scene->d, "c=one d=two ");
    *state = scene;
    return 0;
}

static int end(void **state)
{
    struct scene *scene = *state;

    group_process_end(&scene->c);
    group_process_end(&scene->d);
    world_end(&scene->world);
    free(scene);
    return 0;
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

/* With data "x", in a session that never ends. */
static void come_by_hand(struct scene *scene)
{
    assert_non_null(sim_create_by_hand(scene->world.sim, OTHER, UVZK__EPHEMERAL));
    assert_int_equal(sim_set_by_hand(scene->world.sim, OTHER, "x", 1), 0);
}

static void go_by_hand(struct scene *scene, const char *path)
{
    assert_int_equal(sim_delete_by_hand(scene->world.sim, path), 0);
}

/* ----------------------------------------------------------------- coming, going */

static void members_are_seen_until_they_close(void **state)
{
    struct scene *scene = *state;
    int changed = scene->c.changed;
    uint64_t watches = process_watches(&scene->c.process);

    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->c.changed, changed); /* renewed watches are no news */
    group_process_close(&scene->d);
    group_process_await(&scene->d, &scene->d.member_closed, 1);
    assert_int_equal(scene->d.close_status, 0);
    assert_false(sim_exists(scene->world.sim, GROUP_PROCESS_PATH "/d"));
    group_process_await_list(&scene->c, "c=one ");
    assert_int_equal(scene->c.changed, changed + 1);
    world_run_for(&scene->world, 100);
    assert_int_equal(process_watches(&scene->c.process), watches - 1);
}

/* The first list is complete: all data are known. */
static void the_first_list_is_whole(void **state)
{
    struct scene *scene = *state;
    struct group_process e;

    come_by_hand(scene);
    group_process_begin(&e, &scene->world, "e", "three");
    char list[GROUP_PROCESS_LIST_SIZE];
    group_process_list(&e, list);
    assert_string_equal(list, "e=three ");
    process_start(&e.process);
    group_process_await(&e, &e.changed, 1);
    group_process_list(&e, list);
    assert_string_equal(list, "c=one d=two e=three x=x ");
    world_run_for(&scene->world, WORLD_TIMEOUT_MS);
    assert_int_equal(e.changed, 1);
    group_process_end(&e);
    go_by_hand(scene, OTHER);
}

static void a_znode_of_any_kind_is_a_member(void **state)
{
    struct scene *scene = *state;

    assert_non_null(sim_create_by_hand(scene->world.sim, OTHER, UVZK__PERSISTENT));
    group_process_await_list(&scene->c, "c=one d=two x= ");
    go_by_hand(scene, OTHER);
    group_process_await_list(&scene->c, "c=one d=two ");
    come_by_hand(scene);
    group_process_await_list(&scene->c, "c=one d=two x=x ");
    go_by_hand(scene, OTHER);
}

static void many_come_in_one_burst(void **state)
{
    struct scene *scene = *state;
    int changed = scene->c.changed;

    sim_pause(scene->c.process.port, 300);
    for (int i = 0; i < 10; i++) {
        char path[] = GROUP_PROCESS_PATH "/0";
        path[sizeof(path) - 2] = (char)('0' + i);
        assert_non_null(sim_create_by_hand(scene->world.sim, path, UVZK__EPHEMERAL));
    }
    group_process_await_list(&scene->c, "0= 1= 2= 3= 4= 5= 6= 7= 8= 9= c=one d=two ");
    assert_true(scene->c.changed <= changed + 2);
    for (int i = 0; i < 10; i++) {
        char path[] = GROUP_PROCESS_PATH "/0";
        path[sizeof(path) - 2] = (char)('0' + i);
        go_by_hand(scene, path);
    }
    group_process_await_list(&scene->c, "c=one d=two ");
}

/* The member itself is listed while its znode is not there. */
static void the_own_id_is_always_listed(void **state)
{
    struct scene *scene = *state;
    int changed = scene->c.changed;
    char list[GROUP_PROCESS_LIST_SIZE];

    sim_refuse(scene->world.sim, UVZK__RPC_CREATE, UVZK_ENOAUTH, 3);
    go_by_hand(scene, GROUP_PROCESS_PATH "/c");
    group_process_await(&scene->c, &scene->c.told, 2);
    group_process_list(&scene->c, list);
    assert_string_equal(list, "c=one d=two ");
    group_process_await_list(&scene->d, "d=two ");
    group_process_await(&scene->c, &scene->c.present, 2);
    group_process_await_list(&scene->d, "c=one d=two ");
    assert_int_equal(scene->c.changed, changed);
}

/* As in docs/recipes/group-member.md. */
static void a_change_costs_few_requests(void **state)
{
    struct scene *scene = *state;
    uint64_t before = sim_submitted(scene->c.process.port);

    assert_non_null(sim_create_by_hand(scene->world.sim, OTHER, UVZK__EPHEMERAL));
    group_process_await_list(&scene->c, "c=one d=two x= ");
    assert_int_equal(sim_submitted(scene->c.process.port) - before, 2);
    assert_int_equal(sim_set_by_hand(scene->world.sim, OTHER, "x", 1), 0);
    group_process_await_list(&scene->c, "c=one d=two x=x ");
    assert_int_equal(sim_submitted(scene->c.process.port) - before, 3);
    go_by_hand(scene, OTHER);
    group_process_await_list(&scene->c, "c=one d=two ");
    world_run_for(&scene->world, 100);
    assert_int_equal(sim_submitted(scene->c.process.port) - before, 6);
}

/* ------------------------------------------------------------------------ data */

static void data_are_followed(void **state)
{
    struct scene *scene = *state;
    int changed = scene->d.changed;

    assert_int_equal(group_process_set(&scene->c, "newer"), 0);
    group_process_await_list(&scene->d, "c=newer d=two ");
    assert_int_equal(scene->d.changed, changed + 1);
    group_process_await(&scene->c, &scene->c.present, 2);
    changed = scene->c.changed;
    assert_int_equal(group_process_set(&scene->c, ""), 0);
    group_process_await_list(&scene->d, "c= d=two ");
    assert_int_equal(scene->c.changed, changed); /* it knows */
}

static void what_may_not_be_read_is_listed_without_data(void **state)
{
    struct scene *scene = *state;

    sim_refuse(scene->world.sim, UVZK__RPC_GET, UVZK_ENOAUTH, 2);
    assert_non_null(sim_create_by_hand(scene->world.sim, OTHER, UVZK__EPHEMERAL));
    group_process_await_list(&scene->c, "c=one d=two x? ");
    group_process_await_list(&scene->c, "c=one d=two x= "); /* tried again */
    go_by_hand(scene, OTHER);
}

/* -------------------------------------------------------------------- sessions */

static void a_reconnection_is_no_news(void **state)
{
    struct scene *scene = *state;
    int changed = scene->c.changed;

    sim_disconnect(scene->c.process.port, SIM_RESET, 2000);
    world_run_for(&scene->world, 2ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->c.changed, changed);
    assert_int_equal(scene->c.told, 1);
}

static void what_happened_meanwhile_is_told(void **state)
{
    struct scene *scene = *state;

    sim_disconnect(scene->c.process.port, SIM_RESET, 2000);
    world_run_for(&scene->world, 100);
    group_process_close(&scene->d);
    come_by_hand(scene);
    group_process_await(&scene->d, &scene->d.member_closed, 1);
    group_process_await_list(&scene->c, "c=one x=x ");
    go_by_hand(scene, OTHER);
}

static void a_new_session_joins_and_lists_again(void **state)
{
    struct scene *scene = *state;

    assert_true(sim_expire(scene->c.process.port));
    group_process_await_list(&scene->d, "d=two ");
    come_by_hand(scene);
    group_process_await(&scene->c, &scene->c.present, 2);
    uint64_t begun = world_now(&scene->world);
    group_process_await_list(&scene->d, "c=one d=two x=x ");
    group_process_await_list(&scene->c, "c=one d=two x=x ");
    /* And the new session has watches. */
    go_by_hand(scene, OTHER);
    group_process_await_list(&scene->c, "c=one d=two ");
    come_by_hand(scene);
    group_process_await_list(&scene->c, "c=one d=two x=x ");
    go_by_hand(scene, OTHER);
    group_process_await_list(&scene->c, "c=one d=two ");
    /* None of that has waited for a watch to be renewed. */
    assert_in_range(world_now(&scene->world), begun, begun + WORLD_TIMEOUT_MS / 4);
}

static void a_member_whose_session_ends_is_gone(void **state)
{
    struct scene *scene = *state;

    sim_disconnect(scene->d.process.port, SIM_SILENT, 4ULL * WORLD_TIMEOUT_MS);
    group_process_await_list(&scene->c, "c=one ");
    group_process_await_list(&scene->c, "c=one d=two "); /* in its next session */
}

/* The watch of the children and those of the data are set again before an event can be
 * missed for ever. */
static void lost_events_are_made_up_for(void **state)
{
    struct scene *scene = *state;

    sim_lose_events(scene->c.process.port, 2);
    come_by_hand(scene);
    group_process_await_list(&scene->c, "c=one d=two x=x ");
    go_by_hand(scene, OTHER);
    group_process_await_list(&scene->c, "c=one d=two ");
}

/* ---------------------------------------------------------------- other owners */

/* Curator takes it over, and is not a member any more when that session ends. */
static void anothers_znode_of_the_same_id_is_waited_for(void **state)
{
    struct scene *scene = *state;
    struct group_process e;

    memset(&e, 0, sizeof(e));
    process_make(&e.process, &scene->world, "e", NULL);
    assert_int_equal(group_process_init(&e, "c", "mine"), 0);
    process_start(&e.process);
    group_process_await(&e, &e.told, 1);
    assert_int_equal(e.status, UVZK_ENODEEXISTS);
    group_process_await_list(&e, "c=mine d=two ");
    group_process_await_list(&scene->d, "c=one d=two ");
    group_process_close(&scene->c);
    group_process_await(&e, &e.present, 1);
    group_process_await_list(&scene->d, "c=mine d=two ");
    group_process_end(&e);
}

/* They share the watches. */
static void two_members_of_one_client_see_each_other(void **state)
{
    struct scene *scene = *state;
    uvzk_group_member_t second = {.data = NULL};
    const uvzk_group_entry_t *members;
    size_t count;

    assert_int_equal(uvzk_group_member_init(&scene->c.process.client, &second,
                                            GROUP_PROCESS_PATH, "b", "too", 3, NULL,
                                            NULL),
                     0);
    group_process_await_list(&scene->c, "b=too c=one d=two ");
    group_process_await_list(&scene->d, "b=too c=one d=two ");
    world_run_for(&scene->world, 100);
    assert_int_equal(uvzk_group_member_list(&second, &members, &count), 0);
    assert_int_equal(count, 3);
    assert_string_equal(members[0].id, "b");
    assert_int_equal(members[0].mzxid, 0);
    assert_string_equal(members[2].id, "d");
    assert_true(members[2].mzxid != 0);
    assert_int_equal(uvzk_group_member_close(&second, NULL), 0);
    group_process_await_list(&scene->c, "c=one d=two ");
    assert_null(second.impl);
}

/* -------------------------------------------------------------------- refusals */

static void a_refused_list_is_told_and_tried_again(void **state)
{
    struct scene *scene = *state;

    sim_refuse(scene->world.sim, UVZK__RPC_CHILDREN, UVZK_ENOAUTH, 4);
    come_by_hand(scene);
    world_run_for(&scene->world, 50);
    assert_int_equal(scene->c.list_status, UVZK_ENOAUTH);
    group_process_await_list(&scene->c, "c=one d=two x=x ");
    go_by_hand(scene, OTHER);
}

/* The path of a group may vanish: a container, once it is empty. */
static void a_path_that_vanishes_comes_back(void **state)
{
    struct scene *scene = *state;

    sim_refuse(scene->world.sim, UVZK__RPC_CREATE, UVZK_ENOAUTH, 8);
    go_by_hand(scene, GROUP_PROCESS_PATH "/c");
    go_by_hand(scene, GROUP_PROCESS_PATH "/d");
    go_by_hand(scene, GROUP_PROCESS_PATH);
    group_process_await_list(&scene->c, "c=one ");
    /* It is waited for, by a watch. */
    uint64_t before = sim_submitted(scene->c.process.port);
    world_run_for(&scene->world, 300);
    assert_in_range(sim_submitted(scene->c.process.port), before, before + 20);
    assert_false(sim_exists(scene->world.sim, GROUP_PROCESS_PATH));
    group_process_await_list(&scene->c, "c=one d=two ");
    group_process_await_list(&scene->d, "c=one d=two ");
}

static void refused_credentials_end_it(void **state)
{
    struct scene *scene = *state;
    int changed = scene->c.changed;

    scene->c.process.may_log_errors = true;
    sim_fail_auth(scene->c.process.port);
    group_process_await(&scene->c, &scene->c.told, 2);
    assert_int_equal(scene->c.status, UVZK_EAUTH);
    world_run_for(&scene->world, 1000);
    assert_int_equal(scene->c.changed, changed);
    group_process_close(&scene->c);
    group_process_await(&scene->c, &scene->c.member_closed, 1);
    assert_int_equal(scene->c.close_status, UVZK_EAUTH);
    group_process_await_list(&scene->d, "d=two ");
}

/* ----------------------------------------------------------------------- close */

static void the_client_closes_it(void **state)
{
    struct scene *scene = *state;
    const uvzk_group_entry_t *members;
    size_t count;

    process_close(&scene->c.process);
    assert_int_equal(group_process_set(&scene->c, "late"), UVZK_ECLOSED);
    group_process_await(&scene->c, &scene->c.process.closed, 1);
    assert_null(scene->c.member.impl);
    assert_int_equal(uvzk_group_member_list(&scene->c.member, &members, &count),
                     UVZK_ECLOSED);
    group_process_await_list(&scene->d, "d=two ");
}

static void a_close_under_way_ends_with_the_client(void **state)
{
    struct scene *scene = *state;

    group_process_close(&scene->c);
    process_close(&scene->c.process);
    group_process_await(&scene->c, &scene->c.process.closed, 1);
    assert_int_equal(scene->c.member_closed, 1);
    assert_int_equal(scene->c.close_status, UVZK_ECLOSED);
}

static void close_it_in_the_callback(uvzk_group_member_t *member, int status)
{
    (void)status;
    assert_int_equal(uvzk_group_member_close(member, NULL), 0);
}

static void it_may_be_closed_in_its_callback(void **state)
{
    struct scene *scene = *state;
    uvzk_client_t *client = &scene->c.process.client;
    uvzk_group_member_t one = {.data = NULL}, other = {.data = NULL};

    assert_int_equal(uvzk_group_member_init(client, &one, GROUP_PROCESS_PATH, "e", "", 0,
                                            close_it_in_the_callback, NULL),
                     0);
    assert_int_equal(uvzk_group_member_init(client, &other, GROUP_PROCESS_PATH, "f", "",
                                            0, NULL, close_it_in_the_callback),
                     0);
    world_run_for(&scene->world, 1000);
    assert_null(one.impl);
    assert_null(other.impl);
    group_process_await_list(&scene->c, "c=one d=two ");
}

/* ------------------------------------------------------------------- arguments */

static int init_with(struct scene *scene, uvzk_group_member_t *member, const char *path,
                     const char *id)
{
    return uvzk_group_member_init(&scene->c.process.client, member, path, id, "", 0, NULL,
                                  NULL);
}

static void bad_ids_are_refused(void **state)
{
    struct scene *scene = *state;
    uvzk_group_member_t member = {.data = NULL};
    static const char *const bad[] = {"",   ".",  "..",   "/",   "a/b",
                                      "/a", "a/", "\x01", "\xff"};
    uint64_t steps = process_watches(&scene->c.process);

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(init_with(scene, &member, GROUP_PROCESS_PATH, bad[i]),
                         UVZK_EPATH);
        assert_null(member.impl);
    }
    assert_int_equal(process_watches(&scene->c.process), steps);
    assert_int_equal(init_with(scene, &member, "/app/.", "a"), UVZK_EPATH);
    assert_int_equal(init_with(scene, &member, GROUP_PROCESS_PATH, "..."), 0);
    group_process_await_list(&scene->c, "...= c=one d=two ");
    assert_int_equal(uvzk_group_member_close(&member, NULL), 0);
    group_process_await_list(&scene->c, "c=one d=two ");
}

static void bad_arguments_are_refused(void **state)
{
    struct scene *scene = *state;
    uvzk_client_t *client = &scene->c.process.client;
    uvzk_group_member_t member = {.data = NULL};
    const uvzk_group_entry_t *members;
    size_t count;

    assert_int_equal(uvzk_group_member_init(NULL, &member, "/g", "a", "", 0, NULL, NULL),
                     UV_EINVAL);
    assert_int_equal(init_with(scene, NULL, "/g", "a"), UV_EINVAL);
    assert_int_equal(init_with(scene, &member, NULL, "a"), UV_EINVAL);
    assert_int_equal(init_with(scene, &member, "/g", NULL), UV_EINVAL);
    assert_int_equal(init_with(scene, &member, "g", "a"), UVZK_EPATH);
    assert_int_equal(init_with(scene, &scene->c.member, "/g", "a"), UV_EBUSY);
    assert_int_equal(
        uvzk_group_member_init(client, &member, "/g", "a", NULL, 1, NULL, NULL),
        UV_EINVAL);
    assert_int_equal(
        uvzk_group_member_init(client, &member, "/g", "a", "", 1000001, NULL, NULL),
        UV_EINVAL);
    assert_null(member.impl);
    assert_int_equal(uvzk_group_member_set_data(NULL, "", 0), UV_EINVAL);
    assert_int_equal(uvzk_group_member_set_data(&scene->c.member, NULL, 1), UV_EINVAL);
    assert_int_equal(uvzk_group_member_set_data(&member, "", 0), UVZK_ECLOSED);
    assert_int_equal(uvzk_group_member_list(NULL, &members, &count), UV_EINVAL);
    assert_int_equal(uvzk_group_member_list(&scene->c.member, NULL, &count), UV_EINVAL);
    assert_int_equal(uvzk_group_member_list(&scene->c.member, &members, NULL), UV_EINVAL);
    assert_int_equal(uvzk_group_member_list(&member, &members, &count), UVZK_ECLOSED);
    assert_int_equal(uvzk_group_member_close(NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_group_member_close(&member, NULL), UVZK_ESTATE);
    group_process_close(&scene->c);
    assert_int_equal(uvzk_group_member_close(&scene->c.member, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_group_member_list(&scene->c.member, &members, &count),
                     UVZK_ECLOSED);
    assert_int_equal(uvzk_group_member_set_data(&scene->c.member, "", 0), UVZK_ECLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(members_are_seen_until_they_close),
        CASE(the_first_list_is_whole),
        CASE(a_znode_of_any_kind_is_a_member),
        CASE(many_come_in_one_burst),
        CASE(the_own_id_is_always_listed),
        CASE(a_change_costs_few_requests),
        CASE(data_are_followed),
        CASE(what_may_not_be_read_is_listed_without_data),
        CASE(a_reconnection_is_no_news),
        CASE(what_happened_meanwhile_is_told),
        CASE(a_new_session_joins_and_lists_again),
        CASE(a_member_whose_session_ends_is_gone),
        CASE(lost_events_are_made_up_for),
        CASE(anothers_znode_of_the_same_id_is_waited_for),
        CASE(two_members_of_one_client_see_each_other),
        CASE(a_refused_list_is_told_and_tried_again),
        CASE(a_path_that_vanishes_comes_back),
        CASE(refused_credentials_end_it),
        CASE(the_client_closes_it),
        CASE(a_close_under_way_ends_with_the_client),
        CASE(it_may_be_closed_in_its_callback),
        CASE(bad_ids_are_refused),
        CASE(bad_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
