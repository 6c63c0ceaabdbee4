/* SPDX-License-Identifier: Apache-2.0 */
/* A user of a port that sends requests and records all callbacks (probe.h). The tests of
 * the simulator and tests/conformance/ use it.
 *
 * The one idea: the callbacks assert the contract of port.h, whatever a test does. They
 * use assert(), which aborts the process. A cmocka assertion would jump out of the
 * callback and leave the port in the middle of its work. */
#include "probe.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uvzk_acl_t anyone = {UVZK_PERM_ALL, "world", "anyone"};
static const struct uvzk__acl open_acl = {&anyone, 1};

/* -------------------------------------------------------------- the record */

static const char *code_name(int status)
{
    static const struct {
        int status;
        const char *name;
    } names[] = {{0, "ok"},
                 {UV_ENOMEM, "ENOMEM"},
#define XX(name, value, text) {value, #name},
                 UVZK_ERRNO_MAP(XX)
#undef XX
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].status == status) {
            return names[i].name;
        }
    }
    return "?";
}

/* A callback may come now: on the loop's thread, not inside a function of the port, and
 * not after closed(). */
static void assert_may_be_told(const struct probe *probe)
{
    assert(pthread_equal(pthread_self(), probe->thread));
    assert(!probe->inside);
    assert(probe->closed == 0);
}

/* Adds text to the record, and returns the number of this callback. */
static uint64_t note(struct probe *probe, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static uint64_t note(struct probe *probe, const char *format, ...)
{
    size_t at = strlen(probe->said);
    va_list arguments;

    assert_may_be_told(probe);
    if (at > sizeof(probe->said) - 600) { /* a test that reads the record clears it */
        at = 0;
    }
    if (at > 0) {
        at += (size_t)snprintf(probe->said + at, sizeof(probe->said) - at, "; ");
    }
    va_start(arguments, format);
    vsnprintf(probe->said + at, sizeof(probe->said) - at, format, arguments);
    va_end(arguments);
    return ++probe->told;
}

const char *probe_said(struct probe *probe)
{
    static char said[sizeof(probe->said)];

    memcpy(said, probe->said, sizeof(said));
    probe->said[0] = '\0';
    return said;
}

/* ----------------------------------------------------------------- callbacks */

static struct probe *of_user(struct uvzk__port_user *user)
{
    return (struct probe *)(void *)user;
}

static void assert_none_armed(const struct probe *probe)
{
    for (const struct ask *ask = probe->asks; ask != NULL; ask = ask->next) {
        assert(ask->watch.armed == NULL);
    }
}

static void keep_session(struct probe *probe, const struct uvzk__session_event *event)
{
    assert(event->timeout_ms > 0 && event->session_id != 0);
    uint32_t least_ms = uvzk__port_least_timeout(probe->port);
    assert(least_ms > 0 && least_ms <= event->timeout_ms);
    probe->session_id = event->session_id;
    probe->timeout_ms = event->timeout_ms;
    probe->watches_lost = event->watches_lost;
    probe->server_told = strchr(event->server, ':') != NULL;
    if (event->watches_lost) {
        assert_none_armed(probe);
    }
}

/* The handle is down: all replies have come, and no watch is armed. */
static void end_handle(struct probe *probe, const struct uvzk__session_event *event)
{
    probe->open_status = event->status;
    assert(probe->submitted == probe->replies);
    assert(uvzk__port_least_timeout(probe->port) == 0);
    assert_none_armed(probe);
    if (probe->reopens) {
        probe_open(probe);
    }
}

static void on_session(struct uvzk__port_user *user,
                       const struct uvzk__session_event *event)
{
    static const char *const names[] = {"CONNECTED", "SUSPENDED", "EXPIRED",
                                        "AUTH_FAILED", "OPEN_FAILED"};
    struct probe *probe = of_user(user);

    assert(!probe->closing);
    assert(event->local_address != NULL && event->server != NULL);
    probe->session_nth[event->kind] = note(probe, "%s", names[event->kind]);
    probe->sessions[event->kind]++;
    probe->session_ms = probe->port->now(probe->port);
    probe->connected = event->kind == UVZK__SESSION_CONNECTED;
    if (event->kind == UVZK__SESSION_SUSPENDED) {
        probe->owed = probe->submitted;
        return;
    }
    assert(probe->replies >= probe->owed);
    if (probe->connected) {
        keep_session(probe, event);
    } else {
        end_handle(probe, event);
    }
}

static void on_turn(struct uvzk__port_user *user)
{
    struct probe *probe = of_user(user);

    assert_may_be_told(probe);
    assert(!probe->closing);
    probe->turns++;
    probe->turn_ms = probe->port->now(probe->port);
}

/* port.h, 8: comes only while the probe knows of no connection. */
static void on_no_connection(struct uvzk__port_user *user,
                             const struct uvzk__connect_error *error)
{
    struct probe *probe = of_user(user);

    assert_may_be_told(probe);
    assert(!probe->connected && !probe->closing);
    assert(error->code < 0 && error->address != NULL && error->text[0] != '\0');
    probe->troubles++;
    probe->trouble_code = error->code;
    snprintf(probe->trouble_text, sizeof(probe->trouble_text), "%s", error->text);
    probe->left += error->code == UVZK_EDIVERGED && error->address[0] != '\0';
}

static void on_log(struct uvzk__port_user *user, int level, const char *module,
                   const char *line)
{
    struct probe *probe = of_user(user);

    (void)module;
    assert_may_be_told(probe);
    assert(level >= UVZK_LOG_ERROR && level <= UVZK_LOG_DEBUG);
    assert(strchr(line, '\n') == NULL);
    probe->log_lines++;
}

static void on_broken(struct uvzk__port_user *user, const char *what)
{
    (void)user;
    fail_msg("an invariant of the port is broken: %s", what);
}

static void on_closed(struct uvzk__port_user *user)
{
    struct probe *probe = of_user(user);

    note(probe, "closed");
    assert(probe->closing);
    assert(probe->submitted == probe->replies);
    probe->closed++;
    probe->port = NULL;
}

/* -------------------------------------------------------------------- replies */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The server returns the names in no defined order, so they are sorted. */
static void keep_names(struct ask *ask, const struct uvzk__reply *reply)
{
    const char **sorted = calloc(reply->name_count + 1, sizeof(*sorted));

    assert(sorted != NULL);
    for (size_t i = 0; i < reply->name_count; i++) {
        sorted[i] = reply->names[i];
    }
    qsort(sorted, reply->name_count, sizeof(*sorted), by_name);
    ask->count = reply->name_count;
    ask->text[0] = '\0';
    for (size_t i = 0; i < reply->name_count; i++) {
        size_t at = strlen(ask->text);
        snprintf(ask->text + at, sizeof(ask->text) - at, "%s%s", i > 0 ? " " : "",
                 sorted[i]);
    }
    free(sorted);
}

static void keep_data(struct ask *ask, const struct uvzk__reply *reply)
{
    assert(reply->data_length < sizeof(ask->text));
    if (reply->data_length > 0) {
        memcpy(ask->text, reply->data, reply->data_length);
    }
    ask->text[reply->data_length] = '\0';
    ask->count = reply->data_length;
}

static void forget_made(struct ask *ask)
{
    for (size_t i = 0; ask->made != NULL && i < ask->rpc.op_count; i++) {
        free(ask->made[i]);
    }
    free(ask->made);
    ask->made = NULL;
}

static void keep_made(struct ask *ask, const struct uvzk__reply *reply)
{
    ask->made = calloc(ask->rpc.op_count + 1, sizeof(*ask->made));
    assert(ask->made != NULL);
    for (size_t i = 0; i < ask->rpc.op_count; i++) {
        const struct uvzk__op *op = &ask->rpc.ops[i];
        const char *name = reply->made[i];
        bool creates = op->kind == UVZK__OP_CREATE;
        assert((name != NULL) == creates);
        assert(!creates || strncmp(name, op->path, strlen(op->path)) == 0);
        ask->made[i] = strdup(creates ? name : "");
    }
}

/* Copies what the reply points to: it is valid only during the callback. */
static void keep(struct ask *ask, const struct uvzk__reply *reply)
{
    ask->stat = reply->stat;
    switch (ask->rpc.kind) {
    case UVZK__RPC_CREATE:
        snprintf(ask->name, sizeof(ask->name), "%s", reply->name);
        break;
    case UVZK__RPC_GET:
        keep_data(ask, reply);
        break;
    case UVZK__RPC_CHILDREN:
        keep_names(ask, reply);
        break;
    case UVZK__RPC_MULTI:
        keep_made(ask, reply);
        break;
    default:
        break;
    }
}

static void on_reply(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    static const char *const names[] = {"create", "delete", "set",
                                        "get",    "exists", "children",
                                        "sync",   "multi",  "add watch"};
    struct ask *ask = (struct ask *)(void *)rpc;
    struct probe *probe = ask->probe;

    ask->replied_nth =
        note(probe, "%s%s%s: %s", names[rpc->kind], ask->path[0] != '\0' ? " " : "",
             ask->path, code_name(reply->status));
    assert(ask->replied == 0);
    assert(ask->number == probe->replies);
    assert(reply->status <= 0);
    assert(!probe->closing || reply->status == UVZK_ECLOSED);
    probe->replies++;
    ask->replied++;
    ask->status = reply->status;
    ask->failed_op = reply->failed_op;
    if (reply->status == 0) {
        keep(ask, reply);
    }
    if (ask->again != NULL) {
        ask_submit(ask->again);
    }
    if (ask->closes) {
        probe_close(probe);
    }
}

static const char *const event_names[] = {"created", "deleted", "changed", "children"};

static struct ask *ask_of(struct uvzk__watch *watch)
{
    return (struct ask *)(void *)((char *)watch - offsetof(struct ask, watch));
}

static void on_child(struct uvzk__watch *watch, enum uvzk__watch_event event,
                     const char *child)
{
    struct ask *ask = ask_of(watch);

    ask->fired_nth =
        note(ask->probe, "watch %s%s%s: %s", ask->path, child == NULL ? "" : " ",
             child == NULL ? "" : child, event_names[event]);
    assert(!(ask->probe->closing || ask->unwatched));
    assert(ask->replied == 1);
    assert(watch->armed != NULL);
    ask->fired++;
    ask->event = event;
}

static void on_watch(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct ask *ask = ask_of(watch);

    ask->fired_nth = note(ask->probe, "watch %s: %s", ask->path, event_names[event]);
    assert(!(ask->probe->closing || ask->unwatched));
    assert(ask->replied == 1);
    assert(ask->fired == 0);
    assert(watch->armed == NULL);
    ask->fired++;
    ask->event = event;
}

/* ------------------------------------------------------------------- the probe */

struct probe *probe_over(struct uvzk__port *port, void *place, probe_run_until run_until)
{
    struct probe *probe = calloc(1, sizeof(*probe));

    assert_non_null(probe);
    probe->user = (struct uvzk__port_user){on_session, on_no_connection, on_turn,
                                           on_log,     on_closed,        on_broken};
    probe->acl = &open_acl;
    probe->place = place;
    probe->run_until = run_until;
    probe->thread = pthread_self();
    probe->port = port;
    port->user = &probe->user;
    return probe;
}

void probe_open(struct probe *probe)
{
    probe->inside = true;
    probe->port->open(probe->port);
    probe->inside = false;
}

void probe_close(struct probe *probe)
{
    struct uvzk__port *port = probe->port;

    probe->inside = probe->closing = true;
    port->close(port);
    probe->inside = false;
}

void probe_end(struct probe *probe)
{
    if (!probe->closing) {
        probe_close(probe);
    }
    probe_await(probe, &probe->closed, 1);
    while (probe->asks != NULL) {
        struct ask *ask = probe->asks;
        probe->asks = ask->next;
        assert_true(!ask->submitted || ask->replied == 1);
        forget_made(ask);
        free(ask);
    }
    free(probe);
}

/* What a test waits for: a counter that reaches a value, or a text in the record. */
struct wish {
    struct probe *probe;
    const char *text;
    const unsigned *counter;
    unsigned value;
};

static bool has_reached(void *context)
{
    const struct wish *wish = context;

    return *wish->counter >= wish->value;
}

static bool has_said(void *context)
{
    const struct wish *wish = context;

    return strstr(wish->probe->said, wish->text) != NULL;
}

void probe_await(struct probe *probe, const unsigned *counter, unsigned value)
{
    struct wish wish = {.counter = counter, .value = value};

    if (!probe->run_until(probe->place, has_reached, &wish)) {
        fail_msg("%u of %u; told: %s", *counter, value, probe->said);
    }
}

void probe_await_session(struct probe *probe, enum uvzk__session_event_kind kind,
                         unsigned times)
{
    probe_await(probe, &probe->sessions[kind], times);
}

void probe_until(struct probe *probe, const char *text)
{
    struct wish wish = {.probe = probe, .text = text};

    if (!probe->run_until(probe->place, has_said, &wish)) {
        fail_msg("never told: %s", text);
    }
}

void probe_hear(struct probe *probe, const char *text)
{
    probe->said[0] = '\0';
    probe_until(probe, text);
    probe->said[0] = '\0';
}

/* --------------------------------------------------------------------- asks */

struct ask *ask_new(struct probe *probe, enum uvzk__rpc_kind kind, const char *path)
{
    struct ask *ask = calloc(1, sizeof(*ask));

    assert_non_null(ask);
    snprintf(ask->path, sizeof(ask->path), "%s", path);
    ask->probe = probe;
    ask->rpc.reply_cb = on_reply;
    ask->rpc.kind = (uint8_t)kind;
    ask->rpc.path = ask->path;
    ask->rpc.acl = probe->acl;
    ask->rpc.version = -1;
    ask->watch.watch_cb = on_watch;
    ask->next = probe->asks;
    probe->asks = ask;
    return ask;
}

struct ask *ask_submit(struct ask *ask)
{
    struct probe *probe = ask->probe;

    assert_true(!ask->submitted || ask->replied == 1);
    forget_made(ask);
    ask->submitted = true;
    ask->unwatched = false;
    ask->replied = ask->fired = 0;
    ask->number = probe->submitted++;
    probe->inside = true;
    probe->port->submit(probe->port, &ask->rpc);
    probe->inside = false;
    return ask;
}

struct ask *ask_create(struct probe *probe, const char *path, enum uvzk__mode mode)
{
    struct ask *ask = ask_new(probe, UVZK__RPC_CREATE, path);

    ask->rpc.mode = (uint8_t)mode;
    return ask_submit(ask);
}

struct ask *ask_delete(struct probe *probe, const char *path, int32_t version)
{
    struct ask *ask = ask_new(probe, UVZK__RPC_DELETE, path);

    ask->rpc.version = version;
    return ask_submit(ask);
}

struct ask *ask_set(struct probe *probe, const char *path, const char *data,
                    int32_t version)
{
    struct ask *ask = ask_new(probe, UVZK__RPC_SET, path);

    snprintf(ask->text, sizeof(ask->text), "%s", data);
    ask->rpc.data = ask->text;
    ask->rpc.data_length = strlen(data);
    ask->rpc.version = version;
    return ask_submit(ask);
}

struct ask *ask_read(struct probe *probe, enum uvzk__rpc_kind kind, const char *path,
                     bool watched)
{
    struct ask *ask = ask_new(probe, kind, path);

    ask->rpc.watch = watched ? &ask->watch : NULL;
    return ask_submit(ask);
}

struct ask *ask_add_watch(struct probe *probe, const char *path)
{
    struct ask *ask = ask_new(probe, UVZK__RPC_ADD_WATCH, path);

    ask->watch.child_cb = on_child;
    ask->rpc.watch = &ask->watch;
    return ask_submit(ask);
}

struct ask *ask_sync(struct probe *probe, const char *path)
{
    return ask_submit(ask_new(probe, UVZK__RPC_SYNC, path));
}

struct ask *ask_multi(struct probe *probe, const struct uvzk__op *ops, size_t count)
{
    struct ask *ask = ask_new(probe, UVZK__RPC_MULTI, "");

    ask->rpc.ops = ops;
    ask->rpc.op_count = count;
    return ask_submit(ask);
}

int ask_wait(struct ask *ask)
{
    probe_await(ask->probe, &ask->replied, 1);
    return ask->status;
}

struct ask *ask_done(struct ask *ask)
{
    assert_int_equal(ask_wait(ask), 0);
    return ask;
}

void ask_unwatch(struct ask *ask)
{
    struct probe *probe = ask->probe;

    ask->unwatched = true;
    probe->inside = true;
    probe->port->unwatch(probe->port, &ask->watch);
    probe->inside = false;
    assert_null(ask->watch.armed);
}

void ask_await_event(struct ask *ask, enum uvzk__watch_event event)
{
    probe_await(ask->probe, &ask->fired, 1);
    assert_int_equal(ask->event, event);
}

int create(struct probe *probe, const char *path, enum uvzk__mode mode)
{
    return ask_wait(ask_create(probe, path, mode));
}

int read_once(struct probe *probe, enum uvzk__rpc_kind kind, const char *path)
{
    return ask_wait(ask_read(probe, kind, path, false));
}

struct ask *watch_on(struct probe *probe, enum uvzk__rpc_kind kind, const char *path)
{
    struct ask *ask = ask_read(probe, kind, path, true);

    ask_wait(ask);
    return ask;
}

struct uvzk__op op_of(enum uvzk__op_kind kind, const char *path, int32_t version)
{
    return (struct uvzk__op){.kind = kind,
                             .mode = UVZK__PERSISTENT,
                             .version = version,
                             .path = path,
                             .acl = &open_acl};
}

struct uvzk__op op_create(const char *path, enum uvzk__mode mode)
{
    struct uvzk__op op = op_of(UVZK__OP_CREATE, path, 0);

    op.mode = mode;
    return op;
}
