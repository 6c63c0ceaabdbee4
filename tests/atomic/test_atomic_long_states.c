/* One play with an atomic long that goes through every state of its machine, disturbed at
 * every single event, in every way there is: every call is answered once, the number is
 * what the answers say, and nothing is left. Which states the disturbances have met is
 * counted: none may be missing. The same play while the n-th allocation fails. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <string.h>

#include "atomic_process.h"
#include "failing_allocator.h"
#include "sim_process.h"
#include "ticker.h"

#define PLAY_MS 700U
#define CALLS 8
#define STATES (UVZK__ATOMIC_RELEASING + 1)

struct play;

enum end { GOES_ON, CLOSED, SHUT_OUT };

struct disturbance {
    const char *name;
    void (*disturb)(struct play *);
    enum end end;
    void (*trouble)(struct process *); /* or */
    enum sim_cut how;                  /* a connection is lost, for so long, or */
    uint64_t ms;
    int status; /* requests of kinds up to this one are refused */
    enum uvzk__rpc_kind last_kind;
};

struct play {
    const struct disturbance *disturbance; /* NULL: none */
    struct world world;
    struct atomic_process c;
    struct atomic_process_call calls[CALLS];
    bool memory_may_fail, write_lost;
    int64_t added_by_hand;
};

/* -------------------------------------------------------------------- the actions */

/* What the calls may refuse, in a disturbed play. */
static void check_refusal(struct play *play, int status)
{
    bool closing = play->c.atomic_closed > 0 || play->c.process.closed > 0 ||
                   play->c.atomic.impl == NULL || status == UVZK_ECLOSED;

    if (status == UV_ENOMEM ? !play->memory_may_fail : status != 0 && !closing) {
        atomic_process_fail(&play->c, "refused with %s", uvzk_err_name(status));
    }
}

static void add(struct play *play, int call)
{
    check_refusal(play, atomic_process_add(&play->calls[call], &play->c, 1));
}

/* Adds 100, as another client does. */
static void outrun(struct play *play)
{
    int64_t number = atomic_process_number(play->world.sim);

    if (number >= 0) {
        atomic_process_set_by_hand(play->world.sim, number + 100);
        play->added_by_hand += 100;
    }
}

static void early(struct play *play)
{
    add(play, 0); /* waits for the connection; the znode is missing */
}

static void start(struct play *play)
{
    int status = uvzk_client_start(&play->c.process.client);

    assert_true(status == 0 || status == UVZK_ESTATE);
}

static void two_adds(struct play *play)
{
    add(play, 1);
    add(play, 2);
}

/* Refused by a reading alone, once the call has caught up. */
static void compare(struct play *play)
{
    check_refusal(play, atomic_process_compare_and_set(&play->calls[3], &play->c, -5, 0));
}

static void add_and_be_outrun(struct play *play)
{
    add(play, 4);
}

static void cut_off(struct play *play)
{
    if (play->c.process.port != NULL) {
        sim_disconnect(play->c.process.port, SIM_RESET, 50);
    }
}

static void add_by_a_lost_request(struct play *play)
{
    add(play, 5);
}

static void last_add(struct play *play)
{
    add(play, 6);
}

static const struct {
    uint64_t at_ms;
    void (*act)(struct play *);
} script[] = {
    {0, early},
    {10, start},
    {100, two_adds},
    {150, compare},
    {200, add_and_be_outrun},
    {300, cut_off},
    {400, add_by_a_lost_request},
    {600, last_add},
};

#define ACTIONS (sizeof(script) / sizeof(script[0]))

/* --------------------------------------------------------------- the disturbances */

static void close_atomic(struct play *play)
{
    if (play->c.atomic.impl != NULL) {
        atomic_process_close(&play->c);
    }
}

static void close_client(struct play *play)
{
    process_close(&play->c.process);
}

static void close_both(struct play *play)
{
    close_atomic(play);
    close_client(play);
}

static void expire(struct play *play)
{
    (void)sim_expire(play->c.process.port);
}

static void expire_connected(struct play *play)
{
    (void)sim_expire_connected(play->c.process.port);
}

static void befall(struct play *play)
{
    play->disturbance->trouble(&play->c.process);
}

static void disconnect(struct play *play)
{
    sim_disconnect(play->c.process.port, play->disturbance->how, play->disturbance->ms);
}

static void delay(struct play *play)
{
    sim_delay(play->c.process.port, 30);
}

static void stop(struct play *play)
{
    sim_pause(play->c.process.port, 200);
}

static void connected_again(struct play *play)
{
    sim_repeat_connected(play->c.process.port);
}

static void restart(struct play *play)
{
    sim_restart(play->world.sim, 100);
}

/* The next request of each kind up to one. */
static void refuse(struct play *play)
{
    for (int kind = UVZK__RPC_CREATE; kind <= (int)play->disturbance->last_kind; kind++) {
        sim_refuse(play->world.sim, (enum uvzk__rpc_kind)kind, play->disturbance->status,
                   1);
    }
}

static void refuse_credentials(struct play *play)
{
    play->c.process.may_log_errors = true;
    sim_fail_auth(play->c.process.port);
}

static const struct disturbance disturbances[] = {
    {"close of the atomic long", close_atomic, .end = CLOSED},
    {"close of the client", close_client, .end = CLOSED},
    {"close of both", close_both, .end = CLOSED},
    {"expiry", expire, .end = GOES_ON},
    {"expiry while connected", expire_connected, .end = GOES_ON},
    {"reset", disconnect, .end = GOES_ON, .how = SIM_RESET, .ms = 20},
    {"long reset", disconnect, .end = GOES_ON, .how = SIM_RESET,
     .ms = 2 * WORLD_TIMEOUT_MS},
    {"silence", disconnect, .end = GOES_ON, .how = SIM_SILENT,
     .ms = 2 * WORLD_TIMEOUT_MS},
    {"session given up", disconnect, .end = GOES_ON, .how = SIM_RESET,
     .ms = 4 * WORLD_TIMEOUT_MS},
    {"lost request", befall, .end = GOES_ON, .trouble = process_lose_request},
    {"lost reply", befall, .end = GOES_ON, .trouble = process_lose_reply},
    {"spoilt reply", befall, .end = GOES_ON, .trouble = process_reply_enomem},
    {"delay", delay, .end = GOES_ON},
    {"stop", stop, .end = GOES_ON},
    {"CONNECTED again", connected_again, .end = GOES_ON},
    {"restart", restart, .end = GOES_ON},
    {"overload", refuse, .end = GOES_ON, .status = UVZK_ETHROTTLED,
     .last_kind = UVZK__RPC_EXISTS},
    {"refusal", refuse, .end = GOES_ON, .status = UVZK_EZOOKEEPER,
     .last_kind = UVZK__RPC_EXISTS},
    {"forbidden", refuse, .end = GOES_ON, .status = UVZK_ENOAUTH,
     .last_kind = UVZK__RPC_GET},
    {"another's write", outrun, .end = GOES_ON},
    {"refused credentials", refuse_credentials, .end = SHUT_OUT},
};

#define DISTURBANCES (sizeof(disturbances) / sizeof(disturbances[0]))

/* Where they have met it. */
static unsigned met[DISTURBANCES][STATES];

static void meet(const struct play *play, size_t number)
{
    const struct uvzk__atomic_long *atomic = play->c.atomic.impl;

    if (atomic != NULL) {
        met[number][atomic->state]++;
    }
}

/* -------------------------------------------------------------------- the play */

static void begin(struct play *play, const struct disturbance *disturbance)
{
    uvzk_atomic_long_options_t options;

    memset(play, 0, sizeof(*play));
    play->disturbance = disturbance;
    world_begin_exact(&play->world, UVZK__TUNE_ALL, 1);
    /* Outrun twice, a call is promoted. */
    atomic_process_options(&options, 2, true);
    options.retry.base_ms = 5;
    atomic_process_begin(&play->c, &play->world, "c", &options);
}

/* Outruns the call that is to be promoted, each time when it is about to write. */
static void outrun_the_call(struct play *play)
{
    const struct uvzk__atomic_long *atomic = play->c.atomic.impl;
    const struct uvzk__atomic_call *call =
        atomic == NULL ? NULL : uvzk__atomic_call_first(&atomic->calls);

    if (call != NULL && call->shell == &play->calls[4].call && !call->promoted &&
        atomic->state == UVZK__ATOMIC_WRITING &&
        sim_outstanding(play->c.process.port) > 0 && call->over.mzxid != 0) {
        struct uvzk__stat stat;
        if (sim_stat(play->world.sim, ATOMIC_PROCESS_PATH, &stat) &&
            stat.mzxid == call->over.mzxid) {
            outrun(play);
        }
    }
}

/* Loses the first write of a call. */
static void lose_the_write(struct play *play)
{
    const struct uvzk__atomic_long *atomic = play->c.atomic.impl;
    const struct uvzk__atomic_call *call =
        atomic == NULL ? NULL : uvzk__atomic_call_first(&atomic->calls);

    if (call != NULL && call->shell == &play->calls[5].call && !play->write_lost &&
        atomic->state == UVZK__ATOMIC_WRITING && play->c.process.port != NULL) {
        play->write_lost = true;
        sim_lose_request(play->c.process.port);
    }
}

/* Returns how many events there were. After the event number `at`, from 0, it is
 * disturbed. */
static uint64_t perform(struct play *play, uint64_t at)
{
    struct ticker ticker;
    uint64_t begun = world_now(&play->world), events = 0;
    size_t next = 0;

    ticker_begin(&ticker, play->world.sim, 1);
    while (world_now(&play->world) < begun + PLAY_MS) {
        while (next < ACTIONS && world_now(&play->world) >= begun + script[next].at_ms) {
            script[next++].act(play);
        }
        bool event = ticker_step(&ticker);
        outrun_the_call(play);
        lose_the_write(play);
        if (event && events++ == at && play->disturbance != NULL) {
            meet(play, (size_t)(play->disturbance - disturbances));
            play->disturbance->disturb(play);
        }
    }
    ticker_end(&ticker);
    return events;
}

/* After the disturbance: it is as if nothing had been. */
static void recover(struct play *play)
{
    struct atomic_process_call *after = &play->calls[CALLS - 1];

    for (int attempt = 0; attempt < 5; attempt++) {
        assert_int_equal(atomic_process_add(after, &play->c, 0), 0);
        /* A late fault may meet this one. */
        if (atomic_process_await(after) == 0) {
            return;
        }
    }
    atomic_process_fail(&play->c, "a call fails for ever");
}

static bool may_have_been_done(int status)
{
    return status == UVZK_ECONNLOSS || status == UVZK_ECLOSED || status == UVZK_EAUTH;
}

/* The number is the sum of what was added for certain, and of some of what may have been
 * added. */
static void check_sum(struct play *play)
{
    int64_t least = play->added_by_hand, most, number = 0;

    most = least;
    for (int i = 0; i < CALLS - 1; i++) {
        if (!atomic_process_call_over(&play->calls[i])) {
            atomic_process_fail(&play->c, "call %d is never answered", i);
        }
        if (!play->calls[i].accepted || play->calls[i].told == 0 || i == 3) {
            continue;
        }
        least += play->calls[i].status == 0;
        most += play->calls[i].status == 0 || may_have_been_done(play->calls[i].status);
    }
    if (sim_exists(play->world.sim, ATOMIC_PROCESS_PATH)) {
        number = atomic_process_number(play->world.sim);
    }
    if (number < least || number > most) {
        atomic_process_fail(&play->c, "%" PRId64 " is not %" PRId64 " to %" PRId64,
                            number, least, most);
    }
}

static bool is_shut_out(const struct play *play)
{
    const struct uvzk__session *session = play->c.process.client.impl;

    return session != NULL && session->auth_failed;
}

static void finish(struct play *play, enum end end)
{
    world_run_for(&play->world, 60000);
    if (end == GOES_ON || (end == SHUT_OUT && !is_shut_out(play))) {
        recover(play);
    }
    atomic_process_end(&play->c);
    check_sum(play);
    world_run_for(&play->world, 2ULL * WORLD_TIMEOUT_MS);
    if (sim_session_count(play->world.sim) != 0) {
        atomic_process_fail(&play->c, "a session is left");
    }
    world_end(&play->world);
}

static void undisturbed(void **state)
{
    struct play play;
    const int expected[] = {0, 0, 0, UVZK_EBADVERSION, 0, 0, 0};

    (void)state;
    begin(&play, NULL);
    (void)perform(&play, 0);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(play.calls[i].told, 1);
        assert_int_equal(play.calls[i].status, expected[i]);
    }
    assert_int_equal(play.calls[4].value.optimistic_tries, 2);
    assert_int_equal(play.calls[4].value.promoted_tries, 1);
    assert_true(atomic_process_number(play.world.sim) == play.added_by_hand + 6);
    finish(&play, GOES_ON);
    assert_int_equal(failing_allocator_live_blocks(), 0);
}

static uint64_t perform_disturbed(const struct disturbance *disturbance, uint64_t at)
{
    struct play play;
    uint64_t events;

    begin(&play, disturbance);
    world_note(&play.world, "%s at event %" PRIu64, disturbance->name, at);
    events = perform(&play, at);
    finish(&play, disturbance->end);
    assert_int_equal(failing_allocator_live_blocks(), 0);
    return events;
}

static void disturbed_at_every_event(void **state)
{
    (void)state;
    for (size_t i = 0; i < DISTURBANCES; i++) {
        for (uint64_t at = 0; at < perform_disturbed(&disturbances[i], at); at++) {
        }
    }
}

static void every_state_has_met_every_disturbance(void **state)
{
    (void)state;
    for (size_t i = 0; i < DISTURBANCES; i++) {
        for (size_t j = 0; j < STATES; j++) {
            if (met[i][j] == 0) {
                fail_msg("%s has not met %s", disturbances[i].name,
                         uvzk__machine_state(&uvzk__atomic_machine, (unsigned)j));
            }
        }
    }
}

/* --------------------------------------------------------------------- memory */

/* Returns true if an allocation failed. */
static bool perform_in_need(uint64_t first, uint64_t count)
{
    struct play play;

    begin(&play, NULL);
    play.memory_may_fail = true;
    world_note(&play.world, "allocations %" PRIu64 " to %" PRIu64 " fail", first,
               first + count - 1);
    failing_allocator_arm(first, count);
    (void)perform(&play, 0);
    bool failed = failing_allocator_failures() > 0;
    failing_allocator_arm(0, 0);
    finish(&play, GOES_ON);
    assert_int_equal(failing_allocator_live_blocks(), 0);
    return failed;
}

static void memory_runs_out(void **state)
{
    static const uint64_t counts[] = {1, 5, 40};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        uint64_t first = 1;
        while (perform_in_need(first, counts[i])) {
            first++;
        }
        assert_true(first > 10); /* there was something to fail */
    }
}

/* The init fails at each of its allocations, and leaves nothing. */
static void memory_runs_out_in_the_init(void **state)
{
    struct play play;
    int status = UV_ENOMEM;
    uint64_t failures = 0;

    (void)state;
    begin(&play, NULL);
    start(&play);
    atomic_process_close(&play.c);
    assert_true(world_await(&play.world, &play.c.atomic_closed, PATIENCE_MS));
    play.c.atomic_closed = 0;
    int64_t blocks = failing_allocator_live_blocks();
    while (status == UV_ENOMEM) {
        uvzk_atomic_long_options_t options;

        atomic_process_options(&options, 1, true);
        failing_allocator_arm(++failures, 1);
        status = atomic_process_init(&play.c, &options);
        failing_allocator_arm(0, 0);
        assert_true(status == 0 || failing_allocator_live_blocks() == blocks);
    }
    assert_int_equal(status, 0);
    assert_true(failures > 3);
    finish(&play, GOES_ON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undisturbed),
        cmocka_unit_test(disturbed_at_every_event),
        cmocka_unit_test(every_state_has_met_every_disturbance),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(memory_runs_out_in_the_init),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
