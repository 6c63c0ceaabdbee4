/* SPDX-License-Identifier: Apache-2.0 */
/* Computes until when a session is valid (proof.h, which derives the rule). prover.c
 * passes in connections and replies. A struct uvzk__proof has two arrays of records:
 * contacts are the requests that have been answered (X of the rule), reports are those
 * contacts that the leader has heard of through an answer to a ping (with W). Each
 * committed request (V) then yields a new end of the validity. */
#include "proof/proof.h"

#include <string.h>

void uvzk__proof_init(struct uvzk__proof *proof, uint32_t mode, uint32_t tick_ms)
{
    memset(proof, 0, sizeof(*proof));
    proof->mode = mode;
    proof->tick_ms = tick_ms;
}

/* Returns heard_ms plus T, minus 1 % of T, rounded up, for clocks whose rates differ. */
static uint64_t proof_after(uint64_t heard_ms, uint32_t timeout_ms)
{
    return heard_ms + timeout_ms - (timeout_ms + 99) / 100;
}

/* Until when the session is valid, if the leader has heard of it at heard_ms. */
static uint64_t proof_from(const struct uvzk__proof *proof, uint64_t heard_ms)
{
    return proof_after(heard_ms, proof->timeout_ms);
}

/* -------------------------------------------------------------- the records */

/* Returns the latest moment_ms of the records that were known at known_ms; 0: there is
 * none. */
static uint64_t proof_latest(const struct uvzk__records *records, uint64_t known_ms)
{
    for (uint32_t i = records->count; i > 0; i--) {
        if (records->each[i - 1].known_ms <= known_ms) {
            return records->each[i - 1].moment_ms;
        }
    }
    return 0;
}

static uint64_t proof_newest(const struct uvzk__records *records)
{
    return proof_latest(records, UINT64_MAX);
}

/* Returns the index of the record that is missed least. Removing a record leaves a gap
 * between its neighbors. A gap costs less the older it is, so the record with the
 * smallest ratio of gap to age is removed. Ages below `young` count as `young`. The
 * oldest and the newest record are kept. */
static uint32_t least_missed(const struct uvzk__records *records, uint64_t young,
                             uint64_t now_ms)
{
    uint32_t least = 1;
    uint64_t least_gap = UINT64_MAX, least_age = 1;

    for (uint32_t i = 1; i + 1 < records->count; i++) {
        uint64_t gap = records->each[i + 1].moment_ms - records->each[i - 1].moment_ms;
        uint64_t age = now_ms - records->each[i].moment_ms;
        age = age < young ? young : age;
        if (least_gap == UINT64_MAX || gap * least_age < least_gap * age) {
            least = i;
            least_gap = gap;
            least_age = age;
        }
    }
    return least;
}

/* Removes the oldest record if it is older than T, because it no longer proves anything.
 * Otherwise removes the record that is missed least. */
static void make_room(const struct uvzk__proof *proof, struct uvzk__records *records,
                      uint64_t now_ms)
{
    uint32_t out = 0;

    if (records->each[0].moment_ms + proof->timeout_ms > now_ms) {
        out = least_missed(records, 2 * (uint64_t)proof->tick_ms, now_ms);
    }
    memmove(&records->each[out], &records->each[out + 1],
            (records->count - out - 1) * sizeof(records->each[0]));
    records->count--;
}

/* Adds a record, unless the last one is less than k/16 before it: 64 records are to reach
 * far back, and a record that is left out costs k/16 of validity at most. */
static void proof_record(const struct uvzk__proof *proof, struct uvzk__records *records,
                         uint64_t moment_ms, uint64_t now_ms)
{
    if (records->count > 0 && moment_ms < proof_newest(records) + proof->tick_ms / 16) {
        return;
    }
    if (records->count == UVZK__PROOF_RECORDS) {
        make_room(proof, records, now_ms);
    }
    records->each[records->count].moment_ms = moment_ms;
    records->each[records->count].known_ms = now_ms;
    records->count++;
}

/* ------------------------------------------------------------------- events */

static void proof_forget(struct uvzk__proof *proof)
{
    proof->contacts.count = 0;
    proof->reports.count = 0;
    proof->suspended = false;
}

/* There is a new connection. Its connect request was sent after everything that was
 * answered before, so the newest contact raises the floor. The time at which the loss was
 * noticed is not used, because the loop may have been late. */
static void came_back(struct uvzk__proof *proof)
{
    uint64_t contact = proof_newest(&proof->contacts);

    if (contact > proof->floor_ms) {
        proof->floor_ms = contact;
    }
    proof_forget(proof);
}

/* [P2] A shorter timeout that a connect grants moves the end of the validity nearer. The
 * connect may have been sent as early as the floor, so the session may end one timeout
 * after the floor. */
static void proof_shorten(struct uvzk__proof *proof, uint32_t timeout_ms)
{
    proof->timeout_ms = timeout_ms;
    if (proof->valid_until > proof_from(proof, proof->floor_ms)) {
        proof->valid_until = proof_from(proof, proof->floor_ms);
    }
}

/* The connect with this timeout is not known to the loop. All answers that the loop knows
 * arrived on earlier connections, because answers are reported after the event of their
 * connection. So that connect was sent after the newest contact, and the contact is used
 * like a floor. */
uint64_t uvzk__proof_shortened(const struct uvzk__proof *proof, uint32_t timeout_ms)
{
    uint64_t contact = proof_newest(&proof->contacts);
    uint64_t until =
        proof_after(contact > proof->floor_ms ? contact : proof->floor_ms, timeout_ms);

    if (proof->mode == UVZK_PROOF_NONE || proof->valid_until < until) {
        return proof->valid_until;
    }
    return until;
}

void uvzk__proof_connected(struct uvzk__proof *proof, uint32_t timeout_ms, bool fresh,
                           uint64_t opened_ms)
{
    if (fresh) {
        proof_forget(proof);
        proof->proved_ms = 0;
        proof->valid_until = 0;
        proof->floor_ms = opened_ms;
        proof->timeout_ms = timeout_ms;
    } else if (proof->suspended) {
        /* Without a SUSPENDED before it, there was no connect that touched the
         * session. */
        came_back(proof);
    }
    /* A longer timeout is not used: the shorter one may still come back (proof.h). */
    if (timeout_ms < proof->timeout_ms) {
        proof_shorten(proof, timeout_ms);
    }
    if (proof->mode == UVZK_PROOF_NONE) {
        proof->valid_until = UINT64_MAX;
    }
}

void uvzk__proof_suspended(struct uvzk__proof *proof, uint64_t now_ms)
{
    proof->suspended = true;
    if (proof->mode == UVZK_PROOF_NONE && proof->valid_until == UINT64_MAX) {
        proof->valid_until = now_ms + proof->timeout_ms;
    }
}

void uvzk__proof_ended(struct uvzk__proof *proof)
{
    proof_forget(proof);
    proof->proved_ms = 0;
    proof->valid_until = 0;
    proof->timeout_ms = 0;
}

/* [P2] A hold is valid only up to T after the latest request of which the leader must
 * have heard (proof.h). Returns A of the rule. V must be sent after W was answered. A
 * request that was sent in the same millisecond may have been sent before the answer,
 * hence the - 1. */
static uint64_t heard_of(const struct uvzk__proof *proof)
{
    uint64_t reported = proof_latest(&proof->reports, proof->proved_ms - 1);

    return reported > proof->floor_ms ? reported : proof->floor_ms;
}

void uvzk__proof_answered(struct uvzk__proof *proof, uint64_t sent_ms, uint64_t now_ms,
                          enum uvzk__ack_level ack)
{
    uint64_t half = proof->tick_ms / 2;

    if (proof->timeout_ms == 0) {
        return; /* the session has ended */
    }
    /* The request may be the X of a later W. */
    proof_record(proof, &proof->contacts, sent_ms, now_ms);
    if (proof->mode == UVZK_PROOF_NONE || ack == UVZK__ACK_SERVER) {
        return;
    }
    if (ack == UVZK__ACK_QUORUM) {
        /* The request is a V. */
        if (sent_ms > proof->proved_ms) {
            proof->proved_ms = sent_ms;
        }
        uint64_t until = proof_from(proof, heard_of(proof));
        if (until > proof->valid_until) {
            proof->valid_until = until;
        }
    }
    /* The request is a W: find its X. */
    uint64_t reported =
        sent_ms > half ? proof_latest(&proof->contacts, sent_ms - half) : 0;
    if (reported != 0) {
        proof_record(proof, &proof->reports, reported, now_ms);
    }
}

bool uvzk__proof_possible(const struct uvzk__proof *proof)
{
    return proof->mode == UVZK_PROOF_NONE ||
           proof->timeout_ms >
               proof->tick_ms / 2 + proof->timeout_ms / 3 + proof->timeout_ms / 100;
}

/* [P2] No contender is granted with less than an eighth of the session timeout left. */
bool uvzk__proof_grants(const struct uvzk__proof *proof, uint64_t now_ms)
{
    uint64_t margin = proof->timeout_ms / 8;

    if (proof->timeout_ms == 0) {
        return false;
    }
    if (proof->timeout_ms < 2 * proof->tick_ms) {
        margin = 1; /* such a session is never valid for long */
    }
    return proof->valid_until > now_ms && proof->valid_until - now_ms >= margin;
}

uint32_t uvzk__proof_period(const struct uvzk__proof *proof)
{
    return proof->timeout_ms < 6 ? 1 : proof->timeout_ms / 6;
}

uint32_t uvzk__proof_retry(const struct uvzk__proof *proof)
{
    uint32_t retry = proof->tick_ms / 4;
    uint32_t period = uvzk__proof_period(proof);

    if (retry > period) {
        retry = period;
    }
    return retry == 0 ? 1 : retry;
}
