/* One set of a shared value (value_set.h). shared_value.c makes it; the node cache has it
 * sent when there is a connection and the first read is over. A set is sent again only if
 * the server has certainly not executed it. */
#include "value/value_set.h"

#include "engine/req.h"
#include "engine/submission.h"
#include "engine/turn.h"

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

struct uvzk__value_set *uvzk__value_set_new(struct uvzk__shared_value *value,
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

void uvzk__value_set_send(struct uvzk__value_set *set)
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

void uvzk__value_set_was_read(struct uvzk__value_set *set)
{
    if (set->state == UVZK__SET_REREADING) {
        value_set_decide(set, UVZK_EBADVERSION);
    }
}

void uvzk__value_set_end(struct uvzk__value_set *set, int code)
{
    if (set->state == UVZK__SET_REREADING) {
        value_set_decide(set, UVZK_EBADVERSION);
    } else if (set->state != UVZK__SET_DECIDED) {
        value_set_decide(set, code);
    }
}
