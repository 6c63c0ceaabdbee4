/* SPDX-License-Identifier: Apache-2.0 */
/* A client of several sessions is one client: each path has its home in one of them,
 * who finds no room there goes to the next, their states are told as one, and what
 * happens to one session happens to what lives in it alone. */
#include "world.h"

#include <stdio.h>
#include <string.h>

#include "claim/lock.h"
#include "engine/session.h"
#include "failing_allocator.h"

#define LATENCY 2U
#define SESSIONS 3U
#define MANY 12
#define ROOM 3 /* of contenders, in a session that is made small */

static struct world world;
static struct process a, b;
static struct hold holds[MANY];
static uvzk_mutex_t mutexes[MANY];

/* ------------------------------------------------------------------------ its world */

static const struct uvzk__client *client_inside(void)
{
    return ((const struct uvzk__session *)a.client.impl)->client;
}

static void begin_with(const uvzk_client_options_t *options)
{
    memset(mutexes, 0, sizeof(mutexes));
    world_begin_exact(&world, UVZK__TUNE_ALL, LATENCY);
    process_begin(&a, &world, "a", options);
    process_begin(&b, &world, "b", NULL);
    assert_true(process_await_connected(&a, 1000));
    assert_true(process_await_connected(&b, 1000));
}

static void begin(void)
{
    uvzk_client_options_t options;

    process_options(&options);
    options.sessions = SESSIONS;
    begin_with(&options);
}

/* The first mutex whose path, one of /n/000, /n/001, ..., is at home in this session. */
static uvzk_mutex_t *mutex_at(int index, uint32_t session)
{
    char path[32];
    int number = 100 * index;

    do {
        assert_true(number < 100 * index + 99);
        (void)snprintf(path, sizeof(path), "/n/%03d", number++);
    } while (uvzk__home_of(a.client.impl, path)->number != session);
    assert_int_equal(uvzk_mutex_init(&a.client, &mutexes[index], path), 0);
    return &mutexes[index];
}

struct found {
    const uvzk_hold_t *hold;
    uint32_t session;
    int count;
};

static void find(const uvzk_client_t *client, const uvzk_hold_entry_t *entry,
                 void *context)
{
    struct found *found = context;

    assert_ptr_equal(client, &a.client);
    found->count++;
    if (entry->hold == found->hold) {
        found->session = entry->session;
    }
}

/* In which session an acquire lives. */
static uint32_t session_of(const struct hold *hold)
{
    struct found found = {.hold = &hold->request, .session = UINT32_MAX};

    assert_int_equal(uvzk_client_each_hold(&a.client, find, &found), 0);
    assert_in_range(found.session, 0, SESSIONS - 1);
    return found.session;
}

static const struct uvzk__lock *lock_of(const uvzk_mutex_t *mutex)
{
    return mutex->impl;
}

/* Each session has room for so many contenders on the mutex's path. */
static void make_small(const uvzk_mutex_t *mutex)
{
    size_t bytes = strlen(lock_of(mutex)->path->text) +
                   sizeof("/_c_64fc66ae-773f-4d77-9695-eba698b095f7-lock-0123456789");

    for (uint32_t i = 0; i < SESSIONS; i++) {
        client_inside()->sessions[i]->directories->node_bytes_max =
            (ROOM + 1) * bytes - 1;
    }
}

/* The rank of the sessions for the mutex's path. */
static uint32_t in_rank(const uvzk_mutex_t *mutex, int place)
{
    const struct uvzk__session *session = NULL;
    uint32_t tried = 0;

    for (int i = 0; i <= place; i++) {
        session = uvzk__next_in_rank(a.client.impl, lock_of(mutex)->path->text, &tried);
    }
    return session->number;
}

static void wind_up(void)
{
    world_release_and_end(&world);
}

/* ---------------------------------------------------------------------------- homes */

static void a_path_has_one_home(void **state)
{
    uvzk_mutex_t other = {.data = NULL};
    struct hold first, second;
    uint64_t submitted;
    (void)state;

    begin();
    for (uint32_t i = 0; i < SESSIONS; i++) {
        hold_take_on(&holds[i], &a, mutex_at((int)i, i), 1);
        assert_int_equal(session_of(&holds[i]), i);
    }
    assert_int_equal(uvzk_mutex_init(&a.client, &other, lock_of(&mutexes[1])->path->text),
                     0);
    hold_begin_on(&first, &a, &other, 1, UVZK_WAIT_FOREVER);
    hold_begin_on(&second, &a, &mutexes[1], 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    assert_int_equal(session_of(&first), 1);
    assert_int_equal(session_of(&second), 1);
    submitted = sim_submitted(a.ports[0]) + sim_submitted(a.ports[2]);
    hold_release(&holds[1]);
    hold_await(&first, 100);
    assert_int_equal(sim_submitted(a.ports[0]) + sim_submitted(a.ports[2]), submitted);
    wind_up();
}

static void one_session_is_as_ever(void **state)
{
    (void)state;

    for (uint32_t count = 0; count <= 1; count++) {
        uvzk_client_options_t options;
        process_options(&options);
        options.sessions = count;
        begin_with(&options);
        hold_take_on(&holds[0], &a, mutex_at(0, 0), 1);
        assert_int_equal(session_of(&holds[0]), 0);
        assert_int_equal(sim_session_count(world.sim), 2);
        wind_up();
    }
}

static void so_many_and_no_more(void **state)
{
    uvzk_client_options_t options;
    uvzk_client_t client = {.data = NULL};
    (void)state;

    process_options(&options);
    options.sessions = UVZK__SESSIONS_MAX + 1;
    assert_int_equal(uvzk__client_create(&client, NULL, &options, 0), UV_EINVAL);
    assert_string_equal(uvzk_refusal(UV_EINVAL), "options.sessions is more than 32");
    options.sessions = UVZK__SESSIONS_MAX;
    begin_with(&options);
    assert_int_equal(sim_session_count(world.sim), UVZK__SESSIONS_MAX + 1);
    wind_up();
}

/* --------------------------------------------------------------------------- states */

static void assert_told(size_t from, const uvzk_client_state_t *states, size_t count)
{
    assert_int_equal(a.state_count, from + count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(a.states[from + i], states[i]);
    }
}

static void connected_are_all_of_them(void **state)
{
    static const uvzk_client_state_t connected[] = {UVZK_STATE_CONNECTED};
    uvzk_client_options_t options;
    (void)state;

    world_begin_exact(&world, UVZK__TUNE_ALL, LATENCY);
    process_options(&options);
    options.sessions = SESSIONS;
    process_make(&a, &world, "a", &options);
    a.may_log_errors = true;
    sim_fail_open(a.ports[2], UV_EAI_NONAME);
    process_start(&a);
    world_run_for(&world, 30);
    assert_told(0, NULL, 0);
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_LATENT);
    world_run_for(&world, 500);
    assert_told(0, connected, 1);
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_CONNECTED);
    wind_up();
}

static void the_worst_is_told(void **state)
{
    static const uvzk_client_state_t suspended[] = {UVZK_STATE_SUSPENDED};
    static const uvzk_client_state_t lost[] = {UVZK_STATE_LOST};
    static const uvzk_client_state_t again[] = {UVZK_STATE_RECONNECTED};
    (void)state;

    begin();
    assert_told(0, (uvzk_client_state_t[]){UVZK_STATE_CONNECTED}, 1);
    sim_disconnect(a.ports[1], SIM_RESET, 3000);
    world_run_for(&world, 10);
    assert_told(1, suspended, 1);
    sim_disconnect(a.ports[2], SIM_RESET, 1000); /* one more is nothing new */
    world_run_for(&world, 2500);
    assert_told(2, NULL, 0);
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_SUSPENDED);
    sim_disconnect(a.ports[2], SIM_RESET, 2 * WORLD_TIMEOUT_MS);
    world_run_for(&world, WORLD_TIMEOUT_MS + 100); /* the other one is back by now */
    assert_told(2, lost, 1);
    sim_disconnect(a.ports[0], SIM_RESET, 100);
    world_run_for(&world, 3000);
    assert_told(3, NULL, 0);
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_LOST);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    assert_told(3, again, 1);
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_RECONNECTED);
    wind_up();
}

/* Copied in the callback: the entry's pointers are valid only there. */
static int error_codes[SESSIONS];

static void add_session(const uvzk_client_t *client, const uvzk_session_entry_t *entry,
                        void *context)
{
    uvzk_session_entry_t *shown = context;

    assert_ptr_equal(client, &a.client);
    assert_int_equal(entry->size, sizeof(*entry));
    shown[entry->number] = *entry;
    error_codes[entry->number] = entry->error->code;
}

static void each_has_its_own(void **state)
{
    uvzk_session_entry_t shown[SESSIONS];
    uvzk_client_t nobody = {.data = NULL};
    (void)state;

    begin();
    for (uint32_t i = 0; i < SESSIONS; i++) {
        hold_take_on(&holds[i], &a, mutex_at((int)i, i), 1);
    }
    sim_disconnect(a.ports[1], SIM_RESET, 1000);
    world_run_for(&world, 10);
    assert_int_equal(uvzk_client_each_session(&a.client, add_session, shown), 0);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        assert_int_equal(shown[i].number, i);
        assert_int_equal(shown[i].session_id, sim_session_id(a.ports[i]));
        assert_int_equal(shown[i].session_timeout_ms, WORLD_TIMEOUT_MS);
        assert_int_equal(shown[i].state,
                         i == 1 ? UVZK_STATE_SUSPENDED : UVZK_STATE_CONNECTED);
        assert_true((error_codes[i] != 0) == (i == 1));
        assert_int_equal(shown[i].contenders, 1);
        assert_in_range(shown[i].node_bytes, 50, 200);
        assert_int_equal(shown[i].node_bytes_most, UVZK__NODE_BYTES_MAX);
        assert_int_equal(shown[i].watch_bytes_most, UVZK__WATCH_BYTES_MAX);
    }
    assert_int_equal(uvzk_client_each_session(NULL, add_session, shown), UV_EINVAL);
    assert_int_equal(uvzk_client_each_session(&a.client, NULL, shown), UV_EINVAL);
    assert_int_equal(uvzk_client_each_session(&nobody, add_session, shown), UVZK_ESTATE);
    wind_up();
}

/* The address in the simulator has the server's number. */
static void assert_server(const char *told, uint32_t session)
{
    char address[32];

    (void)snprintf(address, sizeof(address), "sim-%d:2181",
                   sim_server_of(a.ports[session]));
    assert_string_equal(told, address);
}

static void the_server_can_be_asked(void **state)
{
    uvzk_session_entry_t shown[SESSIONS];
    uvzk_client_t nobody = {.data = NULL};
    (void)state;

    begin();
    assert_server(uvzk_client_current_server(&a.client), 0);
    sim_disconnect(a.ports[1], SIM_RESET, 1000);
    world_run_for(&world, 10);
    assert_int_equal(uvzk_client_each_session(&a.client, add_session, shown), 0);
    assert_server(shown[0].server, 0);
    assert_null(shown[1].server);
    assert_server(shown[2].server, 2);
    sim_disconnect(a.ports[0], SIM_RESET, 1000);
    world_run_for(&world, 10);
    assert_null(uvzk_client_current_server(&a.client));
    world_run_for(&world, 5000);
    assert_server(uvzk_client_current_server(&a.client), 0);
    assert_null(uvzk_client_current_server(NULL));
    assert_null(uvzk_client_current_server(&nobody));
    wind_up();
}

static void all_are_counted_together(void **state)
{
    static char text[32768];
    uvzk_client_metrics_t metrics;
    (void)state;

    begin();
    uvzk_client_metrics_init(&metrics);
    assert_int_equal(uvzk_client_start_metrics(&a.client), 0);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        hold_take_on(&holds[i], &a, mutex_at((int)i, i), 1);
    }
    assert_int_equal(uvzk_client_metrics(&a.client, &metrics), 0);
    assert_int_equal(metrics.grants, SESSIONS);
    assert_int_equal(metrics.held, SESSIONS);
    assert_int_equal(metrics.contenders, SESSIONS);
    assert_int_equal(metrics.locks, SESSIONS + 1);
    assert_int_equal(metrics.node_bytes_most, SESSIONS * UVZK__NODE_BYTES_MAX);
    assert_int_equal(metrics.session_id, sim_session_id(a.ports[0]));
    assert_int_equal(metrics.requests, sim_submitted(a.ports[0]) +
                                           sim_submitted(a.ports[1]) +
                                           sim_submitted(a.ports[2]));
    assert_in_range(uvzk_client_write_metrics(&a.client, "x", text, sizeof(text)), 1,
                    sizeof(text) - 1);
    assert_non_null(strstr(text, "uvzk_held{client=\"x\"} 3\n"));
    assert_non_null(
        strstr(text, "uvzk_session_connected{client=\"x\",session=\"2\"} 1\n"));
    assert_non_null(
        strstr(text, "uvzk_session_contenders{client=\"x\",session=\"0\"} 1\n"));
    assert_true(uvzk_client_write_metrics(&b.client, "x", text, sizeof(text)) > 0);
    assert_null(strstr(text, "uvzk_session_"));
    wind_up();
}

static int reminders, of_a_session;

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    (void)module;
    (void)client;
    (void)level;
    reminders += strstr(line, "no connection for ") != NULL;
    of_a_session += strncmp(line, "session 0: no ", 14) == 0;
}

/* Where one is enough nobody is told of the same trouble of each; and whose it is. */
static void trouble_is_told_once(void **state)
{
    size_t told[2];
    int lines[2];
    (void)state;

    for (uint32_t i = 0; i < 2; i++) {
        uvzk_client_options_t options;
        uvzk_client_error_t error;
        process_options(&options);
        options.sessions = i == 0 ? 1 : SESSIONS;
        options.log_cb = on_log;
        reminders = of_a_session = 0;
        world_begin_exact(&world, UVZK__TUNE_ALL, LATENCY);
        sim_restart(world.sim, 60000);
        process_begin(&a, &world, "a", &options);
        world_run_for(&world, 59000);
        told[i] = a.state_count;
        lines[i] = reminders;
        assert_int_equal(of_a_session, i == 0 ? 0 : reminders);
        uvzk_client_error_init(&error);
        assert_int_equal(uvzk_client_last_error(&a.client, &error), 0);
        assert_in_range(error.at, world_now(&world) - 10000, world_now(&world));
        assert_true(process_await_connected(&a, 30000));
        wind_up();
    }
    assert_in_range(lines[0], 2, 5);
    assert_int_equal(lines[1], lines[0]);
    assert_int_equal(told[1], told[0]);
}

/* The latest of all sessions, whichever it is. */
static void the_last_error_is_the_latest(void **state)
{
    uvzk_client_error_t error;
    (void)state;

    begin();
    for (uint32_t i = 0; i < SESSIONS; i++) {
        uint64_t before = world_now(&world);
        sim_disconnect(a.ports[i], SIM_RESET, 100);
        world_run_for(&world, 10);
        uvzk_client_error_init(&error);
        assert_int_equal(uvzk_client_last_error(&a.client, &error), 0);
        assert_int_not_equal(error.code, 0);
        assert_true(error.at >= before);
        world_run_for(&world, 1000);
    }
    wind_up();
}

/* ------------------------------------------------------------------ one of them is lost */

static void a_loss_is_of_one_session(void **state)
{
    (void)state;

    begin();
    for (uint32_t i = 0; i < SESSIONS; i++) {
        hold_take_on(&holds[i], &a, mutex_at((int)i, i), 1);
    }
    hold_begin_on(&holds[3], &a, &mutexes[0], 1, UVZK_WAIT_FOREVER);
    hold_begin_on(&holds[4], &a, &mutexes[1], 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    assert_true(sim_expire(a.ports[1]));
    a.killed = true;
    hold_await_lost(&holds[1], WORLD_TIMEOUT_MS, UVZK_EEXPIRED);
    hold_await_status(&holds[4], 100, UVZK_EEXPIRED);
    assert_false(uvzk_lock_is_held(&mutexes[1]));
    for (int i = 0; i < 3; i += 2) {
        assert_int_equal(holds[i].lost, 0);
        assert_true(uvzk_hold_is_valid(&holds[i].request));
        assert_true(uvzk_lock_is_held(&mutexes[i]));
    }
    assert_true(hold_pending(&holds[3]));
    world_run_for(&world, 1000);
    hold_take_on(&holds[1], &a, &mutexes[1], 1); /* in a new session */
    assert_int_equal(session_of(&holds[1]), 1);
    wind_up();
}

/* Of one lock some wait in another session, and hold in it. */
static void an_overflow_outlives_its_home(void **state)
{
    (void)state;

    begin();
    uvzk_mutex_t *mutex = mutex_at(0, 1);
    make_small(mutex);
    for (int i = 0; i <= ROOM; i++) {
        hold_begin_on(&holds[i], &a, mutex, 1, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 500);
    assert_true(hold_holds(&holds[0]));
    assert_true(sim_expire(a.ports[1]));
    a.killed = true;
    hold_await_lost(&holds[0], WORLD_TIMEOUT_MS, UVZK_EEXPIRED);
    hold_await(&holds[ROOM], WORLD_TIMEOUT_MS);
    assert_int_equal(holds[1].status, UVZK_EEXPIRED);
    assert_true(uvzk_lock_is_held(mutex));
    sim_disconnect(a.ports[1], SIM_RESET, 3 * WORLD_TIMEOUT_MS);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS); /* proved by its own session */
    assert_true(uvzk_lock_is_held(mutex));
    assert_true(uvzk_hold_is_valid(&holds[ROOM].request));
    wind_up();
}

/* ------------------------------------------------------------------------- overflow */

static void newcomers_go_to_the_next_in_rank(void **state)
{
    (void)state;

    begin();
    uvzk_mutex_t *mutex = mutex_at(0, 2);
    make_small(mutex);
    for (int i = 0; i < MANY - ROOM; i++) {
        hold_begin_on(&holds[i], &a, mutex, 1, UVZK_WAIT_FOREVER);
        assert_int_equal(session_of(&holds[i]), in_rank(mutex, i / ROOM));
    }
    assert_int_equal(hold_ask(&holds[MANY - 1], &a, mutex, NULL), UVZK_ELIMIT);
    assert_non_null(strstr(uvzk_refusal(UVZK_ELIMIT), "each session's budget of znodes"));
    assert_non_null(strstr(uvzk_refusal(UVZK_ELIMIT), "options.sessions"));
    for (int i = 0; i < MANY - ROOM; i++) { /* all were asked for in one turn */
        hold_await(&holds[i], 1000);
        assert_true(i == 0 || holds[i].token > holds[i - 1].token);
        hold_give_back(&holds[i]);
    }
    hold_take_on(&holds[0], &a, mutex, 1); /* there is room at home again */
    assert_int_equal(session_of(&holds[0]), 2);
    wind_up();
}

/* Whatever is asked for at a time, one session's stand before the next one's, and only from
 * one's to another's is anything asked of a server. */
static void they_stand_session_by_session(void **state)
{
    int listings = 0;
    uvzk_client_metrics_t stats;
    (void)state;

    begin();
    uvzk_mutex_t *mutex = mutex_at(0, 0);
    make_small(mutex);
    for (uint32_t i = 0; i < SESSIONS; i++) { /* the home is the slowest */
        uint32_t ms = i == 0 ? 20 : 1;
        sim_set_latency(a.ports[i], ms, ms);
    }
    for (int i = 0; i < MANY - ROOM; i++) {
        hold_begin_on(&holds[i], &a, mutex, 1, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 1000);
    uvzk_client_metrics_init(&stats);
    uvzk_client_metrics(&a.client, &stats);
    listings = (int)stats.listings;
    for (int i = 0; i < MANY - ROOM; i++) {
        hold_await(&holds[i], 1000);
        hold_release(&holds[i]);
    }
    world_run_for(&world, 100);
    uvzk_client_metrics_init(&stats);
    uvzk_client_metrics(&a.client, &stats);
    assert_in_range((int)stats.listings - listings, 0, 4);
    wind_up();
}

/* The home cannot say when it will have made those before them. */
static void nobody_waits_for_a_lost_connection(void **state)
{
    (void)state;

    begin();
    uvzk_mutex_t *mutex = mutex_at(0, 0);
    make_small(mutex);
    for (int i = 0; i <= ROOM; i++) {
        hold_begin_on(&holds[i], &a, mutex, 1, UVZK_WAIT_FOREVER);
    }
    sim_disconnect(a.ports[0], SIM_RESET, 5000);
    hold_await(&holds[ROOM], 500);
    assert_true(hold_pending(&holds[0]));
    hold_give_back(&holds[ROOM]);
    hold_await(&holds[0], 10000);
    wind_up();
}

/* Nor when it has nothing under way that would be answered then, as it is backing off. */
static void nobody_waits_for_a_lost_connection_that_was_held_back(void **state)
{
    (void)state;

    begin();
    uvzk_mutex_t *mutex = mutex_at(0, 0);
    make_small(mutex);
    sim_refuse(world.sim, UVZK__RPC_CREATE, UVZK_ETHROTTLED, ROOM);
    for (int i = 0; i <= ROOM; i++) {
        hold_begin_on(&holds[i], &a, mutex, 1, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 60);
    assert_int_equal(sim_outstanding(a.ports[0]), 0);
    sim_disconnect(a.ports[0], SIM_RESET, 5000);
    hold_await(&holds[ROOM], 40); /* before that pause is over */
    assert_true(hold_pending(&holds[0]));
    hold_give_back(&holds[ROOM]);
    hold_await(&holds[0], 10000);
    wind_up();
}

/* Whoever was asked for later keeps nobody waiting, however many they are. */
static void newcomers_at_home_keep_nobody_waiting(void **state)
{
    (void)state;

    begin();
    /* Until the directory exists, nobody at home is done. */
    (void)sim_create_by_hand(world.sim, "/n", UVZK__PERSISTENT);
    (void)sim_create_by_hand(world.sim, "/n/000", UVZK__PERSISTENT);
    uvzk_mutex_t *mutex = mutex_at(0, 0);
    const struct uvzk__port *next = a.ports[in_rank(mutex, 1)];
    make_small(mutex);
    sim_set_latency(a.ports[0], 30, 30);
    for (int i = 0; i <= ROOM; i++) {
        hold_begin_on(&holds[i], &a, mutex, 1, UVZK_WAIT_FOREVER);
    }
    assert_int_equal(session_of(&holds[ROOM]), in_rank(mutex, 1));
    world_run_for(&world, 20);
    assert_int_equal(sim_ephemeral_count(world.sim, sim_session_id(next)), 0);
    client_inside()->sessions[0]->directories->node_bytes_max = UVZK__NODE_BYTES_MAX;
    for (int i = ROOM + 1; i < MANY; i++) { /* at each moment one is being made at home */
        hold_begin_on(&holds[i], &a, mutex, 1, UVZK_WAIT_FOREVER);
        world_run_for(&world, 20);
    }
    assert_int_equal(sim_ephemeral_count(world.sim, sim_session_id(next)), 1);
    wind_up();
}

/* Nor for one of theirs whose znode was deleted by hand, and that rests for an hour
 * before it is made anew. */
static void nobody_waits_for_one_that_rests(void **state)
{
    uvzk_mutex_t others = {.data = NULL};
    uvzk_client_options_t options;
    struct hold first;
    (void)state;

    process_options(&options);
    options.sessions = SESSIONS;
    options.retry.base_ms = 60 * 60 * 1000;
    begin_with(&options);
    uvzk_mutex_t *mutex = mutex_at(0, 0);
    const struct uvzk__port *next = a.ports[in_rank(mutex, 1)];
    make_small(mutex);
    assert_int_equal(uvzk_mutex_init(&b.client, &others, lock_of(mutex)->path->text), 0);
    hold_take_on(&first, &b, &others, 1);
    hold_begin_on(&holds[0], &a, mutex, 1, UVZK_WAIT_FOREVER);
    hold_begin_on(&holds[1], &a, mutex, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    world_delete_child(&world, lock_of(mutex)->path->text, 1);
    hold_give_back(&first); /* whoever looks who comes next finds out */
    hold_await(&holds[1], 1000);
    assert_true(hold_pending(&holds[0]));
    for (int i = 2; i < ROOM + 2; i++) { /* what rests has its room yet */
        hold_begin_on(&holds[i], &a, mutex, 1, UVZK_WAIT_FOREVER);
        assert_int_equal(session_of(&holds[i]), in_rank(mutex, i / ROOM));
    }
    world_run_for(&world, 100);
    assert_int_equal(sim_ephemeral_count(world.sim, sim_session_id(next)), 2);
    hold_cancel(&holds[0]);
    for (int i = 1; i < ROOM + 2; i++) {
        hold_acquire_release(&holds[i], 1000);
    }
    wind_up();
}

/* Nor for one whose create got lost, and that cannot be found where nobody may list. */
static void nobody_waits_for_one_that_is_searched_for(void **state)
{
    (void)state;

    begin();
    uvzk_mutex_t *mutex = mutex_at(0, 0);
    const char *path = lock_of(mutex)->path->text;
    make_small(mutex);
    for (int i = 0; i < ROOM; i++) {
        hold_take_on(&holds[i], &a, mutex, 1);
        hold_give_back(&holds[i]);
    }
    assert_int_equal(sim_set_readable(world.sim, path, false), 0);
    sim_lose_reply(a.ports[0]);
    for (int i = 0; i < ROOM; i++) {
        hold_begin_on(&holds[i], &a, mutex, 1, UVZK_WAIT_FOREVER);
    }
    world_run_for(&world, 2);
    for (int i = 0; i < ROOM; i++) {
        hold_cancel(&holds[i]);
    }
    world_run_for(&world, 3000);
    assert_true(process_contenders(&a) > 0); /* still looked for */
    hold_begin_on(&holds[ROOM], &a, mutex, 1, UVZK_WAIT_FOREVER);
    hold_begin_on(&holds[ROOM + 1], &a, mutex, 1, UVZK_WAIT_FOREVER);
    hold_await_status(&holds[ROOM], 1000, UVZK_ENOAUTH);
    hold_await_status(&holds[ROOM + 1], 1000, UVZK_ENOAUTH);
    assert_int_equal(sim_set_readable(world.sim, path, true), 0);
    world_run_for(&world, 3000);
    wind_up();
}

static void one_that_is_tried_once_overflows_too(void **state)
{
    uvzk_mutex_t other = {.data = NULL};
    (void)state;

    begin();
    uvzk_mutex_t *mutex = mutex_at(0, 0);
    make_small(mutex);
    for (int i = 0; i < ROOM; i++) { /* on other paths of the same home and length */
        hold_take_on(&holds[i], &a, mutex_at(i + 1, 0), 1);
    }
    hold_try(&holds[ROOM], &a, mutex, UVZK_TRY_ONCE, 0);
    assert_int_equal(session_of(&holds[ROOM]), in_rank(mutex, 1));
    for (uint32_t i = 1; i < SESSIONS; i++) {
        sim_disconnect(a.ports[i], SIM_RESET, 1000);
    }
    world_run_for(&world, 10);
    assert_int_equal(uvzk_mutex_init(&a.client, &other, lock_of(mutex)->path->text), 0);
    hold_try(&holds[ROOM + 1], &a, &other, UVZK_TRY_ONCE, UVZK_ECONNLOSS);
    hold_begin_on(&holds[ROOM + 1], &a, &other, 1, 100); /* it may wait there */
    hold_await_status(&holds[ROOM + 1], 200, UVZK_EUNREACHABLE);
    world_run_for(&world, 1500);
    wind_up();
}

/* Who can watch nobody goes where there is room for that. */
static void watches_are_a_budget_too(void **state)
{
    (void)state;

    begin();
    uvzk_mutex_t *mutex = mutex_at(0, 1);
    client_inside()->sessions[1]->watches.bytes += UVZK__WATCH_BYTES_MAX;
    hold_take_on(&holds[0], &a, mutex, 1);
    assert_int_equal(session_of(&holds[0]), in_rank(mutex, 1));
    for (uint32_t i = 0; i < SESSIONS; i++) { /* all are spent: at home, as with one */
        client_inside()->sessions[i]->watches.bytes += i == 1 ? 0 : UVZK__WATCH_BYTES_MAX;
    }
    hold_take_on(&holds[1], &a, mutex_at(1, 1), 1);
    assert_int_equal(session_of(&holds[1]), 1);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        client_inside()->sessions[i]->watches.bytes -= UVZK__WATCH_BYTES_MAX;
    }
    wind_up();
}

static void others_stay_at_home(void **state)
{
    uvzk_rwlock_t rwlock = {.read = {.data = NULL}};
    (void)state;

    begin();
    make_small(mutex_at(0, 0));
    assert_int_equal(
        uvzk_rwlock_init(&a.client, &rwlock, lock_of(&mutexes[0])->path->text), 0);
    for (int i = 0; i < ROOM; i++) {
        hold_begin_on(&holds[i], &a, &rwlock.write, 1, UVZK_WAIT_FOREVER);
        assert_int_equal(session_of(&holds[i]), 0);
    }
    assert_int_equal(hold_ask(&holds[ROOM], &a, &rwlock.write, NULL), UVZK_ELIMIT);
    assert_non_null(strstr(uvzk_refusal(UVZK_ELIMIT), "the session's budget of znodes"));
    assert_non_null(strstr(uvzk_refusal(UVZK_ELIMIT), "options.sessions"));
    wind_up();
}

/* ----------------------------------------------------------------------- multi locks */

static void a_multi_lock_lives_in_one_session(void **state)
{
    uvzk_multilock_t multi = {.data = NULL};
    (void)state;

    begin();
    uvzk_lock_t *members[] = {mutex_at(2, 2), mutex_at(0, 0), mutex_at(1, 1)};
    assert_int_equal(uvzk_multilock_init(&a.client, &multi, members, 3, 0, NULL), 0);
    hold_take_on(&holds[0], &a, &multi, 1);
    assert_int_equal(session_of(&holds[0]), 0); /* of /n/0..., the first path */
    assert_int_equal(sim_ephemeral_count(world.sim, sim_session_id(a.ports[0])), 3);
    hold_begin_on(&holds[1], &a, &mutexes[2], 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 100);
    assert_true(hold_pending(&holds[1])); /* at home elsewhere, and behind it */
    assert_int_equal(session_of(&holds[1]), 2);
    assert_true(sim_expire(a.ports[1]));
    world_run_for(&world, 1000);
    assert_true(uvzk_hold_is_valid(&holds[0].request));
    hold_give_back(&holds[0]);
    hold_await(&holds[1], 1000);
    wind_up();
}

static void a_multi_lock_overflows_as_a_whole(void **state)
{
    uvzk_multilock_t multi = {.data = NULL};
    (void)state;

    begin();
    uvzk_lock_t *members[] = {mutex_at(0, 0), mutex_at(1, 1)};
    assert_int_equal(uvzk_multilock_init(&a.client, &multi, members, 2, 0, NULL), 0);
    make_small(&mutexes[1]);
    hold_take_on(&holds[0], &a, mutex_at(2, 0), 1);
    hold_take_on(&holds[1], &a, mutex_at(3, 0), 1);
    hold_take_on(&holds[2], &a, &multi, 1); /* there is room for one of them at home */
    assert_int_equal(session_of(&holds[2]), in_rank(&mutexes[0], 1));
    assert_int_equal(sim_ephemeral_count(world.sim, sim_session_id(a.ports[0])), 2);
    wind_up();
}

/* Each member in its own home; with one of them all are lost. */
static void members_in_turn_are_at_home(void **state)
{
    uvzk_multilock_t multi = {.data = NULL};
    (void)state;

    begin();
    uvzk_lock_t *members[] = {mutex_at(0, 0), mutex_at(1, 1), mutex_at(2, 2)};
    assert_int_equal(
        uvzk_multilock_init(&a.client, &multi, members, 3, UVZK_MULTILOCK_IN_TURN, NULL),
        0);
    hold_take_on(&holds[0], &a, &multi, 1);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        assert_int_equal(sim_ephemeral_count(world.sim, sim_session_id(a.ports[i])), 1);
    }
    a.killed = true;
    assert_true(sim_expire(a.ports[2]));
    hold_await_lost(&holds[0], WORLD_TIMEOUT_MS, UVZK_EEXPIRED);
    world_run_for(&world, 1000);
    assert_int_equal(process_contenders(&a), 0);
    wind_up();
}

/* What is proved of one session says nothing of another one's znode. */
static void members_are_proved_each_in_its_session(void **state)
{
    uvzk_multilock_t multi = {.data = NULL};
    (void)state;

    begin();
    uvzk_lock_t *members[] = {mutex_at(0, 0), mutex_at(1, 1)};
    assert_int_equal(
        uvzk_multilock_init(&a.client, &multi, members, 2, UVZK_MULTILOCK_IN_TURN, NULL),
        0);
    hold_take_on(&holds[0], &a, &multi, 1);
    world_run_for(&world, 2000);
    sim_disconnect(a.ports[1], SIM_RESET, 2 * WORLD_TIMEOUT_MS);
    uint64_t until = uvzk_hold_valid_until(&holds[0].request);
    sim_stall(a.ports[1], 2 * WORLD_TIMEOUT_MS); /* it cannot tell, but the clock can */
    assert_in_range(until, world_now(&world), world_now(&world) + WORLD_TIMEOUT_MS);
    world_run_for(&world, WORLD_TIMEOUT_MS);
    assert_int_equal(holds[0].lost, 0);
    assert_false(uvzk_hold_is_valid(&holds[0].request));
    assert_false(uvzk_lock_is_held(&multi));
    hold_await_lost(&holds[0], 3 * WORLD_TIMEOUT_MS, UVZK_EPROOF);
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    wind_up();
}

/* ------------------------------------------------------- what else knows of a client */

static void followed(uvzk_future_t *future, int status, void *context)
{
    (void)future;
    *(int *)context = status == 0 ? 1 : -1;
}

static void future_lost(uvzk_hold_t *hold, int reason)
{
    (void)hold;
    (void)reason;
}

static void futures_of_all_sessions(void **state)
{
    uvzk_future_t parts[SESSIONS + 1] = {{.data = NULL}}, all = {.data = NULL};
    uvzk_future_t *each[SESSIONS + 1];
    int done = 0;
    (void)state;

    begin();
    for (uint32_t i = 0; i <= SESSIONS; i++) {
        each[i] = &parts[i];
        uvzk_mutex_t *mutex = i < SESSIONS ? mutex_at((int)i, i) : &b.mutex;
        assert_int_equal(uvzk_lock_acquire_future(mutex, each[i], NULL, future_lost), 0);
    }
    assert_int_equal(uvzk_future_all_of(&all, each, SESSIONS + 1), UV_EINVAL); /* b's */
    assert_int_equal(uvzk_future_all_of(&all, each, SESSIONS), 0);
    assert_int_equal(uvzk_future_then(&all, followed, &done), 0);
    assert_true(world_await_count(&world, &done, 1, 1000));
    uvzk_future_drop(&all);
    for (uint32_t i = 0; i <= SESSIONS; i++) {
        uvzk_future_drop(&parts[i]);
    }
    world_run_for(&world, 500);
    wind_up();
}

/* The one is told of the other in another session's turn. */
static void a_count_is_known_to_all(void **state)
{
    uvzk_shared_count_t count = {.data = NULL};
    uvzk_semaphore_t semaphore = {.data = NULL};
    char path[32] = "/count";
    int number = 0;
    (void)state;

    begin();
    while (uvzk__home_of(a.client.impl, path)->number ==
           uvzk__home_of(a.client.impl, "/leases")->number) {
        (void)snprintf(path, sizeof(path), "/count%d", number++);
    }
    assert_int_equal(uvzk_shared_count_init(&a.client, &count, path, 1, NULL), 0);
    assert_int_equal(uvzk_semaphore_init(&a.client, &semaphore, "/leases", 0, &count), 0);
    hold_take_on(&holds[0], &a, &semaphore, 1);
    hold_begin_on(&holds[1], &a, &semaphore, 1, UVZK_WAIT_FOREVER);
    world_run_for(&world, 500);
    assert_true(hold_pending(&holds[1]));
    assert_int_equal(sim_set_by_hand(world.sim, path, "\0\0\0\2", 4), 0);
    hold_await(&holds[1], 1000);
    hold_give_back(&holds[0]);
    hold_give_back(&holds[1]);
    process_close(&a); /* the semaphore knows a count of another session */
    assert_true(world_await(&world, &a.closed, 5000));
    world_end(&world);
}

static void was_read(uvzk_req_t *request, int status)
{
    const void *data = request->result->data;
    (void)data;
    *(int *)request->data = status == 0 ? 1 : -1;
}

/* Another one's server may not have heard of it. */
static void a_znode_is_read_by_its_own_session(void **state)
{
    int told = 0;
    uvzk_req_t request = {.data = &told};
    (void)state;

    begin();
    hold_take_on(&holds[0], &a, mutex_at(0, 2), 1);
    uint64_t before = sim_submitted(a.ports[2]);
    assert_int_equal(uvzk_client_read(&a.client, &request,
                                      uvzk_hold_path(&holds[0].request), was_read),
                     0);
    assert_int_equal(sim_submitted(a.ports[2]), before + 1);
    assert_true(world_await_count(&world, &told, 1, 1000));
    sim_disconnect(a.ports[0], SIM_RESET, 1000);
    world_run_for(&world, 10);
    told = 0; /* of nobody's: by one that is in reach */
    assert_int_equal(uvzk_client_read(&a.client, &request, "/n", was_read), 0);
    assert_true(world_await_count(&world, &told, 1, 500));
    world_run_for(&world, 1500);
    wind_up();
}

/* ------------------------------------------------------------------------- its end */

static void the_end_is_of_all(void **state)
{
    (void)state;

    begin();
    for (uint32_t i = 0; i < SESSIONS; i++) {
        hold_take_on(&holds[i], &a, mutex_at((int)i, i), 1);
        hold_begin_on(&holds[SESSIONS + i], &a, &mutexes[i], 1, UVZK_WAIT_FOREVER);
    }
    hold_release(&holds[0]);
    sim_disconnect(a.ports[2], SIM_RESET, 5000);
    process_close(&a);
    assert_int_equal(uvzk_client_state(&a.client), UVZK_STATE_CLOSED);
    assert_int_equal(uvzk_client_close(&a.client, NULL), UVZK_ESTATE);
    assert_int_equal(uvzk_mutex_init(&a.client, &mutexes[MANY - 1], "/x"), UVZK_ESTATE);
    assert_true(world_await(&world, &a.closed, 20000));
    assert_null(a.client.impl);
    for (uint32_t i = 1; i < SESSIONS; i++) {
        assert_int_equal(holds[i].reason, UVZK_ECLOSED);
        assert_int_equal(holds[SESSIONS + i].status, UVZK_ECLOSED);
    }
    world_run_for(&world, 2 * WORLD_TIMEOUT_MS);
    assert_int_equal(sim_session_count(world.sim), 1);
    wind_up();
}

static uint64_t traced_ms;

static void on_trace(const uvzk_client_t *client, const uvzk_trace_t *event)
{
    (void)client;
    assert_true(event->at >= traced_ms);
    traced_ms = event->at;
}

/* A release is told of after the port of its session has gone. */
static void a_trace_goes_on_to_the_end(void **state)
{
    (void)state;

    for (uint32_t count = 1; count <= SESSIONS; count++) {
        uvzk_client_options_t options;
        process_options(&options);
        options.sessions = count;
        options.trace_cb = on_trace;
        traced_ms = 0;
        begin_with(&options);
        hold_take_on(&holds[0], &a, mutex_at(0, count - 1), 1);
        sim_disconnect(a.ports[count - 1], SIM_RESET, 5000);
        hold_release(&holds[0]);
        process_close(&a);
        assert_true(world_await(&world, &a.closed, 20000));
        assert_int_equal(holds[0].release_status, UVZK_ECLOSED);
        wind_up();
    }
}

static void not_all_can_be_made(void **state)
{
    uvzk_client_options_t options;
    struct uvzk__port *ports[SESSIONS];
    uvzk_client_t client = {.data = NULL};
    int status = UV_ENOMEM;
    (void)state;

    world_begin_exact(&world, UVZK__TUNE_ALL, LATENCY);
    process_options(&options);
    options.metrics = 1;
    process_begin(&b, &world, "b", NULL);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        ports[i] = sim_port_new(world.sim, "c");
    }
    for (uint64_t first = 1; status == UV_ENOMEM; first++) {
        int64_t live = failing_allocator_live_blocks();
        failing_allocator_arm(first, 1);
        status = uvzk__client_create_over(&client, ports, SESSIONS, &options, 0);
        failing_allocator_arm(0, 0);
        assert_true(status == 0 ||
                    (client.impl == NULL && failing_allocator_live_blocks() == live));
    }
    assert_int_equal(status, 0);
    assert_int_equal(uvzk_client_close(&client, NULL), 0);
    world_run_for(&world, 5000);
    wind_up();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_has_one_home),
        cmocka_unit_test(one_session_is_as_ever),
        cmocka_unit_test(so_many_and_no_more),
        cmocka_unit_test(connected_are_all_of_them),
        cmocka_unit_test(the_worst_is_told),
        cmocka_unit_test(each_has_its_own),
        cmocka_unit_test(the_server_can_be_asked),
        cmocka_unit_test(all_are_counted_together),
        cmocka_unit_test(trouble_is_told_once),
        cmocka_unit_test(the_last_error_is_the_latest),
        cmocka_unit_test(a_loss_is_of_one_session),
        cmocka_unit_test(an_overflow_outlives_its_home),
        cmocka_unit_test(newcomers_go_to_the_next_in_rank),
        cmocka_unit_test(they_stand_session_by_session),
        cmocka_unit_test(nobody_waits_for_a_lost_connection),
        cmocka_unit_test(nobody_waits_for_a_lost_connection_that_was_held_back),
        cmocka_unit_test(newcomers_at_home_keep_nobody_waiting),
        cmocka_unit_test(nobody_waits_for_one_that_rests),
        cmocka_unit_test(nobody_waits_for_one_that_is_searched_for),
        cmocka_unit_test(one_that_is_tried_once_overflows_too),
        cmocka_unit_test(watches_are_a_budget_too),
        cmocka_unit_test(others_stay_at_home),
        cmocka_unit_test(a_multi_lock_lives_in_one_session),
        cmocka_unit_test(a_multi_lock_overflows_as_a_whole),
        cmocka_unit_test(members_in_turn_are_at_home),
        cmocka_unit_test(members_are_proved_each_in_its_session),
        cmocka_unit_test(futures_of_all_sessions),
        cmocka_unit_test(a_count_is_known_to_all),
        cmocka_unit_test(a_znode_is_read_by_its_own_session),
        cmocka_unit_test(the_end_is_of_all),
        cmocka_unit_test(a_trace_goes_on_to_the_end),
        cmocka_unit_test(not_all_can_be_made),
    };
    if (failing_allocator_install() != 0) {
        return 1;
    }
    return cmocka_run_group_tests_name("sessions", tests, NULL, NULL);
}
