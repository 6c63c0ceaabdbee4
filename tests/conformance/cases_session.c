/* Session events, and what becomes of requests at each; turns and entropy. */
#include <string.h>

#include "cases.h"

static struct user *connected(void **state)
{
    struct user *user = *state;
    assert_true(user_connect(user));
    return user;
}

void connected_tells_the_session(void **state)
{
    struct user *user = connected(state);
    assert_true(user->session_id != 0);
    assert_true(user->timeout_ms > 0);
    assert_true(user->has_local_address);
    assert_int_equal(user->count, 1);
}

static void assert_not_sent(struct user *user, const char *path)
{
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_CREATE, path);
    assert_int_equal(ask_run(&ask), UVZK_ENOTSENT);
}

void not_connected_is_not_sent(void **state)
{
    struct user *user = *state;
    struct ask ask;
    assert_not_sent(user, "/a"); /* not open */
    user_open(user);
    assert_not_sent(user, "/a");
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 1));
    world_lose(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    assert_not_sent(user, "/a");
    world_restore(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    ask_init(&ask, user, UVZK__RPC_EXISTS, "/a");
    assert_int_equal(ask_run(&ask), UVZK_ENONODE);
}

void loss_is_told_then_replies_then_connected(void **state)
{
    enum { COUNT = 20 };
    struct user *user = connected(state);
    struct ask asks[COUNT];
    int64_t session = user->session_id;
    for (int i = 0; i < COUNT; i++) {
        ask_init(&asks[i], user, UVZK__RPC_EXISTS, "/a");
        ask_submit(&asks[i]);
    }
    world_lose(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    world_restore(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    assert_true(user->session_id == session);

    size_t at = user_find(user, 0, NOTE_SESSION, UVZK__SESSION_SUSPENDED);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i].status, UVZK_ECONNLOSS);
        at++;
        assert_int_equal(user->notes[at].kind, NOTE_REPLY);
        assert_int_equal(user->notes[at].value, asks[i].number);
    }
    assert_int_equal(user_find(user, at, NOTE_SESSION, UVZK__SESSION_CONNECTED), at + 1);
}

/* More than a port hands out at once: what never left it is ENOTSENT. */
void loss_in_the_midst_of_many(void **state)
{
    enum { COUNT = 5000 };
    static struct ask asks[COUNT];
    struct user *user = connected(state);
    world_create(user->world, "/many");
    for (int i = 0; i < COUNT; i++) {
        ask_init(&asks[i], user, UVZK__RPC_SET, "/many");
        ask_submit(&asks[i]);
    }
    world_lose(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    world_restore(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    size_t at = user_find(user, 0, NOTE_REPLY, asks[0].number);
    int rank = 0; /* 0, then CONNLOSS, then NOTSENT, and never back */
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i].replies, 1);
        int now = asks[i].status == 0 ? 0 : asks[i].status == UVZK_ECONNLOSS ? 1 : 2;
        assert_true(now < 2 || asks[i].status == UVZK_ENOTSENT);
        assert_true(now >= rank);
        rank = now;
    }
    assert_true(rank > 0);
    assert_true(user_find(user, at, NOTE_REPLY, asks[COUNT - 1].number) <
                user_find(user, at, NOTE_SESSION, UVZK__SESSION_CONNECTED));
    struct ask ask; /* and what was executed was executed in order, once */
    ask_init(&ask, user, UVZK__RPC_EXISTS, "/many");
    assert_int_equal(ask_run(&ask), 0);
    assert_true(ask.stat.version <= COUNT);
}

void expiry_replies_then_tells(void **state)
{
    enum { COUNT = 20 };
    struct user *user = connected(state);
    struct ask asks[COUNT];
    world_expire(user->world);
    for (int i = 0; i < COUNT; i++) {
        ask_init(&asks[i], user, UVZK__RPC_EXISTS, "/a");
        ask_submit(&asks[i]);
    }
    assert_true(user_wait_session(user, UVZK__SESSION_EXPIRED, 1));
    size_t at = user_find(user, 0, NOTE_SESSION, UVZK__SESSION_EXPIRED);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(asks[i].replies, 1);
        assert_true(asks[i].status < 0 && asks[i].status != UVZK_ECLOSED);
        assert_true(user_find(user, 0, NOTE_REPLY, asks[i].number) < at);
    }
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_EXISTS, "/a");
    assert_int_equal(ask_run(&ask), UVZK_ENOTSENT);
}

/* They come before the user is told that there is nobody to ask any more, and many a
 * user asks the next thing at once. */
void expiry_replies_to_what_its_replies_ask(void **state)
{
    enum { COUNT = 5, DEPTH = 3 };
    static struct ask asks[DEPTH][COUNT];
    struct user *user = connected(state);
    assert_true(world_expire_unheard(user->world));
    for (int i = 0; i < COUNT; i++) {
        for (int depth = 0; depth < DEPTH; depth++) {
            ask_init(&asks[depth][i], user, UVZK__RPC_EXISTS, "/a");
            asks[depth][i].again = depth + 1 < DEPTH ? &asks[depth + 1][i] : NULL;
        }
        ask_submit(&asks[0][i]);
    }
    assert_true(user_wait_session(user, UVZK__SESSION_EXPIRED, 1));
    size_t at = user_find(user, 0, NOTE_SESSION, UVZK__SESSION_EXPIRED);
    for (int i = 0; i < COUNT; i++) {
        for (int depth = 0; depth < DEPTH; depth++) {
            assert_int_equal(asks[depth][i].replies, 1);
            assert_true(user_find(user, 0, NOTE_REPLY, asks[depth][i].number) < at);
        }
    }
}

void expiry_drops_watches(void **state)
{
    struct user *user = connected(state);
    struct ask ask;
    world_create(user->world, "/a");
    ask_init(&ask, user, UVZK__RPC_EXISTS, "/a");
    ask_watch(&ask);
    assert_int_equal(ask_run(&ask), 0);
    user->reopen = true;
    world_expire(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    assert_null(ask.watch.armed);
    world_delete(user->world, "/a");
    struct ask sync;
    ask_init(&sync, user, UVZK__RPC_SYNC, "/");
    assert_int_equal(ask_run(&sync), 0);
    assert_int_equal(ask.fired, 0);
}

/* The new handle hears that the session which it was to go on with has ended. */
void expiry_while_the_server_moves(void **state)
{
    struct user *user = connected(state);
    int64_t first = user->session_id;
    user->reopen = true;
    world_move(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    world_expire(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_EXPIRED, 1));
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    assert_true(user->session_id != first);
    assert_false(user->watches_lost);
}

void open_again_inside_expiry(void **state)
{
    struct user *user = connected(state);
    int64_t first = user->session_id;
    assert_int_equal(user_create(user, "/e", UVZK__EPHEMERAL), 0);
    user->reopen = true;
    world_expire(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_CONNECTED, 2));
    assert_int_equal(user->sessions[UVZK__SESSION_EXPIRED], 1);
    assert_true(user->session_id != first);
    assert_int_equal(user_create(user, "/e", UVZK__EPHEMERAL), 0);
}

/* -------------------------------------------------------------------- turns */

void wake_brings_one_turn(void **state)
{
    struct user *user = *state;
    user->port->wake(user->port);
    user->port->wake(user->port);
    assert_int_equal(user->turns, 0);
    assert_true(user_wait_turns(user, 1));
    world_run_for(user->world, 30);
    assert_int_equal(user->turns, 1);
    user->port->wake(user->port);
    assert_true(user_wait_turns(user, 2));
}

void alarm_brings_one_turn(void **state)
{
    struct user *user = *state;
    uint64_t at = user->port->now(user->port) + 40;
    user->port->alarm(user->port, at);
    assert_true(user_wait_turns(user, 1));
    assert_true(user->turn_at >= at);
    world_run_for(user->world, 60);
    assert_int_equal(user->turns, 1);

    user->port->alarm(user->port, 1); /* long past */
    assert_true(user_wait_turns(user, 2));
}

/* Further away than a timer of the real port's is ever set. */
void alarm_further_away_comes(void **state)
{
    struct user *user = *state;
    uint64_t at = user->port->now(user->port) + 1300;
    user->port->alarm(user->port, at);
    assert_true(user_wait_turns(user, 1));
    assert_true(user->turn_at >= at);
}

void alarm_can_be_moved_and_switched_off(void **state)
{
    struct user *user = *state;
    uint64_t now = user->port->now(user->port);
    user->port->alarm(user->port, now + 30);
    user->port->alarm(user->port, UINT64_MAX);
    world_run_for(user->world, 60);
    assert_int_equal(user->turns, 0);

    now = user->port->now(user->port);
    user->port->alarm(user->port, now + 3600000);
    user->port->alarm(user->port, now + 30);
    assert_true(user_wait_turns(user, 1));
    assert_true(user->turn_at >= now + 30);
}

void random_differs(void **state)
{
    struct user *user = *state;
    unsigned char one[16] = {0}, two[16] = {0};
    assert_int_equal(user->port->random(user->port, one, sizeof(one)), 0);
    assert_int_equal(user->port->random(user->port, two, sizeof(two)), 0);
    assert_memory_not_equal(one, two, sizeof(one));
}
