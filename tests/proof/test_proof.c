/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "proof/proof.h"
#include "seeded.h"

#define K 2000U
#define T 10000U

static struct uvzk__proof proof_of(uint32_t mode, uint64_t opened_ms)
{
    struct uvzk__proof proof;

    uvzk__proof_init(&proof, mode, K);
    uvzk__proof_connected(&proof, T, true, opened_ms);
    return proof;
}

#define READ UVZK__ACK_SERVER
#define SYNC UVZK__ACK_LEADER
#define WRITE UVZK__ACK_QUORUM

/* And then it is valid until that. */
static void answered(struct uvzk__proof *proof, uint64_t sent_ms, uint64_t answered_ms,
                     enum uvzk__ack_level ack, uint64_t valid_until)
{
    uvzk__proof_answered(proof, sent_ms, answered_ms, ack);
    assert_int_equal(proof->valid_until, valid_until);
}

/* The connection was lost, and the session has this timeout from now on. */
static void came_back(struct uvzk__proof *proof, uint64_t suspended_ms,
                      uint32_t timeout_ms, uint64_t valid_until)
{
    uvzk__proof_suspended(proof, suspended_ms);
    uvzk__proof_connected(proof, timeout_ms, false, 0);
    assert_int_equal(proof->valid_until, valid_until);
}

/* ------------------------------------------------------------------ the rule */

static void nothing_is_valid_before_something_was_proved(void **state)
{
    struct uvzk__proof proof;

    (void)state;
    uvzk__proof_init(&proof, UVZK_PROOF_QUORUM, K);
    assert_int_equal(proof.valid_until, 0);
    answered(&proof, 100, 110, WRITE, 0); /* of a session we do not know */
    uvzk__proof_connected(&proof, T, true, 50000);
    answered(&proof, 50100, 50110, READ, 0);
    answered(&proof, 50120, 50130, SYNC, 0);
    assert_false(uvzk__proof_grants(&proof, 50130));
}

static void the_moment_of_open_stands_in_for_what_was_heard(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    answered(&proof, 50300, 50310, WRITE, 50000 + 9900);
    answered(&proof, 52000, 52010, WRITE, 50000 + 9900); /* 50310 + 1000 <= 52000 */
    answered(&proof, 52010, 52020, WRITE, 50000 + 9900); /* perhaps before that answer */
    answered(&proof, 52011, 52020, WRITE, 50300 + 9900);
}

/* A = what was answered half a tick before the one before was sent, and not a ms later. */
static void a_request_counts_half_a_tick_after_its_answer(void **state)
{
    struct uvzk__proof early = proof_of(UVZK_PROOF_QUORUM, 50000), exact = early;

    (void)state;
    uvzk__proof_answered(&early, 60000, 60030, READ);
    uvzk__proof_answered(&early, 60000 + 30 + 999, 61100, WRITE);
    answered(&early, 61101, 61130, WRITE, 50000 + 9900);
    uvzk__proof_answered(&exact, 60000, 60030, READ);
    uvzk__proof_answered(&exact, 60000 + 30 + 1000, 61100, WRITE);
    answered(&exact, 61101, 61130, WRITE, 60000 + 9900);
}

/* The ping that tells of it may be late: it is answered before the answer to a request that
 * the leader has seen, and what is sent behind that has passed the leader behind it. */
static void what_is_proved_was_sent_behind_an_answer_of_the_leader(void **state)
{
    struct uvzk__proof late = proof_of(UVZK_PROOF_QUORUM, 50000), exact = late;

    (void)state;
    uvzk__proof_answered(&late, 60000, 60030, READ);
    uvzk__proof_answered(&late, 61030, 64000, SYNC);
    answered(&late, 64000, 64010, WRITE,
             50000 + 9900); /* that may have gone ahead of it */
    uvzk__proof_answered(&exact, 60000, 60030, READ);
    uvzk__proof_answered(&exact, 61030, 64000, SYNC);
    answered(&exact, 64001, 64010, WRITE, 60000 + 9900);
}

static void a_read_shows_nothing_of_the_leader(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    uvzk__proof_answered(&proof, 60000, 60030, READ);
    uvzk__proof_answered(&proof, 61030, 61040, READ);
    answered(&proof, 61041, 61050, WRITE, 50000 + 9900);
}

static void validity_never_goes_back(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    uvzk__proof_answered(&proof, 60000, 60010, READ);
    uvzk__proof_answered(&proof, 61500, 61510, SYNC);
    answered(&proof, 62000, 62010, WRITE, 69900);
    answered(&proof, 59000, 62020, WRITE, 69900); /* sent before, answered after */
    assert_int_equal(proof.proved_ms, 62000);
    uvzk__proof_connected(&proof, T, false, 62030); /* once more: the same connection */
    assert_int_equal(proof.valid_until, 69900);
    uvzk__proof_suspended(&proof, 62040);
    assert_int_equal(proof.valid_until, 69900);
    uvzk__proof_connected(&proof, T, false, 62050); /* in reach again: the same session */
    assert_int_equal(proof.valid_until, 69900);
    for (uint64_t sent = 62100; sent < 69000; sent += K / 16) {
        uvzk__proof_answered(&proof, sent, sent + 10, READ);
    }
    answered(&proof, 62050, 69000, WRITE, 71900); /* the connect was sent after 62000 */
}

/* ---------------------------------------------------- limits that are not alike */

/* The connect has touched the session with less, and may have been sent as early as the
 * last request that was answered on the connection before. */
static void a_shorter_session_ends_what_was_valid(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    answered(&proof, 50100, 50110, WRITE, 59900);
    uvzk__proof_answered(&proof, 55000, 55010, READ);
    came_back(&proof, 58000, 4000, 55000 + 3960);
    assert_int_equal(uvzk__proof_period(&proof), 4000 / 6);
    answered(&proof, 55600, 55610, WRITE, 55000 + 3960);

    struct uvzk__proof unused = proof_of(UVZK_PROOF_QUORUM, 50000);
    answered(&unused, 50000, 50110, WRITE, 59900);
    came_back(&unused, 58000, 4000, 50000 + 3960);
}

/* Some thread knows of it, and the loop does not. What is told later changes nothing. */
static void a_shorter_session_counts_before_it_is_told(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    assert_int_equal(uvzk__proof_valid_until_given(&proof, 4000), 0);
    answered(&proof, 50100, 50110, WRITE, 59900);
    assert_int_equal(uvzk__proof_valid_until_given(&proof, 4000), 50100 + 3960);
    uvzk__proof_answered(&proof, 55000, 55010, READ);
    assert_int_equal(uvzk__proof_valid_until_given(&proof, 0), 59900);
    assert_int_equal(uvzk__proof_valid_until_given(&proof, T), 59900);
    assert_int_equal(uvzk__proof_valid_until_given(&proof, T + 1), 59900);
    assert_int_equal(uvzk__proof_valid_until_given(&proof, 6000), 59900);
    assert_int_equal(uvzk__proof_valid_until_given(&proof, 4000), 55000 + 3960);
    came_back(&proof, 58000, 4000, 55000 + 3960);
    assert_int_equal(uvzk__proof_valid_until_given(&proof, 4000), 55000 + 3960);

    struct uvzk__proof unproved = proof_of(UVZK_PROOF_NONE, 50000);
    assert_true(uvzk__proof_valid_until_given(&unproved, 4000) == UINT64_MAX);
}

static void a_shorter_session_makes_nothing_valid(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    answered(&proof, 50100, 50110, WRITE, 59900);
    for (uint64_t sent = 51000; sent < 59000; sent += 100) {
        uvzk__proof_answered(&proof, sent, sent + 10, READ);
    }
    came_back(&proof, 59000, 4000, 59900); /* 58900 + 3960 is more */
}

/* What the server before it still has to tell ends the session by its own measure, and so
 * may a new leader. */
static void a_longer_session_is_valid_as_the_shortest(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    answered(&proof, 50100, 50110, WRITE, 59900);
    came_back(&proof, 50120, 20000, 59900);
    answered(&proof, 51000, 51010, WRITE, 50100 + 9900);
    came_back(&proof, 51020, 5000, 51000 + 4950);
    came_back(&proof, 51030, 20000, 51000 + 4950);
    answered(&proof, 52000, 52010, WRITE, 51000 + 4950);
    uvzk__proof_connected(&proof, 20000, true, 53000); /* another session */
    answered(&proof, 53010, 53020, WRITE, 53000 + 19800);
}

/* No connection of ZooKeeper's does that, but nothing is valid by it. */
static void a_shorter_session_without_a_loss(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    answered(&proof, 50100, 50110, WRITE, 59900);
    uvzk__proof_connected(&proof, 4000, false, 0);
    assert_int_equal(proof.valid_until, 53960);
}

static void a_connect_counts_as_the_last_contact_before_it(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    answered(&proof, 50100, 50110, WRITE, 59900);
    uvzk__proof_answered(&proof, 55000, 55010, READ);
    came_back(&proof, 56000, T, 59900);
    answered(&proof, 55900, 56010, READ, 59900); /* on the new one: not before it */
    answered(&proof, 56010, 56020, WRITE, 55000 + 9900);
    uvzk__proof_connected(&proof, T, false, 0); /* told once more */
    answered(&proof, 56030, 56040, WRITE, 55000 + 9900);
}

static void a_fresh_session_has_proved_nothing(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    uvzk__proof_answered(&proof, 60000, 60010, WRITE);
    uvzk__proof_answered(&proof, 62000, 62010, WRITE);
    uvzk__proof_ended(&proof);
    assert_int_equal(proof.valid_until, 0);
    assert_false(uvzk__proof_grants(&proof, 62010));
    answered(&proof, 64000, 64010, WRITE, 0); /* a late one, of the session gone */
    uvzk__proof_connected(&proof, T, true, 65000);
    assert_int_equal(proof.valid_until, 0);
    answered(&proof, 65100, 65110, WRITE,
             65000 + 9900); /* 62000 is the other session's */

    /* Another session without a word of the former one's end. */
    uvzk__proof_answered(&proof, 70000, 70010, WRITE);
    uvzk__proof_answered(&proof, 72000, 72010, WRITE);
    uvzk__proof_connected(&proof, T, true, 65000);
    assert_int_equal(proof.valid_until, 0);
    assert_int_equal(proof.proved_ms, 0);
    answered(&proof, 72100, 72110, WRITE, 65000 + 9900);
}

static void a_sync_counts_like_a_proof_where_the_mode_says_so(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_SYNC, 50000);

    (void)state;
    answered(&proof, 50100, 50110, READ, 0);
    answered(&proof, 51110, 51120, WRITE, 50000 + 9900);
    answered(&proof, 51121, 51130, WRITE, 50100 + 9900);
}

static void without_proofs_connected_means_owned(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_NONE, 50000);

    (void)state;
    assert_true(proof.valid_until == UINT64_MAX);
    assert_true(uvzk__proof_grants(&proof, 50001));
    uvzk__proof_answered(&proof, 50100, 50110, WRITE);
    assert_true(proof.valid_until == UINT64_MAX);
    uvzk__proof_suspended(&proof, 60000);
    assert_int_equal(proof.valid_until, 60000 + T); /* Curator's rule */
    uvzk__proof_suspended(&proof, 63000);
    assert_int_equal(proof.valid_until, 60000 + T);
    answered(&proof, 59000, 63001, WRITE, 60000 + T);
    uvzk__proof_connected(&proof, T, false, 50000);
    assert_true(proof.valid_until == UINT64_MAX);
    uvzk__proof_ended(&proof);
    assert_int_equal(proof.valid_until, 0);
    assert_false(uvzk__proof_grants(&proof, 64000));
    uvzk__proof_suspended(&proof, 64000); /* nothing is left to count down */
    assert_int_equal(proof.valid_until, 0);
}

/* ------------------------------------------------------- margins and periods */

static void a_grant_needs_time_for_the_next_proof(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    answered(&proof, 50100, 50110, WRITE, 59900);
    assert_true(uvzk__proof_grants(&proof, 59900 - T / 8));
    assert_false(uvzk__proof_grants(&proof, 59900 - T / 8 + 1));
    assert_false(uvzk__proof_grants(&proof, 59900));
    assert_false(uvzk__proof_grants(&proof, 70000));

    /* Less than two ticks: the margin would eat it all up. */
    uvzk__proof_connected(&proof, 2 * K, true, 80000);
    answered(&proof, 80100, 80110, WRITE, 80000 + 3960);
    assert_false(uvzk__proof_grants(&proof, 83960 - 499));
    uvzk__proof_connected(&proof, 2 * K - 1, true, 80000);
    answered(&proof, 80100, 80110, WRITE, 80000 + 3999 - 40);
    assert_true(uvzk__proof_grants(&proof, 83959 - 1));
    assert_false(uvzk__proof_grants(&proof, 83959));
}

static void the_period_is_a_sixth(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 0);

    (void)state;
    assert_int_equal(uvzk__proof_period(&proof), 1666);
    proof.timeout_ms = 5;
    assert_int_equal(uvzk__proof_period(&proof), 1);
    proof.timeout_ms = 0; /* no session: still no busy loop */
    assert_int_equal(uvzk__proof_period(&proof), 1);
}

static void a_failed_proof_is_repeated_after_a_quarter_tick(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 0);

    (void)state;
    assert_int_equal(uvzk__proof_retry(&proof), 500);
    proof.timeout_ms = 600;
    assert_int_equal(uvzk__proof_retry(&proof), 100); /* no later than the next one */
    proof.timeout_ms = 10000;
    proof.tick_ms = 3;
    assert_int_equal(uvzk__proof_retry(&proof), 1);
}

static void too_short_a_session_can_prove_nothing(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 0);

    (void)state;
    assert_true(uvzk__proof_possible(&proof));
    proof.timeout_ms = 1520; /* 1000 + 506 + 15 = 1521 */
    assert_false(uvzk__proof_possible(&proof));
    proof.timeout_ms = 1524; /* 1000 + 508 + 15 = 1523 */
    assert_true(uvzk__proof_possible(&proof));
    proof.timeout_ms = 1000;
    assert_false(uvzk__proof_possible(&proof));
    proof.mode = UVZK_PROOF_NONE; /* it does not ask */
    assert_true(uvzk__proof_possible(&proof));
}

/* ---------------------------------------- against a leader and its followers
 *
 * The naive model. The leader hears of a session when it is opened, when it is moved to
 * another follower, and else only by the answers to its pings: with each, the follower
 * names the sessions it has heard from since the last one, and their timeouts, and forgets
 * them. Two pings leave the leader at most half a tick apart, and what the leader says may
 * come late to the follower, but in order. What a follower has not named dies with it, or
 * comes to the leader late. A commit shows that the follower is with the leader when it
 * passes the request on, but nobody says for how long after that. The leader ends the
 * session T after it last heard of it, by a clock that may be one part in a hundred fast;
 * T is what came with the last that it heard. */

#define ASKS 400
#define MOVES 4
#define STALLS 6

struct ask {
    uint64_t sent, arrives, answered;
    enum uvzk__ack_level ack;
};

struct move {
    size_t before; /* this request */
    uint64_t at, ends_at;
    uint32_t timeout;
};

struct ensemble {
    struct seeded *random;
    uint32_t tick, timeout;
    struct {
        uint64_t from, until;
    } stalls[STALLS];  /* when nothing of the leader's comes to the follower */
    uint64_t ping;     /* when the next one leaves the leader */
    bool touched;      /* by the session, not named yet */
    uint64_t ends_at;  /* the session, by what the leader knows */
    uint64_t stale_at; /* a follower that was left names it then; 0: none does */
    uint32_t stale_timeout;
    struct ask asks[ASKS];
    uint64_t ends_when_passed_on[ASKS];
    size_t ask_count;
    struct move moves[MOVES];
    size_t move_count;
};

static uint64_t up_to(struct ensemble *ensemble, uint32_t most)
{
    return seeded_below(ensemble->random, most + 1);
}

/* When it comes to the follower. */
static uint64_t told_at(const struct ensemble *ensemble, uint64_t said_at)
{
    for (size_t i = 0; i < STALLS; i++) {
        if (said_at >= ensemble->stalls[i].from && said_at < ensemble->stalls[i].until) {
            return ensemble->stalls[i].until;
        }
    }
    return said_at;
}

/* So long after the leader has heard of it, in our ms, begun ones counting: its clock is
 * the faster. */
static uint64_t lasts(uint32_t timeout)
{
    return ((uint64_t)timeout * 100 + 100) / 101;
}

static void stale_until(struct ensemble *ensemble, uint64_t moment)
{
    if (ensemble->stale_at != 0 && ensemble->stale_at <= moment) {
        ensemble->ends_at = ensemble->stale_at + lasts(ensemble->stale_timeout);
        ensemble->stale_at = 0;
    }
}

static void pings_until(struct ensemble *ensemble, uint64_t moment)
{
    uint64_t at;

    while ((at = told_at(ensemble, ensemble->ping)) <= moment) {
        stale_until(ensemble, at);
        if (ensemble->touched) {
            ensemble->ends_at = at + lasts(ensemble->timeout);
            ensemble->touched = false;
        }
        /* Mostly as late as allowed: that is the worst. */
        ensemble->ping += up_to(ensemble, 3) == 0
                              ? 1 + up_to(ensemble, ensemble->tick / 2 - 1)
                              : ensemble->tick / 2;
    }
    stale_until(ensemble, moment);
}

static uint64_t latest_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void write_stalls(struct ensemble *ensemble, uint64_t begin)
{
    uint64_t at = begin;

    for (size_t i = 0; i < STALLS; i++) {
        at += up_to(ensemble, 4 * ensemble->timeout);
        ensemble->stalls[i].from = at;
        at += up_to(ensemble,
                    up_to(ensemble, 1) == 0 ? 2 * ensemble->tick : ensemble->tick / 10);
        ensemble->stalls[i].until = at;
    }
}

/* Requests come in swarms and after silences; they arrive, and are answered, in
 * the order in which they were sent. */
static void write_requests(struct ensemble *ensemble, uint64_t begin)
{
    uint32_t slowest = ensemble->tick / (uint32_t)(1 + up_to(ensemble, 20));
    uint32_t rarest = ensemble->timeout / (uint32_t)(1 + up_to(ensemble, 12));
    uint64_t arrived = 0, answered = 0, sent = begin;

    for (size_t i = 0; i < ASKS; i++) {
        struct ask *ask = &ensemble->asks[i];
        sent += up_to(ensemble, up_to(ensemble, 2) == 0 ? rarest : ensemble->tick / 20);
        ask->sent = sent;
        ask->arrives = latest_of(sent + up_to(ensemble, slowest), arrived);
        uint64_t kind = up_to(ensemble, 7);
        ask->ack = kind < 2 ? WRITE : kind == 2 ? SYNC : READ;
        uint64_t decided =
            ask->ack == READ ? ask->arrives : told_at(ensemble, ask->arrives);
        ask->answered = latest_of(decided + up_to(ensemble, slowest), answered);
        arrived = ask->arrives;
        answered = ask->answered;
    }
    ensemble->ask_count = ASKS;
}

/* The session goes over to another follower, which allows another T perhaps. */
static void move_to_another(struct ensemble *ensemble, uint64_t at, size_t before)
{
    uint32_t before_timeout = ensemble->timeout;

    pings_until(ensemble, at);
    if (ensemble->touched && ensemble->stale_at == 0 && up_to(ensemble, 1) == 0) {
        ensemble->stale_at = at + 1 + up_to(ensemble, 2 * ensemble->tick);
        ensemble->stale_timeout = before_timeout;
    }
    ensemble->touched = false;
    if (up_to(ensemble, 1) == 0) {
        ensemble->timeout = ensemble->tick * (uint32_t)(2 + up_to(ensemble, 18));
    }
    ensemble->ends_at = at + lasts(ensemble->timeout);
    ensemble->ping = at + up_to(ensemble, ensemble->tick / 2);
    ensemble->moves[ensemble->move_count++] = (struct move){
        .before = before, .at = at, .ends_at = ensemble->ends_at, ensemble->timeout};
}

/* As the leader ends it if it hears no more than what is on its way. */
static uint64_t end_of(const struct ensemble *ensemble)
{
    uint64_t stale = ensemble->stale_at + lasts(ensemble->stale_timeout);

    return ensemble->stale_at != 0 && stale < ensemble->ends_at ? stale
                                                                : ensemble->ends_at;
}

static bool may_move(const struct ensemble *ensemble, size_t before)
{
    size_t count = ensemble->move_count;

    return count < MOVES && (count == 0 || ensemble->moves[count - 1].before < before);
}

/* What the leader knows at each moment a request is passed on to it. The session moves now
 * and then; what is on its way just then has never been sent. */
static void let_it_happen(struct ensemble *ensemble, uint64_t begin)
{
    size_t kept = 0;

    ensemble->ends_at = begin + lasts(ensemble->timeout);
    ensemble->ping = begin + up_to(ensemble, ensemble->tick / 2);
    for (size_t i = 0; i < ensemble->ask_count; i++) {
        struct ask ask = ensemble->asks[i];
        size_t left = kept;
        while (left > 0 && ensemble->asks[left - 1].answered > ask.sent) {
            left--;
        }
        if (may_move(ensemble, left) && up_to(ensemble, 60) == 0) {
            kept = left;
            move_to_another(ensemble, ask.sent, kept);
        }
        pings_until(ensemble, ask.arrives);
        ensemble->touched = true;
        ensemble->asks[kept] = ask;
        ensemble->ends_when_passed_on[kept++] = end_of(ensemble);
    }
    ensemble->ask_count = kept;
}

/* The rule once more, without forgetting anything: of the requests from `first` on, which
 * is the first on its connection. */
static uint64_t best_claim(const struct ensemble *ensemble, size_t first, size_t answered,
                           uint64_t floor, uint32_t timeout)
{
    uint64_t proved = 0, passed = 0, heard = floor;

    for (size_t i = first; i < answered; i++) {
        if (ensemble->asks[i].ack == WRITE) {
            proved = ensemble->asks[i].sent;
        }
    }
    for (size_t i = first; i < answered; i++) {
        if (ensemble->asks[i].ack != READ && ensemble->asks[i].answered < proved) {
            passed = ensemble->asks[i].sent;
        }
    }
    for (size_t i = first; i < answered; i++) {
        if (ensemble->asks[i].answered + ensemble->tick / 2 <= passed) {
            heard = ensemble->asks[i].sent;
        }
    }
    return proved == 0 ? 0 : heard + timeout - timeout / 100;
}

struct expected {
    uint64_t ends_at; /* by what the leader is known to know */
    uint64_t floor;
    size_t first; /* request on this connection */
    uint32_t timeout;
    uint64_t poor;
};

static void check_end(const struct ensemble *ensemble, const struct uvzk__proof *proof,
                      const struct expected *expected)
{
    if (proof->valid_until > expected->ends_at) {
        fail_msg(
            "valid until %llu, but the session may end at %llu (tick %u, timeout %u)",
            (unsigned long long)proof->valid_until, (unsigned long long)expected->ends_at,
            ensemble->tick, proof->timeout_ms);
    }
}

static void check_move(const struct ensemble *ensemble, struct uvzk__proof *proof,
                       struct expected *expected, const struct move *move)
{
    uvzk__proof_suspended(proof, move->at);
    uvzk__proof_connected(proof, move->timeout, false, 0);
    expected->ends_at = move->ends_at;
    expected->timeout =
        move->timeout < expected->timeout ? move->timeout : expected->timeout;
    if (move->before > expected->first) {
        expected->floor = ensemble->asks[move->before - 1].sent;
    }
    expected->first = move->before;
    check_end(ensemble, proof, expected);
}

static void check_answer(const struct ensemble *ensemble, struct uvzk__proof *proof,
                         struct expected *expected, size_t i)
{
    const struct ask *ask = &ensemble->asks[i];
    uint64_t before = proof->valid_until;

    uvzk__proof_answered(proof, ask->sent, ask->answered, ask->ack);
    if (ask->ack == WRITE) {
        expected->ends_at = ensemble->ends_when_passed_on[i];
    }
    if (proof->valid_until != before) {
        check_end(ensemble, proof, expected);
    }
    assert_true(proof->valid_until >= before);
    /* And it is worth something: forgetting costs little. */
    uint64_t best =
        best_claim(ensemble, expected->first, i + 1, expected->floor, expected->timeout);
    if (ask->ack == WRITE) {
        assert_true(proof->valid_until <= best || proof->valid_until == before);
    }
    if (ask->ack == WRITE && best > before) {
        uint64_t heard = best + expected->timeout / 100 - expected->timeout;
        uint64_t lost = ensemble->tick / 8 + (ask->answered - heard) / 8;
        expected->poor += proof->valid_until + lost < best;
    }
}

static void check_claims(const struct ensemble *ensemble, uint64_t begin,
                         uint32_t timeout, uint64_t *poor)
{
    struct uvzk__proof proof;
    struct expected expected = {.floor = begin, .timeout = timeout};
    size_t moves = 0;

    uvzk__proof_init(&proof, UVZK_PROOF_QUORUM, ensemble->tick);
    uvzk__proof_connected(&proof, timeout, true, begin);
    for (size_t i = 0; i < ensemble->ask_count; i++) {
        while (moves < ensemble->move_count && ensemble->moves[moves].before == i) {
            check_move(ensemble, &proof, &expected, &ensemble->moves[moves++]);
        }
        check_answer(ensemble, &proof, &expected, i);
    }
    *poor += expected.poor;
}

static void nothing_is_claimed_beyond_the_true_expiry(void **state)
{
    static const uint32_t ticks[] = {2000, 200, 3000, 64, 500};
    struct seeded random = seeded_begin();
    uint64_t poor = 0;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        struct ensemble ensemble;
        memset(&ensemble, 0, sizeof(ensemble));
        ensemble.random = &random;
        ensemble.tick = ticks[i % 5];
        uint32_t timeout = ensemble.tick * (2 + seeded_below(&random, 19));
        ensemble.timeout = timeout;
        uint64_t begin = 1000 + seeded_below(&random, 100000);
        write_stalls(&ensemble, begin + 1);
        write_requests(&ensemble, begin + 1);
        let_it_happen(&ensemble, begin);
        check_claims(&ensemble, begin, timeout, &poor);
    }
    assert_int_equal(poor, 0); /* k/8 and an eighth of how long ago it was, at most */
}

/* Requests at the period of the rule, answers within a few ms: the validity
 * reaches as far beyond S as promised, T - k/2 - g with g about two periods. */
static void steady_proofs_keep_a_hold_valid(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 0);
    uint32_t period = uvzk__proof_period(&proof);

    (void)state;
    for (uint64_t sent = 10; sent < 100000; sent += period) {
        uvzk__proof_answered(&proof, sent, sent + 5, WRITE);
        assert_true(proof.valid_until >= sent + T - T / 100 - K / 2 - 2 * period - 5 ||
                    sent < 2 * period);
        assert_true(uvzk__proof_grants(&proof, sent + period));
    }
}

/* Ten thousand answers a second push none of the older ones out of memory. */
static void a_flood_of_answers_does_not_hide_the_old_ones(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 1000);

    (void)state;
    for (uint64_t i = 0; i < 50000; i++) {
        uint64_t sent = 1000 + i / 10;
        uvzk__proof_answered(&proof, sent, sent + 3, i % 100 == 0 ? WRITE : READ);
    }
    assert_true(proof.valid_until <= 5990 - 3 - 3 - 1000 + 9900);
    assert_true(proof.valid_until >= 5990 - 3 - 3 - 10 - 1000 - K / 8 + 9900);
}

/* Twenty reads a second and a proof each period, as far as the last one has been answered,
 * all of which take the round trip: until when it is valid, at the worst moment. */
static int64_t least_validity(uint32_t timeout, uint64_t round_trip, uint64_t reads)
{
    struct uvzk__proof proof;
    int64_t least = INT64_MAX;
    uint64_t next = 0, under_way = 0, proved = 0;

    uvzk__proof_init(&proof, UVZK_PROOF_QUORUM, K);
    uvzk__proof_connected(&proof, timeout, true, 1000);
    for (uint64_t now = 1000 + round_trip; now < 1000 + 20 * (uint64_t)timeout; now++) {
        if (reads > 0 && now % (1000 / reads) == 0) {
            uvzk__proof_answered(&proof, now - round_trip, now, READ);
        }
        if (under_way != 0 && now == under_way + round_trip) {
            int64_t left = (int64_t)proof.valid_until - (int64_t)now;
            least = proof.valid_until > 0 && left < least ? left : least;
            uvzk__proof_answered(&proof, under_way, now, WRITE);
            proved = under_way;
            under_way = 0;
        }
        next = proved + uvzk__proof_period(&proof);
        if (under_way == 0 && now >= next) {
            under_way = now;
        }
    }
    return least;
}

static void round_trips_of_several_ticks_lose_nothing(void **state)
{
    (void)state;
    assert_true(least_validity(60000, 4000, 0) > 20000);
    assert_true(least_validity(60000, 4000, 20) > 20000);
    assert_true(least_validity(60000, 8000, 20) > 10000);
    assert_true(least_validity(60000, 9000, 20) > 15000);
    assert_true(least_validity(60000, 4000, 1000) > 20000);
    assert_true(least_validity(30000, 4000, 20) > 5000);
    assert_true(least_validity(10000, 1500, 20) > 1000);
    assert_true(least_validity(4000, 300, 20) > 500);
    assert_true(least_validity(4000, 5, 20) > 1000);
    assert_true(least_validity(4000, 5, 0) > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_valid_before_something_was_proved),
        cmocka_unit_test(the_moment_of_open_stands_in_for_what_was_heard),
        cmocka_unit_test(a_request_counts_half_a_tick_after_its_answer),
        cmocka_unit_test(what_is_proved_was_sent_behind_an_answer_of_the_leader),
        cmocka_unit_test(a_read_shows_nothing_of_the_leader),
        cmocka_unit_test(validity_never_goes_back),
        cmocka_unit_test(a_shorter_session_ends_what_was_valid),
        cmocka_unit_test(a_shorter_session_counts_before_it_is_told),
        cmocka_unit_test(a_shorter_session_makes_nothing_valid),
        cmocka_unit_test(a_longer_session_is_valid_as_the_shortest),
        cmocka_unit_test(a_shorter_session_without_a_loss),
        cmocka_unit_test(a_connect_counts_as_the_last_contact_before_it),
        cmocka_unit_test(a_fresh_session_has_proved_nothing),
        cmocka_unit_test(a_sync_counts_like_a_proof_where_the_mode_says_so),
        cmocka_unit_test(without_proofs_connected_means_owned),
        cmocka_unit_test(a_grant_needs_time_for_the_next_proof),
        cmocka_unit_test(the_period_is_a_sixth),
        cmocka_unit_test(a_failed_proof_is_repeated_after_a_quarter_tick),
        cmocka_unit_test(too_short_a_session_can_prove_nothing),
        cmocka_unit_test(nothing_is_claimed_beyond_the_true_expiry),
        cmocka_unit_test(steady_proofs_keep_a_hold_valid),
        cmocka_unit_test(a_flood_of_answers_does_not_hide_the_old_ones),
        cmocka_unit_test(round_trips_of_several_ticks_lose_nothing),
    };
    return cmocka_run_group_tests_name("proof", tests, NULL, NULL);
}
