/* SPDX-License-Identifier: Apache-2.0 */
/* One acquire call, and what its callbacks have reported to the user so far. The state
 * machine makes sure that grant, loss and release are reported once each, and in order.
 *
 *   ASKED ---> GRANTING ---> GRANTED ---> RELEASING ---> RELEASED -.
 *     |  ^       |   |  callback |                           ^       \
 *     |  +-------+   |  has run  +-------> LOSING -----------+        > FINAL
 *     |  the proof   |                     | |  released before the   /
 *     |  expired     v                     | |  lost callback ran    /
 *     |  before it                         | +----------------------'
 *     +---------> REFUSED ------------------------------------------'
 *
 * GRANTING, LOSING, RELEASED and REFUSED wait in the session's list of notifications for
 * the end of a turn. Their callback runs then and moves the acquisition on. In FINAL the
 * acquisition is freed. */
#ifndef UVZK_ACQUISITION_H
#define UVZK_ACQUISITION_H

#include "base/machine.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include <stdbool.h>
#include <stdint.h>

enum uvzk__acquisition_state {
    UVZK__ACQUISITION_ASKED,     /* next: GRANTING REFUSED */
    UVZK__ACQUISITION_GRANTING,  /* next: GRANTED ASKED REFUSED */
    UVZK__ACQUISITION_GRANTED,   /* next: RELEASING RELEASED LOSING */
    UVZK__ACQUISITION_RELEASING, /* next: RELEASED */
    UVZK__ACQUISITION_LOSING,    /* next: FINAL RELEASED */
    UVZK__ACQUISITION_RELEASED,  /* next: FINAL */
    UVZK__ACQUISITION_REFUSED,   /* next: FINAL */
    UVZK__ACQUISITION_FINAL      /* final */
};

extern const struct uvzk__machine uvzk__acquisition_machine;

struct uvzk__acquisition {
    /* The user's struct. It refers to this acquisition from uvzk__acquisition_start until
     * FINAL. */
    uvzk_hold_t *handle;
    struct uvzk__claim *claim; /* NULL once it has left its claim, or never had one */
    /* Referenced: the lock is not freed before FINAL. */
    struct uvzk__lock *lock;
    struct uvzk__link in_claim; /* in claim->acquisitions */
    struct uvzk__notification notification;
    /* The callback that is due next. acquire_cb: ASKED, GRANTING, REFUSED. */
    union {
        uvzk_hold_acquire_cb acquire_cb;
        uvzk_hold_lost_cb losing_cb;     /* GRANTED with loss_intercepted */
        uvzk_hold_release_cb release_cb; /* RELEASING, RELEASED */
    };
    uvzk_hold_lost_cb lost_cb;
    /* When the last step was observed, in ms (observed_steps.h). 0: it was not. */
    uint64_t since_ms : 37;
    uint32_t error : 14; /* for the last callback: the status, negated */
    /* It has a timeout or UVZK_TRY_ONCE: a struct uvzk__acquire_timeout follows it
     * (acquisition.c). */
    bool is_limited : 1;
    /* It has a revoke_cb: it is a struct uvzk__revocable_acquisition. */
    bool revocable : 1;
    /* It has a queued_cb: a struct uvzk__queued_report follows it. */
    bool wants_place : 1;
    bool loss_intercepted : 1; /* losing_cb is called as soon as the hold is lost */
    /* It has a max_hold_cb: a struct uvzk__hold_warning follows it. */
    bool wants_warning : 1;
    uint8_t state; /* enum uvzk__acquisition_state */
};

/* The same for one of possibly several acquisitions of a claim. If no other one is left,
 * the claim ends. */
void uvzk__acquisition_end_alone(struct uvzk__acquisition *, int reason);
/* Returns true if this notification of the session runs a lost callback. */
bool uvzk__acquisition_is_loss(const struct uvzk__notification *);
/* Its place in the queue is known: the queued callback will run. */
void uvzk__acquisition_queued(struct uvzk__acquisition *, uint64_t ahead);

/* The first function returns true if the acquisition has UVZK_TRY_ONCE; the second
 * returns the acquisition to which a link in session->claims->try_once belongs. */
bool uvzk__acquisition_is_try_once(const struct uvzk__acquisition *);
struct uvzk__acquisition *uvzk__acquisition_of_try(struct uvzk__link *);

/* The first acquisition of the claim, and the one after this one. NULL: there is none. */
static inline struct uvzk__acquisition *
uvzk__acquisition_of_link(const struct uvzk__link *link)
{
    return link == NULL
               ? NULL
               : UVZK__CONTAINER_OF((uintptr_t)link, struct uvzk__acquisition, in_claim);
}
static inline struct uvzk__acquisition *
uvzk__claim_first_acquisition(const struct uvzk__claim *claim)
{
    return uvzk__acquisition_of_link(uvzk__ring_first(&claim->acquisitions));
}
static inline struct uvzk__acquisition *
uvzk__claim_next_acquisition(const struct uvzk__acquisition *acquisition)
{
    return uvzk__acquisition_of_link(
        uvzk__ring_next(&acquisition->claim->acquisitions, &acquisition->in_claim));
}

/* ------------------------------------------- all acquisitions of one claim */

/* The place of the claim in its queue is known: `ahead` contenders are ahead of it. */
void uvzk__claim_queued(struct uvzk__claim *, uint64_t ahead);

/* Returns true if the acquire callback of one of its acquisitions has reported the
 * grant. */
bool uvzk__claim_grant_notified(const struct uvzk__claim *);

/* The claim has to wait: ends its acquisitions with UVZK_TRY_ONCE with UV_ETIMEDOUT, and
 * the claim if no other acquisition is left. */
void uvzk__claim_end_try_once(struct uvzk__claim *);

/* For a broken client (engine/invariant.h): ends the user's holds of the claim, but not
 * what waits. */
void uvzk__claim_end_holds(struct uvzk__claim *, int code);

/* The releases under way end with this code, because nothing more will be known of the
 * znodes. Does nothing for a persistent claim and UVZK_EEXPIRED: its znodes still exist,
 * and their deletes go on. */
void uvzk__claim_fail_releases(struct uvzk__claim *, int code);

/* ------------------------------------------------------------ requests for a release
 *
 * Another client asks a holder to release: it writes __REVOKE__ into the holder's znode
 * (Curator's Revoker). The own watch of a revocable contender (own_watch.h) is always
 * armed, and reads the znode's data each time that it is set. */

#define UVZK__REVOKE "__REVOKE__"
#define UVZK__REVOKE_LENGTH (sizeof(UVZK__REVOKE) - 1)

/* ------------------------------------------------------------ for this room alone */

/* Makes an acquisition in ASKED that belongs to no claim yet. Before
 * uvzk__acquisition_start, uvzk__free() is enough to undo this. NULL: out of memory. */
struct uvzk__acquisition *uvzk__acquisition_new(struct uvzk__lock *, uvzk_hold_t *handle,
                                                const uvzk_acquire_options_t *,
                                                uvzk_hold_acquire_cb, uvzk_hold_lost_cb);

/* Starts the acquisition. From now until FINAL the handle belongs to the library. The
 * claim may be NULL for an acquisition that the caller ends at once. timeout_ms: as in
 * the options; it counts from now. */
void uvzk__acquisition_start(struct uvzk__acquisition *, struct uvzk__claim *,
                             int64_t timeout_ms);

/* The session of its claim; without a claim, the home of its lock. */
static inline struct uvzk__session *
uvzk__acquisition_session(const struct uvzk__acquisition *acquisition)
{
    return acquisition->claim != NULL ? acquisition->claim->session
                                      : acquisition->lock->session;
}

/* Returns true if it still waits: neither has the grant been reported, nor has the
 * acquisition ended. */
static inline bool
uvzk__acquisition_is_pending(const struct uvzk__acquisition *acquisition)
{
    return acquisition->state == UVZK__ACQUISITION_ASKED ||
           acquisition->state == UVZK__ACQUISITION_GRANTING;
}

/* The claim holds: the acquire callback will run at the end of the turn. Does nothing in
 * any other state than ASKED. */
void uvzk__acquisition_grant(struct uvzk__acquisition *);

/* The grant is taken back: GRANTING goes back to ASKED. Other states do not change. */
void uvzk__acquisition_ungrant(struct uvzk__acquisition *);

/* Ends a wait or a hold with this code: REFUSED if the grant has not been reported,
 * LOSING if it has. Does nothing in other states, so a release that is under way goes
 * on. */
void uvzk__acquisition_end(struct uvzk__acquisition *, int reason);

/* For a broken client (engine/invariant.h): ends the acquisition whatever its state is,
 * a release too, so that its last callback runs. */
void uvzk__acquisition_end_broken(struct uvzk__acquisition *, int reason);

/* Ends a RELEASING acquisition, or a GRANTED or LOSING one that the user releases.
 * status: 0 or what went wrong with the znodes. */
void uvzk__acquisition_released(struct uvzk__acquisition *, int status);

/* The user releases a GRANTED or LOSING acquisition. */
void uvzk__acquisition_release(struct uvzk__acquisition *, uvzk_hold_release_cb);

/* Another client asks for a release: the revoke callback will run. */
void uvzk__acquisition_revoked(struct uvzk__acquisition *);

/* The end of the hold's time is near (hold_limit.h): the warning callback of a GRANTED
 * acquisition will run, if it has one. */
void uvzk__acquisition_warn(struct uvzk__acquisition *);

/* An acquisition with UVZK_TRY_ONCE finds the lock taken: ends with UV_ETIMEDOUT. */
void uvzk__acquisition_try_failed(struct uvzk__acquisition *);

/* The timer of its timeout. NULL: it has UVZK_TRY_ONCE, or waits without limit. */
struct uvzk__timer *uvzk__acquisition_deadline(const struct uvzk__acquisition *);

/* Its hold_limit: the time of the warning has come; and the end, which ends the claim. The
 * second function is called only where callbacks may run. */
void uvzk__claim_warn(struct uvzk__claim *);
void uvzk__claim_give_back(struct uvzk__claim *);

/* An acquisition of the claim has a revoke callback: the znodes of the claim's contenders
 * are watched from now on. Znodes that are created after this call get no data, even if
 * the acquire has node_data. Returns 0 or UV_ENOMEM. */
int uvzk__revocation_enable(struct uvzk__claim *);

/* The own watch has read the znode of this contender. If the data are __REVOKE__, the
 * revoke callbacks of the claim's acquisitions will run, once for each write of the
 * message. */
void uvzk__revocation_read(struct uvzk__contender *, const struct uvzk__reply *);

#endif
