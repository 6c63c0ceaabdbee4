/* The client's copy of one znode's data (node_cache.h). shared_value.c makes node caches
 * and is called back when something is known; value_set.c reports the results of sets;
 * client/lifecycle.c and client/round.c report connections and lost watches.
 *
 * Everything is decided in uvzk__node_cache_pump: each reply, watch event and timer
 * records what has happened and calls it, and it sends the request that is due. The
 * requests carry the watch, or create the znode with its seed (seed_value.h). */
#include "value/node_cache.h"

#include <string.h>

#include "base/memory.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "value/shared_value.h"

/* ---------------------------------------------------------- making and freeing */

static void free_memory(struct uvzk__node_cache *node_cache)
{
    uvzk__free(node_cache->path);
    uvzk__node_create_free(&node_cache->seed.create);
    uvzk__free(node_cache->seed.data);
    uvzk__free(node_cache->data);
    uvzk__free(node_cache);
}

static void free_if_over(struct uvzk__node_cache *node_cache)
{
    if (node_cache->ended && node_cache->refs == 0) {
        free_memory(node_cache);
    }
}

static void pause_over(struct uvzk__timer *timer)
{
    uvzk__node_cache_pump(
        UVZK__CONTAINER_OF(timer, struct uvzk__node_cache, pause.timer));
}

/* Any news makes a read due. After a loss nothing may be sent yet. */
static void told(struct uvzk__watcher *watcher, enum uvzk__watch_news news)
{
    if (news != UVZK__NEWS_LOST) {
        uvzk__node_cache_pump(
            UVZK__CONTAINER_OF(watcher, struct uvzk__node_cache, renewed.watcher));
    }
}

static struct uvzk__node_cache *make_node_cache(struct uvzk__session *session,
                                                const char *path)
{
    struct uvzk__node_cache *node_cache = uvzk__calloc(1, sizeof(*node_cache));

    if (node_cache == NULL) {
        return NULL;
    }
    node_cache->session = session;
    node_cache->pause.timer.due = pause_over;
    uvzk__renewed_watcher_init(&node_cache->renewed, session, told);
    uvzk__list_init(&node_cache->values);
    node_cache->path = uvzk__strdup(path);
    if (node_cache->path != NULL &&
        uvzk__node_create_init(&node_cache->seed.create, node_cache->path,
                               UVZK__PERSISTENT)) {
        HASH_ADD_KEYPTR(hh, *uvzk__node_caches(session), node_cache->path, strlen(path),
                        node_cache);
    }
    /* An allocation failed, possibly that of the hash table. */
    if (node_cache->hh.tbl == NULL) {
        free_memory(node_cache);
        return NULL;
    }
    return node_cache;
}

struct uvzk__node_cache *uvzk__node_cache_find(const struct uvzk__session *session,
                                               const char *path)
{
    struct uvzk__node_cache *node_cache;

    HASH_FIND_STR(*uvzk__node_caches(session), path, node_cache);
    return node_cache;
}

struct uvzk__node_cache *uvzk__node_cache_of(struct uvzk__session *session,
                                             const char *path)
{
    struct uvzk__node_cache *node_cache = uvzk__node_cache_find(session, path);

    return node_cache != NULL ? node_cache : make_node_cache(session, path);
}

void uvzk__node_cache_end_unused(struct uvzk__node_cache *node_cache)
{
    /* Another shared value still uses it. */
    if (!uvzk__list_empty(&node_cache->values)) {
        return;
    }
    HASH_DEL(*uvzk__node_caches(node_cache->session), node_cache);
    uvzk__growing_pause_end(node_cache->session, &node_cache->pause);
    uvzk__watch_leave(&node_cache->renewed.watcher);
    node_cache->ended = true;
    free_if_over(node_cache);
}

void uvzk__node_cache_pin(struct uvzk__node_cache *node_cache)
{
    node_cache->refs++;
}

void uvzk__node_cache_unpin(struct uvzk__node_cache *node_cache)
{
    node_cache->refs--;
    free_if_over(node_cache);
}

void uvzk__node_cache_retry_later(struct uvzk__node_cache *node_cache)
{
    uvzk__growing_pause_begin_once(node_cache->session, &node_cache->pause,
                                   UVZK__SHORT_PAUSE_MS);
}

/* --------------------------------------------------------------- the known data */

static struct uvzk__shared_value *value_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__shared_value, siblings);
}

static void for_each_value(struct uvzk__node_cache *node_cache,
                           void (*act)(struct uvzk__shared_value *))
{
    struct uvzk__link *link;

    for (link = node_cache->values.next; link != &node_cache->values; link = link->next) {
        act(value_at(link));
    }
}

static void set_status(struct uvzk__node_cache *node_cache, int status)
{
    if (node_cache->status != status) {
        node_cache->status = status;
        for_each_value(node_cache, uvzk__shared_value_tell);
    }
}

void uvzk__node_cache_update(struct uvzk__node_cache *node_cache,
                             const struct uvzk__stat *stat, void *data, size_t length)
{
    /* Not newer than the known data. But the znode can be read. */
    if (stat->mzxid <= node_cache->version.mzxid) {
        uvzk__free(data);
        set_status(node_cache, 0);
        return;
    }
    uvzk__free(node_cache->data);
    node_cache->data = data;
    node_cache->length = length;
    node_cache->version.mzxid = stat->mzxid;
    node_cache->version.version = stat->version;
    node_cache->owner = stat->ephemeral_owner;
    node_cache->status = 0;
    for_each_value(node_cache, uvzk__shared_value_changed);
}

/* ---------------------------------------------------------------- the requests */

/* There is nothing to read, and the reason does not pass by itself: the znode is missing,
 * the read was refused, or there is no room for a watch. */
static void settle_without(struct uvzk__node_cache *node_cache, int status)
{
    node_cache->answered = true;
    set_status(node_cache, status);
}

/* No usable answer: the read is repeated after a pause, or as soon as the connection is
 * back (resume). */
static void no_answer(struct uvzk__node_cache *node_cache, int status)
{
    node_cache->read_again = true;
    if (uvzk__growing_pause_begin_after(node_cache->session, &node_cache->pause,
                                        status)) {
        settle_without(node_cache, status);
    }
}

static bool invariant_holds(const void *object)
{
    const struct uvzk__node_cache *node_cache = object;

    return (node_cache->state == UVZK__NODE_CACHE_IDLE || node_cache->refs > 0) &&
           (!uvzk__watcher_is_set(&node_cache->renewed.watcher) || !node_cache->ended);
}

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__NODE_CACHE_, IDLE, READING, SEEDING, LOOKING),
    UVZK__STATE(UVZK__NODE_CACHE_, READING, IDLE),
    UVZK__STATE(UVZK__NODE_CACHE_, SEEDING, IDLE),
    UVZK__STATE(UVZK__NODE_CACHE_, LOOKING, IDLE),
};

const struct uvzk__machine uvzk__node_cache_machine = UVZK__MACHINE(
    "node cache's request", table, struct uvzk__node_cache, state, invariant_holds);

static void submit(struct uvzk__node_cache *node_cache, enum uvzk__node_cache_state doing)
{
    /* reply_begins() removes this reference. */
    uvzk__node_cache_pin(node_cache);
    uvzk__move(node_cache->session, &uvzk__node_cache_machine, node_cache, doing);
    uvzk__submit(node_cache->session, &node_cache->rpc);
}

/* Called first for every reply. armed: the request has set the watch, if it carried one.
 * Returns NULL if the node cache has ended; it may be freed then. */
static struct uvzk__node_cache *reply_begins(struct uvzk__rpc *rpc, int status,
                                             bool armed)
{
    struct uvzk__node_cache *node_cache =
        UVZK__CONTAINER_OF(rpc, struct uvzk__node_cache, rpc);

    uvzk__answered(node_cache->session, rpc, status, rpc->kind == UVZK__RPC_CREATE);
    uvzk__move(node_cache->session, &uvzk__node_cache_machine, node_cache,
               UVZK__NODE_CACHE_IDLE);
    if (node_cache->ended) {
        uvzk__node_cache_unpin(node_cache);
        return NULL;
    }
    /* Not ended, so nothing has to be freed. */
    node_cache->refs--;
    uvzk__watch_answered(&node_cache->renewed.watcher, armed);
    return node_cache;
}

static void looked(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    bool stands = reply->status == 0, missing = reply->status == UVZK_ENONODE;
    struct uvzk__node_cache *node_cache =
        reply_begins(rpc, reply->status, stands || missing);

    if (node_cache == NULL) {
        return;
    }
    if (stands) {
        node_cache->read_again = true; /* created, or made readable, since the read */
    } else if (missing) {
        /* A watch is set on the missing znode, so no repeated reads are needed. */
        uvzk__growing_pause_reset(&node_cache->pause);
    } else {
        no_answer(node_cache, reply->status);
    }
    uvzk__node_cache_pump(node_cache);
}

/* Sets a watch by exists, which sets one on a missing znode too. Not needed if a watch
 * was set before the read: its event would report the znode. */
static void look(struct uvzk__node_cache *node_cache)
{
    if (uvzk__watcher_is_set(&node_cache->renewed.watcher) ||
        !uvzk__may_send(node_cache->session)) {
        return;
    }
    uvzk__rpc_prepare(&node_cache->rpc, UVZK__RPC_EXISTS, node_cache->path, looked);
    /* Without room, the read that is due without a watch will report UVZK_ELIMIT. */
    if (uvzk__watch_join_with(&node_cache->renewed.watcher, &node_cache->rpc)) {
        submit(node_cache, UVZK__NODE_CACHE_LOOKING);
    }
}

static void seed_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply);

/* Creates the znode with its seed, or an ancestor. */
static void make(struct uvzk__node_cache *node_cache)
{
    struct uvzk__seed_value *seed = &node_cache->seed;

    if (uvzk__may_send(node_cache->session)) {
        uvzk__node_create_set_data(&seed->create, seed->data, seed->length);
        uvzk__node_create_prepare(node_cache->session, &seed->create, &node_cache->rpc,
                                  seed_replied);
        submit(node_cache, UVZK__NODE_CACHE_SEEDING);
    } /* pump() starts again with a read when sending is possible */
}

static void seed_refused(struct uvzk__node_cache *node_cache, int status)
{
    if (uvzk__is_transient(status)) {
        no_answer(node_cache, status);
    } else {
        /* A refused seed is not tried again. The refusal is reported for as long as the
         * znode is missing. */
        uvzk__seed_value_drop(node_cache);
        node_cache->seed.refusal = status;
        settle_without(node_cache, status);
        look(node_cache);
    }
}

static void seed_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__node_cache *node_cache = reply_begins(rpc, reply->status, false);
    int status = reply->status;

    if (node_cache == NULL) {
        return;
    }
    if (uvzk__node_create_next(node_cache->session, &node_cache->seed.create, rpc,
                               status)) {
        make(node_cache);
    } else if (status == 0 || status == UVZK_ENODEEXISTS) {
        /* The read takes the znode's data, whichever client has created it. */
        uvzk__seed_value_drop(node_cache);
        node_cache->read_again = true;
    } else {
        seed_refused(node_cache, status);
    }
    uvzk__node_cache_pump(node_cache);
}

static void take(struct uvzk__node_cache *node_cache, const struct uvzk__reply *reply)
{
    void *data = uvzk__memdup(reply->data, reply->data_length);

    if (data == NULL) {
        no_answer(node_cache, UV_ENOMEM);
        return;
    }
    node_cache->answered = true;
    node_cache->seed.refusal = 0;
    uvzk__growing_pause_reset(&node_cache->pause);
    /* The znode exists, so the seed is no longer needed, even if the znode is deleted
     * later. */
    uvzk__seed_value_drop(node_cache);
    uvzk__node_cache_update(node_cache, &reply->stat, data, reply->data_length);
}

static void read_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__node_cache *node_cache =
        reply_begins(rpc, reply->status, reply->status == 0);
    int status = reply->status;

    if (node_cache == NULL) {
        return;
    }
    if (status == 0) {
        take(node_cache, reply);
    } else if (status == UVZK_ENONODE && uvzk__seed_value_is_wanted(node_cache)) {
        /* Missing, with a seed: creates it. */
        uvzk__node_create_begin(&node_cache->seed.create);
        make(node_cache);
    } else if (status == UVZK_ENONODE || status == UVZK_ENOAUTH) {
        /* A missing znode is reported with the reason why the seed could not be
         * written. */
        bool refused = status == UVZK_ENONODE && node_cache->seed.refusal != 0;
        settle_without(node_cache, refused ? node_cache->seed.refusal : status);
        look(node_cache);
    } else {
        no_answer(node_cache, status);
    }
    /* Also after a failure: a set that waits for this read must not wait forever. */
    for_each_value(node_cache, uvzk__shared_value_was_read);
    uvzk__node_cache_pump(node_cache);
}

static void read_znode(struct uvzk__node_cache *node_cache)
{
    uvzk__rpc_prepare(&node_cache->rpc, UVZK__RPC_GET, node_cache->path, read_replied);
    /* The read is not sent without a watch, because nothing would report the next
     * change. */
    if (!uvzk__watcher_is_set(&node_cache->renewed.watcher) &&
        !uvzk__watch_join_with(&node_cache->renewed.watcher, &node_cache->rpc)) {
        settle_without(node_cache, UVZK_ELIMIT);
        uvzk__growing_pause_begin_once(node_cache->session, &node_cache->pause,
                                       UVZK__NO_ROOM_PAUSE_MS);
        return;
    }
    node_cache->read_again = false;
    submit(node_cache, UVZK__NODE_CACHE_READING);
    node_cache->read_stamp = uvzk__stamp(node_cache->session);
}

/* After each CONNECTED event the znode is read again, even if its watch is still set. */
static bool read_is_due(const struct uvzk__node_cache *node_cache)
{
    return node_cache->read_again ||
           !uvzk__watcher_is_set(&node_cache->renewed.watcher) ||
           !uvzk__is_of_this_connection(node_cache->session, node_cache->read_stamp);
}

bool uvzk__node_cache_is_read(const struct uvzk__node_cache *node_cache)
{
    return node_cache->state != UVZK__NODE_CACHE_READING && !node_cache->read_again &&
           uvzk__is_of_this_connection(node_cache->session, node_cache->read_stamp);
}

void uvzk__node_cache_pump(struct uvzk__node_cache *node_cache)
{
    if (uvzk__session_is_closing(node_cache->session) ||
        !uvzk__may_send(node_cache->session)) {
        return;
    }
    /* Before that the znode may still have to be created, and a set would fail. */
    if (node_cache->answered) {
        for_each_value(node_cache, uvzk__shared_value_send_sets);
    }
    if (node_cache->state == UVZK__NODE_CACHE_IDLE &&
        !uvzk__growing_pause_runs(&node_cache->pause) && read_is_due(node_cache)) {
        read_znode(node_cache);
    }
}

void uvzk__node_cache_read_again(struct uvzk__node_cache *node_cache)
{
    /* Replies come in the order of the requests, so the read under way was executed after
     * the set. */
    if (node_cache->state != UVZK__NODE_CACHE_READING) {
        node_cache->read_again = true;
        uvzk__node_cache_pump(node_cache);
    }
}

/* ------------------------------------------------------------- all of a session */

void uvzk__node_caches_session_ended(struct uvzk__session *session, bool assumed)
{
    struct uvzk__node_cache *node_cache, *next;

    HASH_ITER(hh, *uvzk__node_caches(session), node_cache, next)
    {
        for_each_value(node_cache, assumed ? uvzk__shared_value_lapsed
                                           : uvzk__shared_value_session_ended);
    }
}

void uvzk__node_caches_resume(struct uvzk__session *session)
{
    struct uvzk__node_cache *node_cache, *next;

    HASH_ITER(hh, *uvzk__node_caches(session), node_cache, next)
    {
        uvzk__growing_pause_end(session, &node_cache->pause);
        uvzk__node_cache_pump(node_cache);
    }
}

void uvzk__node_caches_unreachable(struct uvzk__session *session, int code)
{
    struct uvzk__node_cache *node_cache, *next;

    HASH_ITER(hh, *uvzk__node_caches(session), node_cache, next)
    {
        for (struct uvzk__link *link = node_cache->values.next;
             link != &node_cache->values; link = link->next) {
            uvzk__shared_value_unreachable(value_at(link), code);
        }
        set_status(node_cache, code);
    }
}
