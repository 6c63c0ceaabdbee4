#include "user.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct user *user_of(struct uvzk__port_user *port_user)
{
    return (struct user *)(void *)port_user;
}

static void assert_may_be_told(const struct user *user)
{
    assert(pthread_equal(pthread_self(), user->loop_thread));
    assert(!user->inside && user->closed == 0);
}

static void note(struct user *user, enum note_kind kind, int value)
{
    assert_may_be_told(user);
    assert(user->count < USER_NOTES);
    user->notes[user->count++] = (struct note){kind, value};
}

static void on_session(struct uvzk__port_user *port_user,
                       const struct uvzk__session_event *event)
{
    struct user *user = user_of(port_user);
    note(user, NOTE_SESSION, (int)event->kind);
    user->sessions[event->kind]++;
    user->connected = event->kind == UVZK__SESSION_CONNECTED;
    if (event->kind == UVZK__SESSION_SUSPENDED) {
        user->owed = user->asks;
    } else {
        assert(user->replies >= user->owed);
    }
    if (event->kind == UVZK__SESSION_EXPIRED ||
        event->kind == UVZK__SESSION_AUTH_FAILED) {
        assert(user->replies == user->asks);
    }
    if (event->kind == UVZK__SESSION_CONNECTED) {
        user->session_id = event->session_id;
        user->timeout_ms = event->timeout_ms;
        user->watches_lost = event->watches_lost;
        user->has_local_address = event->local_address != NULL;
    } else if (event->kind == UVZK__SESSION_OPEN_FAILED) {
        user->open_status = event->status;
    } else if (event->kind == UVZK__SESSION_EXPIRED && user->reopen) {
        user_open(user);
    }
}

static void on_turn(struct uvzk__port_user *port_user)
{
    struct user *user = user_of(port_user);
    note(user, NOTE_TURN, 0);
    user->turns++;
    user->turn_at = user->port->now(user->port);
}

static void on_log(struct uvzk__port_user *port_user, int level, const char *line)
{
    struct user *user = user_of(port_user);
    assert_may_be_told(user);
    user->log_lines++;
    assert(level >= UVZK_LOG_ERROR && level <= UVZK_LOG_DEBUG);
    assert(strchr(line, '\n') == NULL);
}

static void on_closed(struct uvzk__port_user *port_user)
{
    struct user *user = user_of(port_user);
    note(user, NOTE_CLOSED, 0);
    user->closed++;
}

struct user *user_new(void)
{
    struct user *user = calloc(1, sizeof(*user));
    user->port_user = (struct uvzk__port_user){on_session, on_turn, on_log, on_closed};
    user->close_after = -1;
    user->loop_thread = pthread_self();
    user->world = world_new();
    user->port = world_port(user->world);
    user->port->user = &user->port_user;
    return user;
}

void user_open(struct user *user)
{
    user->inside = true;
    user->port->open(user->port);
    user->inside = false;
}

void user_close(struct user *user)
{
    struct uvzk__port *port = user->port;
    user->port = NULL;
    user->inside = true;
    port->close(port);
    user->inside = false;
}

static bool is_closed(void *context)
{
    return ((struct user *)context)->closed > 0;
}

bool user_end(struct user *user)
{
    if (user->port != NULL) {
        user_close(user);
    }
    bool well = world_run_until(user->world, is_closed, user);
    well = world_free(user->world) && well && user->closed == 1;
    free(user);
    return well;
}

/* ------------------------------------------------------------------- asking */

static void copy_names(struct ask *ask, const struct uvzk__reply *reply)
{
    size_t length = 0;
    ask->names = reply->name_count;
    for (size_t i = 0; i < reply->name_count && length < ASK_NAME; i++) {
        int n = snprintf(ask->text + length, ASK_NAME - length, "%s ", reply->names[i]);
        length += (size_t)n;
    }
}

static void copy_made(struct ask *ask, const struct uvzk__reply *reply)
{
    for (size_t i = 0; i < ask->rpc.op_count; i++) {
        const struct uvzk__op *op = &ask->rpc.ops[i];
        const char *name = reply->made[i] != NULL ? reply->made[i] : "";
        bool creates = op->kind == UVZK__OP_CREATE;
        assert((reply->made[i] != NULL) == creates);
        assert(!creates || strncmp(name, op->path, strlen(op->path)) == 0);
        if (ask->made != NULL) {
            snprintf(ask->made[i], ASK_NAME, "%s", name);
        }
    }
}

static void on_reply(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct ask *ask = (struct ask *)(void *)rpc;
    struct user *user = ask->user;
    note(user, NOTE_REPLY, ask->number);
    assert(ask->number == user->replies);
    user->replies++;
    ask->replies++;
    ask->status = reply->status;
    ask->failed_op = reply->failed_op;
    ask->made_is_told = reply->made != NULL;
    if (reply->status == 0) {
        ask->stat = reply->stat;
        if (rpc->kind == UVZK__RPC_CREATE) {
            snprintf(ask->name, ASK_NAME, "%s", reply->name);
        } else if (rpc->kind == UVZK__RPC_GET) {
            snprintf(ask->text, ASK_NAME, "%.*s", (int)reply->data_length,
                     reply->data_length > 0 ? (const char *)reply->data : "");
        } else if (rpc->kind == UVZK__RPC_CHILDREN) {
            copy_names(ask, reply);
        } else if (rpc->kind == UVZK__RPC_MULTI) {
            copy_made(ask, reply);
        }
    }
    if (ask->again != NULL) {
        ask_submit(ask->again);
    }
    if (ask->number == user->close_after) {
        user_close(user);
    }
}

static void on_watch(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct ask *ask = (struct ask *)(void *)((char *)watch - offsetof(struct ask, watch));
    assert(ask->replies == 1 && ask->fired == 0 && !ask->unwatched);
    assert(watch->armed == NULL);
    note(ask->user, NOTE_WATCH, (int)event);
    ask->fired++;
    ask->event = event;
}

static const uvzk_acl_t open_entries[] = {{UVZK_PERM_ALL, "world", "anyone"}};
static const struct uvzk__acl open_acl = {open_entries, 1};

void ask_init(struct ask *ask, struct user *user, enum uvzk__rpc_kind kind,
              const char *path)
{
    memset(ask, 0, sizeof(*ask));
    ask->user = user;
    ask->rpc.reply_cb = on_reply;
    ask->rpc.kind = (uint8_t)kind;
    ask->rpc.path = path;
    ask->rpc.version = -1;
    if (kind == UVZK__RPC_CREATE) {
        ask->rpc.acl = &open_acl;
    }
}

void ask_watch(struct ask *ask)
{
    ask->watch.watch_cb = on_watch;
    ask->rpc.watch = &ask->watch;
}

void ask_submit(struct ask *ask)
{
    struct uvzk__port *port = ask->user->port;
    ask->number = ask->user->asks++;
    ask->user->inside = true;
    port->submit(port, &ask->rpc);
    ask->user->inside = false;
}

void ask_unwatch(struct ask *ask)
{
    struct uvzk__port *port = ask->user->port;
    ask->unwatched = true;
    ask->user->inside = true;
    port->unwatch(port, &ask->watch);
    ask->user->inside = false;
}

static bool is_replied(void *context)
{
    return ((struct ask *)context)->replies > 0;
}

static bool has_fired(void *context)
{
    return ((struct ask *)context)->fired > 0;
}

bool ask_wait(struct ask *ask)
{
    return world_run_until(ask->user->world, is_replied, ask);
}

bool ask_wait_fired(struct ask *ask)
{
    return world_run_until(ask->user->world, has_fired, ask);
}

int ask_run(struct ask *ask)
{
    ask_submit(ask);
    return ask_wait(ask) ? ask->status : 1;
}

int user_create(struct user *user, const char *path, enum uvzk__mode mode)
{
    struct ask ask;
    ask_init(&ask, user, UVZK__RPC_CREATE, path);
    ask.rpc.mode = (uint8_t)mode;
    return ask_run(&ask);
}

/* ------------------------------------------------------------------ waiting */

struct wish {
    struct user *user;
    enum uvzk__session_event_kind kind;
    long number;
};

static bool session_told(void *context)
{
    const struct wish *wish = context;
    return wish->user->sessions[wish->kind] >= (unsigned long)wish->number;
}

bool user_wait_session(struct user *user, enum uvzk__session_event_kind kind,
                       unsigned times)
{
    struct wish wish = {user, kind, times};
    return world_run_until(user->world, session_told, &wish);
}

bool user_connect(struct user *user)
{
    user_open(user);
    return user_wait_session(user, UVZK__SESSION_CONNECTED, 1);
}

static bool turns_came(void *context)
{
    const struct wish *wish = context;
    return wish->user->turns >= (unsigned long)wish->number;
}

bool user_wait_turns(struct user *user, unsigned turns)
{
    struct wish wish = {.user = user, .number = turns};
    return world_run_until(user->world, turns_came, &wish);
}

static bool watches_are(void *context)
{
    const struct wish *wish = context;
    return world_watch_count(wish->user->world) == wish->number;
}

bool user_wait_watch_count(struct user *user, long count)
{
    struct wish wish = {.user = user, .number = count};
    return world_run_until(user->world, watches_are, &wish);
}

size_t user_find(const struct user *user, size_t from, enum note_kind kind, int value)
{
    for (size_t i = from; i < user->count; i++) {
        if (user->notes[i].kind == kind && user->notes[i].value == value) {
            return i;
        }
    }
    return user->count;
}
