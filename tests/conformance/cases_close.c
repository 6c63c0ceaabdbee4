/* close() in every state. That the port ends well is the teardown's business:
 * closed() came once and last, and the loop is empty. */
#include "cases.h"

static struct user *connected(void **state)
{
    struct user *user = *state;
    assert_true(user_connect(user));
    return user;
}

static bool is_closed(void *context)
{
    return ((struct user *)context)->closed > 0;
}

static void assert_closes(struct user *user)
{
    assert_true(world_run_until(user->world, is_closed, user));
}

void close_unopened(void **state)
{
    struct user *user = *state;
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_EXISTS, "/a");
    ask_submit(&ask);
    user->port->wake(user->port);
    user->port->alarm(user->port, 1);
    user_close(user);
    assert_closes(user);
    assert_int_equal(ask.status, UVZK_ECLOSED);
    assert_int_equal(user->turns, 0);
}

void close_while_opening(void **state)
{
    struct user *user = *state;
    user_open(user);
    user_close(user);
    assert_closes(user);
    assert_int_equal(user->count, 1);
}

void close_soon_after_open(void **state)
{
    struct user *user = *state;
    user_open(user);
    world_run_for(user->world, 2);
    user_close(user);
    size_t before = user->count;
    assert_closes(user);
    assert_int_equal(user->count, before + 1);
}

static void assert_all_closed(struct user *user, const struct ask *asks, int count)
{
    size_t at = user_find(user, 0, NOTE_REPLY, asks[0].number);
    for (int i = 0; i < count; i++) {
        assert_int_equal(asks[i].replies, 1);
        assert_int_equal(asks[i].status, UVZK_ECLOSED);
        assert_int_equal(user->notes[at + (size_t)i].value, asks[i].number);
    }
    assert_int_equal(user->notes[user->count - 1].kind, NOTE_CLOSED);
}

void close_with_requests_under_way(void **state)
{
    enum { COUNT = 1500 };
    static struct ask asks[COUNT];
    struct user *user = connected(state);
    world_create(user->world, "/a");
    for (int i = 0; i < COUNT; i++) {
        ask_init(&asks[i], user, i % 3 == 0 ? UVZK__RPC_GET : UVZK__RPC_SET, "/a");
        ask_submit(&asks[i]);
    }
    user_close(user);
    assert_closes(user);
    assert_all_closed(user, asks, COUNT);
}

void close_inside_a_reply(void **state)
{
    enum { COUNT = 500 };
    static struct ask asks[COUNT];
    struct user *user = connected(state);
    for (int i = 0; i < COUNT; i++) {
        ask_init(&asks[i], user, UVZK__RPC_EXISTS, "/a");
        ask_submit(&asks[i]);
    }
    user->close_after = asks[9].number;
    assert_closes(user);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(asks[i].status, UVZK_ENONODE);
    }
    assert_all_closed(user, asks + 10, COUNT - 10);
}

void close_while_disconnected(void **state)
{
    enum { COUNT = 100 };
    static struct ask asks[COUNT];
    struct user *user = connected(state);
    world_lose(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_SUSPENDED, 1));
    for (int i = 0; i < COUNT; i++) {
        ask_init(&asks[i], user, UVZK__RPC_EXISTS, "/a");
        ask_submit(&asks[i]);
    }
    user_close(user);
    assert_closes(user);
    assert_all_closed(user, asks, COUNT);
    world_restore(user->world);
}

void close_with_watches(void **state)
{
    struct user *user = connected(state);
    static struct ask armed, arming, given_up;
    world_create(user->world, "/a");
    ask_init(&armed, user, UVZK__RPC_EXISTS, "/a");
    ask_watch(&armed);
    assert_int_equal(ask_run(&armed), 0);
    ask_init(&given_up, user, UVZK__RPC_EXISTS, "/b");
    ask_watch(&given_up);
    assert_int_equal(ask_run(&given_up), UVZK_ENONODE);
    ask_unwatch(&given_up);
    ask_init(&arming, user, UVZK__RPC_CHILDREN, "/");
    ask_watch(&arming);
    ask_submit(&arming);
    user_close(user);
    world_delete(user->world, "/a");
    assert_closes(user);
    assert_int_equal(arming.status, UVZK_ECLOSED);
    assert_int_equal(armed.fired + arming.fired + given_up.fired, 0);
    assert_null(armed.watch.armed);
    assert_null(arming.watch.armed);
}

void close_after_expiry(void **state)
{
    struct user *user = connected(state);
    world_expire(user->world);
    assert_true(user_wait_session(user, UVZK__SESSION_EXPIRED, 1));
    user_close(user);
    assert_closes(user);
}
