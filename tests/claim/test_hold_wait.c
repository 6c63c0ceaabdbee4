/* SPDX-License-Identifier: Apache-2.0 */
/* What a pending acquire waits for, and why its time ran out: the two say the same, and
 * only who had others before him is told that he was too late. */
#include "world.h"

#include <string.h>

#include "claim/acquisition.h"
#include "claim/timed_out_wait.h"

#define RW_PATH "/rw"
#define PERMITS_PATH "/permits"
#define TIMEOUT_MS 400
#define LATE_MS 8 /* alarms and hops of the simulation */
#define SEEDS 8U

static struct world world;
static struct process a, b;
static struct hold first, second, third, fourth;
static struct {
    int status;
    uint32_t kind;
    uint64_t ahead, since;
    char predecessor[HOLD_PATH_MAX];
    char node_path[HOLD_PATH_MAX];
} told; /* in the last acquire or queued callback */

static uvzk_wait_info_t wait_of(const struct hold *hold)
{
    uvzk_wait_info_t wait;

    uvzk_wait_info_init(&wait);
    assert_int_equal(uvzk_hold_wait_info(&hold->request, &wait), 0);
    return wait;
}

static uint32_t kind_of(const struct hold *hold)
{
    return wait_of(hold).kind;
}

/* Of the acquire's callback. */
static void note_wait(struct hold *hold)
{
    uvzk_wait_info_t wait;

    static const uvzk_hold_t nobody = {.data = NULL};

    memset(&told, 0, sizeof(told));
    uvzk_wait_info_init(&wait);
    assert_int_equal(uvzk_hold_wait_info(&nobody, &wait),
                     UVZK_ESTATE); /* it is not his */
    told.status = uvzk_hold_wait_info(&hold->request, &wait);
    told.kind = wait.kind;
    told.ahead = wait.ahead;
    told.since = wait.since;
    if (wait.predecessor != NULL) {
        (void)snprintf(told.predecessor, sizeof(told.predecessor), "%s",
                       wait.predecessor);
    }
    if (wait.node_path != NULL) {
        (void)snprintf(told.node_path, sizeof(told.node_path), "%s", wait.node_path);
    }
}

static void ask(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                int64_t timeout_ms)
{
    hold_begin_on(hold, process, lock, 1, timeout_ms);
    hold->hook = note_wait;
}

/* It ends so, and the callback could ask. */
static void ran_out(struct hold *hold, int status, uint32_t kind)
{
    hold_await_status(hold, TIMEOUT_MS + LATE_MS, status);
    assert_int_equal(told.status, 0);
    assert_int_equal(told.kind, kind);
    assert_true(told.since <= world_now(&world));
}

/* ----------------------------------------------------------------- without a server */

static void no_connection(uint64_t seed, void *const *state)
{
    world_begin(&world, seed, state);
    sim_restart(world.sim, 3000);
    process_begin(&a, &world, "a", NULL);
    uint64_t from = world_now(&world);
    ask(&first, &a, NULL, TIMEOUT_MS);
    assert_int_equal(kind_of(&first), UVZK_WAITS_FOR_CONNECTION);
    assert_int_equal(wait_of(&first).since, from);
    ran_out(&first, UVZK_EUNREACHABLE, UVZK_WAITS_FOR_CONNECTION);

    ask(&second, &a, NULL, UVZK_TRY_ONCE);
    hold_await_status(&second, LATE_MS, UVZK_ECONNLOSS);
    assert_int_equal(told.status, UVZK_ESTATE);
    assert_true(process_await_connected(&a, 5000));
    hold_take(&first, &a);
    hold_give_back(&first);
    world_end(&world);
}

/* It was behind others, and its connection is lost: since then nobody can say. */
static void lost_connection(uint64_t seed, void *const *state)
{
    world_begin_queued(&world, seed, state, &a, &first, &b, &second);
    world_run_for(&world, 500);
    assert_int_equal(kind_of(&second), UVZK_WAITS_FOR_OTHERS);
    uint64_t cut_ms = world_now(&world);
    sim_disconnect(b.port, SIM_RESET, 3000);
    world_run_for(&world, 30);
    assert_int_equal(kind_of(&second), UVZK_WAITS_FOR_CONNECTION);
    assert_true(wait_of(&second).since >= cut_ms);
    ask(&third, &b, NULL, TIMEOUT_MS);
    ran_out(&third, UVZK_EUNREACHABLE, UVZK_WAITS_FOR_CONNECTION);
    world_run_for(&world, 3500);
    assert_int_equal(kind_of(&second), UVZK_WAITS_FOR_OTHERS);
    world_release_and_end(&world);
}

/* ------------------------------------------------------------------- behind others */

static void behind_others_and_ours(uint64_t seed, void *const *state)
{
    world_begin_queued(&world, seed, state, &a, &first, &b, &second);
    world_run_for(&world, 500);
    uvzk_wait_info_t wait = wait_of(&second);
    assert_int_equal(wait.kind, UVZK_WAITS_FOR_OTHERS);
    assert_int_equal(wait.ahead, 1);
    assert_string_equal(wait.predecessor, first.path);
    assert_true(wait.since <= world_now(&world) - 500);

    hold_begin(&third, &b, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    assert_int_equal(kind_of(&third), UVZK_WAITS_FOR_OTHERS);
    assert_int_equal(wait_of(&third).ahead, 2);

    hold_give_back(&first);
    hold_await(&second, 1000);
    assert_int_equal(uvzk_hold_wait_info(&second.request, &wait), UVZK_ESTATE);
    world_run_for(&world, 500);
    assert_int_equal(kind_of(&third), UVZK_WAITS_FOR_OURS);
    assert_int_equal(wait_of(&third).ahead, 1);
    assert_null(wait_of(&third).predecessor);
    ask(&fourth, &b, NULL, TIMEOUT_MS);
    ran_out(&fourth, UV_ETIMEDOUT, UVZK_WAITS_FOR_OURS);
    assert_int_equal(told.ahead, 2);
    world_release_and_end(&world);
}

/* Whoever stands before it is told by name when its time has run out, and when it was
 * tried once; and its request may be used again meanwhile. */
static void by_name(uint64_t seed, void *const *state)
{
    world_begin_held(&world, seed, state, &a, &first);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&b, 1000));
    ask(&second, &b, NULL, TIMEOUT_MS);
    ran_out(&second, UV_ETIMEDOUT, UVZK_WAITS_FOR_OTHERS);
    assert_string_equal(told.predecessor, first.path);
    assert_int_equal(told.ahead, 1);
    world_run_for(&world, 500);
    ask(&second, &b, NULL, UVZK_TRY_ONCE);
    ran_out(&second, UV_ETIMEDOUT, UVZK_WAITS_FOR_OTHERS);
    assert_string_equal(told.predecessor, first.path);
    ask(&third, &a, NULL, UVZK_TRY_ONCE); /* no request is sent */
    ran_out(&third, UV_ETIMEDOUT, UVZK_WAITS_FOR_OURS);
    uvzk_wait_info_t wait;
    uvzk_wait_info_init(&wait);
    assert_int_equal(uvzk_hold_wait_info(&third.request, &wait), UVZK_ESTATE);
    world_release_and_end(&world);
}

/* The acquire's own znode is told from its place in the queue on, and not any more when its
 * time has run out. */
static void own_znode(uint64_t seed, void *const *state)
{
    world_begin_held(&world, seed, state, &a, &first);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&b, 1000));
    ask(&second, &b, NULL, TIMEOUT_MS);
    second.queued_hook = note_wait;
    assert_null(wait_of(&second).node_path);
    world_run_for(&world, 300);
    assert_string_equal(wait_of(&second).node_path,
                        world_child(&world, WORLD_PATH, 1).text);
    if (world_has_queued_cb(&world)) {
        assert_int_equal(second.queued, 1);
        assert_string_equal(told.node_path, world_child(&world, WORLD_PATH, 1).text);
    }
    ran_out(&second, UV_ETIMEDOUT, UVZK_WAITS_FOR_OTHERS);
    assert_string_equal(told.node_path, "");
    world_release_and_end(&world);
}

/* Readers do not wait for readers. */
static void readers(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    process_make_rwlock(&a, RW_PATH);
    process_make_rwlock(&b, RW_PATH);
    hold_take_on(&first, &a, &a.rwlock.read, 1);
    hold_begin_on(&second, &b, &b.rwlock.write, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    hold_begin_on(&third, &b, &b.rwlock.read, 1, UVZK_WAIT_FOREVER);
    ask(&fourth, &a, &a.rwlock.read, TIMEOUT_MS);
    world_run_for(&world, 300);
    assert_int_equal(kind_of(&second), UVZK_WAITS_FOR_OTHERS);
    assert_string_equal(wait_of(&second).predecessor, first.path);
    assert_true(kind_of(&third) == UVZK_WAITS_FOR_OTHERS ||
                kind_of(&third) == UVZK_WAITS_FOR_OURS);
    assert_int_equal(kind_of(&fourth), UVZK_WAITS_FOR_OTHERS);
    assert_true(strcmp(wait_of(&fourth).predecessor, first.path) != 0);
    hold_await_status(&fourth, TIMEOUT_MS, UV_ETIMEDOUT);
    world_release_and_end(&world);
}

/* --------------------------------------------------------------------- on its way */

/* All that an acquire passes through in a new place, by the event. */
static void step_by_step(uint64_t seed, void *const *state)
{
    unsigned seen = 0;

    world_begin_one(&world, seed, state, &a);
    hold_begin(&first, &a, UVZK_WAIT_FOREVER);
    for (int i = 0; i < 5000 && hold_pending(&first); i++) {
        seen |= 1U << kind_of(&first);
        world_steps(&world, 1);
    }
    assert_true(hold_holds(&first));
    assert_true(seen & 1U << UVZK_WAITS_FOR_CONNECTION);
    assert_true(seen & 1U << UVZK_WAITS_FOR_ZNODE);
    assert_true(seen & 1U << UVZK_WAITS_FOR_DIRECTORY);
    assert_false(seen & 1U << UVZK_WAITS_FOR_OURS);
    assert_false(seen & 1U << UVZK_WAITS_FOR_OTHERS);
    assert_false(seen & 1U << UVZK_WAITS_FOR_LEASES);
    hold_give_back(&first);
    world_end(&world);
}

/* What has to be made cannot be: nobody was before it. */
static void not_queued(uint64_t seed, void *const *state)
{
    world_begin_one(&world, seed, state, &a);
    assert_true(process_await_connected(&a, 1000));
    sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ETHROTTLED, 1000);
    ask(&first, &a, NULL, TIMEOUT_MS);
    ran_out(&first, UVZK_ENOTQUEUED, UVZK_WAITS_FOR_ZNODE);
    sim_refuse(world.sim, UVZK__RPC_CREATE, 0, 0);
    world_run_for(&world, 500);
    world_make_directory(&world, &a);
    hold_take(&second, &a);
    world_release_and_end(&world);
}

/* It stands, and who is before it cannot be found out. */
static void place_not_known(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    world_make_directory(&world, &a);
    hold_take(&first, &a);
    sim_refuse(world.sim, UVZK__RPC_CHILDREN, UVZK_ETHROTTLED, 1000);
    ask(&second, &b, NULL, TIMEOUT_MS);
    ran_out(&second, UVZK_ENOTQUEUED, UVZK_WAITS_FOR_PLACE);
    sim_refuse(world.sim, UVZK__RPC_CHILDREN, 0, 0);
    world_release_and_end(&world);
}

/* Nobody is before it any more, but nothing has been proved for too long. */
static void not_proved(uint64_t seed, void *const *state)
{
    world_begin_one(&world, seed, state, &a);
    assert_true(process_await_connected(&a, 1000));
    world_make_directory(&world, &a);
    struct world_path other = world_foreign_node(&world, WORLD_PATH, "lock-");
    ask(&first, &a, NULL, 2 * WORLD_TIMEOUT_MS);
    world_run_for(&world, 500);
    assert_string_equal(wait_of(&first).predecessor, other.text);
    sim_refuse(world.sim, UVZK__RPC_MULTI, UVZK_ETHROTTLED, 1000);
    world_run_for(&world, WORLD_TIMEOUT_MS + WORLD_TIMEOUT_MS / 2);
    world_delete(&world, &other);
    world_run_for(&world, 500);
    assert_int_equal(kind_of(&first), UVZK_WAITS_FOR_PROOF);
    assert_int_equal(wait_of(&first).ahead, 0);
    hold_await_status(&first, WORLD_TIMEOUT_MS, UVZK_EPROOF);
    assert_int_equal(told.kind, UVZK_WAITS_FOR_PROOF);
    sim_refuse(world.sim, UVZK__RPC_MULTI, 0, 0);
    world_release_and_end(&world);
}

/* ------------------------------------------------------------------- other recipes */

static void leases(uint64_t seed, void *const *state)
{
    world_begin_ready(&world, seed, state, &a, &b);
    process_make_semaphore(&a, PERMITS_PATH, 2);
    process_make_semaphore(&b, PERMITS_PATH, 2);
    hold_take_on(&first, &a, &a.semaphore, 2);
    ask(&second, &b, &b.semaphore, TIMEOUT_MS);
    hold_begin_on(&third, &b, &b.semaphore, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    assert_int_equal(kind_of(&second), UVZK_WAITS_FOR_LEASES);
    assert_int_equal(wait_of(&second).ahead, 2);
    assert_int_equal(kind_of(&third), UVZK_WAITS_FOR_OURS);
    ran_out(&second, UV_ETIMEDOUT, UVZK_WAITS_FOR_LEASES);
    assert_int_equal(told.ahead, 2);
    world_release_and_end(&world);
}

static void members(uint64_t seed, void *const *state)
{
    for (unsigned flags = 0; flags <= UVZK_MULTILOCK_IN_TURN; flags++) {
        uvzk_mutex_t one = {.data = NULL}, other = {.data = NULL};
        uvzk_multilock_t both = {.data = NULL};
        uvzk_lock_t *list[] = {&one, &other};

        world_begin_ready(&world, seed, state, &a, &b);
        assert_int_equal(uvzk_mutex_init(&b.client, &one, "/free"), 0);
        assert_int_equal(uvzk_mutex_init(&b.client, &other, WORLD_PATH), 0);
        assert_int_equal(uvzk_multilock_init(&b.client, &both, list, 2, flags, NULL), 0);
        hold_take(&first, &a);
        ask(&second, &b, &both, TIMEOUT_MS);
        world_run_for(&world, 300);
        assert_int_equal(kind_of(&second), UVZK_WAITS_FOR_OTHERS);
        assert_string_equal(wait_of(&second).predecessor, first.path);
        ran_out(&second, UV_ETIMEDOUT, UVZK_WAITS_FOR_OTHERS);
        assert_string_equal(told.predecessor, first.path);
        world_release_and_end(&world);
    }
}

static void drivers(uint64_t seed, void *const *state)
{
    static const uint32_t modes[] = {UVZK_NODE_EPHEMERAL_SEQUENTIAL, UVZK_NODE_EPHEMERAL};

    for (size_t i = 0; i < 2; i++) {
        uvzk_lock_driver_t driver;

        uvzk_lock_driver_init(&driver);
        driver.name = "own-";
        driver.mode = modes[i];
        world_begin_ready(&world, seed, state, &a, &b);
        assert_int_equal(process_drive(&a, &driver), 0);
        assert_int_equal(process_drive(&b, &driver), 0);
        hold_take(&first, &a);
        ask(&second, &b, NULL, TIMEOUT_MS);
        world_run_for(&world, 150);
        assert_int_equal(kind_of(&second), UVZK_WAITS_FOR_OTHERS);
        assert_string_equal(wait_of(&second).predecessor, first.path);
        hold_begin(&third, &a, UVZK_WAIT_FOREVER);
        world_run_for(&world, 200);
        assert_true(kind_of(&third) == UVZK_WAITS_FOR_OURS ||
                    kind_of(&third) == UVZK_WAITS_FOR_OTHERS);
        ran_out(&second, UV_ETIMEDOUT, UVZK_WAITS_FOR_OTHERS);
        assert_string_equal(told.predecessor, first.path);
        world_release_and_end(&world);
    }
}

/* ----------------------------------------------------------------- as it is called */

static void what_may_be_asked(uint64_t seed, void *const *state)
{
    struct {
        uvzk_wait_info_t wait;
        char behind[16];
    } later; /* of a later version */
    uvzk_hold_t nobody = {.data = NULL};
    uvzk_wait_info_t wait;

    world_begin_held(&world, seed, state, &a, &first);
    hold_begin(&second, &a, UVZK_WAIT_FOREVER);
    uvzk_wait_info_init(&wait);
    assert_int_equal(uvzk_hold_wait_info(NULL, &wait), UV_EINVAL);
    assert_int_equal(uvzk_hold_wait_info(&second.request, NULL), UV_EINVAL);
    wait.size = sizeof(size_t);
    assert_int_equal(uvzk_hold_wait_info(&second.request, &wait), UV_EINVAL);
    uvzk_wait_info_init(&wait);
    assert_int_equal(uvzk_hold_wait_info(&nobody, &wait), UVZK_ESTATE);
    assert_int_equal(uvzk_hold_wait_info(&first.request, &wait), UVZK_ESTATE);
    uvzk_wait_info_init_size(NULL, sizeof(wait));
    memset(&later, 'x', sizeof(later));
    uvzk_wait_info_init_size(&later.wait, sizeof(later));
    assert_int_equal(uvzk_hold_wait_info(&second.request, &later.wait), 0);
    assert_int_equal(later.wait.size, sizeof(later));
    assert_int_equal(later.behind[0], 0);
    world_release_and_end(&world);
}

/* A queue's length for each of all who wait in it would be its square. */
static void so_many_are_counted(uint64_t seed, void *const *state)
{
    struct hold crowd[6];
    struct uvzk__wait_reason reason;

    world_begin_held(&world, seed, state, &a, &first);
    for (size_t i = 0; i < 6; i++) {
        hold_begin(&crowd[i], &a, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 500);
    const struct uvzk__acquisition *last = crowd[5].request.impl;
    uvzk__claim_wait_reason(last->claim, SIZE_MAX, &reason);
    assert_int_equal(reason.ahead, 6);
    uvzk__claim_wait_reason(last->claim, 3, &reason);
    assert_int_equal(reason.ahead, 3);
    assert_int_equal(reason.kind, UVZK_WAITS_FOR_OURS);
    world_release_and_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_SCENARIO(no_connection, 1, SEEDS),
        WORLD_SCENARIO(lost_connection, 1, SEEDS),
        WORLD_SCENARIO(behind_others_and_ours, 1, SEEDS),
        WORLD_SCENARIO(by_name, 1, SEEDS),
        WORLD_SCENARIO(own_znode, 1, SEEDS),
        WORLD_SCENARIO(readers, 1, SEEDS),
        WORLD_SCENARIO(step_by_step, 1, SEEDS),
        WORLD_SCENARIO(not_queued, 1, SEEDS),
        WORLD_SCENARIO(place_not_known, 1, SEEDS),
        WORLD_SCENARIO(not_proved, 1, SEEDS),
        WORLD_SCENARIO(leases, 1, SEEDS),
        WORLD_SCENARIO(members, 1, SEEDS),
        WORLD_SCENARIO(drivers, 1, SEEDS),
        WORLD_SCENARIO(what_may_be_asked, 1, 1),
        WORLD_SCENARIO(so_many_are_counted, 1, 1),
    };
    return cmocka_run_group_tests_name("hold_wait", tests, NULL, NULL);
}
