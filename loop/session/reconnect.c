/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which servers the port's handle uses (reconnect.h). zk_port.c reports what
 * happens to the handle, and the search (search.h) reports which servers answer.
 *
 * The C client reconnects by itself to the servers that it knows, and then it keeps its
 * watches. So uvzk waits before it interferes: the handle leaves its servers only when
 * two searches in turn have found none of them and have found other servers. */
#include "session/reconnect.h"

#include <stdio.h>

#include "base/memory.h"
#include "discovery/pause.h"
#include "session/handle.h"
#include "session/zk_port.h"

#define PAUSE_LAST_MS 4000U /* the pause is doubled while it is less than this */

static struct uvzk__zk_port *port_of(struct uvzk__search_user *user)
{
    return UVZK__CONTAINER_OF(user, struct uvzk__zk_port, reconnect.user);
}

/* How long the C client may reconnect by itself before the first search, and how long
 * other servers that a search has found are not used. */
static uint32_t first_pause(const struct uvzk__zk_port *port)
{
    return uvzk__pause_first(port->base.options.session_timeout_ms);
}

void uvzk__reconnect_retry(struct uvzk__zk_port *port)
{
    struct uvzk__reconnect *reconnect = &port->reconnect;
    uvzk__search_begin(reconnect->search, reconnect->pause_ms);
    if (reconnect->pause_ms < PAUSE_LAST_MS) {
        reconnect->pause_ms *= 2;
    }
}

/* Opens the handle with the servers that have answered. If there are none, or no memory,
 * searches again. */
static void open_with_found(struct uvzk__zk_port *port)
{
    struct uvzk__handle *handle = port->handle;
    char *servers = uvzk__search_take(port->reconnect.search, handle->local_address);
    if (servers == NULL) {
        uvzk__reconnect_retry(port);
        return;
    }
    uvzk__handle_start(handle, servers);
}

/* Forwards the error to the user, unless there is a connection. */
static void forward_connect_error(struct uvzk__search_user *user,
                                  const struct uvzk__connect_error *error)
{
    struct uvzk__zk_port *port = port_of(user);
    if (!uvzk__loop_port_is_closing(&port->base) && port->handle != NULL &&
        !uvzk__handle_is_connected(port->handle)) {
        port->base.port.user->no_connection(port->base.port.user, error);
    }
}

/* Servers that the handle knows answer probes, but the handle is not connected. */
static void report_no_session(struct uvzk__zk_port *port)
{
    static const struct uvzk__connect_error none = {
        UV_EAGAIN, "", "a server answers, but there is no session yet"};
    static const struct uvzk__connect_error not_continued = {
        UV_EAGAIN, "", "a server answers, but " UVZK__OLDER_DATA_TEXT};
    forward_connect_error(&port->reconnect.user,
                          port->session.client_id == 0 ? &none : &not_continued);
}

static void reconnect_done(struct uvzk__search_user *user, int status)
{
    struct uvzk__zk_port *port = port_of(user);
    struct uvzk__reconnect *reconnect = &port->reconnect;
    struct uvzk__handle *handle = port->handle;

    /* OPENING and LEAVING: opened, unopened or left will be called and will continue. */
    if (handle == NULL || uvzk__handle_is_connected(handle) ||
        handle->state == UVZK__HANDLE_OPENING || handle->state == UVZK__HANDLE_LEAVING) {
        return;
    }
    /* The loop has not yet read the C client's CONNECTED. If the C client loses the
     * connection again before the loop reads it, the retry continues the search. */
    if (uvzk__handle_has_connected(handle)) {
        reconnect->only_unknown = false;
        uvzk__reconnect_retry(port);
        return;
    }
    if (handle->state == UVZK__HANDLE_SEEKING && status == 0) {
        open_with_found(port);
    } else if (handle->state == UVZK__HANDLE_SEEKING && port->session.client_id == 0) {
        /* No name resolves, and there is no session to continue: open() fails. */
        port->handle_user->ended(handle, UVZK__SESSION_OPEN_FAILED, status);
    } else if (status < 0 || uvzk__search_finds_known(reconnect->search)) {
        /* The handle is OPEN, or it is SEEKING with a session to continue. */
        if (status == 0) {
            report_no_session(port);
        }
        /* The user's callback may have closed the port. */
        if (uvzk__loop_port_is_closing(&port->base) || port->handle != handle) {
            return;
        }
        reconnect->only_unknown = false;
        uvzk__reconnect_retry(port);
    } else if (!reconnect->only_unknown) {
        reconnect->only_unknown = true;
        /* The first search that finds only other servers: the C client has one more pause
         * to reconnect by itself. */
        uvzk__search_begin(reconnect->search, first_pause(port));
    } else {
        uvzk__handle_leave(handle);
    }
}

static void log_line(struct uvzk__search_user *user, const char *line)
{
    struct uvzk__zk_port *port = port_of(user);
    if (!uvzk__loop_port_is_closing(&port->base)) {
        port->base.port.user->log(port->base.port.user, UVZK_LOG_WARN, "search", line);
    }
}

static void reconnect_broken(struct uvzk__search_user *user, const char *what)
{
    (void)uvzk__port_expect(&port_of(user)->base.port, false, what);
}

static void reconnect_closed(struct uvzk__search_user *user)
{
    struct uvzk__zk_port *port = port_of(user);
    port->reconnect.search = NULL;
    port->handle_user->search_freed(port);
}

int uvzk__reconnect_open(struct uvzk__zk_port *port)
{
    struct uvzk__reconnect *reconnect = &port->reconnect;
    int status = 0;
    if (reconnect->search == NULL) {
        reconnect->user.done = reconnect_done;
        reconnect->user.log = log_line;
        reconnect->user.connect_error = forward_connect_error;
        reconnect->user.closed = reconnect_closed;
        reconnect->user.broken = reconnect_broken;
        reconnect->search = uvzk__search_new(
            port->base.port_loop.loop, port->base.options.hosts,
            port->base.options.session_timeout_ms, &reconnect->user, &status);
    }
    if (reconnect->search != NULL) {
        reconnect->pause_ms = first_pause(port);
        uvzk__search_begin(reconnect->search, 0);
    }
    return status;
}

void uvzk__reconnect_lost(struct uvzk__zk_port *port)
{
    port->reconnect.only_unknown = false;
    port->reconnect.pause_ms = first_pause(port);
    uvzk__reconnect_retry(port);
}

void uvzk__reconnect_connected(struct uvzk__zk_port *port)
{
    uvzk__search_rest(port->reconnect.search);
}

void uvzk__reconnect_stop(struct uvzk__zk_port *port)
{
    if (port->reconnect.search != NULL) {
        uvzk__search_rest(port->reconnect.search);
    }
}

void uvzk__reconnect_wrong_server(struct uvzk__zk_port *port, const char *server)
{
    char line[UVZK__SERVER_TEXT + 80];
    snprintf(line, sizeof(line), "%s: " UVZK__NO_SESSION_TEXT,
             server[0] == '\0' ? "a server" : server);
    uvzk__search_distrust(port->reconnect.search, server);
    uvzk__search_begin(port->reconnect.search, first_pause(port));
    uvzk__handle_leave(port->handle);
    log_line(&port->reconnect.user, line);
    forward_connect_error(
        &port->reconnect.user,
        &(struct uvzk__connect_error){UV_EPROTO, server, UVZK__NO_SESSION_TEXT});
}

/* The search avoids the handle's server for a time, and begins at once. */
void uvzk__reconnect_diverged(struct uvzk__zk_port *port)
{
    static const char *const text = UVZK__DIVERGED_TEXT;
    char server[UVZK__SERVER_TEXT], line[UVZK__SERVER_TEXT + 80];

    uvzk__handle_server(port->handle, server);
    snprintf(line, sizeof(line), "%s: %s", server, text);
    port->reconnect.only_unknown = false;
    port->reconnect.pause_ms = first_pause(port);
    uvzk__search_avoid(port->reconnect.search, server);
    uvzk__search_begin(port->reconnect.search, 0);
    uvzk__handle_leave(port->handle);
    log_line(&port->reconnect.user, line);
    forward_connect_error(&port->reconnect.user,
                          &(struct uvzk__connect_error){UVZK_EDIVERGED, server, text});
}

/* If the search is still under way, reconnect_done() opens the handle. The servers that
 * have answered until now are the quickest ones, and one of them may be the server that
 * was left. */
void uvzk__reconnect_left(struct uvzk__zk_port *port)
{
    if (!uvzk__search_goes_on(port->reconnect.search)) {
        open_with_found(port);
    }
}

void uvzk__reconnect_close(struct uvzk__zk_port *port)
{
    if (port->reconnect.search != NULL) {
        uvzk__search_close(port->reconnect.search);
    }
}
