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

/* And then it is valid until that. */
static void answered(struct uvzk__proof *proof, uint64_t sent_ms, uint64_t answered_ms,
                     bool proves, uint64_t valid_until)
{
    uvzk__proof_answered(proof, sent_ms, answered_ms, proves);
    assert_int_equal(proof->valid_until, valid_until);
}

/* ------------------------------------------------------------------ the rule */

static void nothing_is_valid_before_something_was_proved(void **state)
{
    struct uvzk__proof proof;

    (void)state;
    uvzk__proof_init(&proof, UVZK_PROOF_QUORUM, K);
    assert_int_equal(proof.valid_until, 0);
    answered(&proof, 100, 110, true, 0); /* of a session we do not know */
    uvzk__proof_connected(&proof, T, true, 50000);
    answered(&proof, 50100, 50110, false, 0);
    assert_false(uvzk__proof_grants(&proof, 50110));
}

static void the_moment_of_open_stands_in_for_what_was_heard(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    answered(&proof, 50300, 50310, true, 50000 + 9900);
    answered(&proof, 52000, 52010, true, 50300 + 9900); /* 50310 + 1000 <= 52000 */
}

/* A = what was answered half a tick before S, and not a ms later. */
static void a_request_counts_half_a_tick_after_its_answer(void **state)
{
    struct uvzk__proof early = proof_of(UVZK_PROOF_QUORUM, 50000), exact = early;

    (void)state;
    uvzk__proof_answered(&early, 60000, 60030, false);
    answered(&early, 60000 + 30 + 999, 61100, true, 50000 + 9900);
    uvzk__proof_answered(&exact, 60000, 60030, false);
    answered(&exact, 60000 + 30 + 1000, 61100, true, 60000 + 9900);
}

static void validity_never_goes_back(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    uvzk__proof_answered(&proof, 60000, 60010, false);
    answered(&proof, 62000, 62010, true, 69900);
    answered(&proof, 59000, 62020, true, 69900); /* sent before, answered after */
    assert_int_equal(proof.proved_ms, 62000);
    uvzk__proof_connected(&proof, T, false, 62030); /* in reach again: the same session */
    assert_int_equal(proof.valid_until, 69900);
    uvzk__proof_suspended(&proof, 62040);
    assert_int_equal(proof.valid_until, 69900);
    for (uint64_t sent = 62100; sent < 69000; sent += K / 16) {
        uvzk__proof_answered(&proof, sent, sent + 10, false); /* these push 60000 out */
    }
    answered(&proof, 62050, 69000, true, 69900);
}

static void a_fresh_session_has_proved_nothing(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 50000);

    (void)state;
    uvzk__proof_answered(&proof, 60000, 60010, true);
    uvzk__proof_answered(&proof, 62000, 62010, true);
    uvzk__proof_ended(&proof);
    assert_int_equal(proof.valid_until, 0);
    assert_false(uvzk__proof_grants(&proof, 62010));
    answered(&proof, 64000, 64010, true, 0); /* a late one, of the session gone */
    uvzk__proof_connected(&proof, T, true, 65000);
    assert_int_equal(proof.valid_until, 0);
    answered(&proof, 65100, 65110, true, 65000 + 9900); /* 62000 is the other session's */

    /* Another session without a word of the former one's end. */
    uvzk__proof_answered(&proof, 70000, 70010, true);
    uvzk__proof_connected(&proof, T, true, 65000);
    assert_int_equal(proof.valid_until, 0);
    assert_int_equal(proof.proved_ms, 0);
    answered(&proof, 72100, 72110, true, 65000 + 9900);
}

static void a_sync_counts_like_a_proof_where_the_mode_says_so(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_SYNC, 50000);

    (void)state;
    answered(&proof, 50100, 50110, false, 0);
    answered(&proof, 51110, 51120, true, 50100 + 9900);
}

static void without_proofs_connected_means_owned(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_NONE, 50000);

    (void)state;
    assert_true(proof.valid_until == UINT64_MAX);
    assert_true(uvzk__proof_grants(&proof, 50001));
    uvzk__proof_answered(&proof, 50100, 50110, true);
    assert_true(proof.valid_until == UINT64_MAX);
    uvzk__proof_suspended(&proof, 60000);
    assert_int_equal(proof.valid_until, 60000 + T); /* Curator's rule */
    uvzk__proof_suspended(&proof, 63000);
    assert_int_equal(proof.valid_until, 60000 + T);
    answered(&proof, 59000, 63001, true, 60000 + T);
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
    answered(&proof, 50100, 50110, true, 59900);
    assert_true(uvzk__proof_grants(&proof, 59900 - T / 8));
    assert_false(uvzk__proof_grants(&proof, 59900 - T / 8 + 1));
    assert_false(uvzk__proof_grants(&proof, 59900));
    assert_false(uvzk__proof_grants(&proof, 70000));

    /* Less than two ticks: the margin would eat it all up. */
    uvzk__proof_connected(&proof, 2 * K, true, 80000);
    answered(&proof, 80100, 80110, true, 80000 + 3960);
    assert_false(uvzk__proof_grants(&proof, 83960 - 499));
    uvzk__proof_connected(&proof, 2 * K - 1, true, 80000);
    answered(&proof, 80100, 80110, true, 80000 + 3999 - 40);
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
    proof.timeout_ms = 1212; /* 1212 = 1000 + 202 + 12 - 2 */
    assert_false(uvzk__proof_possible(&proof));
    proof.timeout_ms = 1216; /* 1000 + 202 + 12 = 1214 */
    assert_true(uvzk__proof_possible(&proof));
    proof.timeout_ms = 1000;
    assert_false(uvzk__proof_possible(&proof));
    proof.mode = UVZK_PROOF_NONE; /* it does not ask */
    assert_true(uvzk__proof_possible(&proof));
}

/* ---------------------------------------- against a leader and its followers
 *
 * The naive model. The leader hears of a session when it is opened, when it is
 * moved to another follower, and else only by the answers to its pings: with
 * each, the follower names the sessions it has heard from since the last one,
 * and forgets them. Two pings are at most half a tick apart. What a follower has
 * not named dies with it. A commit shows that the follower is with the leader
 * when it passes the request on, but nobody says for how long after that. The
 * leader ends the session T after it last heard of it, by a clock that may be
 * one part in a hundred fast. */

#define ASKS 400

struct ask {
    uint64_t sent, arrives, answered;
    bool write;
};

struct ensemble {
    struct seeded *random;
    uint32_t tick, timeout;
    uint64_t ping;            /* the next ping's answer */
    uint64_t touched;         /* by the session, not named yet; 0: not */
    uint64_t heard;           /* by the leader */
    uint64_t heard_at_commit; /* the leader's knowledge at the latest answered commit */
    struct ask asks[ASKS];
    uint64_t heard_when_passed_on[ASKS];
    size_t ask_count, move_count;
};

static uint64_t up_to(struct ensemble *ensemble, uint32_t most)
{
    return seeded_below(ensemble->random, most + 1);
}

static void ping(struct ensemble *ensemble)
{
    if (ensemble->touched != 0) {
        ensemble->heard = ensemble->ping;
        ensemble->touched = 0;
    }
    /* Mostly as late as allowed: that is the worst. */
    ensemble->ping += up_to(ensemble, 3) == 0
                          ? 1 + up_to(ensemble, ensemble->tick / 2 - 1)
                          : ensemble->tick / 2;
}

static void pings_until(struct ensemble *ensemble, uint64_t moment)
{
    while (ensemble->ping <= moment) {
        ping(ensemble);
    }
}

static int by_arrival(const void *left, const void *right)
{
    const struct ask *a = left, *b = right;

    return (a->arrives > b->arrives) - (a->arrives < b->arrives);
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
        ask->arrives = sent + up_to(ensemble, slowest);
        ask->arrives = ask->arrives < arrived ? arrived : ask->arrives;
        ask->answered = ask->arrives + up_to(ensemble, slowest);
        ask->answered = ask->answered < answered ? answered : ask->answered;
        ask->write = up_to(ensemble, 3) == 0;
        arrived = ask->arrives;
        answered = ask->answered;
    }
    ensemble->ask_count = ASKS;
}

/* What the leader knows at each moment a request is passed on to it. The session
 * moves now and then; what the follower left had not named is lost, and what is
 * on its way just then has never been sent. */
static void let_it_happen(struct ensemble *ensemble, uint64_t begin)
{
    size_t kept = 0;

    ensemble->heard = begin;
    ensemble->ping = begin + up_to(ensemble, ensemble->tick / 2);
    qsort(ensemble->asks, ensemble->ask_count, sizeof(struct ask), by_arrival);
    for (size_t i = 0; i < ensemble->ask_count; i++) {
        struct ask ask = ensemble->asks[i];
        if (ensemble->move_count < 4 && up_to(ensemble, 60) == 0) {
            uint64_t moved = ask.sent; /* nothing sent before is on its way any more */
            while (kept > 0 && ensemble->asks[kept - 1].answered > moved) {
                kept--;
            }
            pings_until(ensemble, moved);
            ensemble->touched = 0;
            ensemble->heard = moved > ensemble->heard ? moved : ensemble->heard;
            ensemble->ping = moved + up_to(ensemble, ensemble->tick / 2);
            ensemble->move_count++;
        }
        pings_until(ensemble, ask.arrives);
        ensemble->touched = ask.arrives;
        ensemble->asks[kept] = ask;
        ensemble->heard_when_passed_on[kept++] = ensemble->heard;
    }
    ensemble->ask_count = kept;
}

/* When the leader would end the session had it been cut off from the follower
 * right after the latest answered commit. In our ms, begun ones counting: its clock
 * is the faster. */
static uint64_t true_expiry(const struct ensemble *ensemble)
{
    return ensemble->heard_at_commit + ((uint64_t)ensemble->timeout * 100 + 100) / 101;
}

/* The rule once more, without forgetting anything. */
static uint64_t best_claim(const struct ensemble *ensemble, size_t answered,
                           uint64_t begin)
{
    uint64_t proved = 0, heard = begin;

    for (size_t i = 0; i < answered; i++) {
        if (ensemble->asks[i].write) {
            proved = ensemble->asks[i].sent;
        }
    }
    for (size_t i = 0; i < answered; i++) {
        if (ensemble->asks[i].answered + ensemble->tick / 2 <= proved) {
            heard = ensemble->asks[i].sent;
        }
    }
    return proved == 0 ? 0 : heard + ensemble->timeout - ensemble->timeout / 100;
}

static void check_claims(struct ensemble *ensemble, uint64_t begin, uint64_t *margin_sum)
{
    struct uvzk__proof proof;
    uint64_t before = 0;

    uvzk__proof_init(&proof, UVZK_PROOF_QUORUM, ensemble->tick);
    uvzk__proof_connected(&proof, ensemble->timeout, true, begin);
    for (size_t i = 0; i < ensemble->ask_count; i++) {
        const struct ask *ask = &ensemble->asks[i];
        uvzk__proof_answered(&proof, ask->sent, ask->answered, ask->write);
        if (ask->write) {
            ensemble->heard_at_commit = ensemble->heard_when_passed_on[i];
        }
        if (proof.valid_until == 0) {
            assert_false(ask->write);
            continue;
        }
        if (proof.valid_until > true_expiry(ensemble)) {
            fail_msg(
                "valid until %llu, but the session may end at %llu (tick %u, timeout %u)",
                (unsigned long long)proof.valid_until,
                (unsigned long long)true_expiry(ensemble), ensemble->tick,
                ensemble->timeout);
        }
        assert_true(proof.valid_until >= before);
        /* And it is worth something: forgetting costs little. */
        assert_true(proof.valid_until <= best_claim(ensemble, i + 1, begin));
        if (i >= 8 && ask->write && ask->answered - ask->sent <= ensemble->tick / 2) {
            *margin_sum += proof.valid_until + ensemble->tick / 16 <
                           best_claim(ensemble, i + 1, begin);
        }
        before = proof.valid_until;
    }
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
        ensemble.timeout = ensemble.tick * (2 + seeded_below(&random, 19));
        uint64_t begin = 1000 + seeded_below(&random, 100000);
        write_requests(&ensemble, begin + 1);
        let_it_happen(&ensemble, begin);
        check_claims(&ensemble, begin, &poor);
    }
    assert_int_equal(poor, 0); /* never worse than the full memory by more than k/16 */
}

/* Requests at the period of the rule, answers within a few ms: the validity
 * reaches as far beyond S as promised, T - k/2 - g with g about a period. */
static void steady_proofs_keep_a_hold_valid(void **state)
{
    struct uvzk__proof proof = proof_of(UVZK_PROOF_QUORUM, 0);
    uint32_t period = uvzk__proof_period(&proof);

    (void)state;
    for (uint64_t sent = 10; sent < 100000; sent += period) {
        uvzk__proof_answered(&proof, sent, sent + 5, true);
        assert_true(proof.valid_until >= sent + T - T / 100 - K / 2 - period - 5 ||
                    sent < period);
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
        uvzk__proof_answered(&proof, sent, sent + 3, i % 100 == 0);
    }
    assert_true(proof.valid_until <= 5999 - 3 - 1000 + 9900);
    assert_true(proof.valid_until >= 5989 - 3 - 1000 - K / 16 + 9900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_valid_before_something_was_proved),
        cmocka_unit_test(the_moment_of_open_stands_in_for_what_was_heard),
        cmocka_unit_test(a_request_counts_half_a_tick_after_its_answer),
        cmocka_unit_test(validity_never_goes_back),
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
    };
    return cmocka_run_group_tests_name("proof", tests, NULL, NULL);
}
