/* What a claim does with the events of its contenders (contender_user.h). The claim's
 * kind decides what a grant or an end means for the claim as a whole. This file has what
 * is the same for all kinds: the count of the contenders that hold, the status that the
 * release reports, and contenders that have no claim: orphans, and those whose delete the
 * ACL refuses. */
#include "claim/contender_user.h"

#include "claim/claim.h"
#include "claim/claim_acquisitions.h"
#include "claim/revocation.h"
#include "directory/acl_retry.h"
#include "directory/contender.h"

static void contender_user_granted(struct uvzk__contender *contender)
{
    struct uvzk__claim *claim = contender->claim;

    claim->held_count++;
    claim->kind->granted(contender);
}

static void hold_ended(struct uvzk__contender *contender)
{
    contender->claim->held_count--;
}

static void contender_user_ungranted(struct uvzk__contender *contender)
{
    contender->claim->kind->ungranted(contender);
}

static void contender_user_ended(struct uvzk__contender *contender, int code)
{
    contender->claim->kind->ended(contender, code);
}

/* The status that a release reports for a znode that is gone. */
static int release_status_of(const struct uvzk__node *node)
{
    if (node->status == UVZK_EDELETED) {
        return UVZK_ELOST; /* another client deleted it before our delete */
    }
    return node->status != 0 ? node->status : node->deleted ? 0 : UVZK_ELOST;
}

/* The contender leaves its claim, which records what happened to the znode. An orphan has
 * no claim. */
static void detach_claim(struct uvzk__contender *contender, int status)
{
    struct uvzk__claim *claim = contender->claim;

    if (contender->kind->orphan) {
        return;
    }
    /* One that only admits is not part of the hold, so its delete does not decide the
     * release's status. */
    if (!contender->kind->admits) {
        uvzk__claim_set_release_status(claim, status);
    }
    if (claim->kind->contender_gone != NULL) {
        claim->kind->contender_gone(contender, status);
    }
    uvzk__claim_detach(contender);
}

/* The claim ends although the znode still exists, because its delete may be refused for a
 * long time. The contender continues without the claim (acl_retry.h). */
static void contender_user_undeletable(struct uvzk__contender *contender)
{
    int status = contender->node.status;

    detach_claim(contender, status != 0 ? status : UVZK_ENOAUTH);
}

static void contender_user_over(struct uvzk__contender *contender)
{
    /* It has left its claim already. */
    if (contender->state == UVZK__CONTENDER_UNDELETABLE) {
        uvzk__undeletable_gone(contender);
    } else {
        detach_claim(contender, release_status_of(&contender->node));
    }
}

static bool may_delete(struct uvzk__contender *contender)
{
    if (contender->state == UVZK__CONTENDER_UNDELETABLE) {
        return uvzk__undeletable_take_turn(contender);
    }
    /* An orphan was identified by a listing (divergence.h). */
    return contender->kind->orphan || contender->claim->kind->may_delete == NULL ||
           contender->claim->kind->may_delete(contender);
}

static bool grant_notified(const struct uvzk__contender *contender)
{
    return uvzk__claim_grant_notified(contender->claim);
}

static void contender_user_queued(struct uvzk__contender *contender, uint64_t ahead)
{
    uvzk__claim_queued(contender->claim, ahead);
}

static bool any_try_once(const struct uvzk__session *session)
{
    return !uvzk__list_empty(&session->claims->try_once);
}

static void has_to_wait(struct uvzk__contender *contender)
{
    uvzk__claim_end_try_once(contender->claim);
}

static void contender_user_data(const struct uvzk__contender *contender,
                                const void **bytes, size_t *length)
{
    const struct uvzk__claim *claim = contender->claim;

    *bytes = NULL;
    *length = 0;
    if (claim->has_data) {
        *bytes = uvzk__claim_data(claim);
        *length = uvzk__claim_data_length(claim);
    }
}

const struct uvzk__contender_user uvzk__claim_contender_user = {
    .granted = contender_user_granted,
    .hold_ended = hold_ended,
    .ungranted = contender_user_ungranted,
    .ended = contender_user_ended,
    .undeletable = contender_user_undeletable,
    .over = contender_user_over,
    .may_delete = may_delete,
    .grant_notified = grant_notified,
    .queued = contender_user_queued,
    .any_try_once = any_try_once,
    .has_to_wait = has_to_wait,
    .own_node_read = uvzk__revocation_read,
    .data = contender_user_data,
};
