/* SPDX-License-Identifier: Apache-2.0 */
/* Repeats deletes and listings that an ACL refused (acl_retry.h). delete_batch.c adds a
 * contender when its delete is refused, and reports each delete that succeeds. Before
 * contender_request.c sends the delete of an undeletable contender, the claim asks
 * uvzk__undeletable_take_turn. listing.c and driver_lock.c report listings.
 *
 * The idea: the undeletable contenders of one directory take turns, in the order of their
 * numbers. A turn is one exists and one delete; between two turns there is a pause.
 * Without turns, a directory with many such znodes would send a refused request for each
 * of them. */
#include "directory/acl_retry.h"

#include <inttypes.h>

#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/own_watch.h"
#include "directory/queue.h"
#include "engine/growing_pause.h"
#include "engine/inflight.h"
#include "engine/log.h"
#include "engine/submission.h"
#include "engine/turn.h"

#define FIRST_PAUSE_MS 500U
#define LONGEST_PAUSE_MS 30000U

/* Before a refused delete is repeated for which there was no memory to add it here. */
#define NO_MEMORY_BACKOFF_MS 1000U

/* Allocated for a directory while some of its znodes are undeletable. */
struct uvzk__undeletable_data {
    struct uvzk__growing_pause pause;
    struct uvzk__queue *queue;
    struct uvzk__contender *current; /* whose turn it is; NULL: a pause */
    uint32_t count;                  /* undeletable contenders of the directory */
    int32_t last;                    /* sequence number of the last turn */
    bool reading;                    /* the exists of the current turn is in flight */
    bool read_ok;                    /* the exists has shown it, and it is ours */
    bool permitted;                  /* a delete succeeded after the last refusal */
};

/* Allocated for a directory from a refused listing until the next one that succeeds. */
struct uvzk__unsearchable {
    struct uvzk__growing_pause pause;
    struct uvzk__queue *queue;
};

/* ----------------------------------------------------------- undeletable: whose turn */

static struct uvzk__undeletable_data *data_of(const struct uvzk__queue *queue)
{
    return uvzk__queue_optional(queue)->undeletables.data;
}

static void back_off(struct uvzk__undeletable_data *data)
{
    uvzk__growing_pause_begin_varied(data->queue->session, &data->pause, FIRST_PAUSE_MS,
                                     LONGEST_PAUSE_MS);
}

/* The contender with the next greater number than the last turn's, or else the one with
 * the smallest number. */
static struct uvzk__contender *next_to_try(const struct uvzk__undeletable_data *data)
{
    const struct uvzk__ring *deleting = &data->queue->deleting;
    struct uvzk__contender *first = NULL;

    for (struct uvzk__contender *contender = uvzk__first_in(deleting); contender != NULL;
         contender = uvzk__next_in(deleting, contender)) {
        if (contender->state != UVZK__CONTENDER_UNDELETABLE) {
            continue;
        }
        if (contender->node.place.sequence > data->last) {
            return contender;
        }
        first = first == NULL ? contender : first;
    }
    return first;
}

static void end_try(struct uvzk__undeletable_data *data)
{
    data->current = NULL;
    data->reading = false;
    data->read_ok = false;
}

static void try_next(struct uvzk__timer *timer)
{
    struct uvzk__undeletable_data *data =
        UVZK__CONTAINER_OF(timer, struct uvzk__undeletable_data, pause.timer);

    if (data->current == NULL) {
        data->current = next_to_try(data);
        data->last = data->current->node.place.sequence;
        uvzk__contender_pump(data->current);
    }
}

/* ----------------------------------------------------- undeletable: reading the znode */

/* A name with a UUID is never another client's. Only a fixed name can be. */
static bool is_anothers(const struct uvzk__contender *contender,
                        const struct uvzk__stat *stat)
{
    int64_t czxid = contender->node.place.czxid;

    return contender->kind->fixed_name &&
           (stat->ephemeral_owner != uvzk__session_of(contender)->connection.session_id ||
            (czxid != 0 && czxid != stat->czxid));
}

/* If the exists does not find the znode, the znode is gone. The reading is fresh enough:
 * a server reported earlier that the znode existed, on this connection or before its
 * barrier, and this exists was sent after that. If the exists fails with another error, a
 * znode with a unique name is deleted anyway; one with a fixed name is not, because it
 * may be another client's. */
static void read_done(struct uvzk__contender *contender, const struct uvzk__reply *reply)
{
    struct uvzk__undeletable_data *data = data_of(contender->queue);
    int status = reply->status;

    if (status == UVZK_ENONODE || (status == 0 && is_anothers(contender, &reply->stat))) {
        uvzk__node_sent(&contender->node);
        uvzk__node_delete_replied(&contender->node, UVZK_ENONODE);
        uvzk__contender_update(contender);
    } else if (uvzk__is_transient(status)) {
        uvzk__contender_pump(contender); /* reads again when requests may be sent */
    } else if (status == 0 || !contender->kind->fixed_name) {
        data->read_ok = true;
        uvzk__contender_pump(contender);
    } else {
        end_try(data);
        back_off(data);
    }
}

/* If another delete has succeeded meanwhile, this contender's delete has been sent
 * already, and its reply is newer than this one. */
static void read_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__inflight_requester(rpc);

    uvzk__inflight_done(uvzk__session_of(contender), rpc, reply->status, false);
    if (contender->state != UVZK__CONTENDER_ENDED &&
        data_of(contender->queue)->current == contender) {
        data_of(contender->queue)->reading = false;
        if (uvzk__node_needs(&contender->node) == UVZK__NEEDS_DELETE) {
            read_done(contender, reply);
        }
    }
    uvzk__contender_unref(contender);
}

static void read_node(struct uvzk__undeletable_data *data,
                      struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);
    struct uvzk__rpc *rpc = NULL;

    if (!data->reading && uvzk__may_send(session)) {
        rpc = uvzk__inflight_new(session, contender, UVZK__RPC_EXISTS, contender->path,
                                 read_replied);
    }
    if (rpc != NULL) {
        data->reading = true;
        uvzk__contender_ref(contender);
        uvzk__submit(session, rpc);
    }
}

bool uvzk__undeletable_take_turn(struct uvzk__contender *contender)
{
    struct uvzk__undeletable_data *data = data_of(contender->queue);

    if (data->permitted && !contender->kind->fixed_name) {
        return true;
    }
    if (data->current != contender) {
        return false;
    }
    if (!data->read_ok) {
        read_node(data, contender);
        return false;
    }
    data->read_ok = false; /* one exists allows one delete */
    return true;
}

/* --------------------------------------------------- undeletable: adding and removing */

static struct uvzk__undeletable_data *acl_retry_begin(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    struct uvzk__undeletable_data *data =
        uvzk__queue_need_optional(queue) ? uvzk__calloc(1, sizeof(*data)) : NULL;

    if (data == NULL) {
        return NULL;
    }
    data->queue = queue;
    data->pause.timer.due = try_next;
    queue->optional->undeletables.data = data;
    uvzk__log(
        queue->session, UVZK_LOG_WARN, "directory",
        "%s cannot be deleted: the ACL of its directory denies this client DELETE. It "
        "blocks other clients. uvzk retries until the znode or its session is gone",
        contender->path);
    return data;
}

/* Nothing is left of the contender but its znode: its claim learns of the refusal and
 * ends. The own watch cannot be ARMING: its get was sent before the delete, and replies
 * arrive in the order of the requests. */
static void acl_retry_add(struct uvzk__undeletable_data *data,
                          struct uvzk__contender *contender)
{
    struct uvzk__directories *directories = data->queue->session->directories;

    data->count++;
    uvzk__directories_count_undeletable(directories, false, true);
    uvzk__contender_set_undeletable(contender);
    uvzk__own_watch_node_gone(contender);
    directories->contender_user->undeletable(contender);
}

void uvzk__undeletable_add(struct uvzk__contender *contender)
{
    struct uvzk__undeletable_data *data = data_of(contender->queue);
    bool its_turn = data != NULL && data->current == contender;

    /* Without memory the contender keeps its claim, and the delete is tried again. */
    if (data == NULL && (data = acl_retry_begin(contender)) == NULL) {
        uvzk__contender_back_off(contender, NO_MEMORY_BACKOFF_MS);
        return;
    }
    data->permitted = false;
    if (contender->state != UVZK__CONTENDER_UNDELETABLE) {
        acl_retry_add(data, contender);
    }
    if (its_turn) {
        end_try(data);
    }
    if (data->current == NULL && !uvzk__growing_pause_runs(&data->pause)) {
        back_off(data);
    }
}

static void next_at_once(struct uvzk__undeletable_data *data)
{
    uvzk__growing_pause_begin_once(data->queue->session, &data->pause, 0);
}

void uvzk__undeletable_permitted(struct uvzk__queue *queue)
{
    struct uvzk__undeletable_data *data = data_of(queue);

    if (data == NULL) {
        return;
    }
    if (!data->permitted) {
        uvzk__log(queue->session, UVZK_LOG_INFO, "directory",
                  "%s: its ACL allows this client to delete znodes again; %" PRIu32
                  " are left",
                  queue->path->text, data->count);
        data->permitted = true;
    }
    uvzk__growing_pause_reset(&data->pause);
    /* Znodes with fixed names are still read one by one. */
    next_at_once(data);
    for (struct uvzk__contender *each = uvzk__first_in(&queue->deleting), *next;
         each != NULL; each = next) {
        next = uvzk__next_in(&queue->deleting, each);
        if (each->state == UVZK__CONTENDER_UNDELETABLE) {
            uvzk__contender_pump(each);
        }
    }
}

void uvzk__undeletable_gone(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    struct uvzk__undeletable_data *data = data_of(queue);

    uvzk__directories_count_undeletable(queue->session->directories, true, false);
    data->count--;
    if (data->count == 0) {
        uvzk__growing_pause_end(queue->session, &data->pause);
        queue->optional->undeletables.data = NULL;
        uvzk__free(data);
    } else if (data->current == contender) {
        end_try(data);
        next_at_once(data); /* the result says nothing about the others */
    }
}

/* ----------------------------------------------------------------------- unsearchable */

static struct uvzk__unsearchable *those_of(const struct uvzk__queue *queue)
{
    return uvzk__queue_optional(queue)->unsearchables.those;
}

/* Returns true if a wanted contender has a create in flight or is searched for. One that
 * is BACKING_OFF does not count: it needs no listing until its pause is over. */
static bool anyone_comes(const struct uvzk__queue *queue)
{
    for (const struct uvzk__contender *each = uvzk__first_in(&queue->unplaced);
         each != NULL; each = uvzk__next_in(&queue->unplaced, each)) {
        if (each->node.wanted &&
            (each->node.in_flight || each->node.state == UVZK__NODE_UNKNOWN)) {
            return true;
        }
    }
    return false;
}

static void pause_over(struct uvzk__timer *timer)
{
    struct uvzk__queue *queue =
        UVZK__CONTAINER_OF(timer, struct uvzk__unsearchable, pause.timer)->queue;

    if (!uvzk__queue_has_unplaced(queue, UVZK__NODE_UNKNOWN)) {
        uvzk__unsearchable_no_more(queue); /* the session has ended meanwhile */
    }
    uvzk__queue_settle_later(queue);
}

static struct uvzk__unsearchable *begin_unsearchable(struct uvzk__queue *queue)
{
    struct uvzk__unsearchable *those =
        uvzk__queue_need_optional(queue) ? uvzk__calloc(1, sizeof(*those)) : NULL;

    if (those == NULL) {
        return NULL; /* the directory is listed again soon, and is refused again */
    }
    those->queue = queue;
    those->pause.timer.due = pause_over;
    queue->optional->unsearchables.those = those;
    uvzk__log(queue->session, UVZK_LOG_WARN, "directory",
              "%s cannot be listed: an unwanted znode of this client may exist there. "
              "uvzk searches for it until it is found or the session is gone",
              queue->path->text);
    return those;
}

void uvzk__unsearchable(struct uvzk__queue *queue)
{
    struct uvzk__unsearchable *those = those_of(queue);

    if (those == NULL && uvzk__queue_has_unplaced(queue, UVZK__NODE_UNKNOWN)) {
        those = begin_unsearchable(queue);
    }
    if (those != NULL && !uvzk__growing_pause_runs(&those->pause)) {
        uvzk__growing_pause_begin_varied(queue->session, &those->pause, FIRST_PAUSE_MS,
                                         LONGEST_PAUSE_MS);
    }
}

void uvzk__unsearchable_no_more(struct uvzk__queue *queue)
{
    struct uvzk__unsearchable *those = those_of(queue);

    if (those != NULL) {
        uvzk__growing_pause_end(queue->session, &those->pause);
        queue->optional->unsearchables.those = NULL;
        uvzk__free(those);
    }
}

bool uvzk__unsearchable_may(const struct uvzk__queue *queue)
{
    const struct uvzk__unsearchable *those = those_of(queue);

    return those == NULL || !uvzk__growing_pause_runs(&those->pause) ||
           anyone_comes(queue);
}

bool uvzk__queue_wants_search(const struct uvzk__queue *queue)
{
    return uvzk__queue_has_unplaced(queue, UVZK__NODE_UNKNOWN) &&
           uvzk__unsearchable_may(queue);
}
