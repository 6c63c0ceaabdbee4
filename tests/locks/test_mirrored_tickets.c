/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets in a directory that is mirrored (mirror.h): an acquire of a semaphore costs five
 * requests while sessions take turns, and a ticket that is kept needs no watch on the
 * children of `locks`, because the mirror hears of whoever comes behind it. */
#include "cmocka_test.h"

#include "directory/mirror.h"
#include "directory/queue.h"
#include "locks/mutex.h"
#include "sim_process.h"
#include "world.h"

#define PATH "/s"
#define TICKETS PATH "/locks"
#define LEASES PATH "/leases"
#define LATENCY_MS 10U
#define LEASES_MAX 2U
#define SHARERS 6U
#define LEASE_OF_A LEASES "/_c_61f2a1a0-773f-4d77-9695-eba698b095f7-lease-"

static struct world world;
static struct process a;
static struct hold hold, sharers[SHARERS];
static struct world_path before; /* the ticket of somebody else */

static void settle(void)
{
    world_run_for(&world, 300);
}

static const struct uvzk__queue *tickets(void)
{
    return uvzk__queue_find(a.client.impl, &uvzk__exclusive, TICKETS);
}

static struct world_path comes(void)
{
    return world_foreign_node(&world, TICKETS, "lock-");
}

/* How many requests of this kind a has sent. */
static uint64_t sent(enum uvzk__rpc_kind kind)
{
    const struct uvzk__session *session = a.client.impl;

    return uvzk__requests(&session->submissions, kind);
}

/* All but the proofs, which are due now and then. */
static uint64_t all_sent(void)
{
    uvzk_client_metrics_t metrics = process_metrics(&a);

    return metrics.requests - metrics.others;
}

/* Another session is before a, and has a lease; then it goes. */
static void take_after_another(void)
{
    before = comes();
    hold_begin_on(&hold, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    settle();
    assert_int_equal(hold.answered, 0);
    struct world_path lease = world_foreign_node(&world, LEASES, "lease-");
    world_delete(&world, &lease);
    world_delete(&world, &before);
    hold_await(&hold, 300);
}

static void give_back(void)
{
    hold_give_back(&hold);
    settle();
}

/* a has had to wait for its ticket twice. */
static void begin(void)
{
    struct sim_options options;

    world_exact_options(&options, LATENCY_MS);
    world_begin_with(&world, WORLD_NO_QUEUED_CB, UVZK__TUNE_ALL, &options);
    process_begin(&a, &world, "a", NULL);
    assert_true(process_await_connected(&a, 1000));
    process_make_semaphore(&a, PATH, LEASES_MAX);
    hold_take_on(&hold, &a, &a.semaphore, 1); /* makes the directories */
    give_back();
    for (unsigned i = 0; i < 2; i++) {
        take_after_another();
        give_back();
    }
    assert_true(uvzk__is_mirrored(tickets()));
}

/* All of them wait for a lease, by one ticket. */
static void begin_with_sharers(void)
{
    begin();
    for (size_t i = 0; i < SHARERS; i++) {
        hold_begin_on(&sharers[i], &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    }
    settle();
}

/* The first ones have released; the others hold and release, one after the other. */
static void end_after(size_t released)
{
    for (size_t i = released; i < SHARERS; i++) {
        hold_await(&sharers[i], 1000);
        hold_give_back(&sharers[i]);
    }
    world_end(&world);
}

/* The ticket's create and delete, the lease's multi and delete, and one listing. */
static void each_acquire_costs_five_requests(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 3; i++) {
        uint64_t requests = all_sent();
        take_after_another();
        give_back();
        assert_int_equal(all_sent() - requests, 5);
    }
    world_end(&world);
}

/* One ticket serves all that share it, and the leases change hands, until somebody else
 * comes behind it: then it is released, without a watch or a listing of its own. */
static void who_comes_behind_a_kept_ticket_is_heard_of(void **state)
{
    (void)state;
    begin_with_sharers();
    assert_true(hold_holds(&sharers[LEASES_MAX - 1]));
    assert_int_equal(world_children(&world, TICKETS), 1);
    assert_null(uvzk__queue_optional(tickets())->predecessor.path);
    hold_give_back(&sharers[0]);
    settle();
    assert_true(hold_holds(&sharers[2]));
    uint64_t listings = process_metrics(&a).listings;
    struct world_path behind = comes();
    settle();
    hold_give_back(&sharers[1]);
    settle();
    assert_string_equal(world_child(&world, TICKETS, 0).text,
                        behind.text); /* the first */
    world_delete(&world, &behind);
    assert_int_equal(process_metrics(&a).listings, listings);
    end_after(2);
}

/* Without the mirror the kept ticket needs the watch on the children again. */
static void a_kept_ticket_outlives_the_mirror(void **state)
{
    (void)state;
    begin_with_sharers();
    hold_give_back(&sharers[0]); /* the ticket is passed on, and kept */
    settle();
    assert_null(uvzk__queue_optional(tickets())->predecessor.path);
    sim_refuse(world.sim, UVZK__RPC_ADD_WATCH, UVZK_EUNIMPLEMENTED, 1);
    sim_disconnect(a.port, SIM_RESET, 20);
    world_run_for(&world, 1000);
    assert_false(uvzk__is_mirrored(tickets()));
    assert_string_equal(uvzk__queue_optional(tickets())->predecessor.path, TICKETS);
    end_after(1);
}

/* Deleted by hand while a waits: a gets another one, behind who has come since. */
static void a_ticket_that_goes_is_missed(void **state)
{
    (void)state;
    begin();
    before = comes();
    hold_begin_on(&hold, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    settle();
    uint64_t gets = sent(UVZK__RPC_GET);
    struct world_path behind = comes();
    world_delete_child(&world, TICKETS, 1);
    world_delete(&world, &before);
    settle();
    assert_int_equal(hold.answered, 0);
    assert_int_equal(sent(UVZK__RPC_GET), gets); /* it had no watch of its own */
    world_delete(&world, &behind);
    hold_await(&hold, 300);
    give_back();
    world_end(&world);
}

/* The ticket before a's is of a client that waits for a lease of a's session, of which a
 * knows nothing: a finds it and deletes it, as it does without a mirror. */
static void a_lease_of_ours_is_found(void **state)
{
    (void)state;
    begin();
    const char *orphan = sim_create_in_session(world.sim, sim_session_id(a.port),
                                               LEASE_OF_A, UVZK__EPHEMERAL_SEQUENTIAL);
    assert_non_null(orphan);
    before = comes();
    hold_begin_on(&hold, &a, &a.semaphore, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 3 * WORLD_TIMEOUT_MS);
    assert_true(uvzk__is_mirrored(tickets()));
    assert_int_equal(world_children(&world, LEASES), 0);
    world_delete(&world, &before);
    hold_await(&hold, 300);
    give_back();
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_acquire_costs_five_requests),
        cmocka_unit_test(who_comes_behind_a_kept_ticket_is_heard_of),
        cmocka_unit_test(a_kept_ticket_outlives_the_mirror),
        cmocka_unit_test(a_ticket_that_goes_is_missed),
        cmocka_unit_test(a_lease_of_ours_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
