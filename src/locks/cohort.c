/* The handover of a holder's znode within a cohort (cohort.h). mutex.c calls the
 * functions that check and set the limits. claim.c calls keeps_contenders when a claim
 * ends; that is the only place where a znode is handed over. */
#include "locks/cohort.h"

#include "base/refusal.h"
#include "claim/claim.h"
#include "claim/hold_calls.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "engine/turn.h"
#include "proof/validity.h"

#define HANDOVERS_MAX 1000U
#define MS_MAX 60000U

/* claim->extra. It describes the claim's znode, so two claims that exchange their znodes
 * exchange this struct too. */
struct cohort {
    const struct uvzk__lock *lock;
    struct uvzk__cohort_limit limit;
    uint32_t handovers;    /* of the znode, so far */
    int64_t fencing_token; /* czxid of the znode; 0: it has not been granted yet */
    uint64_t since_ms;     /* when the znode was first granted */
};

static struct cohort *cohort_of(const struct uvzk__claim *claim)
{
    return claim->extra;
}

int uvzk__cohort_check(const struct uvzk__cohort_limit *limit)
{
    return uvzk__refuse_if(
        UV_EINVAL, limit->handovers == 0 ? "handovers is 0: use uvzk_mutex_init"
                   : limit->handovers > HANDOVERS_MAX ? "handovers is more than 1000"
                   : limit->ms == 0                   ? "ms is 0: use uvzk_mutex_init"
                   : limit->ms > MS_MAX               ? "ms is more than 60000"
                                                      : NULL);
}

int uvzk__cohort_set_limit(struct uvzk__lock *lock,
                           const struct uvzk__cohort_limit *limit)
{
    lock->extra = uvzk__memdup(limit, sizeof(*limit));
    return lock->extra == NULL ? UV_ENOMEM : 0;
}

void uvzk__cohort_freed(struct uvzk__lock *lock)
{
    uvzk__free(lock->extra);
}

int uvzk__cohort_add_claim(struct uvzk__lock *lock, struct uvzk__claim *claim)
{
    struct cohort *cohort = uvzk__calloc(1, sizeof(*cohort));

    if (cohort == NULL) {
        return UV_ENOMEM;
    }
    cohort->lock = lock;
    cohort->limit = *(const struct uvzk__cohort_limit *)lock->extra;
    claim->extra = cohort;
    return 0;
}

static void cohort_freed(struct uvzk__claim *claim)
{
    uvzk__free(claim->extra);
}

/* ------------------------------------------------------------------- the handover */

static bool limit_reached(const struct uvzk__claim *claim)
{
    const struct cohort *cohort = cohort_of(claim);

    return cohort->handovers >= cohort->limit.handovers ||
           uvzk__now(claim->session) - cohort->since_ms >= cohort->limit.ms;
}

/* [P1] A cohort passes its znode on only while the znode is held, wanted and proved.
 * Whether all other contenders of the directory wait for this claim's znode, and will do
 * so while the proof is valid. A revocable znode is not handed over: a request for its
 * release is addressed to the holder that made it revocable. */
static bool can_hand_on(const struct uvzk__claim *claim)
{
    const struct uvzk__contender *contender;

    if (claim->contender_count != 1) {
        return false;
    }
    contender = uvzk__claim_first_contender(claim);
    return uvzk__contender_holds(contender) && !contender->revocable &&
           contender->node.state == UVZK__NODE_STANDING && contender->node.wanted &&
           cohort_of(claim)->fencing_token == contender->node.place.czxid &&
           uvzk__is_valid(claim->session);
}

/* The claim that receives this claim's znode, or NULL. It is the claim of the first local
 * waiter, if that belongs to the same lock, wants the same node data, and waits for a
 * foreign node too. If no foreign node is before the waiter, a handover has no advantage:
 * in_order.c grants the waiter by its own znode. */
static struct uvzk__claim *next_of(const struct uvzk__claim *claim)
{
    struct uvzk__queue *queue = uvzk__claim_first_contender(claim)->queue;
    struct uvzk__contender *next = uvzk__next_in_line(queue);

    if (next == NULL || next->node.state != UVZK__NODE_STANDING || next->revocable ||
        !next->predecessors_known || uvzk__blocker(queue, next) == NULL) {
        return NULL;
    }
    struct uvzk__claim *next_claim = next->claim;
    bool goes_on = next_claim->kind == &uvzk__claim_in_cohort &&
                   cohort_of(next_claim)->lock == cohort_of(claim)->lock &&
                   uvzk__claim_same_data(claim, next_claim);
    return goes_on ? next_claim : NULL;
}

/* The two claims exchange their contenders, and the structs that describe them. */
static void cohort_exchange(struct uvzk__claim *claim, struct uvzk__claim *next_claim)
{
    struct uvzk__contender *held = uvzk__claim_first_contender(claim);
    struct uvzk__contender *left = uvzk__claim_first_contender(next_claim);
    void *extra = claim->extra;

    /* `claim` has been given up, so it would be freed with its last contender. It
     * receives `left` before it loses `held`. */
    uvzk__claim_detach(left);
    uvzk__claim_attach(claim, left);
    uvzk__claim_detach(held);
    uvzk__claim_attach(next_claim, held);
    claim->extra = next_claim->extra;
    next_claim->extra = extra;
}

/* The claim has been given up. Hands its znode over if possible. The result is always
 * false: claim.c withdraws the contender that the claim has now, which after a handover
 * is the other claim's. */
static bool keeps_contenders(struct uvzk__claim *claim)
{
    struct uvzk__claim *next_claim =
        can_hand_on(claim) && !limit_reached(claim) ? next_of(claim) : NULL;

    if (next_claim != NULL) {
        cohort_exchange(claim, next_claim);
        cohort_of(next_claim)->handovers++;
        uvzk__claim_grant(next_claim, cohort_of(next_claim)->fencing_token);
    }
    return false;
}

/* A grant that was taken back before its callback ran, and is then made again, has the
 * same czxid: the count and the time of the znode continue. */
static void cohort_granted(struct uvzk__contender *contender)
{
    struct cohort *cohort = cohort_of(contender->claim);
    int64_t token = contender->node.place.czxid;

    if (cohort->fencing_token != token) {
        cohort->fencing_token = token;
        cohort->handovers = 0;
        cohort->since_ms = uvzk__now(uvzk__session_of(contender));
    }
    uvzk__claim_plain_granted(contender);
}

const struct uvzk__claim_kind uvzk__claim_in_cohort = {
    .granted = cohort_granted,
    .ungranted = uvzk__claim_plain_ungranted,
    .ended = uvzk__claim_plain_ended,
    .keeps_contenders = keeps_contenders,
    .freed = cohort_freed,
};

uint32_t uvzk_hold_cohort(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim == NULL || claim->kind != &uvzk__claim_in_cohort
               ? 0
               : cohort_of(claim)->handovers + 1;
}
