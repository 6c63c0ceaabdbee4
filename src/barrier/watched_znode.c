/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a znode to exist or to be gone (watched_znode.h): what the requests of a
 * reading are, and which waiters are told of what they show. */
#include "barrier/watched_znode.h"

#include "barrier/barriers.h"
#include "base/memory.h"
#include "base/outcome.h"
#include "engine/turn.h"

/* The stamp of a watch event: it comes after each request that has been answered. */
#define STAMP_OF_EVENT UINT64_MAX

static struct uvzk__watched_znode *znode_of(struct uvzk__reading *reading)
{
    return UVZK__CONTAINER_OF(reading, struct uvzk__watched_znode, reading);
}

static void end_if_unused(struct uvzk__watched_znode *znode)
{
    if (uvzk__list_empty(&znode->waiters) && !znode->telling) {
        uvzk__timer_clear(znode->reading.session, &znode->no_room);
        uvzk__reading_end(&znode->reading);
    }
}

/* ------------------------------------------------------------------- the waiters */

/* Returns true if an absence that was read by the request with this stamp was an absence
 * at a moment after the wait began. A waiter that began before this connection was there
 * has the barrier of the connection for a confirmation, because no reading is sent before
 * it is open; but an event may have come before that. */
static bool is_confirmed(const struct uvzk__znode_waiter *waiter, uint64_t stamp)
{
    const struct uvzk__watched_znode *znode = waiter->znode;
    const struct uvzk__session *session = znode->reading.session;
    bool behind_barrier = stamp != STAMP_OF_EVENT &&
                          !uvzk__is_of_this_connection(session, waiter->since) &&
                          uvzk__is_of_this_connection(session, stamp);

    return !waiter->confirmed || behind_barrier ||
           (znode->quorum_stamp > waiter->since && stamp > znode->quorum_stamp);
}

static void watched_znode_tell(struct uvzk__znode_waiter *waiter, int status,
                               uint64_t stamp)
{
    if (stamp <= waiter->since) {
        return;
    }
    if (status == UVZK_ENONODE && !is_confirmed(waiter, stamp)) {
        waiter->znode->confirm = true;
        uvzk__reading_want(&waiter->znode->reading);
        return;
    }
    waiter->told_cb(waiter, status);
}

/* The znode must be pinned: its last waiter may end here. */
static void tell_all(struct uvzk__watched_znode *znode, int status, uint64_t stamp)
{
    struct uvzk__link waiters, *link;

    uvzk__list_move(&znode->waiters, &waiters);
    znode->telling = true;
    /* Put back on its list first, because told_cb may end the waiting. */
    while ((link = uvzk__list_take(&waiters)) != NULL) {
        uvzk__list_append(&znode->waiters, link);
        watched_znode_tell(UVZK__CONTAINER_OF(link, struct uvzk__znode_waiter, link),
                           status, stamp);
    }
    znode->telling = false;
    end_if_unused(znode);
}

/* ---------------------------------------------------------------- the requests */

/* Without waiters nothing is read: they may all have ended while they were told. */
static bool watched_znode_ask(struct uvzk__reading *reading)
{
    struct uvzk__watched_znode *znode = znode_of(reading);

    if (uvzk__list_empty(&znode->waiters)) {
        return false;
    }
    if (znode->confirm) {
        znode->confirm = false;
        return uvzk__reading_ask(reading, UVZK__RPC_MULTI, NULL, false);
    }
    return uvzk__reading_ask(reading, UVZK__RPC_EXISTS, reading->path, true);
}

static void watched_znode_shown(struct uvzk__reading *reading,
                                const struct uvzk__reply *reply)
{
    struct uvzk__watched_znode *znode = znode_of(reading);

    if (reading->rpc.kind == UVZK__RPC_MULTI) {
        znode->quorum_stamp = reading->stamp;
        uvzk__reading_want(reading);
    } else {
        tell_all(znode, reply->status, reading->stamp);
    }
}

/* What had no answer is sent again when the outage or the pause of the session is over; a
 * confirmation only if the znode is still absent. */
static void watched_znode_failed(struct uvzk__reading *reading, int status)
{
    struct uvzk__session *session = reading->session;

    if (status == UVZK_ELIMIT) {
        uvzk__timer_set(session, &znode_of(reading)->no_room, uvzk__now(session));
    } else if (reading->rpc.kind == UVZK__RPC_MULTI || uvzk__is_transient(status)) {
        uvzk__reading_want(reading);
    } else {
        tell_all(znode_of(reading), status, reading->stamp);
    }
}

static void watched_znode_changed(struct uvzk__reading *reading,
                                  enum uvzk__watch_news news)
{
    if (news == UVZK__NEWS_CREATED) {
        tell_all(znode_of(reading), 0, STAMP_OF_EVENT);
    } else if (news == UVZK__NEWS_DELETED) {
        tell_all(znode_of(reading), UVZK_ENONODE, STAMP_OF_EVENT);
    }
}

static void no_room_due(struct uvzk__timer *timer)
{
    struct uvzk__watched_znode *znode =
        UVZK__CONTAINER_OF(timer, struct uvzk__watched_znode, no_room);

    uvzk__reading_pin(&znode->reading);
    tell_all(znode, UVZK_ELIMIT, STAMP_OF_EVENT);
    uvzk__reading_unpin(&znode->reading);
}

static struct uvzk__reading **watched_znode_table(const struct uvzk__session *session)
{
    return &session->barriers->watched;
}

static void free_memory(struct uvzk__reading *reading)
{
    uvzk__free(znode_of(reading));
}

static const struct uvzk__reading_kind kind = {
    .table = watched_znode_table,
    .begin = watched_znode_ask,
    .shown = watched_znode_shown,
    .failed = watched_znode_failed,
    .changed = watched_znode_changed,
    .free_memory = free_memory,
};

/* --------------------------------------------------------------- making, waiting */

static struct uvzk__watched_znode *watched_znode_make(struct uvzk__session *session,
                                                      const char *path)
{
    struct uvzk__watched_znode *znode = uvzk__calloc(1, sizeof(*znode));

    if (znode == NULL) {
        return NULL;
    }
    znode->no_room.due = no_room_due;
    uvzk__list_init(&znode->waiters);
    if (!uvzk__reading_init(&znode->reading, session, &kind, path)) {
        uvzk__free(znode);
        return NULL;
    }
    return znode;
}

int uvzk__znode_waiter_begin(struct uvzk__session *session,
                             struct uvzk__znode_waiter *waiter, const char *path)
{
    struct uvzk__reading *reading = uvzk__reading_find(session, &kind, path);
    struct uvzk__watched_znode *znode =
        reading == NULL ? watched_znode_make(session, path) : znode_of(reading);

    if (znode == NULL) {
        return UV_ENOMEM;
    }
    waiter->znode = znode;
    uvzk__list_init(&waiter->link);
    uvzk__list_append(&znode->waiters, &waiter->link);
    uvzk__znode_waiter_look(waiter);
    return 0;
}

void uvzk__znode_waiter_end(struct uvzk__znode_waiter *waiter)
{
    struct uvzk__watched_znode *znode = waiter->znode;

    if (znode != NULL) {
        waiter->znode = NULL;
        uvzk__list_remove(&waiter->link);
        end_if_unused(znode);
    }
}

void uvzk__znode_waiter_look(struct uvzk__znode_waiter *waiter)
{
    struct uvzk__reading *reading = &waiter->znode->reading;

    waiter->since = reading->session->submissions.stamp;
    uvzk__reading_want(reading);
    uvzk__reading_pump(reading);
}

void uvzk__watched_znodes_resume(struct uvzk__session *session)
{
    uvzk__readings_resume(session, &kind);
}
