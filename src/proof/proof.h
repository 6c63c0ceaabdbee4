/* What the answers of the ensemble prove about our session: until when nobody
 * else can have been given what it owns. Pure: no clock, no I/O.
 *
 * The rule. A leader ends a session T after it last heard of it, never earlier.
 * It hears of a session attached to a follower only with the follower's answer
 * to its ping, twice a tick. So when a request of ours that was sent at S has
 * been committed by a quorum, the follower was with the leader at S or later, a
 * ping had been answered at S - k/2 or later (k = the tick), and that ping told
 * the leader of every request the follower had received by then, among them any
 * that we had an answer to by S - k/2. Let A be the moment the latest of those
 * was sent. The leader last heard of us at A or later, hence
 *
 *     valid until = A + T - r T          (r = 1 %: the clocks' rates differ)
 *
 * With g the time from A to S - k/2 this is S + T - k/2 - g. A session that is
 * younger than that cannot have been heard of before it was opened: the moment
 * of open() stands in for A. */
#ifndef UVZK_PROOF_H
#define UVZK_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

#define UVZK__PROOF_CONTACTS 32

struct uvzk__contact {
    uint64_t sent_ms;
    uint64_t answered_ms;
};

struct uvzk__proof {
    uint32_t mode;       /* uvzk_proof_t */
    uint32_t tick_ms;    /* k */
    uint32_t timeout_ms; /* T as negotiated; 0: no session */
    uint64_t floor_ms;   /* the session is not older than this */
    uint64_t proved_ms;  /* S: when the latest committed request was sent */
    uint64_t valid_until;
    /* Answered requests, oldest first, thinned to some eight a half tick. */
    struct uvzk__contact contacts[UVZK__PROOF_CONTACTS];
    uint32_t contact_count;
};

/* uvzk_proof_t */
static inline uint32_t uvzk__proof_mode(const struct uvzk__proof *proof)
{
    return proof->mode;
}

static inline uint32_t uvzk__proof_tick(const struct uvzk__proof *proof)
{
    return proof->tick_ms;
}

/* When the latest committed request was sent. */
static inline uint64_t uvzk__proof_proved_at(const struct uvzk__proof *proof)
{
    return proof->proved_ms;
}

static inline uint64_t uvzk__proof_valid_until(const struct uvzk__proof *proof)
{
    return proof->valid_until;
}

void uvzk__proof_init(struct uvzk__proof *, uint32_t mode, uint32_t tick_ms);

/* A session is established or in reach again. fresh: it is a new one, which was
 * opened at opened_ms or later. */
void uvzk__proof_connected(struct uvzk__proof *, uint32_t timeout_ms, bool fresh,
                           uint64_t opened_ms);

/* The connection is lost. Only UVZK_PROOF_NONE cares: Curator's rule, T from
 * the moment it was noticed. */
void uvzk__proof_suspended(struct uvzk__proof *, uint64_t now_ms);

/* The session is gone: nothing is valid. */
void uvzk__proof_ended(struct uvzk__proof *);

/* A request was answered by the server. committed: a quorum agreed to it, or
 * what the mode takes for that. */
void uvzk__proof_answered(struct uvzk__proof *, uint64_t sent_ms, uint64_t now_ms,
                          bool committed);

/* Whether something may be granted at now_ms: valid, and with enough time left
 * (T/8) for the next proof to arrive, where the tick allows that much. */
bool uvzk__proof_grants(const struct uvzk__proof *, uint64_t now_ms);

/* ms between two requests that keep the proof fresh: T/6, at least 1. */
uint32_t uvzk__proof_period(const struct uvzk__proof *);

/* ms until an unsuccessful proof is worth repeating: a quarter tick, and no more
 * than the period. */
uint32_t uvzk__proof_retry(const struct uvzk__proof *);

/* Whether T leaves any time at all beside the tick: if not, nothing can ever be
 * granted in this mode. */
bool uvzk__proof_possible(const struct uvzk__proof *);

#endif
