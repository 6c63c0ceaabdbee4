/* One play with a group member that goes through every state of the request that lists its
 * group, disturbed at every single event, in every way there is: when the disturbance is over
 * the list is what it is to be, and nothing is left after the close. Which states the
 * disturbances have met is counted: none may be missing. The same play while the n-th
 * allocation fails. */
#include "cmocka_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "failing_allocator.h"
#include "group_process.h"
#include "sim_process.h"
#include "ticker.h"

#define PLAY_MS 700U
#define OWN GROUP_PROCESS_PATH "/c"
#define OTHER GROUP_PROCESS_PATH "/x"

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
    struct group_process c;
    bool memory_may_fail;
    bool opened_again;
};

/* -------------------------------------------------------------------- the actions */

static void set(struct play *play, const char *data)
{
    int status = group_process_set(&play->c, data);

    if (status == UV_ENOMEM ? !play->memory_may_fail
                            : status != 0 && status != UVZK_ECLOSED) {
        group_process_fail(&play->c, "refused with %s", uvzk_err_name(status));
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

static void come(struct play *play)
{
    group_process_make_path(play->world.sim);
    (void)sim_create_by_hand(play->world.sim, OTHER, UVZK__PERSISTENT);
}

static void change(struct play *play)
{
    (void)sim_set_by_hand(play->world.sim, OTHER, "changed", 7);
}

static void go(struct play *play)
{
    (void)sim_delete_by_hand(play->world.sim, OTHER);
}

static void delete_own(struct play *play)
{
    (void)sim_delete_by_hand(play->world.sim, OWN);
}

/* In a session that never ends. */
static void take_own(struct play *play)
{
    delete_own(play);
    group_process_make_path(play->world.sim);
    (void)sim_create_by_hand(play->world.sim, OWN, UVZK__EPHEMERAL);
}

/* The path of the group goes too. */
static void delete_all(struct play *play)
{
    go(play);
    delete_own(play);
    (void)sim_delete_by_hand(play->world.sim, GROUP_PROCESS_PATH);
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

static void close_member(struct play *play)
{
    const struct uvzk__group_member *member = play->c.member.impl;

    if (member != NULL && !play->c.process.closing && !member->closing) {
        group_process_close(&play->c);
    }
}

/* If the close is over by then. */
static void open_again(struct play *play)
{
    if (play->c.member.impl == NULL && !play->c.process.closing) {
        play->c.member_closed = 0;
        int status = group_process_init(&play->c, "c", "again");
        if (status == UV_ENOMEM ? !play->memory_may_fail : status != 0) {
            group_process_fail(&play->c, "refused with %s", uvzk_err_name(status));
        }
        play->opened_again = true;
    }
}

static const struct {
    uint64_t at_ms;
    void (*act)(struct play *);
} script[] = {
    {10, start},         {60, come},        {100, change},   {130, set_one},
    {160, delete_all},   {200, come},       {220, take_own}, {250, delete_own},
    {280, go},           {300, cut_off},    {310, set_two},  {320, come},
    {450, close_member}, {500, open_again},
};

#define ACTIONS (sizeof(script) / sizeof(script[0]))

/* --------------------------------------------------------------- the disturbances */

static void close_client(struct play *play)
{
    process_close(&play->c.process);
}

static void close_both(struct play *play)
{
    close_member(play);
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

static void lose_event(struct play *play)
{
    sim_lose_events(play->c.process.port, 1);
}

static void refuse_credentials(struct play *play)
{
    play->c.process.may_log_errors = true;
    sim_fail_auth(play->c.process.port);
}

static const struct disturbance disturbances[] = {
    {"close of the member", close_member, .end = CLOSED},
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
    {"deletion", delete_all, .end = GOES_ON},
    {"coming", come, .end = GOES_ON},
    {"lost event", lose_event, .end = GOES_ON},
    {"refused credentials", refuse_credentials, .end = SHUT_OUT},
};

#define DISTURBANCES (sizeof(disturbances) / sizeof(disturbances[0]))

/* What the reading of the group does when they meet it. */
enum doing { NOTHING, LISTING, LOOKING };
static const char *const doings[] = {"nothing", "the listing", "the look at the path"};

#define DOINGS (sizeof(doings) / sizeof(doings[0]))

static unsigned met[DISTURBANCES][DOINGS];

static enum doing doing_of(const struct uvzk__reading *reading)
{
    if (reading->state != UVZK__READING_ASKED) {
        return NOTHING;
    }
    return reading->rpc.kind == UVZK__RPC_CHILDREN ? LISTING : LOOKING;
}

static void meet(const struct play *play, size_t number)
{
    const struct uvzk__group_member *member = play->c.member.impl;

    if (member != NULL && member->children.watched != NULL) {
        met[number][doing_of(&member->children.watched->reading)]++;
    }
}

/* -------------------------------------------------------------------- the play */

static void begin(struct play *play, const struct disturbance *disturbance)
{
    memset(play, 0, sizeof(*play));
    play->disturbance = disturbance;
    world_begin_exact(&play->world, UVZK__TUNE_ALL, 1);
    group_process_begin(&play->c, &play->world, "c", "first");
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

/* Nobody disturbs it any more. A refused delete leaves its znode where it is until the
 * session ends, and so do refused credentials. */
static void finish(struct play *play, enum end end)
{
    world_run_for(&play->world, 60000);
    if (end != CLOSED && !(end == SHUT_OUT && is_shut_out(play))) {
        delete_own(play); /* whoever's it is */
        open_again(play);
        come(play);
        change(play);
        const char *expected = strcmp(play->c.data, "again") == 0 ? "c=again x=changed "
                                                                  : "c=two x=changed ";
        group_process_await_list(&play->c, expected);
        world_run_for(&play->world, 60000);
        if (play->c.status != 0 || !sim_exists(play->world.sim, OWN)) {
            group_process_fail(&play->c, "it has not joined again");
        }
        go(play);
        char own[] = "c=again ";
        (void)snprintf(own, sizeof(own), "c=%s ", play->c.data);
        group_process_await_list(&play->c, own);
    }
    group_process_end(&play->c);
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
    assert_true(play.c.changed >= 4);
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
        for (size_t j = 0; j < DOINGS; j++) {
            if (met[i][j] == 0) {
                fail_msg("%s has not met %s", disturbances[i].name, doings[j]);
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

/* One member comes while the n-th allocation fails. It is listed before the watch is renewed.
 * Returns whether an allocation failed. */
static bool list_in_need(uint64_t first)
{
    struct play play;

    begin(&play, NULL);
    process_start(&play.c.process);
    group_process_await(&play.c, &play.c.present, 1);
    group_process_await_list(&play.c, "c=first ");
    failing_allocator_arm(first, 1);
    come(&play);
    world_run_for(&play.world, 50);
    bool failed = failing_allocator_failures() > 0;
    failing_allocator_arm(0, 0);
    uint64_t begun = world_now(&play.world);
    group_process_await_list(&play.c, "c=first x= ");
    assert_in_range(world_now(&play.world), begun, begun + WORLD_TIMEOUT_MS / 4);
    finish(&play, CLOSED);
    assert_int_equal(failing_allocator_live_blocks(), 0);
    return failed;
}

static void who_comes_without_memory_is_listed_soon(void **state)
{
    uint64_t first = 1;

    (void)state;
    while (list_in_need(first)) {
        first++;
    }
    assert_true(first > 3); /* there was something to fail */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undisturbed),
        cmocka_unit_test(disturbed_at_every_event),
        cmocka_unit_test(every_state_has_met_every_disturbance),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(who_comes_without_memory_is_listed_soon),
    };

    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
