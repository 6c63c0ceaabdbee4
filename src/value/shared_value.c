/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions on shared values, and what a value reports to its user
 * (shared_value.h), and its sets. The data are in the node cache of the path
 * (node_cache.c), which calls back here when something has changed.
 *
 * Changes are reported at the end of a turn, and only the last one of a turn: the user
 * reads the data with uvzk_shared_value_get. */
#include "value/shared_value.h"

#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "engine/handle_end.h"
#include "engine/req.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/znode_owner.h"

/* ------------------------------------------------------------------- reporting */

/* Returns true if the state differs from the one that was reported last. */
static bool has_news(const struct uvzk__shared_value *value)
{
    const struct uvzk__node_cache *node_cache = value->node_cache;

    if (node_cache->status != value->told_status) {
        /* Readable again counts only if there is a value. */
        return node_cache->status != 0 || node_cache->version.mzxid != 0;
    }
    return node_cache->status == 0 && node_cache->version.mzxid != value->told_mzxid;
}

static void tell_news(struct uvzk__shared_value *value)
{
    const struct uvzk__node_cache *node_cache = value->node_cache;

    value->told_status = node_cache->status;
    value->told_mzxid = node_cache->version.mzxid;
    if (value->cb != NULL) {
        value->cb(value->handle, node_cache->status);
    }
}

static void end_listening(struct uvzk__shared_value *value)
{
    struct uvzk__link *link;

    while ((link = uvzk__list_take(&value->listeners)) != NULL) {
        struct uvzk__value_listener *listener =
            UVZK__CONTAINER_OF(link, struct uvzk__value_listener, link);
        if (listener->closed != NULL) {
            listener->closed(listener);
        }
    }
}

static void free_value(struct uvzk__shared_value *value)
{
    /* Read first, because it is used after the value has been freed. */
    struct uvzk__node_cache *node_cache = value->node_cache;

    value->handle->impl = NULL;
    end_listening(value);
    uvzk__list_remove(&value->notification.link);
    uvzk__list_remove(&value->siblings);
    uvzk__free(value);
    uvzk__node_cache_end_unused(node_cache);
}

static void shared_value_tell(struct uvzk__notification *notification)
{
    struct uvzk__shared_value *value =
        UVZK__CONTAINER_OF(notification, struct uvzk__shared_value, notification);
    uvzk_shared_value_close_cb close_cb = value->close_cb;
    uvzk_shared_value_t *handle = value->handle;

    if (!value->closing) {
        if (!uvzk__session_is_closing(value->node_cache->reading.session) &&
            has_news(value)) {
            tell_news(value);
        }
    } else { /* The callbacks of its sets have run, because they were queued earlier. */
        free_value(value);
        struct uvzk__end_listener *listener = uvzk__end_take(&handle->end);

        if (close_cb != NULL) {
            close_cb(handle);
        }
        uvzk__end_tell(listener, 0);
    }
}

void uvzk__shared_value_tell(struct uvzk__shared_value *value)
{
    uvzk__notify_later(value->node_cache->reading.session, &value->notification);
}

static struct uvzk__value_listener *listener_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__value_listener, link);
}

/* A listener may remove itself. */
#define EACH_LISTENER(link, next, value)                                        \
    for (struct uvzk__link *link = (value)->listeners.next, *next = link->next; \
         link != &(value)->listeners; link = next, next = link->next)

void uvzk__shared_value_changed(struct uvzk__shared_value *value)
{
    EACH_LISTENER(link, next, value)
    {
        if (listener_at(link)->changed != NULL) {
            listener_at(link)->changed(listener_at(link));
        }
    }
    uvzk__shared_value_tell(value);
}

void uvzk__shared_value_session_ended(struct uvzk__shared_value *value)
{
    EACH_LISTENER(link, next, value)
    {
        if (listener_at(link)->session_ended != NULL) {
            listener_at(link)->session_ended(listener_at(link));
        }
    }
}

void uvzk__shared_value_lapsed(struct uvzk__shared_value *value)
{
    EACH_LISTENER(link, next, value)
    {
        if (listener_at(link)->lapsed != NULL) {
            listener_at(link)->lapsed(listener_at(link));
        }
    }
}

struct uvzk__session *uvzk__shared_value_session(const uvzk_shared_value_t *handle)
{
    const struct uvzk__shared_value *value = handle == NULL ? NULL : handle->impl;

    return value == NULL ? NULL : value->node_cache->reading.session;
}

void uvzk__shared_value_listen(struct uvzk__shared_value *value,
                               struct uvzk__value_listener *listener)
{
    uvzk__list_init(&listener->link);
    uvzk__list_append(&value->listeners, &listener->link);
}

/* ----------------------------------------------------------------- init, close */

static int shared_value_check(const uvzk_client_t *client_handle,
                              const uvzk_shared_value_t *handle, const char *path,
                              const void *seed, size_t seed_length,
                              enum uvzk__value_use use)
{
    int status = uvzk__refuse_if(
        UV_EINVAL, seed == NULL && seed_length > 0 ? "seed is NULL, seed_length is not 0"
                   : seed_length > UVZK__DATA_MAX  ? "seed_length is more than 1000000"
                                                   : NULL);

    if (status == 0) {
        status = uvzk__check_init(client_handle, "the value", handle,
                                  handle == NULL ? NULL : handle->impl, path);
    }
    return status != 0 ? status
                       : uvzk__znode_owner_check_open(client_handle->impl, path,
                                                      use == UVZK__VALUE_IS_COUNT
                                                          ? UVZK__NEEDS_NUMBER
                                                          : UVZK__NEEDS_ZNODE);
}

/* The node cache of this path below the namespace. NULL: out of memory. */
static struct uvzk__node_cache *find_node_cache(struct uvzk__session *session,
                                                const char *path)
{
    char *full = uvzk__path_join(uvzk__namespace_of(session), path);
    struct uvzk__node_cache *node_cache =
        full == NULL ? NULL : uvzk__node_cache_of(uvzk__home_of(session, full), full);

    uvzk__free(full);
    return node_cache;
}

static struct uvzk__shared_value *new_value(uvzk_client_t *client_handle,
                                            const char *path)
{
    struct uvzk__shared_value *value = uvzk__calloc(1, sizeof(*value));
    struct uvzk__node_cache *node_cache =
        value == NULL ? NULL : find_node_cache(client_handle->impl, path);

    /* Nothing refers to the value yet. */
    if (node_cache == NULL) {
        uvzk__free(value);
        return NULL;
    }
    value->node_cache = node_cache;
    return value;
}

/* seed: owned by the value from here on, even if out of memory; NULL: none. */
static int open_value(uvzk_client_t *client_handle, uvzk_shared_value_t *handle,
                      const char *path, void *seed, size_t seed_length,
                      enum uvzk__value_use use, uvzk_shared_value_change_cb cb)
{
    struct uvzk__shared_value *value = new_value(client_handle, path);

    if (value == NULL) {
        uvzk__free(seed);
        return UV_ENOMEM;
    }
    struct uvzk__node_cache *node_cache = value->node_cache;
    value->handle = handle;
    value->cb = cb;
    value->use = (uint8_t)use;
    value->notification.notify_cb = shared_value_tell;
    uvzk__list_init(&value->notification.link);
    uvzk__list_init(&value->sets);
    uvzk__list_init(&value->listeners);
    uvzk__list_append(&node_cache->values, &value->siblings);
    handle->impl = value;
    if (seed != NULL) {
        uvzk__seed_value_set(node_cache, seed, seed_length);
    }
    if (node_cache->reading.session->auth_failed) {
        node_cache->status = UVZK_EAUTH;
    }
    /* Another value of this client on the path may have read it already. */
    uvzk__shared_value_tell(value);
    uvzk__node_cache_pump(node_cache);
    return 0;
}

int uvzk__shared_value_open(uvzk_client_t *client_handle, uvzk_shared_value_t *handle,
                            const char *path, const void *seed, size_t seed_length,
                            enum uvzk__value_use use, uvzk_shared_value_change_cb cb)
{
    int status = shared_value_check(client_handle, handle, path, seed, seed_length, use);

    if (status != 0) {
        return status;
    }
    void *own_seed = uvzk__memdup(seed, seed_length);
    return own_seed == NULL
               ? UV_ENOMEM
               : open_value(client_handle, handle, path, own_seed, seed_length, use, cb);
}

int uvzk_shared_value_init(uvzk_client_t *client_handle, uvzk_shared_value_t *handle,
                           const char *path, const void *seed, size_t seed_length,
                           uvzk_shared_value_change_cb cb)
{
    return uvzk__shared_value_open(client_handle, handle, path, seed, seed_length,
                                   UVZK__VALUE_IS_VALUE, cb);
}

int uvzk__shared_value_follow(uvzk_client_t *client_handle, uvzk_shared_value_t *handle,
                              const char *path, uvzk_shared_value_change_cb cb)
{
    int status =
        shared_value_check(client_handle, handle, path, NULL, 0, UVZK__VALUE_FOLLOWS);

    return status != 0 ? status
                       : open_value(client_handle, handle, path, NULL, 0,
                                    UVZK__VALUE_FOLLOWS, cb);
}

int uvzk_shared_value_close(uvzk_shared_value_t *handle,
                            uvzk_shared_value_close_cb close_cb)
{
    struct uvzk__shared_value *value = handle == NULL ? NULL : handle->impl;

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "the value is NULL");
    }
    if (value == NULL || value->closing) {
        return uvzk__refuse(UVZK_ESTATE, "the value is closing, or not initialised");
    }
    value->closing = true;
    value->close_cb = close_cb;
    uvzk__end_begin(&handle->end, uvzk__shared_value_session(handle));
    /* A change that has not been reported is dropped. The notification is queued again
     * below, after those of the sets. */
    uvzk__list_remove(&value->notification.link);
    end_listening(value);
    uvzk__shared_value_end_sets(value, UVZK_ECLOSED);
    uvzk__shared_value_tell(value);
    return 0;
}

void uvzk__shared_values_free(struct uvzk__session *session)
{
    while (*uvzk__node_caches(session) != NULL) {
        const struct uvzk__node_cache *node_cache =
            uvzk__node_cache_at(*uvzk__node_caches(session));
        struct uvzk__shared_value *value = UVZK__CONTAINER_OF(
            node_cache->values.next, struct uvzk__shared_value, siblings);
        uvzk_shared_value_t *handle = value->handle;
        void (*dropped)(uvzk_shared_value_t *) = value->client_gone_cb;

        /* The last value of a node cache ends it, which removes it from the table. */
        free_value(value);
        if (dropped != NULL) {
            dropped(handle);
        }
    }
}

/* ------------------------------------------------------------ for the owners of znodes */

bool uvzk__shared_values_need_below(const struct uvzk__session *session, const char *path)
{
    const struct uvzk__reading *each = *uvzk__node_caches(session);

    while (each != NULL && !uvzk__path_is_below(each->path, path, false)) {
        each = each->hh.next;
    }
    return each != NULL;
}

unsigned uvzk__shared_values_at(const struct uvzk__session *session, const char *path)
{
    static const uint8_t bits[] = {[UVZK__VALUE_IS_VALUE] = 1U << UVZK__OWNED_BY_VALUE,
                                   [UVZK__VALUE_IS_COUNT] = 1U << UVZK__OWNED_BY_COUNT};
    const struct uvzk__node_cache *node_cache = uvzk__node_cache_find(session, path);
    unsigned all = 0;

    if (node_cache == NULL) {
        return 0;
    }
    for (struct uvzk__link *link = node_cache->values.next; link != &node_cache->values;
         link = link->next) {
        all |= bits[UVZK__CONTAINER_OF(link, struct uvzk__shared_value, siblings)->use];
    }
    return all;
}

/* -------------------------------------------------------------------- reading */

int uvzk_shared_value_get(const uvzk_shared_value_t *handle, const void **data,
                          size_t *length, uvzk_value_version_t *version)
{
    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "the value is NULL");
    }
    const struct uvzk__shared_value *value = handle->impl;
    if (value == NULL || value->closing) {
        return uvzk__refuse(UVZK_ECLOSED, "the value is closing, or not initialised");
    }
    const struct uvzk__node_cache *node_cache = value->node_cache;
    /* The last known value is returned even if the znode cannot be read now. */
    if (node_cache->version.mzxid == 0) {
        return uvzk__refuse(UVZK_ENONODE, "the value has not been read yet");
    }
    if (data != NULL) {
        *data = node_cache->data;
    }
    if (length != NULL) {
        *length = node_cache->length;
    }
    if (version != NULL) {
        *version = node_cache->version;
    }
    return 0;
}

int uvzk__shared_value_known(const uvzk_shared_value_t *handle, struct uvzk__stat *stat)
{
    const struct uvzk__shared_value *value = handle->impl;
    const struct uvzk__node_cache *node_cache = value->node_cache;

    *stat = (struct uvzk__stat){.mzxid = node_cache->version.mzxid,
                                .version = node_cache->version.version,
                                .ephemeral_owner = node_cache->owner};
    /* Without room for a watch nothing is read. */
    return node_cache->status == UVZK_ELIMIT || uvzk__node_cache_is_read(node_cache)
               ? node_cache->status
               : UV_EAGAIN;
}

void uvzk__shared_value_set_client_gone(uvzk_shared_value_t *handle,
                                        void (*client_gone)(uvzk_shared_value_t *))
{
    struct uvzk__shared_value *value = handle->impl;

    value->client_gone_cb = client_gone;
}

void uvzk__shared_value_read_again(uvzk_shared_value_t *handle)
{
    struct uvzk__shared_value *value = handle->impl;

    uvzk__node_cache_read_again(value->node_cache);
}

void uvzk__shared_value_add_listener(uvzk_shared_value_t *handle,
                                     struct uvzk__value_listener *listener)
{
    uvzk__shared_value_listen(handle->impl, listener);
}

/* -------------------------------------------------------------------------- one set */

/* A set is sent when there is a connection and the first read of the node cache is over. It
 * is sent again only if the server has certainly not executed it. */

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__SET_, WAITING, SENT, DECIDED),
    UVZK__STATE(UVZK__SET_, SENT, WAITING, REREADING, DECIDED),
    UVZK__STATE(UVZK__SET_, REREADING, DECIDED),
    UVZK__FINAL(UVZK__SET_, DECIDED),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__value_set *set = object;

    switch (set->state) {
    case UVZK__SET_SENT:
        return set->under_way;
    case UVZK__SET_DECIDED:
        return true;
    default:
        return !set->under_way && set->value != NULL;
    }
}

const struct uvzk__machine uvzk__value_set_machine = UVZK__MACHINE(
    "set of a shared value", table, struct uvzk__value_set, state, invariant_holds);

static void free_set(struct uvzk__value_set *set)
{
    uvzk__free(set->data);
    uvzk__free(set);
}

static void value_set_tell(struct uvzk__notification *notification)
{
    struct uvzk__value_set *set =
        UVZK__CONTAINER_OF(notification, struct uvzk__value_set, notification);
    uvzk_req_t *handle = set->handle;
    uvzk_req_cb cb = set->cb;
    int status = set->status;

    uvzk__list_remove(&set->siblings);
    /* value_set_replied() frees the set if a request is still under way. */
    set->value = NULL;
    if (!set->under_way) {
        free_set(set);
    }
    uvzk__req_end(handle, cb, status, NULL);
}

static struct uvzk__session *session_of(const struct uvzk__value_set *set)
{
    return set->node_cache->reading.session;
}

/* The outcome is known. The callback runs at the end of the turn. */
static void value_set_decide(struct uvzk__value_set *set, int status)
{
    uvzk__move(session_of(set), &uvzk__value_set_machine, set, UVZK__SET_DECIDED);
    set->status = status;
    uvzk__notify_later(session_of(set), &set->notification);
}

/* Makes a set in WAITING and adds it to value->sets. over: the version that it may
 * replace; NULL: any version. The data are copied. NULL: out of memory. */
static struct uvzk__value_set *value_set_new(struct uvzk__shared_value *value,
                                             uvzk_req_t *handle,
                                             const uvzk_value_version_t *over,
                                             const void *data, size_t length,
                                             uvzk_req_cb cb)
{
    struct uvzk__value_set *set = uvzk__calloc(1, sizeof(*set));

    if (set == NULL) {
        return NULL;
    }
    set->data = uvzk__memdup(data, length);
    if (set->data == NULL) {
        uvzk__free(set);
        return NULL;
    }
    set->node_cache = value->node_cache;
    set->value = value;
    set->handle = handle;
    set->cb = cb;
    set->length = length;
    set->expected.version = UVZK__ANY_VERSION;
    if (over != NULL) {
        set->expected = *over;
    }
    set->notification.notify_cb = value_set_tell;
    uvzk__list_init(&set->notification.link);
    uvzk__list_append(&value->sets, &set->siblings);
    uvzk__req_begin(handle, set, NULL);
    return set;
}

/* Returns true if a later set of the same value has been sent. This set must not be
 * repeated then, because it would overwrite the later one. */
static bool is_overtaken(const struct uvzk__value_set *set)
{
    const struct uvzk__link *head = &set->value->sets;

    for (const struct uvzk__link *link = set->siblings.next; link != head;
         link = link->next) {
        if (UVZK__CONTAINER_OF((uintptr_t)link, struct uvzk__value_set, siblings)
                ->state == UVZK__SET_SENT) {
            return true;
        }
    }
    return false;
}

/* After another version, the callback waits until that has been read, so that the user can
 * read it. */
static void value_set_refused(struct uvzk__value_set *set, int status)
{
    if (status == UVZK_EBADVERSION) {
        uvzk__move(session_of(set), &uvzk__value_set_machine, set, UVZK__SET_REREADING);
        uvzk__node_cache_read_again(set->node_cache);
    } else {
        value_set_decide(set, status);
    }
}

static void value_set_conclude(struct uvzk__value_set *set,
                               const struct uvzk__reply *reply)
{
    bool throttled = reply->status == UVZK_ETHROTTLED;

    /* The set was not executed, and cannot be repeated. */
    if (throttled && is_overtaken(set)) {
        value_set_decide(set, UVZK_ETHROTTLED);
        return;
    }
    switch (uvzk__outcome_of(reply->status)) {
    case UVZK__OUTCOME_DONE:
        /* The reply shows that the znode now has these data. The node cache takes
         * ownership of them. */
        uvzk__node_cache_update(set->node_cache, &reply->stat, set->data, set->length);
        set->data = NULL;
        value_set_decide(set, 0);
        break;
    case UVZK__OUTCOME_NOT_SENT:
        /* It is sent when requests may be sent again: the session has backed off, or has
         * no connection. */
        uvzk__move(session_of(set), &uvzk__value_set_machine, set, UVZK__SET_WAITING);
        break;
    case UVZK__OUTCOME_REFUSED:
        value_set_refused(set, reply->status);
        break;
    case UVZK__OUTCOME_UNKNOWN:
        value_set_decide(set, uvzk__status_of_write(reply->status));
        break;
    }
}

static void value_set_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__value_set *set = UVZK__CONTAINER_OF(rpc, struct uvzk__value_set, rpc);

    /* The callback may have run before the reply; then nothing else frees the set. */
    set->under_way = false;
    uvzk__answered(session_of(set), rpc, reply->status, true);
    uvzk__reading_unpin(&set->node_cache->reading);
    if (set->value == NULL) {
        free_set(set);
    } else if (set->state == UVZK__SET_SENT) {
        value_set_conclude(set, reply);
    }
}

/* The server compares the version only. But version numbers start again when a znode is
 * created again, and mzxids never repeat. So the mzxid is compared here before the set is
 * sent. */
static bool is_outdated(const struct uvzk__value_set *set)
{
    const uvzk_value_version_t *known = &set->node_cache->version;

    return set->expected.version != UVZK__ANY_VERSION &&
           (set->expected.version != known->version ||
            set->expected.mzxid != known->mzxid);
}

/* Requests may be sent: sends the set if it is WAITING. */
static void value_set_send(struct uvzk__value_set *set)
{
    /* It is under way, or its outcome is known. */
    if (set->state != UVZK__SET_WAITING) {
        return;
    }
    if (is_outdated(set)) {
        value_set_decide(set, UVZK_EBADVERSION);
        return;
    }
    uvzk__rpc_prepare(&set->rpc, UVZK__RPC_SET, set->node_cache->reading.path,
                      value_set_replied);
    set->rpc.data = set->data;
    set->rpc.data_length = set->length;
    set->rpc.version = set->expected.version;
    set->under_way = true;
    uvzk__move(session_of(set), &uvzk__value_set_machine, set, UVZK__SET_SENT);
    uvzk__reading_pin(&set->node_cache->reading);
    uvzk__submit(session_of(set), &set->rpc);
}

/* A read was answered: a set in REREADING ends with UVZK_EBADVERSION. */
static void value_set_was_read(struct uvzk__value_set *set)
{
    if (set->state == UVZK__SET_REREADING) {
        value_set_decide(set, UVZK_EBADVERSION);
    }
}

/* Ends the set with this code if it is not DECIDED yet. A set in REREADING ends with
 * UVZK_EBADVERSION instead, because that outcome is known. */
static void value_set_end(struct uvzk__value_set *set, int code)
{
    if (set->state == UVZK__SET_REREADING) {
        value_set_decide(set, UVZK_EBADVERSION);
    } else if (set->state != UVZK__SET_DECIDED) {
        value_set_decide(set, code);
    }
}

/* -------------------------------------------------------------------------- setting */

static struct uvzk__value_set *set_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__value_set, siblings);
}

void uvzk__shared_value_send_sets(struct uvzk__shared_value *value)
{
    struct uvzk__link *link;

    for (link = value->sets.next; link != &value->sets; link = link->next) {
        value_set_send(set_at(link));
    }
}

void uvzk__shared_value_was_read(struct uvzk__shared_value *value)
{
    struct uvzk__link *link;

    for (link = value->sets.next; link != &value->sets; link = link->next) {
        value_set_was_read(set_at(link));
    }
    EACH_LISTENER(at, next, value)
    {
        if (listener_at(at)->was_read != NULL) {
            listener_at(at)->was_read(listener_at(at));
        }
    }
}

void uvzk__shared_value_end_sets(struct uvzk__shared_value *value, int code)
{
    struct uvzk__link *link;

    for (link = value->sets.next; link != &value->sets; link = link->next) {
        value_set_end(set_at(link), code);
    }
}

void uvzk__shared_value_unreachable(struct uvzk__shared_value *value, int code)
{
    uvzk__shared_value_end_sets(value, code);
    EACH_LISTENER(link, next, value)
    {
        if (listener_at(link)->unreachable != NULL) {
            listener_at(link)->unreachable(listener_at(link), code);
        }
    }
}

static int begin_set(uvzk_shared_value_t *handle, uvzk_req_t *request,
                     const uvzk_value_version_t *over, const void *data, size_t length,
                     uvzk_req_cb cb)
{
    int status = uvzk__refuse_if(
        UV_EINVAL, handle == NULL               ? "the value is NULL"
                   : data == NULL && length > 0 ? "data is NULL, length is not 0"
                   : length > UVZK__DATA_MAX    ? "length is more than 1000000"
                                                : NULL);
    if (status == 0) {
        status = uvzk__req_check(request, cb);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__shared_value *value = handle->impl;
    if (value == NULL || value->closing ||
        uvzk__session_is_closing(value->node_cache->reading.session)) {
        return uvzk__refuse(UVZK_ECLOSED, "the value or its client is closing, or it is "
                                          "not initialised");
    }
    struct uvzk__value_set *set = value_set_new(value, request, over, data, length, cb);
    if (set == NULL) {
        return UV_ENOMEM;
    }
    /* The set ends without a request; its callback still runs at the end of the turn. */
    if (value->node_cache->reading.session->auth_failed) {
        value_set_end(set, UVZK_EAUTH);
    }
    uvzk__node_cache_pump(value->node_cache);
    return 0;
}

int uvzk_shared_value_set(uvzk_shared_value_t *handle, uvzk_req_t *request,
                          const void *data, size_t length, uvzk_req_cb cb)
{
    int status = begin_set(handle, request, NULL, data, length, cb);

    return uvzk__req_begun(request, uvzk__shared_value_session(handle), status);
}

int uvzk_shared_value_try_set(uvzk_shared_value_t *handle, uvzk_req_t *request,
                              const uvzk_value_version_t *version, const void *data,
                              size_t length, uvzk_req_cb cb)
{
    int status = uvzk__refuse_if(UV_EINVAL, version == NULL ? "version is NULL"
                                            : version->version == UVZK__ANY_VERSION
                                                ? "version->version is -1, "
                                                  "which means any"
                                                : NULL);

    if (status == 0) {
        status = begin_set(handle, request, version, data, length, cb);
    }
    return uvzk__req_begun(request, uvzk__shared_value_session(handle), status);
}
