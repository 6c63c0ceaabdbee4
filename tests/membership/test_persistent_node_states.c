/* One play with a persistent node that goes through every state of its machine, disturbed at
 * every single event, in every way there is: the znode is there again when the disturbance
 * is over, it is gone after the close, and nothing is left. Which states the disturbances
 * have met is counted: none may be missing. The same play while the n-th allocation fails. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <string.h>

#include "failing_allocator.h"
#include "persistent_process.h"
#include "sim_process.h"
#include "ticker.h"

#define PLAY_MS 700U
#define STATES UVZK__PERSISTENT_NODE_GONE /* GONE lasts no longer than a turn */

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
    struct persistent_process c;
    bool memory_may_fail;
    bool opened_again;
};

/* -------------------------------------------------------------------- the actions */

static void set(struct play *play, const char *data)
{
    int status = persistent_process_set(&play->c, data);

    if (status == UV_ENOMEM ? !play->memory_may_fail
                            : status != 0 && status != UVZK_ECLOSED) {
        persistent_process_fail(&play->c, "refused with %s", uvzk_err_name(status));
    }
}

static void start(struct play *play)
{
    int status = uvzk_client_start(&play->c.process.client);

    assert_true(status == 0 || status == UVZK_ESTATE);
}

static void set_one(struct play *play)
{
    set(play, "one");
}

static void delete_it(struct play *play)
{
    (void)sim_delete_by_hand(play->world.sim, PERSISTENT_PROCESS_PATH);
}

/* In a session that never ends. */
static void take_it(struct play *play)
{
    delete_it(play);
    persistent_process_make_parents(play->world.sim);
    (void)sim_create_by_hand(play->world.sim, PERSISTENT_PROCESS_PATH, UVZK__EPHEMERAL);
}

static void cut_off(struct play *play)
{
    if (play->c.process.port != NULL) {
        sim_disconnect(play->c.process.port, SIM_RESET, 50);
    }
}

static void set_two(struct play *play)
{
    set(play, "two");
}

static void close_node(struct play *play)
{
    if (play->c.node.impl != NULL && play->c.node_closed == 0 &&
        !play->c.process.closing) {
        const struct uvzk__persistent_node *node = play->c.node.impl;
        if (!node->closing) {
            persistent_process_close(&play->c);
        }
    }
}

/* If the close is over by then. */
static void open_again(struct play *play)
{
    if (play->c.node.impl == NULL && !play->c.process.closing) {
        play->c.node_closed = 0;
        int status = persistent_process_init(&play->c, "again");
        if (status == UV_ENOMEM ? !play->memory_may_fail : status != 0) {
            persistent_process_fail(&play->c, "refused with %s", uvzk_err_name(status));
        }
        play->opened_again = true;
    }
}

static const struct {
    uint64_t at_ms;
    void (*act)(struct play *);
} script[] = {
    {10, start},    {100, set_one},    {150, delete_it},
    {200, take_it}, {250, delete_it},  {300, cut_off},
    {310, set_two}, {450, close_node}, {500, open_again},
};

#define ACTIONS (sizeof(script) / sizeof(script[0]))

/* --------------------------------------------------------------- the disturbances */

static void close_client(struct play *play)
{
    process_close(&play->c.process);
}

static void close_both(struct play *play)
{
    close_node(play);
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
    {"close of the node", close_node, .end = CLOSED},
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
    {"deletion", delete_it, .end = GOES_ON},
    {"refused credentials", refuse_credentials, .end = SHUT_OUT},
};

#define DISTURBANCES (sizeof(disturbances) / sizeof(disturbances[0]))

/* Where they have met it. */
static unsigned met[DISTURBANCES][STATES];

static void meet(const struct play *play, size_t number)
{
    const struct uvzk__persistent_node *node = play->c.node.impl;

    if (node != NULL && node->state < STATES) {
        met[number][node->state]++;
    }
}

/* -------------------------------------------------------------------- the play */

static void begin(struct play *play, const struct disturbance *disturbance)
{
    memset(play, 0, sizeof(*play));
    play->disturbance = disturbance;
    world_begin_exact(&play->world, UVZK__TUNE_ALL, 1);
    persistent_process_begin(&play->c, &play->world, "c", UVZK_PERSISTENT_NODE_EPHEMERAL,
                             "first");
    play->c.disturbed = true; /* by an operator */
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
        if (ticker_step(&ticker) && events++ == at && play->disturbance != NULL) {
            meet(play, (size_t)(play->disturbance - disturbances));
            play->disturbance->disturb(play);
        }
    }
    ticker_end(&ticker);
    return events;
}

static bool is_shut_out(const struct play *play)
{
    const struct uvzk__session *session = play->c.process.client.impl;

    return session != NULL && session->auth_failed;
}

/* A refused delete leaves the znode where it is, and so do refused credentials, until the
 * session ends. */
static void remove_left(struct play *play)
{
    world_run_for(&play->world, 2ULL * WORLD_TIMEOUT_MS);
    bool left = sim_exists(play->world.sim, PERSISTENT_PROCESS_PATH);

    if (left && sim_session_count(play->world.sim) == 0) {
        struct uvzk__stat stat;
        assert_true(sim_stat(play->world.sim, PERSISTENT_PROCESS_PATH, &stat));
        if (stat.ephemeral_owner != 0 &&
            sim_session_alive(play->world.sim, stat.ephemeral_owner)) {
            delete_it(play); /* the operator's */
            return;
        }
        persistent_process_fail(&play->c, "the znode is left");
    }
}

static void finish(struct play *play, enum end end)
{
    world_run_for(&play->world, 60000);
    if (end == SHUT_OUT && is_shut_out(play)) {
        persistent_process_end(&play->c);
    } else {
        if (end != CLOSED) {
            delete_it(play); /* whoever's it is */
            open_again(play);
            world_run_for(&play->world, 60000);
            if (!persistent_process_is_there(&play->c) || play->c.status != 0) {
                persistent_process_fail(&play->c, "the znode is not there again");
            }
        }
        persistent_process_end(&play->c);
    }
    remove_left(play);
    world_end(&play->world);
}

static void undisturbed(void **state)
{
    struct play play;

    (void)state;
    begin(&play, NULL);
    (void)perform(&play, 0);
    assert_true(play.opened_again);
    assert_int_equal(play.c.status, 0);
    assert_true(play.c.present >= 5);
    assert_true(persistent_process_is_there(&play.c));
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
                fail_msg(
                    "%s has not met %s", disturbances[i].name,
                    uvzk__machine_state(&uvzk__persistent_node_machine, (unsigned)j));
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
        assert_true(first > 5); /* there was something to fail */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undisturbed),
        cmocka_unit_test(disturbed_at_every_event),
        cmocka_unit_test(every_state_has_met_every_disturbance),
        cmocka_unit_test(memory_runs_out),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
