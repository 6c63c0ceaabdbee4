/* SPDX-License-Identifier: Apache-2.0 */
/* A claim of a multi lock whose members are all mutexes. One transaction creates the
 * znodes of all members: all of them or none. multilock.c makes the claim; its contenders
 * report to it through the claim_kind at the end of this file.
 *
 *   no znode exists --> multi in flight --> all exist, each in its queue --> all hold
 *        ^                |  |
 *        | a directory    |  | outcome unknown: each znode is searched for; either
 *        | is missing: it |  | all of them are found, or none is
 *        | is created     |  |
 *        +----------------+--'
 *
 * If another client deletes the znode of one member, that member is not created again by
 * itself: it would have a later place in its queue than the other members have in theirs,
 * and claims could then wait for each other in a circle. The claim ends. */
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "engine/request_size.h"
#include "engine/submission.h"
#include "locks/multilock.h"
#include "locks/mutex.h"

/* claim->extra. The arrays are in the order of the members' paths. */
struct at_once {
    struct uvzk__claim *claim;
    struct uvzk__lock *lock;             /* referenced until the claim is freed */
    struct uvzk__contender **contenders; /* of each member */
    struct uvzk__member_error *errors;   /* of each member */
    size_t count;                        /* of contenders */
    struct uvzk__rpc rpc;                /* the multi */
    struct uvzk__op *ops;                /* its creates */
    struct uvzk__acl *acls;              /* of the ops */
};

static struct at_once *at_once_of(const struct uvzk__claim *claim)
{
    return claim->extra;
}

static struct uvzk__member_error *error_of(struct uvzk__contender *contender)
{
    struct at_once *at_once = at_once_of(contender->claim);
    size_t i = 0;

    while (at_once->contenders[i] != contender) {
        i++;
    }
    return &at_once->errors[i];
}

/* ------------------------------------------------------------------ the znodes */

static void multilock_at_once_replied(struct uvzk__rpc *rpc,
                                      const struct uvzk__reply *reply)
{
    struct at_once *at_once = UVZK__CONTAINER_OF(rpc, struct at_once, rpc);
    struct uvzk__claim *claim = at_once->claim;

    uvzk__answered(claim->session, rpc, reply->status, true);
    uvzk__claim_ref(claim);
    for (size_t i = 0; i < at_once->count; i++) {
        uvzk__contender_create_op_answered(at_once->contenders[i], reply, i,
                                           at_once->count, 0);
    }
    uvzk__claim_unref(claim);
}

/* Returns true if all znodes are still to be created, and no create is in flight. */
static bool all_ready(const struct at_once *at_once)
{
    for (size_t i = 0; i < at_once->count; i++) {
        const struct uvzk__node *node = &at_once->contenders[i]->node;
        if (node->state != UVZK__NODE_CREATING || node->in_flight || !node->wanted) {
            return false;
        }
    }
    return true;
}

/* Returns true if a znode of any member exists. The znodes are created together, so if
 * one has to be created while another exists, another client has deleted it. */
static bool any_stands(const struct at_once *at_once)
{
    for (size_t i = 0; i < at_once->count; i++) {
        if (uvzk__node_has_place(&at_once->contenders[i]->node)) {
            return true;
        }
    }
    return false;
}

static void multilock_at_once_create(struct uvzk__contender *contender)
{
    struct at_once *at_once = at_once_of(contender->claim);

    if (uvzk__claim_is_given_up(contender->claim)) {
        return;
    }
    if (any_stands(at_once)) {
        uvzk__claim_end(contender->claim, UVZK_EDELETED);
        return;
    }
    if (!all_ready(at_once)) {
        return; /* this is called again for the last contender that becomes ready */
    }
    uvzk__rpc_prepare(&at_once->rpc, UVZK__RPC_MULTI, NULL, multilock_at_once_replied);
    at_once->rpc.ops = at_once->ops;
    at_once->rpc.op_count = at_once->count;
    for (size_t i = 0; i < at_once->count; i++) {
        uvzk__contender_create_op(at_once->contenders[i], &at_once->ops[i],
                                  &at_once->acls[i]);
    }
    uvzk__submit(uvzk__session_of(contender), &at_once->rpc);
    for (size_t i = 0; i < at_once->count; i++) {
        uvzk__contender_create_sent(at_once->contenders[i]);
    }
}

/* ------------------------------------------------------------------- the claim */

/* Returns true if the znode of any member has to be created. */
static bool multilock_at_once_incomplete(const struct at_once *at_once)
{
    for (size_t i = 0; i < at_once->count; i++) {
        if (uvzk__node_needs(&at_once->contenders[i]->node) == UVZK__NEEDS_CREATE) {
            return true;
        }
    }
    return false;
}

/* A contender was granted, so its znode exists. If another member's znode has to be
 * created, it was deleted, and the claim would never hold. */
static void multilock_at_once_granted(struct uvzk__contender *contender)
{
    if (!uvzk__claim_is_given_up(contender->claim) &&
        multilock_at_once_incomplete(at_once_of(contender->claim))) {
        uvzk__claim_end(contender->claim, UVZK_EDELETED);
    } else {
        uvzk__claim_plain_granted(contender);
    }
}

static void multilock_at_once_ended(struct uvzk__contender *contender, int code)
{
    uvzk__member_error_report(error_of(contender), code);
    uvzk__claim_end(contender->claim, code);
}

/* Reports how the znode ended. UVZK_ELOST of a contender that never held is not reported:
 * it had no znode, or gave it up. */
static void contender_gone(struct uvzk__contender *contender, int status)
{
    if (status != UVZK_ELOST || contender->has_held) {
        uvzk__member_error_report(error_of(contender), status);
    }
}

static void multilock_at_once_freed(struct uvzk__claim *claim)
{
    struct at_once *at_once = at_once_of(claim);

    if (at_once != NULL) {
        uvzk__lock_unref(at_once->lock);
        uvzk__free(at_once->contenders);
        uvzk__free(at_once->errors);
        uvzk__free(at_once->ops);
        uvzk__free(at_once->acls);
        uvzk__free(at_once);
    }
}

const struct uvzk__claim_kind uvzk__claim_at_once = {
    .granted = multilock_at_once_granted,
    .ungranted = uvzk__claim_plain_ungranted,
    .ended = multilock_at_once_ended,
    .contender_gone = contender_gone,
    .freed = multilock_at_once_freed,
};

static const struct uvzk__contender_kind contender_kind = {
    .name_prefix = UVZK__MUTEX_PREFIX,
    .once = true,
    .create = multilock_at_once_create,
};

/* A transaction belongs to one session. So the contender is made in the claim's session,
 * even if the member's home is another one. */
static int add_member(struct at_once *at_once, const struct uvzk__lock *member)
{
    struct uvzk__queue *queue =
        uvzk__queue_of(at_once->claim->session, &uvzk__exclusive, member->path);
    struct uvzk__contender **contender = &at_once->contenders[at_once->count];
    int status = queue == NULL
                     ? UV_ENOMEM
                     : uvzk__claim_new_contender(at_once->claim, queue, &contender_kind,
                                                 NULL, contender);

    if (status == 0) {
        at_once->count++;
    }
    return status;
}

/* The sizes of the members' znodes are each allowed, and together they may exceed what a
 * server accepts. */
static int check_size(struct at_once *at_once)
{
    size_t size = UVZK__MULTI_SIZE;

    for (size_t i = 0; i < at_once->count; i++) {
        uvzk__contender_create_op(at_once->contenders[i], &at_once->ops[i],
                                  &at_once->acls[i]);
        size += uvzk__op_size(at_once->claim->session, &at_once->ops[i]);
    }
    return uvzk__refuse_size("the znodes of all members with options.node_data", size);
}

int uvzk__at_once_prepare(struct uvzk__claim *claim,
                          const struct uvzk__multilock *multilock)
{
    struct at_once *at_once = uvzk__calloc(1, sizeof(*at_once));
    int status = 0;

    if (at_once == NULL) {
        return UV_ENOMEM;
    }
    claim->extra = at_once;
    at_once->claim = claim;
    at_once->lock = claim->lock;
    uvzk__lock_ref(at_once->lock);
    at_once->contenders =
        uvzk__calloc(multilock->count, sizeof(struct uvzk__contender *));
    at_once->errors = uvzk__calloc(multilock->count, sizeof(at_once->errors[0]));
    at_once->ops = uvzk__calloc(multilock->count, sizeof(at_once->ops[0]));
    at_once->acls = uvzk__calloc(multilock->count, sizeof(at_once->acls[0]));
    if (at_once->contenders == NULL || at_once->errors == NULL || at_once->ops == NULL ||
        at_once->acls == NULL) {
        return UV_ENOMEM;
    }
    for (size_t i = 0; status == 0 && i < multilock->count; i++) {
        uvzk__member_error_init(&at_once->errors[i], claim, multilock,
                                &multilock->members[i]);
        status = add_member(at_once, multilock->members[i].handle->impl);
    }
    if (status == 0) {
        status = check_size(at_once);
    }
    if (status != 0) {
        uvzk__claim_remove_contenders(claim);
    }
    return status;
}
