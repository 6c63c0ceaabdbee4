/* Waiting for a znode to exist or to be gone (watched_znode.h). Everything is decided in
 * uvzk__watched_znode_pump: each reply, watch event and timer records what has happened
 * and calls it, and it sends the request that is due. */
#include "barrier/watched_znode.h"

#include <string.h>

#include "barrier/barriers.h"
#include "engine/submission.h"
#include "engine/turn.h"

/* The stamp of a watch event: it comes after each request that has been answered. */
#define STAMP_OF_EVENT UINT64_MAX

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__WATCHED_ZNODE_, IDLE, LOOKING, CONFIRMING),
    UVZK__STATE(UVZK__WATCHED_ZNODE_, LOOKING, IDLE),
    UVZK__STATE(UVZK__WATCHED_ZNODE_, CONFIRMING, IDLE),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__watched_znode *znode = object;

    return (znode->state == UVZK__WATCHED_ZNODE_IDLE || znode->refs > 0) &&
           !(znode->ended && uvzk__watcher_is_set(&znode->renewed.watcher));
}

const struct uvzk__machine uvzk__watched_znode_machine = UVZK__MACHINE(
    "watched znode's request", table, struct uvzk__watched_znode, state, invariant_holds);

/* ---------------------------------------------------------- making and freeing */

static void free_memory(struct uvzk__watched_znode *znode)
{
    uvzk__free(znode->path);
    uvzk__free(znode);
}

static void unpin(struct uvzk__watched_znode *znode)
{
    znode->refs--;
    if (znode->ended && znode->refs == 0) {
        free_memory(znode);
    }
}

static void told(struct uvzk__watcher *watcher, enum uvzk__watch_news news);
static void no_room_due(struct uvzk__timer *timer);

static struct uvzk__watched_znode *make(struct uvzk__session *session, const char *path)
{
    struct uvzk__watched_znode *znode = uvzk__calloc(1, sizeof(*znode));

    if (znode == NULL) {
        return NULL;
    }
    znode->session = session;
    uvzk__renewed_watcher_init(&znode->renewed, session, told);
    znode->no_room.due = no_room_due;
    uvzk__list_init(&znode->waiters);
    znode->path = uvzk__strdup(path);
    if (znode->path != NULL) {
        HASH_ADD_KEYPTR(hh, uvzk__barriers(session)->watched, znode->path, strlen(path),
                        znode);
    }
    /* An allocation failed, possibly that of the hash table. */
    if (znode->hh.tbl == NULL) {
        free_memory(znode);
        return NULL;
    }
    return znode;
}

static void end_if_unused(struct uvzk__watched_znode *znode)
{
    if (!uvzk__list_empty(&znode->waiters) || znode->telling || znode->ended) {
        return;
    }
    HASH_DEL(uvzk__barriers(znode->session)->watched, znode);
    uvzk__timer_clear(znode->session, &znode->no_room);
    uvzk__watch_leave(&znode->renewed.watcher);
    znode->ended = true;
}

/* ------------------------------------------------------------------- the waiters */

/* Returns true if an absence that was read by the request with this stamp was an absence
 * at a moment after the wait began. A waiter that began before this connection was there
 * has the barrier of the connection for a confirmation, because no reading is sent before
 * it is open; but an event may have come before that. */
static bool is_confirmed(const struct uvzk__znode_waiter *waiter, uint64_t stamp)
{
    const struct uvzk__watched_znode *znode = waiter->znode;
    bool behind_barrier = stamp != STAMP_OF_EVENT &&
                          !uvzk__is_of_this_connection(znode->session, waiter->since) &&
                          uvzk__is_of_this_connection(znode->session, stamp);

    return !waiter->confirmed || behind_barrier ||
           (znode->quorum_stamp > waiter->since && stamp > znode->quorum_stamp);
}

static void tell(struct uvzk__znode_waiter *waiter, int status, uint64_t stamp)
{
    if (stamp <= waiter->since) {
        return;
    }
    if (status == UVZK_ENONODE && !is_confirmed(waiter, stamp)) {
        waiter->znode->confirm = true;
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
        tell(UVZK__CONTAINER_OF(link, struct uvzk__znode_waiter, link), status, stamp);
    }
    znode->telling = false;
    end_if_unused(znode);
}

int uvzk__znode_waiter_begin(struct uvzk__session *session,
                             struct uvzk__znode_waiter *waiter, const char *path)
{
    struct uvzk__watched_znode *znode;

    HASH_FIND_STR(uvzk__barriers(session)->watched, path, znode);
    if (znode == NULL) {
        znode = make(session, path);
    }
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

    if (znode == NULL) {
        return;
    }
    waiter->znode = NULL;
    uvzk__list_remove(&waiter->link);
    znode->refs++;
    end_if_unused(znode);
    unpin(znode);
}

void uvzk__znode_waiter_look(struct uvzk__znode_waiter *waiter)
{
    waiter->since = uvzk__stamp(waiter->znode->session);
    waiter->znode->look_again = true;
    uvzk__watched_znode_pump(waiter->znode);
}

/* ---------------------------------------------------------------- the requests */

static void looked(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__watched_znode *znode =
        UVZK__CONTAINER_OF(rpc, struct uvzk__watched_znode, rpc);
    bool armed = reply->status == 0 || reply->status == UVZK_ENONODE;

    uvzk__answered(znode->session, rpc, reply->status, false);
    uvzk__move(znode->session, &uvzk__watched_znode_machine, znode,
               UVZK__WATCHED_ZNODE_IDLE);
    uvzk__watch_answered(&znode->renewed.watcher, armed);
    if (uvzk__is_transient(reply->status)) {
        znode->look_again = true; /* when the outage or the pause is over */
    } else {
        tell_all(znode, reply->status, znode->read_stamp);
    }
    /* A refused reading is repeated only if a waiter asks for it. */
    if (armed || znode->look_again) {
        uvzk__watched_znode_pump(znode);
    }
    unpin(znode);
}

static void confirmed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__watched_znode *znode =
        UVZK__CONTAINER_OF(rpc, struct uvzk__watched_znode, rpc);

    uvzk__answered(znode->session, rpc, reply->status, true);
    uvzk__move(znode->session, &uvzk__watched_znode_machine, znode,
               UVZK__WATCHED_ZNODE_IDLE);
    if (reply->status == 0) {
        znode->quorum_stamp = znode->asked_stamp;
    }
    /* Without an answer too: if the znode is still absent, this is done again. */
    znode->look_again = true;
    uvzk__watched_znode_pump(znode);
    unpin(znode);
}

static void submit(struct uvzk__watched_znode *znode,
                   enum uvzk__watched_znode_state state)
{
    znode->refs++; /* the reply removes it */
    uvzk__move(znode->session, &uvzk__watched_znode_machine, znode, state);
    uvzk__submit(znode->session, &znode->rpc);
}

static void look(struct uvzk__watched_znode *znode)
{
    struct uvzk__session *session = znode->session;

    uvzk__rpc_prepare(&znode->rpc, UVZK__RPC_EXISTS, znode->path, looked);
    /* Without a watch nothing would report a change. */
    if (!uvzk__watcher_is_set(&znode->renewed.watcher) &&
        !uvzk__watch_join_with(&znode->renewed.watcher, &znode->rpc)) {
        uvzk__timer_set(session, &znode->no_room, uvzk__now(session));
        return;
    }
    znode->look_again = false;
    submit(znode, UVZK__WATCHED_ZNODE_LOOKING);
    znode->read_stamp = uvzk__stamp(session);
}

static void ask_quorum(struct uvzk__watched_znode *znode)
{
    znode->confirm = false;
    uvzk__rpc_prepare(&znode->rpc, UVZK__RPC_MULTI, NULL, confirmed);
    submit(znode, UVZK__WATCHED_ZNODE_CONFIRMING);
    znode->asked_stamp = uvzk__stamp(znode->session);
}

void uvzk__watched_znode_pump(struct uvzk__watched_znode *znode)
{
    struct uvzk__session *session = znode->session;

    if (znode->state != UVZK__WATCHED_ZNODE_IDLE || znode->ended ||
        uvzk__list_empty(&znode->waiters) || uvzk__session_is_closing(session) ||
        !uvzk__may_send(session)) {
        return;
    }
    if (znode->confirm) {
        ask_quorum(znode);
    } else if (znode->look_again || !uvzk__watcher_is_set(&znode->renewed.watcher) ||
               !uvzk__is_of_this_connection(session, znode->read_stamp)) {
        look(znode);
    }
}

/* -------------------------------------------------------------------- the watch */

static void told(struct uvzk__watcher *watcher, enum uvzk__watch_news news)
{
    struct uvzk__watched_znode *znode =
        UVZK__CONTAINER_OF(watcher, struct uvzk__watched_znode, renewed.watcher);

    if (news == UVZK__NEWS_LOST) {
        return; /* nothing may be sent yet */
    }
    znode->refs++;
    if (news == UVZK__NEWS_CREATED) {
        tell_all(znode, 0, STAMP_OF_EVENT);
    } else if (news == UVZK__NEWS_DELETED) {
        tell_all(znode, UVZK_ENONODE, STAMP_OF_EVENT);
    }
    uvzk__watched_znode_pump(znode);
    unpin(znode);
}

static void no_room_due(struct uvzk__timer *timer)
{
    struct uvzk__watched_znode *znode =
        UVZK__CONTAINER_OF(timer, struct uvzk__watched_znode, no_room);

    znode->refs++;
    tell_all(znode, UVZK_ELIMIT, STAMP_OF_EVENT);
    unpin(znode);
}
