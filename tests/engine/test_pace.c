/* No refused request is repeated without a pause: each kind of request is refused for
 * some seconds, with each code that servers may say, while one claim waits behind a
 * foreign one and one asks; and after that as well, when the foreign one has gone. Nor is
 * one that is answered, but does not help yet. */
#include "cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "client/client.h"
#include "pace.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* One that repeats as fast as the answers come sends some hundreds. */
#define REQUESTS_A_SECOND 100U
#define CALM_MS 20000U
#define CLAIMS 3
#define STEPS 40U

enum recipe { MUTEX, READ, WRITE, SEMAPHORE, SEMAPHORE_MUTEX, MULTI_LOCK, RECIPES };

/* Where a foreigner stands in the way. */
static const char *const obstacles[RECIPES] = {
    "/l/_c_0123456789abcdef0123456789abcdef-lock-",
    "/l/_c_0123456789abcdef0123456789abcdef-__WRIT__",
    "/l/_c_0123456789abcdef0123456789abcdef-__READ__",
    "/l/leases/_c_0123456789abcdef0123456789abcdef-lease-",
    "/l/leases/_c_0123456789abcdef0123456789abcdef-lease-",
    "/l/_c_0123456789abcdef0123456789abcdef-lock-",
};
static const char *const recipe_names[RECIPES] = {
    "mutex", "read", "write", "semaphore", "semaphore mutex", "multi lock"};
static const int codes[] = {UVZK_ENOAUTH,    UVZK_ETHROTTLED, UVZK_EREJECTED,
                            UVZK_EZOOKEEPER, UVZK_ENONODE,    UVZK_EUNIMPLEMENTED};

struct scene {
    struct sim *sim;
    struct uvzk__port *port;
    struct pace pace;
    uvzk_client_t client;
    uvzk_mutex_t mutexes[2];
    uvzk_rwlock_t rwlock;
    uvzk_semaphore_t semaphore;
    uvzk_multilock_t multi;
    uvzk_hold_t requests[CLAIMS];
    bool told[CLAIMS], held[CLAIMS];
    bool closed;
    uint64_t most; /* requests in a second */
};

static void on_acquired(uvzk_hold_t *hold, int status)
{
    struct scene *scene = hold->data;

    scene->told[hold - scene->requests] = true;
    scene->held[hold - scene->requests] = status == 0;
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    struct scene *scene = hold->data;

    (void)reason;
    scene->held[hold - scene->requests] = false;
}

static void on_released(uvzk_hold_t *hold, int status)
{
    on_lost(hold, status);
}

static void on_closed(uvzk_client_t *client)
{
    ((struct scene *)client->data)->closed = true;
}

static void run(struct scene *scene, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        sim_run_for(scene->sim, 1);
        uint64_t sent = pace_look(&scene->pace);
        scene->most = sent > scene->most ? sent : scene->most;
    }
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

/* --------------------------------------------------------------------- the scene */

static uvzk_lock_t *lock_of(struct scene *scene, enum recipe recipe)
{
    uvzk_lock_t *const members[] = {&scene->mutexes[0], &scene->mutexes[1]};

    switch (recipe) {
    case MUTEX:
        return &scene->mutexes[0];
    case READ:
        return &scene->rwlock.read;
    case WRITE:
        return &scene->rwlock.write;
    case MULTI_LOCK:
        assert_int_equal(
            uvzk_multilock_init(&scene->client, &scene->multi, members, 2, 0, NULL), 0);
        return &scene->multi;
    default:
        return &scene->semaphore;
    }
}

static void make_locks(struct scene *scene, enum recipe recipe)
{
    if (recipe == SEMAPHORE) {
        assert_int_equal(
            uvzk_semaphore_init(&scene->client, &scene->semaphore, "/l", 2, NULL), 0);
    } else if (recipe == SEMAPHORE_MUTEX) {
        assert_int_equal(
            uvzk_semaphore_mutex_init(&scene->client, &scene->semaphore, "/l"), 0);
    } else if (recipe == READ || recipe == WRITE) {
        assert_int_equal(uvzk_rwlock_init(&scene->client, &scene->rwlock, "/l"), 0);
    } else {
        assert_int_equal(uvzk_mutex_init(&scene->client, &scene->mutexes[0], "/l"), 0);
        assert_int_equal(uvzk_mutex_init(&scene->client, &scene->mutexes[1], "/m"), 0);
    }
}

static void begin(struct scene *scene, unsigned tuning, enum recipe recipe)
{
    struct sim_options settings;
    uvzk_client_options_t options;

    memset(scene, 0, sizeof(*scene));
    sim_options_init(&settings);
    settings.latency_min_ms = settings.latency_max_ms = 1;
    settings.alarm_late_max_ms = 0;
    scene->sim = sim_new(1, &settings);
    scene->port = sim_port_new(scene->sim, "c");
    submit_to_sim = scene->port->submit;
    scene->port->submit = submit;
    scene->client.data = scene;
    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    assert_int_equal(uvzk__client_create(&scene->client, scene->port, &options, tuning),
                     0);
    make_locks(scene, recipe);
    pace_begin(&scene->pace, scene->sim, scene->port);
    assert_int_equal(uvzk_client_start(&scene->client), 0);
    run(scene, 100);
}

static void ask(struct scene *scene, int number, uvzk_lock_t *lock)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    memset(&scene->requests[number], 0, sizeof(scene->requests[number]));
    scene->requests[number].data = scene;
    assert_int_equal(
        uvzk_lock_acquire(lock, &scene->requests[number], &options, on_acquired, on_lost),
        0);
}

static void let_go(struct scene *scene, int number)
{
    if (scene->held[number]) {
        assert_int_equal(uvzk_hold_release(&scene->requests[number], on_released), 0);
    } else if (!scene->told[number]) {
        (void)uvzk_hold_cancel(&scene->requests[number]);
    }
}

static void end(struct scene *scene)
{
    for (int i = 0; i < CLAIMS; i++) {
        let_go(scene, i);
    }
    run(scene, CALM_MS);
    assert_int_equal(uvzk_client_close(&scene->client, on_closed), 0);
    sim_run_for(scene->sim, CALM_MS);
    assert_true(scene->closed);
    sim_free(scene->sim);
}

/* --------------------------------------------------------------------- the stories */

/* The first one has held and makes the directories. */
static void play(struct scene *scene, enum recipe recipe, enum uvzk__rpc_kind kind,
                 int code)
{
    uvzk_lock_t *lock = lock_of(scene, recipe);

    ask(scene, 0, lock);
    run(scene, 500);
    let_go(scene, 0);
    run(scene, 500);
    char obstacle[128]; /* the simulator's own goes with the znode */
    const char *made =
        sim_create_by_hand(scene->sim, obstacles[recipe], UVZK__EPHEMERAL_SEQUENTIAL);
    assert_non_null(made);
    (void)snprintf(obstacle, sizeof(obstacle), "%s", made);
    ask(scene, 1, lock);
    run(scene, 500);
    sim_refuse(scene->sim, kind, code, UINT32_MAX);
    ask(scene, 2, lock);
    run(scene, 3000);
    assert_int_equal(sim_delete_by_hand(scene->sim, obstacle), 0);
    run(scene, 3000);
    sim_refuse(scene->sim, kind, 0, 0);
}

static int storms;

static void judge(const struct scene *scene, enum recipe recipe, const char *trouble)
{
    if (scene->most > REQUESTS_A_SECOND) {
        print_error("%s, %s: %d requests in a second\n", recipe_names[recipe], trouble,
                    (int)scene->most);
        storms++;
    }
}

static void check_refusals(unsigned tuning, enum recipe recipe, enum uvzk__rpc_kind kind)
{
    static struct scene scene;
    char trouble[64];

    for (size_t i = 0; i < LENGTH(codes); i++) {
        if (kind == UVZK__RPC_MULTI && codes[i] == UVZK_ENONODE) {
            continue; /* no server says so of a directory that stands */
        }
        begin(&scene, tuning, recipe);
        play(&scene, recipe, kind, codes[i]);
        (void)snprintf(trouble, sizeof(trouble), "requests of kind %d refused with %s",
                       (int)kind, uvzk_err_name(codes[i]));
        judge(&scene, recipe, trouble);
        end(&scene);
    }
}

/* The connection is lost somewhere on the way, so that what is made has not been
 * told, and is back. */
static void check_outages(unsigned tuning, enum recipe recipe, uint64_t ms)
{
    static struct scene scene;

    for (uint64_t steps = 0; steps < STEPS && storms == 0; steps++) {
        begin(&scene, tuning, recipe);
        ask(&scene, 0, lock_of(&scene, recipe));
        for (uint64_t i = 0; i < steps; i++) {
            (void)sim_step(scene.sim);
        }
        sim_disconnect(scene.port, SIM_RESET, ms);
        run(&scene, ms + 5000);
        scene.told[1] = scene.told[2] = true;
        judge(&scene, recipe, "reconnected");
        end(&scene);
    }
}

static void check_all_refusals(unsigned tuning)
{
    for (enum recipe recipe = 0; recipe < RECIPES; recipe++) {
        for (enum uvzk__rpc_kind kind = 0; kind <= UVZK__RPC_MULTI; kind++) {
            check_refusals(tuning, recipe, kind);
        }
    }
    assert_int_equal(storms, 0);
}

/* Briefly; and for so long that a new proof must be awaited. */
static void check_all_outages(unsigned tuning)
{
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

static void test_refusals_plain(void **state)
{
    (void)state;
    check_all_refusals(0);
}

static void test_refusals(void **state)
{
    (void)state;
    check_all_refusals(UVZK__TUNE_ALL);
}

static void test_outages_plain(void **state)
{
    (void)state;
    check_all_outages(0);
}

static void test_outages(void **state)
{
    (void)state;
    check_all_outages(UVZK__TUNE_ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_refusals_plain, begin_to_count),
        cmocka_unit_test_setup(test_refusals, begin_to_count),
        cmocka_unit_test_setup(test_outages_plain, begin_to_count),
        cmocka_unit_test_setup(test_outages, begin_to_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
