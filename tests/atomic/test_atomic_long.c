/* SPDX-License-Identifier: Apache-2.0 */
/* What an atomic long promises, one by one. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atomic_process.h"

/* A world without randomness, with one process, "c". */
struct scene {
    struct world world;
    struct atomic_process c;
    struct atomic_process_call call;
};

static int begin_with(void **state, uint32_t tries, bool promoted)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    uvzk_atomic_long_options_t options;

    assert_non_null(scene);
    atomic_process_options(&options, tries, promoted);
    world_begin_exact(&scene->world, UVZK__TUNE_ALL, 1);
    atomic_process_open(&scene->c, &scene->world, "c", &options);
    *state = scene;
    return 0;
}

static int begin(void **state)
{
    return begin_with(state, 3, false);
}

static int begin_promoted(void **state)
{
    return begin_with(state, 1, true);
}

static int end(void **state)
{
    struct scene *scene = *state;

    atomic_process_end(&scene->c);
    world_end(&scene->world);
    free(scene);
    return 0;
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define PROMOTED_CASE(test) cmocka_unit_test_setup_teardown(test, begin_promoted, end)

static int64_t number(const struct scene *scene)
{
    return atomic_process_number(scene->world.sim);
}

static int add(struct scene *scene, int64_t delta)
{
    assert_int_equal(atomic_process_add(&scene->call, &scene->c, delta), 0);
    return atomic_process_await(&scene->call);
}

static int get(struct scene *scene)
{
    assert_int_equal(atomic_process_get(&scene->call, &scene->c), 0);
    return atomic_process_await(&scene->call);
}

static void check_value(const struct scene *scene, int64_t pre, int64_t post,
                        uint32_t tries)
{
    assert_true(scene->call.value.pre_value == pre);
    assert_true(scene->call.value.post_value == post);
    assert_int_equal(scene->call.value.optimistic_tries, tries);
}

/* Runs the simulation until the atomic long is in this state. */
static void run_until_state(struct scene *scene, enum uvzk__atomic_state wanted)
{
    const struct uvzk__atomic_long *atomic = scene->c.atomic.impl;

    for (int i = 0; atomic->state != wanted; i++) {
        assert_true(i < 10000 && sim_step(scene->world.sim));
    }
}

/* ------------------------------------------------------------------- the znode */

static void a_missing_znode_is_0_and_is_made_by_the_first_change(void **state)
{
    struct scene *scene = *state;
    struct uvzk__stat stat;
    size_t length;

    assert_int_equal(get(scene), 0);
    check_value(scene, 0, 0, 0);
    assert_false(sim_exists(scene->world.sim, "/app"));
    assert_int_equal(add(scene, 258), 0);
    check_value(scene, 0, 258, 1);
    const void *data = sim_data(scene->world.sim, ATOMIC_PROCESS_PATH, &length);
    assert_int_equal(length, 8);
    assert_memory_equal(data, "\0\0\0\0\0\0\1\2", 8);
    assert_true(sim_stat(scene->world.sim, ATOMIC_PROCESS_PATH, &stat));
    assert_int_equal(stat.ephemeral_owner, 0);
    sim_check_containers(scene->world.sim);
    assert_true(sim_exists(scene->world.sim, ATOMIC_PROCESS_PATH));
}

static void a_znode_without_data_is_0(void **state)
{
    struct scene *scene = *state;

    atomic_process_set_bytes(scene->world.sim, "", 0);
    assert_int_equal(get(scene), 0);
    check_value(scene, 0, 0, 0);
    assert_int_equal(add(scene, -1), 0);
    check_value(scene, 0, -1, 1);
}

static void too_few_bytes_are_no_number(void **state)
{
    struct scene *scene = *state;

    atomic_process_set_bytes(scene->world.sim, "1234567", 7);
    assert_int_equal(get(scene), UVZK_EDATA);
    assert_int_equal(add(scene, 1), UVZK_EDATA);
    assert_int_equal(atomic_process_try_set(&scene->call, &scene->c, 1), 0);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_EDATA);
    assert_int_equal(atomic_process_compare_and_set(&scene->call, &scene->c, 0, 1), 0);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_EDATA);
    /* Only this one does not read. */
    assert_int_equal(atomic_process_force_set(&scene->call, &scene->c, 5), 0);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    assert_true(number(scene) == 5);
}

static void a_sum_without_room_is_refused(void **state)
{
    struct scene *scene = *state;

    atomic_process_set_by_hand(scene->world.sim, INT64_MAX);
    assert_int_equal(add(scene, 1), UV_ERANGE);
    check_value(scene, INT64_MAX, INT64_MAX, 0);
    assert_true(number(scene) == INT64_MAX);
    assert_int_equal(add(scene, -1), 0);
    atomic_process_set_by_hand(scene->world.sim, INT64_MIN);
    assert_int_equal(add(scene, -1), UV_ERANGE);
    assert_true(number(scene) == INT64_MIN);
}

/* -------------------------------------------------------------------- the calls */

static void compare_and_set_changes_only_what_is_expected(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(atomic_process_compare_and_set(&scene->call, &scene->c, 0, 7), 0);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ENONODE);
    assert_false(sim_exists(scene->world.sim, "/app"));
    atomic_process_set_by_hand(scene->world.sim, 5);
    assert_int_equal(atomic_process_compare_and_set(&scene->call, &scene->c, 6, 7), 0);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_EBADVERSION);
    check_value(scene, 5, 5, 0);
    assert_int_equal(atomic_process_compare_and_set(&scene->call, &scene->c, 5, 7), 0);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    check_value(scene, 5, 7, 1);
    assert_true(number(scene) == 7);
}

static void try_set_tells_what_it_has_replaced(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(atomic_process_try_set(&scene->call, &scene->c, 4), 0);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    check_value(scene, 0, 4, 1);
    atomic_process_set_by_hand(scene->world.sim, 8);
    assert_int_equal(atomic_process_try_set(&scene->call, &scene->c, INT64_MIN), 0);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    check_value(scene, 8, INT64_MIN, 1);
}

static void force_set_and_create(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(atomic_process_create(&scene->call, &scene->c, 3), 0);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    check_value(scene, 0, 3, 1);
    assert_true(number(scene) == 3);
    assert_int_equal(atomic_process_create(&scene->call, &scene->c, 4), 0);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ENODEEXISTS);
    assert_true(number(scene) == 3);
    assert_int_equal(atomic_process_force_set(&scene->call, &scene->c, 9), 0);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    assert_true(number(scene) == 9);
    assert_int_equal(sim_delete_by_hand(scene->world.sim, ATOMIC_PROCESS_PATH), 0);
    assert_int_equal(atomic_process_force_set(&scene->call, &scene->c, 10), 0);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    assert_true(number(scene) == 10);
}

static void an_add_is_two_requests(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(add(scene, 1), 0);
    uint64_t before = sim_submitted(scene->c.process.port);
    uint64_t begun_ms = world_now(&scene->world);
    assert_int_equal(add(scene, 1), 0);
    assert_int_equal(sim_submitted(scene->c.process.port) - before, 2);
    assert_int_equal(world_now(&scene->world) - begun_ms, 4); /* 1 ms each way */
    assert_int_equal(get(scene), 0);
    assert_int_equal(sim_submitted(scene->c.process.port) - before, 3);
}

/* One after the other: none of them stands in the way of another. */
static void calls_are_carried_out_in_their_order(void **state)
{
    struct scene *scene = *state;
    struct atomic_process_call calls[20];

    for (int i = 0; i < 20; i++) {
        assert_int_equal(atomic_process_add(&calls[i], &scene->c, 1), 0);
    }
    for (int i = 0; i < 20; i++) {
        assert_int_equal(atomic_process_await(&calls[i]), 0);
        assert_true(calls[i].value.pre_value == i);
        assert_int_equal(calls[i].value.optimistic_tries, 1);
    }
}

static void calls_wait_for_a_connection(void **state)
{
    struct scene *scene = *state;

    sim_disconnect(scene->c.process.port, SIM_RESET, 2000);
    sim_run_for(scene->world.sim, 10);
    assert_int_equal(atomic_process_add(&scene->call, &scene->c, 1), 0);
    sim_run_for(scene->world.sim, 1000);
    assert_int_equal(scene->call.told, 0);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    assert_true(number(scene) == 1);
}

/* -------------------------------------------------------------------- conflicts */

/* Sets the number between the reading and the write of the call under way. */
static void outrun(struct scene *scene, int64_t by)
{
    run_until_state(scene, UVZK__ATOMIC_WRITING);
    atomic_process_set_by_hand(scene->world.sim, by);
    run_until_state(scene, UVZK__ATOMIC_READING);
}

static void whoever_was_outrun_tries_again(void **state)
{
    struct scene *scene = *state;

    atomic_process_set_by_hand(scene->world.sim, 10);
    assert_int_equal(atomic_process_add(&scene->call, &scene->c, 1), 0);
    outrun(scene, 20);
    outrun(scene, 30);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    check_value(scene, 30, 31, 3);
}

static void the_policy_limits_the_tries(void **state)
{
    struct scene *scene = *state;

    atomic_process_set_by_hand(scene->world.sim, 10);
    assert_int_equal(atomic_process_add(&scene->call, &scene->c, 1), 0);
    outrun(scene, 20);
    outrun(scene, 30);
    run_until_state(scene, UVZK__ATOMIC_WRITING);
    atomic_process_set_by_hand(scene->world.sim, 40);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_EBADVERSION);
    check_value(scene, 30, 30, 3);
    assert_true(number(scene) == 40);
}

static void compare_and_set_is_one_try(void **state)
{
    struct scene *scene = *state;

    atomic_process_set_by_hand(scene->world.sim, 10);
    assert_int_equal(atomic_process_compare_and_set(&scene->call, &scene->c, 10, 11), 0);
    run_until_state(scene, UVZK__ATOMIC_WRITING);
    atomic_process_set_by_hand(scene->world.sim, 10);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_EBADVERSION);
    assert_int_equal(scene->call.value.optimistic_tries, 1);
}

static void a_znode_that_is_deleted_meanwhile_begins_at_0_again(void **state)
{
    struct scene *scene = *state;

    atomic_process_set_by_hand(scene->world.sim, 10);
    assert_int_equal(atomic_process_add(&scene->call, &scene->c, 1), 0);
    run_until_state(scene, UVZK__ATOMIC_WRITING);
    assert_int_equal(sim_delete_by_hand(scene->world.sim, ATOMIC_PROCESS_PATH), 0);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    check_value(scene, 0, 1, 2);
}

static void tries_pause_as_the_policy_says(void **state)
{
    struct scene *scene = *state;
    uvzk_atomic_long_options_t options;
    struct atomic_process d;

    atomic_process_options(&options, 2, false);
    options.retry.base_ms = 700;
    atomic_process_open(&d, &scene->world, "d", &options);
    atomic_process_set_by_hand(scene->world.sim, 10);
    assert_int_equal(atomic_process_add(&scene->call, &d, 1), 0);
    const struct uvzk__atomic_long *atomic = d.atomic.impl;
    while (atomic->state != UVZK__ATOMIC_WRITING) {
        assert_true(sim_step(scene->world.sim));
    }
    atomic_process_set_by_hand(scene->world.sim, 20);
    sim_run_for(scene->world.sim, 600);
    assert_int_equal(atomic->state, UVZK__ATOMIC_PAUSING);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    assert_true(scene->call.value.optimistic_ms >= 700);
    assert_true(number(scene) == 21);
    atomic_process_end(&d);
}

/* -------------------------------------------------------------------- promotion */

static size_t mutex_contenders(const struct scene *scene)
{
    const char *names[4];

    return sim_exists(scene->world.sim, ATOMIC_PROCESS_MUTEX)
               ? sim_children(scene->world.sim, ATOMIC_PROCESS_MUTEX, names, 4)
               : 0;
}

static void outrun_once_for_all(struct scene *scene)
{
    atomic_process_set_by_hand(scene->world.sim, 10);
    assert_int_equal(atomic_process_add(&scene->call, &scene->c, 1), 0);
    run_until_state(scene, UVZK__ATOMIC_WRITING);
    atomic_process_set_by_hand(scene->world.sim, 20);
    run_until_state(scene, UVZK__ATOMIC_ACQUIRING);
}

static void the_mutex_is_held_for_the_promoted_phase_alone(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(add(scene, 0), 0);
    assert_int_equal(mutex_contenders(scene), 0);
    outrun_once_for_all(scene);
    run_until_state(scene, UVZK__ATOMIC_CATCHING_UP);
    assert_int_equal(mutex_contenders(scene), 1);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    check_value(scene, 20, 21, 1);
    assert_int_equal(scene->call.value.promoted_tries, 1);
    sim_run_for(scene->world.sim, 1000);
    assert_int_equal(mutex_contenders(scene), 0);
    /* The next one begins without it. */
    assert_int_equal(add(scene, 1), 0);
    assert_int_equal(scene->call.value.promoted_tries, 0);
    assert_true(number(scene) == 22);
}

static void the_version_is_compared_under_the_mutex_too(void **state)
{
    struct scene *scene = *state;

    outrun_once_for_all(scene);
    run_until_state(scene, UVZK__ATOMIC_WRITING);
    atomic_process_set_by_hand(scene->world.sim, 30);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_EBADVERSION);
    assert_int_equal(scene->call.value.promoted_tries, 1);
    assert_true(number(scene) == 30);
    sim_run_for(scene->world.sim, 1000);
    assert_int_equal(mutex_contenders(scene), 0);
}

/* Begins a promoted call while another client holds the mutex. Returns its znode. */
static const char *begin_behind_another(struct scene *scene)
{
    world_make_path(&scene->world, ATOMIC_PROCESS_MUTEX);
    const char *other = sim_create_by_hand(
        scene->world.sim,
        ATOMIC_PROCESS_MUTEX "/_c_00000000-0000-4000-8000-000000000001-lock-",
        UVZK__PERSISTENT_SEQUENTIAL);
    assert_non_null(other);
    outrun_once_for_all(scene);
    sim_run_for(scene->world.sim, 500);
    assert_int_equal(scene->call.told, 0);
    assert_int_equal(mutex_contenders(scene), 2);
    return other;
}

static void a_promoted_call_waits_for_the_mutex(void **state)
{
    struct scene *scene = *state;
    char other[256];

    (void)strcpy(other, begin_behind_another(scene));
    assert_int_equal(sim_delete_by_hand(scene->world.sim, other), 0);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    assert_true(scene->call.value.promoted_ms >= 500);
    assert_true(number(scene) == 21);
}

static void the_wait_for_the_mutex_has_an_end(void **state)
{
    struct scene *scene = *state;
    uvzk_atomic_long_options_t options;

    atomic_process_close(&scene->c);
    assert_true(world_await(&scene->world, &scene->c.atomic_closed, PATIENCE_MS));
    scene->c.atomic_closed = 0;
    atomic_process_options(&options, 1, true);
    options.mutex_timeout_ms = 2000;
    assert_int_equal(atomic_process_init(&scene->c, &options), 0);
    (void)begin_behind_another(scene);
    assert_int_equal(atomic_process_await(&scene->call), UV_ETIMEDOUT);
    assert_true(number(scene) == 20);
    sim_run_for(scene->world.sim, 1000);
    assert_int_equal(mutex_contenders(scene), 1); /* the other one */
}

static void a_close_gives_up_the_wait_for_the_mutex(void **state)
{
    struct scene *scene = *state;

    (void)begin_behind_another(scene);
    atomic_process_close(&scene->c);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECLOSED);
    assert_true(world_await(&scene->world, &scene->c.atomic_closed, PATIENCE_MS));
    sim_run_for(scene->world.sim, 1000);
    assert_int_equal(mutex_contenders(scene), 1);
}

static void a_close_releases_the_mutex(void **state)
{
    struct scene *scene = *state;

    outrun_once_for_all(scene);
    run_until_state(scene, UVZK__ATOMIC_WRITING);
    atomic_process_close(&scene->c);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECLOSED);
    assert_true(world_await(&scene->world, &scene->c.atomic_closed, PATIENCE_MS));
    sim_run_for(scene->world.sim, 1000);
    assert_int_equal(mutex_contenders(scene), 0);
}

/* A lost hold changes nothing: the version is compared. */
static void the_mutex_may_be_lost(void **state)
{
    struct scene *scene = *state;
    const char *names[1];
    char path[256];

    outrun_once_for_all(scene);
    run_until_state(scene, UVZK__ATOMIC_CATCHING_UP);
    assert_int_equal(sim_children(scene->world.sim, ATOMIC_PROCESS_MUTEX, names, 1), 1);
    (void)strcpy(path, ATOMIC_PROCESS_MUTEX "/");
    assert_int_equal(sim_delete_by_hand(scene->world.sim, strcat(path, names[0])), 0);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    assert_int_equal(add(scene, 1), 0);
    assert_true(number(scene) == 22);
}

/* ------------------------------------------------------------------ lost replies */

/* Begins to add 1 to 10, and loses the connection with the request, or with the reply. */
static void lose(struct scene *scene, void (*how)(struct uvzk__port *))
{
    atomic_process_set_by_hand(scene->world.sim, 10);
    assert_int_equal(atomic_process_add(&scene->call, &scene->c, 1), 0);
    run_until_state(scene, UVZK__ATOMIC_WRITING);
    how(scene->c.process.port);
    run_until_state(scene, UVZK__ATOMIC_IDLE);
    assert_int_equal(scene->call.told, 0);
}

static void a_lost_request_is_sent_again(void **state)
{
    struct scene *scene = *state;

    lose(scene, sim_lose_request);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    check_value(scene, 10, 11, 2);
    assert_true(number(scene) == 11);
}

/* Curator would add once more. */
static void a_lost_reply_does_not_add_twice(void **state)
{
    struct scene *scene = *state;

    lose(scene, sim_lose_reply);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECONNLOSS);
    assert_true(number(scene) == 11);
}

static void a_spoilt_reply_does_not_add_twice(void **state)
{
    struct scene *scene = *state;

    lose(scene, sim_reply_enomem);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECONNLOSS);
    assert_true(number(scene) == 11);
}

static void another_number_after_one_write_is_another_clients(void **state)
{
    struct scene *scene = *state;

    lose(scene, sim_lose_request);
    atomic_process_set_by_hand(scene->world.sim, 50);
    assert_int_equal(atomic_process_await(&scene->call), 0);
    check_value(scene, 50, 51, 2);
}

/* The znode shows the same as if the write had been carried out. */
static void the_same_number_may_be_anyones(void **state)
{
    struct scene *scene = *state;

    lose(scene, sim_lose_request);
    atomic_process_set_by_hand(scene->world.sim, 11);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECONNLOSS);
    assert_true(number(scene) == 11);
}

static void what_was_written_over_is_not_known(void **state)
{
    struct scene *scene = *state;

    lose(scene, sim_lose_reply);
    atomic_process_set_by_hand(scene->world.sim, 50);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECONNLOSS);
    assert_true(number(scene) == 50);
}

static void what_was_deleted_is_not_known(void **state)
{
    struct scene *scene = *state;

    lose(scene, sim_lose_reply);
    assert_int_equal(sim_delete_by_hand(scene->world.sim, ATOMIC_PROCESS_PATH), 0);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECONNLOSS);
}

/* A version that begins anew would show one write of another number. */
static void what_was_made_again_is_not_known(void **state)
{
    struct scene *scene = *state;

    lose(scene, sim_lose_reply);
    assert_int_equal(sim_delete_by_hand(scene->world.sim, ATOMIC_PROCESS_PATH), 0);
    atomic_process_set_by_hand(scene->world.sim, 50);
    atomic_process_set_by_hand(scene->world.sim, 60); /* version 2, one above 1 */
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECONNLOSS);
    assert_true(number(scene) == 60);
}

static void another_session_cannot_find_out(void **state)
{
    struct scene *scene = *state;

    lose(scene, sim_lose_request);
    assert_true(sim_expire(scene->c.process.port));
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECONNLOSS);
    /* It is told at once, and not only in the next session. */
    assert_false(process_connected(&scene->c.process));
    assert_true(number(scene) == 10);
    assert_int_equal(add(scene, 1), 0);
    assert_true(number(scene) == 11);
}

static void a_lost_force_set_is_told(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(add(scene, 1), 0);
    assert_int_equal(atomic_process_force_set(&scene->call, &scene->c, 7), 0);
    sim_lose_reply(scene->c.process.port);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECONNLOSS);
    assert_true(number(scene) == 7);
}

static void a_lost_create_is_told(void **state)
{
    struct scene *scene = *state;

    world_make_path(&scene->world, "/app/numbers");
    sim_run_for(scene->world.sim, 100); /* its barrier is open */
    assert_int_equal(atomic_process_create(&scene->call, &scene->c, 7), 0);
    sim_lose_reply(scene->c.process.port);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECONNLOSS);
    assert_true(number(scene) == 7);
}

/* ---------------------------------------------------------------- lagging servers */

/* A world with three servers, in which "c" is at a follower that lags behind by a change of
 * the number from 5 to 6. */
static void begin_lagging(struct world *world, struct atomic_process *c)
{
    struct sim_options options;
    uvzk_atomic_long_options_t long_options;

    sim_options_init(&options);
    options.servers = 3;
    world_begin_with(world, 1, UVZK__TUNE_ALL, &options);
    atomic_process_set_by_hand(world->sim, 5);
    atomic_process_options(&long_options, 1, false);
    atomic_process_begin(c, world, "c", &long_options);
    int follower = sim_leader(world->sim) == 0 ? 1 : 0;
    sim_connect_to(c->process.port, follower);
    process_start(&c->process);
    assert_true(process_await_connected(&c->process, PATIENCE_MS));
    sim_run_for(world->sim, 100);
    sim_lag(world->sim, follower, 1000);
    atomic_process_set_by_hand(world->sim, 6);
}

static void end_lagging(struct world *world, struct atomic_process *c)
{
    atomic_process_end(c);
    world_end(world);
}

static void a_lagging_server_does_not_refuse_a_compare_and_set(void **state)
{
    struct atomic_process_call call;
    struct atomic_process c;
    struct world world;

    (void)state;
    begin_lagging(&world, &c);
    assert_int_equal(atomic_process_compare_and_set(&call, &c, 6, 7), 0);
    assert_int_equal(atomic_process_await(&call), 0);
    assert_true(atomic_process_number(world.sim) == 7);
    end_lagging(&world, &c);
}

static void a_lagging_server_does_not_refuse_a_sum(void **state)
{
    struct atomic_process_call call;
    struct atomic_process c;
    struct world world;

    (void)state;
    begin_lagging(&world, &c);
    assert_int_equal(atomic_process_add(&call, &c, INT64_MAX - 5), 0); /* 5 + it fits */
    /* The one try goes over the old version. */
    assert_int_equal(atomic_process_await(&call), UVZK_EBADVERSION);
    atomic_process_set_by_hand(world.sim, INT64_MAX);
    assert_int_equal(atomic_process_get(&call, &c), 0);
    assert_int_equal(atomic_process_await(&call), 0);
    sim_lag(world.sim, sim_server_of(c.process.port), 1000);
    sim_run_for(world.sim, 5);
    atomic_process_set_by_hand(world.sim, 0);
    assert_int_equal(atomic_process_add(&call, &c, 1), 0);
    assert_int_equal(atomic_process_await(&call), 0);
    assert_true(atomic_process_number(world.sim) == 1);
    end_lagging(&world, &c);
}

/* A world in which "c" has two sessions: one at the number's path, at a follower, and one at
 * the path of a mutex, at the leader. Another client holds the mutex, by the znode `other`,
 * and a call of "c" waits for it. */
struct two_sessions {
    struct world world;
    struct atomic_process c;
    struct atomic_process_call call;
    struct uvzk__port *number_port;
    char mutex[64], other[128];
    int follower;
};

static void open_two_sessions(struct two_sessions *two)
{
    uvzk_atomic_long_options_t options;
    int number = 0;

    memset(&two->c, 0, sizeof(two->c));
    two->world.options.sessions = 2;
    process_make(&two->c.process, &two->world, "c", NULL);
    const struct uvzk__session *first = two->c.process.client.impl;
    const struct uvzk__session *home = uvzk__home_of(first, ATOMIC_PROCESS_PATH);
    do {
        (void)snprintf(two->mutex, sizeof(two->mutex), "/mutex%d", number++);
    } while (uvzk__home_of(first, two->mutex) == home);
    atomic_process_options(&options, 1, true);
    options.mutex_path = two->mutex;
    assert_int_equal(atomic_process_init(&two->c, &options), 0);
    two->follower = sim_leader(two->world.sim) == 0 ? 1 : 0;
    for (uint32_t i = 0; i < 2; i++) {
        sim_connect_to(two->c.process.ports[i],
                       i == home->number ? two->follower : sim_leader(two->world.sim));
    }
    two->number_port = two->c.process.ports[home->number];
    process_start(&two->c.process);
    assert_true(process_await_connected(&two->c.process, PATIENCE_MS));
}

static void begin_two_sessions(struct two_sessions *two)
{
    struct sim_options options;

    sim_options_init(&options);
    options.servers = 3;
    world_begin_with(&two->world, 1, UVZK__TUNE_ALL, &options);
    atomic_process_set_by_hand(two->world.sim, 10);
    open_two_sessions(two);
    world_make_path(&two->world, two->mutex);
    (void)snprintf(two->other, sizeof(two->other),
                   "%s/_c_00000000-0000-4000-8000-000000000001-lock-", two->mutex);
    const char *made =
        sim_create_by_hand(two->world.sim, two->other, UVZK__PERSISTENT_SEQUENTIAL);
    (void)snprintf(two->other, sizeof(two->other), "%s", made);
    assert_int_equal(atomic_process_add(&two->call, &two->c, 1), 0);
    const struct uvzk__atomic_long *atomic = two->c.atomic.impl;
    while (atomic->state != UVZK__ATOMIC_WRITING) {
        assert_true(sim_step(two->world.sim));
    }
    atomic_process_set_by_hand(two->world.sim, 20);
    sim_run_for(two->world.sim, 500);
    assert_int_equal(atomic->state, UVZK__ATOMIC_ACQUIRING);
}

/* The mutex is in another session of the client, at a server that does not lag. */
static void a_lagging_server_does_not_waste_the_mutex(void **state)
{
    struct two_sessions two;

    (void)state;
    begin_two_sessions(&two);
    /* Its holder writes, and leaves. */
    sim_lag(two.world.sim, two.follower, 2000);
    atomic_process_set_by_hand(two.world.sim, 30);
    assert_int_equal(sim_delete_by_hand(two.world.sim, two.other), 0);
    assert_int_equal(atomic_process_await(&two.call), 0);
    assert_true(atomic_process_number(two.world.sim) == 31);
    end_lagging(&two.world, &two.c);
}

/* ... and the session that waits for it does not end. */
static void a_call_that_has_ended_does_not_wait_for_the_mutex(void **state)
{
    struct two_sessions two;
    const char *names[2];

    (void)state;
    begin_two_sessions(&two);
    two.c.process.may_log_errors = true;
    assert_int_equal(sim_children(two.world.sim, two.mutex, names, 2), 2);
    sim_fail_auth(two.number_port);
    assert_int_equal(atomic_process_await(&two.call), UVZK_EAUTH);
    sim_run_for(two.world.sim, 1000);
    assert_int_equal(sim_children(two.world.sim, two.mutex, names, 2), 1);
    end_lagging(&two.world, &two.c);
}

static void a_get_may_be_behind(void **state)
{
    struct atomic_process_call call;
    struct atomic_process c;
    struct world world;

    (void)state;
    begin_lagging(&world, &c);
    assert_int_equal(atomic_process_get(&call, &c), 0);
    assert_int_equal(atomic_process_await(&call), 0);
    assert_true(call.value.post_value == 5);
    end_lagging(&world, &c);
}

/* --------------------------------------------------------------------- the end */

static void a_close_ends_the_calls(void **state)
{
    struct scene *scene = *state;
    struct atomic_process_call second;

    assert_int_equal(atomic_process_add(&scene->call, &scene->c, 1), 0);
    assert_int_equal(atomic_process_add(&second, &scene->c, 1), 0);
    atomic_process_close(&scene->c);
    assert_int_equal(uvzk_atomic_long_close(&scene->c.atomic, NULL), UVZK_ESTATE);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECLOSED);
    assert_int_equal(atomic_process_await(&second), UVZK_ECLOSED);
    assert_int_equal(atomic_process_get(&second, &scene->c), UVZK_ECLOSED);
    assert_true(world_await(&scene->world, &scene->c.atomic_closed, PATIENCE_MS));
    assert_int_equal(atomic_process_get(&second, &scene->c), UVZK_ECLOSED);
}

static void the_client_closes_its_atomic_longs(void **state)
{
    struct scene *scene = *state;

    outrun_once_for_all(scene);
    process_close(&scene->c.process);
    assert_int_equal(
        atomic_process_get(&(struct atomic_process_call){.told = 0}, &scene->c),
        UVZK_ECLOSED);
    assert_int_equal(atomic_process_await(&scene->call), UVZK_ECLOSED);
}

static void refused_credentials_end_the_calls(void **state)
{
    struct scene *scene = *state;

    scene->c.process.may_log_errors = true;
    sim_fail_auth(scene->c.process.port);
    assert_int_equal(add(scene, 1), UVZK_EAUTH);
    assert_int_equal(add(scene, 1), UVZK_EAUTH);
}

static void a_refused_write_is_told(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(add(scene, 1), 0);
    sim_refuse(scene->world.sim, UVZK__RPC_SET, UVZK_ENOAUTH, 1);
    assert_int_equal(add(scene, 1), UVZK_ENOAUTH);
    sim_refuse(scene->world.sim, UVZK__RPC_GET, UVZK_ENOAUTH, 1);
    assert_int_equal(add(scene, 1), UVZK_ENOAUTH);
    sim_refuse(scene->world.sim, UVZK__RPC_SET, UVZK_ETHROTTLED, 1);
    assert_int_equal(add(scene, 1), 0); /* sent again */
    check_value(scene, 1, 2, 1);
}

static void bad_arguments_are_refused(void **state)
{
    struct scene *scene = *state;
    uvzk_client_t *client = &scene->c.process.client;
    uvzk_atomic_long_options_t options;
    uvzk_atomic_long_t atomic = {.data = NULL};
    uvzk_req_t call = {.data = NULL};

    uvzk_atomic_long_options_init(&options);
    assert_int_equal(uvzk_atomic_long_init(NULL, &atomic, "/n", &options), UV_EINVAL);
    assert_int_equal(uvzk_atomic_long_init(client, NULL, "/n", &options), UV_EINVAL);
    assert_int_equal(uvzk_atomic_long_init(client, &atomic, NULL, &options), UV_EINVAL);
    assert_int_equal(uvzk_atomic_long_init(client, &atomic, "n", &options), UVZK_EPATH);
    options.mutex_path = "n";
    assert_int_equal(uvzk_atomic_long_init(client, &atomic, "/n", &options), UVZK_EPATH);
    options.mutex_path = "/n";
    assert_int_equal(uvzk_atomic_long_init(client, &atomic, "/n", &options), UV_EINVAL);
    options.mutex_path = "/m";
    options.mutex_timeout_ms = -2;
    assert_int_equal(uvzk_atomic_long_init(client, &atomic, "/n", &options), UV_EINVAL);
    options.mutex_timeout_ms = 0;
    options.mutex_retry.kind = 99;
    assert_int_equal(uvzk_atomic_long_init(client, &atomic, "/n", &options), UV_EINVAL);
    uvzk_atomic_long_options_init(&options);
    options.size = 8;
    assert_int_equal(uvzk_atomic_long_init(client, &atomic, "/n", &options), UV_EINVAL);
    assert_null(atomic.impl);
    assert_int_equal(uvzk_atomic_long_init(client, &scene->c.atomic, "/n", NULL),
                     UV_EBUSY);
    assert_int_equal(uvzk_atomic_long_add(&scene->c.atomic, &call, 1, NULL), UV_EINVAL);
    assert_int_equal(uvzk_atomic_long_add(&scene->c.atomic, NULL, 1, NULL), UV_EINVAL);
    assert_int_equal(uvzk_atomic_long_add(NULL, &call, 1, NULL), UV_EINVAL);
    assert_int_equal(uvzk_atomic_long_close(NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_atomic_long_close(&atomic, NULL), UVZK_ESTATE);
    assert_int_equal(atomic_process_add(&scene->call, &scene->c, 1), 0);
    struct atomic_process_call in_use = scene->call;
    assert_int_equal(
        uvzk_atomic_long_get(&scene->c.atomic, &in_use.call, (uvzk_req_cb)abort),
        UV_EBUSY);
    assert_int_equal(atomic_process_await(&scene->call), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_missing_znode_is_0_and_is_made_by_the_first_change),
        CASE(a_znode_without_data_is_0),
        CASE(too_few_bytes_are_no_number),
        CASE(a_sum_without_room_is_refused),
        CASE(compare_and_set_changes_only_what_is_expected),
        CASE(try_set_tells_what_it_has_replaced),
        CASE(force_set_and_create),
        CASE(an_add_is_two_requests),
        CASE(calls_are_carried_out_in_their_order),
        CASE(calls_wait_for_a_connection),
        CASE(whoever_was_outrun_tries_again),
        CASE(the_policy_limits_the_tries),
        CASE(compare_and_set_is_one_try),
        CASE(a_znode_that_is_deleted_meanwhile_begins_at_0_again),
        CASE(tries_pause_as_the_policy_says),
        PROMOTED_CASE(the_mutex_is_held_for_the_promoted_phase_alone),
        PROMOTED_CASE(the_version_is_compared_under_the_mutex_too),
        PROMOTED_CASE(a_promoted_call_waits_for_the_mutex),
        PROMOTED_CASE(the_wait_for_the_mutex_has_an_end),
        PROMOTED_CASE(a_close_gives_up_the_wait_for_the_mutex),
        PROMOTED_CASE(a_close_releases_the_mutex),
        PROMOTED_CASE(the_mutex_may_be_lost),
        CASE(a_lost_request_is_sent_again),
        CASE(a_lost_reply_does_not_add_twice),
        CASE(a_spoilt_reply_does_not_add_twice),
        CASE(another_number_after_one_write_is_another_clients),
        CASE(the_same_number_may_be_anyones),
        CASE(what_was_written_over_is_not_known),
        CASE(what_was_deleted_is_not_known),
        CASE(what_was_made_again_is_not_known),
        CASE(another_session_cannot_find_out),
        CASE(a_lost_force_set_is_told),
        CASE(a_lost_create_is_told),
        cmocka_unit_test(a_lagging_server_does_not_refuse_a_compare_and_set),
        cmocka_unit_test(a_lagging_server_does_not_refuse_a_sum),
        cmocka_unit_test(a_lagging_server_does_not_waste_the_mutex),
        cmocka_unit_test(a_call_that_has_ended_does_not_wait_for_the_mutex),
        cmocka_unit_test(a_get_may_be_behind),
        CASE(a_close_ends_the_calls),
        PROMOTED_CASE(the_client_closes_its_atomic_longs),
        CASE(refused_credentials_end_the_calls),
        CASE(a_refused_write_is_told),
        CASE(bad_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
