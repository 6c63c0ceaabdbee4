/* SPDX-License-Identifier: Apache-2.0 */
/* Session events from the C client's thread to the loop's (pending_events.h).
 *
 * The C client calls uvzk__pending_events_watch on its own thread, which merges the event
 * into events->news under the mutex and pushes the entry onto the to_loop queue, unless it
 * is there already. handle.c reads the news on the loop's thread. */
#include "session/pending_events.h"

#include <stdio.h>
#include <string.h>

#include "platform/error_map.h"
#include "session/zk_port.h"

static void pending_events_arrive(struct uvzk__to_loop_entry *entry)
{
    struct uvzk__pending_events *events =
        UVZK__CONTAINER_OF(entry, struct uvzk__pending_events, entry);
    pthread_mutex_lock(&events->mutex);
    /* Reset only here, when the entry is off the to_loop queue: only then may it be
     * pushed again. */
    events->on_its_way = false;
    pthread_mutex_unlock(&events->mutex);
    events->arrived(events);
}

/* The caller holds the mutex. If pending events are already on their way in the to_loop
 * queue, new events join them there, and so may overtake replies that were pushed between
 * the two. This is harmless: SUSPENDED settles all outstanding rpcs, so no reply that was
 * pushed between the two is delivered wrongly. */
static void pending_events_push(struct uvzk__pending_events *events)
{
    if (!events->on_its_way) {
        events->on_its_way = true;
        uvzk__to_loop_push(&events->port->base.to_loop, &events->entry,
                           pending_events_arrive);
    }
}

/* The caller holds the mutex. The first end counts; later ones are ignored. */
static void pending_events_end(struct uvzk__pending_events *events,
                               enum uvzk__session_event_kind kind, int status)
{
    events->news.connected = false;
    if (!events->news.ended) {
        events->news.ended = true;
        events->news.end = kind;
        events->news.end_status = status;
    }
}

/* Runs on the C client's thread, at the first CONNECTED and before every request. Earlier
 * the C client may refuse the credentials, because it may be between two attempts to
 * connect. From then on the C client sends the credentials itself on every connection. */
static int pending_events_authenticate(struct uvzk__pending_events *events, zhandle_t *zh)
{
    const struct uvzk__zk_port *port = events->port;
    if (events->authenticated || port->base.options.auth_scheme == NULL) {
        return ZOK;
    }
    int rc = zoo_add_auth(zh, port->base.options.auth_scheme, port->base.options.auth,
                          (int)port->base.options.auth_length, NULL, NULL);
    events->authenticated = rc == ZOK;
    return rc;
}

/* Returns whether the C client has reached a ZooKeeper server. The C client itself
 * accepts any answer as a server's. */
static bool is_server(zhandle_t *zh)
{
    return zoo_client_id(zh)->client_id != 0 && zoo_recv_timeout(zh) > 0;
}

/* Writes "address:port" of the connected server; "" if the address is unknown, because
 * the connection is lost already. */
static void name_server(zhandle_t *zh, char text[UVZK__SERVER_TEXT])
{
    struct uvzk__address address = {.length = sizeof(address.socket)};
    text[0] = '\0';
    if (zookeeper_get_connected_host(zh, &address.socket.any, &address.length) != NULL) {
        uvzk__address_server_text(&address, text);
    }
}

/* [P2] The C client's own thread stores each session timeout that a server grants, so
 * that a late loop does not keep a hold valid too long. The caller holds the mutex. The
 * value belongs to the port's session. If the session of these events has ended, the port may
 * already have another session, so the value is ignored. */
static void pending_events_given(struct uvzk__pending_events *events, uint32_t timeout_ms)
{
    if (!events->news.ended) {
        uvzk__port_timeout_granted(&events->port->base.port, timeout_ms);
    }
}

/* Runs on the C client's thread. Only here is it safe to read the session id and the
 * session timeout from the zhandle_t. */
void uvzk__pending_events_watch(zhandle_t *zh, int type, int state, const char *path,
                                void *context)
{
    struct uvzk__pending_events *events = context;
    (void)path;
    if (type != ZOO_SESSION_EVENT) {
        return;
    }
    bool wrong_server = state == ZOO_CONNECTED_STATE && !is_server(zh);
    int auth = state == ZOO_CONNECTED_STATE && !wrong_server
                   ? pending_events_authenticate(events, zh)
                   : ZOK;

    pthread_mutex_lock(&events->mutex);
    if (state == ZOO_EXPIRED_SESSION_STATE) {
        pending_events_end(events, UVZK__SESSION_EXPIRED, UVZK_EEXPIRED);
    } else if (state == ZOO_AUTH_FAILED_STATE) {
        pending_events_end(events, UVZK__SESSION_AUTH_FAILED, UVZK_EAUTH);
    } else if (wrong_server) {
        events->news.wrong_server = true;
        events->news.connected = false;
        name_server(zh, events->news.server);
    } else if (state != ZOO_CONNECTED_STATE || auth == ZINVALIDSTATE) {
        /* ZINVALIDSTATE: the C client lost the connection before it accepted the
         * credentials. */
        events->news.suspended = true;
        events->news.connected = false;
    } else if (auth != ZOK) {
        pending_events_end(events, UVZK__SESSION_OPEN_FAILED,
                           uvzk__error_of_submit(auth));
    } else {
        events->news.connected = true;
        events->news.session = *zoo_client_id(zh);
        name_server(zh, events->news.server);
        events->news.timeout_ms = (uint32_t)zoo_recv_timeout(zh);
        /* Before the loop learns of the connection (engine/port.h, 12). */
        pending_events_given(events, events->news.timeout_ms);
    }
    pending_events_push(events);
    pthread_mutex_unlock(&events->mutex);
}

/* -------------------------------------------------------------------- on the loop */

struct uvzk__session_news uvzk__pending_events_read(struct uvzk__pending_events *events)
{
    pthread_mutex_lock(&events->mutex);
    struct uvzk__session_news news = events->news;
    events->news.suspended = false;
    events->news.connected = false;
    pthread_mutex_unlock(&events->mutex);
    return news;
}

void uvzk__pending_events_expire(struct uvzk__pending_events *events, bool report)
{
    pthread_mutex_lock(&events->mutex);
    pending_events_end(events, UVZK__SESSION_EXPIRED, UVZK_EEXPIRED);
    if (report) {
        pending_events_push(events);
    }
    pthread_mutex_unlock(&events->mutex);
}

void uvzk__pending_events_granted(struct uvzk__pending_events *events,
                                  uint32_t timeout_ms)
{
    pthread_mutex_lock(&events->mutex);
    pending_events_given(events, timeout_ms);
    pthread_mutex_unlock(&events->mutex);
}

void uvzk__pending_events_server(struct uvzk__pending_events *events,
                                 char text[UVZK__SERVER_TEXT])
{
    pthread_mutex_lock(&events->mutex);
    memcpy(text, events->news.server, UVZK__SERVER_TEXT);
    pthread_mutex_unlock(&events->mutex);
}

void uvzk__pending_events_begin(struct uvzk__pending_events *events,
                                const clientid_t *session)
{
    events->authenticated = false;
    pthread_mutex_lock(&events->mutex);
    events->news.session = *session;
    events->news.suspended = events->news.connected = events->news.wrong_server = false;
    pthread_mutex_unlock(&events->mutex);
}

int uvzk__pending_events_init(struct uvzk__pending_events *events,
                              struct uvzk__zk_port *port,
                              void (*arrived)(struct uvzk__pending_events *))
{
    events->port = port;
    events->arrived = arrived;
    return pthread_mutex_init(&events->mutex, NULL) == 0 ? 0 : UV_ENOMEM;
}

void uvzk__pending_events_destroy(struct uvzk__pending_events *events)
{
    pthread_mutex_destroy(&events->mutex);
}
