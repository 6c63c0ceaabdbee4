/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of one contender (contender_request.h): builds its name, submits its
 * create and its exists, passes each result to the machine of its node, and pauses before
 * a create or a delete is repeated. Deletes are sent by delete_batch.c, most creates by
 * creates.c.
 *
 * The idea: uvzk__contender_pump sends what the node needs next, whatever has happened
 * before. So no event has to know which request follows from it. */
#include "directory/contender_request.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "directory/freshness.h"
#include "directory/own_watch.h"
#include "directory/queue.h"
#include "engine/acl.h"
#include "engine/inflight.h"
#include "engine/invariant.h"
#include "engine/log.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch.h"

/* How long a new create waits, each time, for the replies of requests that still name the
 * old node. */
#define BACK_OFF_AGAIN_MS 10U

/* ---------------------------------------------------------------- its name */

size_t uvzk__contender_path_size(const struct uvzk__queue *queue)
{
    return strlen(queue->path->text) + 1 + UVZK__PROTECTED_NAME_SIZE +
           UVZK__SEQUENCE_SIZE;
}

/* A lock driver may choose the whole name, so its contenders get the greatest size. */
size_t uvzk__contender_path_room(const struct uvzk__directory_kind *kind,
                                 size_t path_size, const char *name_prefix)
{
    return uvzk__is_driver_defined(kind)
               ? path_size
               : path_size - UVZK__PROTECTED_NAME_SIZE + UVZK__PROTECTION_LENGTH +
                     strlen(name_prefix);
}

/* Each create gets a new UUID, as in Curator: a name must identify one node, and an
 * earlier node of this contender may still exist. */
int uvzk__contender_new_name(struct uvzk__contender *contender)
{
    char *session_prefix = uvzk__session_of(contender)->directories->uuid_prefix;
    char prefix[UVZK__PROTECTED_NAME_SIZE];
    uint8_t uuid[UVZK__UUID_BYTES];

    if (uvzk__random(uvzk__session_of(contender), uuid, sizeof(uuid)) != 0) {
        return uvzk__refuse(UV_EIO, "the system has no random bytes for a znode's name");
    }
    uvzk__uuid_from_random(uuid);
    (void)uvzk__protected_name(prefix, uuid, uvzk__contender_name_prefix(contender));
    /* All names of a session share 13 characters of the UUID, so listing.c recognizes them.
     * The first UUID of a session provides them. They are reset when the session has ended,
     * so znodes that remain from an earlier session are not mistaken for znodes of this
     * one. */
    if (session_prefix[0] == '\0') {
        memcpy(session_prefix, prefix + UVZK__UUID_AT, UVZK__UUID_PREFIX_TEXT);
    } else {
        memcpy(prefix + UVZK__UUID_AT, session_prefix, UVZK__UUID_PREFIX_TEXT);
    }
    (void)uvzk__path_join_into(contender->path, contender->queue->path->text, prefix);
    return 0;
}

void uvzk__contender_set_name(struct uvzk__contender *contender, const char *name)
{
    (void)snprintf(contender->path, uvzk__contender_path_size(contender->queue), "%s/%s",
                   contender->queue->path->text, name);
}

/* The offset of the name in the path. */
static size_t name_at(const struct uvzk__contender *contender)
{
    return strlen(contender->queue->path->text) + 1;
}

const char *uvzk__contender_uuid(const struct uvzk__contender *contender)
{
    return contender->path + name_at(contender) + UVZK__UUID_AT;
}

/* Where the sequence number is in the path, or will be. */
static char *number_of(struct uvzk__contender *contender)
{
    return contender->path + name_at(contender) + UVZK__PROTECTION_LENGTH +
           strlen(uvzk__contender_name_prefix(contender));
}

void uvzk__contender_set_sequence(struct uvzk__contender *contender, int32_t sequence)
{
    uvzk__sequence_write(number_of(contender), sequence);
}

/* -------------------------------------------------------------- its pauses */

/* Allocated when a contender first needs it, because most never do. It serves one purpose
 * at a time, and timer.due says which: a pause before a new node is created or a refused
 * delete is repeated (backoff_due), or the renewal of the own watch (renew_watch). A
 * revocable contender has it from the beginning. */
struct uvzk__contender_timer {
    struct uvzk__timer timer;
    struct uvzk__contender *contender;
    int64_t revoked_mzxid; /* of the last revocation that was reported; 0: none */
};

static struct uvzk__contender_timer *timer_of(struct uvzk__contender *contender)
{
    if (contender->timer == NULL) {
        contender->timer = uvzk__calloc(1, sizeof(*contender->timer));
        if (contender->timer != NULL) {
            contender->timer->contender = contender;
        }
    }
    return contender->timer;
}

/* The pause is over: repeats the delete, or creates a new node under a new name. */
static void end_backoff(struct uvzk__contender *contender)
{
    if (contender->node.state == UVZK__NODE_DELETING) {
        uvzk__contender_pump(contender);
        return;
    }
    if (contender->refs > 0) { /* a request in flight still reads the old path */
        uvzk__contender_back_off(contender, BACK_OFF_AGAIN_MS);
        return;
    }
    uvzk__node_backoff_over(&contender->node);
    if (uvzk__contender_new_name(contender) != 0) {
        uvzk__contender_end(contender, UV_EIO);
        return;
    }
    uvzk__contender_update(contender);
}

static void backoff_due(struct uvzk__timer *timer)
{
    end_backoff(
        UVZK__CONTAINER_OF(timer, struct uvzk__contender_timer, timer)->contender);
}

void uvzk__contender_back_off(struct uvzk__contender *contender, uint64_t ms)
{
    struct uvzk__contender_timer *timer = timer_of(contender);

    if (timer == NULL) {
        /* The whole session pauses. Afterwards all its contenders are pumped. */
        uvzk__back_off(uvzk__session_of(contender));
        return;
    }
    timer->timer.due = backoff_due;
    uvzk__timer_set(uvzk__session_of(contender), &timer->timer,
                    uvzk__now(uvzk__session_of(contender)) + ms);
}

static bool is_backing_off(const struct uvzk__contender *contender)
{
    return contender->timer != NULL && contender->timer->timer.due == backoff_due &&
           uvzk__deadline_is_armed(&contender->timer->timer.deadline);
}

void uvzk__contender_cancel_back_off(struct uvzk__contender *contender)
{
    if (is_backing_off(contender)) {
        uvzk__timer_clear(uvzk__session_of(contender), &contender->timer->timer);
    }
}

static void renew_watch(struct uvzk__timer *timer)
{
    struct uvzk__contender *contender =
        UVZK__CONTAINER_OF(timer, struct uvzk__contender_timer, timer)->contender;

    uvzk__own_watch_end(contender);
    uvzk__contender_pump(contender);
}

bool uvzk__contender_renew_watch_later(struct uvzk__contender *contender)
{
    /* Its get was sent before the delete was refused. */
    if (!uvzk__expect(uvzk__session_of(contender), !is_backing_off(contender),
                      "contender: a watch is renewed in a pause") ||
        timer_of(contender) == NULL) {
        return false;
    }
    contender->timer->timer.due = renew_watch;
    uvzk__watch_renewal_schedule(uvzk__session_of(contender), &contender->timer->timer);
    return true;
}

void uvzk__contender_cancel_watch_renewal(struct uvzk__contender *contender)
{
    if (contender->timer != NULL && !is_backing_off(contender)) {
        uvzk__timer_clear(uvzk__session_of(contender), &contender->timer->timer);
    }
}

int uvzk__contender_make_revocable(struct uvzk__contender *contender)
{
    if (timer_of(contender) == NULL) {
        return UV_ENOMEM;
    }
    contender->revocable = true;
    return 0;
}

bool uvzk__contender_record_revocation(struct uvzk__contender *contender, int64_t mzxid)
{
    /* A revocable contender always has a timer. */
    bool news = contender->timer->revoked_mzxid != mzxid;

    contender->timer->revoked_mzxid = mzxid;
    return news;
}

/* ------------------------------------------------------------ its requests */

/* The ACL provider gets the path without the number, as in Curator, because the number is
 * not known before the create. So the path is cut at the number during the call. */
const struct uvzk__acl *uvzk__contender_acl(struct uvzk__contender *contender,
                                            struct uvzk__acl *storage)
{
    const struct uvzk__acl *acl;
    char *number = number_of(contender), first_digit = *number;

    *number = '\0';
    acl = uvzk__acl_of(uvzk__session_of(contender), contender->path, storage);
    *number = first_digit;
    return acl;
}

/* Passes the reply of a create to the node's machine. The caller updates the contender
 * afterwards. */
static void apply_create(struct uvzk__contender *contender, int status, const char *path,
                         int64_t czxid)
{
    struct uvzk__place place = {0, czxid};

    if (status == 0) {
        /* The server has appended the number to the path of the create. */
        size_t length = (size_t)(number_of(contender) - contender->path);
        if (strncmp(path, contender->path, length) == 0 &&
            uvzk__sequence_parse(path + length, &place.sequence)) {
            uvzk__contender_set_sequence(contender, place.sequence);
        } else {
            status = UVZK_EZOOKEEPER; /* a node exists: it is searched for */
        }
        /* The new directory has given out number 0: later creates need a listing. */
        contender->queue->just_created = false;
    }
    if (status == UVZK_ENONODE) {
        uvzk__watermark_end(contender->queue); /* its watch has not reported that */
    }
    uvzk__node_created(&contender->node, status, place);
}

void uvzk__contender_create_answered(struct uvzk__contender *contender, int status,
                                     const char *path, int64_t czxid)
{
    apply_create(contender, status, path, czxid);
    uvzk__contender_update(contender);
}

void uvzk__contender_create_batch_answered(struct uvzk__contender *contender,
                                           const char *path)
{
    apply_create(contender, 0, path, 0);
    /* The exists that the batch sends counts as this node's request, so the contender
     * does not send one itself. */
    if (uvzk__node_needs(&contender->node) == UVZK__NEEDS_STAT) {
        uvzk__node_sent(&contender->node);
    }
    uvzk__contender_update(contender);
}

/* In a failed multi only one op has failed by itself (failed_op). The other creates were
 * not carried out, and are sent again. */
void uvzk__contender_create_op_answered(struct uvzk__contender *contender,
                                        const struct uvzk__reply *reply, size_t i,
                                        size_t count, int64_t czxid)
{
    bool innocent = reply->failed_op < count && reply->failed_op != i;

    uvzk__contender_create_answered(contender, innocent ? UVZK_ENOTSENT : reply->status,
                                    reply->status == 0 ? reply->made[i] : NULL, czxid);
}

static void create_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__inflight_requester(rpc);

    uvzk__inflight_done(uvzk__session_of(contender), rpc, reply->status, true);
    uvzk__contender_create_answered(contender, reply->status, reply->name,
                                    reply->stat.czxid);
}

void uvzk__contender_create_sent_unlisted(struct uvzk__contender *contender)
{
    /* A new node: what was known of an earlier node does not apply to it. */
    contender->predecessors_known = false;
    contender->unblocked_stamp = 0;
    contender->has_held = false;
    contender->kind_checked = false;
    contender->create_stamp = uvzk__session_of(contender)->submissions.stamp;
    uvzk__node_sent(&contender->node);
    uvzk__watermark_create_sent(contender->queue);
}

void uvzk__contender_create_sent(struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);
    struct uvzk__queue *queue = contender->queue;

    uvzk__contender_create_sent_unlisted(contender);
    /* The pipeline: the listing is sent after the create without waiting for its reply.
     * It would be wasted if the create will probably get number 0, or the number after
     * the watermark. */
    if (uvzk__tuned(session, UVZK__TUNE_PIPELINE) && !queue->just_created &&
        !uvzk__watermark_expects_next(queue)) {
        uvzk__freshness_want_listing(queue, session->submissions.stamp);
        uvzk__queue_settle_later(queue);
    }
}

void uvzk__contender_data(const struct uvzk__contender *contender, const void **data,
                          size_t *length)
{
    uvzk__user_of(contender)->data(contender, data, length);
    /* A revocation is written into the data, so the node starts without any. */
    if (contender->revocable) {
        *data = "";
        *length = 0;
    } else if (*data == NULL || contender->kind->admits) {
        *data = uvzk__default_data(uvzk__session_of(contender), length);
    }
}

void uvzk__contender_create_op(struct uvzk__contender *contender, struct uvzk__op *op,
                               struct uvzk__acl *storage)
{
    op->kind = UVZK__OP_CREATE;
    op->mode = UVZK__EPHEMERAL_SEQUENTIAL;
    op->path = contender->path;
    op->acl = uvzk__contender_acl(contender, storage);
    uvzk__contender_data(contender, &op->data, &op->data_length);
}

void uvzk__contender_check_op(const struct uvzk__contender *contender,
                              struct uvzk__op *op)
{
    op->kind = UVZK__OP_CHECK;
    op->path = contender->path;
    op->version = -1;
}

void uvzk__contender_create_settled(struct uvzk__contender *contender)
{
    uvzk__queue_settle_later(contender->queue);
}

void uvzk__contender_create(struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);
    struct uvzk__rpc *rpc = uvzk__inflight_new(session, contender, UVZK__RPC_CREATE,
                                               contender->path, create_replied);

    if (rpc == NULL) {
        return;
    }
    rpc->mode = UVZK__EPHEMERAL_SEQUENTIAL;
    rpc->acl = uvzk__contender_acl(contender, uvzk__inflight_acl(rpc));
    uvzk__contender_data(contender, &rpc->data, &rpc->data_length);
    uvzk__submit(session, rpc);
    uvzk__contender_create_sent(contender);
}

void uvzk__contender_identified(struct uvzk__contender *contender, int status,
                                int64_t czxid, bool ours, uint64_t shown)
{
    uvzk__node_identified(&contender->node, status, czxid, ours);
    /* [P1] The exists of another node may have returned the czxid. A watch or a listing
     * has reported since the create that this node is gone. */
    if (uvzk__node_stands_not_shown(&contender->node)) {
        uvzk__contender_not_shown(contender);
        return;
    }
    /* The exists that returned the czxid has also shown the node. */
    if (shown != 0 && contender->node.state == UVZK__NODE_STANDING) {
        uvzk__last_seen_set(contender, shown);
    }
    /* The node is another client's, or gone: the next create needs another name. */
    if (contender->node.state == UVZK__NODE_CREATING &&
        uvzk__contender_new_name(contender) != 0) {
        uvzk__contender_end(contender, UV_EIO);
        return;
    }
    uvzk__contender_update(contender);
}

void uvzk__contender_found(struct uvzk__contender *contender, int32_t sequence)
{
    uvzk__contender_set_sequence(contender, sequence);
    uvzk__node_found(&contender->node, sequence);
    uvzk__contender_update(contender);
}

void uvzk__contender_absent(struct uvzk__contender *contender)
{
    uvzk__node_absent(&contender->node);
    uvzk__contender_update(contender);
}

static void stat_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__inflight_requester(rpc);
    struct uvzk__session *session = uvzk__session_of(contender);
    /* A persistent node has no ephemeralOwner that could be compared. */
    bool ours = contender->persistent ||
                reply->stat.ephemeral_owner == session->connection.session_id;
    bool asks = contender->node.state == UVZK__NODE_IDENTIFYING;
    int64_t czxid = asks && contender->kind->place_czxid != NULL
                        ? contender->kind->place_czxid(contender)
                        : reply->stat.czxid;

    uvzk__inflight_done(session, rpc, reply->status, false);
    uvzk__contender_identified(contender, reply->status, czxid, ours,
                               contender->read_stamp);
}

static void submit_stat(struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);
    struct uvzk__rpc *rpc = uvzk__inflight_new(session, contender, UVZK__RPC_EXISTS,
                                               contender->path, stat_replied);

    if (rpc == NULL) {
        return;
    }
    uvzk__node_sent(&contender->node);
    uvzk__submit(session, rpc);
    contender->read_stamp = session->submissions.stamp;
}

void uvzk__contender_pump(struct uvzk__contender *contender)
{
    enum uvzk__node_needs needs = uvzk__node_needs(&contender->node);

    if (contender->node.state == UVZK__NODE_BACKING_OFF && !is_backing_off(contender)) {
        end_backoff(contender); /* there was no memory for the pause */
    } else if (needs == UVZK__NEEDS_DELETE) {
        /* in_batch is not empty: the delete waits to be sent already. */
        if (uvzk__list_empty(&contender->in_batch) && !is_backing_off(contender) &&
            uvzk__user_of(contender)->may_delete(contender)) {
            uvzk__list_append(&uvzk__session_of(contender)->directories->to_delete,
                              &contender->in_batch);
        }
        uvzk__wake(uvzk__session_of(contender));
    } else if (needs == UVZK__NEEDS_PARENTS || needs == UVZK__NEEDS_SEARCH) {
        /* The directory sends these requests, for all its contenders at once. */
        uvzk__queue_settle_later(contender->queue);
    } else if (needs != UVZK__NEEDS_NOTHING &&
               uvzk__may_send(uvzk__session_of(contender)) &&
               !uvzk__own_watch_is_arming(contender)) {
        if (needs != UVZK__NEEDS_CREATE) {
            submit_stat(contender);
        } else if (contender->kind->create != NULL) {
            contender->kind->create(contender);
        } else {
            /* Sent when its directory is settled (creates.c). */
            contender->queue->creates.wanted = true;
            uvzk__queue_settle_later(contender->queue);
        }
    } else if (contender->revocable) {
        uvzk__own_watch_arm(contender);
    }
}

static void contender_request_pump(struct uvzk__contender *contender, int code)
{
    (void)code;
    uvzk__contender_pump(contender);
}

void uvzk__contenders_pump(struct uvzk__session *session)
{
    uvzk__for_each_contender(session, contender_request_pump, 0);
}

void uvzk__contender_log_deleted(const struct uvzk__contender *contender)
{
    uvzk__log(uvzk__session_of(contender), UVZK_LOG_WARN, "directory",
              "%s was deleted by another client", contender->path);
}
