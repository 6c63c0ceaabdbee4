/* SPDX-License-Identifier: Apache-2.0 */
/* The client's copy of one znode's data (node_cache.h): what the requests of a reading are,
 * and what their replies say of the data. shared_value.c makes node caches and is called
 * back when something is known. */
#include "value/node_cache.h"

#include "base/memory.h"
#include "base/outcome.h"
#include "engine/submission.h"
#include "engine/znode_owner.h"
#include "value/shared_value.h"

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

/* ------------------------------------------------------------------------- the seed */

/* It is kept until the znode exists or the server refuses it. */
void uvzk__seed_value_set(struct uvzk__node_cache *node_cache, void *data, size_t length)
{
    struct uvzk__seed_value *seed = &node_cache->seed;

    /* The seed that came first is still waiting to be written. */
    if (seed->data != NULL) {
        uvzk__free(data);
        return;
    }
    seed->data = data;
    seed->length = length;
    /* A new seed may be accepted although an earlier one was refused. */
    seed->refusal = 0;
    uvzk__reading_want(&node_cache->reading);
}

/* Nothing is left to write. */
static void seed_value_drop(struct uvzk__node_cache *node_cache)
{
    uvzk__free(node_cache->seed.data);
    node_cache->seed.data = NULL;
}

/* Returns true if there is a seed to write. Returns false if another recipe of this
 * client owns the znode, because a seed would block that recipe forever
 * (znode_owner.h). */
static bool seed_value_is_wanted(struct uvzk__node_cache *node_cache)
{
    if (uvzk__znode_is_owned(node_cache->reading.session, node_cache->reading.path)) {
        seed_value_drop(node_cache);
    }
    return node_cache->seed.data != NULL;
}

/* Creates the znode with its seed, or an ancestor. */
static void seed_value_create(struct uvzk__node_cache *node_cache)
{
    struct uvzk__seed_value *seed = &node_cache->seed;
    struct uvzk__reading *reading = &node_cache->reading;

    if (uvzk__reading_may_ask(reading)) {
        uvzk__node_create_set_data(&seed->create, seed->data, seed->length);
        uvzk__node_create_prepare(reading->session, &seed->create, &reading->rpc,
                                  uvzk__reading_replied);
        uvzk__reading_send(reading);
    } else {
        /* It starts again with a read when sending is possible, even if a watch is set. */
        uvzk__reading_want(reading);
    }
}

/* The znode is missing: begins to create it with the seed. */
static void seed_value_write(struct uvzk__node_cache *node_cache)
{
    uvzk__node_create_begin(&node_cache->seed.create);
    seed_value_create(node_cache);
}

/* A create was answered with this status. Returns 0 if the next one is under way, or if the
 * znode exists, which wants a reading then; else why it could not be written. */
static int seed_value_answered(struct uvzk__node_cache *node_cache, int status)
{
    struct uvzk__seed_value *seed = &node_cache->seed;
    struct uvzk__reading *reading = &node_cache->reading;

    if (uvzk__node_create_next(reading->session, &seed->create, &reading->rpc, status)) {
        seed_value_create(node_cache);
        return 0;
    }
    if (status == 0 || status == UVZK_ENODEEXISTS) {
        /* The read takes the znode's data, whichever client has created it. */
        seed_value_drop(node_cache);
        uvzk__reading_want(reading);
        return 0;
    }
    if (!uvzk__is_transient(status)) {
        /* A refused seed is not tried again. The refusal is reported for as long as the
         * znode is missing. */
        seed_value_drop(node_cache);
        seed->refusal = status;
    }
    return status;
}

/* ---------------------------------------------------------------- the requests */

/* There is nothing to read, and the reason does not pass by itself: the znode is missing,
 * the read was refused, or there is no room for a watch. */
static void settle_without(struct uvzk__node_cache *node_cache, int status)
{
    node_cache->answered = true;
    set_status(node_cache, status);
}

/* No usable answer: the read is repeated. */
static void no_answer(struct uvzk__node_cache *node_cache, int status)
{
    if (uvzk__reading_repeat(&node_cache->reading, status)) {
        settle_without(node_cache, status);
    }
}

/* Sets a watch by exists, which sets one on a missing znode too. Not needed if a watch
 * was set before the read: its event would report the znode. */
static void node_cache_look(struct uvzk__node_cache *node_cache)
{
    struct uvzk__reading *reading = &node_cache->reading;

    if (!uvzk__watcher_is_set(&reading->renewed.watcher)) {
        (void)uvzk__reading_ask(reading, UVZK__RPC_EXISTS, reading->path, true);
    }
}

static void node_cache_looked(struct uvzk__node_cache *node_cache, bool stands)
{
    if (stands) {
        /* Created, or made readable, since the read. */
        uvzk__reading_want(&node_cache->reading);
    } else {
        /* A watch is set on the missing znode, so no repeated reads are needed. */
        uvzk__growing_pause_reset(&node_cache->reading.pause);
    }
}

static void seed_answered(struct uvzk__node_cache *node_cache, int status)
{
    int refusal = seed_value_answered(node_cache, status);

    if (uvzk__is_transient(refusal)) {
        no_answer(node_cache, refusal);
    } else if (refusal != 0) {
        settle_without(node_cache, refusal);
        node_cache_look(node_cache);
    }
}

static void node_cache_take(struct uvzk__node_cache *node_cache,
                            const struct uvzk__reply *reply)
{
    void *data = uvzk__memdup(reply->data, reply->data_length);

    if (data == NULL) {
        no_answer(node_cache, UV_ENOMEM);
        return;
    }
    node_cache->answered = true;
    node_cache->seed.refusal = 0;
    uvzk__growing_pause_reset(&node_cache->reading.pause);
    /* The znode exists, so the seed is no longer needed, even if the znode is deleted
     * later. */
    seed_value_drop(node_cache);
    uvzk__node_cache_update(node_cache, &reply->stat, data, reply->data_length);
}

static void read_missing(struct uvzk__node_cache *node_cache)
{
    int refusal = node_cache->seed.refusal;

    if (seed_value_is_wanted(node_cache)) {
        seed_value_write(node_cache);
    } else {
        /* A missing znode is reported with the reason why the seed could not be
         * written. */
        settle_without(node_cache, refusal != 0 ? refusal : UVZK_ENONODE);
        node_cache_look(node_cache);
    }
}

static void send_sets(struct uvzk__node_cache *node_cache)
{
    const struct uvzk__session *session = node_cache->reading.session;

    /* Before that the znode may still have to be created, and a set would fail. */
    if (node_cache->answered && !uvzk__session_is_closing(session) &&
        uvzk__may_send(session)) {
        for_each_value(node_cache, uvzk__shared_value_send_sets);
    }
}

/* was_read: the get has been answered, or has failed: a set that waits for it must not wait
 * forever. */
static void read_is_over(struct uvzk__node_cache *node_cache, bool was_read)
{
    if (was_read) {
        for_each_value(node_cache, uvzk__shared_value_was_read);
    }
    send_sets(node_cache);
}

static void node_cache_shown(struct uvzk__reading *reading,
                             const struct uvzk__reply *reply)
{
    struct uvzk__node_cache *node_cache = uvzk__node_cache_at(reading);
    enum uvzk__rpc_kind asked = (enum uvzk__rpc_kind)reading->rpc.kind;

    if (asked == UVZK__RPC_CREATE) {
        seed_answered(node_cache, reply->status);
    } else if (asked == UVZK__RPC_EXISTS) {
        node_cache_looked(node_cache, reply->status == 0);
    } else if (reply->status == 0) {
        node_cache_take(node_cache, reply);
    } else {
        read_missing(node_cache);
    }
    read_is_over(node_cache, asked == UVZK__RPC_GET);
}

static void node_cache_failed(struct uvzk__reading *reading, int status)
{
    struct uvzk__node_cache *node_cache = uvzk__node_cache_at(reading);
    bool was_read = reading->rpc.kind == UVZK__RPC_GET && status != UVZK_ELIMIT;

    if (reading->rpc.kind == UVZK__RPC_CREATE) {
        seed_answered(node_cache, status);
    } else if (was_read && status == UVZK_ENOAUTH) {
        settle_without(node_cache, status);
        node_cache_look(node_cache);
    } else {
        no_answer(node_cache, status);
    }
    read_is_over(node_cache, was_read);
}

static bool read_znode(struct uvzk__reading *reading)
{
    return uvzk__reading_ask(reading, UVZK__RPC_GET, reading->path, true);
}

/* ----------------------------------------------------------- making and freeing */

static void free_memory(struct uvzk__reading *reading)
{
    struct uvzk__node_cache *node_cache = uvzk__node_cache_at(reading);

    uvzk__node_create_free(&node_cache->seed.create);
    uvzk__free(node_cache->seed.data);
    uvzk__free(node_cache->data);
    uvzk__free(node_cache);
}

static const struct uvzk__reading_kind kind = {
    .table = uvzk__node_caches,
    .begin = read_znode,
    .shown = node_cache_shown,
    .failed = node_cache_failed,
    .free_memory = free_memory,
};

static struct uvzk__node_cache *make_node_cache(struct uvzk__session *session,
                                                const char *path)
{
    struct uvzk__node_cache *node_cache = uvzk__calloc(1, sizeof(*node_cache));

    if (node_cache == NULL) {
        return NULL;
    }
    uvzk__list_init(&node_cache->values);
    if (!uvzk__reading_init(&node_cache->reading, session, &kind, path)) {
        uvzk__free(node_cache);
        return NULL;
    }
    if (!uvzk__node_create_init(&node_cache->seed.create, node_cache->reading.path,
                                UVZK__PERSISTENT)) {
        uvzk__reading_end(&node_cache->reading);
        return NULL;
    }
    return node_cache;
}

struct uvzk__node_cache *uvzk__node_cache_find(const struct uvzk__session *session,
                                               const char *path)
{
    struct uvzk__reading *reading = uvzk__reading_find(session, &kind, path);

    return reading == NULL ? NULL : uvzk__node_cache_at(reading);
}

struct uvzk__node_cache *uvzk__node_cache_of(struct uvzk__session *session,
                                             const char *path)
{
    struct uvzk__node_cache *node_cache = uvzk__node_cache_find(session, path);

    return node_cache != NULL ? node_cache : make_node_cache(session, path);
}

void uvzk__node_cache_end_unused(struct uvzk__node_cache *node_cache)
{
    /* Otherwise another shared value still uses it. */
    if (uvzk__list_empty(&node_cache->values)) {
        uvzk__reading_end(&node_cache->reading);
    }
}

/* --------------------------------------------------------------- for the values */

static bool is_being_read(const struct uvzk__node_cache *node_cache)
{
    return node_cache->reading.state == UVZK__READING_ASKED &&
           node_cache->reading.rpc.kind == UVZK__RPC_GET;
}

bool uvzk__node_cache_is_read(const struct uvzk__node_cache *node_cache)
{
    const struct uvzk__reading *reading = &node_cache->reading;

    return !is_being_read(node_cache) && !reading->again &&
           uvzk__is_of_this_connection(reading->session, reading->stamp);
}

void uvzk__node_cache_pump(struct uvzk__node_cache *node_cache)
{
    send_sets(node_cache);
    uvzk__reading_pump(&node_cache->reading);
}

void uvzk__node_cache_read_again(struct uvzk__node_cache *node_cache)
{
    /* Replies come in the order of the requests, so the read under way was executed after
     * the set. */
    if (!is_being_read(node_cache)) {
        uvzk__reading_want(&node_cache->reading);
        uvzk__node_cache_pump(node_cache);
    }
}

/* ------------------------------------------------------------- all of a session */

void uvzk__node_caches_session_ended(struct uvzk__session *session, bool assumed)
{
    struct uvzk__reading *reading, *next;

    HASH_ITER(hh, *uvzk__node_caches(session), reading, next)
    {
        for_each_value(uvzk__node_cache_at(reading),
                       assumed ? uvzk__shared_value_lapsed
                               : uvzk__shared_value_session_ended);
    }
}

void uvzk__node_caches_resume(struct uvzk__session *session)
{
    struct uvzk__reading *reading, *next;

    HASH_ITER(hh, *uvzk__node_caches(session), reading, next)
    {
        send_sets(uvzk__node_cache_at(reading));
        uvzk__reading_resume(reading);
    }
}

void uvzk__node_caches_unreachable(struct uvzk__session *session, int code)
{
    struct uvzk__reading *reading, *next;

    HASH_ITER(hh, *uvzk__node_caches(session), reading, next)
    {
        struct uvzk__node_cache *node_cache = uvzk__node_cache_at(reading);
        for (struct uvzk__link *link = node_cache->values.next;
             link != &node_cache->values; link = link->next) {
            uvzk__shared_value_unreachable(value_at(link), code);
        }
        set_status(node_cache, code);
    }
}
