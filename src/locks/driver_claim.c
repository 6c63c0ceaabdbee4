/* SPDX-License-Identifier: Apache-2.0 */
/* The driver claim (driver_claim.h): what a contender's driver has decided, and what
 * follows from it for the claim. driver_lock.c and fixed_name.c set the decision when
 * a listing or a create has been answered; node_watch.c reports what happened to the child
 * that was named. Each change makes the directory settle, which grants or lists. */
#include "locks/driver_claim.h"

#include <string.h>

#include "base/path.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/wait_reason.h"
#include "directory/contender.h"
#include "directory/directories.h"
#include "directory/queue.h"
#include "locks/fixed_name.h"
#include "locks/node_watch.h"
#include "proof/prover.h"

/* ------------------------------------------------------------------- the decisions */

void uvzk__driver_claim_set_undecided(struct uvzk__contender *contender)
{
    uvzk__driver_claim_of(contender)->decision = UVZK__DRIVER_UNDECIDED;
    uvzk__queue_settle_later(contender->queue);
}

void uvzk__driver_claim_set_gets_lock(struct uvzk__contender *contender)
{
    struct uvzk__driver_claim *driver_claim = uvzk__driver_claim_of(contender);

    driver_claim->decision = UVZK__DRIVER_GETS_LOCK;
    /* The decision is fresh in the next settling only (grant_if_shown). */
    driver_claim->settle_count =
        uvzk__session_of(contender)->directories->settle_count + 1;
    uvzk__queue_settle_later(contender->queue);
}

void uvzk__driver_claim_notify_position(struct uvzk__contender *contender, uint64_t ahead)
{
    if (contender->wants_position) {
        uvzk__contender_want_no_position(contender);
        uvzk__claim_queued(contender->claim, ahead == 0 ? 1 : ahead);
    }
}

/* Without memory for a node watch the contender stays UNDECIDED, and the directory is
 * listed again after a pause. */
void uvzk__driver_claim_set_waits(struct uvzk__contender *contender, const char *name,
                                  uint64_t ahead)
{
    struct uvzk__driver_claim *driver_claim = uvzk__driver_claim_of(contender);

    if (uvzk__node_watch_join(driver_claim, name)) {
        driver_claim->decision = UVZK__DRIVER_WAITS;
    } else {
        uvzk__queue_back_off(contender->queue);
    }
    uvzk__driver_claim_notify_position(contender, ahead);
    uvzk__claim_end_try_once(contender->claim);
}

void uvzk__driver_claim_node_changed(struct uvzk__driver_claim *driver_claim, int news)
{
    struct uvzk__contender *contender = uvzk__claim_first_contender(driver_claim->claim);

    if (news != 0 && news != UVZK_ENONODE) {
        uvzk__contender_end(contender, news);
    } else if (driver_claim->decision != UVZK__DRIVER_GETS_LOCK) {
        uvzk__driver_claim_set_undecided(contender);
    } else if (news == UVZK_ENONODE) {
        uvzk__contender_missing(contender); /* does nothing if the delete is ours */
    }
}

bool uvzk__driver_claim_owns(const struct uvzk__driver_claim *driver_claim, int64_t czxid)
{
    const struct uvzk__contender *contender =
        uvzk__claim_first_contender(driver_claim->claim);

    return driver_claim->decision != UVZK__DRIVER_GETS_LOCK ||
           contender->node.place.czxid == czxid;
}

/* ---------------------------------------------------------------------- the claims */

bool uvzk__driver_node_is_ours(const struct uvzk__queue *queue, const char *name)
{
    const struct uvzk__ring *rings[] = {&queue->holders, &queue->waiters,
                                        &queue->deleting};

    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
        for (const struct uvzk__contender *each = uvzk__first_in(rings[i]); each != NULL;
             each = uvzk__next_in(rings[i], each)) {
            if (strcmp(uvzk__path_name(each->path), name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The contender waits for the child that its driver has named or, with a fixed name, for
 * the local contender that has or may have the znode of that name. */
static void wait_reason(const struct uvzk__claim *claim, size_t most,
                        struct uvzk__wait_reason *reason)
{
    const struct uvzk__contender *contender = uvzk__claim_first_contender(claim);
    const struct uvzk__driver_claim *driver_claim = uvzk__driver_claim_of(contender);
    bool placed = !uvzk__contender_place_wait_reason(contender, reason);
    bool begun =
        contender->node.state != UVZK__NODE_CREATING || contender->node.in_flight;

    (void)most;
    if (reason->kind == UVZK_WAITS_FOR_CONNECTION) {
        return;
    }
    if (driver_claim->node_watch != NULL &&
        driver_claim->decision != UVZK__DRIVER_GETS_LOCK) {
        const char *name = uvzk__node_watch_name(driver_claim->node_watch);
        bool ours = uvzk__driver_node_is_ours(contender->queue, name);
        reason->kind = ours ? UVZK_WAITS_FOR_OURS : UVZK_WAITS_FOR_OTHERS;
        reason->ahead = 1;
        reason->directory = ours ? NULL : contender->queue->path->text;
        reason->name = ours ? NULL : name;
    } else if (!placed && !begun && contender->kind->fixed_name &&
               uvzk__fixed_name_taken(contender->queue, driver_claim->driver->name)) {
        reason->kind = UVZK_WAITS_FOR_OURS;
        reason->ahead = 1;
    } else if (placed) {
        reason->kind = driver_claim->decision == UVZK__DRIVER_GETS_LOCK
                           ? UVZK_WAITS_FOR_PROOF
                           : UVZK_WAITS_FOR_PLACE;
    }
}

static void driver_claim_granted(struct uvzk__contender *contender)
{
    /* A hold by a persistent znode does not depend on proofs. */
    if (contender->persistent) {
        uvzk__prover_remove_held(uvzk__session_of(contender), &contender->proof_subject);
    }
    uvzk__claim_plain_granted(contender);
}

static void claim_freed(struct uvzk__claim *claim)
{
    struct uvzk__driver_claim *driver_claim = claim->extra;

    if (driver_claim != NULL) {
        uvzk__node_watch_leave(driver_claim);
        uvzk__lock_driver_unref(driver_claim->driver);
        uvzk__free(driver_claim);
    }
}

const struct uvzk__claim_kind uvzk__claim_of_driver = {
    .granted = driver_claim_granted,
    .ungranted = uvzk__claim_plain_ungranted,
    .ended = uvzk__claim_plain_ended,
    .may_delete = uvzk__fixed_name_certain,
    .freed = claim_freed,
    .wait_reason = wait_reason,
};

int uvzk__driver_claim_new(struct uvzk__claim *claim, struct uvzk__lock_driver *driver)
{
    struct uvzk__driver_claim *driver_claim = uvzk__calloc(1, sizeof(*driver_claim));

    if (driver_claim == NULL) {
        return UV_ENOMEM;
    }
    driver_claim->claim = claim;
    driver_claim->driver = uvzk__lock_driver_ref(driver);
    uvzk__list_init(&driver_claim->in_node_watch);
    claim->extra = driver_claim;
    return 0;
}
