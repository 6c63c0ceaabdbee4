/* SPDX-License-Identifier: Apache-2.0 */
/* One client of another library: its sessions, connection states, requests, watches and
 * background deletes. foreign_contender.c sends its requests through this file and has
 * its znodes deleted here.
 *
 * The one idea: everything happens inside the callbacks of the port. foreign_client_call
 * only puts a request into a list and wakes the port. on_turn sends what is due, or
 * reports UVZK_ECONNLOSS for a request that found no connection in time. */
#include "foreign_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ignored_events.h"

#define RETRY_MS 100U
#define RETRIES 3U

/* A watch on one path. When it fires, all contenders in `directory` that wait are
 * woken. */
struct foreign_watch {
    struct uvzk__watch watch;
    struct uvzk__link link;
    struct foreign_client *foreign_client;
    char path[FOREIGN_PATH_MAX];
    char directory[FOREIGN_PATH_MAX];
};

/* A request that is repeated in the background until a znode is deleted. */
struct cleanup {
    struct call call;
    struct uvzk__link link;
    char directory[FOREIGN_PATH_MAX];
    char prefix[FOREIGN_NAME_MAX];
    char path[FOREIGN_PATH_MAX]; /* "": not known until a listing has shown it */
};

#define FOR_EACH(at, following, head)                                               \
    for (struct uvzk__link *at = (head)->next, *following = at->next; at != (head); \
         at = following, following = at->next)

static struct foreign_client *of_user(struct uvzk__port_user *user)
{
    return UVZK__CONTAINER_OF(user, struct foreign_client, user);
}

static struct call *call_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct call, link);
}

static struct foreign_contender *contender_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct foreign_contender, link);
}

static struct foreign_watch *watch_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct foreign_watch, link);
}

/* --------------------------------------------------------------------- watches */

/* Frees a watch that the port has dropped, or that it has never armed. */
static void forget(struct foreign_watch *foreign_watch)
{
    uvzk__list_remove(&foreign_watch->link);
    free(foreign_watch);
}

/* Wakes the contenders in this directory. NULL: in all directories. */
static void wake_standings(struct foreign_client *foreign_client, const char *directory)
{
    FOR_EACH(at, following, &foreign_client->contenders)
    {
        if (directory == NULL || strcmp(contender_at(at)->directory, directory) == 0) {
            foreign_contender_wake(contender_at(at));
        }
    }
}

static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct foreign_watch *foreign_watch =
        UVZK__CONTAINER_OF(watch, struct foreign_watch, watch);
    char directory[FOREIGN_PATH_MAX];
    struct foreign_client *foreign_client = foreign_watch->foreign_client;

    (void)event;
    /* forget() frees the watch, so the directory is copied first. */
    memcpy(directory, foreign_watch->directory, sizeof(directory));
    forget(foreign_watch);
    wake_standings(foreign_client, directory);
}

static struct foreign_watch *find_watch(const struct foreign_client *foreign_client,
                                        const char *path)
{
    for (struct uvzk__link *at = foreign_client->watches.next;
         at != &foreign_client->watches; at = at->next) {
        if (strcmp(watch_at(at)->path, path) == 0) {
            return watch_at(at);
        }
    }
    return NULL;
}

/* A watch for a request on this path. NULL: this client has a watch on the path already,
 * and a port allows one watch per path. */
static struct uvzk__watch *watch_new(struct foreign_client *foreign_client,
                                     const char *path, const char *directory)
{
    if (find_watch(foreign_client, path) != NULL) {
        return NULL;
    }
    struct foreign_watch *foreign_watch = calloc(1, sizeof(*foreign_watch));
    foreign_watch->foreign_client = foreign_client;
    foreign_watch->watch.watch_cb = fired;
    (void)snprintf(foreign_watch->path, sizeof(foreign_watch->path), "%s", path);
    (void)snprintf(foreign_watch->directory, sizeof(foreign_watch->directory), "%s",
                   directory);
    uvzk__list_append(&foreign_client->watches, &foreign_watch->link);
    return &foreign_watch->watch;
}

bool foreign_client_watches(const struct foreign_client *foreign_client, const char *path)
{
    const struct foreign_watch *foreign_watch = find_watch(foreign_client, path);

    return foreign_watch != NULL && foreign_watch->watch.armed != NULL;
}

/* Frees the watch of a request that has been answered without arming it. */
static void forget_failed(struct foreign_client *foreign_client, const char *path)
{
    struct foreign_watch *foreign_watch = find_watch(foreign_client, path);

    if (foreign_watch != NULL && foreign_watch->watch.armed == NULL) {
        char directory[FOREIGN_PATH_MAX];
        memcpy(directory, foreign_watch->directory, sizeof(directory));
        forget(foreign_watch);
        wake_standings(foreign_client, directory); /* others may rely on it */
    }
}

void foreign_client_unwatch_all(struct foreign_client *foreign_client,
                                const char *directory)
{
    FOR_EACH(at, following, &foreign_client->watches)
    {
        struct foreign_watch *foreign_watch = watch_at(at);
        if (foreign_watch->watch.armed != NULL &&
            strcmp(foreign_watch->directory, directory) == 0) {
            foreign_client->port->unwatch(foreign_client->port, &foreign_watch->watch);
            forget(foreign_watch);
        }
    }
    wake_standings(foreign_client, directory);
}

/* -------------------------------------------------------------------- requests */

/* After UVZK_ECONNLOSS and UV_ENOMEM the request may have been executed. */
bool foreign_client_may_retry(int status)
{
    return status == UVZK_ECONNLOSS || status == UVZK_ENOTSENT ||
           status == UVZK_EEXPIRED || status == UV_ENOMEM;
}

static void on_reply(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct call *call = UVZK__CONTAINER_OF(rpc, struct call, rpc);

    if (!call->foreign_client->closing) {
        if (rpc->watch != NULL) {
            forget_failed(call->foreign_client, rpc->path);
        }
        call->answered(call, reply);
    }
}

void foreign_client_call(struct foreign_client *foreign_client, struct call *call,
                         uint64_t after_ms)
{
    call->foreign_client = foreign_client;
    call->rpc.reply_cb = on_reply;
    call->due_ms = sim_now(foreign_client->sim) + after_ms;
    call->give_up_ms = call->due_ms + foreign_client->timeout_ms / 2;
    uvzk__list_append(&foreign_client->calls, &call->link);
    foreign_client->port->wake(foreign_client->port);
}

/* Sends the request if it is due and there is a connection. If there has been none since
 * the request was due, for half a session timeout, reports UVZK_ECONNLOSS. */
static void send_call(struct foreign_client *foreign_client, struct call *call)
{
    static const struct uvzk__reply no_connection = {.status = UVZK_ECONNLOSS};
    uint64_t now = sim_now(foreign_client->sim);

    if (call->due_ms > now) {
        return;
    }
    if (foreign_client->connected) {
        uvzk__list_remove(&call->link);
        call->rpc.watch = call->watcher == NULL
                              ? NULL
                              : watch_new(foreign_client, call->rpc.path, call->watcher);
        foreign_client->port->submit(foreign_client->port, &call->rpc);
    } else if (call->give_up_ms <= now) {
        uvzk__list_remove(&call->link);
        call->answered(call, &no_connection);
    }
}

/* -------------------------------------------------------- background deletes */

static void cleanup_over(struct cleanup *cleanup)
{
    uvzk__list_remove(&cleanup->link);
    free(cleanup);
}

static void cleanup_step(struct cleanup *cleanup, uint64_t after_ms);

static void cleanup_answered(struct call *call, const struct uvzk__reply *reply)
{
    struct cleanup *cleanup = UVZK__CONTAINER_OF(call, struct cleanup, call);

    /* A background delete has no limit of retries: the libraries repeat it until the
     * znode is deleted. */
    if (foreign_client_may_retry(reply->status)) {
        cleanup_step(cleanup, call->foreign_client->retry_ms);
        return;
    }
    /* The reply to a listing: delete the znode whose name has the prefix. */
    for (size_t i = 0;
         reply->status == 0 && cleanup->path[0] == '\0' && i < reply->name_count; i++) {
        if (strncmp(reply->names[i], cleanup->prefix, strlen(cleanup->prefix)) == 0) {
            (void)snprintf(cleanup->path, sizeof(cleanup->path), "%.*s/%.*s", 120,
                           cleanup->directory, 120, reply->names[i]);
            cleanup_step(cleanup, 0);
            return;
        }
    }
    cleanup_over(cleanup);
}

/* Lists the directory if the path is not known yet, otherwise deletes the znode. */
static void cleanup_step(struct cleanup *cleanup, uint64_t after_ms)
{
    struct uvzk__rpc *rpc = &cleanup->call.rpc;

    rpc->kind = cleanup->path[0] == '\0' ? UVZK__RPC_CHILDREN : UVZK__RPC_DELETE;
    rpc->path = cleanup->path[0] == '\0' ? cleanup->directory : cleanup->path;
    rpc->version = -1;
    cleanup->call.answered = cleanup_answered;
    foreign_client_call(cleanup->call.foreign_client, &cleanup->call, after_ms);
}

static struct cleanup *cleanup_new(struct foreign_client *foreign_client)
{
    struct cleanup *cleanup = calloc(1, sizeof(*cleanup));

    cleanup->call.foreign_client = foreign_client;
    uvzk__list_append(&foreign_client->background_deletes, &cleanup->link);
    return cleanup;
}

void foreign_client_delete(struct foreign_client *foreign_client, const char *path)
{
    struct cleanup *cleanup = cleanup_new(foreign_client);

    (void)snprintf(cleanup->path, sizeof(cleanup->path), "%s", path);
    cleanup_step(cleanup, 0);
}

void foreign_client_search_and_delete(struct foreign_client *foreign_client,
                                      const char *directory, const char *prefix)
{
    struct cleanup *cleanup = cleanup_new(foreign_client);

    (void)snprintf(cleanup->directory, sizeof(cleanup->directory), "%s", directory);
    (void)snprintf(cleanup->prefix, sizeof(cleanup->prefix), "%s", prefix);
    cleanup_step(cleanup, 0);
}

/* --------------------------------------------------------------- alarm and turn */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void set_alarm(struct foreign_client *foreign_client)
{
    uint64_t at_ms = foreign_client->lost_ms;

    FOR_EACH(at, following, &foreign_client->calls)
    {
        const struct call *call = call_at(at);
        /* A call that is due and still in the list waits for a connection. */
        bool due = call->due_ms <= sim_now(foreign_client->sim);
        at_ms = earlier(at_ms, due ? call->give_up_ms : call->due_ms);
    }
    FOR_EACH(at, following, &foreign_client->contenders)
    {
        if (contender_at(at)->step == WAITING) {
            at_ms = earlier(at_ms, contender_at(at)->deadline_ms);
        }
    }
    foreign_client->port->alarm(foreign_client->port, at_ms);
}

static void on_turn(struct uvzk__port_user *user)
{
    struct foreign_client *foreign_client = of_user(user);
    struct uvzk__link calls;

    if (foreign_client->closing) {
        return;
    }
    if (foreign_client->lost_ms <= sim_now(foreign_client->sim)) {
        /* LOST. The port reports EXPIRED, and on_session opens a new session. */
        foreign_client->lost_ms = UINT64_MAX;
        foreign_client->port->abandon(foreign_client->port);
    }
    FOR_EACH(at, following, &foreign_client->contenders)
    {
        if (contender_at(at)->deadline_ms <= sim_now(foreign_client->sim)) {
            foreign_contender_timed_out(contender_at(at));
        }
    }
    /* Each call goes back into the list before it is tried, because send_call removes it
     * from there. Calls that the callbacks add wait for the next turn. */
    uvzk__list_move(&foreign_client->calls, &calls);
    while (!uvzk__list_empty(&calls)) {
        struct call *call = call_at(uvzk__list_take(&calls));
        uvzk__list_append(&foreign_client->calls, &call->link);
        send_call(foreign_client, call);
    }
    set_alarm(foreign_client);
}

/* ------------------------------------------------------------------ connection */

/* From SUSPENDED on, the library promises nothing about its holds. */
static void suspend_holds(struct foreign_client *foreign_client)
{
    FOR_EACH(at, following, &foreign_client->holds)
    {
        UVZK__CONTAINER_OF(at, struct foreign_claim, link)->suspended = true;
    }
}

/* The session has ended. Opens the next one. */
static void session_over(struct foreign_client *foreign_client)
{
    foreign_client->lost_ms = UINT64_MAX;
    FOR_EACH(at, following, &foreign_client->watches)
    {
        forget(watch_at(at)); /* the port has dropped all of them */
    }
    FOR_EACH(at, following, &foreign_client->contenders)
    {
        foreign_contender_expired(contender_at(at));
    }
    foreign_client->port->open(foreign_client->port);
}

static void on_session(struct uvzk__port_user *user,
                       const struct uvzk__session_event *event)
{
    struct foreign_client *foreign_client = of_user(user);
    bool connected = event->kind == UVZK__SESSION_CONNECTED;

    if (foreign_client->closing) {
        return;
    }
    foreign_client->connected = connected;
    if (connected) {
        foreign_client->session_id = event->session_id;
        foreign_client->lost_ms = UINT64_MAX;
    } else {
        suspend_holds(foreign_client);
        /* A contender that waits lists again after every disconnection, whatever its
         * library. */
        wake_standings(foreign_client, NULL);
    }
    if (event->kind == UVZK__SESSION_SUSPENDED) {
        foreign_client->lost_ms =
            sim_now(foreign_client->sim) + foreign_client->timeout_ms;
    } else if (!connected) {
        session_over(foreign_client);
    }
    foreign_client->port->wake(foreign_client->port);
}

static void on_closed(struct uvzk__port_user *user)
{
    struct foreign_client *foreign_client = of_user(user);

    FOR_EACH(at, following, &foreign_client->watches)
    {
        forget(watch_at(at));
    }
    FOR_EACH(at, following, &foreign_client->background_deletes)
    {
        cleanup_over(UVZK__CONTAINER_OF(at, struct cleanup, link));
    }
    foreign_client->port = NULL;
}

void foreign_client_begin(struct foreign_client *foreign_client, struct sim *sim,
                          const char *name, enum foreign_library library,
                          uint32_t timeout_ms)
{
    memset(foreign_client, 0, sizeof(*foreign_client));
    foreign_client->user = (struct uvzk__port_user){
        on_session, ignore_no_connection, on_turn, ignore_log, on_closed, ignore_broken};
    foreign_client->sim = sim;
    foreign_client->name = name;
    foreign_client->library = library;
    foreign_client->timeout_ms = timeout_ms;
    foreign_client->lost_ms = UINT64_MAX;
    foreign_client->retry_ms = RETRY_MS;
    foreign_client->retries = RETRIES;
    uvzk__list_init(&foreign_client->calls);
    uvzk__list_init(&foreign_client->contenders);
    uvzk__list_init(&foreign_client->holds);
    uvzk__list_init(&foreign_client->watches);
    uvzk__list_init(&foreign_client->background_deletes);
    foreign_client->port = sim_port_new(sim, name);
    sim_keep_handle(foreign_client->port);
    foreign_client->port->user = &foreign_client->user;
    sim_set_timeout(foreign_client->port, timeout_ms);
    foreign_client->port->open(foreign_client->port);
}

void foreign_client_close(struct foreign_client *foreign_client)
{
    foreign_client->closing = true;
    foreign_client->connected = false;
    foreign_client->port->close(foreign_client->port);
}
