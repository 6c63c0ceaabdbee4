/* SPDX-License-Identifier: Apache-2.0 */
/* What the replies of the ensemble prove about a session: until when the servers cannot
 * have expired it, so that no other client can have been granted what it holds. Pure: no
 * clock, no I/O. prover.c passes in the events and the times.
 *
 * The rule. A leader expires a session T after it last heard of the session, never
 * earlier. The leader hears of a session at a follower in two ways: by the follower's
 * answers to the leader's pings, which the leader sends twice a tick (k), and by the
 * connect request with which the session came to that follower.
 *
 *   client    --X--+   +--W--+    +--V--+       X, W, V: requests, in this order
 *   follower ------+-x-+-----+-p--+-----+--     V: a quorum accepted it
 *   leader   -------p--w-----+----v-----+       W: the leader handled it (write, sync)
 *
 * x: the follower answered X. p: the leader queued a ping; the follower answered it. w
 * and v: the leader handled W and V.
 *
 * Messages from the leader to a follower arrive in order, and so do messages from a
 * follower to the leader. S(W) is the time at which the client sent W. The proof has
 * these steps:
 *
 *  1 The leader handled W at the time w. It had queued a ping for the follower at w - k/2
 *    or later. So the follower received that ping before the answer to W.
 *  2 The follower answered the ping before it passed on the answer to W, however late the
 *    ping was. The answer to the ping named every session that the follower had heard of
 *    by then. So it named this session, if X had been answered at S(W) - k/2 or before.
 *  3 The client sent V after it had received the answer to W. So V reached the leader
 *    after the follower's answer to the ping.
 *  4 When V is answered, the leader has therefore heard of the session at A or later. A
 *    is the time at which the client sent the latest such X.
 *
 *     valid until = A + T - r T          (r = 1 %: the clocks' rates differ)
 *
 * The floor. A connect touches the session at the leader by itself, and V reaches the
 * leader after the connect. So when V is answered, the leader has also heard of
 * everything that was answered on the connections before, and of the opening of the
 * session. The time at which the latest of these requests was sent is the floor: A is
 * never earlier.
 *
 * T is the session timeout that the servers have granted. Each connect grants it again,
 * and a server with other limits may grant a shorter T'. The leader then expires the
 * session T' after that connect, so a validity that reached further is cut. The shorter
 * timeout may also come back later: a follower that the client has left may touch the
 * session once more, with its own T, when its answer to a ping is late; and a new leader
 * begins with the T of the session's creation. So the T of the rule is the smallest
 * timeout that any server has granted to the session, until the session ends. If all
 * servers have the same limits, every T is the same. A smaller T counts as soon as any
 * thread of the process knows it, even if the loop does not know it yet
 * (uvzk__proof_valid_until_given).
 *
 * docs/promise.md lists the assumptions on which this rests, and
 * docs/decisions/ownership.md says which of them the proof needs. */
#ifndef UVZK_PROOF_H
#define UVZK_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

#define UVZK__PROOF_RECORDS 64

/* Which servers have taken part in an answer. */
enum uvzk__ack_level {
    UVZK__ACK_SERVER, /* the server to which the session is connected */
    UVZK__ACK_LEADER, /* also the leader of that server */
    UVZK__ACK_QUORUM  /* also a quorum, or what the mode accepts in its place */
};

/* An event at moment_ms that was known from known_ms on. Both times increase from one
 * record to the next. */
struct uvzk__record {
    uint64_t moment_ms;
    uint64_t known_ms;
};

/* Records, the oldest first. They are k/16 apart or more. When the array is full, older
 * records are thinned by their age, so that the records reach T back. */
struct uvzk__records {
    struct uvzk__record each[UVZK__PROOF_RECORDS];
    uint32_t count; /* the entries of `each` that are in use */
};

struct uvzk__proof {
    uint32_t mode;        /* uvzk_proof_t */
    uint32_t tick_ms;     /* k */
    uint32_t timeout_ms;  /* T: the smallest one granted to this session; 0: no session */
    bool suspended;       /* the connection is lost */
    uint64_t floor_ms;    /* the leader has heard of the session at this time or later */
    uint64_t proved_ms;   /* S(V): when the latest committed request was sent; 0: none */
    uint64_t valid_until; /* 0: never valid; UINT64_MAX: UVZK_PROOF_NONE, connected */
    /* The requests on this connection, X of the rule: moment_ms is when a request was
     * sent, known_ms when it was answered. */
    struct uvzk__records contacts;
    /* What answers to pings have reported to the leader. moment_ms: when an X was sent.
     * known_ms: when W was answered. A request that is sent later reaches the leader
     * after the answer to the ping. */
    struct uvzk__records reports;
};

/* Returns until when the loop knows that the session lives, if a server has granted this
 * timeout at a connect that has not been passed to uvzk__proof_connected yet. 0: no
 * timeout has been granted.
 * uvzk__proof_shortened computes it for a timeout that is less than T. */
uint64_t uvzk__proof_shortened(const struct uvzk__proof *, uint32_t timeout_ms);
static inline uint64_t uvzk__proof_valid_until_given(const struct uvzk__proof *proof,
                                                     uint32_t timeout_ms)
{
    return timeout_ms >= proof->timeout_ms || timeout_ms == 0
               ? proof->valid_until
               : uvzk__proof_shortened(proof, timeout_ms);
}

/* mode: uvzk_proof_t. tick_ms: the servers' tickTime. */
void uvzk__proof_init(struct uvzk__proof *, uint32_t mode, uint32_t tick_ms);

/* A session is established or connected again. timeout_ms: as granted at this connect.
 * fresh: it is a new session, which was opened at opened_ms or later. */
void uvzk__proof_connected(struct uvzk__proof *, uint32_t timeout_ms, bool fresh,
                           uint64_t opened_ms);

/* The connection is lost. With UVZK_PROOF_NONE the session is then valid for T from
 * now_ms on, as in Curator. */
void uvzk__proof_suspended(struct uvzk__proof *, uint64_t now_ms);

/* The session has ended: from now on nothing is valid. */
void uvzk__proof_ended(struct uvzk__proof *);

/* A request that was sent at sent_ms has been answered. Replies are passed in the order
 * of their requests. */
void uvzk__proof_answered(struct uvzk__proof *, uint64_t sent_ms, uint64_t now_ms,
                          enum uvzk__ack_level);

/* Returns true if a contender may be granted at now_ms: the session is valid for T/8 or
 * longer, so that the next proof can arrive in time. If T is less than two ticks, 1 ms is
 * enough. */
bool uvzk__proof_grants(const struct uvzk__proof *, uint64_t now_ms);

/* Returns the time in ms between two requests that keep the proof fresh: T/6, at least
 * 1. */
uint32_t uvzk__proof_period(const struct uvzk__proof *);

/* Returns the time in ms after which an unsuccessful proof is repeated: a quarter of a
 * tick, at most the period, at least 1. */
uint32_t uvzk__proof_retry(const struct uvzk__proof *);

/* Returns true if T is long enough for the tick: longer than half a tick, two periods and
 * 1 % of T together. If it is not, nothing can be granted in this mode. Always true with
 * UVZK_PROOF_NONE. */
bool uvzk__proof_possible(const struct uvzk__proof *);

#endif
