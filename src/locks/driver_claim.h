/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a claim on a driver lock that belongs to its one contender: the driver, the
 * driver's decision, and the node watch that goes with the decision.
 *
 *   created --> UNDECIDED -- a listing, the driver decides --> GETS_LOCK --> granted
 *                ^     |
 *                |     `--> WAITS for the child that the driver names
 *                |            |
 *                `------------' that child is deleted or changed
 *
 * With a fixed name uvzk lists nothing. The contender that creates the znode gets the
 * lock. Every other contender WAITS until that znode is deleted, and then tries to create
 * it again (fixed_name.h). */
#ifndef UVZK_DRIVER_CLAIM_H
#define UVZK_DRIVER_CLAIM_H

#include "claim/claim.h"
#include "directory/contender.h"
#include "locks/lock_driver.h"

/* claim->extra of a claim on a driver lock, which has one contender. */
struct uvzk__driver_claim {
    struct uvzk__claim *claim;
    struct uvzk__lock_driver *driver; /* referenced */
    /* On the child that it waits for; in GETS_LOCK, on its own znode. NULL: none. */
    struct uvzk__node_watch *node_watch;
    struct uvzk__link in_node_watch; /* in node_watch->watchers */
    /* The settle_count of the session's directories for which the decision is fresh:
     * the listing or create that led to it has just shown the contender's znode. */
    uint32_t settle_count;
    uint8_t decision; /* enum uvzk__driver_decision */
    bool reading;     /* an exists of its fixed name is in flight */
    bool confirmed;   /* that exists has shown that the znode is its own */
};

/* The driver claim of a contender in a driver-defined directory. */
static inline struct uvzk__driver_claim *
uvzk__driver_claim_of(const struct uvzk__contender *contender)
{
    return contender->claim->extra;
}

/* Set the decision. UNDECIDED: the next listing decides. GETS_LOCK: its znode has just
 * been shown to exist. WAITS: for the child of this name; reports that `ahead` children
 * are before it. An acquire with UVZK_TRY_ONCE then ends, and the contender may have been
 * freed when the function returns. */
void uvzk__driver_claim_set_undecided(struct uvzk__contender *);
void uvzk__driver_claim_set_gets_lock(struct uvzk__contender *);
void uvzk__driver_claim_set_waits(struct uvzk__contender *, const char *name,
                                  uint64_t ahead);

/* Reports the position once, if the claim has asked for it. It is at least 1. */
void uvzk__driver_claim_notify_position(struct uvzk__contender *, uint64_t ahead);

/* Returns true if the znode of this name, which exists or is being deleted, is one of
 * this session's contenders in the directory. */
bool uvzk__driver_node_is_ours(const struct uvzk__queue *, const char *name);

/* The node watch of the claim has ended. news: UVZK_ENONODE if the child is deleted; 0 if
 * it has changed or this is not known; otherwise the reason why it cannot be watched,
 * with which the contender ends. */
void uvzk__driver_claim_node_changed(struct uvzk__driver_claim *, int news);

/* Returns true if the claim's node watch may go on for a child with this czxid. False:
 * the claim watches its own znode, and the child is another znode of the same name. */
bool uvzk__driver_claim_owns(const struct uvzk__driver_claim *, int64_t czxid);

/* The kind of the claims on driver locks. */
extern const struct uvzk__claim_kind uvzk__claim_of_driver;

/* Makes the claim's driver claim, with a reference to the driver. Returns 0, or UV_ENOMEM
 * with nothing changed. */
int uvzk__driver_claim_new(struct uvzk__claim *, struct uvzk__lock_driver *);

#endif
