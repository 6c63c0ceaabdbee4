/* SPDX-License-Identifier: Apache-2.0 */
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
#include "failing_allocator.h"
#include "locks/driver_claim.h"
#include "ticker.h"
#include "world.h"

#define CLAIMS 8
#define PATIENCE_MS 30000U
#define SECOND 1000U

static struct world world;
static struct process processes[2];

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

/* Two processes that are not started; their mutexes are locks with this driver. */
static void begin_with(const uvzk_lock_driver_t *driver, unsigned tuning)
{
    world_begin_exact(&world, tuning, 1);
    for (int i = 0; i < 2; i++) {
        process_make(&processes[i], &world, i == 0 ? "a" : "b", NULL);
        assert_int_equal(process_drive(&processes[i], driver), 0);
    }
}

static void begin(enum kind kind, unsigned tuning)
{
    uvzk_lock_driver_t driver;

    driver_of_kind(&driver, kind);
    begin_with(&driver, tuning);
}

static void start(void)
{
    process_start(&processes[0]);
    process_start(&processes[1]);
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
    BACKING_OFF,
    DELETING,
    DELETE_SENT,
    DELETE_UNKNOWN,   /* a delete was lost */
    DELETE_INSPECTED, /* and a look at the fixed name is under way */
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
                                                "backing off",
                                                "deleting",
                                                "delete sent",
                                                "delete unknown",
                                                "delete unknown, inspected"};

static const unsigned states_of[KINDS] = {
    [SEQUENTIAL] = 1U << UNSENT | 1U << CREATING | 1U << PARENTS | 1U << UNKNOWN |
                   1U << IDENTIFYING | 1U << ASKING | 1U << WAITING | 1U << GETTING |
                   1U << HOLDING | 1U << BACKING_OFF | 1U << DELETE_SENT |
                   1U << DELETE_UNKNOWN,
    [FIXED] = 1U << UNSENT | 1U << CREATING | 1U << PARENTS | 1U << UNKNOWN |
              1U << INSPECTED | 1U << BLOCKED | 1U << GETTING | 1U << HOLDING |
              1U << DELETE_SENT | 1U << DELETE_UNKNOWN | 1U << DELETE_INSPECTED,
    [DURABLE] = 1U << UNSENT | 1U << CREATING | 1U << PARENTS | 1U << UNKNOWN |
                1U << IDENTIFYING | 1U << ASKING | 1U << WAITING | 1U << GETTING |
                1U << HOLDING | 1U << BACKING_OFF | 1U << DELETE_SENT |
                1U << DELETE_UNKNOWN,
};

#define MET (1U << STATES) /* the disturbance came, whoever it met */

static enum state standing(const struct uvzk__contender *contender)
{
    const struct uvzk__driver_claim *driver_claim = contender->claim->extra;

    return uvzk__contender_holds(contender)                   ? HOLDING
           : driver_claim->decision == UVZK__DRIVER_GETS_LOCK ? GETTING
           : driver_claim->decision == UVZK__DRIVER_WAITS     ? WAITING
                                                              : ASKING;
}

static enum state state_of(const struct uvzk__contender *contender)
{
    const struct uvzk__driver_claim *driver_claim = contender->claim->extra;
    const struct uvzk__node *node = &contender->node;

    switch (node->state) {
    case UVZK__NODE_CREATING:
        return node->in_flight                    ? CREATING
               : driver_claim->node_watch != NULL ? BLOCKED
                                                  : UNSENT;
    case UVZK__NODE_PARENTS:
        return PARENTS;
    case UVZK__NODE_UNKNOWN:
        return driver_claim->reading ? INSPECTED : UNKNOWN;
    case UVZK__NODE_IDENTIFYING:
        return IDENTIFYING;
    case UVZK__NODE_STANDING:
        return standing(contender);
    case UVZK__NODE_BACKING_OFF:
        return BACKING_OFF;
    default:
        return node->in_flight         ? DELETE_SENT
               : driver_claim->reading ? DELETE_INSPECTED
               : node->delete_unknown  ? DELETE_UNKNOWN
                                       : DELETING;
    }
}

static unsigned states_now(const struct process *process)
{
    const struct uvzk__session *session = process->client.impl;
    unsigned states = 0;

    for (const struct uvzk__link *link =
             session == NULL ? NULL : session->directories->contenders.next;
         link != NULL && link != &session->directories->contenders; link = link->next) {
        states |= 1U << state_of(UVZK__CONTAINER_OF((struct uvzk__link *)(uintptr_t)link,
                                                    struct uvzk__contender, in_session));
    }
    return states;
}

/* ------------------------------------------------------------------------ the play */

static struct {
    struct ticker ticker;
    enum kind kind;
    const struct disturbance *disturbance; /* NULL: none, or a deadline */
    uint64_t deadline_ms;                  /* of the first process's claims; 0: none */
    struct hold claims[CLAIMS];
    bool memory_may_fail, lock_closed; /* of the first process */
} play;

static void ask(int number, int asker)
{
    struct process *process = &processes[asker];
    uvzk_acquire_options_t options;
    uint64_t now = world_now(&world);

    if (process->closing || (asker == 0 && play.lock_closed)) {
        return;
    }
    uvzk_acquire_options_init(&options);
    if (asker == 0 && play.deadline_ms > now) {
        options.timeout_ms = (int64_t)(play.deadline_ms - now);
    }
    int status = hold_ask(&play.claims[number], process, NULL, &options);
    assert_true(status == 0 || (play.memory_may_fail && status == UV_ENOMEM));
}

static void let_go(int number)
{
    struct hold *claim = &play.claims[number];

    if (hold_holds(claim) && !claim->releasing) {
        hold_release(claim);
    }
}

static void lose_reply(void)
{
    if (processes[0].port != NULL) {
        process_lose_reply(&processes[0]);
    }
}

/* The znode of this claim, if it waits: nobody can have been granted by it. */
static void delete_waiting(int number)
{
    const struct hold *claim = &play.claims[number];
    const struct uvzk__acquisition *acquisition = claim->request.impl;

    if (hold_pending(claim) && acquisition != NULL && acquisition->claim != NULL) {
        const struct uvzk__contender *contender =
            uvzk__claim_first_contender(acquisition->claim);
        if (state_of(contender) == WAITING) {
            (void)sim_delete_by_hand(world.sim, contender->path);
        }
    }
}

/* A claim of the first process's, one of the other's, one of the first's again; a waiter's
 * znode that is deleted by hand, a lost create, a lost delete. */
static void act(uint64_t ms)
{
    switch (ms) {
    case 0:
        ask(0, 0); /* not connected, and no directory */
        break;
    case 50:
        ask(1, 1);
        break;
    case 60:
        ask(2, 0);
        break;
    case 80:
        let_go(0);
        break;
    case 100:
        delete_waiting(2);
        break;
    case 110:
        let_go(1);
        break;
    case 190:
        let_go(2);
        let_go(1);
        break;
    case 210:
        lose_reply();
        ask(3, 0);
        break;
    case 340:
        ask(4, 0); /* behind one of our own */
        break;
    case 360:
        lose_reply();
        let_go(3);
        break;
    case 460:
        ask(5, 1);
        break;
    case 480:
        let_go(4);
        let_go(3);
        break;
    default:
        break;
    }
}

#define PLAY_MS 540U

/* ----------------------------------------------------------------- the disturbances */

static void cancel_all(struct process *process)
{
    for (int i = 0; i < CLAIMS; i++) {
        struct hold *claim = &play.claims[i];
        if (claim->process == process && hold_pending(claim)) {
            (void)uvzk_hold_cancel(&claim->request);
        }
    }
}

static void close_lock(struct process *process)
{
    play.lock_closed = true;
    process_close_mutex(process);
}

static void expire(struct process *process)
{
    process->killed = sim_expire(process->port);
}

static void expire_connected(struct process *process)
{
    process->killed = sim_expire_connected(process->port);
}

static void reset(struct process *process)
{
    sim_disconnect(process->port, SIM_RESET, 60);
}

static void give_up_session(struct process *process)
{
    sim_disconnect(process->port, SIM_RESET, 4 * WORLD_TIMEOUT_MS);
}

static void stop(struct process *process)
{
    sim_pause(process->port, 2 * WORLD_TIMEOUT_MS);
}

static void connected_again(struct process *process)
{
    sim_repeat_connected(process->port);
}

static void refuse(enum uvzk__rpc_kind from, enum uvzk__rpc_kind to, int code)
{
    for (enum uvzk__rpc_kind kind = from; kind <= to; kind++) {
        sim_refuse(world.sim, kind, code, 1);
    }
}

static void overload(struct process *process)
{
    (void)process;
    refuse(UVZK__RPC_CREATE, UVZK__RPC_MULTI, UVZK_ETHROTTLED);
}

static void forbid(struct process *process)
{
    (void)process;
    refuse(UVZK__RPC_GET, UVZK__RPC_CHILDREN, UVZK_ENOAUTH);
}

static void delete_all(struct process *process)
{
    (void)process;
    world.holder_deleted = true; /* a holder's too */
    while (world_queue_length(&world) > 0) {
        world_delete_child(&world, WORLD_PATH, 0);
    }
}

static void release_all(struct process *process)
{
    (void)process;
    for (int i = 0; i < CLAIMS; i++) {
        let_go(i);
    }
}

static void refuse_credentials(struct process *process)
{
    sim_fail_auth(process->port);
}

enum end {
    GOES_ON,
    CLOSED,  /* its durable znodes may be left */
    SHUT_OUT /* likewise, and it has to be closed */
};

static const struct disturbance {
    const char *name;
    void (*disturb)(struct process *);
    enum end end;
} disturbances[] = {
    {"cancel", cancel_all, GOES_ON},
    {"close of the lock", close_lock, GOES_ON},
    {"close of the client", process_close, CLOSED},
    {"expiry", expire, GOES_ON},
    {"expiry while connected", expire_connected, GOES_ON},
    {"reset", reset, GOES_ON},
    {"session given up", give_up_session, GOES_ON},
    {"stop", stop, GOES_ON},
    {"lost request", process_lose_request, GOES_ON},
    {"lost reply", process_lose_reply, GOES_ON},
    {"spoilt reply", process_reply_enomem, GOES_ON},
    {"CONNECTED again", connected_again, GOES_ON},
    {"overload", overload, GOES_ON},
    {"forbidden", forbid, GOES_ON},
    {"deletion of all", delete_all, GOES_ON},
    {"release of all", release_all, GOES_ON},
    {"refused credentials", refuse_credentials, SHUT_OUT},
};

#define DISTURBANCES (sizeof(disturbances) / sizeof(disturbances[0]))

static void check_answers(void)
{
    bool quiet =
        play.disturbance == NULL && play.deadline_ms == 0 && !play.memory_may_fail;

    for (int i = 0; i < CLAIMS; i++) {
        const struct hold *claim = &play.claims[i];
        if (!claim->accepted) {
            continue;
        }
        if (play.kind == DURABLE &&
            (claim->reason == UVZK_EEXPIRED || claim->reason == UVZK_EPROOF)) {
            world_fail(&world, "a durable hold was lost with its session");
        }
        if (play.kind == DURABLE && claim->release_status == UVZK_EEXPIRED) {
            world_fail(&world, "a durable release was left to the session's end");
        }
        if (quiet && (claim->status != 0 || claim->release_status != 0)) {
            world_fail(&world, "claim %d was not served", i);
        }
    }
}

static void begin_play(enum kind kind, unsigned tuning, const char *what)
{
    memset(&play, 0, sizeof(play));
    play.kind = kind;
    begin(kind, tuning);
    world.what = what;
    start();
    ticker_begin(&play.ticker, world.sim, 1);
}

static void end_play(void)
{
    enum end end_of_process = play.disturbance == NULL ? GOES_ON : play.disturbance->end;

    ticker_end(&play.ticker);
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
    if (end_of_process == SHUT_OUT && !processes[0].closing) {
        process_close(&processes[0]);
    }
    if (end_of_process != GOES_ON && play.kind == DURABLE) {
        world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
        delete_all(&processes[0]);
    }
    world_release_all(&world);
    check_answers();
    world_end(&world);
}

/* Runs it, disturbed after so many events; the states of the first process's contenders
 * were met then, 0: it was over before. */
static unsigned run(enum kind kind, const struct disturbance *disturbance, uint64_t at,
                    unsigned tuning)
{
    uint64_t events = 0, ms = 0;
    unsigned met = 0;
    char what[128];

    (void)snprintf(what, sizeof(what), "%s, %s at %" PRIu64 ", tuning %u",
                   kind_names[kind], disturbance == NULL ? "nothing" : disturbance->name,
                   at, tuning);
    begin_play(kind, tuning, what);
    play.disturbance = disturbance;
    while (ms < PLAY_MS) {
        if (!ticker_step(&play.ticker)) {
            act(ms++);
        } else if (++events == at && disturbance != NULL) {
            met = MET | states_now(&processes[0]);
            world_note(&world, "now: %s", disturbance->name);
            disturbance->disturb(&processes[0]);
        }
    }
    end_play();
    return met;
}

/* The same with a deadline of all claims of the first process. */
static unsigned run_late(enum kind kind, uint64_t at, unsigned tuning)
{
    unsigned met = 0;
    char what[128];

    (void)snprintf(what, sizeof(what), "%s, deadline at %" PRIu64 ", tuning %u",
                   kind_names[kind], at, tuning);
    begin_play(kind, tuning, what);
    play.deadline_ms = world_now(&world) + at;
    for (uint64_t ms = 0; ms < PLAY_MS; ms++) {
        act(ms);
        if (ms + 1 == at) {
            met = MET | states_now(&processes[0]);
        }
        world_run_for(&world, 1);
    }
    end_play();
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

static void persistent_in_every_state(void **state)
{
    (void)state;
    in_every_state(DURABLE);
    deadline_in_every_state(DURABLE);
}

/* The n-th allocation of a whole play fails, and nothing else does. */
static uint64_t run_without_memory(enum kind kind, uint64_t first)
{
    char what[64];

    (void)snprintf(what, sizeof(what), "%s, allocation %" PRIu64 " fails",
                   kind_names[kind], first);
    begin_play(kind, tunings[first % 2], what);
    play.memory_may_fail = true;
    failing_allocator_arm(first, 1);
    for (uint64_t ms = 0; ms < PLAY_MS; ms++) {
        act(ms);
        world_run_for(&world, 1);
    }
    uint64_t failed = failing_allocator_failures();
    failing_allocator_arm(0, 0);
    end_play();
    assert_int_equal(failing_allocator_live_blocks(), 0);
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

static void begin_connected(enum kind kind)
{
    begin(kind, UVZK__TUNE_ALL);
    start();
    world_run_for(&world, 100);
}

/* The first process holds. */
static void begin_held(enum kind kind, struct hold *holds)
{
    begin_connected(kind);
    hold_take(holds, &processes[0]);
}

/* And the second one waits behind it. */
static void begin_queued(enum kind kind, struct hold *holds, struct hold *waits)
{
    begin_held(kind, holds);
    hold_begin(waits, &processes[1], UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
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
            struct hold hold;
            begin_connected(kind);
            sim_refuse(world.sim, UVZK__RPC_CHILDREN, codes[i], 1);
            hold_begin(&hold, &processes[0], UVZK_WAIT_FOREVER);
            hold_await_status(&hold, PATIENCE_MS,
                              codes[i] == UVZK_ENONODE ? UVZK_EDELETED : codes[i]);
            world_run_for(&world, 200);
            assert_int_equal(world_queue_length(&world), 0);
            world_release_and_end(&world);
        }
    }
}

/* TestLockInternals.testAttemptLockFailedException: the listing fails, and so does the
 * delete, because the session expires; what is told is the first trouble. */
static void test_attempt_lock_failed_exception(void **state)
{
    struct hold hold;

    (void)state;
    begin_connected(SEQUENTIAL);
    sim_refuse(world.sim, UVZK__RPC_CHILDREN, UVZK_ENONODE, 1);
    hold_begin(&hold, &processes[0], UVZK_WAIT_FOREVER);
    while (hold_pending(&hold)) {
        (void)sim_step(world.sim);
    }
    assert_int_equal(hold.status, UVZK_EDELETED);
    (void)sim_expire(processes[0].port);
    world_run_for(&world, 200);
    assert_int_equal(hold.status, UVZK_EDELETED);
    assert_int_equal(world_queue_length(&world), 0);
    world_release_and_end(&world);
}

/* TestInterProcessMutex.testPersistentLock: the znode and the hold survive the session,
 * nobody else gets the lock meanwhile, and release deletes the znode. */
static void test_persistent_lock(void **state)
{
    struct hold holds, waits, waits_too;
    struct uvzk__stat stat;

    (void)state;
    begin_held(DURABLE, &holds);
    struct world_path path = world_child(&world, WORLD_PATH, 0);
    assert_string_equal(path.text, holds.path);
    assert_true(sim_stat(world.sim, path.text, &stat));
    assert_int_equal(stat.ephemeral_owner, 0);
    assert_int_equal(stat.czxid, holds.token);
    assert_true(uvzk_hold_valid_until(&holds.request) == UINT64_MAX);
    hold_begin(&waits, &processes[1], UVZK_WAIT_FOREVER);
    hold_begin(&waits_too, &processes[0], UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    for (int i = 0; i < 2; i++) {
        assert_true(sim_expire(processes[i].port));
        world_run_for(&world, 3ULL * WORLD_TIMEOUT_MS);
    }
    assert_true(uvzk_hold_is_valid(&holds.request) && hold_holds(&holds));
    assert_true(uvzk_lock_is_held(&processes[0].mutex));
    sim_disconnect(processes[0].port, SIM_RESET, 5ULL * WORLD_TIMEOUT_MS);
    /* given up: there is no session at all */
    world_run_for(&world, 4ULL * WORLD_TIMEOUT_MS);
    assert_true(uvzk_hold_is_valid(&holds.request) && hold_pending(&waits));
    hold_release(&holds);
    hold_await(&waits, PATIENCE_MS); /* they have kept their places */
    assert_int_equal(holds.release_status, 0);
    assert_false(sim_exists(world.sim, path.text));
    world_finish(&world, &waits);
    hold_acquire_release(&waits_too, PATIENCE_MS);
    world_release_and_end(&world);
}

/* --------------------------------------------------------------------- its evidence */

/* What holds, or is about to, is told when its znode is deleted by hand. */
static void deleted_by_hand(void **state)
{
    (void)state;
    for (enum kind kind = SEQUENTIAL; kind < KINDS; kind++) {
        struct hold holds, waits;
        begin_held(kind, &holds);
        world_delete_child(&world, WORLD_PATH, 0);
        hold_begin(&waits, &processes[1], UVZK_WAIT_FOREVER);
        world.holder_deleted = true;
        hold_await_lost(&holds, WORLD_TIMEOUT_MS, UVZK_EDELETED);
        world_finish(&world, &waits);
        world_release_and_end(&world);
    }
}

/* A waiter's znode that is gone is found out at the wake: nobody is granted by it, and
 * it takes its place anew. */
static void waiter_deleted_by_hand(void **state)
{
    struct hold holds, waits;

    (void)state;
    begin_queued(SEQUENTIAL, &holds, &waits);
    struct world_path path = world_child(&world, WORLD_PATH, 1);
    world_delete(&world, &path);
    hold_release(&holds);
    hold_await(&waits, PATIENCE_MS);
    assert_string_not_equal(waits.path, path.text);
    world_finish(&world, &waits);
    world_release_and_end(&world);
}

/* A decision of the driver that could not be acted upon at once, for want of a proof, is not acted upon
 * when a proof comes that says nothing of the znode: it may be gone by then. */
static void old_decisions_are_not_trusted(void **state)
{
    struct hold holds, waits, takes, comes;

    (void)state;
    begin_queued(SEQUENTIAL, &holds, &waits);
    /* its create proves nothing any more */
    world_run_for(&world, 2ULL * WORLD_TIMEOUT_MS);
    hold_release(&holds);
    while (states_now(&processes[1]) != 1U << GETTING) {
        assert_true(sim_step(world.sim));
    }
    assert_int_equal(world_queue_length(&world), 1);
    struct world_path path = world_child(&world, WORLD_PATH, 0);
    sim_disconnect(processes[1].port, SIM_RESET, 500);
    world_delete(&world, &path);
    hold_begin(&takes, &processes[0], UVZK_WAIT_FOREVER);
    hold_begin(&comes, &processes[1], UVZK_WAIT_FOREVER);
    hold_await(&takes, PATIENCE_MS);
    world_run_for(&world, WORLD_TIMEOUT_MS);
    assert_true(hold_pending(&waits) && hold_pending(&comes) && hold_holds(&takes));
    world_release_and_end(&world);
}

/* A lost delete of a fixed name is not repeated blindly: by then the name is another's. */
static void lost_delete_spares_the_next_holder(void **state)
{
    (void)state;
    for (uint64_t away_ms = 0; away_ms < 40; away_ms++) {
        struct hold holds, waits;
        begin_queued(FIXED, &holds, &waits);
        process_lose_reply(&processes[0]);
        hold_release(&holds);
        world_run_for(&world, 2); /* the delete has been carried out */
        sim_disconnect(processes[0].port, SIM_RESET, away_ms);
        hold_await(&waits, PATIENCE_MS);
        world_run_for(&world, WORLD_TIMEOUT_MS);
        assert_int_equal(holds.release_status, 0);
        assert_true(hold_holds(&waits) && uvzk_hold_is_valid(&waits.request));
        world_finish(&world, &waits);
        world_release_and_end(&world);
    }
}

/* Given up, its create lost and its delete too: it is found each time, and goes. */
static void lost_create_and_lost_delete(void **state)
{
    struct hold given_up;

    (void)state;
    begin_connected(FIXED);
    world_make_directory(&world, &processes[0]);
    process_lose_reply(&processes[0]);
    hold_begin(&given_up, &processes[0], 1);
    hold_await_status(&given_up, PATIENCE_MS, UVZK_ENOTQUEUED);
    for (int i = 0; i < 2; i++) { /* the sync and the exists get through */
        uint64_t sent = sim_submitted(processes[0].port);
        while (sim_submitted(processes[0].port) == sent) {
            world_run_for(&world, 1);
        }
    }
    world_run_for(&world, 2);
    assert_int_equal(world_queue_length(&world), 1);
    process_lose_request(&processes[0]);
    world_run_for(&world, SECOND);
    assert_int_equal(world_queue_length(&world), 0);
    world_release_and_end(&world);
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
        struct hold hold;
        uvzk_lock_driver_t driver;
        n_leases_driver(&driver, 1);
        driver.gets_the_lock = nobody_to_wait_for;
        driver.context = i == 0 ? NULL : &driver;
        begin_with(&driver, 0);
        processes[0].may_log_errors = true;
        start();
        hold_begin(&hold, &processes[0], UVZK_WAIT_FOREVER);
        hold_await_status(&hold, PATIENCE_MS, UV_EINVAL);
        assert_int_equal(said_own, 0);
        assert_int_equal(said_count, 1);
        world_release_and_end(&world);
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
    struct hold holds[3];
    uvzk_lock_driver_t driver;

    (void)state;
    n_leases_driver(&driver, 1);
    driver.sort_key = newest_first;
    driver.gets_the_lock = NULL;
    begin_with(&driver, UVZK__TUNE_ALL);
    start();
    world.holder_deleted = true; /* such an order makes two holders, as it should */
    for (int i = 0; i < 3; i++) {
        hold_begin(&holds[i], &processes[i % 2], UVZK_WAIT_FOREVER);
        hold_await(&holds[i], PATIENCE_MS);
    }
    world_release_and_end(&world);
}

/* Children of other names take no part, and are counted. */
static void foreign_children_take_no_part(void **state)
{
    const struct world_path note = {WORLD_PATH "/0-note"};
    struct hold hold;
    uvzk_client_metrics_t stats;

    (void)state;
    begin_connected(SEQUENTIAL);
    world_make_directory(&world, &processes[0]);
    assert_non_null(sim_create_by_hand(world.sim, note.text, UVZK__PERSISTENT));
    hold_take(&hold, &processes[1]);
    uvzk_client_metrics_init(&stats);
    uvzk_client_metrics(&processes[1].client, &stats);
    assert_int_equal(stats.foreign, 1);
    world_finish(&world, &hold);
    world_delete(&world, &note);
    world_release_and_end(&world);
}

/* ------------------------------------------------------------------- what is refused */

static int init_with(const uvzk_lock_driver_t *driver)
{
    uvzk_lock_t lock = {0};
    int status =
        uvzk_lock_init_with_driver(&processes[0].client, &lock, WORLD_PATH, driver);

    if (status == 0) {
        uvzk__lock_free(lock.impl);
    }
    return status;
}

static int init_named(const char *name, uint32_t mode)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = name;
    driver.mode = mode;
    return init_with(&driver);
}

static void bad_drivers_are_refused(void **state)
{
    static const char text[] =
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdefX";
    uvzk_lock_driver_t driver;

    (void)state;
    begin(SEQUENTIAL, 0);
    assert_int_equal(init_with(NULL), UV_EINVAL);
    memset(&driver, 0, sizeof(driver));
    driver.name = "lock-";
    assert_int_equal(init_with(&driver), UV_EINVAL); /* no size */
    exclusive_driver(&driver);
    driver.gets_the_lock = nobody_to_wait_for;
    assert_int_equal(init_with(&driver), UV_EINVAL);
    exclusive_driver(&driver);
    driver.sort_key = newest_first;
    assert_int_equal(init_with(&driver), UV_EINVAL);
    for (uint32_t mode = 0; mode <= UVZK_NODE_PERSISTENT_SEQUENTIAL; mode++) {
        size_t most = mode == UVZK_NODE_EPHEMERAL ? 64 : 16;
        assert_int_equal(init_named(NULL, mode), UV_EINVAL);
        assert_int_equal(init_named("", mode), UV_EINVAL);
        assert_int_equal(init_named("a/b", mode), UV_EINVAL);
        assert_int_equal(init_named("/", mode), UV_EINVAL);
        assert_int_equal(init_named("\x01", mode), UVZK_EPATH);
        assert_int_equal(init_named("\xff", mode), UVZK_EPATH);
        assert_int_equal(init_named(text + 65 - most, mode), 0);
        assert_int_equal(init_named(text + 64 - most, mode), UV_EINVAL);
    }
    assert_int_equal(init_named(".", UVZK_NODE_EPHEMERAL), UVZK_EPATH);
    assert_int_equal(init_named("lock", 3), UV_EINVAL);
    start();
    world_end(&world);
}

/* The server's reply to a create does not say which czxid the znode has (before 3.5.0). */
static void the_token_is_read_where_a_create_tells_none(void **state)
{
    struct sim_options options;
    uvzk_lock_driver_t driver;
    struct uvzk__stat stat;
    struct hold hold;
    (void)state;

    for (enum kind kind = SEQUENTIAL; kind < KINDS; kind++) {
        world_exact_options(&options, 1);
        options.no_create2 = options.no_containers = true;
        world_begin_with(&world, 1, UVZK__TUNE_ALL, &options);
        driver_of_kind(&driver, kind);
        process_make(&processes[0], &world, "a", NULL);
        assert_int_equal(process_drive(&processes[0], &driver), 0);
        process_start(&processes[0]);
        hold_take(&hold, &processes[0]);
        assert_true(sim_stat(world.sim, hold.path, &stat));
        assert_int_equal(uvzk_hold_token(&hold.request), stat.czxid);
        hold_give_back(&hold);
        world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequential_in_every_state),
        cmocka_unit_test(fixed_in_every_state),
        cmocka_unit_test(persistent_in_every_state),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(test_node_deleted_cleanly_with_faults),
        cmocka_unit_test(test_attempt_lock_failed_exception),
        cmocka_unit_test(test_persistent_lock),
        cmocka_unit_test(deleted_by_hand),
        cmocka_unit_test(waiter_deleted_by_hand),
        cmocka_unit_test(old_decisions_are_not_trusted),
        cmocka_unit_test(lost_delete_spares_the_next_holder),
        cmocka_unit_test(lost_create_and_lost_delete),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(sorts_as_it_says),
        cmocka_unit_test(foreign_children_take_no_part),
        cmocka_unit_test(bad_drivers_are_refused),
        cmocka_unit_test(the_token_is_read_where_a_create_tells_none),
    };
    assert_int_equal(failing_allocator_install(), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
