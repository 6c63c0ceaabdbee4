/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_hold_verify of a hold with more znodes than one request should name. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "claim/hold_calls.h"
#include "directory/contender.h"
#include "lock_requests/node_checks.h"
#include "world.h"

#define GROUPS 10U
#define MEMBERS 100U
#define ZNODES (GROUPS * MEMBERS)

static struct world world;
static struct process process;
static uvzk_mutex_t mutexes[GROUPS][MEMBERS];
static uvzk_multilock_t groups[GROUPS], lock;
static struct hold hold;

/* A multi lock of mutexes. */
static void init_group(unsigned number)
{
    uvzk_lock_t *members[MEMBERS];
    char path[16];

    for (unsigned i = 0; i < MEMBERS; i++) {
        (void)snprintf(path, sizeof(path), "/%u/%u", number, i);
        members[i] = &mutexes[number][i];
        assert_int_equal(uvzk_mutex_init(&process.client, members[i], path), 0);
    }
    assert_int_equal(
        uvzk_multilock_init(&process.client, &groups[number], members, MEMBERS, 0, NULL),
        0);
}

static void begin(void)
{
    uvzk_lock_t *members[GROUPS];

    memset(mutexes, 0, sizeof(mutexes));
    memset(groups, 0, sizeof(groups));
    memset(&lock, 0, sizeof(lock));
    world_begin_exact(&world, UVZK__TUNE_ALL, 10);
    process_begin(&process, &world, "a", NULL);
    for (unsigned i = 0; i < GROUPS; i++) {
        init_group(i);
        members[i] = &groups[i];
    }
    assert_int_equal(
        uvzk_multilock_init(&process.client, &lock, members, GROUPS, 0, NULL), 0);
    hold_begin_on(&hold, &process, &lock, 1, UVZK_WAIT_FOREVER);
    hold_await(&hold, 60000);
}

static void many_znodes_are_asked_for_in_parts(void **state)
{
    (void)state;
    begin();
    uint64_t before = sim_submitted(process.port), asked_ms = world_now(&world);
    hold_verify(&hold, 1000, 0);
    assert_in_range(sim_submitted(process.port) - before,
                    (ZNODES + UVZK__NODE_CHECKS_MAX - 1) / UVZK__NODE_CHECKS_MAX, 8);
    assert_in_range(world_now(&world) - asked_ms, 4, 4 * 45);
    world_end(&world);
}

/* The request has shown it. */
static void what_stands_is_known_to_have_been_seen(void **state)
{
    (void)state;
    begin();
    static struct hold alone;
    static uvzk_mutex_t mutex;
    assert_int_equal(uvzk_mutex_init(&process.client, &mutex, "/alone"), 0);
    hold_begin_on(&alone, &process, &mutex, 1, UVZK_WAIT_FOREVER);
    hold_await(&alone, 60000);
    const struct uvzk__contender *contender =
        uvzk__claim_first_contender(uvzk__hold_of(&alone.request));
    uint64_t before = contender->last_seen.stamp;
    hold_verify(&alone, 1000, 0);
    assert_true(contender->last_seen.stamp > before);
    world_end(&world);
}

/* Wherever it is, it is told, once. */
static void one_that_is_missing_is_told(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < GROUPS; i++) {
        begin();
        assert_int_equal(
            sim_delete_by_hand(world.sim, uvzk_hold_node_path(&hold.request, i)), 0);
        hold_verify(&hold, 1000, UVZK_EDELETED);
        world_run_for(&world, 1000);
        assert_int_equal(hold.verified, 1);
        assert_int_equal(hold.lost, 1);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_znodes_are_asked_for_in_parts),
        cmocka_unit_test(what_stands_is_known_to_have_been_seen),
        cmocka_unit_test(one_that_is_missing_is_told),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
