/* SPDX-License-Identifier: Apache-2.0 */
/* The port over libzookeeper_mt and libuv: the functions that src/ calls through
 * engine/port.h, and the callbacks of the port's handle (handle.h). Everything here runs
 * on the loop's thread.
 *
 * A call of the port may send requests, but it reports nothing: it wakes the loop
 * (loop_port.h). When what has come from other threads has been delivered, zk_port_woken
 * delivers the replies, then the turn. The alarm runs the turn too. So no callback runs
 * inside a call.
 *
 * Before an rpc is replied without an answer, the submit thread must have given back its
 * requests, because it may be reading the rpc.
 *
 * When the port is CLOSING and its handles, its search and its rpcs are gone,
 * zk_port_finish closes its libuv handles, and zk_port_closed frees it. */
#include "session/zk_port.h"

#include <string.h>

#include "base/memory.h"
#include "discovery/hosts.h"
#include "requests/send_window.h"
#include "session/handle.h"
#include "watches/registration.h"

/* port is the first member. */
static struct uvzk__zk_port *self_of(struct uvzk__port *port)
{
    return (struct uvzk__zk_port *)(void *)port;
}

static struct uvzk__zk_port *port_of(struct uvzk__port_loop *port_loop)
{
    return UVZK__CONTAINER_OF(port_loop, struct uvzk__zk_port, base.port_loop);
}

static bool is_closing(const struct uvzk__zk_port *port)
{
    return uvzk__loop_port_is_closing(&port->base);
}

/* Called whenever something has ended. Begins the end of the port if nothing is left. */
static void zk_port_finish(struct uvzk__zk_port *port)
{
    if (is_closing(port) && !uvzk__port_is_finishing(&port->base.life) &&
        port->handles == 0 && !uvzk__reconnect_is_searching(&port->reconnect) &&
        uvzk__outstanding_is_empty(&port->outstanding)) {
        uvzk__loop_port_finish(&port->base);
    }
}

/* -------------------------------------------------------------- what the loop calls */

static void tell_open_failure(struct uvzk__zk_port *port)
{
    int status = port->open_failure;
    port->open_failure = 0;
    if (!is_closing(port)) {
        uvzk__loop_port_tell(&port->base, UVZK__SESSION_OPEN_FAILED, status);
    }
}

static void leave_server(struct uvzk__zk_port *port);

/* The order matters: events and answers have been delivered, then the replies that they
 * settle, then the turn, which sees all of them. */
static void zk_port_woken(struct uvzk__port_loop *port_loop)
{
    struct uvzk__zk_port *port = port_of(port_loop);

    uvzk__outstanding_deliver(&port->outstanding);
    if (port->leave_wanted) {
        leave_server(port);
    }
    if (port->open_failure != 0) {
        tell_open_failure(port);
    }
    /* The replies may have set it as well: one turn serves them all. */
    if (uvzk__port_loop_take_turn(port_loop)) {
        port->base.port.user->turn(port->base.port.user);
    }
    zk_port_finish(port);
}

static void alarm_due(struct uvzk__port_loop *port_loop)
{
    struct uvzk__zk_port *port = port_of(port_loop);
    port->base.port.user->turn(port->base.port.user);
}

static void drain_timeout(struct uvzk__port_loop *port_loop)
{
    struct uvzk__zk_port *port = port_of(port_loop);
    struct uvzk__handle *draining = port->draining;
    port->draining = NULL;
    uvzk__handle_stop_draining(draining);
}

/* Frees the port. user->closed() is the port's last callback. */
static void zk_port_closed(struct uvzk__port_loop *port_loop)
{
    struct uvzk__zk_port *port = port_of(port_loop);
    /* Rpcs that were submitted after zk_port_finish() was called; they have the status
     * UVZK_ECLOSED. */
    while (!uvzk__outstanding_is_empty(&port->outstanding)) {
        uvzk__outstanding_deliver(&port->outstanding);
    }
    struct uvzk__port_user *user = port->base.port.user;
    port->base.transport->free(&port->base);
    user->closed(user);
}

/* ---------------------------------------------------------- session events */

/* The handle has a connection whose servers are known. */
static void zk_port_announce(struct uvzk__handle *handle,
                             const struct uvzk__session_news *news)
{
    struct uvzk__zk_port *port = handle->port;
    const struct uvzk__session_event event = {.kind = UVZK__SESSION_CONNECTED,
                                              .session_id = news->session.client_id,
                                              .timeout_ms = news->timeout_ms,
                                              .watches_lost = handle->resumes_session,
                                              .local_address = handle->local_address,
                                              .server = news->server};

    /* If the handle is connected already, outstanding rpcs are still valid and only the
     * event is repeated. */
    if (!uvzk__handle_is_connected(handle)) {
        /* Rpcs that were submitted while there was no connection are replied with
         * UVZK_ENOTSENT before CONNECTED. A callback may close the port. */
        uvzk__outstanding_deliver(&port->outstanding);
        if (port->handle != handle) {
            return;
        }
        uvzk__handle_connect(handle);
        port->session = news->session;
        uvzk__reconnect_connected(port);
        /* Before the user is told of the connection, so that the removals precede the
         * user's new watches on the same paths. */
        uvzk__send_window_remove_detached(&handle->window);
        uvzk__send_window_pump(&handle->window);
    }
    port->base.port.user->session(port->base.port.user, &event);
}

static void zk_port_connected(struct uvzk__handle *handle,
                              const struct uvzk__session_news *news)
{
    if (uvzk__handle_is_asking(handle)) {
        handle->unannounced = *news;
    } else if (uvzk__dialect_is_settled(&handle->port->base.dialect)) {
        zk_port_announce(handle, news);
    } else {
        uvzk__handle_ask(handle, news);
    }
}

static void zk_port_asked(struct uvzk__handle *handle)
{
    zk_port_announce(handle, &handle->unannounced);
}

/* The handle is no longer connected. The submit thread returns its requests before any
 * rpc is replied without an answer, because it may be reading the rpc. */
static void zk_port_disconnect(struct uvzk__handle *handle)
{
    uvzk__handle_disconnect(handle);
    uvzk__send_window_take_back(&handle->window);
}

/* The user is told of the lost connection before the replies. */
static void tell_suspended(struct uvzk__zk_port *port)
{
    uvzk__outstanding_fail(&port->outstanding, UVZK_ECONNLOSS, UVZK_ENOTSENT);
    uvzk__loop_port_tell(&port->base, UVZK__SESSION_SUSPENDED, 0);
    uvzk__outstanding_deliver(&port->outstanding);
}

/* The connection is lost. */
static void zk_port_suspended(struct uvzk__handle *handle)
{
    zk_port_disconnect(handle);
    uvzk__reconnect_lost(handle->port);
    tell_suspended(handle->port);
}

/* Treats the connected server as if the connection had been lost, although it is not.
 * Answers that arrive from now on are ignored. The session continues on the next
 * connection. */
static void leave_server(struct uvzk__zk_port *port)
{
    struct uvzk__handle *handle = port->handle;

    port->leave_wanted = false;
    if (handle == NULL || !uvzk__handle_is_connected(handle)) {
        return;
    }
    zk_port_disconnect(handle);
    tell_suspended(port);
    /* The user's callbacks may have closed the port. */
    if (port->handle == handle && !is_closing(port)) {
        uvzk__reconnect_diverged(port);
    }
}

/* Closes the handle. At most one handle of a port drains: the next one takes its place.
 * While the port lives, it drains until its answers have come, or its connection is
 * lost. */
static void end_handle(struct uvzk__zk_port *port, struct uvzk__handle *handle)
{
    struct uvzk__handle *before = port->draining;

    uvzk__handle_end(handle);
    if (!uvzk__handle_is_draining(handle)) {
        return;
    }
    port->draining = handle;
    if (before != NULL) {
        uvzk__handle_stop_draining(before);
    }
    if (is_closing(port)) {
        uvzk__port_loop_drain(&port->base.port_loop);
    }
}

/* The session has ended, or the handle could not be opened. */
static void zk_port_ended(struct uvzk__handle *handle, enum uvzk__session_event_kind kind,
                          int status)
{
    struct uvzk__zk_port *port = handle->port;

    zk_port_disconnect(handle);
    handle->end_status = status;
    uvzk__registrations_detach_all(&handle->window.registrations);
    uvzk__outstanding_fail(&port->outstanding, status, status);
    /* The user has not been told yet and may submit further rpcs in these replies. Those
     * are also replied with the same status, before the event. */
    while (port->handle == handle && !uvzk__outstanding_is_empty(&port->outstanding)) {
        uvzk__outstanding_deliver(&port->outstanding);
    }
    if (port->handle != handle) {
        return; /* the user has closed the port in a reply */
    }
    port->handle = NULL;
    /* The next handle begins a new session. */
    memset(&port->session, 0, sizeof(port->session));
    uvzk__port_timeout_reset(&port->base.port);
    uvzk__reconnect_stop(port);
    /* The event comes first, because closing the handle may end the session and so its
     * ephemeral znodes. By then no hold is still valid. */
    uvzk__loop_port_tell(&port->base, kind, status);
    end_handle(port, handle);
    uvzk__to_loop_wake(&port->base.to_loop);
}

static void open_handle(struct uvzk__port *public_port);

/* The user was not told of the session, which ends by its timeout. A new handle asks
 * again, in a new session: the C client would re-arm the watch of a question, and not
 * every server knows that request. A connection that is lost late has timed out. */
static void asked_in_vain(struct uvzk__handle *handle)
{
    struct uvzk__zk_port *port = handle->port;
    uint64_t asked_ms = uvzk_now() - handle->asking_since;

    if (asked_ms < port->base.options.session_timeout_ms / 3) {
        uvzk__dialect_lost(&port->base.dialect);
    }
    zk_port_disconnect(handle);
    port->handle = NULL;
    uvzk__port_timeout_reset(&port->base.port);
    uvzk__reconnect_stop(port);
    open_handle(&port->base.port);
    end_handle(port, handle);
}

static void wrong_server(struct uvzk__handle *handle, const char *server)
{
    uvzk__reconnect_wrong_server(handle->port, server);
}

static void zk_port_opened(struct uvzk__handle *handle)
{
    uvzk__reconnect_lost(handle->port);
}

static void zk_port_unopened(struct uvzk__handle *handle)
{
    uvzk__reconnect_retry(handle->port);
}

/* The C client may have been connected meanwhile, to a server that has shortened the
 * session timeout. The turn reads least_timeout_ms (engine/port.h, 12). */
static void zk_port_left(struct uvzk__handle *handle)
{
    uvzk__port_loop_want_turn(&handle->port->base.port_loop);
    uvzk__reconnect_left(handle->port);
}

static void zk_port_drained(struct uvzk__handle *handle)
{
    handle->port->draining = NULL;
    uvzk__port_loop_drained(&handle->port->base.port_loop);
}

static void handle_freed(struct uvzk__zk_port *port)
{
    port->handles--;
    zk_port_finish(port);
}

static const struct uvzk__handle_user handle_user = {
    .connected = zk_port_connected,
    .suspended = zk_port_suspended,
    .ended = zk_port_ended,
    .wrong_server = wrong_server,
    .opened = zk_port_opened,
    .unopened = zk_port_unopened,
    .left = zk_port_left,
    .asked = zk_port_asked,
    .asked_in_vain = asked_in_vain,
    .drained = zk_port_drained,
    .freed = handle_freed,
    .search_freed = zk_port_finish,
};

/* ---------------------------------------------------------------------- the calls */

static void open_handle(struct uvzk__port *public_port)
{
    struct uvzk__zk_port *port = self_of(public_port);
    if (!uvzk__port_expect(&port->base.port, port->handle == NULL && !is_closing(port),
                           "port: opened twice, or after its close")) {
        return;
    }
    int status = uvzk__reconnect_open(port);
    if (status == 0) {
        port->handle = uvzk__handle_new(port);
        port->handles += port->handle != NULL;
        status = port->handle != NULL ? 0 : UV_ENOMEM;
    }
    /* open() must not call back, so zk_port_woken reports the failure. */
    if (status < 0) {
        port->open_failure = status;
        uvzk__to_loop_wake(&port->base.to_loop);
    }
}

/* Does nothing if the handle is connected or down. */
static void abandon_handle(struct uvzk__port *public_port)
{
    struct uvzk__zk_port *port = self_of(public_port);
    if (port->handle != NULL && !uvzk__handle_is_connected(port->handle)) {
        uvzk__handle_abandon(port->handle);
    }
}

/* The pending events end the handle, in any state. */
static void end_session(struct uvzk__port *public_port)
{
    struct uvzk__zk_port *port = self_of(public_port);
    if (port->handle != NULL) {
        uvzk__handle_abandon(port->handle);
    }
}

/* The server is left in zk_port_woken, not inside this call. */
static void zk_port_leave(struct uvzk__port *public_port)
{
    struct uvzk__zk_port *port = self_of(public_port);
    port->leave_wanted = true;
    uvzk__to_loop_wake(&port->base.to_loop);
}

/* In a forked child, the handle's threads belong to the parent. */
static void zk_port_inherit(struct uvzk__zk_port *port, struct uvzk__handle *handle)
{
    if (handle != NULL) {
        uvzk__send_window_inherit(&handle->window);
        port->handles++;
    }
}

/* The close does not wait for requests that only those threads have. */
static void inherit_all(struct uvzk__zk_port *port)
{
    uvzk__to_loop_renew(&port->base.to_loop);
    port->handles = 0;
    zk_port_inherit(port, port->handle);
    zk_port_inherit(port, port->draining);
}

static void close_port(struct uvzk__port *public_port)
{
    struct uvzk__zk_port *port = self_of(public_port);
    struct uvzk__handle *handle = port->handle;

    if (!uvzk__loop_port_begin_close(&port->base)) {
        return;
    }
    if (uvzk__loop_port_is_inherited(&port->base)) {
        inherit_all(port);
    }
    uvzk__log_lines_silence(&port->log_lines);
    port->leave_wanted = false;
    uvzk__reconnect_close(port);
    if (handle != NULL) {
        /* Requests that were pushed to the submit thread are still submitted, among them
         * deletes. */
        uvzk__send_window_flush(&handle->window);
        uvzk__registrations_detach_all(&handle->window.registrations);
        port->handle = NULL;
    }
    /* After close() every rpc is replied with UVZK_ECLOSED, even if its answer is
     * here. */
    uvzk__outstanding_override(&port->outstanding, UVZK_ECLOSED);
    if (handle != NULL) {
        end_handle(port, handle);
    }
    if (port->draining != NULL) {
        uvzk__port_loop_drain(&port->base.port_loop);
    }
    uvzk__to_loop_wake(&port->base.to_loop);
}

static void zk_port_submit(struct uvzk__port *public_port, struct uvzk__rpc *rpc)
{
    struct uvzk__zk_port *port = self_of(public_port);
    struct uvzk__handle *handle = port->handle;

    uvzk__outstanding_add(&port->outstanding, rpc, public_port);
    if (is_closing(port)) {
        uvzk__outstanding_settle(rpc, UVZK_ECLOSED, NULL);
    } else if (handle == NULL || !uvzk__handle_is_connected(handle)) {
        /* While the end of the session is being reported, the reason is the status. */
        bool ends = handle != NULL && handle->end_status != 0;
        uvzk__outstanding_settle(rpc, ends ? handle->end_status : UVZK_ENOTSENT, NULL);
    } else if (!uvzk__dialect_allows(&port->base.dialect, rpc)) {
        uvzk__outstanding_settle(rpc, UVZK_EUNIMPLEMENTED, NULL);
    } else if (rpc->refused != 0) {
        uvzk__outstanding_settle(rpc, rpc->refused, NULL);
    } else if (!uvzk__send_window_add(&handle->window, rpc)) {
        uvzk__outstanding_settle(rpc, UV_ENOMEM, NULL);
    } else {
        uvzk__send_window_pump(&handle->window);
        return;
    }
    uvzk__to_loop_wake(&port->base.to_loop);
}

static void zk_port_unwatch(struct uvzk__port *public_port, struct uvzk__watch *watch)
{
    (void)public_port;
    if (watch->armed != NULL) {
        uvzk__send_window_unwatch(watch->armed);
    }
}

/* ------------------------------------------------------------------------- creation */

static bool is_empty(const struct uvzk__loop_port *base)
{
    const struct uvzk__zk_port *port = (const void *)base;

    return port->handle == NULL && port->handles == 0 &&
           uvzk__outstanding_is_empty(&port->outstanding);
}

static const struct uvzk__transport transport = {
    .open = open_handle,
    .abandon = abandon_handle,
    .leave_server = zk_port_leave,
    .end_session = end_session,
    .close = close_port,
    .submit = zk_port_submit,
    .unwatch = zk_port_unwatch,
    .loop_user = {.woken = zk_port_woken,
                  .alarm = alarm_due,
                  .drain_timeout = drain_timeout,
                  .closed = zk_port_closed},
    .is_empty = is_empty,
    .free = uvzk__loop_port_free};

int uvzk__c_client_check(void)
{
    return 0;
}

struct uvzk__loop_port *uvzk__zk_port_new(uv_loop_t *loop,
                                          const uvzk_client_options_t *options)
{
    struct uvzk__zk_port *port =
        (void *)uvzk__loop_port_new(sizeof(*port), loop, options, &transport);

    if (port == NULL) {
        return NULL;
    }
    port->handle_user = &handle_user;
    port->base.port.chroot_length = strlen(uvzk__hosts_chroot(options->hosts));
    uvzk__dialect_lacks(&port->base.dialect, UVZK__FEATURE_PERSISTENT);
    uvzk__log_lines_init(&port->log_lines, &port->base.port, &port->base.to_loop);
    return &port->base;
}
