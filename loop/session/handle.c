/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of a handle: one ZooKeeper session, kept by one zhandle_t after
 * another (handle.h). zk_port.c and reconnect.c call it on the loop's thread.
 *
 * The C client's thread reports session events to handle->pending (pending_events.h). The
 * loop reads them in read_pending and calls the port. Opening, leaving and closing a
 * zhandle_t block, so each is a pair of functions: ..._work runs on a thread of its own,
 * ..._done runs on the loop's thread afterwards. Between the two, the loop does not use
 * handle->zh. Events that come while the handle is OPENING or LEAVING are read
 * afterwards. */
#include "session/handle.h"

#include <errno.h>
#include <signal.h>

#include "base/memory.h"
#include "session/close_keep_session.h"
#include "session/zk_port.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__HANDLE_, SEEKING, OPENING, CLOSING),
    UVZK__STATE(UVZK__HANDLE_, OPENING, OPEN, SEEKING, CLOSE_PENDING),
    UVZK__STATE(UVZK__HANDLE_, CLOSE_PENDING, CLOSING),
    UVZK__STATE(UVZK__HANDLE_, OPEN, ASKING, CONNECTED, LEAVING, DRAINING, CLOSING),
    UVZK__STATE(UVZK__HANDLE_, LEAVING, SEEKING, OPEN, CLOSE_PENDING),
    UVZK__STATE(UVZK__HANDLE_, ASKING, OPEN, CONNECTED, DRAINING, CLOSING),
    UVZK__STATE(UVZK__HANDLE_, CONNECTED, OPEN, DRAINING, CLOSING),
    UVZK__STATE(UVZK__HANDLE_, DRAINING, CLOSING),
    UVZK__FINAL(UVZK__HANDLE_, CLOSING),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__handle *handle = object;

    switch (handle->state) {
    case UVZK__HANDLE_SEEKING:
        return handle->zh == NULL;
    case UVZK__HANDLE_ASKING:
    case UVZK__HANDLE_CONNECTED:
        return handle->zh != NULL;
    case UVZK__HANDLE_DRAINING:
        return handle->zh != NULL && uvzk__send_window_in_flight(&handle->window) > 0;
    default: /* a thread may be opening or closing it, and may set zh */
        return true;
    }
}

const struct uvzk__machine uvzk__handle_machine =
    UVZK__MACHINE("handle", table, struct uvzk__handle, state, invariant_holds);

void uvzk__handle_connect(struct uvzk__handle *handle)
{
    bool asked = handle->state == UVZK__HANDLE_ASKING;

    uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                    UVZK__HANDLE_CONNECTED);
    if (!asked) {
        uvzk__send_window_connect(&handle->window, handle->zh);
    }
    handle->resumes_session = false;
}

void uvzk__handle_disconnect(struct uvzk__handle *handle)
{
    if (handle->state == UVZK__HANDLE_ASKING || handle->state == UVZK__HANDLE_CONNECTED) {
        uvzk__send_window_disconnect(&handle->window);
        uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                        UVZK__HANDLE_OPEN);
    }
}

/* --------------------------------------------------------------------------- asking */

/* The questions of the dialect go through the send window.
 *
 * The C client refuses to remove a watch that it does not have. So the question whether
 * the server removes watches is two requests: an exists with a watch, and when that has
 * been answered, the removal. */

static struct uvzk__dialect *dialect_of(struct uvzk__handle *handle)
{
    return &handle->port->base.dialect;
}

static enum uvzk__own_request first_request(enum uvzk__feature feature)
{
    return feature == UVZK__FEATURE_CREATE2      ? UVZK__OWN_ASK_CREATE2
           : feature == UVZK__FEATURE_CONTAINERS ? UVZK__OWN_ASK_CONTAINERS
                                                 : UVZK__OWN_ASK_WATCH;
}

static enum uvzk__feature feature_of(enum uvzk__own_request question)
{
    return question == UVZK__OWN_ASK_CREATE2      ? UVZK__FEATURE_CREATE2
           : question == UVZK__OWN_ASK_CONTAINERS ? UVZK__FEATURE_CONTAINERS
                                                  : UVZK__FEATURE_REMOVAL;
}

/* Returns the code of the C client. */
static int send_questions(struct uvzk__handle *handle)
{
    enum uvzk__feature feature;
    int code = ZOK;

    while (code == ZOK && uvzk__dialect_next(dialect_of(handle), &feature)) {
        code = uvzk__send_window_send_own(&handle->window, first_request(feature));
    }
    return code;
}

static void ask_on(struct uvzk__handle *handle)
{
    const struct uvzk__handle_user *user = handle->port->handle_user;

    if (uvzk__dialect_is_settled(dialect_of(handle))) {
        user->asked(handle);
    } else if (send_questions(handle) != ZOK) {
        user->asked_in_vain(handle);
    }
}

void uvzk__handle_ask(struct uvzk__handle *handle, const struct uvzk__session_news *news)
{
    uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                    UVZK__HANDLE_ASKING);
    uvzk__send_window_connect(&handle->window, handle->zh);
    handle->unannounced = *news;
    handle->asking_since = uvzk_now();
    uvzk__dialect_begin(dialect_of(handle));
    ask_on(handle);
}

/* A server has answered a question of an ASKING handle. */
static void asking_told(struct uvzk__handle *handle, enum uvzk__own_request question,
                        int code)
{
    if (question == UVZK__OWN_ASK_WATCH) {
        question = UVZK__OWN_ASK_REMOVAL;
        code = uvzk__send_window_send_own(&handle->window, question);
        if (code == ZOK) {
            return;
        }
    }
    if (uvzk__dialect_answered(dialect_of(handle), feature_of(question), code)) {
        ask_on(handle);
    } else {
        handle->port->handle_user->asked_in_vain(handle);
    }
}

static void handle_told(struct uvzk__send_window *window, enum uvzk__own_request question,
                        int code)
{
    struct uvzk__handle *handle = UVZK__CONTAINER_OF(window, struct uvzk__handle, window);

    if (handle->state == UVZK__HANDLE_ASKING) {
        asking_told(handle, question, code);
    }
}

/* ------------------------------------------------------------------- pending events */

static void read_pending(struct uvzk__handle *handle)
{
    struct uvzk__zk_port *port = handle->port;
    struct uvzk__session_news news = uvzk__pending_events_read(&handle->pending);

    /* An old connection is reported lost before anything newer. If the connection was
     * lost and replaced since the last read, both callbacks run. */
    if (news.suspended && port->handle == handle) {
        if (handle->state == UVZK__HANDLE_CONNECTED) {
            port->handle_user->suspended(handle);
        } else if (handle->state == UVZK__HANDLE_ASKING) {
            port->handle_user->asked_in_vain(handle);
        }
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

static void pending_arrived(struct uvzk__pending_events *events)
{
    struct uvzk__handle *handle =
        UVZK__CONTAINER_OF(events, struct uvzk__handle, pending);
    if (handle->state != UVZK__HANDLE_OPENING && handle->state != UVZK__HANDLE_LEAVING &&
        handle->state !=
            UVZK__HANDLE_CLOSE_PENDING) { /* else open_done or leave_done reads them */
        read_pending(handle);
    }
}

void uvzk__handle_abandon(struct uvzk__handle *handle)
{
    uvzk__pending_events_expire(&handle->pending, true);
}

/* -------------------------------------------------------------------------- closing */

/* The handle no longer has a zhandle_t. `freed` may end the port. */
static void free_handle(struct uvzk__handle *handle)
{
    struct uvzk__zk_port *port = handle->port;
    uvzk__send_window_clear(&handle->window);
    uvzk__send_window_destroy(&handle->window);
    uvzk__pending_events_destroy(&handle->pending);
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
    uvzk__blocking_call_begin(&handle->call, handle->port->base.port_loop.loop,
                              &handle->port->base.to_loop, work, done);
}

static bool is_inherited(const struct uvzk__handle *handle)
{
    return uvzk__loop_port_is_inherited(&handle->port->base);
}

static void close_work(struct uvzk__blocking_call *call)
{
    struct uvzk__handle *handle = handle_of(call);
    if (is_inherited(handle)) {
        return; /* the C client's threads and its connection belong to the parent */
    }
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
 * answered yet (ZOOKEEPER-2894) will never be answered; free_handle frees them. */
static void close_done(struct uvzk__blocking_call *call)
{
    free_handle(handle_of(call));
}

static void begin_close(struct uvzk__handle *handle)
{
    uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                    UVZK__HANDLE_CLOSING);
    begin_call(handle, close_work, close_done);
}

/* An answer that has come and has not been read resets the connection when it is closed,
 * and the server may then never read the C client's last request, which ends the
 * session. */
static bool must_drain(const struct uvzk__handle *handle)
{
    return !is_inherited(handle) &&
           (handle->state == UVZK__HANDLE_CONNECTED ||
            uvzk__handle_has_connected(handle)) &&
           uvzk__send_window_in_flight(&handle->window) > 0;
}

void uvzk__handle_end(struct uvzk__handle *handle)
{
    /* A thread uses the zhandle_t; open_done or leave_done closes it. */
    if (handle->state == UVZK__HANDLE_OPENING || handle->state == UVZK__HANDLE_LEAVING) {
        uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                        UVZK__HANDLE_CLOSE_PENDING);
        if (!is_inherited(handle)) {
            return;
        }
    }
    uvzk__send_window_disconnect(&handle->window);
    if (must_drain(handle)) {
        uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                        UVZK__HANDLE_DRAINING);
    } else {
        begin_close(handle);
    }
}

void uvzk__handle_stop_draining(struct uvzk__handle *handle)
{
    begin_close(handle);
}

/* A request has come back: closes a DRAINING handle if no more requests are in flight. */
static void handle_returned(struct uvzk__send_window *window)
{
    struct uvzk__handle *handle = UVZK__CONTAINER_OF(window, struct uvzk__handle, window);
    if (handle->state == UVZK__HANDLE_DRAINING &&
        uvzk__send_window_in_flight(window) == 0) {
        handle->port->handle_user->drained(handle);
        begin_close(handle);
    }
}

/* -------------------------------------------------------------------------- leaving */

bool uvzk__handle_has_connected(const struct uvzk__handle *handle)
{
    return handle->state == UVZK__HANDLE_ASKING ||
           (handle->state == UVZK__HANDLE_OPEN &&
            zoo_state(handle->zh) == ZOO_CONNECTED_STATE);
}

/* Takes over the port's session, if it has one. */
static void handle_inherit(struct uvzk__handle *handle)
{
    uvzk__pending_events_begin(&handle->pending, &handle->port->session);
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
        uvzk__pending_events_granted(&handle->pending, timeout_ms);
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
    handle_inherit(handle);
    uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                    UVZK__HANDLE_SEEKING);
}

/* If the zhandle_t could not be closed without ending the session (no memory), the end of
 * the session is reported first and the zhandle_t is closed after that. So the holds are
 * invalid before the close ends the session. */
static void leave_done(struct uvzk__blocking_call *call)
{
    struct uvzk__handle *handle = handle_of(call);
    const struct uvzk__handle_user *user = handle->port->handle_user;

    uvzk__submit_thread_reset(&handle->window.submit_thread);
    if (handle->state == UVZK__HANDLE_CLOSE_PENDING) {
        begin_close(handle);
    } else if (handle->zh != NULL) {
        uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                        UVZK__HANDLE_OPEN);
        uvzk__pending_events_expire(&handle->pending, false);
        user->ended(handle, UVZK__SESSION_EXPIRED, UVZK_EEXPIRED);
    } else {
        begin_anew(handle);
        if (uvzk__pending_events_have_end(&handle->pending)) {
            read_pending(handle);
        } else {
            user->left(handle);
        }
    }
}

void uvzk__handle_server(struct uvzk__handle *handle, char text[UVZK__SERVER_TEXT])
{
    uvzk__pending_events_server(&handle->pending, text);
}

void uvzk__handle_leave(struct uvzk__handle *handle)
{
    uvzk__registrations_detach_all(&handle->window.registrations);
    uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                    UVZK__HANDLE_LEAVING);
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
        handle->servers, uvzk__pending_events_watch,
        (int)handle->port->base.options.session_timeout_ms,
        handle->resumes_session ? uvzk__pending_events_session(&handle->pending) : NULL,
        &handle->pending, ZOO_NO_LOG_CLIENTENV, uvzk__log_route_callback());
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

    if (handle->state == UVZK__HANDLE_CLOSE_PENDING) {
        begin_close(handle);
    } else if (handle->zh == NULL && handle->resumes_session) {
        uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                        UVZK__HANDLE_SEEKING);
        /* The session may be alive at the servers, so opening is tried again. */
        handle->port->handle_user->unopened(handle);
    } else if (handle->zh == NULL) {
        uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                        UVZK__HANDLE_OPEN);
        handle->port->handle_user->ended(handle, UVZK__SESSION_OPEN_FAILED,
                                         handle->open_status);
    } else {
        uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                        UVZK__HANDLE_OPEN);
        handle->port->handle_user->opened(handle);
        read_pending(handle);
    }
}

void uvzk__handle_start(struct uvzk__handle *handle, char *servers)
{
    uvzk__free(handle->servers);
    handle->servers = servers;
    uvzk__port_move(&handle->port->base.port, &uvzk__handle_machine, handle,
                    UVZK__HANDLE_OPENING);
    begin_call(handle, open_work, open_done);
}

struct uvzk__handle *uvzk__handle_new(struct uvzk__zk_port *port)
{
    struct uvzk__handle *handle = uvzk__calloc(1, sizeof(*handle));
    if (handle == NULL) {
        return NULL;
    }
    if (uvzk__pending_events_init(&handle->pending, port, pending_arrived) < 0) {
        uvzk__free(handle);
        return NULL;
    }
    if (uvzk__send_window_init(&handle->window, &port->outstanding, &port->base.to_loop,
                               &handle->log_route, &port->base.dialect,
                               port->base.options.auth_scheme != NULL) < 0) {
        uvzk__pending_events_destroy(&handle->pending);
        uvzk__free(handle);
        return NULL;
    }
    handle->port = port;
    handle->window.returned = handle_returned;
    handle->window.told = handle_told;
    handle_inherit(handle);
    return handle;
}
