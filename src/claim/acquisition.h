/* What the user has been told of one acquire. A machine of its own, so that
 * granted, lost and released can never come twice or out of order.
 *
 *   ASKED ---> GRANTING ---> GRANTED ---> RELEASING ---> RELEASED -.
 *     |  ^       |   |  told     |                           ^       \
 *     |  +-------+   |           +-------> LOSING -----------+        > FINAL
 *     |  proof ran   |                     | |  released before told /
 *     |  out before  v                     | +----------------------'
 *     +---------> REFUSED ------------------------------------------'
 *
 * GRANTING, LOSING, RELEASED and REFUSED wait on the client's list of tellings
 * for the end of a turn; the callback is their way out. FINAL: freed. */
#ifndef UVZK_ACQUISITION_H
#define UVZK_ACQUISITION_H

#include "base/machine.h"
#include "claim/claim.h"

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
    uvzk_hold_t *shell;
    struct uvzk__claim *claim; /* NULL once it has nothing to do with it */
    struct uvzk__lock *lock;
    struct uvzk__link in_claim; /* on claim->acquisitions */
    struct uvzk__notification notification;
    union {
        uvzk_hold_acquire_cb acquire_cb;
        uvzk_hold_lost_cb losing_cb;     /* GRANTED, if it is overheard */
        uvzk_hold_release_cb release_cb; /* RELEASING, RELEASED */
    };
    uvzk_hold_lost_cb lost_cb;
    uint64_t since_ms : 40;    /* observer.h's; 0: nobody observes the client */
    int32_t status : 16;       /* of the FINAL callback */
    uint8_t state : 4;         /* enum uvzk__acquisition_state */
    bool is_limited : 1;       /* it waits for so long, or does not wait, acquisition.c */
    bool revocable : 1;        /* it is told when somebody asks for it */
    bool wants_place : 1;      /* it is told its place in the queue, acquisition.c */
    bool loss_intercepted : 1; /* its loss, at once */
};

/* A new one, in ASKED, not yet attached to anything: uvzk__free() undoes it. NULL
 * when out of memory. */
struct uvzk__acquisition *uvzk__acquisition_new(struct uvzk__lock *, uvzk_hold_t *shell,
                                                const uvzk_acquire_options_t *,
                                                uvzk_hold_acquire_cb, uvzk_hold_lost_cb);

/* It begins: from here on the shell is ours until FINAL. claim may be NULL for one
 * that is ended at once. */
void uvzk__acquisition_start(struct uvzk__acquisition *, struct uvzk__claim *,
                             int64_t timeout_ms);

/* The claim holds the lock. */
void uvzk__acquisition_grant(struct uvzk__acquisition *);
/* It does not, after all: GRANTING goes back to ASKED, other states stay. */
void uvzk__acquisition_ungrant(struct uvzk__acquisition *);
/* It does not hold it, or no longer: REFUSED if the grant has not been told,
 * LOSING if it has; RELEASING goes on. */
void uvzk__acquisition_end(struct uvzk__acquisition *, int reason);
/* The same for one of perhaps several; the last one ends the claim. */
void uvzk__acquisition_end_alone(struct uvzk__acquisition *, int reason);
/* What became of the nodes of a RELEASING one. */
void uvzk__acquisition_released(struct uvzk__acquisition *, int status);
/* Somebody asks for it. */
void uvzk__acquisition_revoked(struct uvzk__acquisition *);
/* Its place in the queue is known. */
void uvzk__acquisition_queued(struct uvzk__acquisition *, uint64_t ahead);

/* Whether it has neither been told of a grant nor ended. */
static inline bool
uvzk__acquisition_is_pending(const struct uvzk__acquisition *acquisition)
{
    return acquisition->state == UVZK__ACQUISITION_ASKED ||
           acquisition->state == UVZK__ACQUISITION_GRANTING;
}

/* It was tried once, in vain: somebody is before it. */
void uvzk__acquisition_try_failed(struct uvzk__acquisition *);

/* It was to be tried once, and has not had its answer; the one behind a link on
 * session->claims->try_once. */
bool uvzk__acquisition_is_try_once(const struct uvzk__acquisition *);
struct uvzk__acquisition *uvzk__acquisition_of_try(struct uvzk__link *);

/* The end of its patience; NULL: it is tried once, or waits for ever. */
struct uvzk__timer *uvzk__acquisition_deadline(const struct uvzk__acquisition *);

/* The client of one that is pending or held; of any other NULL. */
struct uvzk__session *uvzk__hold_session(const uvzk_hold_t *hold);

/* cb takes the place of the callback with which a release was begun that has not been told
 * yet; returns that one. NULL: there is no such release. */
uvzk_hold_release_cb uvzk__hold_intercept_release(const uvzk_hold_t *hold,
                                                  uvzk_hold_release_cb cb);

/* Of a hold that is being told of its grant: losing is called when it is lost, at once; its
 * lost callback is told as ever. */
void uvzk__hold_intercept_loss(const uvzk_hold_t *hold, uvzk_hold_lost_cb losing);

/* The claim of a hold that the user has been told of and that has neither
 * been released nor lost, the clock not looked at; else NULL. */
struct uvzk__claim *uvzk__hold_of(const uvzk_hold_t *hold);

#endif
