/* Drives one contender (contender.h): builds its name, creates and deletes its node, and
 * passes each result to the machine of the node (node.c). Claims call it to create and to
 * withdraw contenders; queue.c, view.c, next_holder.c, the batches and the prover call it
 * with what they have found out.
 *
 * The idea: uvzk__contender_update runs after each event of the node. It moves the
 * contender to the list that fits its state, reports to the claim, and pumps, which sends
 * what the node needs next. So no event has to know which request follows from it. A
 * contender ends in finish(), and its memory stays until the last request that points to
 * it has been answered (refs). */
#include "directory/contender.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "base/retry.h"
#include "directory/last_seen.h"
#include "directory/own_watch.h"
#include "directory/queue.h"
#include "engine/acl.h"
#include "engine/inflight.h"
#include "engine/log.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch_renewal.h"
#include "proof/prover.h"
#include "proof/validity.h"

/* How long a new create waits, each time, for the replies of requests that still name the
 * old node. */
#define BACK_OFF_AGAIN_MS 10U

/* "-2147483648" and the NUL. */
#define SEQUENCE_SIZE 12U

/* The greatest size of a path in this directory. The session's budget counts this size
 * for each contender. */
static size_t path_size(const struct uvzk__queue *queue)
{
    return strlen(queue->path->text) + 1 + UVZK__PROTECTED_NAME_SIZE + SEQUENCE_SIZE;
}

/* The size that is allocated for the path. A lock driver may choose the whole name, so
 * its contenders get the greatest size. */
static size_t path_room(const struct uvzk__queue *queue, const char *name_prefix)
{
    size_t prefix = UVZK__PROTECTION_LENGTH + strlen(name_prefix);

    return queue->kind->directory_order == UVZK__DRIVER_DEFINED
               ? path_size(queue)
               : strlen(queue->path->text) + 1 + prefix + SEQUENCE_SIZE;
}

/* Each create gets a new UUID, as in Curator: a name must identify one node, and an
 * earlier node of this contender may still exist. */
int uvzk__contender_new_name(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    struct uvzk__port *port = uvzk__session_of(contender)->port;
    char prefix[UVZK__PROTECTED_NAME_SIZE];
    uint8_t uuid[UVZK__UUID_BYTES];

    if (port->random(port, uuid, sizeof(uuid)) != 0) {
        return uvzk__refuse(UV_EIO, "the system has no random bytes for a znode's name");
    }
    uvzk__uuid_from_random(uuid);
    (void)uvzk__protected_name(prefix, uuid, contender->name_prefix);
    /* All names of a session share 13 characters of the UUID, so view.c recognizes
     * them. */
    uvzk__directories_apply_uuid_prefix(uvzk__session_of(contender)->directories,
                                        prefix + UVZK__UUID_AT);
    (void)snprintf(contender->path, path_room(queue, contender->name_prefix), "%s/%s",
                   queue->path->text, prefix);
    return 0;
}

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
    if (uvzk__node_state(&contender->node) == UVZK__NODE_DELETING) {
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

static void cancel_backoff(struct uvzk__contender *contender)
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
    assert(
        !is_backing_off(contender)); /* its get was sent before the delete was refused */
    if (timer_of(contender) == NULL) {
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

bool uvzk__contender_is_new_revocation(struct uvzk__contender *contender, int64_t mzxid)
{
    /* A revocable contender always has a timer. */
    bool news = contender->timer->revoked_mzxid != mzxid;

    contender->timer->revoked_mzxid = mzxid;
    return news;
}

static void free_contender(struct uvzk__contender *contender)
{
    uvzk__own_watch_free(contender);
    uvzk__free(contender->timer);
    uvzk__free(contender);
}

static struct uvzk__contender *alloc_contender(struct uvzk__queue *queue,
                                               const char *name_prefix, size_t room)
{
    struct uvzk__contender *contender =
        uvzk__calloc(1, offsetof(struct uvzk__contender, path) + room);

    if (contender == NULL) {
        return NULL;
    }
    uvzk__node_init(&contender->node);
    contender->queue = queue;
    contender->name_prefix = name_prefix;
    uvzk__list_init(&contender->in_claim);
    uvzk__list_init(&contender->in_session);
    uvzk__list_init(&contender->in_queue);
    uvzk__proof_subject_init(&contender->proof_subject);
    return contender;
}

/* Adds a contender to its session and to its directory, unplaced. */
static void add_contender(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    struct uvzk__session *session = queue->session;

    uvzk__directories_add_contender(session->directories, path_size(queue));
    queue->counts.contenders++;
    contender->first_attempt_ms = uvzk__now(session);
    uvzk__list_append(&session->directories->contenders, &contender->in_session);
    uvzk__ring_append(&queue->unplaced, &contender->in_queue);
}

/* The node takes the same way as one whose create is answered when the contender is not
 * wanted any more: it goes from CREATING to DELETING at once. */
struct uvzk__contender *uvzk__contender_new_orphan(struct uvzk__queue *queue,
                                                   const char *name,
                                                   struct uvzk__place place, bool shared)
{
    size_t size = uvzk__path_join_into(NULL, queue->path->text, name);
    struct uvzk__contender *contender = alloc_contender(queue, "", size);

    if (contender == NULL) {
        return NULL;
    }
    (void)uvzk__path_join_into(contender->path, queue->path->text, name);
    contender->shared = shared;
    contender->given_up = true;
    contender->orphan = true;
    add_contender(contender);
    uvzk__node_sent(&contender->node);
    uvzk__node_unwanted(&contender->node);
    uvzk__node_created(&contender->node, 0, place);
    uvzk__contender_update(contender);
    return contender;
}

int uvzk__contender_new(struct uvzk__claim *claim, struct uvzk__queue *queue,
                        const char *name_prefix, struct uvzk__contender **out)
{
    struct uvzk__session *session = queue->session;

    uvzk__queue_settle_later(queue); /* frees it if it stays empty after an error */
    if (session->directories->node_bytes + path_size(queue) >
        session->directories->node_bytes_max) {
        return uvzk__refuse(UVZK_ELIMIT,
                            "the session's budget of znodes, 1500000 bytes of their "
                            "paths, is spent: set options.sessions, or set it higher");
    }
    struct uvzk__contender *contender =
        alloc_contender(queue, name_prefix, path_room(queue, name_prefix));
    if (contender == NULL) {
        return UV_ENOMEM;
    }
    int status = uvzk__contender_new_name(contender);
    if (status != 0) {
        uvzk__free(contender);
        return status;
    }
    add_contender(contender);
    contender->claim = claim;
    session->directories->contender_user->added(contender);
    *out = contender;
    return 0;
}

void uvzk__contender_want_position(struct uvzk__contender *contender)
{
    contender->wants_position = true;
    contender->queue->counts.positions_wanted++;
}

void uvzk__contender_want_no_position(struct uvzk__contender *contender)
{
    if (contender->wants_position) {
        contender->wants_position = false;
        contender->queue->counts.positions_wanted--;
    }
}

/* ---------------------------------------------------------------- its state */

static const struct uvzk__state state_table[] = {
    [UVZK__CONTENDER_UNPLACED] = {"UNPLACED", UVZK__BIT(UVZK__CONTENDER_WAITING) |
                                                  UVZK__BIT(UVZK__CONTENDER_DELETING) |
                                                  UVZK__BIT(UVZK__CONTENDER_GONE)},
    [UVZK__CONTENDER_WAITING] = {"WAITING", UVZK__BIT(UVZK__CONTENDER_HOLDING) |
                                                UVZK__BIT(UVZK__CONTENDER_DELETING) |
                                                UVZK__BIT(UVZK__CONTENDER_UNPLACED) |
                                                UVZK__BIT(UVZK__CONTENDER_GONE)},
    [UVZK__CONTENDER_HOLDING] = {"HOLDING", UVZK__BIT(UVZK__CONTENDER_WAITING) |
                                                UVZK__BIT(UVZK__CONTENDER_DELETING) |
                                                UVZK__BIT(UVZK__CONTENDER_UNPLACED) |
                                                UVZK__BIT(UVZK__CONTENDER_GONE)},
    [UVZK__CONTENDER_DELETING] = {"DELETING", UVZK__BIT(UVZK__CONTENDER_UNPLACED) |
                                                  UVZK__BIT(UVZK__CONTENDER_GONE)},
    [UVZK__CONTENDER_GONE] = {"GONE", 0},
};

const struct uvzk__machine uvzk__contender_machine =
    UVZK__MACHINE("contender", state_table);

static bool invariant_holds(const struct uvzk__contender *contender)
{
    switch (contender->state) {
    case UVZK__CONTENDER_UNPLACED:
        return !uvzk__node_has_place(&contender->node);
    case UVZK__CONTENDER_WAITING:
        return !contender->held;
    case UVZK__CONTENDER_HOLDING:
        return contender->held;
    case UVZK__CONTENDER_DELETING:
        return !uvzk__node_is_wanted(&contender->node);
    default:
        return uvzk__node_state(&contender->node) == UVZK__NODE_GONE;
    }
}

/* A node in PARENTS or UNKNOWN waits for a request that the directory sends.
 * counted_asking remembers whether this contender is counted already. */
static void count_asking(struct uvzk__contender *contender)
{
    enum uvzk__node_state state = uvzk__node_state(&contender->node);
    bool asks = contender->state == UVZK__CONTENDER_UNPLACED &&
                (state == UVZK__NODE_PARENTS || state == UVZK__NODE_UNKNOWN);

    contender->queue->counts.asking += asks;
    contender->queue->counts.asking -= contender->counted_asking;
    contender->counted_asking = asks;
}

/* The only writer of state. Called for each change of the node's state too, so the
 * count is updated even if the contender's state stays the same. */
void uvzk__contender_set_state(struct uvzk__contender *contender,
                               enum uvzk__contender_state state)
{
    if (contender->state != state) {
        contender->state = (uint8_t)uvzk__machine_move(&uvzk__contender_machine,
                                                       contender->state, state);
        assert(invariant_holds(contender));
    }
    count_asking(contender);
}

/* ---------------------------------------------------------------- requests */

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
           strlen(contender->name_prefix);
}

void uvzk__contender_set_sequence(struct uvzk__contender *contender, int32_t sequence)
{
    (void)snprintf(number_of(contender), SEQUENCE_SIZE, "%010" PRId32, sequence);
}

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
        struct uvzk__node_name name;
        uvzk__node_name_parse(&name, uvzk__path_name(path), contender->name_prefix);
        if (name.is_contender) {
            place.sequence = name.sequence;
            uvzk__contender_set_sequence(contender, name.sequence);
        } else {
            status = UVZK_EZOOKEEPER; /* a node exists: it is searched for */
        }
        /* The new directory has given out number 0: later creates need a listing. */
        uvzk__queue_set_just_created(contender->queue, false);
    }
    if (status == UVZK_ENONODE) {
        uvzk__watermark_end(contender->queue); /* its watch has not told of that */
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
    uvzk__contender_set_create_stamp(
        contender, uvzk__stamp(&uvzk__session_of(contender)->submissions));
    uvzk__node_sent(&contender->node);
    uvzk__watermark_create_sent(contender->queue);
}

void uvzk__contender_create_sent(struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);
    struct uvzk__queue *queue = contender->queue;

    uvzk__contender_create_sent_unlisted(contender);
    /* The pipeline: the listing is sent behind the create without waiting for its
     * reply. It would be wasted if the create will probably get number 0, or the
     * number behind the watermark. */
    if (session->tuning & UVZK__TUNE_PIPELINE && !queue->just_created &&
        !uvzk__watermark_expects_next(queue)) {
        uvzk__freshness_want_listing(queue, uvzk__stamp(&session->submissions));
        uvzk__queue_settle_later(queue);
    }
}

void uvzk__contender_data(const struct uvzk__contender *contender, const void **data,
                          size_t *length)
{
    uvzk__session_of(contender)->directories->contender_user->data(contender, data,
                                                                   length);
    /* A revocation is written into the data, so the node starts without any. */
    if (contender->revocable) {
        *data = "";
        *length = 0;
    } else if (*data == NULL || contender->ticket) {
        *data = uvzk__session_of(contender)->default_data;
        *length = uvzk__session_of(contender)->default_data_length;
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
    /* The exists that told the czxid has also shown the node. */
    if (shown != 0 && uvzk__node_state(&contender->node) == UVZK__NODE_STANDING) {
        uvzk__last_seen_set(contender, shown);
    }
    /* The node is another client's, or gone: the next create needs another name. */
    if (uvzk__node_state(&contender->node) == UVZK__NODE_CREATING &&
        uvzk__contender_new_name(contender) != 0) {
        uvzk__contender_end(contender, UV_EIO);
        return;
    }
    uvzk__contender_update(contender);
}

static void stat_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__inflight_requester(rpc);
    struct uvzk__session *session = uvzk__session_of(contender);
    /* A persistent node has no ephemeralOwner that could be compared. */
    bool ours =
        contender->persistent ||
        reply->stat.ephemeral_owner == uvzk__connection_session_id(&session->connection);
    /* A downgraded reader takes its writer's place, czxid included. */
    int64_t czxid = uvzk__contender_downgraded(contender) ? contender->writer_czxid
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
    uvzk__contender_set_read_stamp(contender, uvzk__stamp(&session->submissions));
}

void uvzk__contender_pump(struct uvzk__contender *contender)
{
    enum uvzk__node_needs needs = uvzk__node_needs(&contender->node);

    if (uvzk__node_state(&contender->node) == UVZK__NODE_BACKING_OFF &&
        !is_backing_off(contender)) {
        end_backoff(contender); /* there was no memory for the pause */
    } else if (needs == UVZK__NEEDS_DELETE) {
        /* in_batch is not empty: the delete waits to be sent already. */
        if (uvzk__list_empty(&contender->in_batch) && !is_backing_off(contender) &&
            uvzk__session_of(contender)->directories->contender_user->may_delete(
                contender)) {
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
        if (needs == UVZK__NEEDS_CREATE) {
            uvzk__session_of(contender)->directories->contender_user->create(contender);
        } else {
            submit_stat(contender);
        }
    } else if (contender->revocable) {
        uvzk__own_watch_arm(contender);
    }
}

void uvzk__for_each_contender(struct uvzk__session *session,
                              void (*act)(struct uvzk__contender *, int), int code)
{
    struct uvzk__link *link = session->directories->contenders.next;

    while (link != &session->directories->contenders) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_session);
        link = link->next; /* first, because act may free the contender */
        act(contender, code);
    }
}

static void pump(struct uvzk__contender *contender, int code)
{
    (void)code;
    uvzk__contender_pump(contender);
}

void uvzk__contenders_pump(struct uvzk__session *session)
{
    uvzk__for_each_contender(session, pump, 0);
}

/* --------------------------------------------------------------- the outcome */

static void end_hold(struct uvzk__contender *contender)
{
    if (contender->held) {
        contender->held = false;
        uvzk__session_of(contender)->directories->contender_user->hold_ended(contender);
        contender->queue->counts.writers_held -= !contender->shared;
        uvzk__contender_clear_granted_early(contender);
        uvzk__prover_remove_held(uvzk__session_of(contender), &contender->proof_subject);
    }
}

/* The node is not wanted any more. Ends the hold, the proof, the pause and the wish for a
 * position, and reports to the claim. Called once. */
static void give_up(struct uvzk__contender *contender, int code)
{
    contender->given_up = true;
    end_hold(contender);
    uvzk__prover_cancel(&contender->proof_subject);
    cancel_backoff(contender);
    uvzk__contender_want_no_position(contender);
    uvzk__session_of(contender)->directories->contender_user->ended(contender, code);
}

/* The node is GONE: removes the contender from its claim, session and directory. From
 * now on contender->session is set instead of contender->queue, because the directory
 * may be freed while requests that point to the contender are in flight. */
static void finish(struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);

    session->directories->contender_user->over(contender);
    uvzk__own_watch_end(contender);
    cancel_backoff(contender);
    uvzk__list_remove(&contender->in_session);
    uvzk__queue_remove(contender);
    uvzk__list_remove(&contender->in_batch);
    uvzk__directories_remove_contender(session->directories, path_size(contender->queue));
    contender->queue->counts.contenders--;
    contender->ended = true;
    contender->session = session;
    if (contender->refs == 0) {
        free_contender(contender);
    }
}

void uvzk__contender_update(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    uvzk__queue_place(queue, contender);
    uvzk__queue_settle_later(queue);
    /* The leases of a ticket's claim are granted when its lease directory is settled. */
    if (uvzk__contender_leases(contender) != NULL) {
        uvzk__queue_settle_later(uvzk__contender_leases(contender));
    }
    if (!uvzk__node_is_wanted(&contender->node) && !contender->given_up) {
        give_up(contender, uvzk__node_status(&contender->node));
    }
    if (uvzk__node_state(&contender->node) == UVZK__NODE_GONE) {
        finish(contender);
    } else {
        uvzk__contender_pump(contender);
    }
}

void uvzk__contender_withdraw(struct uvzk__contender *contender)
{
    uvzk__node_unwanted(&contender->node);
    uvzk__contender_update(contender);
}

void uvzk__contender_end(struct uvzk__contender *contender, int code)
{
    uvzk__contender_ref(contender); /* the claim may withdraw it in give_up */
    if (!contender->given_up) {
        give_up(contender, code);
    }
    if (!contender->ended) {
        uvzk__contender_withdraw(contender);
    }
    uvzk__contender_unref(contender);
}

void uvzk__contender_grant(struct uvzk__contender *contender)
{
    uvzk__contender_want_no_position(contender);
    contender->held = true;
    contender->queue->counts.writers_held += !contender->shared;
    /* The claim is called last: it must find the contender among the holders. */
    uvzk__queue_place(contender->queue, contender);
    uvzk__prover_add_held(uvzk__session_of(contender), &contender->proof_subject);
    uvzk__session_of(contender)->directories->contender_user->granted(contender);
}

void uvzk__contender_ungrant(struct uvzk__contender *contender)
{
    end_hold(contender);
    uvzk__queue_place(contender->queue, contender);
    uvzk__queue_settle_later(contender->queue);
    uvzk__session_of(contender)->directories->contender_user->ungranted(contender);
}

void uvzk__contender_set_granted_early(struct uvzk__contender *contender)
{
    contender->granted_early = true;
    contender->queue->counts.early_grants++;
    uvzk__directories_count_early_reader(uvzk__session_of(contender)->directories, false,
                                         contender->shared);
}

void uvzk__contender_clear_granted_early(struct uvzk__contender *contender)
{
    if (contender->granted_early) {
        contender->granted_early = false;
        contender->queue->counts.early_grants--;
        uvzk__directories_count_early_reader(uvzk__session_of(contender)->directories,
                                             contender->shared, false);
    }
}

/* A waiter may get a new node at the tail of the queue, if the retry policy allows it.
 * So may a ticket that is granted, because its claim still waits for leases. Any other
 * hold is lost. */
void uvzk__contender_missing(struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);
    uint64_t now = uvzk__now(session);
    uint64_t random = 0, sleep_ms = 0;

    if (uvzk__node_state(&contender->node) != UVZK__NODE_STANDING) {
        return;
    }
    /* Others may have been granted past the node: earlier sightings in this directory
     * do not count any more (last_seen.h). */
    uvzk__foreign_node_gone(contender->queue);
    (void)session->port->random(session->port, &random, sizeof(random));
    bool waits = !contender->held || contender->ticket;
    bool again = waits && !contender->no_recreate &&
                 uvzk__retry_allow(&session->retry, contender->attempts++,
                                   now - contender->first_attempt_ms, random, &sleep_ms);
    uvzk__log(session, UVZK_LOG_WARN, "directory", "%s was deleted by somebody else",
              contender->path);
    if (again && contender->held) {
        uvzk__contender_ungrant(contender);
    }
    uvzk__prover_cancel(&contender->proof_subject);
    uvzk__own_watch_node_gone(contender);
    uvzk__node_missing(&contender->node, again);
    if (again) {
        uvzk__contender_back_off(contender, sleep_ms);
    }
    uvzk__contender_update(contender);
}

/* A node that a lock driver has named is not deleted as an orphan: another client may
 * have a node of the same name by now. */
void uvzk__contender_not_shown(struct uvzk__contender *contender)
{
    if (uvzk__node_state(&contender->node) == UVZK__NODE_STANDING &&
        contender->queue->kind->directory_order != UVZK__DRIVER_DEFINED) {
        struct uvzk__contender *orphan = uvzk__contender_new_orphan(
            contender->queue, uvzk__path_name(contender->path),
            uvzk__node_place(&contender->node), contender->shared);
        if (orphan != NULL) {
            orphan->not_shown = true;
            /* The reading that did not show the node has at most this stamp. orphans.c
             * compares it with the start of the connection. */
            uvzk__contender_set_create_stamp(
                orphan, uvzk__stamp(&uvzk__session_of(orphan)->submissions));
        }
    }
    uvzk__contender_missing(contender);
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

void uvzk__contender_session_ended(struct uvzk__contender *contender, int code)
{
    contender->predecessors_known = false;
    uvzk__own_watch_lost(contender);
    if (contender->persistent && code != UVZK_ECLOSED) {
        return; /* its node still exists, and no request is in flight */
    }
    uvzk__node_session_ended(&contender->node, code);
    uvzk__contender_update(contender);
}

void uvzk__contender_ref(struct uvzk__contender *contender)
{
    contender->refs++;
}

void uvzk__contender_unref(struct uvzk__contender *contender)
{
    assert(contender->refs > 0);
    contender->refs--;
    if (contender->refs == 0 && contender->ended) {
        free_contender(contender);
    }
}

void uvzk__end_unplaced(struct uvzk__queue *queue, enum uvzk__node_state state, int code)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->unplaced);

    while (link != NULL) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        link = uvzk__ring_next(&queue->unplaced, link);
        /* One that is not wanted has been reported already. */
        if (uvzk__node_state(&contender->node) == state &&
            uvzk__node_is_wanted(&contender->node)) {
            uvzk__contender_end(contender, code);
        }
    }
}

void uvzk__end_waiters(struct uvzk__queue *queue, int code)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->waiters);

    while (link != NULL) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        link = uvzk__ring_next(&queue->waiters, link);
        uvzk__contender_end(contender, code);
    }
}

/* ------------------------------------------------------- callbacks of proof requests */

/* A proof request keeps a reference to each contender that it checks. So a contender may
 * have ended when these functions are called, and then nothing happens. */

static struct uvzk__contender *of_subject(struct uvzk__proof_subject *proof_subject)
{
    return UVZK__CONTAINER_OF(proof_subject, struct uvzk__contender, proof_subject);
}

static const char *path_of(struct uvzk__proof_subject *proof_subject)
{
    return of_subject(proof_subject)->path;
}

static void add_check(struct uvzk__proof_subject *proof_subject, struct uvzk__op *op)
{
    uvzk__contender_check_op(of_subject(proof_subject), op);
    uvzk__contender_ref(of_subject(proof_subject));
}

static void release(struct uvzk__proof_subject *proof_subject)
{
    uvzk__contender_unref(of_subject(proof_subject));
}

static void stands(struct uvzk__proof_subject *proof_subject, uint64_t stamp)
{
    if (!of_subject(proof_subject)->ended) {
        uvzk__last_seen_set(of_subject(proof_subject), stamp);
    }
}

static void missing(struct uvzk__proof_subject *proof_subject)
{
    if (!of_subject(proof_subject)->ended) {
        uvzk__contender_missing(of_subject(proof_subject));
    }
}

static void refused(struct uvzk__proof_subject *proof_subject, int status)
{
    if (!of_subject(proof_subject)->ended) {
        uvzk__contender_end(of_subject(proof_subject), status);
    }
}

static void answered(struct uvzk__proof_subject *proof_subject)
{
    uvzk__queue_settle_later(of_subject(proof_subject)->queue);
}

/* The proof has expired. A hold of which the user was told is lost. A grant of which the
 * user was not told yet is taken back, and the contender waits again. */
static void expired(struct uvzk__proof_subject *proof_subject)
{
    struct uvzk__contender *contender = of_subject(proof_subject);

    if (uvzk__session_of(contender)->directories->contender_user->grant_notified(
            contender)) {
        uvzk__contender_end(contender, UVZK_EPROOF);
    } else {
        uvzk__contender_ungrant(contender);
    }
}

const struct uvzk__proof_subject_kind uvzk__contender_proof_subjects = {
    .path = path_of,
    .add_check = add_check,
    .stands = stands,
    .missing = missing,
    .refused = refused,
    .release = release,
    .answered = answered,
    .expired = expired,
};

bool uvzk__contender_request_proof(struct uvzk__contender *contender)
{
    const struct uvzk__session *session = uvzk__session_of(contender);
    /* Without a connection it is not known which session timeout the servers will
     * grant. */
    bool possible = !uvzk__connection_is_connected(&session->connection) ||
                    uvzk__can_ever_be_granted(session);

    if (possible) {
        uvzk__prover_request(uvzk__session_of(contender), &contender->proof_subject);
    } else {
        uvzk__contender_end(contender, UVZK_EPROOF);
    }
    return possible;
}
