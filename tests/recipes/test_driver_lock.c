/* Lock drivers (LockInternalsDriver). One play that goes through every state of their
 * contenders, in each of the three kinds of znode, disturbed at every single event, in
 * every way there is: everybody is answered once, never do two hold, and nothing is
 * left. Which states the disturbances have met is counted: none may be missing. The
 * same play while the n-th allocation fails. Then what Curator's tests of LockInternals
 * ask for, and what a driver may say and ask. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/queue.h"
#include "drivers.h"
#include "metronome.h"
#include "recipes/driven.h"
#include "scarce.h"
#include "stage.h"

#define CLAIMS 8
#define SECOND 1000U

/* ----------------------------------------------------------------- the plays' locks */

enum kind { SEQUENTIAL, FIXED, DURABLE, KINDS };

static const char *const kind_names[KINDS] = {"sequential", "fixed", "durable"};

static void driver_of_kind(uvzk_lock_driver_t *driver, enum kind kind)
{
    if (kind == FIXED) {
        exclusive_driver(driver);
    } else {
        n_leases_driver(driver, 1);
    }
    if (kind == DURABLE) {
        driver->mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    }
}

/* The stage's mutexes give way to locks with this driver. */
static int drive(struct stage *stage, const uvzk_lock_driver_t *driver)
{
    int status = 0;

    for (int i = 0; i < STAGE_SEATS; i++) {
        struct seat *seat = &stage->seats[i];
        uvzk__lock_free(seat->mutex.impl);
        int one = uvzk_driver_lock_init(&seat->client, &seat->mutex, STAGE_PATH, driver);
        status = one != 0 ? one : status;
    }
    return status;
}

static void open_stage(struct stage *stage, enum kind kind, unsigned tuning)
{
    struct stage_options options = {.tuning = tuning};
    uvzk_lock_driver_t driver;

    stage_open(stage, &options);
    driver_of_kind(&driver, kind);
    assert_int_equal(drive(stage, &driver), 0);
}

static void end_stage(struct stage *stage)
{
    stage_let_go(stage);
    stage_end(stage);
}

/* ---------------------------------------------------------------------- the states */

enum state {
    UNSENT,
    CREATING,
    PARENTS,
    UNKNOWN,
    INSPECTED, /* UNKNOWN, and a look at the fixed name is under way */
    IDENTIFYING,
    BLOCKED, /* by the znode of the fixed name */
    ASKING,
    WAITING,
    GETTING, /* not told yet */
    HOLDING,
    RESTING,
    DOOMED,
    DELETING,
    DOUBTED,         /* a delete was lost */
    DOUBT_INSPECTED, /* and a look at the fixed name is under way */
    STATES
};

static const char *const state_names[STATES] = {"unsent",
                                                "creating",
                                                "parents",
                                                "unknown",
                                                "unknown, inspected",
                                                "identifying",
                                                "blocked",
                                                "asking",
                                                "waiting",
                                                "getting",
                                                "holding",
                                                "resting",
                                                "doomed",
                                                "deleting",
                                                "doubted",
                                                "doubted, inspected"};

static const unsigned states_of[KINDS] = {
    [SEQUENTIAL] = 1U << UNSENT | 1U << CREATING | 1U << PARENTS | 1U << UNKNOWN |
                   1U << IDENTIFYING | 1U << ASKING | 1U << WAITING | 1U << GETTING |
                   1U << HOLDING | 1U << RESTING | 1U << DELETING | 1U << DOUBTED,
    [FIXED] = 1U << UNSENT | 1U << CREATING | 1U << PARENTS | 1U << UNKNOWN |
              1U << INSPECTED | 1U << BLOCKED | 1U << GETTING | 1U << HOLDING |
              1U << DELETING | 1U << DOUBTED | 1U << DOUBT_INSPECTED,
    [DURABLE] = 1U << UNSENT | 1U << CREATING | 1U << PARENTS | 1U << UNKNOWN |
                1U << IDENTIFYING | 1U << ASKING | 1U << WAITING | 1U << GETTING |
                1U << HOLDING | 1U << RESTING | 1U << DELETING | 1U << DOUBTED,
};

#define MET (1U << STATES) /* the disturbance came, whoever it met */

static enum state standing(const struct uvzk__contender *contender)
{
    const struct uvzk__driven *driven = contender->claim->extra;

    return contender->held                  ? HOLDING
           : driven->verdict == UVZK__GETS  ? GETTING
           : driven->verdict == UVZK__WAITS ? WAITING
                                            : ASKING;
}

static enum state state_of(const struct uvzk__contender *contender)
{
    const struct uvzk__driven *driven = contender->claim->extra;
    const struct uvzk__node *node = &contender->node;

    switch (node->state) {
    case UVZK__NODE_CREATING:
        return node->in_flight ? CREATING : driven->lookout != NULL ? BLOCKED : UNSENT;
    case UVZK__NODE_PARENTS:
        return PARENTS;
    case UVZK__NODE_UNKNOWN:
        return driven->inspecting ? INSPECTED : UNKNOWN;
    case UVZK__NODE_IDENTIFYING:
        return IDENTIFYING;
    case UVZK__NODE_STANDING:
        return standing(contender);
    case UVZK__NODE_RESTING:
        return RESTING;
    default:
        return node->in_flight        ? DELETING
               : driven->inspecting   ? DOUBT_INSPECTED
               : node->delete_unknown ? DOUBTED
                                      : DOOMED;
    }
}

static unsigned states_now(const struct seat *seat)
{
    const struct uvzk__client *client = seat->client.impl;
    unsigned states = 0;

    for (const struct uvzk__link *link =
             client == NULL ? NULL : client->directories->contenders.next;
         link != NULL && link != &client->directories->contenders; link = link->next) {
        states |= 1U << state_of(UVZK__CONTAINER_OF((struct uvzk__link *)(uintptr_t)link,
                                                    struct uvzk__contender, everyone));
    }
    return states;
}

/* ------------------------------------------------------------------------ the play */

struct play {
    struct stage stage;
    struct metronome metronome;
    enum kind kind;
    const struct disturbance *disturbance; /* NULL: none, or a deadline */
    uint64_t deadline_ms;                  /* of the first seat's claims; 0: none */
    struct claim claims[CLAIMS];
    bool memory_may_fail, lock_closed; /* of the first seat */
};

static struct seat *first_seat(struct play *play)
{
    return &play->stage.seats[0];
}

static void ask(struct play *play, int number, int seat_number)
{
    struct seat *seat = &play->stage.seats[seat_number];
    uint64_t now = sim_now(play->stage.sim);
    int64_t timeout = UVZK_WAIT_FOREVER;

    if (seat->closing || (seat_number == 0 && play->lock_closed)) {
        return;
    }
    if (seat_number == 0 && play->deadline_ms > now) {
        timeout = (int64_t)(play->deadline_ms - now);
    }
    int status = claim_simply(&play->claims[number], seat, NULL, timeout);
    assert_true(status == 0 || play->memory_may_fail);
}

static void let_go(struct play *play, int number)
{
    if (play->claims[number].accepted) {
        claim_release(&play->claims[number]);
    }
}

static void lose_reply(struct play *play)
{
    if (first_seat(play)->port != NULL) {
        sim_lose_reply(first_seat(play)->port);
    }
}

/* The znode of this claim, if it waits: nobody can have been granted by it. */
static void delete_waiting(struct play *play, int number)
{
    const struct claim *claim = &play->claims[number];
    const struct uvzk__acquisition *acquisition = claim->request.impl;

    if (claim_pending(claim) && acquisition != NULL && acquisition->claim != NULL) {
        const struct uvzk__contender *contender = uvzk__claim_first(acquisition->claim);
        if (state_of(contender) == WAITING) {
            (void)sim_delete_by_hand(play->stage.sim, contender->path);
        }
    }
}

/* A claim of the first seat's, one of the other's, one of the first's again; a waiter's
 * znode that is deleted by hand, a lost create, a lost delete. */
static void act(struct play *play, uint64_t ms)
{
    switch (ms) {
    case 0:
        ask(play, 0, 0); /* not connected, and no directory */
        break;
    case 50:
        ask(play, 1, 1);
        break;
    case 60:
        ask(play, 2, 0);
        break;
    case 80:
        let_go(play, 0);
        break;
    case 100:
        delete_waiting(play, 2);
        break;
    case 110:
        let_go(play, 1);
        break;
    case 190:
        let_go(play, 2);
        let_go(play, 1);
        break;
    case 210:
        lose_reply(play);
        ask(play, 3, 0);
        break;
    case 340:
        ask(play, 4, 0); /* behind one of our own */
        break;
    case 360:
        lose_reply(play);
        let_go(play, 3);
        break;
    case 460:
        ask(play, 5, 1);
        break;
    case 480:
        let_go(play, 4);
        let_go(play, 3);
        break;
    default:
        break;
    }
}

#define PLAY_MS 540U

/* ----------------------------------------------------------------- the disturbances */

static void cancel_all(struct play *play)
{
    for (int i = 0; i < CLAIMS; i++) {
        struct claim *claim = &play->claims[i];
        if (claim->accepted && claim->seat == first_seat(play) && claim_pending(claim)) {
            (void)uvzk_hold_cancel(&claim->request);
        }
    }
}

static void close_lock(struct play *play)
{
    play->lock_closed = true;
    seat_close_mutex(first_seat(play));
}

static void close_client(struct play *play)
{
    seat_close(first_seat(play));
}

static void expire(struct play *play)
{
    (void)sim_expire(first_seat(play)->port);
}

static void expire_connected(struct play *play)
{
    (void)sim_expire_connected(first_seat(play)->port);
}

static void reset(struct play *play)
{
    sim_disconnect(first_seat(play)->port, SIM_RESET, 60);
}

static void give_up_session(struct play *play)
{
    sim_disconnect(first_seat(play)->port, SIM_RESET, 4 * STAGE_TIMEOUT_MS);
}

static void stop(struct play *play)
{
    sim_pause(first_seat(play)->port, 2 * STAGE_TIMEOUT_MS);
}

static void lose_request(struct play *play)
{
    sim_lose_request(first_seat(play)->port);
}

static void spoil_reply(struct play *play)
{
    sim_spoil_reply(first_seat(play)->port);
}

static void connected_again(struct play *play)
{
    sim_repeat_connected(first_seat(play)->port);
}

static void refuse(struct play *play, int code)
{
    for (int kind = UVZK__RPC_CREATE; kind <= UVZK__RPC_MULTI; kind++) {
        sim_refuse(play->stage.sim, (enum uvzk__rpc_kind)kind, code, 1);
    }
}

static void overload(struct play *play)
{
    refuse(play, UVZK_ETHROTTLED);
}

static void forbid(struct play *play)
{
    for (int kind = UVZK__RPC_GET; kind <= UVZK__RPC_CHILDREN; kind++) {
        sim_refuse(play->stage.sim, (enum uvzk__rpc_kind)kind, UVZK_ENOAUTH, 1);
    }
}

static void delete_all(struct play *play)
{
    const char *names[CLAIMS];
    char path[256];
    size_t count = sim_children(play->stage.sim, STAGE_PATH, names, CLAIMS);

    play->stage.meddled = true; /* a holder's too */
    while (count-- > 0) {
        (void)snprintf(path, sizeof(path), STAGE_PATH "/%s", names[count]);
        (void)sim_delete_by_hand(play->stage.sim, path);
    }
}

static void release_all(struct play *play)
{
    for (int i = 0; i < CLAIMS; i++) {
        let_go(play, i);
    }
}

static void refuse_credentials(struct play *play)
{
    sim_fail_auth(first_seat(play)->port);
}

enum end {
    GOES_ON,
    CLOSED,  /* its durable znodes may be left */
    SHUT_OUT /* likewise, and it has to be closed */
};

static const struct disturbance {
    const char *name;
    void (*disturb)(struct play *);
    enum end end;
} disturbances[] = {
    {"cancel", cancel_all, GOES_ON},
    {"close of the lock", close_lock, GOES_ON},
    {"close of the client", close_client, CLOSED},
    {"expiry", expire, GOES_ON},
    {"expiry while connected", expire_connected, GOES_ON},
    {"reset", reset, GOES_ON},
    {"session given up", give_up_session, GOES_ON},
    {"stop", stop, GOES_ON},
    {"lost request", lose_request, GOES_ON},
    {"lost reply", lose_reply, GOES_ON},
    {"spoilt reply", spoil_reply, GOES_ON},
    {"CONNECTED again", connected_again, GOES_ON},
    {"overload", overload, GOES_ON},
    {"forbidden", forbid, GOES_ON},
    {"deletion of all", delete_all, GOES_ON},
    {"release of all", release_all, GOES_ON},
    {"refused credentials", refuse_credentials, SHUT_OUT},
};

#define DISTURBANCES (sizeof(disturbances) / sizeof(disturbances[0]))

static void check_answers(struct play *play)
{
    bool quiet =
        play->disturbance == NULL && play->deadline_ms == 0 && !play->memory_may_fail;

    for (int i = 0; i < CLAIMS; i++) {
        const struct claim *claim = &play->claims[i];
        if (claim->accepted && claim->lost > 0 && play->kind == DURABLE &&
            (claim->reason == UVZK_EEXPIRED || claim->reason == UVZK_EPROOF)) {
            stage_fail(&play->stage, "a durable hold was lost with its session");
        }
        if (claim->accepted && claim->released > 0 && play->kind == DURABLE &&
            claim->release_status == UVZK_EEXPIRED) {
            stage_fail(&play->stage, "a durable release was left to the session's end");
        }
        if (claim->accepted && quiet &&
            (claim->granted != 1 || claim->release_status != 0)) {
            stage_fail(&play->stage, "claim %d was not served", i);
        }
    }
}

static void end_play(struct play *play)
{
    enum end end = play->disturbance == NULL ? GOES_ON : play->disturbance->end;

    metronome_end(&play->metronome);
    stage_run(&play->stage, 2 * STAGE_TIMEOUT_MS);
    if (end == SHUT_OUT && !first_seat(play)->closing) {
        seat_close(first_seat(play));
    }
    if (end != GOES_ON && play->kind == DURABLE) {
        stage_run(&play->stage, 2 * STAGE_TIMEOUT_MS);
        delete_all(play);
    }
    end_stage(&play->stage);
    check_answers(play);
}

/* Runs it, disturbed after so many events; the states of the first seat's contenders
 * were met then, 0: it was over before. */
static unsigned run(enum kind kind, const struct disturbance *disturbance, uint64_t at,
                    unsigned tuning)
{
    struct play play = {.kind = kind, .disturbance = disturbance};
    uint64_t events = 0, ms = 0;
    unsigned met = 0;
    char what[128];

    (void)snprintf(what, sizeof(what), "%s, %s at %" PRIu64 ", tuning %u",
                   kind_names[kind], disturbance == NULL ? "nothing" : disturbance->name,
                   at, tuning);
    open_stage(&play.stage, kind, tuning);
    play.stage.what = what;
    stage_start(&play.stage);
    metronome_begin(&play.metronome, play.stage.sim, 1);
    while (ms < PLAY_MS) {
        if (!metronome_step(&play.metronome)) {
            stage_run(&play.stage, 0);
            act(&play, ms++);
        } else if (++events == at && disturbance != NULL) {
            met = MET | states_now(first_seat(&play));
            sim_note(play.stage.sim, "now: %s", disturbance->name);
            disturbance->disturb(&play);
        }
    }
    end_play(&play);
    return met;
}

/* The same with a deadline of all claims of the first seat. */
static unsigned run_late(enum kind kind, uint64_t at, unsigned tuning)
{
    struct play play = {.kind = kind};
    unsigned met = 0;
    char what[128];

    (void)snprintf(what, sizeof(what), "%s, deadline at %" PRIu64 ", tuning %u",
                   kind_names[kind], at, tuning);
    open_stage(&play.stage, kind, tuning);
    play.stage.what = what;
    stage_start(&play.stage);
    metronome_begin(&play.metronome, play.stage.sim, 1);
    play.deadline_ms = sim_now(play.stage.sim) + at;
    for (uint64_t ms = 0; ms < PLAY_MS; ms++) {
        act(&play, ms);
        if (ms + 1 == at) {
            met = MET | states_now(first_seat(&play));
        }
        stage_run(&play.stage, 1);
    }
    end_play(&play);
    return met;
}

static const unsigned tunings[] = {0, UVZK__TUNE_ALL};

static void check_met(unsigned wanted, enum kind kind, const char *how, unsigned met)
{
    for (int state = 0; state < STATES; state++) {
        if ((wanted & ~met & 1U << state) != 0) {
            fail_msg("%s: %s meets nobody %s", kind_names[kind], how, state_names[state]);
        }
    }
}

static void in_every_state(enum kind kind)
{
    for (size_t i = 0; i < 2; i++) {
        (void)run(kind, NULL, 0, tunings[i]);
    }
    for (size_t how = 0; how < DISTURBANCES; how++) {
        unsigned all = 0, met = MET;
        for (uint64_t at = 1; met != 0; at++) {
            met = run(kind, &disturbances[how], at, tunings[(at + how) % 2]);
            all |= met;
        }
        check_met(states_of[kind], kind, disturbances[how].name, all);
    }
}

/* What lasts for less than a ms is met by no deadline. */
static void deadline_in_every_state(enum kind kind)
{
    unsigned all = 0;

    for (uint64_t at = 1; at <= PLAY_MS; at++) {
        all |= run_late(kind, at, tunings[at % 2]);
    }
    check_met(states_of[kind] & ~(1U << GETTING), kind, "a deadline", all);
}

static void sequential_in_every_state(void **state)
{
    (void)state;
    in_every_state(SEQUENTIAL);
    deadline_in_every_state(SEQUENTIAL);
}

static void fixed_in_every_state(void **state)
{
    (void)state;
    in_every_state(FIXED);
    deadline_in_every_state(FIXED);
}

static void durable_in_every_state(void **state)
{
    (void)state;
    in_every_state(DURABLE);
    deadline_in_every_state(DURABLE);
}

/* The n-th allocation of a whole play fails, and nothing else does. */
static uint64_t run_without_memory(enum kind kind, uint64_t first)
{
    struct play play = {.kind = kind, .memory_may_fail = true};
    char what[64];

    (void)snprintf(what, sizeof(what), "%s, allocation %" PRIu64 " fails",
                   kind_names[kind], first);
    open_stage(&play.stage, kind, tunings[first % 2]);
    play.stage.what = what;
    stage_start(&play.stage);
    metronome_begin(&play.metronome, play.stage.sim, 1);
    scarce_arm(first, 1);
    for (uint64_t ms = 0; ms < PLAY_MS; ms++) {
        act(&play, ms);
        stage_run(&play.stage, 1);
    }
    uint64_t failed = scarce_failed();
    scarce_arm(0, 0);
    end_play(&play);
    assert_int_equal(scarce_live(), 0);
    return failed;
}

static void without_memory(void **state)
{
    (void)state;
    for (enum kind kind = SEQUENTIAL; kind < KINDS; kind++) {
        uint64_t first = 1;
        while (run_without_memory(kind, first) > 0) {
            first++;
        }
        assert_in_range(first, 50, 1000);
    }
}

/* ------------------------------------------------------------------ Curator's tests */

static void begin_scene(struct stage *stage, enum kind kind)
{
    open_stage(stage, kind, UVZK__TUNE_ALL);
    stage_start(stage);
    stage_run(stage, 100);
}

/* The first seat holds. */
static void begin_held(struct stage *stage, enum kind kind, struct claim *holds)
{
    begin_scene(stage, kind);
    (void)claim_simply(holds, &stage->seats[0], NULL, UVZK_WAIT_FOREVER);
    claim_wait_answer(holds);
    assert_int_equal(holds->status, 0);
}

/* And the second seat waits behind it. */
static void begin_queued(struct stage *stage, enum kind kind, struct claim *holds,
                         struct claim *waits)
{
    begin_held(stage, kind, holds);
    (void)claim_simply(waits, &stage->seats[1], NULL, UVZK_WAIT_FOREVER);
    stage_run(stage, 100);
}

static const char *node_of(struct stage *stage)
{
    static char path[256];
    const char *name;

    assert_int_equal(sim_children(stage->sim, STAGE_PATH, &name, 1), 1);
    (void)snprintf(path, sizeof(path), STAGE_PATH "/%s", name);
    return path;
}

/* TestLockInternals.testNodeDeletedCleanlyWithFaults: the listing fails, and that is
 * told (NONODE: our znode must be gone); the znode is deleted. Here with whatever the
 * server may say. */
static void test_node_deleted_cleanly_with_faults(void **state)
{
    static const int codes[] = {UVZK_ENONODE, UVZK_ENOAUTH, UVZK_EREJECTED,
                                UVZK_EZOOKEEPER};
    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        for (enum kind kind = SEQUENTIAL; kind < KINDS; kind += DURABLE) {
            struct stage stage;
            struct claim claim;
            begin_scene(&stage, kind);
            sim_refuse(stage.sim, UVZK__RPC_CHILDREN, codes[i], 1);
            (void)claim_simply(&claim, &stage.seats[0], NULL, UVZK_WAIT_FOREVER);
            claim_wait_answer(&claim);
            assert_int_equal(claim.status,
                             codes[i] == UVZK_ENONODE ? UVZK_EDELETED : codes[i]);
            stage_run(&stage, 200);
            assert_int_equal(sim_children(stage.sim, STAGE_PATH, NULL, 0), 0);
            end_stage(&stage);
        }
    }
}

/* TestLockInternals.testAttemptLockFailedException: the listing fails, and so does the
 * delete, because the session expires; what is told is the first trouble. */
static void test_attempt_lock_failed_exception(void **state)
{
    struct stage stage;
    struct claim claim;

    (void)state;
    begin_scene(&stage, SEQUENTIAL);
    sim_refuse(stage.sim, UVZK__RPC_CHILDREN, UVZK_ENONODE, 1);
    (void)claim_simply(&claim, &stage.seats[0], NULL, UVZK_WAIT_FOREVER);
    while (claim_pending(&claim)) {
        (void)sim_step(stage.sim);
    }
    assert_int_equal(claim.status, UVZK_EDELETED);
    (void)sim_expire(stage.seats[0].port);
    stage_run(&stage, 200);
    assert_int_equal(claim.status, UVZK_EDELETED);
    assert_int_equal(sim_children(stage.sim, STAGE_PATH, NULL, 0), 0);
    end_stage(&stage);
}

/* TestInterProcessMutex.testPersistentLock: the znode and the hold survive the session,
 * nobody else gets the lock meanwhile, and release deletes the znode. */
static void test_persistent_lock(void **state)
{
    struct stage stage;
    struct claim holds, waits, waits_too;
    struct uvzk__stat stat;

    (void)state;
    begin_held(&stage, DURABLE, &holds);
    char path[256];
    (void)snprintf(path, sizeof(path), "%s", node_of(&stage));
    assert_string_equal(path, uvzk_hold_path(&holds.request));
    assert_true(sim_stat(stage.sim, path, &stat));
    assert_int_equal(stat.ephemeral_owner, 0);
    assert_int_equal(stat.czxid, uvzk_hold_token(&holds.request));
    assert_true(uvzk_hold_valid_until(&holds.request) == UINT64_MAX);
    (void)claim_simply(&waits, &stage.seats[1], NULL, UVZK_WAIT_FOREVER);
    (void)claim_simply(&waits_too, &stage.seats[0], NULL, UVZK_WAIT_FOREVER);
    stage_run(&stage, 100);
    for (int i = 0; i < STAGE_SEATS; i++) {
        assert_true(sim_expire(stage.seats[i].port));
        stage_run(&stage, 3 * STAGE_TIMEOUT_MS);
    }
    assert_true(uvzk_hold_is_valid(&holds.request) && claim_holds(&holds));
    assert_true(uvzk_lock_is_held(&stage.seats[0].mutex));
    sim_disconnect(stage.seats[0].port, SIM_RESET, 5 * STAGE_TIMEOUT_MS);
    stage_run(&stage, 4 * STAGE_TIMEOUT_MS); /* given up: there is no session at all */
    assert_true(uvzk_hold_is_valid(&holds.request) && claim_pending(&waits));
    claim_release(&holds);
    claim_wait_answer(&waits); /* they have kept their places */
    assert_int_equal(waits.status, 0);
    assert_int_equal(holds.release_status, 0);
    assert_false(sim_exists(stage.sim, path));
    claim_finish(&waits);
    claim_finish(&waits_too);
    assert_int_equal(waits_too.status, 0);
    end_stage(&stage);
}

/* --------------------------------------------------------------------- its evidence */

/* What holds, or is about to, is told when its znode is deleted by hand. */
static void deleted_by_hand(void **state)
{
    (void)state;
    for (enum kind kind = SEQUENTIAL; kind < KINDS; kind++) {
        struct stage stage;
        struct claim holds, waits;
        begin_held(&stage, kind, &holds);
        assert_int_equal(sim_delete_by_hand(stage.sim, node_of(&stage)), 0);
        (void)claim_simply(&waits, &stage.seats[1], NULL, UVZK_WAIT_FOREVER);
        stage.meddled = true;
        assert_true(stage_until(&stage, &holds.lost, 1, STAGE_TIMEOUT_MS));
        assert_int_equal(holds.reason, UVZK_EDELETED);
        claim_finish(&waits);
        end_stage(&stage);
    }
}

/* A waiter's znode that is gone is found out at the wake: nobody is granted by it, and
 * it takes its place anew. */
static void waiter_deleted_by_hand(void **state)
{
    struct stage stage;
    struct claim holds, waits;
    const char *names[2];
    char path[256];

    (void)state;
    begin_queued(&stage, SEQUENTIAL, &holds, &waits);
    assert_int_equal(sim_children(stage.sim, STAGE_PATH, names, 2), 2);
    (void)snprintf(path, sizeof(path), STAGE_PATH "/%s", names[1]);
    assert_int_equal(sim_delete_by_hand(stage.sim, path), 0);
    claim_release(&holds);
    claim_wait_answer(&waits);
    assert_int_equal(waits.status, 0);
    assert_string_not_equal(uvzk_hold_path(&waits.request), path);
    claim_finish(&waits);
    end_stage(&stage);
}

/* A verdict that could not be acted upon at once, for want of a proof, is not acted upon
 * when a proof comes that says nothing of the znode: it may be gone by then. */
static void old_verdicts_are_not_trusted(void **state)
{
    struct stage stage;
    struct claim holds, waits, takes, comes;
    char path[256];

    (void)state;
    begin_queued(&stage, SEQUENTIAL, &holds, &waits);
    stage_run(&stage, 2 * STAGE_TIMEOUT_MS); /* its create proves nothing any more */
    claim_release(&holds);
    while (states_now(&stage.seats[1]) != 1U << GETTING) {
        assert_true(sim_step(stage.sim));
    }
    (void)snprintf(path, sizeof(path), "%s", node_of(&stage));
    sim_disconnect(stage.seats[1].port, SIM_RESET, 500);
    assert_int_equal(sim_delete_by_hand(stage.sim, path), 0);
    (void)claim_simply(&takes, &stage.seats[0], NULL, UVZK_WAIT_FOREVER);
    (void)claim_simply(&comes, &stage.seats[1], NULL, UVZK_WAIT_FOREVER);
    claim_wait_answer(&takes);
    assert_int_equal(takes.status, 0);
    stage_run(&stage, STAGE_TIMEOUT_MS);
    assert_true(claim_pending(&waits) && claim_pending(&comes) && claim_holds(&takes));
    end_stage(&stage);
}

/* A lost delete of a fixed name is not repeated blindly: by then the name is another's. */
static void lost_delete_spares_the_next_holder(void **state)
{
    (void)state;
    for (uint64_t away_ms = 0; away_ms < 40; away_ms++) {
        struct stage stage;
        struct claim holds, waits;
        begin_queued(&stage, FIXED, &holds, &waits);
        sim_lose_reply(stage.seats[0].port);
        claim_release(&holds);
        stage_run(&stage, 2); /* the delete has been carried out */
        sim_disconnect(stage.seats[0].port, SIM_RESET, away_ms);
        claim_wait_answer(&waits);
        assert_int_equal(waits.status, 0);
        stage_run(&stage, STAGE_TIMEOUT_MS);
        assert_int_equal(holds.release_status, 0);
        assert_true(claim_holds(&waits) && uvzk_hold_is_valid(&waits.request));
        claim_finish(&waits);
        end_stage(&stage);
    }
}

/* Given up, its create lost and its delete too: it is found each time, and goes. */
static void lost_create_and_lost_delete(void **state)
{
    struct stage stage;
    struct claim claim;

    (void)state;
    begin_scene(&stage, FIXED);
    (void)claim_simply(&claim, &stage.seats[0], NULL, 5000);
    claim_wait_answer(&claim); /* the directory stands */
    claim_finish(&claim);
    struct claim given_up;
    sim_lose_reply(stage.seats[0].port);
    (void)claim_simply(&given_up, &stage.seats[0], NULL, 1);
    claim_wait_answer(&given_up);
    assert_int_equal(given_up.status, UV_ETIMEDOUT);
    for (int i = 0; i < 2; i++) { /* the sync and the exists get through */
        uint64_t sent = sim_submitted(stage.seats[0].port);
        while (sim_submitted(stage.seats[0].port) == sent) {
            stage_run(&stage, 1);
        }
    }
    stage_run(&stage, 2);
    assert_int_equal(sim_children(stage.sim, STAGE_PATH, NULL, 0), 1);
    sim_lose_request(stage.seats[0].port);
    stage_run(&stage, SECOND);
    assert_int_equal(sim_children(stage.sim, STAGE_PATH, NULL, 0), 0);
    end_stage(&stage);
}

/* ---------------------------------------------------------- what a driver may say */

static size_t said_own, said_count;

static int nobody_to_wait_for(const uvzk_lock_driver_t *driver,
                              const char *const *children, size_t count, size_t own,
                              size_t *watch)
{
    (void)children;
    said_own = own;
    said_count = count;
    *watch = driver->context != NULL ? own : count;
    return 0;
}

/* Whom it names must be there, and be somebody else. */
static void nonsense_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct stage stage;
        struct claim claim;
        uvzk_lock_driver_t driver;
        struct stage_options options = {0};
        stage_open(&stage, &options);
        n_leases_driver(&driver, 1);
        driver.gets_the_lock = nobody_to_wait_for;
        driver.context = i == 0 ? NULL : &driver;
        assert_int_equal(drive(&stage, &driver), 0);
        stage_start(&stage);
        (void)claim_simply(&claim, &stage.seats[0], NULL, UVZK_WAIT_FOREVER);
        claim_wait_answer(&claim);
        assert_int_equal(claim.status, UV_EINVAL);
        assert_int_equal(said_own, 0);
        assert_int_equal(said_count, 1);
        end_stage(&stage);
    }
}

/* The newest first: the last ten characters, each digit turned round. */
static const char *newest_first(const uvzk_lock_driver_t *driver, const char *child)
{
    static char keys[64][11];
    static size_t next;
    const char *number = strstr(child, driver->name);
    char *key = keys[next++ % 64];

    if (number == NULL) {
        return NULL;
    }
    number += strlen(driver->name);
    for (size_t i = 0; i < 10; i++) {
        key[i] = (char)('9' - number[i] + '0');
    }
    return key;
}

/* The order is the driver's: here a stack. Two wait, the later one is served first. */
static void sorts_as_it_says(void **state)
{
    struct stage stage;
    struct claim claims[3];
    uvzk_lock_driver_t driver;
    struct stage_options options = {.tuning = UVZK__TUNE_ALL};

    (void)state;
    stage_open(&stage, &options);
    n_leases_driver(&driver, 1);
    driver.sort_key = newest_first;
    driver.gets_the_lock = NULL;
    assert_int_equal(drive(&stage, &driver), 0);
    stage_start(&stage);
    stage.meddled = true; /* such an order makes two holders, as it should */
    for (int i = 0; i < 3; i++) {
        (void)claim_simply(&claims[i], &stage.seats[i % 2], NULL, UVZK_WAIT_FOREVER);
        claim_wait_answer(&claims[i]);
        assert_int_equal(claims[i].status, 0);
    }
    end_stage(&stage);
}

/* Children of other names take no part, and are counted. */
static void foreign_children_take_no_part(void **state)
{
    struct stage stage;
    struct claim first, claim;
    uvzk_client_stats_t stats;

    (void)state;
    begin_scene(&stage, SEQUENTIAL);
    (void)claim_simply(&first, &stage.seats[0], NULL, UVZK_WAIT_FOREVER);
    claim_finish(&first);
    assert_non_null(
        sim_create_by_hand(stage.sim, STAGE_PATH "/0-note", UVZK__PERSISTENT));
    (void)claim_simply(&claim, &stage.seats[1], NULL, UVZK_WAIT_FOREVER);
    claim_wait_answer(&claim);
    assert_int_equal(claim.status, 0);
    uvzk_client_stats(&stage.seats[1].client, &stats);
    assert_int_equal(stats.foreign, 1);
    claim_finish(&claim);
    assert_int_equal(sim_delete_by_hand(stage.sim, STAGE_PATH "/0-note"), 0);
    end_stage(&stage);
}

/* ------------------------------------------------------------------- what is refused */

static int init_with(struct stage *stage, const uvzk_lock_driver_t *driver)
{
    uvzk_lock_t lock = {0};
    int status =
        uvzk_driver_lock_init(&stage->seats[0].client, &lock, STAGE_PATH, driver);

    if (status == 0) {
        uvzk__lock_free(lock.impl);
    }
    return status;
}

static int init_named(struct stage *stage, const char *name, uint32_t mode)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = name;
    driver.mode = mode;
    return init_with(stage, &driver);
}

static void bad_drivers_are_refused(void **state)
{
    static const char text[] =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdefX";
    struct stage stage;
    uvzk_lock_driver_t driver;
    struct stage_options options = {0};

    (void)state;
    stage_open(&stage, &options);
    assert_int_equal(init_with(&stage, NULL), UV_EINVAL);
    memset(&driver, 0, sizeof(driver));
    driver.name = "lock-";
    assert_int_equal(init_with(&stage, &driver), UV_EINVAL); /* no size */
    exclusive_driver(&driver);
    driver.gets_the_lock = nobody_to_wait_for;
    assert_int_equal(init_with(&stage, &driver), UV_EINVAL);
    exclusive_driver(&driver);
    driver.sort_key = newest_first;
    assert_int_equal(init_with(&stage, &driver), UV_EINVAL);
    for (uint32_t mode = 0; mode <= UVZK_NODE_PERSISTENT_SEQUENTIAL; mode++) {
        size_t most = mode == UVZK_NODE_EPHEMERAL ? 64 : 16;
        assert_int_equal(init_named(&stage, NULL, mode), UV_EINVAL);
        assert_int_equal(init_named(&stage, "", mode), UV_EINVAL);
        assert_int_equal(init_named(&stage, "a/b", mode), UV_EINVAL);
        assert_int_equal(init_named(&stage, "/", mode), UV_EINVAL);
        assert_int_equal(init_named(&stage, "\x01", mode), UVZK_EPATH);
        assert_int_equal(init_named(&stage, "\xff", mode), UVZK_EPATH);
        assert_int_equal(init_named(&stage, text + 65 - most, mode), 0);
        assert_int_equal(init_named(&stage, text + 64 - most, mode), UV_EINVAL);
    }
    assert_int_equal(init_named(&stage, ".", UVZK_NODE_EPHEMERAL), UVZK_EPATH);
    assert_int_equal(init_named(&stage, "lock", 3), UV_EINVAL);
    stage_start(&stage);
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequential_in_every_state),
        cmocka_unit_test(fixed_in_every_state),
        cmocka_unit_test(durable_in_every_state),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(test_node_deleted_cleanly_with_faults),
        cmocka_unit_test(test_attempt_lock_failed_exception),
        cmocka_unit_test(test_persistent_lock),
        cmocka_unit_test(deleted_by_hand),
        cmocka_unit_test(waiter_deleted_by_hand),
        cmocka_unit_test(old_verdicts_are_not_trusted),
        cmocka_unit_test(lost_delete_spares_the_next_holder),
        cmocka_unit_test(lost_create_and_lost_delete),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(sorts_as_it_says),
        cmocka_unit_test(foreign_children_take_no_part),
        cmocka_unit_test(bad_drivers_are_refused),
    };
    assert_int_equal(scarce_install(), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
