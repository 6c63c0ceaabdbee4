/* SPDX-License-Identifier: Apache-2.0 */
/* What a session may have under watch is limited, and each waiter that is first in a
 * directory needs some of it: its predecessor's watch for certain, its own watch only where
 * there is room. Ten thousand of them wait in one session. */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/watch.h"
#include "world.h"

#define WAITERS 10000
#define LONG_NAME "/l/a-directory-whose-name-is-longer-than-that-of-others-"
#define NODE_PATH_LENGTH (sizeof(LONG_NAME) - 1 + 5 + 56) /* "00000/_c_", a UUID, ... */
#define ABOUT_A_MINUTE 60000U

struct waiter {
    uvzk_mutex_t mutex;
    struct hold hold;
    struct world_path foreigner; /* who stands before it */
};

static struct world world;
static struct process process;
static struct waiter *waiters;

static void on_revoked(uvzk_hold_t *hold)
{
    (void)hold;
}

static const uvzk_acquire_options_t *revocable(void)
{
    static uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.revoke_cb = on_revoked;
    return &options;
}

static void begin(void)
{
    struct sim_options options;

    sim_options_init(&options);
    options.trace = false;
    world_begin_with(&world, 1, UVZK__TUNE_ALL, &options);
    waiters = calloc(WAITERS, sizeof(struct waiter));
    assert_non_null(waiters);
    process_begin(&process, &world, "a", NULL);
    assert_non_null(sim_create_by_hand(world.sim, "/l", UVZK__PERSISTENT));
}

static void ask(struct waiter *waiter, const char *path,
                const uvzk_acquire_options_t *options)
{
    assert_int_equal(uvzk_mutex_init(&process.client, &waiter->mutex, path), 0);
    assert_int_equal(hold_ask(&waiter->hold, &process, &waiter->mutex, options), 0);
}

/* Each behind somebody else, in a directory of its own. */
static void queue_up(const uvzk_acquire_options_t *options)
{
    char path[16];

    for (int i = 0; i < WAITERS; i++) {
        (void)snprintf(path, sizeof(path), "/l/%05d", i);
        assert_non_null(sim_create_by_hand(world.sim, path, UVZK__PERSISTENT));
        waiters[i].foreigner = world_foreign_node(&world, path, "lock-");
        ask(&waiters[i], path, options);
    }
}

/* Who has been granted, the latest first. */
static void let_go(void)
{
    int granted = world.grants;

    for (int i = WAITERS; i-- > 0;) {
        hold_release_or_cancel(&waiters[i].hold);
    }
    assert_true(world_await_count(&world, &world.ends, WAITERS, ABOUT_A_MINUTE));
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(waiters[i].hold.lost, 0);
        granted -= waiters[i].hold.release_status == 0;
    }
    assert_int_equal(granted, 0);
}

static void end(void)
{
    world_end(&world);
    free(waiters);
}

static void ten_thousand_wait_and_are_granted(void **state)
{
    (void)state;
    begin();
    queue_up(NULL);
    sim_run_for(world.sim, 10000);
    assert_int_equal(world.grants + world.ends, 0);
    uvzk_client_metrics_t stats = process_metrics(&process);
    assert_int_equal(stats.contenders, WAITERS);
    assert_in_range(stats.watches, WAITERS + 1000, 2 * WAITERS); /* some have guards */
    for (int i = 0; i < WAITERS; i++) {
        world_delete(&world, &waiters[i].foreigner);
    }
    assert_true(world_await_count(&world, &world.grants, WAITERS, ABOUT_A_MINUTE));
    let_go();
    end();
}

/* A revocation is heard by the own watch alone. */
static void who_is_revocable_is_refused_rather_than_deaf(void **state)
{
    (void)state;
    begin();
    queue_up(revocable());
    sim_run_for(world.sim, 20000);
    assert_int_equal(world.grants, 0);
    assert_true(world.ends > 0);
    uvzk_client_metrics_t stats = process_metrics(&process);
    assert_int_equal(stats.contenders, WAITERS - world.ends);
    assert_int_equal(stats.watches - process_watermarks(&process), 2 * stats.contenders);
    end();
}

/* All that a reconnection names are the guards of those that hold. */
static void who_is_revocable_has_no_guard_beyond_the_budget(void **state)
{
    char path[96];

    (void)state;
    begin();
    for (int i = 0; i < WAITERS; i++) {
        (void)snprintf(path, sizeof(path), LONG_NAME "%05d", i);
        ask(&waiters[i], path, revocable());
    }
    sim_run_for(world.sim, 20000);
    assert_int_equal(world.grants + world.ends, WAITERS);
    assert_int_equal(process_contenders(&process), world.grants);
    assert_int_equal(sim_armed(process.port) - process_watermarks(&process),
                     world.grants);
    assert_in_range((size_t)world.grants * NODE_PATH_LENGTH, UVZK__WATCH_BYTES_MAX / 2,
                    UVZK__WATCH_BYTES_MAX);
    let_go();
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_wait_and_are_granted),
        cmocka_unit_test(who_is_revocable_is_refused_rather_than_deaf),
        cmocka_unit_test(who_is_revocable_has_no_guard_beyond_the_budget),
    };
    return cmocka_run_group_tests_name("watch budget", tests, NULL, NULL);
}
