/* What the answers of the ensemble prove about our session: until when nobody
 * else can have been given what it owns. Pure: no clock, no I/O.
 *
 * The rule. A leader ends a session T after it last heard of it, never earlier. It
 * hears of a session attached to a follower only with the follower's answers to its
 * pings, twice a tick (k), and by the connect that attached it.
 *
 *   ours      ──X──┐   ┌──W──┐    ┌──V──┐       X, W, V: requests, in this order
 *   follower ──────┴─x─┼─────┼─p──┴─────┼──     V: a quorum agreed to it
 *   leader   ───────p──w─────┴────v─────┘       W: the leader saw it (a write, a sync)
 *
 * Whatever a leader tells a follower arrives in order, and so does whatever a follower
 * tells a leader. W passed the leader at w, when a ping of w - k/2 or later had been
 * queued for the follower. It was answered before the answer to W left there, however
 * late it came. That answer to a ping named each session heard of by then; so ours, if
 * X had been answered at S(W) - k/2 or before, S being the moment of sending. V was
 * sent when W had been answered: it passed the leader behind the answer to that ping.
 * So when V has an answer the leader has heard of us at A or later, A being the moment
 * when the latest such X was sent:
 *
 *     valid until = A + T - r T          (r = 1 %: the clocks' rates differ)
 *
 * A connect touches the session by itself, and V passes the leader behind it. Hence
 * all that was answered on the connections before counts as heard of when V has an
 * answer, and so does the session's opening: the floor.
 *
 * T is what the servers have made of the time-out that was asked for, and each connect
 * makes it anew. It ends the session T' after the connect if a T' is less: what was
 * valid until then is so no longer. A follower that was left may touch the session once
 * more, with its own T, whenever its answer to a ping comes through; and a new leader
 * begins with the T of the session's beginning. So the T of the rule is the smallest
 * one that this session has been told of, until it ends. Were all limits alike, it would
 * be T. A smaller one counts from when any thread of ours knows of it, whenever the loop is told.
 *
 * What this stands on is listed in docs/decisions/ownership.md. */
#ifndef UVZK_PROOF_H
#define UVZK_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

#define UVZK__PROOF_RECORDS 64

/* Who has had a hand in an answer. */
enum uvzk__ack_level {
    UVZK__ACK_SERVER, /* the server that we are connected to */
    UVZK__ACK_LEADER, /* and the leader of that one */
    UVZK__ACK_QUORUM  /* and a quorum; or what the mode takes for that */
};

/* What known_ms tells of moment_ms. Both rise from one record to the next. */
struct uvzk__record {
    uint64_t moment_ms;
    uint64_t known_ms;
};

/* Oldest first. Those of the last two ticks are k/16 apart or more, older ones are thinned
 * by their age, so that they reach T back. */
struct uvzk__records {
    struct uvzk__record each[UVZK__PROOF_RECORDS];
    uint32_t count;
};

struct uvzk__proof {
    uint32_t mode;       /* uvzk_proof_t */
    uint32_t tick_ms;    /* k */
    uint32_t timeout_ms; /* T: the smallest negotiated in this session; 0: no session */
    bool suspended;
    uint64_t floor_ms;  /* the leader has heard of the session then or later */
    uint64_t proved_ms; /* when the latest committed request was sent */
    uint64_t valid_until;
    struct uvzk__records contacts; /* requests: sent, answered; on this connection */
    struct uvzk__records reports;  /* a ping's answer has told of what was sent then; and
                                      from when on a request is behind that answer */
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

/* T of the rule; 0: no session. */
static inline uint32_t uvzk__proof_timeout(const struct uvzk__proof *proof)
{
    return proof->timeout_ms;
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

/* The same, where a server may have given the session this timeout (0: none has) at a
 * connect that uvzk__proof_connected has not been told of yet. */
uint64_t uvzk__proof_shortened(const struct uvzk__proof *, uint32_t timeout_ms);
static inline uint64_t uvzk__proof_valid_until_given(const struct uvzk__proof *proof,
                                                     uint32_t timeout_ms)
{
    return timeout_ms >= proof->timeout_ms || timeout_ms == 0
               ? proof->valid_until
               : uvzk__proof_shortened(proof, timeout_ms);
}

void uvzk__proof_init(struct uvzk__proof *, uint32_t mode, uint32_t tick_ms);

/* A session is established or in reach again. fresh: it is a new one, which was
 * opened at opened_ms or later. */
void uvzk__proof_connected(struct uvzk__proof *, uint32_t timeout_ms, bool fresh,
                           uint64_t opened_ms);

/* The connection is lost. UVZK_PROOF_NONE: Curator's rule, T from the moment it was
 * noticed. */
void uvzk__proof_suspended(struct uvzk__proof *, uint64_t now_ms);

/* The session is gone: nothing is valid. */
void uvzk__proof_ended(struct uvzk__proof *);

/* A request was answered. */
void uvzk__proof_answered(struct uvzk__proof *, uint64_t sent_ms, uint64_t now_ms,
                          enum uvzk__ack_level);

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
