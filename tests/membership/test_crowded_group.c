/* SPDX-License-Identifier: Apache-2.0 */
/* A group with more members than one session may watch: all are listed, the caller is told
 * that the data of some are missing, one line is logged, and the rest of the session can still
 * watch what it needs. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/watch.h"
#include "group_process.h"

#define ID_LENGTH 190
#define COST (sizeof(GROUP_PROCESS_PATH "/") - 1 + ID_LENGTH + 4)
#define ROOM (UVZK__WATCH_BYTES_SHARE_MAX / COST) /* for the watches of others */
#define MANY (ROOM + 500)
#define ABOUT_A_MINUTE 60000U

struct scene {
    struct world world;
    struct process process;
    uvzk_group_member_t member;
    int joined, told, status; /* told: calls of members_cb, the last status */
    int warned;               /* lines that name a budget or the group */
};

static struct scene *current; /* whose log is counted */

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    (void)client;
    (void)module;
    current->warned += level == UVZK_LOG_WARN && (strstr(line, "budget") != NULL ||
                                                  strstr(line, "may watch") != NULL);
}

static void on_joined(uvzk_group_member_t *member, int status)
{
    struct scene *scene = member->data;

    scene->joined += status == 0;
}

static void on_members(uvzk_group_member_t *member, int status)
{
    struct scene *scene = member->data;

    scene->told++;
    scene->status = status;
}

static const char *path_of(size_t number)
{
    static char path[sizeof(GROUP_PROCESS_PATH) + 1 + ID_LENGTH];

    (void)snprintf(path, sizeof(path), GROUP_PROCESS_PATH "/%0*zu", ID_LENGTH, number);
    return path;
}

static void come(struct scene *scene, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        assert_non_null(
            sim_create_by_hand(scene->world.sim, path_of(i), UVZK__PERSISTENT));
    }
}

static void go(struct scene *scene, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        assert_int_equal(sim_delete_by_hand(scene->world.sim, path_of(i)), 0);
    }
}

static int begin(void **state)
{
    struct scene *scene = current = calloc(1, sizeof(*scene));
    struct sim_options sim_options;
    uvzk_client_options_t options;

    assert_non_null(scene);
    sim_options_init(&sim_options);
    sim_options.trace = false;
    world_begin_with(&scene->world, 1, UVZK__TUNE_ALL, &sim_options);
    group_process_make_path(scene->world.sim);
    process_options(&options);
    options.log_cb = on_log;
    process_begin(&scene->process, &scene->world, "c", &options);
    scene->member.data = scene;
    assert_int_equal(uvzk_group_member_init(&scene->process.client, &scene->member,
                                            GROUP_PROCESS_PATH, "c", "one", 3, on_joined,
                                            on_members),
                     0);
    assert_true(world_await_count(&scene->world, &scene->joined, 1, ABOUT_A_MINUTE));
    assert_true(world_await_count(&scene->world, &scene->told, 1, ABOUT_A_MINUTE));
    *state = scene;
    return 0;
}

static int end(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(uvzk_group_member_close(&scene->member, NULL), 0);
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_null(scene->member.impl);
    assert_int_equal(process_watches(&scene->process), 0);
    process_end(&scene->process);
    world_end(&scene->world);
    free(scene);
    return 0;
}

static void assert_listed(const struct scene *scene, size_t listed, size_t with_data)
{
    const uvzk_group_entry_t *members;
    size_t count, known = 0;

    assert_int_equal(uvzk_group_member_list(&scene->member, &members, &count), 0);
    for (size_t i = 0; i < count; i++) {
        known += members[i].data != NULL;
    }
    assert_int_equal(count, listed);
    assert_int_equal(known, with_data);
}

static void who_does_not_fit_is_told(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(scene->status, 0);
    come(scene, 0, ROOM);
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->status, 0);
    assert_listed(scene, ROOM + 1, ROOM + 1);
    come(scene, ROOM, MANY);
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->status, UVZK_ELIMIT);
    assert_listed(scene, MANY + 1, ROOM + 1);
    assert_int_equal(scene->warned, 1);
    /* The watches are renewed, and nothing is new. */
    int told = scene->told;
    world_run_for(&scene->world, 5ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->told, told);
    assert_int_equal(scene->warned, 1);
    /* Changes are told meanwhile. */
    come(scene, MANY, MANY + 1);
    world_run_for(&scene->world, 1000);
    assert_int_equal(scene->told, told + 1);
    assert_int_equal(scene->status, UVZK_ELIMIT);
    assert_listed(scene, MANY + 2, ROOM + 1);
}

static void who_goes_leaves_room_for_others(void **state)
{
    struct scene *scene = *state;

    come(scene, 0, MANY);
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->status, UVZK_ELIMIT);
    go(scene, 0, 100);
    world_run_for(&scene->world, 1000);
    assert_int_equal(scene->status, UVZK_ELIMIT);
    assert_listed(scene, MANY + 1 - 100, ROOM + 1);
    go(scene, 100, MANY - ROOM);
    world_run_for(&scene->world, 1000);
    assert_int_equal(scene->status, 0);
    assert_listed(scene, ROOM + 1, ROOM + 1);
    come(scene, 0, 1);
    world_run_for(&scene->world, 1000);
    assert_int_equal(scene->status, UVZK_ELIMIT);
    assert_int_equal(scene->warned, 2);
}

/* A thousand mutexes behind others. */
static void the_rest_of_the_session_has_its_share(void **state)
{
    enum { WAITERS = 1000 };
    struct scene *scene = *state;
    static uvzk_mutex_t mutexes[WAITERS];
    static struct hold holds[WAITERS];
    char path[16];

    memset(mutexes, 0, sizeof(mutexes));
    memset(holds, 0, sizeof(holds));
    come(scene, 0, MANY);
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_non_null(sim_create_by_hand(scene->world.sim, "/l", UVZK__PERSISTENT));
    for (int i = 0; i < WAITERS; i++) {
        (void)snprintf(path, sizeof(path), "/l/%05d", i);
        assert_non_null(sim_create_by_hand(scene->world.sim, path, UVZK__PERSISTENT));
        (void)world_foreign_node(&scene->world, path, "lock-");
        assert_int_equal(uvzk_mutex_init(&scene->process.client, &mutexes[i], path), 0);
        assert_int_equal(hold_ask(&holds[i], &scene->process, &mutexes[i], NULL), 0);
    }
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->world.grants + scene->world.ends, 0);
    for (int i = 0; i < WAITERS; i++) {
        hold_release_or_cancel(&holds[i]);
    }
    world_run_for(&scene->world, 1000);
    assert_int_equal(scene->warned, 1);
}

/* Others have taken the room before: what is missing is told all the same, and the log does not
 * say so again whenever a watch is renewed. */
static void others_have_left_little_room(void **state)
{
    struct scene *scene = *state;
    struct uvzk__session *session = scene->process.client.impl;

    uint64_t taken = UVZK__WATCH_BYTES_MAX - session->watches.bytes - 5 * COST;
    session->watches.bytes += taken;
    come(scene, 0, 10);
    world_run_for(&scene->world, 10ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->status, UVZK_ELIMIT);
    assert_int_equal(scene->warned, 2); /* the budget is spent; the group is incomplete */
    session->watches.bytes -= taken;
    world_run_for(&scene->world, 3ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->status, 0);
    assert_listed(scene, 11, 11);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(who_does_not_fit_is_told),
        CASE(who_goes_leaves_room_for_others),
        CASE(the_rest_of_the_session_has_its_share),
        CASE(others_have_left_little_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
