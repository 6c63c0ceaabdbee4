/* Scenarios in which the n-th allocation of the library fails, for n = 1, 2, 3,
 * ... until one runs through: that one must end as if memory had no end, and the
 * others must answer everybody exactly once, and leave nothing behind.
 *
 *   UVZK_VERBOSE  set: one line for each scenario */
#include "cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "scarce.h"
#include "stage.h"

/* ---------------------------------------------------------------------- a play */

struct play {
    struct stage stage;
    struct claim claims[5];
    uint64_t fail_count;    /* allocations in a row */
    const char *unexpected; /* what would be wrong had memory not failed */
    uvzk_verify_t verify;
    uvzk_participants_t participants;
    int verified, verify_status;
    int listed, list_status;
    size_t list_count, list_holding;
    uvzk_locker_t locker;
    int locked, unlocked, unlock_status;
    uvzk_write_t write;
    int written, write_status;
    uvzk_read_t read;
    int was_read, read_status;
};

static struct play *current; /* for callbacks of requests that carry no claim */

#define EXPECT(condition)                               \
    do {                                                \
        if (!(condition) && play->unexpected == NULL) { \
            play->unexpected = #condition;              \
        }                                               \
    } while (0)

static struct seat *seat(struct play *play, int number)
{
    return &play->stage.seats[number];
}

static void ask_for(struct play *play, int claim, int seat_number)
{
    (void)claim_simply(&play->claims[claim], seat(play, seat_number), NULL,
                       UVZK_WAIT_FOREVER);
}

static void run(struct play *play, uint64_t ms)
{
    stage_run(&play->stage, ms);
}

/* A failed allocation is soon tried again, not only when something else happens:
 * a hundred ms later, or, for a proof, a quarter tick. */
static void check_pace(struct play *play, uint64_t since_ms, uint64_t retry_ms)
{
    uint64_t taken = sim_now(play->stage.sim) - since_ms;

    if (taken > 200 + play->fail_count * retry_ms) {
        stage_fail(&play->stage, "it takes %llu ms", (unsigned long long)taken);
    }
}

static void one_acquires_and_releases(struct play *play)
{
    run(play, 100);
    for (int i = 0; i < 2; i++) {
        uint64_t begin = sim_now(play->stage.sim);
        ask_for(play, i, 0);
        claim_wait_answer(&play->claims[i]);
        EXPECT(play->claims[i].granted == 1);
        check_pace(play, begin, 550);
        begin = sim_now(play->stage.sim);
        claim_finish(&play->claims[i]);
        EXPECT(play->claims[i].release_status == 0);
        check_pace(play, begin, 110);
        run(play, 5000);
    }
}

static void two_clients_contend(struct play *play)
{
    ask_for(play, 0, 0);
    run(play, 500);
    ask_for(play, 1, 1);
    ask_for(play, 2, 1);
    run(play, 100);
    ask_for(play, 3, 0);
    run(play, 5000); /* with proofs while it is held */
    EXPECT(claim_holds(&play->claims[0]) && play->claims[1].queued == 1);
    for (int i = 0; i < 4; i++) {
        claim_finish(&play->claims[i]);
        EXPECT(play->claims[i].turn == i + 1);
    }
}

static void an_owner_enters_again(struct play *play)
{
    void *owner = play;

    (void)claim_simply(&play->claims[0], seat(play, 0), owner, UVZK_WAIT_FOREVER);
    (void)claim_simply(&play->claims[1], seat(play, 0), owner, UVZK_WAIT_FOREVER);
    claim_wait_answer(&play->claims[0]);
    claim_wait_answer(&play->claims[1]);
    (void)claim_simply(&play->claims[2], seat(play, 0), owner, UVZK_TRY_ONCE);
    claim_wait_answer(&play->claims[2]);
    EXPECT(claim_holds(&play->claims[0]) && claim_holds(&play->claims[2]));
    for (int i = 0; i < 3; i++) {
        claim_finish(&play->claims[i]);
        EXPECT(play->claims[i].release_status == 0);
    }
}

static void cancel(struct claim *claim)
{
    if (claim_pending(claim)) {
        assert_int_equal(uvzk_hold_cancel(&claim->request), 0);
    }
}

static void waiters_are_cancelled(struct play *play)
{
    run(play, 100);
    ask_for(play, 0, 0);
    cancel(&play->claims[0]); /* before the create is answered */
    ask_for(play, 1, 0);
    run(play, 500);
    ask_for(play, 2, 1);
    ask_for(play, 3, 0);
    run(play, 500);
    cancel(&play->claims[2]);
    cancel(&play->claims[3]);
    run(play, 500);
    EXPECT(claim_holds(&play->claims[1]));
    EXPECT(play->claims[2].status == UV_ECANCELED &&
           play->claims[3].status == UV_ECANCELED);
    claim_finish(&play->claims[1]);
}

static void waiters_run_out_of_time(struct play *play)
{
    ask_for(play, 0, 0);
    run(play, 500);
    (void)claim_simply(&play->claims[1], seat(play, 1), NULL, 700);
    (void)claim_simply(&play->claims[2], seat(play, 1), NULL, UVZK_TRY_ONCE);
    (void)claim_simply(&play->claims[3], seat(play, 0), NULL, UVZK_TRY_ONCE);
    run(play, 2000);
    EXPECT(claim_holds(&play->claims[0]));
    for (int i = 1; i < 4; i++) {
        claim_wait_answer(&play->claims[i]);
        EXPECT(play->claims[i].status == UV_ETIMEDOUT);
    }
    claim_finish(&play->claims[0]);
}

static void the_reply_of_the_create_is_lost(struct play *play)
{
    run(play, 100);
    ask_for(play, 0, 1);
    run(play, 500);
    sim_lose_reply(seat(play, 0)->port);
    ask_for(play, 1, 0);
    run(play, 5000);
    claim_finish(&play->claims[0]);
    claim_wait_answer(&play->claims[1]);
    EXPECT(claim_holds(&play->claims[1]));
    sim_lose_reply(seat(play, 0)->port); /* of the delete now, or of a proof */
    claim_finish(&play->claims[1]);
    EXPECT(play->claims[1].release_status == 0);
}

static void a_reply_does_not_fit_into_memory(struct play *play)
{
    run(play, 100);
    sim_spoil_reply(seat(play, 0)->port);
    ask_for(play, 0, 0);
    run(play, 2000);
    EXPECT(play->claims[0].status == UV_ENOMEM);
    ask_for(play, 1, 0);
    claim_wait_answer(&play->claims[1]);
    EXPECT(claim_holds(&play->claims[1]));
    sim_spoil_reply(seat(play, 0)->port);
    claim_finish(&play->claims[1]);
}

static void on_listed(uvzk_participants_t *request, int status, const char *const *paths,
                      size_t count)
{
    current->listed++;
    current->list_status = status;
    current->list_count = count;
    current->list_holding = uvzk_participants_holding(request);
    assert_null(request->impl);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(strncmp(paths[i], STAGE_PATH "/", strlen(STAGE_PATH) + 1), 0);
    }
}

static void list(struct play *play, uvzk_lock_t *lock)
{
    play->listed = 0;
    int status = uvzk_lock_participants(lock, &play->participants, on_listed);
    assert_true(status == 0 || status == UV_ENOMEM);
    run(play, 1000);
    assert_int_equal(play->listed, status == 0);
    assert_true(status != 0 || play->list_status == 0 || play->list_status == UV_ENOMEM);
    assert_true(play->list_status == 0 || play->list_count + play->list_holding == 0);
    assert_null(play->participants.impl);
}

static void the_participants_are_listed(struct play *play)
{
    ask_for(play, 0, 0);
    ask_for(play, 1, 1);
    run(play, 1000);
    list(play, &seat(play, 0)->mutex);
    EXPECT(play->list_status == 0 && play->list_count == 2 && play->list_holding == 1);
    claim_finish(&play->claims[0]);
    claim_finish(&play->claims[1]);
}

static void put_contender(struct play *play, const char *directory, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof(path),
                   "%s/_c_64fc66ae-773f-4d77-9695-eba698b095f7-%s0000000001", directory,
                   name);
    assert_non_null(sim_create_by_hand(play->stage.sim, path, UVZK__EPHEMERAL));
}

static void the_participants_of_a_semaphore_are_listed(struct play *play)
{
    static const char leases[] = STAGE_PATH "/sem/leases",
                      locks[] = STAGE_PATH "/sem/locks";
    static const char *const made[] = {"/locks",          "/locks/of", STAGE_PATH,
                                       STAGE_PATH "/sem", leases,      locks};
    uvzk_semaphore_t semaphore = {0};
    int status;

    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        (void)sim_create_by_hand(play->stage.sim, made[i], UVZK__CONTAINER);
    }
    put_contender(play, leases, "lease-");
    put_contender(play, locks, "lock-");
    status = uvzk_semaphore_init(&seat(play, 0)->client, &semaphore, STAGE_PATH "/sem", 2,
                                 NULL);
    assert_true(status == 0 || status == UV_ENOMEM);
    run(play, 500);
    if (status == 0) {
        list(play, &semaphore);
        EXPECT(play->list_status == 0 && play->list_count == 2 &&
               play->list_holding == 1);
        assert_int_equal(uvzk_lock_close(&semaphore, NULL), 0);
        run(play, 10);
        assert_null(semaphore.impl);
    }
    for (size_t i = 6; i > 3; i--) {
        const char *name;
        char path[256];
        if (sim_children(play->stage.sim, made[i - 1], &name, 1) > 0) {
            (void)snprintf(path, sizeof(path), "%s/%s", made[i - 1], name);
            assert_int_equal(sim_delete_by_hand(play->stage.sim, path), 0);
        }
        assert_int_equal(sim_delete_by_hand(play->stage.sim, made[i - 1]), 0);
    }
}

static void on_locked(uvzk_locker_t *locker)
{
    current->locked++;
    assert_int_equal(uvzk_locker_done(locker), 0);
}

static void on_unlocked(uvzk_locker_t *locker, int status)
{
    assert_null(locker->impl);
    current->unlocked++;
    current->unlock_status = status;
}

static void a_locker_runs(struct play *play)
{
    int status =
        uvzk_lock_run(&seat(play, 0)->mutex, &play->locker, NULL, on_locked, on_unlocked);

    assert_true(status == 0 || status == UV_ENOMEM);
    assert_true(status == 0 || play->locker.impl == NULL);
    EXPECT(status == 0);
    if (status == 0) {
        assert_true(stage_until(&play->stage, &play->unlocked, 1, 60000));
        assert_int_equal(play->locked, 1);
        assert_int_equal(play->unlock_status, 0);
    }
    run(play, 1000);
    assert_int_equal(play->unlocked, status == 0);
}

static void on_written(uvzk_write_t *request, int status, size_t failed)
{
    assert_null(request->impl);
    assert_int_equal(failed, SIZE_MAX);
    current->written++;
    current->write_status = status;
}

static void a_write_is_guarded(struct play *play)
{
    static const uvzk_write_op_t ops[] = {{UVZK_WRITE_CREATE, -1, "/w", "one", 3},
                                          {UVZK_WRITE_SET, -1, "/w", "two", 3}};

    ask_for(play, 0, 0);
    claim_wait_answer(&play->claims[0]);
    if (claim_holds(&play->claims[0])) {
        int status =
            uvzk_hold_write(&play->claims[0].request, &play->write, ops, 2, on_written);
        assert_true(status == 0 || status == UV_ENOMEM);
        assert_true(status == 0 || play->write.impl == NULL);
        EXPECT(status == 0);
        run(play, 1000);
        assert_int_equal(play->written, status == 0);
        assert_int_equal(play->write_status, 0);
        assert_int_equal(sim_exists(play->stage.sim, "/w"), status == 0);
    }
    claim_finish(&play->claims[0]);
}

static void on_read(uvzk_read_t *request, int status, const void *data, size_t length)
{
    assert_null(request->impl);
    assert_true(status != 0 || (data != NULL && length == 0));
    current->was_read++;
    current->read_status = status;
}

static void a_znode_is_read(struct play *play)
{
    assert_non_null(sim_create_by_hand(play->stage.sim, "/r", UVZK__PERSISTENT));
    run(play, 500);
    int status = uvzk_client_read(&seat(play, 0)->client, &play->read, "/r", on_read);
    assert_true(status == 0 || status == UV_ENOMEM);
    assert_true(status == 0 || play->read.impl == NULL);
    EXPECT(status == 0);
    run(play, 500);
    assert_int_equal(play->was_read, status == 0);
    assert_int_equal(play->read_status, 0);
    ask_for(play, 0, 0);
    claim_finish(&play->claims[0]);
}

static void on_verified(uvzk_verify_t *request, int status)
{
    assert_null(request->impl);
    current->verified++;
    current->verify_status = status;
}

static void a_hold_is_verified(struct play *play)
{
    ask_for(play, 0, 0);
    claim_wait_answer(&play->claims[0]);
    play->verify_status = STAGE_UNTOLD;
    if (claim_holds(&play->claims[0])) {
        int status =
            uvzk_hold_verify(&play->claims[0].request, &play->verify, on_verified);
        assert_true(status == 0 || status == UV_ENOMEM);
        run(play, 1000);
        assert_int_equal(play->verified, status == 0);
        assert_true(status != 0 || play->verify_status == 0);
    }
    EXPECT(play->verify_status == 0);
    claim_finish(&play->claims[0]);
}

static void a_client_closes_with_all_it_has(struct play *play)
{
    ask_for(play, 0, 0);
    run(play, 500);
    ask_for(play, 1, 0);
    ask_for(play, 2, 1);
    run(play, 500);
    EXPECT(claim_holds(&play->claims[0]));
    claim_release(&play->claims[0]);
    seat_close(seat(play, 0));
    assert_true(stage_until(&play->stage, &seat(play, 0)->closed, 1, 60000));
    assert_true(claim_over(&play->claims[0]) && claim_over(&play->claims[1]));
    EXPECT(play->claims[1].status == UVZK_ECLOSED);
    claim_wait_answer(&play->claims[2]);
    EXPECT(claim_holds(&play->claims[2]));
    seat_close(seat(play, 1)); /* and one with a hold */
    assert_true(stage_until(&play->stage, &seat(play, 1)->closed, 1, 60000));
    EXPECT(play->claims[2].reason == UVZK_ECLOSED);
}

static void a_mutex_closes_with_all_it_has(struct play *play)
{
    ask_for(play, 0, 0);
    run(play, 500);
    ask_for(play, 1, 0);
    ask_for(play, 2, 1);
    run(play, 500);
    seat_close_mutex(seat(play, 0));
    assert_true(stage_until(&play->stage, &seat(play, 0)->mutex_closed, 1, 60000));
    assert_true(claim_over(&play->claims[0]) && claim_over(&play->claims[1]));
    EXPECT(play->claims[0].reason == UVZK_ECLOSED &&
           play->claims[1].status == UVZK_ECLOSED);
    claim_wait_answer(&play->claims[2]);
    EXPECT(claim_holds(&play->claims[2]));
}

static void the_session_expires(struct play *play)
{
    ask_for(play, 0, 0);
    ask_for(play, 1, 0);
    run(play, 1000);
    EXPECT(claim_holds(&play->claims[0]));
    sim_disconnect(seat(play, 0)->port, SIM_RESET, 16000);
    ask_for(play, 2, 1);
    run(play, 20000);
    EXPECT(play->claims[0].reason == UVZK_EPROOF &&
           play->claims[1].status == UVZK_EEXPIRED);
    EXPECT(claim_holds(&play->claims[2]));
    ask_for(play, 3, 0); /* in the new session */
    claim_finish(&play->claims[2]);
    claim_wait_answer(&play->claims[3]);
    EXPECT(claim_holds(&play->claims[3]));
}

static void delete_some_node(struct play *play, size_t which)
{
    const char *names[8];
    struct stage_path path;
    size_t count = sim_children(play->stage.sim, STAGE_PATH, names, 8);

    play->stage.meddled = true;
    if (which < count) {
        (void)snprintf(path.text, sizeof(path.text), STAGE_PATH "/%s", names[which]);
        stage_delete(&play->stage, &path);
    }
}

static void nodes_are_deleted_by_hand(struct play *play)
{
    ask_for(play, 0, 0);
    run(play, 500);
    ask_for(play, 1, 1);
    run(play, 2500);
    delete_some_node(play, 1); /* the waiter's: it takes another place */
    run(play, 3000);
    EXPECT(claim_holds(&play->claims[0]) && claim_pending(&play->claims[1]));
    delete_some_node(play, 0); /* the holder's */
    run(play, 5000);
    EXPECT(play->claims[0].reason == UVZK_EDELETED);
    claim_wait_answer(&play->claims[1]);
    EXPECT(claim_holds(&play->claims[1]));
    claim_finish(&play->claims[1]);
}

static void a_foreigner_stands_before(struct play *play)
{
    struct stage_path one, other;

    ask_for(play, 0, 0); /* makes the directory */
    claim_wait_answer(&play->claims[0]);
    claim_finish(&play->claims[0]);
    one = stage_foreigner(&play->stage);
    other = stage_foreigner(&play->stage);
    if (one.text[0] == '\0') {
        return; /* out of memory, and no directory */
    }
    ask_for(play, 1, 0);
    run(play, 1000);
    assert_int_equal(play->claims[1].granted, 0);
    stage_delete(&play->stage, &other);
    run(play, 1000);
    assert_int_equal(play->claims[1].granted, 0);
    stage_delete(&play->stage, &one);
    claim_wait_answer(&play->claims[1]);
    EXPECT(claim_holds(&play->claims[1]));
}

static void data_and_many_at_once(struct play *play)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.node_data = "who I am";
    options.node_data_length = 8;
    for (int i = 0; i < 5; i++) {
        options.owner = &play->claims[i];
        (void)claim_ask(&play->claims[i], seat(play, 0), &options);
    }
    run(play, 2000);
    EXPECT(claim_holds(&play->claims[0]));
    for (int i = 0; i < 5; i++) {
        claim_finish(&play->claims[i]);
        EXPECT(play->claims[i].release_status == 0);
    }
}

/* ------------------------------------------------------------- memory runs out */

static const struct scenario {
    const char *name;
    void (*act)(struct play *);
    int may; /* how an acquire may end, beside 0: once accepted, lack of memory only
                costs it time */
} scenarios[] = {
    {"acquire and release", one_acquires_and_releases, 0},
    {"contention", two_clients_contend, 0},
    {"re-entry", an_owner_enters_again, UV_ETIMEDOUT},
    {"cancel", waiters_are_cancelled, UV_ECANCELED},
    {"deadline", waiters_run_out_of_time, UV_ETIMEDOUT},
    {"lost reply", the_reply_of_the_create_is_lost, 0},
    {"spoiled reply", a_reply_does_not_fit_into_memory, UV_ENOMEM},
    {"participants", the_participants_are_listed, 0},
    {"participants of a semaphore", the_participants_of_a_semaphore_are_listed, 0},
    {"verify", a_hold_is_verified, 0},
    {"locker", a_locker_runs, 0},
    {"guarded write", a_write_is_guarded, 0},
    {"read", a_znode_is_read, 0},
    {"close", a_client_closes_with_all_it_has, UVZK_ECLOSED},
    {"close of the mutex", a_mutex_closes_with_all_it_has, UVZK_ECLOSED},
    {"expiry", the_session_expires, UVZK_EEXPIRED},
    {"deleted by hand", nodes_are_deleted_by_hand, UVZK_EDELETED},
    {"foreigners", a_foreigner_stands_before, 0},
    {"data", data_and_many_at_once, 0},
};

static void check_status(struct play *play, const struct scenario *scenario, int status)
{
    bool known = status == 0 || status == STAGE_UNTOLD;

    if (!known && status != scenario->may) {
        stage_fail(&play->stage, "an acquire ends with %s", uvzk_err_name(status));
    }
}

/* Whether an allocation failed. */
static bool perform(const struct scenario *scenario, unsigned tuning, uint64_t first,
                    uint64_t count)
{
    struct stage_options options = {.tuning = tuning, .proof = UVZK_PROOF_QUORUM};
    struct play *play = calloc(1, sizeof(*play));
    char what[128];
    int64_t live;
    bool failed;

    (void)snprintf(what, sizeof(what), "%s, tuning %u, allocations %llu to %llu fail",
                   scenario->name, tuning, (unsigned long long)first,
                   (unsigned long long)(first + count - 1));
    scarce_arm(0, 0);
    live = scarce_live();
    current = play;
    play->fail_count = count;
    stage_open(&play->stage, &options);
    play->stage.what = what;
    scarce_arm(first, count);
    stage_start(&play->stage);
    scenario->act(play);
    failed = scarce_failed() > 0;
    if (!failed && play->unexpected != NULL) {
        stage_fail(&play->stage, "not so: %s", play->unexpected);
    }
    scarce_arm(0, 0); /* there is memory again */
    stage_let_go(&play->stage);
    for (int i = 0; i < 5; i++) {
        if (play->claims[i].accepted) {
            check_status(play, scenario, play->claims[i].status);
        }
    }
    stage_end(&play->stage);
    if (scarce_live() != live) {
        fail_msg("%s: %lld blocks of memory are never freed", what,
                 (long long)(scarce_live() - live));
    }
    free(play);
    return failed;
}

static void fail_in_turn(const struct scenario *scenario, unsigned tuning, uint64_t count)
{
    uint64_t first = 1;

    while (perform(scenario, tuning, first, count)) {
        first++;
    }
    assert_true(first > 8); /* there was something to fail */
    if (getenv("UVZK_VERBOSE") != NULL) {
        printf("%s, tuning %u: %llu allocations, %llu failing in a row\n", scenario->name,
               tuning, (unsigned long long)first - 1, (unsigned long long)count);
    }
}

static void fail_everywhere(uint64_t count)
{
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        fail_in_turn(&scenarios[i], UVZK__TUNE_ALL, count);
        fail_in_turn(&scenarios[i], 0, count);
    }
}

static void one_allocation_fails(void **state)
{
    (void)state;
    fail_everywhere(1);
}

static void five_in_a_row_fail(void **state)
{
    (void)state;
    fail_everywhere(5);
}

static void forty_in_a_row_fail(void **state)
{
    (void)state;
    fail_everywhere(40);
}

/* ------------------------------------------------------------------ making clients */

static void fill(uvzk_client_options_t *options)
{
    static const uvzk_acl_t acl[] = {{UVZK_PERM_ALL, "digest", "a:b"},
                                     {UVZK_PERM_READ, "world", "anyone"}};

    uvzk_client_options_init(options);
    options->hosts = "simulated:1";
    options->ns = "app";
    options->acl = acl;
    options->acl_count = 2;
    options->default_data = "me";
    options->default_data_length = 2;
}

/* Made, or nothing done: then the port is still ours. */
static bool make_and_close(struct sim *sim, uint64_t first)
{
    struct uvzk__port *port = sim_port_new(sim, "c");
    uvzk_client_t client = {0};
    uvzk_mutex_t mutex = {0};
    uvzk_client_options_t options;
    int64_t live = scarce_live();

    fill(&options);
    scarce_arm(first, 1);
    int status = uvzk__client_create(&client, port, &options, UVZK__TUNE_ALL);
    if (status != 0) {
        assert_int_equal(status, UV_ENOMEM);
        assert_null(client.impl);
        assert_int_equal(scarce_live(), live);
        assert_int_equal(uvzk__client_create(&client, port, &options, UVZK__TUNE_ALL), 0);
    }
    status = uvzk_mutex_init(&client, &mutex, "/a");
    if (status != 0) {
        assert_int_equal(status, UV_ENOMEM);
        assert_null(mutex.impl);
        assert_int_equal(uvzk_mutex_init(&client, &mutex, "/a"), 0);
    }
    assert_int_equal(uvzk_client_close(&client, NULL), 0);
    sim_run_for(sim, 1000);
    assert_null(client.impl);
    assert_int_equal(scarce_live(), live);
    return scarce_failed() > 0;
}

static void making_fails_without_a_trace(void **state)
{
    struct sim *sim = sim_new(1, NULL);
    uint64_t first = 1;

    (void)state;
    while (make_and_close(sim, first)) {
        first++;
    }
    assert_true(first > 8);
    sim_free(sim);
}

/* Else the failures above were the simulator's own. */
static void the_simulator_has_memory_of_its_own(void **state)
{
    (void)state;
    scarce_arm(1, UINT64_MAX);
    struct sim *sim = sim_exact();
    struct probe *probe = probe_connected(sim, "c");
    assert_int_equal(create(probe, "/a", UVZK__PERSISTENT), 0);
    (void)watch_on(probe, UVZK__RPC_CHILDREN, "/a");
    assert_int_equal(create(probe, "/a/b", UVZK__EPHEMERAL), 0);
    assert_int_equal(read_once(probe, UVZK__RPC_CHILDREN, "/a"), 0);
    sim_disconnect(probe->port, SIM_RESET, 100);
    sim_run_for(sim, 5000);
    probe_end(probe);
    sim_free(sim);
    assert_int_equal(scarce_asked(), 0);
    scarce_arm(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_simulator_has_memory_of_its_own),
        cmocka_unit_test(making_fails_without_a_trace),
        cmocka_unit_test(one_allocation_fails),
        cmocka_unit_test(five_in_a_row_fail),
        cmocka_unit_test(forty_in_a_row_fail),
    };

    if (scarce_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("out of memory", tests, NULL, NULL);
}
