/* SPDX-License-Identifier: Apache-2.0 */
/* Session events, and what becomes of requests at each; turns and entropy. */
#include "cases.h"

void connected_tells_the_session(void **state)
{
    struct probe *probe = connected(state); /* which asserts what it tells */
    assert_int_equal(probe->told, 1);
    assert_true(probe->server_told);
}

static void assert_not_sent(struct probe *probe)
{
    assert_int_equal(create(probe, "/a", UVZK__PERSISTENT), UVZK_ENOTSENT);
}

void not_connected_is_not_sent(void **state)
{
    struct probe *probe = *state;
    assert_not_sent(probe); /* not open */
    probe_open(probe);
    assert_not_sent(probe);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 1);
    probe_lose(probe);
    assert_not_sent(probe);
    probe_regain(probe);
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
}

void loss_is_told_then_replies_then_connected(void **state)
{
    enum { COUNT = 20 };
    struct probe *probe = connected(state);
    struct ask *asks[COUNT];
    int64_t session = probe->session_id;
    /* On a connection without an answer yet, the C client's port sends all at once. */
    probe_reconnect(probe);
    for (int i = 0; i < COUNT; i++) {
        asks[i] = ask_read(probe, UVZK__RPC_EXISTS, "/a", false);
    }
    probe_reconnect(probe);
    assert_true(probe->session_id == session);

    uint64_t nth = probe->session_nth[UVZK__SESSION_SUSPENDED];
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i]->status, UVZK_ECONNLOSS);
        assert_int_equal(asks[i]->replied_nth, ++nth);
    }
    assert_int_equal(probe->session_nth[UVZK__SESSION_CONNECTED], nth + 1);
}

/* Nothing of it while there is one, which the probe asserts. */
void no_connection_has_a_reason(void **state)
{
    struct probe *probe = connected(state);

    for (unsigned i = 1; i <= 3; i++) {
        probe_lose(probe);
        probe_await(probe, &probe->troubles, probe->troubles + 1);
        assert_true(probe->trouble_code < 0);
        probe_regain(probe);
    }
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
}

/* Not inside the call; what is outstanding is replied, and watches may be lost. Here
 * there is no other server, so it comes back to the one that it has left. */
void leaving_keeps_the_session(void **state)
{
    enum { COUNT = 20, TIMES = 3 };
    struct ask *asks[COUNT];
    struct probe *probe = connected(state);
    int64_t session = probe->session_id;

    assert_int_equal(create(probe, "/e", UVZK__EPHEMERAL), 0);
    for (unsigned time = 1; time <= TIMES; time++) {
        for (int i = 0; i < COUNT; i++) {
            asks[i] = ask_read(probe, UVZK__RPC_EXISTS, "/e", false);
        }
        probe->port->leave_server(probe->port);
        assert_int_equal(probe->sessions[UVZK__SESSION_SUSPENDED], time - 1);
        assert_int_equal(probe->left, time - 1);
        probe_await_session(probe, UVZK__SESSION_SUSPENDED, time);
        probe_await(probe, &probe->left, time);
        probe_await_session(probe, UVZK__SESSION_CONNECTED, time + 1);
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(asks[i]->replied, 1);
            assert_true(asks[i]->status == 0 || asks[i]->status == UVZK_ECONNLOSS ||
                        asks[i]->status == UVZK_ENOTSENT);
        }
        assert_true(probe->session_id == session);
        assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/e"), 0);
    }
    assert_int_equal(probe->sessions[UVZK__SESSION_EXPIRED], 0);
}

void leaving_without_a_connection_is_nothing(void **state)
{
    struct probe *probe = connected(state);

    probe_lose(probe);
    probe->port->leave_server(probe->port);
    probe_regain(probe);
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/a"), UVZK_ENONODE);
    assert_int_equal(probe->left, 0);
}

/* More than a port hands out at once: what never left it is ENOTSENT. */
void loss_in_the_midst_of_many(void **state)
{
    enum { COUNT = 5000 };
    struct ask *asks[COUNT];
    struct probe *probe = connected(state);
    world_create(probe->world, "/many");
    for (int i = 0; i < COUNT; i++) {
        asks[i] = ask_set(probe, "/many", "", -1);
    }
    probe_reconnect(probe);
    int rank = 0; /* 0, then CONNLOSS, then NOTSENT, and never back */
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i]->replied, 1);
        int now = asks[i]->status == 0 ? 0 : asks[i]->status == UVZK_ECONNLOSS ? 1 : 2;
        assert_true(now < 2 || asks[i]->status == UVZK_ENOTSENT);
        assert_true(now >= rank);
        rank = now;
    }
    assert_true(rank > 0);
    assert_true(asks[COUNT - 1]->replied_nth <
                probe->session_nth[UVZK__SESSION_CONNECTED]);
    /* And what was executed was executed in order, once. */
    const struct ask *ask = ask_done(ask_read(probe, UVZK__RPC_EXISTS, "/many", false));
    assert_true(ask->stat.version <= COUNT);
}

void expiry_replies_then_tells(void **state)
{
    enum { COUNT = 20 };
    struct probe *probe = connected(state);
    struct ask *asks[COUNT];
    world_expire(probe->world);
    for (int i = 0; i < COUNT; i++) {
        asks[i] = ask_read(probe, UVZK__RPC_EXISTS, "/a", false);
    }
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i]->replied, 1);
        assert_true(asks[i]->status < 0 && asks[i]->status != UVZK_ECLOSED);
        assert_true(asks[i]->replied_nth < probe->session_nth[UVZK__SESSION_EXPIRED]);
    }
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/a"), UVZK_ENOTSENT);
}

/* They come before the user is told that there is nobody to ask any more, and many a
 * user asks the next thing at once. */
void expiry_replies_to_what_its_replies_ask(void **state)
{
    enum { COUNT = 5, DEPTH = 5 };
    struct ask *asks[DEPTH][COUNT];
    struct probe *probe = connected(state);
    assert_true(world_expire_unheard(probe->world));
    for (int i = 0; i < COUNT; i++) {
        for (int depth = DEPTH - 1; depth >= 0; depth--) {
            asks[depth][i] = ask_new(probe, UVZK__RPC_EXISTS, "/a");
            asks[depth][i]->again = depth + 1 < DEPTH ? asks[depth + 1][i] : NULL;
        }
        ask_submit(asks[0][i]);
    }
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    for (int i = 0; i < COUNT; i++) {
        for (int depth = 0; depth < DEPTH; depth++) {
            assert_int_equal(asks[depth][i]->replied, 1);
            /* Inside a reply that tells the end, the end is the status. */
            assert_true(depth == 0 || asks[depth - 1][i]->status != UVZK_EEXPIRED ||
                        asks[depth][i]->status == UVZK_EEXPIRED);
            assert_true(asks[depth][i]->replied_nth <
                        probe->session_nth[UVZK__SESSION_EXPIRED]);
        }
    }
}

void expiry_drops_watches(void **state)
{
    struct probe *probe = connected(state);
    world_create(probe->world, "/a");
    struct ask *ask = ask_done(ask_read(probe, UVZK__RPC_EXISTS, "/a", true));
    probe->reopens = true;
    world_expire(probe->world);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 2);
    assert_null(ask->watch.armed);
    world_delete(probe->world, "/a");
    probe_round_trip(probe);
    assert_int_equal(ask->fired, 0);
}

/* The new handle hears that the session which it was to go on with has ended. */
void expiry_while_the_server_moves(void **state)
{
    struct probe *probe = connected(state);
    int64_t first = probe->session_id;
    probe->reopens = true;
    world_move(probe->world);
    probe_await_session(probe, UVZK__SESSION_SUSPENDED, 1);
    world_expire(probe->world);
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 2);
    assert_true(probe->session_id != first);
    assert_false(probe->watches_lost);
}

/* Of which its user hears nothing: a handle that is left ends no session. */
void who_comes_back_late_keeps_the_session(void **state)
{
    struct probe *probe = connected(state);
    int64_t session = probe->session_id;
    assert_int_equal(create(probe, "/e", UVZK__EPHEMERAL), 0);
    unsigned turns = probe->turns;
    world_move_late(probe->world);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 2);
    if (world_moves_by_a_new_handle()) {
        assert_true(probe->turns > turns); /* for whom least_timeout_ms has changed */
        assert_true(probe->watches_lost);
    }
    assert_true(probe->session_id == session);
    assert_int_equal(probe->sessions[UVZK__SESSION_SUSPENDED], 1);
    assert_int_equal(probe->sessions[UVZK__SESSION_EXPIRED], 0);
    assert_int_equal(read_once(probe, UVZK__RPC_EXISTS, "/e"), 0);
}

void open_again_inside_expiry(void **state)
{
    struct probe *probe = connected(state);
    int64_t first = probe->session_id;
    assert_int_equal(create(probe, "/e", UVZK__EPHEMERAL), 0);
    probe->reopens = true;
    world_expire(probe->world);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 2);
    assert_int_equal(probe->sessions[UVZK__SESSION_EXPIRED], 1);
    assert_true(probe->session_id != first);
    assert_int_equal(create(probe, "/e", UVZK__EPHEMERAL), 0);
}

/* -------------------------------------------------------------------- turns */

void wake_brings_one_turn(void **state)
{
    struct probe *probe = *state;
    probe->port->wake(probe->port);
    probe->port->wake(probe->port);
    assert_int_equal(probe->turns, 0);
    probe_await(probe, &probe->turns, 1);
    world_run_for(probe->world, 30);
    assert_int_equal(probe->turns, 1);
    probe->port->wake(probe->port);
    probe_await(probe, &probe->turns, 2);
}

/* The first turn is the alarm's, and not before it. */
static void await_alarm_in(struct probe *probe, uint64_t ms)
{
    uint64_t at = probe->port->now(probe->port) + ms;
    probe->port->alarm(probe->port, at);
    probe_await(probe, &probe->turns, 1);
    assert_true(probe->turn_ms >= at);
}

void alarm_brings_one_turn(void **state)
{
    struct probe *probe = *state;
    await_alarm_in(probe, 40);
    world_run_for(probe->world, 60);
    assert_int_equal(probe->turns, 1);

    probe->port->alarm(probe->port, 1); /* long past */
    probe_await(probe, &probe->turns, 2);
}

/* Further away than a timer of the real port's is ever set. */
void alarm_further_away_comes(void **state)
{
    await_alarm_in(*state, 1300);
}

void alarm_can_be_moved_and_switched_off(void **state)
{
    struct probe *probe = *state;
    struct uvzk__port *port = probe->port;
    port->alarm(port, port->now(port) + 30);
    port->alarm(port, UINT64_MAX);
    world_run_for(probe->world, 60);
    assert_int_equal(probe->turns, 0);

    port->alarm(port, port->now(port) + 3600000);
    await_alarm_in(probe, 30);
}

void random_differs(void **state)
{
    struct probe *probe = *state;
    unsigned char one[16] = {0}, two[16] = {0};
    assert_int_equal(probe->port->random(probe->port, one, sizeof(one)), 0);
    assert_int_equal(probe->port->random(probe->port, two, sizeof(two)), 0);
    assert_memory_not_equal(one, two, sizeof(one));
}

/* Not inside the call. The server ends the session after its end is told, and does not wait
 * for its time-out: at most half of it passes, however late threads run. */
void end_session_ends_it_at_the_server(void **state)
{
    enum { COUNT = 20, STEP_MS = 20 };
    struct ask *asks[COUNT];
    struct probe *probe = connected(state);
    int64_t first = probe->session_id;
    uint32_t tries = uvzk__port_least_timeout(probe->port) / 2 / STEP_MS;
    int status = 0;

    assert_int_equal(create(probe, "/e", UVZK__EPHEMERAL), 0);
    for (int i = 0; i < COUNT; i++) {
        asks[i] = ask_read(probe, UVZK__RPC_EXISTS, "/e", i == 0);
    }
    probe->reopens = true;
    probe->port->end_session(probe->port);
    assert_int_equal(probe->sessions[UVZK__SESSION_EXPIRED], 0);
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i]->replied, 1);
        assert_true(asks[i]->status == 0 || asks[i]->status == UVZK_EEXPIRED);
    }
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 2);
    assert_true(probe->session_id != first);
    for (uint32_t i = 0; i < tries && status != UVZK_ENONODE; i++) {
        status = read_once(probe, UVZK__RPC_EXISTS, "/e");
        world_run_for(probe->world, STEP_MS);
    }
    assert_int_equal(status, UVZK_ENONODE);
}

void end_session_while_it_opens(void **state)
{
    struct probe *probe = *state;

    probe->port->end_session(probe->port); /* not open: no effect */
    probe_open(probe);
    probe->port->end_session(probe->port);
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    assert_not_sent(probe);
    probe->port->end_session(probe->port); /* down: no effect */
    probe_open(probe);
    probe_await_session(probe, UVZK__SESSION_CONNECTED, 1);
    assert_int_equal(probe->sessions[UVZK__SESSION_EXPIRED], 1);
}

void end_session_without_a_connection(void **state)
{
    struct probe *probe = connected(state);

    probe_lose(probe);
    probe->port->end_session(probe->port);
    probe_await_session(probe, UVZK__SESSION_EXPIRED, 1);
    assert_not_sent(probe);
    world_restore(probe->world);
}
