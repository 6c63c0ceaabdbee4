/* SPDX-License-Identifier: Apache-2.0 */
/* No refused request is repeated without a pause: each kind of request is refused for
 * some seconds, with each code that servers may say, while one claim waits behind a
 * foreign one and one asks; and after that as well, when the foreign one has gone. Nor is
 * one that is answered, but does not help yet. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "request_rate.h"
#include "world.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* One that repeats as fast as the answers come sends some hundreds. */
#define REQUESTS_A_SECOND 100U
#define CALM_MS 20000U
#define CLAIMS 3
#define STEPS 40U

enum recipe { MUTEX, READ, WRITE, SEMAPHORE, SEMAPHORE_MUTEX, MULTI_LOCK, RECIPES };

/* And where a foreign node stands in the way. */
static const struct {
    const char *name, *directory, *obstacle;
} recipes[RECIPES] = {
    [MUTEX] = {"mutex", WORLD_PATH, "lock-"},
    [READ] = {"read", "/l", "__WRIT__"},
    [WRITE] = {"write", "/l", "__READ__"},
    [SEMAPHORE] = {"semaphore", "/l/leases", "lease-"},
    [SEMAPHORE_MUTEX] = {"semaphore mutex", "/l/leases", "lease-"},
    [MULTI_LOCK] = {"multi lock", WORLD_PATH, "lock-"},
};
static const int codes[] = {UVZK_ENOAUTH,    UVZK_ETHROTTLED, UVZK_EREJECTED,
                            UVZK_EZOOKEEPER, UVZK_ENONODE,    UVZK_EUNIMPLEMENTED};

static struct world world;
static struct process process;
static uvzk_mutex_t second;
static uvzk_multilock_t both;
static uvzk_lock_t *lock; /* of the recipe that is played */
static struct hold holds[CLAIMS];
static struct request_rate request_rate;
static uint64_t most; /* requests in a second */
static int storms;

static void each_ms(struct world *of)
{
    (void)of;
    uint64_t sent = process.port == NULL ? 0 : request_rate_now(&request_rate);
    most = sent > most ? sent : most;
}

/* Servers say which operation of a multi they refuse: its first one here, which the
 * simulator leaves open. */
#define MULTIS_MAX 64
static struct {
    struct uvzk__rpc *rpc; /* NULL: unused */
    uvzk__reply_cb reply_cb;
} multis[MULTIS_MAX];
static void (*submit_to_sim)(struct uvzk__port *, struct uvzk__rpc *);

static void on_multi(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__reply exact = *reply;
    size_t i = 0;

    while (multis[i].rpc != rpc) {
        i++;
    }
    if (reply->status < 0 && reply->failed_op == SIZE_MAX) {
        exact.failed_op = 0;
    }
    multis[i].rpc = NULL;
    rpc->reply_cb = multis[i].reply_cb;
    rpc->reply_cb(rpc, &exact);
}

static void submit(struct uvzk__port *port, struct uvzk__rpc *rpc)
{
    size_t i = 0;

    while (rpc->kind == UVZK__RPC_MULTI && multis[i].rpc != NULL) {
        assert_true(++i < MULTIS_MAX);
    }
    if (rpc->kind == UVZK__RPC_MULTI) {
        multis[i].rpc = rpc;
        multis[i].reply_cb = rpc->reply_cb;
        rpc->reply_cb = on_multi;
    }
    submit_to_sim(port, rpc);
}

/* ------------------------------------------------------------- beginning and end */

static uvzk_lock_t *make_lock(enum recipe recipe)
{
    uvzk_client_t *client = &process.client;
    uvzk_lock_t *const members[] = {&process.mutex, &second};

    switch (recipe) {
    case MUTEX:
        return &process.mutex;
    case READ:
    case WRITE:
        process_make_rwlock(&process, "/l");
        return recipe == READ ? &process.rwlock.read : &process.rwlock.write;
    case SEMAPHORE:
        process_make_semaphore(&process, "/l", 2);
        return &process.semaphore;
    case SEMAPHORE_MUTEX:
        assert_int_equal(uvzk_semaphore_mutex_init(client, &process.semaphore, "/l"), 0);
        return &process.semaphore;
    default:
        assert_int_equal(uvzk_mutex_init(client, &second, "/m"), 0);
        assert_int_equal(uvzk_multilock_init(client, &both, members, 2, 0, NULL), 0);
        return &both;
    }
}

static void begin(unsigned tuning, enum recipe recipe)
{
    memset(&second, 0, sizeof(second));
    memset(&both, 0, sizeof(both));
    memset(holds, 0, sizeof(holds));
    most = 0;
    world_begin_exact(&world, tuning, 1);
    world.each_ms = each_ms;
    process_make(&process, &world, "a", NULL);
    submit_to_sim = process.port->submit;
    process.port->submit = submit;
    lock = make_lock(recipe);
    request_rate_begin(&request_rate, world.sim, process.port, sim_submitted);
    process_start(&process);
    world_run_for(&world, 100);
}

static void ask(int number)
{
    hold_begin_on(&holds[number], &process, lock, 0, UVZK_WAIT_FOREVER);
}

static void end(void)
{
    for (int i = 0; i < CLAIMS; i++) {
        hold_release_or_cancel(&holds[i]);
    }
    world_run_for(&world, CALM_MS);
    world_end(&world);
}

/* --------------------------------------------------------------------- the stories */

/* The first one has held and makes the directories. */
static void play(enum recipe recipe, enum uvzk__rpc_kind kind, int code)
{
    ask(0);
    world_run_for(&world, 500);
    hold_release_or_cancel(&holds[0]);
    world_run_for(&world, 500);
    struct world_path obstacle =
        world_foreign_node(&world, recipes[recipe].directory, recipes[recipe].obstacle);
    assert_string_not_equal(obstacle.text, "");
    ask(1);
    world_run_for(&world, 500);
    sim_refuse(world.sim, kind, code, UINT32_MAX);
    ask(2);
    world_run_for(&world, 3000);
    world_delete(&world, &obstacle);
    world_run_for(&world, 3000);
    sim_refuse(world.sim, kind, 0, 0);
}

static void check_rate(enum recipe recipe, const char *trouble)
{
    if (most > REQUESTS_A_SECOND) {
        print_error("%s, %s: %d requests in a second\n", recipes[recipe].name, trouble,
                    (int)most);
        storms++;
    }
}

static void check_refusals(unsigned tuning, enum recipe recipe, enum uvzk__rpc_kind kind)
{
    char trouble[64];

    for (size_t i = 0; i < LENGTH(codes); i++) {
        if (kind == UVZK__RPC_MULTI && codes[i] == UVZK_ENONODE) {
            continue; /* no server says so of a directory that stands */
        }
        begin(tuning, recipe);
        play(recipe, kind, codes[i]);
        (void)snprintf(trouble, sizeof(trouble), "requests of kind %d refused with %s",
                       (int)kind, uvzk_err_name(codes[i]));
        check_rate(recipe, trouble);
        end();
    }
}

/* Behind several: the listing shows whom the server does not find when it is asked for
 * him. */
static void contradictions(void **state)
{
    unsigned tuning = *(const unsigned *)*state;

    for (enum recipe recipe = MUTEX; recipe <= WRITE; recipe++) {
        begin(tuning, recipe);
        ask(0);
        world_run_for(&world, 500);
        hold_release_or_cancel(&holds[0]);
        world_run_for(&world, 500);
        for (int i = 0; i < 3; i++) {
            (void)world_foreign_node(&world, recipes[recipe].directory,
                                     recipes[recipe].obstacle);
        }
        sim_refuse(world.sim, UVZK__RPC_GET, UVZK_ENONODE, UINT32_MAX);
        ask(1);
        world_run_for(&world, 3000);
        sim_refuse(world.sim, UVZK__RPC_GET, 0, 0);
        check_rate(recipe, "contradicted");
        end();
    }
    assert_int_equal(storms, 0);
}

/* The connection is lost somewhere on the way, so that what is made has not been
 * told, and is back. */
static void check_outages(unsigned tuning, enum recipe recipe, uint64_t ms)
{
    for (uint64_t steps = 0; steps < STEPS && storms == 0; steps++) {
        begin(tuning, recipe);
        ask(0);
        world_steps(&world, steps);
        sim_disconnect(process.port, SIM_RESET, ms);
        world_run_for(&world, ms + 5000);
        check_rate(recipe, "reconnected");
        end();
    }
}

static void refusals(void **state)
{
    unsigned tuning = *(const unsigned *)*state;

    for (enum recipe recipe = 0; recipe < RECIPES; recipe++) {
        for (enum uvzk__rpc_kind kind = 0; kind < UVZK__RPC_KINDS; kind++) {
            check_refusals(tuning, recipe, kind);
        }
    }
    assert_int_equal(storms, 0);
}

/* Briefly; and for so long that a new proof must be awaited. */
static void outages(void **state)
{
    unsigned tuning = *(const unsigned *)*state;

    for (enum recipe recipe = 0; recipe < RECIPES; recipe++) {
        check_outages(tuning, recipe, 100);
        check_outages(tuning, recipe, 9300);
    }
    assert_int_equal(storms, 0);
}

static int begin_to_count(void **state)
{
    (void)state;
    storms = 0;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"test_refusals_plain", refusals, begin_to_count, NULL, &world_plain},
        {"test_refusals", refusals, begin_to_count, NULL, &world_tuned},
        {"test_contradictions_plain", contradictions, begin_to_count, NULL, &world_plain},
        {"test_contradictions", contradictions, begin_to_count, NULL, &world_tuned},
        {"test_outages_plain", outages, begin_to_count, NULL, &world_plain},
        {"test_outages", outages, begin_to_count, NULL, &world_tuned},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
