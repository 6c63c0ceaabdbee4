/* SPDX-License-Identifier: Apache-2.0 */
/* InterProcessMutex: each claim has one contender in an exclusive directory, and
 * in_order.c grants the contenders by sequence number. A mutex with a cohort differs in
 * its claims only, as the last part of this file says. */
#include "locks/mutex.h"

#include "base/refusal.h"
#include "claim/claim.h"
#include "claim/hold_calls.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "engine/turn.h"
#include "proof/validity.h"

/* --------------------------------------- what all kinds with one contender have in common */

int uvzk__one_contender_check(struct uvzk__lock *lock,
                              const uvzk_acquire_options_t *options)
{
    (void)lock;
    return uvzk__refuse_if(UV_EINVAL, options->leases > 1
                                          ? "options.leases: only a semaphore has several"
                                          : NULL);
}

bool uvzk__one_contender_occupied(struct uvzk__lock *lock,
                                  const uvzk_acquire_options_t *options)
{
    (void)options;
    return uvzk__queue_occupied(lock->session, lock->kind->directory_kind,
                                lock->path->text, false);
}

int uvzk__one_contender_prepare(struct uvzk__lock *lock, struct uvzk__claim *claim,
                                const uvzk_acquire_options_t *options)
{
    struct uvzk__contender *contender;

    return uvzk__claim_add_contender(claim, lock->kind->directory_kind, lock->path,
                                     lock->kind->contender_kind, NULL, options,
                                     &contender);
}

size_t uvzk__one_contender_directories(const struct uvzk__lock *lock,
                                       struct uvzk__participant_directory *directory)
{
    *directory = (struct uvzk__participant_directory){lock->path->text,
                                                      lock->kind->directory_kind};
    return 1;
}

/* The participants are sorted by sequence number, and the first one holds. */
int uvzk__one_contender_classify(const struct uvzk__lock *lock,
                                 struct uvzk__participant *participants, size_t count)
{
    (void)lock;
    (void)count;
    participants[0].holds = true;
    return 0;
}

/* ---------------------------------------------------------------------- the mutex */

static const char *session_order_path(const struct uvzk__lock *lock,
                                      const uvzk_acquire_options_t *options)
{
    (void)options;
    return lock->path->text;
}

static const struct uvzk__name_prefix name_prefixes[] = {{UVZK__MUTEX_PREFIX, false},
                                                         {NULL, false}};

const struct uvzk__directory_kind uvzk__exclusive = {
    .name_prefixes = name_prefixes,
    .in_order = true,
    .kinds_elsewhere = UVZK__KINDS_BELOW,
    .settle = uvzk__settle_in_order,
};

static const struct uvzk__contender_kind contender_kind = {
    .name_prefix = UVZK__MUTEX_PREFIX,
};

const struct uvzk__lock_kind uvzk__mutex = {
    .claim_kind = &uvzk__claim_plain,
    .directory_kind = &uvzk__exclusive,
    .contender_kind = &contender_kind,
    .check = uvzk__one_contender_check,
    .occupied = uvzk__one_contender_occupied,
    .session_order_path = session_order_path,
    .prepare = uvzk__one_contender_prepare,
    .directories = uvzk__one_contender_directories,
    .classify = uvzk__one_contender_classify,
};

int uvzk_mutex_init(uvzk_client_t *client, uvzk_mutex_t *handle, const char *path)
{
    int status = uvzk__lock_check(client, handle, path);

    if (status == 0 && uvzk__lock_new(client->impl, handle, path, &uvzk__mutex) == NULL) {
        status = UV_ENOMEM;
    }
    return status;
}

/* --------------------------------------------------------------- with a cohort */

/* A mutex with a cohort. When a hold is released, its znode is handed over to the next
 * local claim, ahead of the foreign nodes between them. The two claims exchange their
 * znodes: the waiting claim then holds by the znode N, and the claim that has ended
 * deletes the znode M, with which the other claim waited.
 *
 *   before the release   N (held)              foreign node   M (waits)     O
 *   after the release    N (M's claim holds)   foreign node   M (deleted)   O
 *
 * Only the first local waiter of the directory may receive the znode, so local claims do
 * not overtake one another. A foreign node must be before that waiter; if there is none,
 * the waiter is granted by its own znode, with a token of its own. Two limits apply: a
 * znode is handed over at most `handovers` times, and not later than `ms` after it was
 * first granted. When a limit is reached, the next contender in the directory is granted,
 * whichever client it belongs to. All holds by one znode have the same fencing token;
 * uvzk_hold_cohort tells them apart. */

#define HANDOVERS_MAX 1000U
#define MS_MAX 60000U

/* The limits of a lock with a cohort. */
struct cohort_limit {
    uint32_t handovers; /* how often a znode may be handed over, 1 to 1000 */
    uint32_t ms;        /* for how long after its first grant, 1 to 60000 */
};

/* claim->extra. It describes the claim's znode, so two claims that exchange their znodes
 * exchange this struct too. */
struct cohort {
    const struct uvzk__lock *lock;
    struct cohort_limit limit;
    uint32_t handovers;    /* of the znode, so far */
    int64_t fencing_token; /* czxid of the znode; 0: it has not been granted yet */
    uint64_t since_ms;     /* when the znode was first granted */
};

static const struct uvzk__claim_kind claim_in_cohort;

static struct cohort *cohort_of(const struct uvzk__claim *claim)
{
    return claim->extra;
}

static int cohort_check(const struct cohort_limit *limit)
{
    return uvzk__refuse_if(
        UV_EINVAL, limit->handovers == 0 ? "handovers is 0: use uvzk_mutex_init"
                   : limit->handovers > HANDOVERS_MAX ? "handovers is more than 1000"
                   : limit->ms == 0                   ? "ms is 0: use uvzk_mutex_init"
                   : limit->ms > MS_MAX               ? "ms is more than 60000"
                                                      : NULL);
}

static int cohort_set_limit(struct uvzk__lock *lock, const struct cohort_limit *limit)
{
    lock->extra = uvzk__memdup(limit, sizeof(*limit));
    return lock->extra == NULL ? UV_ENOMEM : 0;
}

static void cohort_lock_freed(struct uvzk__lock *lock)
{
    uvzk__free(lock->extra);
}

static int cohort_add_claim(struct uvzk__lock *lock, struct uvzk__claim *claim)
{
    struct cohort *cohort = uvzk__calloc(1, sizeof(*cohort));

    if (cohort == NULL) {
        return UV_ENOMEM;
    }
    cohort->lock = lock;
    cohort->limit = *(const struct cohort_limit *)lock->extra;
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
    bool goes_on = next_claim->kind == &claim_in_cohort &&
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

static const struct uvzk__claim_kind claim_in_cohort = {
    .granted = cohort_granted,
    .ungranted = uvzk__claim_plain_ungranted,
    .ended = uvzk__claim_plain_ended,
    .keeps_contenders = keeps_contenders,
    .freed = cohort_freed,
};

static int prepare_in_cohort(struct uvzk__lock *lock, struct uvzk__claim *claim,
                             const uvzk_acquire_options_t *options)
{
    int status = cohort_add_claim(lock, claim);

    return status == 0 ? uvzk__one_contender_prepare(lock, claim, options) : status;
}

const struct uvzk__lock_kind uvzk__mutex_in_cohort = {
    .claim_kind = &claim_in_cohort,
    .directory_kind = &uvzk__exclusive,
    .contender_kind = &contender_kind,
    .check = uvzk__one_contender_check,
    .occupied = uvzk__one_contender_occupied,
    .prepare = prepare_in_cohort,
    .directories = uvzk__one_contender_directories,
    .classify = uvzk__one_contender_classify,
    .freed = cohort_lock_freed,
};

int uvzk_mutex_init_with_cohort(uvzk_client_t *client, uvzk_mutex_t *handle,
                                const char *path, uint32_t handovers, uint32_t ms)
{
    const struct cohort_limit bound = {handovers, ms};
    struct uvzk__lock *lock;
    int status = uvzk__lock_check(client, handle, path);

    if (status == 0) {
        status = cohort_check(&bound);
    }
    if (status != 0) {
        return status;
    }
    lock = uvzk__lock_new(client->impl, handle, path, &uvzk__mutex_in_cohort);
    if (lock == NULL) {
        return UV_ENOMEM;
    }
    status = cohort_set_limit(lock, &bound);
    if (status != 0) {
        uvzk__lock_free(lock);
    }
    return status;
}

uint32_t uvzk_hold_cohort(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim == NULL || claim->kind != &claim_in_cohort
               ? 0
               : cohort_of(claim)->handovers + 1;
}
