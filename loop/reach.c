#include "reach.h"

#include <stdio.h>

#include "base/memory.h"
#include "handle.h"
#include "zk_port.h"

/* The client comes back by itself where it can, and keeps its watches: this long
 * nobody looks, and this long those who were found are not given to it. A
 * sixteenth of the session's timeout, within these. */
#define PAUSE_MIN_MS 50U
#define PAUSE_MAX_MS 1000U
#define PAUSE_LAST_MS 4000U /* doubled up to this */

static struct uvzk__zk_port *port_of(struct uvzk__search_user *user)
{
    return UVZK__CONTAINER_OF(user, struct uvzk__zk_port, reach.user);
}

static uint32_t first_pause(const struct uvzk__zk_port *port)
{
    uint32_t pause = port->session_timeout_ms / 16;
    pause = pause > PAUSE_MIN_MS ? pause : PAUSE_MIN_MS;
    return pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
}

void uvzk__reach_again(struct uvzk__zk_port *port)
{
    struct uvzk__reach *reach = &port->reach;
    uvzk__search_begin(reach->search, reach->pause_ms);
    if (reach->pause_ms < PAUSE_LAST_MS) {
        reach->pause_ms *= 2;
    }
}

/* Opens the handle with those that have answered. */
static void go(struct uvzk__zk_port *port)
{
    struct uvzk__handle *handle = port->handle;
    char *servers = uvzk__search_take(port->reach.search, handle->local_address);
    if (servers == NULL) {
        uvzk__reach_again(port);
        return;
    }
    uvzk__handle_start(handle, servers);
}

/* What is found out once it is connected concerns nobody. */
static void tell_trouble(struct uvzk__search_user *user,
                         const struct uvzk__trouble *trouble)
{
    struct uvzk__zk_port *port = port_of(user);
    if (!port->closing && port->handle != NULL &&
        !uvzk__handle_is_connected(port->handle)) {
        port->port.user->unreached(port->port.user, trouble);
    }
}

/* The servers that the handle knows answer, and it is not connected all the same. */
static void tell_no_session(struct uvzk__zk_port *port)
{
    static const struct uvzk__trouble trouble = {
        UV_EAGAIN, "", "a server answers, but there is no session yet"};
    tell_trouble(&port->reach.user, &trouble);
}

static void done(struct uvzk__search_user *user, int status)
{
    struct uvzk__zk_port *port = port_of(user);
    struct uvzk__reach *reach = &port->reach;
    struct uvzk__handle *handle = port->handle;

    if (handle == NULL || uvzk__handle_is_connected(handle) ||
        handle->state == UVZK__HANDLE_OPENING || handle->state == UVZK__HANDLE_LEAVING) {
        return;
    }
    if (uvzk__handle_has_come_through(handle)) { /* its news are on the hop */
        reach->strangers = false;
        uvzk__reach_again(port);
        return;
    }
    if (handle->state == UVZK__HANDLE_SEEKING && status == 0) {
        go(port);
    } else if (handle->state == UVZK__HANDLE_SEEKING && port->session.client_id == 0) {
        port->handle_user->ended(handle, UVZK__SESSION_OPEN_FAILED, status);
    } else if (status < 0 || uvzk__search_finds_known(reach->search)) {
        if (status == 0) {
            tell_no_session(port);
        }
        if (port->closing || port->handle != handle) {
            return;
        }
        reach->strangers = false;
        uvzk__reach_again(port);
    } else if (!reach->strangers) {
        reach->strangers = true;
        uvzk__search_begin(reach->search, first_pause(port));
    } else {
        uvzk__handle_leave(handle);
    }
}

static void log_line(struct uvzk__search_user *user, const char *line)
{
    struct uvzk__zk_port *port = port_of(user);
    if (!port->closing) {
        port->port.user->log(port->port.user, UVZK_LOG_WARN, "search", line);
    }
}

static void closed(struct uvzk__search_user *user)
{
    struct uvzk__zk_port *port = port_of(user);
    port->reach.search = NULL;
    port->handle_user->freed(port);
}

int uvzk__reach_open(struct uvzk__zk_port *port)
{
    struct uvzk__reach *reach = &port->reach;
    int status = 0;
    if (reach->search == NULL) {
        reach->user.done = done;
        reach->user.log = log_line;
        reach->user.trouble = tell_trouble;
        reach->user.closed = closed;
        reach->search = uvzk__search_new(port->loop, port->hosts,
                                         port->session_timeout_ms, &reach->user, &status);
    }
    if (reach->search != NULL) {
        reach->pause_ms = first_pause(port);
        uvzk__search_begin(reach->search, 0);
    }
    return status;
}

void uvzk__reach_lost(struct uvzk__zk_port *port)
{
    port->reach.strangers = false;
    port->reach.pause_ms = first_pause(port);
    uvzk__reach_again(port);
}

void uvzk__reach_connected(struct uvzk__zk_port *port)
{
    uvzk__search_rest(port->reach.search);
}

void uvzk__reach_rest(struct uvzk__zk_port *port)
{
    if (port->reach.search != NULL) {
        uvzk__search_rest(port->reach.search);
    }
}

void uvzk__reach_misled(struct uvzk__zk_port *port, const char *server)
{
    char line[UVZK__SERVER_TEXT + 80];
    snprintf(line, sizeof(line), "%s: made a session without an id or a timeout", server);
    uvzk__search_distrust(port->reach.search, server);
    uvzk__search_begin(port->reach.search, first_pause(port));
    uvzk__handle_leave(port->handle);
    log_line(&port->reach.user, line);
    tell_trouble(&port->reach.user,
                 &(struct uvzk__trouble){UV_EPROTO, server,
                                         "made a session without an id or a timeout"});
}

/* Its server is taken last, by who searches now, for a time. */
void uvzk__reach_diverged(struct uvzk__zk_port *port)
{
    static const char *const text =
        "shows a znode that was deleted: left for another server";
    char server[UVZK__SERVER_TEXT], line[UVZK__SERVER_TEXT + 80];

    uvzk__handle_server(port->handle, server);
    snprintf(line, sizeof(line), "%s: %s", server, text);
    port->reach.strangers = false;
    port->reach.pause_ms = first_pause(port);
    uvzk__search_avoid(port->reach.search, server);
    uvzk__search_begin(port->reach.search, 0);
    uvzk__handle_leave(port->handle);
    log_line(&port->reach.user, line);
    tell_trouble(&port->reach.user,
                 &(struct uvzk__trouble){UVZK_EDIVERGED, server, text});
}

/* If others are still being asked, done() goes on: whoever has answered until now is the quickest,
 * and may be the one that was left. */
void uvzk__reach_left(struct uvzk__zk_port *port)
{
    if (!uvzk__search_goes_on(port->reach.search)) {
        go(port);
    }
}

void uvzk__reach_close(struct uvzk__zk_port *port)
{
    if (port->reach.search != NULL) {
        uvzk__search_close(port->reach.search);
    }
}
