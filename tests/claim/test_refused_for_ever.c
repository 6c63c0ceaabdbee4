/* SPDX-License-Identifier: Apache-2.0 */
/* A server that refuses one kind of request with one code, for ever: from the start,
 * from a wait on, from a hold on; in every recipe. Whoever repeats a refused request does
 * so after a pause: a server that is asked as fast as it answers would be asked five
 * hundred times a second by each client. Who asked is told the outcome, or waits. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_internal.h"
#include "world.h"

#define PATH "/app/of/many"
#define WATCHED_MS 10000U
#define REQUESTS_MAX 300U /* in that time: three each 100 ms, proofs and touches too */
#define PATIENCE_MS 30000U
#define FOR_EVER UINT32_MAX

enum moment { START, WAIT, WAKE, HOLD, RELEASE, MOMENTS };
static const char *const moment_names[MOMENTS] = {"the start", "the wait", "the wake",
                                                  "the hold", "the release"};

/* What is refused. */
struct trouble {
    enum moment moment;
    enum uvzk__rpc_kind kind;
    int status;
    size_t blamed; /* operation of a multi; SIZE_MAX: none is named */
};

struct recipe {
    const char *name;
    const char *directory, *obstacle; /* somebody else's znode, to be waited for */
    uvzk_lock_t *(*make)(void);
    bool revocable;
    bool downgrades;
    bool beside; /* another lock is asked for in the same turn */
    uint32_t leases;
};

/* One process with one lock, or one value. */
static struct world world;
static struct process process;
static uvzk_client_t *const client = &process.client;
static uvzk_lock_t lock, members[2];
static uvzk_shared_value_t value;
static struct hold hold, downgraded, beside;
static uvzk_req_t set;
static int asked, answered; /* sets */

/* ------------------------------------------------------------------- the recipes */

static uvzk_lock_t *make_mutex(void)
{
    assert_int_equal(uvzk_mutex_init(client, &lock, PATH), 0);
    return &lock;
}

static uvzk_lock_t *make_two(void)
{
    assert_int_equal(uvzk_mutex_init(client, &members[0], PATH "s/b"), 0);
    return make_mutex();
}

static uvzk_lock_t *make_reader(void)
{
    process_make_rwlock(&process, PATH);
    return &process.rwlock.read;
}

static uvzk_lock_t *make_writer(void)
{
    process_make_rwlock(&process, PATH);
    return &process.rwlock.write;
}

static uvzk_lock_t *make_semaphore(void)
{
    process_make_semaphore(&process, PATH, 2);
    return &process.semaphore;
}

static uvzk_lock_t *make_multilock(unsigned flags)
{
    uvzk_lock_t *both[] = {&members[0], &members[1]};

    assert_int_equal(uvzk_mutex_init(client, both[0], PATH), 0);
    assert_int_equal(uvzk_mutex_init(client, both[1], PATH "s/b"), 0);
    assert_int_equal(uvzk_multilock_init(client, &lock, both, 2, flags, NULL), 0);
    return &lock;
}

static uvzk_lock_t *make_at_once(void)
{
    return make_multilock(0);
}

static uvzk_lock_t *make_in_turn(void)
{
    return make_multilock(UVZK_MULTILOCK_IN_TURN);
}

static uvzk_lock_t *make_driver_lock(uint32_t mode)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = mode == UVZK_NODE_EPHEMERAL ? "lock" : "lock-";
    driver.mode = mode;
    process.persistent = mode == UVZK_NODE_PERSISTENT_SEQUENTIAL;
    assert_int_equal(uvzk_lock_init_with_driver(client, &lock, PATH, &driver), 0);
    return &lock;
}

static uvzk_lock_t *make_sequential(void)
{
    return make_driver_lock(UVZK_NODE_EPHEMERAL_SEQUENTIAL);
}

static uvzk_lock_t *make_fixed(void)
{
    return make_driver_lock(UVZK_NODE_EPHEMERAL);
}

static uvzk_lock_t *make_persistent(void)
{
    return make_driver_lock(UVZK_NODE_PERSISTENT_SEQUENTIAL);
}

/* No lock, but a value. */
static uvzk_lock_t *make_value(void)
{
    assert_int_equal(uvzk_shared_value_init(client, &value, PATH, "seed", 4, NULL), 0);
    return NULL;
}

static void on_revoked(uvzk_hold_t *request)
{
    (void)request;
}

static void on_set(uvzk_req_t *request, int status)
{
    (void)request;
    (void)status;
    answered++;
}

static const struct recipe recipes[] = {
    {"mutex", PATH, "lock-", make_mutex, .leases = 1},
    {"revocable mutex", PATH, "lock-", make_mutex, .revocable = true, .leases = 1},
    {"mutexes of one turn", PATH, "lock-", make_two, .beside = true, .leases = 1},
    {"reader", PATH, "__WRIT__", make_reader, .leases = 1},
    {"writer", PATH, "__READ__", make_writer, .leases = 1},
    {"downgrade", PATH, "__READ__", make_writer, .downgrades = true, .leases = 1},
    {"semaphore's ticket", PATH "/locks", "lock-", make_semaphore, .leases = 2},
    {"semaphore's leases", PATH "/leases", "lease-", make_semaphore, .leases = 2},
    {"multi lock at once", PATH, "lock-", make_at_once, .leases = 1},
    {"multi lock in turn", PATH, "lock-", make_in_turn, .leases = 1},
    {"driver's lock", PATH, "lock-", make_sequential, .leases = 1},
    {"fixed name", PATH, NULL, make_fixed, .leases = 1},
    {"persistent lock", PATH, "lock-", make_persistent, .leases = 1},
    {"shared value", NULL, NULL, make_value, .leases = 0},
};

/* ------------------------------------------------------------------------ a play */

static struct world_path put_obstacle(const struct recipe *recipe)
{
    struct world_path fixed = {PATH "/lock"};

    world_make_path(&world, recipe->directory);
    if (recipe->obstacle != NULL) {
        return world_foreign_node(&world, recipe->directory, recipe->obstacle);
    }
    assert_non_null(sim_create_by_hand(world.sim, fixed.text, UVZK__EPHEMERAL));
    return fixed;
}

static void begin(unsigned tuning)
{
    struct sim_options options;

    memset(&lock, 0, sizeof(lock));
    memset(members, 0, sizeof(members));
    memset(&value, 0, sizeof(value));
    memset(&set, 0, sizeof(set));
    asked = answered = 0;
    sim_options_init(&options);
    options.trace = getenv("UVZK_VERBOSE") != NULL;
    options.trace_cb = options.trace ? sim_trace_to_stderr : NULL;
    world_begin_with(&world, 1, tuning, &options);
    process_begin(&process, &world, "a", NULL);
    world_run_for(&world, 500);
}

static void ask(uvzk_lock_t *of, struct hold *by, const struct recipe *recipe)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = recipe->downgrades ? &process : NULL;
    options.leases = recipe->leases;
    options.revoke_cb = recipe->revocable ? on_revoked : NULL;
    (void)hold_ask(by, &process, of, &options);
}

/* The moment has come: refused from here on. */
static uint64_t refuse_at(const struct trouble *trouble, enum moment moment)
{
    if (trouble->moment != moment) {
        return 0;
    }
    sim_set_failed_op(world.sim, trouble->blamed);
    sim_refuse(world.sim, trouble->kind, trouble->status, FOR_EVER);
    return sim_submitted(process.port);
}

static uint64_t act_with_a_lock(uvzk_lock_t *of, const struct recipe *recipe,
                                const struct trouble *trouble)
{
    uint64_t before = refuse_at(trouble, START);
    bool waits = trouble->moment == WAIT || trouble->moment == WAKE;
    struct world_path obstacle = {""};

    if (waits) {
        obstacle = put_obstacle(recipe);
    }
    before += refuse_at(trouble, WAIT);
    ask(of, &hold, recipe);
    if (recipe->beside) {
        ask(&members[0], &beside, recipe);
    }
    if (waits) {
        world_run_for(&world, 1000);
        before += refuse_at(trouble, WAKE);
        world_delete(&world, &obstacle);
    } else if (trouble->moment != START) {
        hold_await(&hold, PATIENCE_MS);
        before += refuse_at(trouble, HOLD);
        before += refuse_at(trouble, RELEASE);
        if (recipe->downgrades) {
            ask(&process.rwlock.read, &downgraded, recipe);
        }
        if (trouble->moment == RELEASE && hold_holds(&hold)) {
            hold_release(&hold);
        }
    }
    return before;
}

static uint64_t act_with_a_value(const struct trouble *trouble)
{
    uint64_t before = 0;

    for (enum moment moment = START; moment < MOMENTS; moment++) {
        before += refuse_at(trouble, moment);
        if (moment == WAIT) {
            world_run_for(&world, 1000);
        } else if (moment == WAKE) {
            (void)sim_set_by_hand(world.sim, PATH, "x", 1);
        } else if (moment == HOLD) {
            asked += uvzk_shared_value_set(&value, &set, "y", 1, on_set) == 0;
        }
    }
    return before;
}

/* Of how many requests it is too many; 0: all is well. */
static uint64_t perform(const struct recipe *recipe, const struct trouble *trouble,
                        unsigned tuning)
{
    begin(tuning);
    uvzk_lock_t *of = recipe->make();
    uint64_t before =
        of == NULL ? act_with_a_value(trouble) : act_with_a_lock(of, recipe, trouble);
    sim_run_for(world.sim, WATCHED_MS);
    uint64_t count = sim_submitted(process.port) - before;
    process_close(&process);
    assert_true(world_await(&world, &process.closed, PATIENCE_MS));
    world_end(&world); /* which asserts that every hold has been told all */
    assert_int_equal(answered, asked);
    return count > REQUESTS_MAX ? count : 0;
}

/* -------------------------------------------------------------------- all of them */

/* That what stands is missing, or that what is missing stands, is no refusal but a lie,
 * and another request is what follows from it. */
static bool can_be_said(enum uvzk__rpc_kind kind, int status)
{
    return status != UVZK_ENODEEXISTS &&
           (status != UVZK_ENONODE || kind == UVZK__RPC_CREATE || kind == UVZK__RPC_SET);
}

static int perform_each(const struct recipe *recipe, const struct trouble *trouble,
                        unsigned tuning)
{
    struct trouble now = *trouble;
    int storms = 0;

    for (int moment = START; moment < MOMENTS; moment++) {
        now.moment = (enum moment)moment;
        uint64_t count = perform(recipe, &now, tuning);
        if (count > 0) {
            print_error("%s, tuning %u: %s refused with %s (op %d) from %s on: %" PRIu64
                        " requests\n",
                        recipe->name, tuning, sim__request_name((uint32_t)now.kind),
                        uvzk_err_name(now.status), (int)now.blamed, moment_names[moment],
                        count);
            storms++;
        }
    }
    return storms;
}

static int refuse_for_ever(const struct recipe *recipe, unsigned tuning)
{
    static const int statuses[] = {
        UVZK_ENOAUTH,    UVZK_EINVALIDACL, UVZK_ENONODE,     UVZK_ENODEEXISTS,
        UVZK_ENOTEMPTY,  UVZK_EBADVERSION, UVZK_ENOCHILDREN, UVZK_EUNIMPLEMENTED,
        UVZK_ETHROTTLED, UVZK_EREJECTED,   UVZK_EZOOKEEPER,  UV_ENOMEM,
        UVZK_ENOTSENT};
    int storms = 0;

    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        for (int kind = UVZK__RPC_CREATE; kind < UVZK__RPC_KINDS; kind++) {
            struct trouble trouble = {START, (enum uvzk__rpc_kind)kind, statuses[i],
                                      SIZE_MAX};
            size_t blamed_max = kind == UVZK__RPC_MULTI ? 2 : 0;
            if (!can_be_said(trouble.kind, statuses[i])) {
                continue;
            }
            storms += perform_each(recipe, &trouble, tuning);
            for (trouble.blamed = 0; trouble.blamed < blamed_max; trouble.blamed++) {
                storms += perform_each(recipe, &trouble, tuning);
            }
        }
    }
    return storms;
}

static void nobody_storms(void **state)
{
    const struct recipe *recipe = *state;
    int storms = refuse_for_ever(recipe, 0) + refuse_for_ever(recipe, UVZK__TUNE_ALL);

    assert_int_equal(storms, 0);
}

#define RECIPES (sizeof(recipes) / sizeof(recipes[0]))

int main(void)
{
    struct CMUnitTest tests[RECIPES];

    for (size_t i = 0; i < RECIPES; i++) {
        tests[i] = (struct CMUnitTest){recipes[i].name, nobody_storms, NULL, NULL,
                                       (void *)(uintptr_t)&recipes[i]};
    }
    return cmocka_run_group_tests_name("refused for ever", tests, NULL, NULL);
}
