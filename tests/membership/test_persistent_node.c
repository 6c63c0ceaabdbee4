/* SPDX-License-Identifier: Apache-2.0 */
/* What a persistent node promises, one by one. */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "persistent_process.h"

/* A world without randomness, with one process, "c". */
struct scene {
    struct world world;
    struct persistent_process c;
};

static int begin_with(void **state, uint32_t mode)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    assert_non_null(scene);
    world_begin_exact(&scene->world, UVZK__TUNE_ALL, 1);
    persistent_process_open(&scene->c, &scene->world, "c", mode, "here");
    *state = scene;
    return 0;
}

static int begin_ephemeral(void **state)
{
    return begin_with(state, UVZK_PERSISTENT_NODE_EPHEMERAL);
}

static int begin_persistent(void **state)
{
    return begin_with(state, UVZK_PERSISTENT_NODE_PERSISTENT);
}

static int end(void **state)
{
    struct scene *scene = *state;

    persistent_process_end(&scene->c);
    world_end(&scene->world);
    free(scene);
    return 0;
}

#define EPHEMERAL_CASE(test) cmocka_unit_test_setup_teardown(test, begin_ephemeral, end)
#define PERSISTENT_CASE(test) cmocka_unit_test_setup_teardown(test, begin_persistent, end)
#define CASES(test) EPHEMERAL_CASE(test), PERSISTENT_CASE(test)

static void close_it(struct scene *scene, int status)
{
    persistent_process_close(&scene->c);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(scene->c.close_status, status);
}

/* ------------------------------------------------------------------- existence */

static void it_is_there_and_goes_with_the_close(void **state)
{
    struct scene *scene = *state;

    assert_true(persistent_process_is_there(&scene->c));
    assert_int_equal(scene->c.told, 1);
    sim_run_for(scene->world.sim, 3 * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->c.told, 1);
    close_it(scene, 0);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

static void it_is_made_again_when_it_is_deleted(void **state)
{
    struct scene *scene = *state;

    for (int i = 2; i < 5; i++) {
        assert_int_equal(sim_delete_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH),
                         0);
        persistent_process_await(&scene->c, &scene->c.present, i);
        assert_int_equal(scene->c.told, 2 * i - 1); /* UVZK_ENONODE each time */
    }
}

/* No watch event is needed for that. */
static void it_is_made_again_when_it_was_deleted_meanwhile(void **state)
{
    struct scene *scene = *state;

    sim_disconnect(scene->c.process.port, SIM_RESET, 2000);
    sim_run_for(scene->world.sim, 100);
    assert_int_equal(sim_delete_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH), 0);
    persistent_process_await(&scene->c, &scene->c.present, 2);
}

static void it_is_made_again_in_a_new_session(void **state)
{
    struct scene *scene = *state;

    assert_true(sim_expire(scene->c.process.port));
    persistent_process_await(&scene->c, &scene->c.told, 2);
    assert_int_equal(scene->c.status, UVZK_EEXPIRED);
    assert_false(process_connected(&scene->c.process));
    persistent_process_await(&scene->c, &scene->c.present, 2);
    assert_int_equal(scene->c.told, 3);
}

static void a_persistent_one_outlives_the_session(void **state)
{
    struct scene *scene = *state;

    assert_true(sim_expire(scene->c.process.port));
    sim_run_for(scene->world.sim, 3 * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->c.told, 1);
    assert_true(persistent_process_is_there(&scene->c));
}

static void a_reconnection_is_no_news(void **state)
{
    struct scene *scene = *state;

    sim_disconnect(scene->c.process.port, SIM_RESET, 2000);
    sim_run_for(scene->world.sim, 2 * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->c.told, 1);
}

/* At LOST the servers may have ended the session, which nothing reports without a connection. */
static void the_end_is_assumed_at_lost(void **state)
{
    struct scene *scene = *state;

    sim_disconnect(scene->c.process.port, SIM_SILENT, 3ULL * WORLD_TIMEOUT_MS);
    persistent_process_await(&scene->c, &scene->c.process.lost, 1);
    sim_run_for(scene->world.sim, 1);
    assert_int_equal(scene->c.told, 2);
    assert_int_equal(scene->c.status, UVZK_EEXPIRED);
    persistent_process_await(&scene->c, &scene->c.present, 2);
    assert_int_equal(scene->c.told, 3);
}

static void the_end_of_a_session_is_nothing_to_a_persistent_one(void **state)
{
    struct scene *scene = *state;

    sim_disconnect(scene->c.process.port, SIM_SILENT, 3ULL * WORLD_TIMEOUT_MS);
    persistent_process_await(&scene->c, &scene->c.process.lost, 1);
    sim_run_for(scene->world.sim, 5ULL * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->c.told, 1);
}

/* Missing parents are created, as containers. */
static void parents_are_made(void **state)
{
    struct scene *scene = *state;

    close_it(scene, 0);
    sim_check_containers(scene->world.sim);
    sim_check_containers(scene->world.sim);
    assert_false(sim_exists(scene->world.sim, "/app"));
}

/* --------------------------------------------------------------------- data */

static void data_are_set(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(persistent_process_set(&scene->c, "there"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 2);
    assert_true(persistent_process_is_there(&scene->c));
    assert_int_equal(persistent_process_set(&scene->c, "one"), 0);
    assert_int_equal(persistent_process_set(&scene->c, ""), 0);
    persistent_process_await(&scene->c, &scene->c.present, 3);
    assert_true(persistent_process_is_there(&scene->c));
    assert_int_equal(sim_delete_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH), 0);
    persistent_process_await(&scene->c, &scene->c.present, 4);
    assert_true(persistent_process_is_there(&scene->c)); /* with the same data */
}

static void data_wait_for_a_connection(void **state)
{
    struct scene *scene = *state;

    sim_disconnect(scene->c.process.port, SIM_RESET, 1000);
    assert_int_equal(persistent_process_set(&scene->c, "there"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 2);
}

static void what_others_set_stays(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(
        sim_set_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH, "other", 5), 0);
    sim_run_for(scene->world.sim, 3 * WORLD_TIMEOUT_MS);
    assert_int_equal(scene->c.told, 1);
    assert_int_equal(persistent_process_set(&scene->c, "mine"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 2);
}

static void what_others_set_in_an_ephemeral_one_is_set_back(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(
        sim_set_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH, "other", 5), 0);
    sim_run_for(scene->world.sim, 1000);
    assert_true(persistent_process_is_there(&scene->c));
    assert_int_equal(scene->c.told, 1);
}

/* ---------------------------------------------------------------- other owners */

/* Curator sets its data, and loses the znode with the other's session. */
static void anothers_ephemeral_znode_is_waited_for(void **state)
{
    struct scene *scene = *state;
    struct persistent_process d;

    persistent_process_begin(&d, &scene->world, "d", UVZK_PERSISTENT_NODE_EPHEMERAL,
                             "mine");
    process_start(&d.process);
    persistent_process_await(&d, &d.told, 1);
    assert_int_equal(d.status, UVZK_ENODEEXISTS);
    assert_true(persistent_process_is_there(&scene->c));
    persistent_process_close(&scene->c);
    persistent_process_await(&d, &d.present, 1);
    assert_true(persistent_process_is_there(&d));
    persistent_process_end(&d);
}

/* It is not the closing one's to delete. */
static void anothers_znode_survives_the_close(void **state)
{
    struct scene *scene = *state;
    struct persistent_process d;

    persistent_process_begin(&d, &scene->world, "d", UVZK_PERSISTENT_NODE_EPHEMERAL,
                             "mine");
    process_start(&d.process);
    persistent_process_await(&d, &d.told, 1);
    persistent_process_end(&d);
    assert_int_equal(d.close_status, 0);
    assert_true(persistent_process_is_there(&scene->c));
}

static void a_persistent_znode_is_taken_over_by_a_persistent_one(void **state)
{
    struct scene *scene = *state;

    close_it(scene, 0);
    scene->c.node_closed = 0;
    persistent_process_make_parents(scene->world.sim);
    assert_non_null(
        sim_create_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH, UVZK__PERSISTENT));
    assert_int_equal(persistent_process_init(&scene->c, "taken over"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 2);
    assert_true(persistent_process_is_there(&scene->c));
}

/* A session that its client has given up lives on for a time. */
static void the_znode_of_the_session_before_is_waited_for(void **state)
{
    struct scene *scene = *state;
    int64_t before = uvzk_client_session_id(&scene->c.process.client);

    sim_disconnect(scene->c.process.port, SIM_RESET, 100);
    sim_run_for(scene->world.sim, 20);
    sim_close_handle(scene->c.process.port);
    persistent_process_await(&scene->c, &scene->c.present, 2);
    assert_true(uvzk_client_session_id(&scene->c.process.client) != before);
    assert_true(persistent_process_is_there(&scene->c));
}

/* ------------------------------------------------------------------ lost replies */

static void begin_and_lose(struct scene *scene, struct persistent_process *d,
                           void (*how)(struct uvzk__port *))
{
    close_it(scene, 0);
    persistent_process_make_parents(scene->world.sim);
    persistent_process_begin(d, &scene->world, "d", scene->c.mode, "mine");
    process_start(&d->process);
    const struct uvzk__persistent_node *node = d->node.impl;
    while (node->state != UVZK__PERSISTENT_NODE_CREATING) {
        assert_true(sim_step(scene->world.sim));
    }
    how(d->process.port);
}

static void nothing(struct uvzk__port *port)
{
    (void)port;
}

static void a_lost_create_is_found_again(void **state)
{
    struct scene *scene = *state;
    struct persistent_process d;

    begin_and_lose(scene, &d, sim_lose_reply);
    persistent_process_await(&d, &d.present, 1);
    persistent_process_end(&d);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

static void a_create_that_comes_through_after_the_close_is_undone(void **state)
{
    struct scene *scene = *state;
    struct persistent_process d;

    begin_and_lose(scene, &d, sim_lose_reply);
    persistent_process_close(&d);
    persistent_process_end(&d);
    assert_int_equal(d.close_status, 0);
    assert_int_equal(d.told, 0);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

static void data_that_are_set_during_the_create_are_written(void **state)
{
    struct scene *scene = *state;
    struct persistent_process d;

    begin_and_lose(scene, &d, nothing);
    assert_int_equal(persistent_process_set(&d, "newer"), 0);
    persistent_process_await(&d, &d.present, 1);
    assert_true(persistent_process_is_there(&d));
    persistent_process_end(&d);
}

static void a_close_during_the_create_undoes_it(void **state)
{
    struct scene *scene = *state;
    struct persistent_process d;

    begin_and_lose(scene, &d, nothing);
    persistent_process_close(&d);
    persistent_process_end(&d);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

static void a_lost_delete_is_repeated(void **state)
{
    struct scene *scene = *state;
    const struct uvzk__persistent_node *node = scene->c.node.impl;

    persistent_process_close(&scene->c);
    while (node->state != UVZK__PERSISTENT_NODE_DELETING) {
        assert_true(sim_step(scene->world.sim));
    }
    sim_lose_request(scene->c.process.port);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(scene->c.close_status, 0);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

/* What another client has made of it in the meantime is another version. */
static void the_close_deletes_what_was_read(void **state)
{
    struct scene *scene = *state;
    const struct uvzk__persistent_node *node = scene->c.node.impl;

    persistent_process_close(&scene->c);
    while (node->state != UVZK__PERSISTENT_NODE_DELETING) {
        assert_true(sim_step(scene->world.sim));
    }
    scene->c.disturbed = true;
    assert_int_equal(sim_delete_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH), 0);
    assert_non_null(
        sim_create_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH, UVZK__EPHEMERAL));
    assert_int_equal(
        sim_set_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH, "other", 5), 0);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_true(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
    assert_int_equal(sim_delete_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH), 0);
}

static void a_close_waits_for_the_connection(void **state)
{
    struct scene *scene = *state;

    sim_disconnect(scene->c.process.port, SIM_RESET, 3000);
    sim_run_for(scene->world.sim, 100);
    persistent_process_close(&scene->c);
    sim_run_for(scene->world.sim, 1000);
    assert_int_equal(scene->c.node_closed, 0);
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(scene->c.close_status, 0);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

static void a_session_that_ends_ends_the_close(void **state)
{
    struct scene *scene = *state;

    sim_disconnect(scene->c.process.port, SIM_RESET, 2000);
    sim_run_for(scene->world.sim, 100);
    persistent_process_close(&scene->c);
    assert_true(sim_expire(scene->c.process.port));
    persistent_process_await(&scene->c, &scene->c.node_closed, 1);
    assert_int_equal(scene->c.close_status, UVZK_EEXPIRED);
}

/* ------------------------------------------------------------------- refusals */

static void refusals_are_told_and_tried_again(void **state)
{
    struct scene *scene = *state;

    sim_refuse(scene->world.sim, UVZK__RPC_CREATE, UVZK_ENOAUTH, 3);
    assert_int_equal(sim_delete_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH), 0);
    persistent_process_await(&scene->c, &scene->c.present, 2);
    assert_int_equal(scene->c.told, 4); /* there, missing, refused, there */
    sim_refuse(scene->world.sim, UVZK__RPC_SET, UVZK_ENOAUTH, 1);
    assert_int_equal(persistent_process_set(&scene->c, "there"), 0);
    persistent_process_await(&scene->c, &scene->c.present, 3);
    assert_int_equal(scene->c.told, 6);
}

static void a_forbidden_delete_is_repeated(void **state)
{
    struct scene *scene = *state;

    sim_refuse(scene->world.sim, UVZK__RPC_DELETE, UVZK_ENOAUTH, 3);
    close_it(scene, 0);
    assert_false(sim_exists(scene->world.sim, PERSISTENT_PROCESS_PATH));
}

static void refused_credentials_end_it(void **state)
{
    struct scene *scene = *state;

    scene->c.process.may_log_errors = true;
    scene->c.disturbed = true;
    sim_fail_auth(scene->c.process.port);
    persistent_process_await(&scene->c, &scene->c.told, 2);
    sim_run_for(scene->world.sim, 1000);
    assert_int_equal(scene->c.status, UVZK_EAUTH);
    close_it(scene, UVZK_EAUTH);
    (void)sim_delete_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH);
}

static void the_client_closes_it(void **state)
{
    struct scene *scene = *state;

    process_close(&scene->c.process);
    assert_int_equal(persistent_process_set(&scene->c, "late"), UVZK_ECLOSED);
    persistent_process_await(&scene->c, &scene->c.process.closed, 1);
    assert_null(scene->c.node.impl);
    (void)sim_delete_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH);
}

static void a_close_under_way_ends_with_the_client(void **state)
{
    struct scene *scene = *state;

    scene->c.disturbed = true;
    persistent_process_close(&scene->c);
    process_close(&scene->c.process);
    persistent_process_await(&scene->c, &scene->c.process.closed, 1);
    assert_int_equal(scene->c.node_closed, 1);
    assert_int_equal(scene->c.close_status, UVZK_ECLOSED);
    (void)sim_delete_by_hand(scene->world.sim, PERSISTENT_PROCESS_PATH);
}

static void bad_arguments_are_refused(void **state)
{
    struct scene *scene = *state;
    uvzk_client_t *client = &scene->c.process.client;
    uvzk_persistent_node_t node = {.data = NULL};

    assert_int_equal(uvzk_persistent_node_init(NULL, &node, "/n", 0, "", 0, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_persistent_node_init(client, NULL, "/n", 0, "", 0, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_persistent_node_init(client, &node, NULL, 0, "", 0, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_persistent_node_init(client, &node, "n", 0, "", 0, NULL),
                     UVZK_EPATH);
    assert_int_equal(uvzk_persistent_node_init(client, &node, "/n", 2, "", 0, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_persistent_node_init(client, &node, "/n", 0, NULL, 1, NULL),
                     UV_EINVAL);
    assert_int_equal(uvzk_persistent_node_init(client, &node, "/n", 0, "", 1000001, NULL),
                     UV_EINVAL);
    assert_int_equal(
        uvzk_persistent_node_init(client, &scene->c.node, "/n", 0, "", 0, NULL),
        UV_EBUSY);
    assert_int_equal(uvzk_persistent_node_set_data(NULL, "", 0), UV_EINVAL);
    assert_int_equal(uvzk_persistent_node_set_data(&scene->c.node, NULL, 1), UV_EINVAL);
    assert_int_equal(uvzk_persistent_node_set_data(&node, "", 0), UVZK_ECLOSED);
    assert_int_equal(uvzk_persistent_node_close(NULL, NULL), UV_EINVAL);
    assert_int_equal(uvzk_persistent_node_close(&node, NULL), UVZK_ESTATE);
    persistent_process_close(&scene->c);
    assert_int_equal(uvzk_persistent_node_close(&scene->c.node, NULL), UVZK_ESTATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASES(it_is_there_and_goes_with_the_close),
        CASES(it_is_made_again_when_it_is_deleted),
        CASES(it_is_made_again_when_it_was_deleted_meanwhile),
        EPHEMERAL_CASE(it_is_made_again_in_a_new_session),
        PERSISTENT_CASE(a_persistent_one_outlives_the_session),
        CASES(a_reconnection_is_no_news),
        EPHEMERAL_CASE(the_end_is_assumed_at_lost),
        PERSISTENT_CASE(the_end_of_a_session_is_nothing_to_a_persistent_one),
        CASES(parents_are_made),
        CASES(data_are_set),
        CASES(data_wait_for_a_connection),
        PERSISTENT_CASE(what_others_set_stays),
        EPHEMERAL_CASE(what_others_set_in_an_ephemeral_one_is_set_back),
        EPHEMERAL_CASE(anothers_ephemeral_znode_is_waited_for),
        EPHEMERAL_CASE(anothers_znode_survives_the_close),
        PERSISTENT_CASE(a_persistent_znode_is_taken_over_by_a_persistent_one),
        EPHEMERAL_CASE(the_znode_of_the_session_before_is_waited_for),
        CASES(a_lost_create_is_found_again),
        CASES(a_create_that_comes_through_after_the_close_is_undone),
        CASES(data_that_are_set_during_the_create_are_written),
        CASES(a_close_during_the_create_undoes_it),
        CASES(a_lost_delete_is_repeated),
        EPHEMERAL_CASE(the_close_deletes_what_was_read),
        CASES(a_close_waits_for_the_connection),
        EPHEMERAL_CASE(a_session_that_ends_ends_the_close),
        CASES(refusals_are_told_and_tried_again),
        CASES(a_forbidden_delete_is_repeated),
        CASES(refused_credentials_end_it),
        CASES(the_client_closes_it),
        CASES(a_close_under_way_ends_with_the_client),
        CASES(bad_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
