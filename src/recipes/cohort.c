#include "recipes/cohort.h"

#include "base/refusal.h"
#include "claim/acquisition.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "directory/succession.h"
#include "engine/turn.h"
#include "proof/prover.h"

#define HANDOVERS_MAX 1000U
#define MS_MAX 60000U

/* A claim's, and of the znode by which it holds: the one goes with the other. */
struct cohort {
    const struct uvzk__lock *lock;
    struct uvzk__cohort_bound bound;
    uint32_t handovers; /* of that znode, so far */
    int64_t token;      /* its czxid; 0: it has not been granted yet */
    uint64_t since_ms;  /* when it was granted first */
};

static struct cohort *cohort_of(const struct uvzk__claim *claim)
{
    return claim->extra;
}

int uvzk__cohort_check(const struct uvzk__cohort_bound *bound)
{
    return uvzk__object(UV_EINVAL,
                        bound->handovers == 0 ? "handovers is 0: uvzk_mutex_init"
                        : bound->handovers > HANDOVERS_MAX ? "handovers is more than 1000"
                        : bound->ms == 0                   ? "ms is 0: uvzk_mutex_init"
                        : bound->ms > MS_MAX               ? "ms is more than 60000"
                                                           : NULL);
}

int uvzk__cohort_bind(struct uvzk__lock *lock, const struct uvzk__cohort_bound *bound)
{
    lock->extra = uvzk__memdup(bound, sizeof(*bound));
    return lock->extra == NULL ? UV_ENOMEM : 0;
}

void uvzk__cohort_freed(struct uvzk__lock *lock)
{
    uvzk__free(lock->extra);
}

int uvzk__cohort_join(struct uvzk__lock *lock, struct uvzk__claim *claim)
{
    struct cohort *cohort = uvzk__calloc(1, sizeof(*cohort));

    if (cohort == NULL) {
        return UV_ENOMEM;
    }
    cohort->lock = lock;
    cohort->bound = *(const struct uvzk__cohort_bound *)lock->extra;
    claim->extra = cohort;
    return 0;
}

static void freed(struct uvzk__claim *claim)
{
    uvzk__free(claim->extra);
}

/* ------------------------------------------------------------------ who may go on */

static bool has_ended(const struct uvzk__claim *claim)
{
    const struct cohort *cohort = cohort_of(claim);

    return cohort->handovers >= cohort->bound.handovers ||
           uvzk__now(claim->client) - cohort->since_ms >= cohort->bound.ms;
}

/* Whether it is this claim's znode that all in the directory wait for, as long as it is
 * proved; what a revocable one says is for its own holder. */
static bool can_hand_on(const struct uvzk__claim *claim)
{
    const struct uvzk__contender *contender;

    if (claim->contender_count != 1) {
        return false;
    }
    contender = uvzk__claim_first(claim);
    return contender->held && !contender->revocable &&
           uvzk__node_state(&contender->node) == UVZK__NODE_STANDING &&
           uvzk__node_is_wanted(&contender->node) &&
           cohort_of(claim)->token == uvzk__node_place(&contender->node).czxid &&
           uvzk__prover_valid_until(claim->client) > uvzk__now(claim->client);
}

/* The next of ours in the directory, if it waits for somebody else besides, and is of the
 * same lock; else NULL. */
static struct uvzk__claim *heir_of(const struct uvzk__claim *claim)
{
    struct uvzk__queue *queue = uvzk__claim_first(claim)->queue;
    struct uvzk__contender *next = uvzk__next_in_line(queue);

    if (next == NULL || uvzk__node_state(&next->node) != UVZK__NODE_STANDING ||
        next->revocable || !next->covered || uvzk__blocker(queue, next) == NULL) {
        return NULL;
    }
    struct uvzk__claim *heir = next->claim;
    bool goes_on = heir->kind == &uvzk__claim_in_cohort &&
                   cohort_of(heir)->lock == cohort_of(claim)->lock &&
                   uvzk__claim_same_data(claim, heir);
    return goes_on ? heir : NULL;
}

/* Each has the other's znode, and what is known of it. */
static void exchange(struct uvzk__claim *claim, struct uvzk__claim *heir)
{
    struct uvzk__contender *held = uvzk__claim_first(claim);
    struct uvzk__contender *left = uvzk__claim_first(heir);
    void *extra = claim->extra;

    uvzk__claim_detach(left);
    uvzk__claim_attach(claim, left); /* first: the claim is never without any */
    uvzk__claim_detach(held);
    uvzk__claim_attach(heir, held);
    claim->extra = heir->extra;
    heir->extra = extra;
}

/* It has been given up: whoever is to have its znode next has it now, and this claim
 * withdraws the other's. */
static bool keep(struct uvzk__claim *claim)
{
    struct uvzk__claim *heir =
        can_hand_on(claim) && !has_ended(claim) ? heir_of(claim) : NULL;

    if (heir != NULL) {
        exchange(claim, heir);
        cohort_of(heir)->handovers++;
        uvzk__claim_grant(heir, cohort_of(heir)->token);
    }
    return false;
}

/* A znode that is granted once more, having been lost before that was told, is the same. */
static void granted(struct uvzk__contender *contender)
{
    struct cohort *cohort = cohort_of(contender->claim);
    int64_t token = uvzk__node_place(&contender->node).czxid;

    if (cohort->token != token) {
        cohort->token = token;
        cohort->handovers = 0;
        cohort->since_ms = uvzk__now(uvzk__client_of(contender));
    }
    uvzk__claim_plain_granted(contender);
}

const struct uvzk__claim_kind uvzk__claim_in_cohort = {
    .granted = granted,
    .ungranted = uvzk__claim_plain_ungranted,
    .ended = uvzk__claim_plain_ended,
    .keep = keep,
    .freed = freed,
};

uint32_t uvzk_hold_cohort(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim == NULL || claim->kind != &uvzk__claim_in_cohort
               ? 0
               : cohort_of(claim)->handovers + 1;
}
