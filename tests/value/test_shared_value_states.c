/* One play with a shared value that goes through every state of its machines, disturbed
 * at every single event, in every way there is: everybody is answered once, what is
 * known comes to be what the znode has, and nothing is left. Which states the
 * disturbances have met is counted: none may be missing. The same play while the n-th
 * allocation fails. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "failing_allocator.h"
#include "ticker.h"
#include "value/node_cache.h"
#include "value/value_set.h"
#include "value_process.h"

#define PLAY_MS 700U
#define SETS 8

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
    struct value_process value_process;
    uvzk_shared_value_t other; /* of the same client, on the same path */
    int other_told, other_closed;
    struct value_process_set sets[SETS];
    bool memory_may_fail;
};

/* -------------------------------------------------------------------- the actions */

/* What the calls may refuse, in a disturbed play. */
static void check_refusal(struct play *play, int status)
{
    bool closing = play->value_process.value_closed > 0 ||
                   play->value_process.process.closed > 0 ||
                   play->value_process.value.impl == NULL || status == UVZK_ECLOSED;

    if (status == UV_ENOMEM ? !play->memory_may_fail : status != 0 && !closing) {
        value_process_fail(&play->value_process, "refused with %s",
                           uvzk_err_name(status));
    }
}

static void set(struct play *play, int number, const char *text)
{
    check_refusal(play,
                  value_process_set(&play->sets[number], &play->value_process, text));
}

static void try_set(struct play *play, int number, const char *text)
{
    uvzk_value_version_t version = value_process_version(&play->value_process);

    check_refusal(play, value_process_try_set(&play->sets[number], &play->value_process,
                                              &version, text));
}

static void make_again(struct play *play)
{
    if (!sim_exists(play->world.sim, VALUE_PROCESS_PATH)) {
        value_process_make_by_hand(play->world.sim);
    }
}

static void meddle(struct play *play, const char *text)
{
    (void)sim_set_by_hand(play->world.sim, VALUE_PROCESS_PATH, text, strlen(text));
}

static void remove_it(struct play *play)
{
    (void)sim_delete_by_hand(play->world.sim, VALUE_PROCESS_PATH);
}

static void start(struct play *play)
{
    int status = uvzk_client_start(&play->value_process.process.client);

    assert_true(status == 0 || status == UVZK_ESTATE);
}

static void early(struct play *play)
{
    check_refusal(play, value_process_share(&play->value_process, "seed"));
    set(play, 0, "early"); /* waits for the connection */
}

static void two_sets(struct play *play)
{
    set(play, 1, "one");
    try_set(play, 2, "two"); /* over what is replaced by then */
}

static void lost_race(struct play *play)
{
    meddle(play, "three");
    try_set(play, 3, "four");
}

static void gone(struct play *play)
{
    remove_it(play);
    set(play, 4, "five");
}

static void back(struct play *play)
{
    make_again(play);
    meddle(play, "six");
}

static void gone_and_back(struct play *play)
{
    remove_it(play);
    make_again(play);
}

static void on_other(uvzk_shared_value_t *value, int status)
{
    struct play *play = value->data;

    (void)status;
    play->other_told++;
}

static void on_other_closed(uvzk_shared_value_t *value)
{
    struct play *play = value->data;

    play->other_closed++;
}

/* Its seed makes the znode again, while the first one watches its place. */
static void other_opens(struct play *play)
{
    play->other.data = play;
    int status = uvzk_shared_value_init(&play->value_process.process.client, &play->other,
                                        VALUE_PROCESS_PATH, "again", 5, on_other);
    if (status != 0 && status != UVZK_ESTATE) {
        check_refusal(play, status);
    }
}

static void other_closes(struct play *play)
{
    if (play->other.impl != NULL) {
        assert_int_equal(uvzk_shared_value_close(&play->other, on_other_closed), 0);
    }
}

static void cut_off(struct play *play)
{
    if (play->value_process.process.port != NULL) {
        sim_disconnect(play->value_process.process.port, SIM_RESET, 50);
    }
}

static void set_while_cut_off(struct play *play)
{
    set(play, 5, "seven");
}

static void last_sets(struct play *play)
{
    make_again(play);
    set(play, 6, "last");
}

static const struct {
    uint64_t at_ms;
    void (*act)(struct play *);
} script[] = {
    {0, early},           {10, start},
    {100, two_sets},      {150, lost_race},
    {200, gone},          {250, back},
    {300, remove_it},     {302, make_again},
    {320, gone_and_back}, {340, remove_it},
    {360, other_opens},   {380, other_closes},
    {400, cut_off},       {410, set_while_cut_off},
    {500, last_sets},
};

#define ACTIONS (sizeof(script) / sizeof(script[0]))

/* --------------------------------------------------------------- the disturbances */

static void close_value(struct play *play)
{
    if (play->value_process.value.impl != NULL) {
        value_process_close_value(&play->value_process);
    }
}

static void close_client(struct play *play)
{
    process_close(&play->value_process.process);
}

static void close_both(struct play *play)
{
    close_value(play);
    close_client(play);
}

static void expire(struct play *play)
{
    (void)sim_expire(play->value_process.process.port);
}

static void expire_connected(struct play *play)
{
    (void)sim_expire_connected(play->value_process.process.port);
}

static void befall(struct play *play)
{
    play->disturbance->trouble(&play->value_process.process);
}

static void disconnect(struct play *play)
{
    sim_disconnect(play->value_process.process.port, play->disturbance->how,
                   play->disturbance->ms);
}

static void delay(struct play *play)
{
    sim_delay(play->value_process.process.port, 30);
}

static void stop(struct play *play)
{
    sim_pause(play->value_process.process.port, 200);
}

static void connected_again(struct play *play)
{
    sim_repeat_connected(play->value_process.process.port);
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

static void set_by_another(struct play *play)
{
    meddle(play, "another's");
}

static void refuse_credentials(struct play *play)
{
    sim_fail_auth(play->value_process.process.port);
}

static const struct disturbance disturbances[] = {
    {"close of the value", close_value, .end = CLOSED},
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
    {"deletion", remove_it, .end = GOES_ON},
    {"deletion and making", gone_and_back, .end = GOES_ON},
    {"another's set", set_by_another, .end = GOES_ON},
    {"refused credentials", refuse_credentials, .end = SHUT_OUT},
};

#define DISTURBANCES (sizeof(disturbances) / sizeof(disturbances[0]))

/* What the reading of the znode does. */
enum doing { NOTHING, READING, SEEDING, LOOKING };

static enum doing doing_of(const struct uvzk__reading *reading)
{
    if (reading->state != UVZK__READING_ASKED) {
        return NOTHING;
    }
    switch (reading->rpc.kind) {
    case UVZK__RPC_GET:
        return READING;
    case UVZK__RPC_CREATE:
        return SEEDING;
    default:
        return LOOKING;
    }
}

/* Where they have met it. */
static struct {
    unsigned doing[DISTURBANCES][LOOKING + 1];
    unsigned watching[DISTURBANCES][UVZK__WATCHER_ARMED + 1];
    unsigned set[DISTURBANCES][UVZK__SET_DECIDED + 1];
} met;

static void meet(const struct play *play, size_t number)
{
    const struct uvzk__node_cache *node_cache =
        value_process_node_cache(&play->value_process);

    if (node_cache != NULL) {
        met.doing[number][doing_of(&node_cache->reading)]++;
        met.watching[number][node_cache->reading.renewed.watcher.state]++;
    }
    for (int i = 0; i < SETS; i++) {
        const struct uvzk__value_set *pending = play->sets[i].request.impl;
        if (pending != NULL) {
            met.set[number][pending->state]++;
        }
    }
}

/* -------------------------------------------------------------------- the play */

static void begin(struct play *play, const struct disturbance *disturbance)
{
    memset(play, 0, sizeof(*play));
    play->disturbance = disturbance;
    world_begin_exact(&play->world, UVZK__TUNE_ALL, 1);
    value_process_begin(&play->value_process, &play->world, "c", NULL);
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

/* After the disturbance: it is as if nothing had been. */
static void recover(struct play *play)
{
    struct value_process_set *set_after = &play->sets[SETS - 1];
    bool set_now = false;

    for (int attempt = 0; attempt < 5 && !set_now; attempt++) {
        world_run_for(&play->world, 10000);
        make_again(play);
        value_process_await_current(&play->value_process);
        assert_int_equal(value_process_set(set_after, &play->value_process, "after"), 0);
        value_process_await(&play->value_process, &set_after->told, 1);
        set_now = set_after->status == 0; /* a late fault may have met this one */
    }
    if (!set_now || !value_process_znode_is(play->world.sim, "after")) {
        value_process_fail(&play->value_process, "a set fails for ever");
    }
    value_process_await_current(&play->value_process);
}

static bool is_shut_out(const struct play *play)
{
    const struct uvzk__session *session = play->value_process.process.client.impl;

    return session != NULL && session->auth_failed;
}

static void finish(struct play *play, enum end end)
{
    world_run_for(&play->world, 60000);
    if (end == SHUT_OUT && !is_shut_out(play)) {
        end = GOES_ON; /* there was no connection just then */
    }
    if (end == GOES_ON) {
        recover(play);
    } else if (end == SHUT_OUT && play->value_process.status != UVZK_EAUTH) {
        value_process_fail(&play->value_process,
                           "nobody says that the credentials were refused");
    }
    for (int i = 0; i < SETS; i++) {
        if (!value_process_set_over(&play->sets[i])) {
            value_process_fail(&play->value_process, "set %d is never answered", i);
        }
    }
    if (play->other.impl != NULL &&
        uvzk_client_state(&play->value_process.process.client) != UVZK_STATE_CLOSED) {
        value_process_fail(&play->value_process, "the other value is never closed");
    }
    value_process_end(&play->value_process);
    assert_null(play->other.impl);
    world_end(&play->world);
}

static void undisturbed(void **state)
{
    struct play play;
    const int expected[] = {0, 0, UVZK_EBADVERSION, UVZK_EBADVERSION, UVZK_ENONODE, 0, 0};

    (void)state;
    begin(&play, NULL);
    (void)perform(&play, 0);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(play.sets[i].told, 1);
        assert_int_equal(play.sets[i].status, expected[i]);
    }
    assert_true(value_process_is_current(&play.value_process));
    assert_true(value_process_knows(&play.value_process, "last"));
    assert_true(play.value_process.troubles > 0);
    assert_true(play.other_told > 0);
    assert_int_equal(play.other_closed, 1);
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
        for (size_t j = 0; j <= LOOKING; j++) {
            assert_true(met.doing[i][j] > 0);
        }
        for (size_t j = 0; j <= UVZK__WATCHER_ARMED; j++) {
            assert_true(met.watching[i][j] > 0);
        }
        for (size_t j = 0; j <= UVZK__SET_DECIDED; j++) {
            assert_true(met.set[i][j] > 0);
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
    if (play.value_process.value.impl == NULL) {
        assert_int_equal(value_process_share(&play.value_process, "seed"), 0);
    }
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
        assert_true(first > 20); /* there was something to fail */
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
    return cmocka_run_group_tests_name("shared value, every state", tests, NULL, NULL);
}
