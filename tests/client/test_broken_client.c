/* SPDX-License-Identifier: Apache-2.0 */
/* A broken invariant closes its client and nobody else: every hold is lost before anything
 * else is told, everything pending ends with UVZK_EINTERNAL, the state callback receives
 * CLOSED, one log line names the machine and both states, and the other client goes on.
 * Afterwards uvzk_client_close works, and no memory is left.
 *
 * The one idea: the program has the library as a release build has it, except that the
 * n-th move of all machines can be made illegal (illegal_moves.h). A story in which two
 * clients use every recipe is told once for each different move that occurs in it: that
 * move is illegal when it occurs for the first time, or for a later time.
 * With UVZK_VERBOSE it prints one line for each story. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/hold_calls.h"
#include "directory/contender.h"
#include "engine/invariant.h"
#include "engine/session.h"
#include "failing_allocator.h"
#include "move_kinds.h"

#define RECIPES 8
#define WAYS 2
#define HOLDS (RECIPES * WAYS * 2)
#define ROOT "/r"

/* ---------------------------------------------------------------- the callbacks */

static struct world world;
static struct process a, b;
static struct hold holds[HOLDS];
static uvzk_client_state_cb record_state; /* of process.c */
static struct {
    uvzk_mutex_t mutex, cohort, members[2];
    uvzk_rwlock_t rwlock;
    uvzk_semaphore_t semaphore, counted;
    uvzk_lock_t in_turn, driver;
    uvzk_shared_count_t count;
    uvzk_future_t future;
    uvzk_req_t set;
    int lines, sets, set_status;
    char line[256];
} sides[2];

static int index_of(const struct process *process)
{
    return process == &a ? 0 : 1;
}

static bool is_broken(const struct process *process)
{
    return process->client.impl != NULL && uvzk__is_broken(process->client.impl);
}

static void losses_come_first(struct hold *hold)
{
    bool is_in_progress = move_kinds.callback_in_progress;

    move_kinds.callback_in_progress = false;
    if (!is_broken(hold->process) || hold->lost > 0 || is_in_progress) {
        return;
    }
    for (size_t i = 0; i < HOLDS; i++) {
        assert_false(holds[i].process == hold->process && hold_holds(&holds[i]) &&
                     !holds[i].releasing);
    }
}

static void on_line(uvzk_client_t *client, int level, const char *module,
                    const char *text)
{
    int side = index_of(client->data);

    if (strcmp(module, "invariant") == 0) {
        assert_int_equal(level, UVZK_LOG_ERROR);
        sides[side].lines++;
        (void)snprintf(sides[side].line, sizeof(sides[side].line), "%s", text);
    }
}

static void on_count(uvzk_shared_count_t *count, int status, int32_t value)
{
    (void)count;
    (void)status;
    (void)value;
}

static void on_set(uvzk_req_t *set, int status)
{
    sides[index_of(set->data)].set_status = status;
    sides[index_of(set->data)].sets++;
}

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    struct process *process = client->data;

    for (size_t i = 0; state == UVZK_STATE_CLOSED && i < HOLDS; i++) {
        assert_false(holds[i].process == process && hold_holds(&holds[i]) &&
                     !holds[i].releasing);
    }
    record_state(client, state);
}

static void on_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    (void)reason;
}

/* -------------------------------------------------------------------- the story */

static void begin_process(struct process *process, const char *name, uint32_t sessions)
{
    uvzk_client_options_t options;

    process_options(&options);
    options.log_cb = on_line;
    record_state = options.state_cb;
    options.state_cb = on_state;
    options.sessions = sessions;
    process_make(process, &world, name, &options);
    int side = index_of(process);
    uvzk_client_t *client = &process->client;
    uvzk_lock_t *members[] = {&sides[side].members[0], &sides[side].members[1]};
    uvzk_lock_driver_t driver;
    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = UVZK_NODE_EPHEMERAL_SEQUENTIAL;
    process_start(process);
    assert_int_equal(uvzk_mutex_init(client, &sides[side].mutex, ROOT "/m"), 0);
    assert_int_equal(
        uvzk_mutex_init_with_cohort(client, &sides[side].cohort, ROOT "/c", 3, 1000), 0);
    assert_int_equal(uvzk_mutex_init(client, members[0], ROOT "/m1"), 0);
    assert_int_equal(uvzk_semaphore_init(client, members[1], ROOT "/s1", 1, NULL), 0);
    assert_int_equal(uvzk_rwlock_init(client, &sides[side].rwlock, ROOT "/rw"), 0);
    assert_int_equal(
        uvzk_semaphore_init(client, &sides[side].semaphore, ROOT "/s", 1, NULL), 0);
    assert_int_equal(
        uvzk_shared_count_init(client, &sides[side].count, ROOT "/n", 1, on_count), 0);
    assert_int_equal(uvzk_semaphore_init(client, &sides[side].counted, ROOT "/sc", 0,
                                         &sides[side].count),
                     0);
    assert_int_equal(uvzk_multilock_init(client, &sides[side].in_turn, members, 2,
                                         UVZK_MULTILOCK_IN_TURN, NULL),
                     0);
    assert_int_equal(
        uvzk_lock_init_with_driver(client, &sides[side].driver, ROOT "/d", &driver), 0);
}

static void on_revoked(uvzk_hold_t *hold)
{
    (void)hold;
}

static void ask(struct hold *hold, struct process *process, uvzk_lock_t *lock,
                bool revocable)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.revoke_cb = revocable ? on_revoked : NULL;
    options.timeout_ms = 20000;
    int status = hold_ask(hold, process, lock, &options);
    assert_true(status == 0 || is_broken(process));
    hold->hook = losses_come_first;
}

/* Two acquires of each recipe: one holds, one waits. */
static void ask_for_everything(struct process *process)
{
    int side = index_of(process);
    struct hold *hold = &holds[side * RECIPES * WAYS];
    uvzk_lock_t *locks[RECIPES] = {&sides[side].mutex,        &sides[side].cohort,
                                   &sides[side].rwlock.write, &sides[side].rwlock.read,
                                   &sides[side].semaphore,    &sides[side].counted,
                                   &sides[side].in_turn,      &sides[side].driver};

    for (int i = 0; i < RECIPES * WAYS; i++, hold++) {
        ask(hold, process, locks[i % RECIPES], i == 0);
    }
}

static void ask_for_the_rest(struct process *process)
{
    int side = index_of(process);

    sides[side].set.data = process;
    (void)uvzk_lock_acquire_future(&sides[side].mutex, &sides[side].future, NULL,
                                   on_lost);
    if (uvzk_shared_count_set(&sides[side].count, &sides[side].set, 5, on_set) != 0) {
        sides[side].sets++;
    }
}

/* Everybody takes part; connections are lost; holds are released. */
static void run_story(void)
{
    ask_for_everything(&a);
    ask_for_everything(&b);
    ask_for_the_rest(&a);
    ask_for_the_rest(&b);
    world_run_for(&world, 1500);
    sim_disconnect(a.ports[0], SIM_RESET, 300);
    world_run_for(&world, 1500);
    for (int i = 0; i < HOLDS; i += 3) {
        if (!hold_over(&holds[i])) {
            hold_release_or_cancel(&holds[i]);
        }
    }
    world_run_for(&world, 3000);
    if (!is_broken(&b)) {
        process_expire(&b);
    }
    uvzk_future_drop(&sides[0].future);
    uvzk_future_drop(&sides[1].future);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
}

static uint64_t requests_by_then[2];

static void note_requests(void)
{
    requests_by_then[0] = process_metrics(&a).requests;
    requests_by_then[1] = process_metrics(&b).requests;
}

static void check_broken(struct process *process)
{
    int side = index_of(process);
    const struct uvzk__machine *machine = move_kinds.illegal.machine;
    uvzk_client_error_t error;
    struct hold refused = {0};

    for (size_t i = 0; i < HOLDS; i++) {
        assert_true(holds[i].process != process || hold_over(&holds[i]));
    }
    /* The request for which the move was made, and no other. */
    assert_true(process_metrics(process).requests <= requests_by_then[side] + 1);
    assert_int_equal(sides[side].sets, 1);
    assert_int_equal(sides[side].lines, 1);
    assert_non_null(strstr(sides[side].line, machine->name));
    assert_non_null(
        strstr(sides[side].line, machine->states[move_kinds.illegal.from].name));
    assert_non_null(
        strstr(sides[side].line, machine->states[move_kinds.illegal.to].name));
    assert_true(process->state_count > 0);
    assert_int_equal(process->states[process->state_count - 1], UVZK_STATE_CLOSED);
    assert_int_equal(uvzk_client_state(&process->client), UVZK_STATE_CLOSED);
    uvzk_client_error_init(&error);
    assert_int_equal(uvzk_client_last_error(&process->client, &error), 0);
    assert_int_equal(error.code, UVZK_EINTERNAL);
    assert_int_equal(hold_ask(&refused, process, &sides[side].mutex, NULL), UVZK_ECLOSED);
}

static void release_all(void)
{
    for (int i = 0; i < HOLDS; i++) {
        if (!hold_over(&holds[i]) && !holds[i].releasing) {
            hold_release_or_cancel(&holds[i]);
        }
    }
    world_run_for(&world, 3000);
}

/* The sessions of the broken client have ended, so the other one gets every lock. */
static void check_other(struct process *process)
{
    int side = index_of(process);

    assert_false(is_broken(process));
    assert_int_equal(sides[side].lines, 0);
    release_all();
    ask_for_everything(process);
    for (int i = side * RECIPES * WAYS; i < (side + 1) * RECIPES * WAYS; i++) {
        if (hold_pending(&holds[i])) {
            hold_await_answer(&holds[i], 60000);
        }
        assert_int_equal(holds[i].status, 0);
        hold_give_back(&holds[i]);
    }
}

/* Tells the story in which the move with this number is move_kinds.illegal. */
static void tell(uint64_t number, uint64_t seed, void *const *state)
{
    memset(sides, 0, sizeof(sides));
    memset(holds, 0, sizeof(holds));
    move_kinds.moves = 0;
    move_kinds.armed = 0;
    move_kinds.when_illegal = note_requests;
    world_begin(&world, seed, state);
    move_kinds.armed = number;
    begin_process(&a, "a", 2);
    begin_process(&b, "b", 1);
    run_story();
    move_kinds.armed = UINT64_MAX; /* the story is over */
    if (number != 0) {
        bool a_is_broken = is_broken(&a);
        assert_true(a_is_broken != is_broken(&b));
        check_broken(a_is_broken ? &a : &b);
        check_other(a_is_broken ? &b : &a);
    } else {
        assert_false(is_broken(&a) || is_broken(&b));
        release_all();
    }
    process_close(&a);
    process_close(&b);
    world_end(&world);
    assert_int_equal(failing_allocator_live_blocks(), 0);
}

static void check_kind(const struct move_kind *kind, uint64_t number, uint64_t seed,
                       void *const *state)
{
    if (getenv("UVZK_VERBOSE") != NULL) {
        printf("%s: %s to %s, move %d\n", kind->machine->name,
               kind->machine->states[kind->from].name,
               kind->machine->states[kind->to].name, (int)number);
    }
    tell(number, seed, state);
}

static void every_move(void **state)
{
    const uint64_t seed = 3;

    move_kinds.count = 0;
    tell(0, seed, state);
    for (size_t i = 0; i < move_kinds.count; i++) {
        check_kind(&move_kinds.all[i], move_kinds.all[i].first, seed, state);
        if (move_kinds.all[i].last != move_kinds.all[i].first) {
            check_kind(&move_kinds.all[i], move_kinds.all[i].last, seed, state);
        }
    }
    /* About 70: a story that ends early, or a machine that no longer asks, makes few. */
    assert_true(move_kinds.count > 65);
}

/* ------------------------------------------------- one fault, and all that follows */

static struct hold held, waits, released, others;

/* "a" holds, waits for a lock of "b", releases and sets a count. */
static void begin_busy(uint64_t seed, void *const *state)
{
    memset(sides, 0, sizeof(sides));
    move_kinds.armed = UINT64_MAX;
    world_begin(&world, seed, state);
    begin_process(&a, "a", 1 + (uint32_t)(seed % 2));
    begin_process(&b, "b", 1);
    assert_true(process_await_connected(&a, 5000) && process_await_connected(&b, 5000));
    hold_take_on(&others, &b, &sides[1].cohort, 1);
    hold_take_on(&held, &a, &sides[0].mutex, 1);
    hold_take_on(&released, &a, &sides[0].driver, 1);
    hold_begin_on(&waits, &a, &sides[0].cohort, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 300);
    hold_release(&released);
    sides[0].set.data = &a;
    assert_int_equal(uvzk_shared_count_set(&sides[0].count, &sides[0].set, 5, on_set), 0);
}

static void check_busy_is_over(void)
{
    assert_int_equal(held.reason, UVZK_EINTERNAL);
    assert_int_equal(waits.status, UVZK_EINTERNAL);
    assert_int_equal(released.release_status, UVZK_EINTERNAL);
    assert_true(held.ended_turn < waits.ended_turn);
    assert_true(held.ended_turn < released.ended_turn);
    assert_int_equal(sides[0].sets, 1);
    assert_int_equal(sides[0].set_status, UVZK_EINTERNAL);
    assert_int_equal(sides[0].lines, 1);
}

static void end_busy(void)
{
    hold_give_back(&others);
    if (!a.closing) {
        process_close(&a);
    }
    assert_int_equal(uvzk_client_close(&a.client, NULL), UVZK_ESTATE);
    process_close(&b);
    world_end(&world);
    assert_int_equal(failing_allocator_live_blocks(), 0);
}

static int locks_closed;

static void on_lock_closed(uvzk_lock_t *lock)
{
    assert_ptr_equal(lock, &sides[0].mutex);
    locks_closed++;
}

/* Only the first fault is logged. From the fault on no hold is valid, and nothing is
 * sent. The znode goes with the session, long before that would expire. */
static void one_fault(uint64_t seed, void *const *state)
{
    begin_busy(seed, state);
    locks_closed = 0;
    uint64_t requests = process_metrics(&a).requests;
    uvzk__broken(a.client.impl, "a fault %d", 1);
    uvzk__broken(a.client.impl, "another fault");
    assert_false(uvzk_hold_is_valid(&held.request));
    assert_int_equal(uvzk_hold_valid_until(&held.request), 0);
    assert_int_equal(held.lost, 0); /* not inside a call */
    world_run_for(&world, 300);
    check_busy_is_over();
    assert_int_equal(process_metrics(&a).requests, requests);
    assert_non_null(strstr(sides[0].line, "a fault 1"));
    assert_int_equal(uvzk_lock_close(&sides[0].mutex, on_lock_closed), 0);
    hold_take_on(&waits, &b, &sides[1].mutex, 1);
    hold_give_back(&waits);
    assert_int_equal(locks_closed, 1);
    end_busy();
}

static void close_in_a_callback(struct hold *hold)
{
    process_close(hold->process);
}

static void closed_in_a_callback(uint64_t seed, void *const *state)
{
    begin_busy(seed, state);
    held.hook = close_in_a_callback;
    uvzk__broken(a.client.impl, "a fault");
    world_run_for(&world, 300);
    check_busy_is_over();
    end_busy();
}

/* The user's close comes first. What it has ended keeps its code. */
static void broken_while_it_closes(uint64_t seed, void *const *state)
{
    begin_busy(seed, state);
    process_close(&a);
    world_steps(&world, seed);
    if (a.client.impl != NULL) {
        uvzk__broken(a.client.impl, "a fault");
    }
    assert_true(world_await(&world, &a.closed, 5000));
    assert_int_equal(held.reason, UVZK_ECLOSED);
    assert_int_equal(waits.status, UVZK_ECLOSED);
    end_busy();
}

/* The test writes a wrong state, and makes a move that is illegal from there, without the
 * hook of illegal_moves.h. The hold is lost whatever is wrong. */
static void spoil(uint64_t which)
{
    struct uvzk__claim *claim = uvzk__hold_of(&held.request);
    struct uvzk__contender *contender = uvzk__claim_first_contender(claim);

    switch (which) {
    case 0:
        claim->state = UVZK__CLAIM_EMPTYING;
        uvzk__claim_grant(claim, 1);
        break;
    case 1:
        contender->state = UVZK__CONTENDER_GIVEN_UP;
        uvzk__contender_ungrant(contender);
        break;
    case 2:
        contender->queue->state = UVZK__QUEUE_IDLE;
        uvzk__move(contender->queue->session, &uvzk__queue_machine, contender->queue,
                   UVZK__QUEUE_IDLE);
        break;
    default:
        uvzk__contender_unref(contender);
        break;
    }
}

static void wrong_states_are_noticed(uint64_t seed, void *const *state)
{
    begin_busy(seed, state);
    spoil(seed % 4);
    assert_true(is_broken(&a));
    world_run_for(&world, 300);
    check_busy_is_over();
    end_busy();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(every_move),
        WORLD_SCENARIO(one_fault, 1, 6),
        WORLD_SCENARIO(closed_in_a_callback, 1, 6),
        WORLD_SCENARIO(broken_while_it_closes, 1, 40),
        WORLD_SCENARIO(wrong_states_are_noticed, 1, 12),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
