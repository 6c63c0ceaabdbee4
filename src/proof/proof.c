#include "proof/proof.h"

#include <string.h>

void uvzk__proof_init(struct uvzk__proof *proof, uint32_t mode, uint32_t tick_ms)
{
    memset(proof, 0, sizeof(*proof));
    proof->mode = mode;
    proof->tick_ms = tick_ms;
}

void uvzk__proof_connected(struct uvzk__proof *proof, uint32_t timeout_ms, bool fresh,
                           uint64_t opened_ms)
{
    proof->timeout_ms = timeout_ms;
    if (fresh) {
        proof->contact_count = 0;
        proof->proved_ms = 0;
        proof->valid_until = 0;
        proof->floor_ms = opened_ms;
    }
    if (proof->mode == UVZK_PROOF_NONE) {
        proof->valid_until = UINT64_MAX;
    }
}

void uvzk__proof_suspended(struct uvzk__proof *proof, uint64_t now_ms)
{
    if (proof->mode == UVZK_PROOF_NONE && proof->valid_until == UINT64_MAX) {
        proof->valid_until = now_ms + proof->timeout_ms;
    }
}

void uvzk__proof_ended(struct uvzk__proof *proof)
{
    proof->contact_count = 0;
    proof->proved_ms = 0;
    proof->valid_until = 0;
    proof->timeout_ms = 0;
}

static void remember(struct uvzk__proof *proof, uint64_t sent_ms, uint64_t now_ms)
{
    uint32_t count = proof->contact_count;
    uint32_t spacing = proof->tick_ms / 16;

    if (count > 0 && sent_ms < proof->contacts[count - 1].sent_ms + spacing) {
        return;
    }
    if (count == UVZK__PROOF_CONTACTS) {
        memmove(&proof->contacts[0], &proof->contacts[1],
                (UVZK__PROOF_CONTACTS - 1) * sizeof(proof->contacts[0]));
        count--;
    }
    proof->contacts[count].sent_ms = sent_ms;
    proof->contacts[count].answered_ms = now_ms;
    proof->contact_count = count + 1;
}

/* What clocks that differ by 1 % make of T. */
static uint32_t drift(const struct uvzk__proof *proof)
{
    return (proof->timeout_ms + 99) / 100;
}

/* The send moment of the latest request that was answered half a tick before S:
 * the A of the rule. */
static uint64_t heard_of(const struct uvzk__proof *proof)
{
    uint64_t heard = proof->floor_ms;
    uint64_t half = proof->tick_ms / 2;

    for (uint32_t i = 0; i < proof->contact_count; i++) {
        const struct uvzk__contact *contact = &proof->contacts[i];
        if (contact->answered_ms + half <= proof->proved_ms && contact->sent_ms > heard) {
            heard = contact->sent_ms;
        }
    }
    return heard;
}

void uvzk__proof_answered(struct uvzk__proof *proof, uint64_t sent_ms, uint64_t now_ms,
                          bool committed)
{
    if (proof->timeout_ms == 0) {
        return;
    }
    remember(proof, sent_ms, now_ms);
    if (proof->mode == UVZK_PROOF_NONE || !committed) {
        return;
    }
    if (sent_ms > proof->proved_ms) {
        proof->proved_ms = sent_ms;
    }
    uint64_t until = heard_of(proof) + proof->timeout_ms - drift(proof);
    if (until > proof->valid_until) {
        proof->valid_until = until;
    }
}

bool uvzk__proof_possible(const struct uvzk__proof *proof)
{
    return proof->mode == UVZK_PROOF_NONE ||
           proof->timeout_ms >
               proof->tick_ms / 2 + proof->timeout_ms / 6 + proof->timeout_ms / 100;
}

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
