/* The machine of one participant of an election.
 *
 *   IDLE --> QUEUED --> LEADING --> RESIGNING --> RELEASING --> IDLE
 *    | ^       |           |            |
 *    | |<------'           |            |   the acquire is refused
 *    | |<------------------+------------'   the hold is lost: deposed_cb
 *    | |
 *    `-+-> PAUSING --> IDLE                 a temporary refusal: after a pause
 *
 * In IDLE the next step follows at once, unless the user has to request it (a permanent
 * refusal, options.manual_requeue). QUEUED: the acquire is pending. LEADING: the hold is
 * granted. RESIGNING: deposed_cb is due, and the participant still leads. RELEASING:
 * deposed_cb has begun; the hold is released only when it has returned. Every state may
 * go to CLOSING, where the lock is being closed.
 *
 * A participant stops being leader in the move out of LEADING or RESIGNING. That move
 * comes before deposed_cb, and deposed_cb comes before the request that deletes the
 * znode. */
#ifndef UVZK_CANDIDACY_H
#define UVZK_CANDIDACY_H

#include "base/machine.h"
#include "election/election.h"

enum uvzk__candidacy_state {
    UVZK__CANDIDACY_IDLE,      /* next: QUEUED PAUSING CLOSING */
    UVZK__CANDIDACY_QUEUED,    /* next: LEADING IDLE CLOSING */
    UVZK__CANDIDACY_PAUSING,   /* next: IDLE CLOSING */
    UVZK__CANDIDACY_LEADING,   /* next: RESIGNING IDLE CLOSING */
    UVZK__CANDIDACY_RESIGNING, /* next: RELEASING IDLE CLOSING */
    UVZK__CANDIDACY_RELEASING, /* next: IDLE CLOSING */
    UVZK__CANDIDACY_CLOSING    /* final */
};

extern const struct uvzk__machine uvzk__candidacy_machine;

/* ------------------------------------------------------------ for this room alone */

/* Sets the callbacks of a new election, which is IDLE. */
void uvzk__candidacy_init(struct uvzk__election *);

/* Returns true if the participant leads, as far as the machine knows: LEADING or
 * RESIGNING. The hold may be invalid by then (uvzk_hold_is_valid). */
bool uvzk__candidacy_leads(const struct uvzk__election *);

/* In IDLE: queues the participant. Returns what uvzk_lock_acquire returns; after an error
 * the state is still IDLE. */
int uvzk__candidacy_queue(struct uvzk__election *);

/* The user wants it queued again. Returns the same, or UVZK_ESTATE. */
int uvzk__candidacy_requeue(struct uvzk__election *);

/* Returns true if the participant is queued, leads, or will be queued without a call of
 * its user. */
bool uvzk__candidacy_goes_on(const struct uvzk__election *);

/* Gives up the leadership. Returns 0 or UVZK_ENOTHELD. reason: for deposed_cb. */
int uvzk__candidacy_resign(struct uvzk__election *, int reason);

/* Closes the lock: at once, or after deposed_cb if the participant is a leader and must
 * be notified. All waits for the leadership end. */
void uvzk__candidacy_close(struct uvzk__election *, bool notify);

/* Returns true if the close has begun. */
bool uvzk__candidacy_is_closing(const struct uvzk__election *);

/* The client is closing, see uvzk__elections_closing. */
void uvzk__candidacy_client_closing(struct uvzk__election *, int code);

/* The waits for the leadership end with this status. From the loop only. */
void uvzk__candidacy_end_waits(struct uvzk__election *, int status);

#endif
