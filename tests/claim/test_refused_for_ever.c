/* A server that refuses one kind of request with one code, for ever: from the start,
 * from a wait on, from a hold on; in every recipe. Whoever repeats a refused request does
 * so after a pause: a server that is asked as fast as it answers would be asked five
 * hundred times a second by each client. Who asked is told the outcome, or waits. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "sim_inside.h"

#define PATH "/app/of/many"
#define UUID "_c_01234567-89ab-4cde-8f01-23456789abcd-"
#define TIMEOUT_MS 10000U
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

/* One client with one lock, or one value. */
struct play {
    struct sim *sim;
    struct uvzk__port *port;
    uvzk_client_t client;
    uvzk_lock_t lock, members[2];
    uvzk_rwlock_t rwlock;
    uvzk_shared_value_t value;
    uvzk_hold_t request, downgraded;
    uvzk_set_t set;
    char obstacle[128]; /* somebody else's znode, to be waited for */
    int owner;
    int asked, answered, granted, lost, released, closed;
};

struct recipe {
    const char *name;
    const char *obstacle; /* below PATH; sequential if it ends with '-' */
    void (*init)(struct play *);
    uvzk_lock_t *(*lock)(struct play *);
    bool revocable;
    bool downgrades;
    uint32_t leases;
};

/* --------------------------------------------------------------------- callbacks */

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct play *play = hold->data;

    play->answered++;
    play->granted += status == 0;
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct play *play = hold->data;

    (void)reason;
    play->lost++;
}

static void on_released(uvzk_hold_t *hold, int status)
{
    struct play *play = hold->data;

    (void)status;
    play->released++;
}

static void on_revoked(uvzk_hold_t *hold)
{
    (void)hold;
}

static void on_set(uvzk_set_t *request, int status)
{
    struct play *play = request->data;

    (void)status;
    play->answered++;
}

static void on_closed(uvzk_client_t *client)
{
    struct play *play = client->data;

    play->closed++;
}

/* ------------------------------------------------------------------- the recipes */

static uvzk_lock_t *the_lock(struct play *play)
{
    return &play->lock;
}

static uvzk_lock_t *the_reader(struct play *play)
{
    return &play->rwlock.read;
}

static uvzk_lock_t *the_writer(struct play *play)
{
    return &play->rwlock.write;
}

static void init_mutex(struct play *play)
{
    assert_int_equal(uvzk_mutex_init(&play->client, &play->lock, PATH), 0);
}

static void init_rwlock(struct play *play)
{
    assert_int_equal(uvzk_rwlock_init(&play->client, &play->rwlock, PATH), 0);
}

static void init_semaphore(struct play *play)
{
    assert_int_equal(uvzk_semaphore_init(&play->client, &play->lock, PATH, 2, NULL), 0);
}

static void init_multilock(struct play *play, unsigned flags)
{
    uvzk_lock_t *members[] = {&play->members[0], &play->members[1]};

    assert_int_equal(uvzk_mutex_init(&play->client, members[0], PATH), 0);
    assert_int_equal(uvzk_mutex_init(&play->client, members[1], PATH "s/b"), 0);
    assert_int_equal(
        uvzk_multilock_init(&play->client, &play->lock, members, 2, flags, NULL), 0);
}

static void init_at_once(struct play *play)
{
    init_multilock(play, 0);
}

static void init_in_turn(struct play *play)
{
    init_multilock(play, UVZK_MULTILOCK_IN_TURN);
}

static void init_driven(struct play *play, uint32_t mode)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = mode == UVZK_NODE_EPHEMERAL ? "lock" : "lock-";
    driver.mode = mode;
    assert_int_equal(uvzk_driver_lock_init(&play->client, &play->lock, PATH, &driver), 0);
}

static void init_sequential(struct play *play)
{
    init_driven(play, UVZK_NODE_EPHEMERAL_SEQUENTIAL);
}

static void init_fixed(struct play *play)
{
    init_driven(play, UVZK_NODE_EPHEMERAL);
}

static void init_durable(struct play *play)
{
    init_driven(play, UVZK_NODE_PERSISTENT_SEQUENTIAL);
}

static void init_value(struct play *play)
{
    assert_int_equal(
        uvzk_shared_value_init(&play->client, &play->value, PATH, "seed", 4, NULL), 0);
}

static const struct recipe recipes[] = {
    {"mutex", "/" UUID "lock-", init_mutex, the_lock, .leases = 1},
    {"revocable mutex", "/" UUID "lock-", init_mutex, the_lock, .revocable = true,
     .leases = 1},
    {"reader", "/" UUID "__WRIT__", init_rwlock, the_reader, .leases = 1},
    {"writer", "/" UUID "__READ__", init_rwlock, the_writer, .leases = 1},
    {"downgrade", "/" UUID "__READ__", init_rwlock, the_writer, .downgrades = true,
     .leases = 1},
    {"semaphore's ticket", "/locks/" UUID "lock-", init_semaphore, the_lock, .leases = 2},
    {"semaphore's leases", "/leases/" UUID "lease-", init_semaphore, the_lock,
     .leases = 2},
    {"multi lock at once", "/" UUID "lock-", init_at_once, the_lock, .leases = 1},
    {"multi lock in turn", "/" UUID "lock-", init_in_turn, the_lock, .leases = 1},
    {"driver's lock", "/" UUID "lock-", init_sequential, the_lock, .leases = 1},
    {"fixed name", "/lock", init_fixed, the_lock, .leases = 1},
    {"persistent lock", "/" UUID "lock-", init_durable, the_lock, .leases = 1},
    {"shared value", NULL, init_value, NULL, .leases = 0},
};

/* ------------------------------------------------------------------------ a play */

static void await(struct play *play, const int *counter, int value, uint64_t ms)
{
    for (uint64_t i = 0; i < ms && *counter < value; i++) {
        sim_run_for(play->sim, 1);
    }
}

static void make_directories(struct play *play, const char *path)
{
    char part[160];

    for (const char *slash = strchr(path + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
        (void)sim_create_by_hand(play->sim, part, UVZK__PERSISTENT);
    }
}

static void put_obstacle(struct play *play, const struct recipe *recipe)
{
    char path[128];
    const char *made;
    bool fixed = recipe->obstacle[strlen(recipe->obstacle) - 1] == 'k';

    (void)snprintf(path, sizeof(path), PATH "%s", recipe->obstacle);
    make_directories(play, path);
    made = sim_create_by_hand(play->sim, path,
                              fixed ? UVZK__EPHEMERAL : UVZK__EPHEMERAL_SEQUENTIAL);
    assert_non_null(made);
    (void)snprintf(play->obstacle, sizeof(play->obstacle), "%s", made);
}

static void begin(struct play *play, const struct recipe *recipe, unsigned tuning)
{
    struct sim_options options;
    uvzk_client_options_t client_options;

    memset(play, 0, sizeof(*play));
    sim_options_init(&options);
    options.session_timeout_ms = TIMEOUT_MS;
    options.trace = getenv("UVZK_VERBOSE") != NULL;
    options.trace_cb = options.trace ? sim_trace_to_stderr : NULL;
    play->sim = sim_new(1, &options);
    play->port = sim_port_new(play->sim, "c");
    play->client.data = play;
    uvzk_client_options_init(&client_options);
    client_options.hosts = "simulated:1";
    client_options.session_timeout_ms = TIMEOUT_MS;
    assert_int_equal(
        uvzk__client_create(&play->client, play->port, &client_options, tuning), 0);
    assert_int_equal(uvzk_client_start(&play->client), 0);
    sim_run_for(play->sim, 500);
    recipe->init(play);
}

static void ask(struct play *play, uvzk_lock_t *lock, uvzk_hold_t *hold,
                const struct recipe *recipe)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = recipe->downgrades ? &play->owner : NULL;
    options.leases = recipe->leases;
    options.revoke_cb = recipe->revocable ? on_revoked : NULL;
    hold->data = play;
    play->asked += uvzk_lock_acquire(lock, hold, &options, on_acquired, on_lost) == 0;
}

/* The moment has come: refused from here on. */
static uint64_t refuse_at(struct play *play, const struct trouble *trouble,
                          enum moment moment)
{
    if (trouble->moment != moment) {
        return 0;
    }
    sim_blame(play->sim, trouble->blamed);
    sim_refuse(play->sim, trouble->kind, trouble->status, FOR_EVER);
    return sim_submitted(play->port);
}

static uint64_t act_with_a_lock(struct play *play, const struct recipe *recipe,
                                const struct trouble *trouble)
{
    uint64_t before = refuse_at(play, trouble, START);
    bool waits = trouble->moment == WAIT || trouble->moment == WAKE;

    if (waits) {
        put_obstacle(play, recipe);
    }
    before += refuse_at(play, trouble, WAIT);
    ask(play, recipe->lock(play), &play->request, recipe);
    if (waits) {
        sim_run_for(play->sim, 1000);
        before += refuse_at(play, trouble, WAKE);
        (void)sim_delete_by_hand(play->sim, play->obstacle);
    } else if (trouble->moment != START) {
        await(play, &play->granted, 1, PATIENCE_MS);
        assert_int_equal(play->granted, 1);
        before += refuse_at(play, trouble, HOLD);
        before += refuse_at(play, trouble, RELEASE);
        if (recipe->downgrades) {
            ask(play, &play->rwlock.read, &play->downgraded, recipe);
        }
        if (trouble->moment == RELEASE) {
            (void)uvzk_hold_release(&play->request, on_released);
        }
    }
    return before;
}

static uint64_t act_with_a_value(struct play *play, const struct trouble *trouble)
{
    uint64_t before = 0;

    for (enum moment moment = START; moment < MOMENTS; moment++) {
        before += refuse_at(play, trouble, moment);
        if (moment == WAIT) {
            sim_run_for(play->sim, 1000);
        } else if (moment == WAKE) {
            (void)sim_set_by_hand(play->sim, PATH, "x", 1);
        } else if (moment == HOLD) {
            play->set.data = play;
            play->asked +=
                uvzk_shared_value_set(&play->value, &play->set, "y", 1, on_set) == 0;
        }
    }
    return before;
}

/* Of how many requests it is too many; 0: all is well. */
static uint64_t perform(const struct recipe *recipe, const struct trouble *trouble,
                        unsigned tuning)
{
    struct play play;
    uint64_t before;

    begin(&play, recipe, tuning);
    before = recipe->lock == NULL ? act_with_a_value(&play, trouble)
                                  : act_with_a_lock(&play, recipe, trouble);
    sim_run_for(play.sim, WATCHED_MS);
    uint64_t count = sim_submitted(play.port) - before;
    assert_int_equal(uvzk_client_close(&play.client, on_closed), 0);
    await(&play, &play.closed, 1, PATIENCE_MS);
    assert_int_equal(play.closed, 1);
    assert_int_equal(play.answered, play.asked);
    sim_free(play.sim);
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
        for (int kind = UVZK__RPC_CREATE; kind <= UVZK__RPC_MULTI; kind++) {
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
