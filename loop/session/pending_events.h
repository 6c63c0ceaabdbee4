/* SPDX-License-Identifier: Apache-2.0 */
/* The session events that the C client's thread has reported and the loop has not yet
 * read. They are merged into one struct instead of being queued, so reporting needs no
 * memory, however often the connection is lost and established. */
#ifndef UVZK_PENDING_EVENTS_H
#define UVZK_PENDING_EVENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "discovery/addresses.h"
#include "engine/port.h"
#include "platform/to_loop.h"

struct uvzk__zk_port;

/* What has happened to a session. */
struct uvzk__session_news {
    bool suspended; /* at least once since the last read */
    bool connected; /* and not lost since */
    bool ended;     /* The session has ended. Never reset. */
    enum uvzk__session_event_kind end;
    int end_status;
    /* The C client has connected to a program that is not a ZooKeeper server. */
    bool wrong_server;
    /* "address:port" of the server of the last connection, or of that program; "": not
     * known. */
    char server[UVZK__SERVER_TEXT];
    /* Id and password; written by the loop before the handle is opened, then by the C
     * client's thread at each connection. */
    clientid_t session;
    uint32_t timeout_ms; /* the session timeout that the server granted */
};

struct uvzk__pending_events {
    struct uvzk__zk_port *port;
    pthread_mutex_t mutex; /* protects news and on_its_way */
    struct uvzk__session_news news;
    struct uvzk__to_loop_entry entry;
    bool on_its_way; /* the entry is on the to_loop queue */
    /* zoo_add_auth has accepted the credentials. Written by the C client's thread; by the
     * loop only when that thread does not exist. */
    bool authenticated;
    /* Called on the loop's thread: there is something to read. */
    void (*arrived)(struct uvzk__pending_events *);
};

/* Initialises without events, in memory of zeros. The port is borrowed. Returns 0 or
 * UV_ENOMEM. */
int uvzk__pending_events_init(struct uvzk__pending_events *events,
                              struct uvzk__zk_port *port,
                              void (*arrived)(struct uvzk__pending_events *));
/* The entry must not be on the to_loop queue. */
void uvzk__pending_events_destroy(struct uvzk__pending_events *events);

/* The watcher_fn for zookeeper_init2; context is the struct uvzk__pending_events. */
void uvzk__pending_events_watch(zhandle_t *zh, int type, int state, const char *path,
                                void *context);

/* The next zhandle_t continues this session (client_id 0: begins a new one). Forgets all
 * events but the end of a session. No thread of the C client exists. */
void uvzk__pending_events_begin(struct uvzk__pending_events *events,
                                const clientid_t *session);
/* Returns the session for zookeeper_init2, as uvzk__pending_events_begin has set it. */
static inline const clientid_t *
uvzk__pending_events_session(const struct uvzk__pending_events *events)
{
    return &events->news.session;
}

/* Returns what has happened since the last read. To be called on the loop's thread. */
struct uvzk__session_news uvzk__pending_events_read(struct uvzk__pending_events *events);
/* The session ends as if it had expired; an earlier end counts. With `report`, `arrived`
 * is called later. */
void uvzk__pending_events_expire(struct uvzk__pending_events *events, bool report);
/* A server has granted this session timeout, in ms. */
void uvzk__pending_events_granted(struct uvzk__pending_events *events,
                                  uint32_t timeout_ms);
/* Copies "address:port" of the server of the last connection. */
void uvzk__pending_events_server(struct uvzk__pending_events *events,
                                 char text[UVZK__SERVER_TEXT]);
/* Returns whether the end of the session has been reported. No thread of the C client
 * exists. */
static inline bool
uvzk__pending_events_have_end(const struct uvzk__pending_events *events)
{
    return events->news.ended;
}

#endif
