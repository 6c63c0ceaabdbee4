#include "probe.h"

#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_MS UINT64_C(3600000)

static const uvzk_acl_t anyone = {UVZK_PERM_ALL, "world", "anyone"};
static const struct uvzk__acl open_acl = {&anyone, 1};

/* ------------------------------------------------------------------- notes */

static void note(struct probe *probe, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(struct probe *probe, const char *format, ...)
{
    size_t at = strlen(probe->said);
    va_list arguments;
    probe->said_at = sim_now(probe->sim);
    if (at > sizeof(probe->said) - 600) { /* nobody reads it any more */
        at = 0;
    }
    if (at > 0) {
        at += (size_t)snprintf(probe->said + at, sizeof(probe->said) - at, "; ");
    }
    va_start(arguments, format);
    vsnprintf(probe->said + at, sizeof(probe->said) - at, format, arguments);
    va_end(arguments);
}

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

const char *probe_said(struct probe *probe)
{
    static char said[sizeof(probe->said)];
    memcpy(said, probe->said, sizeof(said));
    probe->said[0] = '\0';
    return said;
}

/* --------------------------------------------------------------- callbacks */

static struct probe *of_user(struct uvzk__port_user *user)
{
    return (struct probe *)user;
}

static void on_session(struct uvzk__port_user *user,
                       const struct uvzk__session_event *event)
{
    static const char *const names[] = {"CONNECTED", "SUSPENDED", "EXPIRED",
                                        "AUTH_FAILED", "OPEN_FAILED"};
    struct probe *probe = of_user(user);
    assert_false(probe->inside || probe->closing);
    assert_non_null(event->local_address);
    note(probe, "%s", names[event->kind]);
    if (event->kind == UVZK__SESSION_CONNECTED) {
        assert_true(event->timeout_ms > 0 && event->session_id != 0);
        probe->session_id = event->session_id;
        probe->timeout_ms = event->timeout_ms;
        return;
    }
    if (event->kind == UVZK__SESSION_SUSPENDED) {
        return;
    }
    probe->open_status = event->status;
    assert_int_equal(probe->submitted, probe->replies);
    for (const struct ask *ask = probe->asks; ask != NULL; ask = ask->next) {
        assert_null(ask->watch.armed);
    }
    if (probe->reopens) {
        probe_open(probe);
    }
}

static void on_turn(struct uvzk__port_user *user)
{
    struct probe *probe = of_user(user);
    assert_false(probe->inside || probe->closing);
    probe->turns++;
}

static void on_log(struct uvzk__port_user *user, int level, const char *line)
{
    (void)user;
    assert_in_range(level, UVZK_LOG_ERROR, UVZK_LOG_DEBUG);
    assert_non_null(line);
}

static void on_closed(struct uvzk__port_user *user)
{
    struct probe *probe = of_user(user);
    assert_true(probe->closing);
    assert_false(probe->inside || probe->closed);
    assert_int_equal(probe->submitted, probe->replies);
    probe->closed = true;
    probe->port = NULL;
    note(probe, "closed");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void keep_names(struct ask *ask, const struct uvzk__reply *reply)
{
    const char **sorted = calloc(reply->name_count + 1, sizeof(*sorted));
    assert_non_null(sorted);
    for (size_t i = 0; i < reply->name_count; i++) {
        sorted[i] = reply->names[i];
    }
    qsort(sorted, reply->name_count, sizeof(*sorted), by_name);
    ask->name_count = reply->name_count;
    ask->names[0] = '\0';
    for (size_t i = 0; i < reply->name_count; i++) {
        size_t at = strlen(ask->names);
        snprintf(ask->names + at, sizeof(ask->names) - at, "%s%s", i > 0 ? " " : "",
                 sorted[i]);
    }
    free(sorted);
}

static void on_reply(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    static const char *const names[] = {"create", "delete",   "set",  "get",
                                        "exists", "children", "sync", "multi"};
    struct ask *ask = (struct ask *)rpc;
    struct probe *probe = ask->probe;
    assert_false(probe->inside || probe->closed || ask->replied);
    assert_int_equal(ask->number, probe->replies);
    assert_true(reply->status <= 0);
    if (probe->closing) {
        assert_int_equal(reply->status, UVZK_ECLOSED);
    }
    probe->replies++;
    ask->replied = true;
    ask->status = reply->status;
    ask->failed_op = reply->failed_op;
    note(probe, "%s%s%s: %s", names[rpc->kind], ask->path[0] != '\0' ? " " : "",
         ask->path, code_name(reply->status));
    if (reply->status != 0) {
        return;
    }
    ask->stat = reply->stat;
    if (rpc->kind == UVZK__RPC_CREATE) {
        snprintf(ask->name, sizeof(ask->name), "%s", reply->name);
    } else if (rpc->kind == UVZK__RPC_GET) {
        assert_true(reply->data_length < sizeof(ask->data));
        memcpy(ask->data, reply->data, reply->data_length);
        ask->data[reply->data_length] = '\0';
        ask->data_length = reply->data_length;
    } else if (rpc->kind == UVZK__RPC_CHILDREN) {
        keep_names(ask, reply);
    }
}

static void on_watch(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    static const char *const names[] = {"created", "deleted", "changed", "children"};
    struct ask *ask = (struct ask *)((char *)watch - offsetof(struct ask, watch));
    assert_false(ask->probe->inside || ask->probe->closing);
    assert_true(ask->replied);
    assert_int_equal(ask->fired, 0);
    assert_null(watch->armed);
    ask->fired++;
    note(ask->probe, "watch %s: %s", ask->path, names[event]);
}

/* ------------------------------------------------------------------- probes */

struct sim *sim_plain(void)
{
    return sim_new(1, NULL);
}

/* One millisecond each way, no chance in it. */
struct sim *sim_exact(void)
{
    struct sim_options options;
    sim_options_init(&options);
    options.latency_min_ms = options.latency_max_ms = 1;
    options.alarm_late_max_ms = 0;
    return sim_new(1, &options);
}

struct probe *probe_new(struct sim *sim, const char *name)
{
    struct probe *probe = calloc(1, sizeof(*probe));
    assert_non_null(probe);
    probe->user = (struct uvzk__port_user){on_session, on_turn, on_log, on_closed};
    probe->sim = sim;
    probe->acl = &open_acl;
    probe->port = sim_port_new(sim, name);
    probe->port->user = &probe->user;
    return probe;
}

void probe_open(struct probe *probe)
{
    bool inside = probe->inside;
    probe->inside = true;
    probe->port->open(probe->port);
    probe->inside = inside;
}

void probe_close(struct probe *probe)
{
    probe->inside = true;
    probe->port->close(probe->port);
    probe->inside = false;
    probe->closing = true;
}

struct probe *probe_connected(struct sim *sim, const char *name)
{
    struct probe *probe = probe_new(sim, name);
    probe_open(probe);
    probe_hear(probe, "CONNECTED");
    return probe;
}

void probe_end(struct probe *probe)
{
    uint64_t limit = sim_now(probe->sim) + HOUR_MS;
    if (!probe->closing) {
        probe_close(probe);
    }
    while (!probe->closed && sim_now(probe->sim) < limit) {
        sim_step(probe->sim);
    }
    assert_true(probe->closed);
    while (probe->asks != NULL) {
        struct ask *ask = probe->asks;
        probe->asks = ask->next;
        assert_true(ask->replied);
        free(ask);
    }
    free(probe);
}

void probe_until(struct probe *probe, const char *text)
{
    uint64_t limit = sim_now(probe->sim) + HOUR_MS;
    while (strstr(probe->said, text) == NULL && sim_now(probe->sim) < limit) {
        sim_step(probe->sim);
    }
    if (strstr(probe->said, text) == NULL) {
        sim_trace_print(probe->sim, stderr);
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

static struct ask *ask_new(struct probe *probe, enum uvzk__rpc_kind kind,
                           const char *path)
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

static struct ask *submit(struct ask *ask)
{
    struct probe *probe = ask->probe;
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
    return submit(ask);
}

struct ask *ask_delete(struct probe *probe, const char *path, int32_t version)
{
    struct ask *ask = ask_new(probe, UVZK__RPC_DELETE, path);
    ask->rpc.version = version;
    return submit(ask);
}

struct ask *ask_set(struct probe *probe, const char *path, const char *data,
                    int32_t version)
{
    struct ask *ask = ask_new(probe, UVZK__RPC_SET, path);
    snprintf(ask->data, sizeof(ask->data), "%s", data);
    ask->rpc.data = ask->data;
    ask->rpc.data_length = strlen(data);
    ask->rpc.version = version;
    return submit(ask);
}

struct ask *ask_read(struct probe *probe, enum uvzk__rpc_kind kind, const char *path,
                     bool watched)
{
    struct ask *ask = ask_new(probe, kind, path);
    ask->rpc.watch = watched ? &ask->watch : NULL;
    return submit(ask);
}

struct ask *ask_sync(struct probe *probe, const char *path)
{
    return submit(ask_new(probe, UVZK__RPC_SYNC, path));
}

struct ask *ask_multi(struct probe *probe, const struct uvzk__op *ops, size_t count)
{
    struct ask *ask = ask_new(probe, UVZK__RPC_MULTI, "");
    ask->rpc.ops = ops;
    ask->rpc.op_count = count;
    return submit(ask);
}

int ask_wait(struct ask *ask)
{
    uint64_t limit = sim_now(ask->probe->sim) + HOUR_MS;
    while (!ask->replied && sim_now(ask->probe->sim) < limit) {
        sim_step(ask->probe->sim);
    }
    assert_true(ask->replied);
    return ask->status;
}

void ask_unwatch(struct ask *ask)
{
    struct uvzk__port *port = ask->probe->port;
    ask->probe->inside = true;
    port->unwatch(port, &ask->watch);
    ask->probe->inside = false;
    assert_null(ask->watch.armed);
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
