/* The state machine of a handle: one ZooKeeper session, kept by one zhandle_t after
 * another (handle.h). zk_port.c and reconnect.c call it on the loop's thread.
 *
 * The C client's thread reports session events by session_event, which merges them into
 * handle->pending under a mutex. The loop reads them in read_pending and calls the port.
 * Opening, leaving and closing a zhandle_t block, so each is a pair of functions:
 * ..._work runs on a thread of its own, ..._done runs on the loop's thread afterwards.
 * Between the two, the loop does not use handle->zh. Events that come while the handle is
 * OPENING or LEAVING are read afterwards. */
#include "session/handle.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "platform/error_map.h"
#include "session/close_keep_session.h"
#include "session/zk_port.h"

#define SEEKING UVZK__HANDLE_SEEKING
#define OPENING UVZK__HANDLE_OPENING
#define CLOSE_PENDING UVZK__HANDLE_CLOSE_PENDING
#define OPEN UVZK__HANDLE_OPEN
#define LEAVING UVZK__HANDLE_LEAVING
#define CONNECTED UVZK__HANDLE_CONNECTED
#define DRAINING UVZK__HANDLE_DRAINING
#define CLOSING UVZK__HANDLE_CLOSING

static const struct uvzk__state table[] = {
    [SEEKING] = {"SEEKING", UVZK__BIT(OPENING) | UVZK__BIT(CLOSING)},
    [OPENING] = {"OPENING",
                 UVZK__BIT(OPEN) | UVZK__BIT(SEEKING) | UVZK__BIT(CLOSE_PENDING)},
    [CLOSE_PENDING] = {"CLOSE_PENDING", UVZK__BIT(CLOSING)},
    [OPEN] = {"OPEN", UVZK__BIT(CONNECTED) | UVZK__BIT(LEAVING) | UVZK__BIT(CLOSING)},
    [LEAVING] = {"LEAVING",
                 UVZK__BIT(SEEKING) | UVZK__BIT(OPEN) | UVZK__BIT(CLOSE_PENDING)},
    [CONNECTED] = {"CONNECTED",
                   UVZK__BIT(OPEN) | UVZK__BIT(DRAINING) | UVZK__BIT(CLOSING)},
    [DRAINING] = {"DRAINING", UVZK__BIT(CLOSING)},
    [CLOSING] = {"CLOSING", 0},
};

const struct uvzk__machine uvzk__handle_machine = UVZK__MACHINE("handle", table);

static bool invariant_holds(const struct uvzk__handle *handle)
{
    switch (handle->state) {
    case SEEKING:
        return handle->zh == NULL;
    case CONNECTED:
        return handle->zh != NULL;
    case DRAINING:
        return handle->zh != NULL && uvzk__send_window_in_flight(&handle->window) > 0;
    default: /* a thread may be opening or closing it, and may set zh */
        return true;
    }
}

/* The only function that writes state; called on the loop's thread. */
static void move(struct uvzk__handle *handle, enum uvzk__handle_state state)
{
    handle->state =
        (uint8_t)uvzk__machine_move(&uvzk__handle_machine, handle->state, state);
    assert(invariant_holds(handle));
}

void uvzk__handle_connect(struct uvzk__handle *handle)
{
    move(handle, CONNECTED);
    uvzk__send_window_connect(&handle->window, handle->zh);
    handle->resumes_session = false;
}

void uvzk__handle_disconnect(struct uvzk__handle *handle)
{
    if (handle->state == CONNECTED) {
        uvzk__send_window_disconnect(&handle->window);
        move(handle, OPEN);
    }
}

/* ------------------------------------------------------------------- pending events */

static void read_pending(struct uvzk__handle *handle)
{
    pthread_mutex_lock(&handle->mutex);
    struct uvzk__pending_events news = handle->pending;
    handle->pending.suspended = false;
    handle->pending.connected = false;
    pthread_mutex_unlock(&handle->mutex);

    struct uvzk__zk_port *port = handle->port;
    /* An old connection is reported lost before anything newer. If the connection was
     * lost and replaced since the last read, both callbacks run. */
    if (news.suspended && handle->state == CONNECTED && port->handle == handle) {
        port->handle_user->suspended(handle);
    }
    /* In each callback the user may close the port, or the port may replace its
     * handle. */
    if (news.ended && port->handle == handle) {
        port->handle_user->ended(handle, news.end, news.end_status);
    } else if (news.wrong_server && port->handle == handle) {
        port->handle_user->wrong_server(handle, news.server);
    } else if (news.connected && port->handle == handle) {
        port->handle_user->connected(handle, &news);
    }
}

static void pending_arrive(struct uvzk__to_loop_entry *entry)
{
    struct uvzk__handle *handle =
        UVZK__CONTAINER_OF(entry, struct uvzk__handle, pending_entry);
    pthread_mutex_lock(&handle->mutex);
    /* Reset only here, when the entry is off the to_loop queue: only then may it be
     * pushed again. */
    handle->pending.on_its_way = false;
    pthread_mutex_unlock(&handle->mutex);
    if (handle->state != OPENING && handle->state != LEAVING &&
        handle->state != CLOSE_PENDING) { /* else open_done or leave_done reads them */
        read_pending(handle);
    }
}

/* The caller holds the mutex. If pending events are already on their way in the to_loop
 * queue, new events join them there, and so may overtake replies that were pushed between
 * the two. This is harmless: SUSPENDED settles all outstanding rpcs, so no reply that was
 * pushed between the two is delivered wrongly. */
static void push_pending(struct uvzk__handle *handle)
{
    if (!handle->pending.on_its_way) {
        handle->pending.on_its_way = true;
        uvzk__to_loop_push(&handle->port->to_loop, &handle->pending_entry,
                           pending_arrive);
    }
}

/* The caller holds the mutex. The first end counts; later ones are ignored. */
static void end_pending(struct uvzk__handle *handle, enum uvzk__session_event_kind kind,
                        int status)
{
    handle->pending.connected = false;
    if (!handle->pending.ended) {
        handle->pending.ended = true;
        handle->pending.end = kind;
        handle->pending.end_status = status;
    }
}

/* Runs on the C client's thread, at the first CONNECTED and before every request. Earlier
 * the C client may refuse the credentials, because it may be between two attempts to
 * connect. From then on the C client sends the credentials itself on every connection. */
static int authenticate(struct uvzk__handle *handle, zhandle_t *zh)
{
    const struct uvzk__zk_port *port = handle->port;
    if (handle->authenticated || port->auth_scheme == NULL) {
        return ZOK;
    }
    int rc =
        zoo_add_auth(zh, port->auth_scheme, port->auth, port->auth_length, NULL, NULL);
    handle->authenticated = rc == ZOK;
    return rc;
}

/* Returns whether the C client has reached a ZooKeeper server. The C client itself
 * accepts any answer as a server's. */
static bool is_server(zhandle_t *zh)
{
    return zoo_client_id(zh)->client_id != 0 && zoo_recv_timeout(zh) > 0;
}

/* Writes "address:port" of the connected server, or "a server" if the address is
 * unknown. */
static void name_server(zhandle_t *zh, char text[UVZK__SERVER_TEXT])
{
    struct uvzk__address address = {.length = sizeof(address.socket)};
    snprintf(text, UVZK__SERVER_TEXT, "a server");
    if (zookeeper_get_connected_host(zh, &address.socket.any, &address.length) != NULL) {
        uvzk__address_server_text(&address, text);
    }
}

/* [P2] The C client's own thread stores each session timeout that a server grants, so
 * that a late loop does not keep a hold valid too long. The caller holds the mutex. The
 * value belongs to the port's session. If this handle's session has ended, the port may
 * already have another session, so the value is ignored. */
static void given(struct uvzk__handle *handle, uint32_t timeout_ms)
{
    if (!handle->pending.ended) {
        uvzk__port_timeout_granted(&handle->port->port, timeout_ms);
    }
}

/* Runs on the C client's thread. Only here is it safe to read the session id and the
 * session timeout from the zhandle_t. */
static void session_event(zhandle_t *zh, int type, int state, const char *path,
                          void *context)
{
    struct uvzk__handle *handle = context;
    (void)path;
    if (type != ZOO_SESSION_EVENT) {
        return;
    }
    bool wrong_server = state == ZOO_CONNECTED_STATE && !is_server(zh);
    int auth =
        state == ZOO_CONNECTED_STATE && !wrong_server ? authenticate(handle, zh) : ZOK;

    pthread_mutex_lock(&handle->mutex);
    if (state == ZOO_EXPIRED_SESSION_STATE) {
        end_pending(handle, UVZK__SESSION_EXPIRED, UVZK_EEXPIRED);
    } else if (state == ZOO_AUTH_FAILED_STATE) {
        end_pending(handle, UVZK__SESSION_AUTH_FAILED, UVZK_EAUTH);
    } else if (wrong_server) {
        handle->pending.wrong_server = true;
        handle->pending.connected = false;
        name_server(zh, handle->pending.server);
    } else if (state != ZOO_CONNECTED_STATE || auth == ZINVALIDSTATE) {
        /* ZINVALIDSTATE: the C client lost the connection before it accepted the
         * credentials. */
        handle->pending.suspended = true;
        handle->pending.connected = false;
    } else if (auth != ZOK) {
        end_pending(handle, UVZK__SESSION_OPEN_FAILED, uvzk__error_of_submit(auth));
    } else {
        handle->pending.connected = true;
        handle->pending.session = *zoo_client_id(zh);
        name_server(zh, handle->pending.server);
        handle->pending.timeout_ms = (uint32_t)zoo_recv_timeout(zh);
        /* Before the loop hears of the connection (engine/port.h, 12). */
        given(handle, handle->pending.timeout_ms);
    }
    push_pending(handle);
    pthread_mutex_unlock(&handle->mutex);
}

void uvzk__handle_abandon(struct uvzk__handle *handle)
{
    pthread_mutex_lock(&handle->mutex);
    end_pending(handle, UVZK__SESSION_EXPIRED, UVZK_EEXPIRED);
    push_pending(handle);
    pthread_mutex_unlock(&handle->mutex);
}

/* -------------------------------------------------------------------------- closing */

/* The handle has no zhandle_t any more. `freed` may end the port. */
static void free_handle(struct uvzk__handle *handle)
{
    struct uvzk__zk_port *port = handle->port;
    uvzk__send_window_clear(&handle->window);
    uvzk__send_window_destroy(&handle->window);
    pthread_mutex_destroy(&handle->mutex);
    uvzk__free(handle->servers);
    uvzk__free(handle);
    port->handle_user->freed(port);
}

static struct uvzk__handle *handle_of(struct uvzk__blocking_call *call)
{
    return UVZK__CONTAINER_OF(call, struct uvzk__handle, call);
}

static void begin_call(struct uvzk__handle *handle,
                       void (*work)(struct uvzk__blocking_call *),
                       void (*done)(struct uvzk__blocking_call *))
{
    uvzk__blocking_call_begin(&handle->call, handle->port->loop, &handle->port->to_loop,
                              work, done);
}

static void close_work(struct uvzk__blocking_call *call)
{
    struct uvzk__handle *handle = handle_of(call);
    uvzk__submit_thread_end(&handle->window.submit_thread);
    if (handle->zh != NULL) {
        uvzk__log_route_enter(&handle->log_route);
        zookeeper_close(handle->zh);
        uvzk__log_route_leave();
        uvzk__log_route_end(&handle->log_route);
    }
}

/* The C client's threads have ended. Nothing of this handle is on the to_loop queue,
 * because done() runs after everything that they pushed. Requests that they have not
 * answered (ZOOKEEPER-2894) will not be answered any more; free_handle frees them. */
static void close_done(struct uvzk__blocking_call *call)
{
    free_handle(handle_of(call));
}

static void begin_close(struct uvzk__handle *handle)
{
    move(handle, CLOSING);
    begin_call(handle, close_work, close_done);
}

void uvzk__handle_end(struct uvzk__handle *handle, bool drain)
{
    /* A thread uses the zhandle_t; open_done or leave_done closes it. */
    if (handle->state == OPENING || handle->state == LEAVING) {
        move(handle, CLOSE_PENDING);
        return;
    }
    uvzk__send_window_disconnect(&handle->window);
    if (drain && handle->state == CONNECTED &&
        uvzk__send_window_in_flight(&handle->window) > 0) {
        move(handle, DRAINING);
    } else {
        begin_close(handle);
    }
}

void uvzk__handle_stop_draining(struct uvzk__handle *handle)
{
    begin_close(handle);
}

/* A request has come back: closes a DRAINING handle if no more requests are in flight. */
static void returned(struct uvzk__send_window *window)
{
    struct uvzk__handle *handle = UVZK__CONTAINER_OF(window, struct uvzk__handle, window);
    if (handle->state == DRAINING && uvzk__send_window_in_flight(window) == 0) {
        handle->port->handle_user->drained(handle);
        begin_close(handle);
    }
}

/* -------------------------------------------------------------------------- leaving */

bool uvzk__handle_has_connected(const struct uvzk__handle *handle)
{
    return handle->state == OPEN && zoo_state(handle->zh) == ZOO_CONNECTED_STATE;
}

/* Takes over the port's session, if it has one. */
static void inherit(struct uvzk__handle *handle)
{
    handle->pending.session = handle->port->session;
    handle->resumes_session = handle->port->session.client_id != 0;
}

static void leave_work(struct uvzk__blocking_call *call)
{
    struct uvzk__handle *handle = handle_of(call);
    uvzk__submit_thread_end(&handle->window.submit_thread);
    uint32_t timeout_ms = 0;
    uvzk__log_route_enter(&handle->log_route);
    bool closed = uvzk__close_keep_session(handle->zh, &timeout_ms);
    uvzk__log_route_leave();
    /* The server of the last connection may have shortened the session timeout. */
    if (timeout_ms > 0) {
        pthread_mutex_lock(&handle->mutex);
        given(handle, timeout_ms);
        pthread_mutex_unlock(&handle->mutex);
    }
    if (closed) {
        uvzk__log_route_end(&handle->log_route);
        handle->zh = NULL;
    }
}

/* Puts the handle back into its initial state. None of the C client's threads is left,
 * and nothing that they pushed is on the to_loop queue. An end of the session that the C
 * client has reported stays pending. */
static void begin_anew(struct uvzk__handle *handle)
{
    uvzk__send_window_clear(&handle->window);
    handle->authenticated = false;
    inherit(handle);
    pthread_mutex_lock(&handle->mutex);
    handle->pending.suspended = handle->pending.connected = handle->pending.wrong_server =
        false;
    pthread_mutex_unlock(&handle->mutex);
    move(handle, SEEKING);
}

/* If the zhandle_t could not be closed without ending the session (no memory), the end of
 * the session is reported first and the zhandle_t is closed after that. So the holds are
 * invalid before the close ends the session. */
static void leave_done(struct uvzk__blocking_call *call)
{
    struct uvzk__handle *handle = handle_of(call);
    const struct uvzk__handle_user *user = handle->port->handle_user;

    uvzk__submit_thread_reset(&handle->window.submit_thread);
    if (handle->state == CLOSE_PENDING) {
        begin_close(handle);
    } else if (handle->zh != NULL) {
        move(handle, OPEN);
        pthread_mutex_lock(&handle->mutex);
        end_pending(handle, UVZK__SESSION_EXPIRED, UVZK_EEXPIRED);
        pthread_mutex_unlock(&handle->mutex);
        user->ended(handle, UVZK__SESSION_EXPIRED, UVZK_EEXPIRED);
    } else {
        begin_anew(handle);
        if (handle->pending.ended) {
            read_pending(handle);
        } else {
            user->left(handle);
        }
    }
}

void uvzk__handle_server(struct uvzk__handle *handle, char text[UVZK__SERVER_TEXT])
{
    pthread_mutex_lock(&handle->mutex);
    memcpy(text, handle->pending.server, UVZK__SERVER_TEXT);
    pthread_mutex_unlock(&handle->mutex);
}

void uvzk__handle_leave(struct uvzk__handle *handle)
{
    uvzk__registrations_detach_all(&handle->window.registrations);
    move(handle, LEAVING);
    begin_call(handle, leave_work, leave_done);
}

/* -------------------------------------------------------------------------- opening */

/* Settings of the C client for the whole process. */
static void configure_client(void)
{
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    /* Without this, the C client seeds the random() of the process whenever it resolves
     * names. uvzk shuffles the addresses itself. */
    zoo_deterministic_conn_order(1);
}

static zhandle_t *init_client(struct uvzk__handle *handle)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigset_t all;
    sigset_t before;
    char name[UVZK__THREAD_NAME];

    pthread_once(&once, configure_client);
    uvzk__log_route_begin(&handle->log_route, &handle->port->log_lines);
    uvzk__log_route_enter(&handle->log_route);
    uvzk__log_route_name(&handle->log_route, name);
    /* The C client's threads inherit the signal mask. Signals belong to the application's
     * threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    zhandle_t *zh = zookeeper_init2(
        handle->servers, session_event, (int)handle->port->session_timeout_ms,
        handle->resumes_session ? &handle->pending.session : NULL, handle,
        ZOO_NO_LOG_CLIENTENV, uvzk__log_route_callback());
    int error = errno;
    if (zh != NULL) {
        /* The C client must not resolve names again while it is connected: that would
         * stop its pings. */
        zoo_set_servers_resolution_delay(zh, -1);
    } else {
        uvzk__log_route_end(&handle->log_route);
        /* Other errors are failures to create threads, pipes or memory. */
        handle->open_status = error == EINVAL ? UV_EINVAL : UV_ENOMEM;
    }
    uvzk__log_route_unname(name);
    uvzk__log_route_leave();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return zh;
}

static void open_work(struct uvzk__blocking_call *call)
{
    struct uvzk__handle *handle = handle_of(call);
    handle->zh = init_client(handle);
}

static void open_done(struct uvzk__blocking_call *call)
{
    struct uvzk__handle *handle = handle_of(call);

    if (handle->state == CLOSE_PENDING) {
        begin_close(handle);
    } else if (handle->zh == NULL && handle->resumes_session) {
        move(handle, SEEKING);
        /* The session may be alive at the servers, so opening is tried again. */
        handle->port->handle_user->unopened(handle);
    } else if (handle->zh == NULL) {
        move(handle, OPEN);
        handle->port->handle_user->ended(handle, UVZK__SESSION_OPEN_FAILED,
                                         handle->open_status);
    } else {
        move(handle, OPEN);
        handle->port->handle_user->opened(handle);
        read_pending(handle);
    }
}

void uvzk__handle_start(struct uvzk__handle *handle, char *servers)
{
    uvzk__free(handle->servers);
    handle->servers = servers;
    move(handle, OPENING);
    begin_call(handle, open_work, open_done);
}

struct uvzk__handle *uvzk__handle_new(struct uvzk__zk_port *port)
{
    struct uvzk__handle *handle = uvzk__calloc(1, sizeof(*handle));
    if (handle == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&handle->mutex, NULL) != 0) {
        uvzk__free(handle);
        return NULL;
    }
    if (uvzk__send_window_init(&handle->window, &port->outstanding, &port->to_loop,
                               &handle->log_route, port->auth_scheme != NULL,
                               returned) < 0) {
        pthread_mutex_destroy(&handle->mutex);
        uvzk__free(handle);
        return NULL;
    }
    handle->port = port;
    inherit(handle);
    return handle;
}
