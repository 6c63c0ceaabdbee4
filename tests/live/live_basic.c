/* SPDX-License-Identifier: Apache-2.0 */
/* The public face against a real server: each promise of the header once. */
#include "participants_call.h"

#include <stdio.h>
#include <string.h>

#define LOCK "/basic/lock"

static struct world world;
static struct process a;
static struct hold first, second, third;

/* The first one holds, and the second one waits. */
static void queue_two(void)
{
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    hold_await(&first, PATIENCE_MS);
    hold_await_queued(&second);
}

/* The first one holds, and two come after it. */
static void start_three(void)
{
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    hold_begin(&third, &a, UVZK_WAIT_FOREVER);
    hold_await(&first, PATIENCE_MS);
}

static void hand_over(struct hold *holder, struct hold *next)
{
    hold_give_back(holder);
    hold_await(next, PATIENCE_MS);
}

static void wait_for_watches(bool wanted)
{
    uint64_t since = world_now(&world);
    while ((server_watch_count(live_server) > 0) != wanted) {
        assert_true(world_turn(&world, since));
    }
}

/* --------------------------------------------------------- acquire, release */

static void test_acquires_and_releases(void **state)
{
    struct Stat stat;
    (void)state;
    world_begin_one(&world, LOCK, &a);
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    assert_int_equal(first.answered, 0); /* never from inside the call */
    assert_int_equal(uvzk_hold_token(&first.request), 0);
    assert_null(uvzk_hold_path(&first.request));
    hold_await(&first, PATIENCE_MS);
    assert_true(uvzk_hold_is_valid(&first.request));
    assert_true(uvzk_lock_is_held(&a.mutex));
    assert_int_equal(raw_exists(world.raw, first.path, &stat), ZOK);
    assert_int_equal(stat.czxid, uvzk_hold_token(&first.request));
    assert_int_equal(stat.ephemeralOwner, uvzk_client_session_id(&a.client));
    hold_release(&first);
    assert_int_equal(first.released, 0);
    hold_await_released(&first, WORLD_TIMEOUT_MS, 0);
    assert_int_equal(world_children(&world, LOCK), 0); /* known to be gone */
    assert_int_equal(first.queued, 0);
    assert_false(uvzk_lock_is_held(&a.mutex));
    world_end(&world);
}

static void test_grants_in_turn_and_tells_the_place(void **state)
{
    (void)state;
    world_begin_one(&world, LOCK, &a);
    start_three();
    hold_await_queued(&second);
    hold_await_queued(&third);
    assert_int_equal(second.ahead, 1);
    assert_int_equal(third.ahead, 2);
    assert_int_equal(world_children(&world, LOCK), 3);
    hand_over(&first, &second);
    assert_int_equal(third.answered, 0);
    hand_over(&second, &third);
    hold_give_back(&third);
    assert_true(first.token < second.token && second.token < third.token);
    assert_int_equal(second.queued, 1);
    assert_int_equal(third.queued, 1);
    world_end(&world);
}

static void test_waits_behind_a_foreign_znode(void **state)
{
    (void)state;
    world_begin_one(&world, "/foreign", &a);
    world_make_path(&world, "/foreign");
    struct world_path foreign_node = world_foreign_node(&world, "/foreign", "lock-");
    hold_queue(&first, &a, NULL);
    assert_int_equal(first.ahead, 1);
    assert_int_equal(first.answered, 0);
    world_delete(&world, &foreign_node);
    hold_await(&first, PATIENCE_MS);
    hold_give_back(&first);
    world_end(&world);
}

static void test_reenters_by_owner(void **state)
{
    int alice, bob;
    (void)state;
    world_begin_one(&world, LOCK, &a);
    hold_take_for(&first, &a, NULL, &alice);
    uvzk_client_metrics_t before = process_metrics(&a);
    hold_begin_on_for(&second, &a, NULL, &alice);
    assert_int_equal(second.answered, 0);
    hold_await(&second, PATIENCE_MS);
    uvzk_client_metrics_t after = process_metrics(&a);
    assert_int_equal(after.requests - after.proofs, before.requests - before.proofs);
    assert_int_equal(second.token, first.token);
    assert_int_equal(world_children(&world, LOCK), 1);
    hold_begin_on_for(&third, &a, NULL, &bob);
    hold_await_queued(&third);
    hold_give_back(&first);
    assert_true(uvzk_lock_is_held_by(&a.mutex, &alice)); /* the re-entry stands */
    assert_false(uvzk_lock_is_held_by(&a.mutex, &bob));
    assert_int_equal(third.answered, 0);
    hand_over(&second, &third);
    assert_true(uvzk_lock_is_held_by(&a.mutex, &bob));
    hold_give_back(&third);
    world_end(&world);
}

/* -------------------------------------------------------- giving up, losing */

static void test_try_once(void **state)
{
    (void)state;
    world_begin_one(&world, LOCK, &a);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    hold_try(&first, &a, NULL, UVZK_TRY_ONCE, 0);
    hold_try(&second, &a, NULL, UVZK_TRY_ONCE, UV_ETIMEDOUT);
    assert_true(world_await_children(&world, LOCK, 1));
    assert_true(hold_holds(&first));
    hold_give_back(&first);
    world_end(&world);
}

static void test_times_out_in_the_queue(void **state)
{
    (void)state;
    world_begin_held(&world, LOCK, &a, &first);
    uint64_t begin = uvzk_now();
    hold_expect_timeout(&second, &a, NULL, 1, 300);
    assert_int_equal(second.queued, 1);
    assert_true(uvzk_now() - begin >= 300);
    assert_true(world_await_children(&world, LOCK, 1));
    hold_give_back(&first);
    world_end(&world);
}

static void test_cancels_in_the_queue(void **state)
{
    (void)state;
    world_begin_one(&world, LOCK, &a);
    start_three();
    hold_await_queued(&third);
    hold_cancel(&second);
    assert_int_equal(second.answered, 0);
    hold_await_status(&second, PATIENCE_MS, UV_ECANCELED);
    assert_int_equal(uvzk_hold_cancel(&first.request), UVZK_ESTATE);
    assert_true(world_await_children(&world, LOCK, 2));
    assert_int_equal(third.answered, 0); /* the first one still holds */
    hand_over(&first, &third);
    hold_give_back(&third);
    world_end(&world);
}

/* The predecessor stands, and with it the watch on it, if that is forgotten. */
static void test_cancels_behind_a_foreign_znode(void **state)
{
    (void)state;
    world_begin_held(&world, LOCK, &a, &first);
    struct world_path foreign_node = world_foreign_node(&world, LOCK, "lock-");
    hold_give_back(&first);
    hold_queue(&second, &a, NULL);
    wait_for_watches(true);
    hold_cancel(&second);
    hold_await_status(&second, PATIENCE_MS, UV_ECANCELED);
    wait_for_watches(false);
    assert_true(world_await_children(&world, LOCK, 1));
    world_delete(&world, &foreign_node);
    world_end(&world);
}

/* Cancelled before its create is answered: the znode is found and withdrawn. */
static void test_cancels_at_once(void **state)
{
    (void)state;
    world_begin_one(&world, LOCK, &a);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    hold_cancel(&first);
    hold_await_status(&first, PATIENCE_MS, UV_ECANCELED);
    hold_take(&second, &a);
    hold_give_back(&second);
    world_end(&world);
}

/* When it is told, the znode still exists, and the next one waits. */
static void given_back(struct hold *hold)
{
    struct Stat stat;

    if (hold->lost > 0) {
        assert_int_equal(raw_exists(world.raw, hold->path, &stat), ZOK);
        assert_int_equal(second.answered, 0);
    }
}

static void test_gives_back_at_the_limit(void **state)
{
    uvzk_acquire_options_t options;
    (void)state;
    world_begin_one(&world, LOCK, &a);
    uvzk_acquire_options_init(&options);
    options.max_hold_ms = 500;
    assert_int_equal(hold_ask(&first, &a, NULL, &options), 0);
    hold_await(&first, PATIENCE_MS);
    first.hook = given_back;
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    hold_await_lost(&first, PATIENCE_MS, UVZK_EMAXHOLD);
    assert_true(first.lost_ms - first.answered_ms >= 500);
    hold_await(&second, PATIENCE_MS);
    hold_give_back(&second);
    world_end(&world);
}

static void test_loses_a_deleted_znode(void **state)
{
    (void)state;
    world_begin_held(&world, LOCK, &a, &first);
    assert_int_equal(raw_delete(world.raw, first.path), ZOK);
    hold_await_lost(&first, WORLD_TIMEOUT_MS, UVZK_EDELETED);
    assert_false(uvzk_lock_is_held(&a.mutex));
    assert_int_equal(hold_ask_release(&first), UVZK_ENOTHELD);
    world_end(&world);
}

/* The retry policy lets a waiter whose znode was deleted queue up again. */
static void test_queues_again_after_its_znode_was_deleted(void **state)
{
    (void)state;
    world_begin_held(&world, LOCK, &a, &first);
    struct world_path foreign_node = world_foreign_node(&world, LOCK, "lock-");
    hold_queue(&second, &a, NULL);
    struct world_path last = world_child(&world, LOCK, 2);
    world_delete(&world, &last);
    hold_give_back(&first);
    world_delete(&world, &foreign_node);
    hold_await(&second, PATIENCE_MS);
    assert_true(hold_holds(&second));
    assert_string_not_equal(second.path, last.text);
    assert_int_equal(raw_exists(world.raw, second.path, NULL), ZOK);
    assert_true(second.token > first.token);
    hold_give_back(&second);
    world_end(&world);
}

struct exclusion {
    struct world_path foreign_node;
    int violations;
};

/* Returns true if the second one has come to a hold on a real znode, or to a loss. On the
 * way: it never holds while a foreign client is first in line. */
static bool second_is_decided(void *context)
{
    struct exclusion *exclusion = context;
    struct world_path front = {""};
    if (world_children(&world, LOCK) > 0) {
        front = world_child(&world, LOCK, 0);
    }
    bool held = uvzk_hold_is_valid(&second.request);
    exclusion->violations +=
        held && strcmp(front.text, exclusion->foreign_node.text) == 0;
    return second.lost > 0 ||
           (held && raw_exists(world.raw, uvzk_hold_path(&second.request), NULL) == ZOK);
}

/* The same next to a holder of the same client, who hands over without asking
 * the server: the hand-over may come to nothing, but nobody else may hold. */
static void test_excludes_others_after_its_znode_was_deleted(void **state)
{
    struct exclusion exclusion = {.violations = 0};
    (void)state;
    world_begin_one(&world, LOCK, &a);
    queue_two();
    struct world_path last = world_child(&world, LOCK, 1);
    world_delete(&world, &last);
    exclusion.foreign_node = world_foreign_node(&world, LOCK, "lock-");
    hold_release(&first);
    run_until(world.loop, second_is_decided, &exclusion, 3000);
    assert_int_equal(exclusion.violations, 0);
    hold_await_released(&first, WORLD_TIMEOUT_MS, 0);
    world_delete(&world, &exclusion.foreign_node);
    assert_true(world_await_that(&world, second_is_decided, &exclusion));
    if (hold_holds(&second)) {
        hold_give_back(&second);
    } else {
        assert_int_equal(second.reason, UVZK_EDELETED);
    }
    world_end(&world);
}

/* ------------------------------------------------------------------ questions */

static void test_lists_participants(void **state)
{
    static struct participants_call participants;
    (void)state;
    world_begin_one(&world, LOCK, &a);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    participants_call_run(&participants, &world, &a.mutex);
    assert_int_equal(participants.count, 0);
    hold_take(&first, &a);
    struct world_path foreign_node = world_foreign_node(&world, LOCK, "lock-");
    assert_int_equal(raw_create(world.raw, LOCK "/no-contender"), ZOK);
    hold_queue(&second, &a, NULL);
    participants_call_run(&participants, &world, &a.mutex);
    assert_int_equal(participants.count, 3);
    assert_string_equal(participants.paths[0], first.path);
    assert_string_equal(participants.paths[1], foreign_node.text);
    assert_int_equal(process_metrics(&a).foreign, 1);
    world_delete(&world, &foreign_node);
    hand_over(&first, &second);
    assert_string_equal(participants.paths[2], second.path);
    hold_give_back(&second);
    assert_int_equal(raw_delete(world.raw, LOCK "/no-contender"), ZOK);
    world_end(&world);
}

struct question {
    uvzk_req_t request;
    int told, status;
};

static void on_verified(uvzk_req_t *request, int status)
{
    struct question *query = request->data;
    query->told++;
    query->status = status;
}

static void test_verifies_a_hold(void **state)
{
    static struct question question;
    (void)state;
    world_begin_held(&world, LOCK, &a, &first);
    memset(&question, 0, sizeof(question));
    question.request.data = &question;
    assert_int_equal(uvzk_hold_verify(&first.request, &question.request, on_verified), 0);
    assert_true(world_await(&world, &question.told, PATIENCE_MS));
    assert_int_equal(question.status, 0);
    assert_int_equal(raw_delete(world.raw, first.path), ZOK);
    assert_int_equal(uvzk_hold_verify(&first.request, &question.request, on_verified), 0);
    assert_true(world_await_count(&world, &question.told, 2, PATIENCE_MS));
    assert_true(question.status == UVZK_EDELETED || question.status == UVZK_ELOST);
    assert_true(world_await(&world, &first.lost, PATIENCE_MS));
    assert_int_equal(uvzk_hold_verify(&first.request, &question.request, on_verified),
                     UVZK_ENOTHELD);
    world_end(&world);
}

static void test_proofs_extend_the_hold(void **state)
{
    (void)state;
    world_begin(&world, LOCK);
    world.options.session_timeout_ms = 3000;
    process_begin(&a, &world, "a", NULL);
    hold_take(&first, &a);
    assert_int_equal(uvzk_client_session_timeout(&a.client), 3000);
    assert_non_null(strchr(uvzk_client_current_server(&a.client), ':'));
    assert_non_null(strstr(world.options.hosts, uvzk_client_current_server(&a.client)));
    for (int i = 0; i < 3; i++) {
        uint64_t until = uvzk_hold_valid_until(&first.request);
        assert_true(until > uvzk_now());
        assert_true(until <= uvzk_now() + 3000);
        uint64_t since = world_now(&world);
        while (uvzk_hold_valid_until(&first.request) <= until) {
            assert_true(world_turn(&world, since));
        }
    }
    assert_true(process_metrics(&a).proofs > 0);
    hold_give_back(&first);
    world_end(&world);
}

/* ------------------------------------------------------ namespace, rights */

static void test_puts_everything_below_the_namespace(void **state)
{
    (void)state;
    world_begin(&world, "/ns/lock");
    world.options.ns = "app";
    process_begin(&a, &world, "a", NULL);
    hold_take(&first, &a);
    assert_int_equal(world_children(&world, "/app/ns/lock"), 1);
    assert_int_equal(strncmp(first.path, "/app/ns/lock/_c_", 16), 0);
    hold_give_back(&first);
    world_end(&world);
}

static void test_chroot_must_exist_and_is_not_told(void **state)
{
    char hosts[64];
    (void)state;
    world_begin(&world, LOCK);
    snprintf(hosts, sizeof(hosts), "%s/root", server_hosts(live_server));
    assert_int_equal(raw_create(world.raw, "/root"), ZOK);
    world.options.hosts = hosts;
    process_begin(&a, &world, "a", NULL);
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    hold_await(&first, PATIENCE_MS);
    assert_int_equal(strncmp(first.path, LOCK "/_c_", strlen(LOCK "/_c_")), 0);
    assert_true(world_await_children(&world, "/root" LOCK, 2));
    hand_over(&first, &second);
    hold_give_back(&second);
    world_end(&world);
}

static void test_protects_znodes_by_acl(void **state)
{
    const uvzk_acl_t acl = {UVZK_PERM_ALL, "auth", ""};
    char text[64];
    (void)state;
    world_begin(&world, "/secret/lock");
    world.options.auth_scheme = "digest";
    world.options.auth = "user:secret";
    world.options.auth_length = strlen("user:secret");
    world.options.acl = &acl;
    world.options.acl_count = 1;
    process_begin(&a, &world, "a", NULL);
    hold_take(&first, &a);
    assert_int_equal(raw_get(world.raw, first.path, text, sizeof(text)), ZNOAUTH);
    assert_int_equal(raw_delete(world.raw, first.path), ZNOAUTH);
    assert_int_equal(raw_create(world.raw, "/secret/lock/other"), ZNOAUTH);
    hold_give_back(&first);
    world_end(&world);
}

static void test_reports_a_forbidden_directory(void **state)
{
    (void)state;
    world_begin(&world, "/forbidden");
    assert_int_equal(raw_create(world.raw, "/forbidden"), ZOK);
    assert_int_equal(raw_forbid_creates(world.raw, "/forbidden"), ZOK);
    process_begin(&a, &world, "a", NULL);
    hold_try(&first, &a, NULL, UVZK_WAIT_FOREVER, UVZK_ENOAUTH);
    world_end(&world);
}

static void test_reports_an_unknown_scheme(void **state)
{
    (void)state;
    world_begin(&world, LOCK);
    world.options.auth_scheme = "no-such-scheme";
    world.options.auth = "x";
    world.options.auth_length = 1;
    process_begin(&a, &world, "a", NULL);
    hold_try(&first, &a, NULL, UVZK_WAIT_FOREVER, UVZK_EAUTH);
    world_end(&world);
}

/* ---------------------------------------------------------------- connection */

static void test_tells_the_states_in_order(void **state)
{
    (void)state;
    world_begin(&world, LOCK);
    world_use_proxy(&world);
    process_begin(&a, &world, "a", NULL);
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_LATENT);
    queue_two();
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_CONNECTED);
    int64_t session = uvzk_client_session_id(&a.client);
    proxy_cut(&world.proxy);
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    assert_int_equal(a.state_count, 3);
    assert_int_equal(a.states[0], UVZK_STATE_CONNECTED);
    assert_int_equal(a.states[1], UVZK_STATE_SUSPENDED);
    assert_int_equal(a.states[2], UVZK_STATE_RECONNECTED);
    assert_int_equal(uvzk_client_session_id(&a.client), session);
    assert_true(hold_holds(&first));
    assert_int_equal(world_children(&world, LOCK), 2);
    hand_over(&first, &second);
    assert_int_equal(second.queued, 1);
    hold_give_back(&second);
    world_end(&world);
}

static void test_loses_everything_with_the_session(void **state)
{
    (void)state;
    world_begin(&world, LOCK);
    world_use_proxy(&world);
    process_begin(&a, &world, "a", NULL);
    queue_two();
    process_expire(&a);
    hold_await_lost(&first, WORLD_TIMEOUT_MS, UVZK_EEXPIRED);
    hold_await_status(&second, PATIENCE_MS, UVZK_EEXPIRED);
    assert_true(world_await(&world, &a.lost, PATIENCE_MS));
    assert_true(world_await(&world, &a.reconnected, PATIENCE_MS));
    hold_take(&third, &a);
    hold_give_back(&third);
    assert_true(hold_over(&first) && hold_over(&second));
    world_end(&world);
}

static void test_waits_for_an_absent_server(void **state)
{
    (void)state;
    world_begin_one(&world, LOCK, &a);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    server_kill(live_server);
    assert_true(world_await(&world, &a.suspended, PATIENCE_MS));
    hold_try(&first, &a, NULL, UVZK_TRY_ONCE, UVZK_ECONNLOSS);
    hold_begin(&second, &a, 200);
    hold_begin(&third, &a, UVZK_WAIT_FOREVER);
    hold_await_status(&second, PATIENCE_MS, UVZK_EUNREACHABLE);
    assert_int_equal(third.answered, 0);
    assert_true(server_restart(live_server));
    hold_await(&third, PATIENCE_MS);
    hold_give_back(&third);
    world_end(&world);
}

static void test_outlives_a_name_without_address(void **state)
{
    (void)state;
    world_begin(&world, LOCK);
    world.options.hosts = "no-such-host.invalid:2181";
    process_begin(&a, &world, "a", NULL);
    hold_begin(&first, &a, UVZK_TRY_ONCE);
    hold_begin(&second, &a, 300);
    hold_begin(&third, &a, UVZK_WAIT_FOREVER);
    hold_await_status(&first, PATIENCE_MS, UVZK_ECONNLOSS);
    hold_await_status(&second, PATIENCE_MS, UVZK_EUNREACHABLE);
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_LATENT);
    process_end(&a);
    assert_int_equal(third.status, UVZK_ECLOSED);
    world_end(&world);
}

/* --------------------------------------------------------------------- close */

static void test_close_ends_everything(void **state)
{
    (void)state;
    world_begin_one(&world, LOCK, &a);
    queue_two();
    hold_begin(&third, &a, UVZK_WAIT_FOREVER);
    process_end(&a);
    assert_int_equal(first.lost, 1);
    assert_int_equal(first.reason, UVZK_ECLOSED);
    assert_int_equal(second.answered, 1);
    assert_int_equal(second.status, UVZK_ECLOSED);
    assert_int_equal(third.answered, 1);
    assert_int_equal(third.status, UVZK_ECLOSED);
    world_end(&world);
}

static void test_close_waits_for_releases(void **state)
{
    (void)state;
    world_begin_held(&world, LOCK, &a, &first);
    hold_release(&first);
    process_end(&a);
    assert_int_equal(first.released, 1);
    assert_int_equal(first.release_status, 0);
    assert_int_equal(first.lost, 0);
    world_end(&world);
}

static void test_closes_a_mutex_alone(void **state)
{
    static uvzk_mutex_t other;
    (void)state;
    world_begin_one(&world, LOCK, &a);
    memset(&other, 0, sizeof(other));
    assert_int_equal(uvzk_mutex_init(&a.client, &other, "/basic/other"), 0);
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    hold_begin_on(&third, &a, &other, 1, UVZK_WAIT_FOREVER);
    hold_await(&first, PATIENCE_MS);
    hold_await(&third, PATIENCE_MS);
    process_close_mutex(&a);
    assert_int_equal(a.mutex_closed, 0);
    assert_int_equal(uvzk_lock_close(&a.mutex, NULL), UVZK_ESTATE);
    assert_true(world_await(&world, &a.mutex_closed, PATIENCE_MS));
    assert_int_equal(first.reason, UVZK_ECLOSED);
    assert_int_equal(second.status, UVZK_ECLOSED);
    assert_true(world_await_children(&world, LOCK, 0));
    assert_true(hold_holds(&third));
    hold_give_back(&third);
    assert_int_equal(a.mutex_closed, 1);
    world_end(&world);
}

static void test_closes_before_and_right_after_start(void **state)
{
    (void)state;
    world_begin(&world, LOCK);
    process_make(&a, &world, "a", NULL);
    process_end(&a);
    world_end(&world);

    world_begin_one(&world, LOCK, &a);
    process_end(&a);
    world_end(&world);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* libuv's usual ending of a loop: every handle that uv_walk shows is closed, those of
 * the client too, while it holds and another one waits. */
static void walk(bool wanted)
{
    if (wanted) {
        uv_walk(world.loop, close_handle, NULL);
    }
}

static void test_survives_a_walk(void **state)
{
    (void)state;
    for (int walk_first = 0; walk_first <= 1; walk_first++) {
        world_begin_one(&world, LOCK, &a);
        queue_two();
        walk(walk_first != 0);
        process_close(&a);
        walk(walk_first == 0);
        assert_true(world_await(&world, &a.closed, PATIENCE_MS));
        assert_int_equal(first.reason, UVZK_ECLOSED);
        assert_int_equal(second.status, UVZK_ECLOSED);
        world_end(&world);
    }
}

static void test_closes_once(void **state)
{
    (void)state;
    world_begin_one(&world, LOCK, &a);
    assert_int_equal(uvzk_client_start(&a.client), UVZK_ESTATE);
    assert_true(world_await(&world, &a.connected, PATIENCE_MS));
    assert_int_equal(uvzk_client_close(&a.client, NULL), 0);
    assert_int_equal(uvzk_client_close(&a.client, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_CLOSED);
    process_forget(&a); /* closed here, not by the end of the test */
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acquires_and_releases),
        cmocka_unit_test(test_grants_in_turn_and_tells_the_place),
        cmocka_unit_test(test_waits_behind_a_foreign_znode),
        cmocka_unit_test(test_reenters_by_owner),
        cmocka_unit_test(test_try_once),
        cmocka_unit_test(test_times_out_in_the_queue),
        cmocka_unit_test(test_cancels_in_the_queue),
        cmocka_unit_test(test_cancels_behind_a_foreign_znode),
        cmocka_unit_test(test_cancels_at_once),
        cmocka_unit_test(test_loses_a_deleted_znode),
        cmocka_unit_test(test_gives_back_at_the_limit),
        cmocka_unit_test(test_queues_again_after_its_znode_was_deleted),
        cmocka_unit_test(test_excludes_others_after_its_znode_was_deleted),
        cmocka_unit_test(test_lists_participants),
        cmocka_unit_test(test_verifies_a_hold),
        cmocka_unit_test(test_proofs_extend_the_hold),
        cmocka_unit_test(test_puts_everything_below_the_namespace),
        cmocka_unit_test(test_chroot_must_exist_and_is_not_told),
        cmocka_unit_test(test_protects_znodes_by_acl),
        cmocka_unit_test(test_reports_a_forbidden_directory),
        cmocka_unit_test(test_reports_an_unknown_scheme),
        cmocka_unit_test(test_tells_the_states_in_order),
        cmocka_unit_test(test_loses_everything_with_the_session),
        cmocka_unit_test(test_waits_for_an_absent_server),
        cmocka_unit_test(test_outlives_a_name_without_address),
        cmocka_unit_test(test_close_ends_everything),
        cmocka_unit_test(test_close_waits_for_releases),
        cmocka_unit_test(test_closes_a_mutex_alone),
        cmocka_unit_test(test_closes_before_and_right_after_start),
        cmocka_unit_test(test_closes_once),
        cmocka_unit_test(test_survives_a_walk),
    };
    return cmocka_run_group_tests(tests, servers_start_one, servers_stop);
}
