/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, identifies and deletes znodes with a fixed name (fixed_name.h).
 * driver_lock.c calls uvzk__fixed_names_settle each time the directory is settled
 * and asks before each delete whether the znode is certainly the contender's.
 *
 * All local contenders of one name share one path, so two rules replace the unique name
 * that other contenders have. At most one local contender at a time has, may have or
 * creates the znode. A znode is recognized by its ephemeralOwner and its czxid. */
#include "locks/fixed_name.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/queue.h"
#include "engine/acl.h"
#include "engine/inflight.h"
#include "engine/submission.h"
#include "locks/driver_claim.h"
#include "locks/node_watch.h"

/* The pause before a znode is read again after the server has refused to show its
 * stat. */
#define LOOK_AGAIN_MS 1000U

static const char *name_of(const struct uvzk__contender *contender)
{
    return uvzk__driver_claim_of(contender)->driver->name;
}

/* ------------------------------------------------------------------------- creating */

static int64_t session_of(const struct uvzk__contender *contender)
{
    return uvzk__session_of(contender)->connection.session_id;
}

/* The driver keeps the czxid of the lock's last znode
 * (uvzk__lock_driver_may_be_later). */
static void fixed_name_remember(const struct uvzk__contender *contender, int64_t czxid)
{
    uvzk__lock_driver_had(uvzk__driver_claim_of(contender)->driver, session_of(contender),
                          czxid);
}

/* What the reply means for the node. ENOTSENT: the node stays in CREATING, to be created
 * when the other znode is deleted. ECONNLOSS: the znode exists, and the server has not
 * told its czxid, so it is read as after a lost reply. */
static int status_of_create(const struct uvzk__reply *reply)
{
    if (reply->status == UVZK_ENODEEXISTS) {
        return UVZK_ENOTSENT;
    }
    return reply->status == 0 && reply->stat.czxid == 0 ? UVZK_ECONNLOSS : reply->status;
}

static void fixed_name_created(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__inflight_requester(rpc);
    struct uvzk__place place = {0, reply->stat.czxid};
    int status = status_of_create(reply);

    uvzk__inflight_done(uvzk__session_of(contender), rpc, reply->status, true);
    /* Referenced until the end: uvzk__contender_update may end and free it. */
    uvzk__contender_ref(contender);
    if (status == 0) {
        uvzk__queue_set_just_created(contender->queue, false);
        fixed_name_remember(contender, place.czxid);
        uvzk__driver_claim_set_gets_lock(contender);
    }
    uvzk__node_created(&contender->node, status, place);
    uvzk__contender_update(contender);
    if (reply->status == UVZK_ENODEEXISTS && contender->state != UVZK__CONTENDER_ENDED) {
        uvzk__driver_claim_set_waits(contender, name_of(contender), 1);
    }
    uvzk__contender_unref(contender);
}

/* Sends the create. False: out of memory. */
static bool fixed_name_create(struct uvzk__contender *contender)
{
    struct uvzk__rpc *rpc =
        uvzk__inflight_new(uvzk__session_of(contender), contender, UVZK__RPC_CREATE,
                           contender->path, fixed_name_created);

    if (rpc == NULL) {
        return false;
    }
    uvzk__contender_set_name(contender, name_of(contender));
    rpc->mode = UVZK__EPHEMERAL;
    rpc->acl = uvzk__acl_of(uvzk__session_of(contender), contender->path,
                            uvzk__inflight_acl(rpc));
    uvzk__contender_data(contender, &rpc->data, &rpc->data_length);
    uvzk__submit(uvzk__session_of(contender), rpc);
    uvzk__contender_create_sent(contender);
    uvzk__driver_claim_set_undecided(contender);
    return true;
}

/* ----------------------------------------------------------------------- identifying */

/* The stat has been read. ours: a znode of this session exists and may be this
 * contender's. It is this contender's then, because no other local contender was allowed
 * to create one. The node is UNKNOWN after a lost create, or DELETING after a lost
 * delete. */
static void node_read(struct uvzk__contender *contender, bool ours, int64_t czxid)
{
    struct uvzk__node *node = &contender->node;

    if (node->state == UVZK__NODE_UNKNOWN && ours) {
        uvzk__node_found(node, 0);
        /* Otherwise it is no longer wanted, and is DELETING now. */
        if (node->state == UVZK__NODE_IDENTIFYING) {
            uvzk__node_sent(node);
            uvzk__node_identified(node, 0, czxid, true);
            fixed_name_remember(contender, czxid);
            uvzk__driver_claim_set_gets_lock(contender);
        }
    } else if (node->state == UVZK__NODE_UNKNOWN) {
        uvzk__node_absent(node);
    } else if (ours) {
        uvzk__driver_claim_of(contender)->confirmed = true;
    } else {
        uvzk__node_sent(node); /* the delete whose reply was lost was carried out */
        uvzk__node_delete_replied(node, UVZK_ENONODE);
    }
    uvzk__contender_update(contender);
}

/* Returns true if a znode of this session with this czxid can be the contender's. The
 * contender's own czxid is 0 if the reply to its create was lost. */
static bool has_its_czxid(const struct uvzk__contender *contender, int64_t czxid)
{
    int64_t own = contender->node.place.czxid;

    return own != 0
               ? czxid == own
               : uvzk__lock_driver_may_be_later(uvzk__driver_claim_of(contender)->driver,
                                                session_of(contender), czxid);
}

/* If the server has refused to show the stat, a contender in DELETING reads again after a
 * pause, for as long as its znode may exist, because no other client would delete the
 * znode. A contender whose create was lost ends with the error. After any other failure
 * the read is repeated when requests may be sent again. */
static void read_failed(struct uvzk__contender *contender, int status)
{
    bool refused = uvzk__is_answer(status);

    if (refused && contender->node.state == UVZK__NODE_DELETING) {
        uvzk__contender_back_off(contender, LOOK_AGAIN_MS);
    } else if (refused) {
        uvzk__queue_back_off(contender->queue);
        uvzk__contender_end(contender, status);
    }
}

static void stat_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__inflight_requester(rpc);
    int status = reply->status;
    bool ours = status == 0 && reply->stat.ephemeral_owner == session_of(contender);

    uvzk__inflight_done(uvzk__session_of(contender), rpc, status, false);
    if (contender->state != UVZK__CONTENDER_ENDED) {
        uvzk__driver_claim_of(contender)->reading = false;
        if (status == 0 || status == UVZK_ENONODE) {
            ours = ours && has_its_czxid(contender, reply->stat.czxid);
            node_read(contender, ours, reply->stat.czxid);
        } else {
            read_failed(contender, status);
        }
    }
    uvzk__contender_unref(contender);
}

static void read_node(struct uvzk__contender *contender)
{
    struct uvzk__driver_claim *driver_claim = uvzk__driver_claim_of(contender);
    struct uvzk__rpc *rpc = NULL;

    if (!driver_claim->reading && uvzk__may_send(uvzk__session_of(contender))) {
        rpc = uvzk__inflight_new(uvzk__session_of(contender), contender, UVZK__RPC_EXISTS,
                                 contender->path, stat_replied);
    }
    if (rpc != NULL) {
        driver_claim->reading = true;
        uvzk__contender_ref(contender);
        uvzk__submit(uvzk__session_of(contender), rpc);
    }
}

/* After a delete whose outcome is not known, another client may have created a znode of
 * the same name. `confirmed` counts for one delete: if its reply is lost too, the znode
 * is read once more. */
bool uvzk__fixed_name_certain(struct uvzk__contender *contender)
{
    struct uvzk__driver_claim *driver_claim = uvzk__driver_claim_of(contender);

    if (!contender->kind->fixed_name || !contender->node.delete_unknown) {
        return true;
    }
    if (driver_claim->confirmed) {
        driver_claim->confirmed = false;
        return true;
    }
    read_node(contender);
    return false;
}

/* --------------------------------------------------------------------- one at a time */

/* Returns true if the contender has a znode, may have one, or is creating one. */
static bool may_have_node(const struct uvzk__contender *contender)
{
    switch ((enum uvzk__node_state)contender->node.state) {
    case UVZK__NODE_CREATING:
        return contender->node.in_flight;
    case UVZK__NODE_PARENTS:
    case UVZK__NODE_BACKING_OFF:
        return false;
    default:
        return true;
    }
}

/* The name as text of the local contender that has, may have or creates its znode. NULL:
 * there is no such contender. */
static const char *name_in_use(struct uvzk__queue *queue, const char *name)
{
    const struct uvzk__ring *rings[] = {&queue->holders, &queue->waiters,
                                        &queue->deleting, &queue->unplaced};

    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
        for (const struct uvzk__contender *each = uvzk__first_in(rings[i]); each != NULL;
             each = uvzk__next_in(rings[i], each)) {
            if (each->kind->fixed_name && may_have_node(each) &&
                strcmp(uvzk__path_name(each->path), name) == 0) {
                return uvzk__path_name(each->path);
            }
        }
    }
    return NULL;
}

bool uvzk__fixed_name_taken(struct uvzk__queue *queue, const char *name)
{
    return name_in_use(queue, name) != NULL || uvzk__node_watch_exists(queue, name);
}

bool uvzk__fixed_name_may_be_ours(struct uvzk__contender *contender,
                                  const struct uvzk__stat *stat)
{
    struct uvzk__node *node = &contender->node;
    const struct uvzk__place unknown = {0, 0};

    if (!contender->kind->fixed_name || stat->ephemeral_owner != session_of(contender) ||
        node->state != UVZK__NODE_CREATING || node->in_flight ||
        name_in_use(contender->queue, name_of(contender)) != NULL ||
        !has_its_czxid(contender, stat->czxid)) {
        return false;
    }
    /* The node machine moves as after a create whose reply was lost. */
    uvzk__contender_set_name(contender, name_of(contender));
    uvzk__node_sent(node);
    uvzk__node_created(node, UVZK_ECONNLOSS, unknown);
    uvzk__contender_update(contender);
    uvzk__driver_claim_set_undecided(contender);
    return true;
}

/* Creates the contender's znode, or makes the contender wait. *taken: a name that is
 * known to be in use, kept for the following contenders, which usually have the same one.
 * While a local contender uses the name no watch is needed: its end settles the
 * directory. */
static void start_fixed(struct uvzk__contender *contender, const char **taken)
{
    struct uvzk__queue *queue = contender->queue;
    const char *name = name_of(contender);

    if (*taken == NULL || strcmp(*taken, name) != 0) {
        *taken = name_in_use(queue, name);
    }
    if (*taken != NULL) {
        uvzk__driver_claim_notify_position(contender, 1);
        uvzk__claim_end_try_once(contender->claim);
    } else if (uvzk__node_watch_exists(queue, name)) {
        uvzk__driver_claim_set_waits(contender, name, 1);
    } else if (!uvzk__queue_is_backing_off(queue) && uvzk__may_send(queue->session) &&
               fixed_name_create(contender)) {
        *taken = name;
    }
}

void uvzk__fixed_names_settle(struct uvzk__queue *queue)
{
    const char *taken = NULL;

    for (struct uvzk__contender *each = uvzk__first_in(&queue->unplaced), *next;
         each != NULL; each = next) {
        next = uvzk__next_in(&queue->unplaced, each);
        if (!each->kind->fixed_name) {
            continue;
        }
        if (each->node.state == UVZK__NODE_UNKNOWN &&
            !uvzk__queue_is_backing_off(queue)) {
            read_node(each);
        } else if (each->node.state == UVZK__NODE_CREATING && !each->node.in_flight &&
                   uvzk__driver_claim_of(each)->node_watch == NULL) {
            start_fixed(each, &taken);
        }
    }
}
