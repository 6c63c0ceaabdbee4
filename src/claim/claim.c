/* SPDX-License-Identifier: Apache-2.0 */
/* A claim: what one owner asks of one lock in one session (claim.h). acquire.c makes
 * claims, the recipes decide through their claim_kind when a claim holds, and contenders
 * report to their claim through uvzk__claim_contender_user.
 *
 * A claim ends once, in uvzk__claim_end. After that the lock no longer knows the claim.
 * The claim is freed when its last contender has left, which is when the last of its
 * znodes is known to be gone. */
#include "claim/claim.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/table.h"
#include "base/traceparent.h"
#include "claim/acquisition.h"
#include "claim/lock.h"
#include "directory/acl_retry.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "engine/invariant.h"
#include "engine/session.h"
#include "engine/turn.h"
#include "proof/validity.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__CLAIM_, ASKING, HELD, GIVEN_UP, EMPTYING),
    UVZK__STATE(UVZK__CLAIM_, HELD, ASKING, GIVEN_UP),
    UVZK__STATE(UVZK__CLAIM_, EMPTYING, ASKING),
    UVZK__FINAL(UVZK__CLAIM_, GIVEN_UP),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__claim *claim = object;

    switch (claim->state) {
    case UVZK__CLAIM_HELD:
        return claim->lock != NULL && claim->fencing_token != 0 &&
               claim->held_count <= claim->contender_count;
    case UVZK__CLAIM_GIVEN_UP:
        return true;
    default:
        return claim->lock != NULL;
    }
}

const struct uvzk__machine uvzk__claim_machine =
    UVZK__MACHINE("claim", table, struct uvzk__claim, state, invariant_holds);

/* The lock counts the claims that hold, so each move into and out of HELD is reported to
 * the lock. */
static void move_and_count(struct uvzk__claim *claim, enum uvzk__claim_state state)
{
    bool held = claim->state == UVZK__CLAIM_HELD;

    uvzk__move(claim->session, &uvzk__claim_machine, claim, state);
    if (held && claim->state != UVZK__CLAIM_HELD) {
        claim->lock->held_count--;
    } else if (!held && claim->state == UVZK__CLAIM_HELD) {
        claim->lock->held_count++;
    }
}

/* ----------------------------------------------------------------- making and freeing */

/* The memory of a claim that has an owner. Most claims have none, and do not pay for the
 * hash handle. */
struct uvzk__owned_claim {
    struct uvzk__claim claim;
    const void *owner;
    UT_hash_handle hh; /* in lock->owned, by owner */
};

static struct uvzk__owned_claim *owned_claim_of(const struct uvzk__claim *claim)
{
    return UVZK__CONTAINER_OF((struct uvzk__claim *)(uintptr_t)claim,
                              struct uvzk__owned_claim, claim);
}

const void *uvzk__claim_owner(const struct uvzk__claim *claim)
{
    return claim->owned ? owned_claim_of(claim)->owner : NULL;
}

/* The data of the claim's znodes, if the acquire brought data. It is allocated in one
 * piece with the claim, after it. */
struct data {
    uint32_t length;
    char bytes[];
};

static size_t size_without_data(bool is_owned)
{
    return is_owned ? sizeof(struct uvzk__owned_claim) : sizeof(struct uvzk__claim);
}

static struct data *data_of(const struct uvzk__claim *claim)
{
    return (struct data *)((uintptr_t)claim + size_without_data(claim->owned));
}

const void *uvzk__claim_data(const struct uvzk__claim *claim)
{
    return claim->has_data ? data_of(claim)->bytes : NULL;
}

size_t uvzk__claim_data_length(const struct uvzk__claim *claim)
{
    return claim->has_data ? data_of(claim)->length : 0;
}

bool uvzk__claim_same_data(const struct uvzk__claim *one, const struct uvzk__claim *other)
{
    size_t length = uvzk__claim_data_length(one);

    return one->has_data == other->has_data && length == uvzk__claim_data_length(other) &&
           (length == 0 ||
            memcmp(uvzk__claim_data(one), uvzk__claim_data(other), length) == 0);
}

/* Fails if the claim has an owner and the hash table cannot grow, and if the lock no
 * longer has a list of claims. Then the claim is in no list. */
static int add_to_lock(struct uvzk__lock *lock, struct uvzk__claim *claim)
{
    if (!uvzk__expect(claim->session, !lock->no_claims, "lock: a claim after its end")) {
        return UV_ENOMEM;
    }
    if (claim->owned) {
        struct uvzk__owned_claim *added = owned_claim_of(claim);
        HASH_ADD(hh, lock->owned, owner, sizeof(added->owner), added);
        if (added->hh.tbl == NULL) {
            return UV_ENOMEM;
        }
    }
    claim->lock = lock;
    uvzk__list_append(&lock->claims, &claim->link);
    return 0;
}

static void remove_from_lock(struct uvzk__claim *claim)
{
    if (claim->lock != NULL && claim->owned) {
        HASH_DELETE(hh, claim->lock->owned, owned_claim_of(claim));
    }
    claim->lock = NULL;
    uvzk__list_remove(&claim->link);
}

static size_t length_of_data(const uvzk_acquire_options_t *options)
{
    return options->traceparent == NULL
               ? options->node_data_length
               : uvzk__traceparent_length_behind(options->node_data_length);
}

static void write_data(char *out, const uvzk_acquire_options_t *options)
{
    if (options->traceparent != NULL) {
        uvzk__traceparent_append(out, options->node_data, options->node_data_length,
                                 options->traceparent);
    } else {
        memcpy(out, options->node_data, options->node_data_length);
    }
}

static bool has_data(const uvzk_acquire_options_t *options)
{
    return options->node_data != NULL || options->traceparent != NULL;
}

/* The claim's memory begins with its limit, if it has one. */
static struct uvzk__claim *claim_allocate(const uvzk_acquire_options_t *options)
{
    size_t limit = options->max_hold_ms > 0 ? sizeof(struct uvzk__hold_limit) : 0;
    size_t data = has_data(options) ? sizeof(struct data) + length_of_data(options) : 0;
    char *memory =
        uvzk__calloc(1, limit + size_without_data(options->owner != NULL) + data);

    return memory == NULL ? NULL : (struct uvzk__claim *)(void *)(memory + limit);
}

static void free_memory(struct uvzk__claim *claim)
{
    uvzk__free(claim->limited ? (void *)uvzk__claim_hold_limit(claim) : claim);
}

struct uvzk__claim *uvzk__claim_new(struct uvzk__lock *lock,
                                    struct uvzk__session *session,
                                    const struct uvzk__claim_kind *kind,
                                    const uvzk_acquire_options_t *options)
{
    struct uvzk__claim *claim = claim_allocate(options);

    if (claim == NULL) {
        return NULL;
    }
    claim->owned = options->owner != NULL;
    if (claim->owned) {
        owned_claim_of(claim)->owner = options->owner;
    }
    claim->kind = kind;
    claim->session = session;
    claim->persistent = lock->persistent;
    uvzk__list_init(&claim->link);
    claim->limited = options->max_hold_ms > 0;
    claim->has_data = has_data(options);
    if (claim->has_data) {
        data_of(claim)->length = (uint32_t)length_of_data(options);
        write_data(data_of(claim)->bytes, options);
    }
    if (claim->limited) {
        uvzk__hold_limit_init(uvzk__claim_hold_limit(claim), claim, session,
                              (uint64_t)options->max_hold_ms,
                              options->max_hold_warning_ms);
    }
    if (add_to_lock(lock, claim) != 0) {
        free_memory(claim);
        return NULL;
    }
    return claim;
}

void uvzk__claim_free(struct uvzk__claim *claim)
{
    remove_from_lock(claim);
    uvzk__hold_limit_stop(uvzk__claim_hold_limit(claim));
    if (claim->kind->freed != NULL) {
        claim->kind->freed(claim);
    }
    free_memory(claim);
}

struct uvzk__claim *uvzk__claim_of(const struct uvzk__lock *lock, const void *owner)
{
    struct uvzk__owned_claim *found = NULL;

    if (owner != NULL && !lock->no_claims) {
        HASH_FIND(hh, lock->owned, &owner, sizeof(owner), found);
    }
    return found == NULL ? NULL : &found->claim;
}

/* Frees the claim if it has ended and nothing still needs it. All of its znodes are gone
 * then, so the acquisitions that are still RELEASING end with the collected status. */
static void free_if_over(struct uvzk__claim *claim)
{
    /* A claim that has left its lock has ended, whatever its state is (invariant.h). */
    if (claim->contender_count > 0 || claim->refs > 0 ||
        (!uvzk__claim_is_given_up(claim) && claim->lock != NULL)) {
        return;
    }
    /* Each call removes one acquisition. Only RELEASING ones are left in a claim that has
     * been given up. */
    struct uvzk__acquisition *releasing;
    while ((releasing = uvzk__claim_first_acquisition(claim)) != NULL) {
        uvzk__acquisition_released(releasing, claim->release_status);
    }
    uvzk__claim_free(claim);
}

void uvzk__claim_set_release_status(struct uvzk__claim *claim, int status)
{
    if (claim->release_status == 0) {
        claim->release_status = (int16_t)status;
        /* The code must fit into 16 bits. */
        assert(claim->release_status == status);
    }
}

void uvzk__claim_attach(struct uvzk__claim *claim, struct uvzk__contender *contender)
{
    contender->claim = claim;
    uvzk__ring_append(&claim->contenders, &contender->in_claim);
    claim->contender_count++;
    claim->held_count += uvzk__contender_holds(contender);
}

void uvzk__claim_detach(struct uvzk__contender *contender)
{
    struct uvzk__claim *claim = contender->claim;

    contender->claim = NULL;
    uvzk__ring_remove(&claim->contenders, &contender->in_claim);
    claim->contender_count--;
    claim->held_count -= uvzk__contender_holds(contender);
    free_if_over(claim);
}

int uvzk__claim_new_contender(struct uvzk__claim *claim, struct uvzk__queue *queue,
                              const struct uvzk__contender_kind *contender_kind,
                              void *extra, struct uvzk__contender **out)
{
    int status = uvzk__contender_new(queue, contender_kind, extra, out);

    if (status == 0) {
        (*out)->persistent = claim->persistent;
        uvzk__claim_attach(claim, *out);
    }
    return status;
}

int uvzk__claim_add_contender(struct uvzk__claim *claim,
                              const struct uvzk__directory_kind *kind,
                              struct uvzk__shared_path *path,
                              const struct uvzk__contender_kind *contender_kind,
                              void *extra, const uvzk_acquire_options_t *options,
                              struct uvzk__contender **out)
{
    struct uvzk__queue *queue = uvzk__queue_of(claim->session, kind, path);
    int status = queue == NULL ? UV_ENOMEM
                               : uvzk__claim_new_contender(claim, queue, contender_kind,
                                                           extra, out);

    if (status == 0 && options->queued_cb != NULL) {
        uvzk__contender_want_position(*out);
    }
    return status;
}

void uvzk__claim_ref(struct uvzk__claim *claim)
{
    claim->refs++;
}

void uvzk__claim_unref(struct uvzk__claim *claim)
{
    claim->refs--;
    free_if_over(claim);
}

/* --------------------------------------------------------------- grant and end */

void uvzk__claim_grant(struct uvzk__claim *claim, int64_t token)
{
    claim->fencing_token = token;
    move_and_count(claim, UVZK__CLAIM_HELD);
    for (struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);
         each != NULL; each = uvzk__claim_next_acquisition(each)) {
        uvzk__acquisition_grant(each);
    }
}

/* The claim need not be HELD: of several contenders that are needed together, one may
 * lose its grant before all of them have been granted. */
void uvzk__claim_ungrant(struct uvzk__claim *claim)
{
    if (claim->state == UVZK__CLAIM_HELD) {
        move_and_count(claim, UVZK__CLAIM_ASKING);
    }
    for (struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);
         each != NULL; each = uvzk__claim_next_acquisition(each)) {
        uvzk__acquisition_ungrant(each);
    }
}

static void for_each_acquisition(struct uvzk__claim *claim,
                                 void (*act)(struct uvzk__acquisition *, int), int code)
{
    struct uvzk__acquisition *each = uvzk__claim_first_acquisition(claim);

    while (each != NULL) {
        struct uvzk__acquisition *acquisition = each;
        /* act may remove it from the ring, so the next one is read first. */
        each = uvzk__claim_next_acquisition(each);
        act(acquisition, code);
    }
}

static void end_acquisitions(struct uvzk__claim *claim, int code)
{
    for_each_acquisition(claim, uvzk__acquisition_end, code);
}

/* The reference keeps the claim: an intercepted loss may end it. */
void uvzk__claim_end_broken(struct uvzk__claim *claim, int code)
{
    uvzk__claim_ref(claim);
    for_each_acquisition(claim, uvzk__acquisition_end_broken, code);
    uvzk__claim_end(claim, code);
    uvzk__claim_unref(claim);
}

void uvzk__claim_withdraw(struct uvzk__claim *claim)
{
    uvzk__list_append(&claim->session->claims->to_withdraw, &claim->link);
    uvzk__wake(claim->session);
}

void uvzk__claim_withdraw_given_up(struct uvzk__claim *claim)
{
    if (claim->kind->keeps_contenders != NULL && claim->kind->keeps_contenders(claim)) {
        return;
    }
    /* A single contender is withdrawn at once. For several, the work is left to the next
     * round, so that the function does not walk over a ring from which contenders remove
     * themselves. */
    if (claim->contender_count != 1) {
        uvzk__claim_withdraw(claim);
    } else if (uvzk__claim_first_contender(claim)->node.wanted) {
        uvzk__contender_withdraw(uvzk__claim_first_contender(claim));
    }
}

/* The state changes first: what is called below may end this claim again, and must find
 * it given up. */
void uvzk__claim_give_up(struct uvzk__claim *claim, int code)
{
    move_and_count(claim, UVZK__CLAIM_GIVEN_UP);
    remove_from_lock(claim);
    uvzk__hold_limit_stop(uvzk__claim_hold_limit(claim));
    end_acquisitions(claim, code);
}

void uvzk__claim_end(struct uvzk__claim *claim, int code)
{
    /* Several contenders of a claim may end for one reason; the first one ends the
     * claim. */
    if (!uvzk__claim_is_given_up(claim)) {
        uvzk__claim_give_up(claim, code);
        uvzk__claim_withdraw_given_up(claim);
    }
}

/* Looks from the beginning each time, because withdrawing a contender may remove it and
 * others from the ring. */
static struct uvzk__contender *first_wanted(struct uvzk__claim *claim)
{
    struct uvzk__contender *each = uvzk__claim_first_contender(claim);

    while (each != NULL && !each->node.wanted) {
        each = uvzk__claim_next_contender(each);
    }
    return each;
}

static void claim_withdraw(struct uvzk__claim *claim)
{
    struct uvzk__contender *contender;

    while ((contender = first_wanted(claim)) != NULL) {
        uvzk__contender_withdraw(contender);
    }
}

/* The reference keeps the claim until the loop is over, even if its last contender leaves
 * in it. */
static void withdraw_ended(struct uvzk__claim *claim)
{
    uvzk__claim_ref(claim);
    claim_withdraw(claim);
    uvzk__claim_unref(claim);
}

void uvzk__claim_remove_contenders(struct uvzk__claim *claim)
{
    uvzk__claim_ref(claim);
    /* This keeps the end of a contender from ending the claim. */
    move_and_count(claim, UVZK__CLAIM_EMPTYING);
    claim_withdraw(claim);
    move_and_count(claim, UVZK__CLAIM_ASKING);
    uvzk__claim_unref(claim);
}

void uvzk__claims_withdraw(struct uvzk__session *session)
{
    struct uvzk__link *link;

    while ((link = uvzk__list_take(&session->claims->to_withdraw)) != NULL) {
        withdraw_ended(UVZK__CONTAINER_OF(link, struct uvzk__claim, link));
    }
}

const char *uvzk__claim_node_path(const struct uvzk__claim *claim, uint32_t index)
{
    if (claim->kind->member != NULL) {
        const struct uvzk__claim *member = claim->kind->member(claim, index);
        return member == NULL ? NULL : uvzk__claim_node_path(member, 0);
    }
    for (struct uvzk__contender *each = uvzk__claim_first_contender(claim); each != NULL;
         each = uvzk__claim_next_contender(each)) {
        if (uvzk__contender_holds(each) && index-- == 0) {
            return each->path;
        }
    }
    return NULL;
}

/* --------------------------------------------------------------- the plain kind */

void uvzk__claim_plain_granted(struct uvzk__contender *contender)
{
    struct uvzk__claim *claim = contender->claim;
    int64_t token = 0;

    /* The claim is HELD already, is given up, or is being emptied; or another of its
     * contenders still waits. */
    if (claim->state != UVZK__CLAIM_ASKING ||
        claim->held_count < claim->contender_count) {
        return;
    }
    for (struct uvzk__contender *each = uvzk__claim_first_contender(claim); each != NULL;
         each = uvzk__claim_next_contender(each)) {
        int64_t czxid = each->node.place.czxid;
        token = czxid > token ? czxid : token;
    }
    uvzk__claim_grant(claim, token);
}

void uvzk__claim_plain_ungranted(struct uvzk__contender *contender)
{
    uvzk__claim_ungrant(contender->claim);
}

void uvzk__claim_plain_ended(struct uvzk__contender *contender, int code)
{
    uvzk__claim_end(contender->claim, code);
}

const struct uvzk__claim_kind uvzk__claim_plain = {
    .granted = uvzk__claim_plain_granted,
    .ungranted = uvzk__claim_plain_ungranted,
    .ended = uvzk__claim_plain_ended,
};

/* ------------------------------------------------- the events of its contenders */

/* The claim's kind decides what a grant or an end means for the claim as a whole. Here is
 * what is the same for all kinds: the count of the contenders that hold, the status that
 * the release reports, and contenders that have no claim: orphans, and those whose delete
 * the ACL refuses. */
static void contender_user_granted(struct uvzk__contender *contender)
{
    struct uvzk__claim *claim = contender->claim;

    claim->held_count++;
    claim->kind->granted(contender);
}

static void hold_ended(struct uvzk__contender *contender)
{
    contender->claim->held_count--;
}

static void contender_user_ungranted(struct uvzk__contender *contender)
{
    contender->claim->kind->ungranted(contender);
}

static void contender_user_ended(struct uvzk__contender *contender, int code)
{
    contender->claim->kind->ended(contender, code);
}

/* The status that a release reports for a znode that is gone. */
static int release_status_of(const struct uvzk__node *node)
{
    if (node->status == UVZK_EDELETED) {
        return UVZK_ELOST; /* another client deleted it before our delete */
    }
    return node->status != 0 ? node->status : node->deleted ? 0 : UVZK_ELOST;
}

/* The contender leaves its claim, which records what happened to the znode. An orphan has
 * no claim. */
static void detach_claim(struct uvzk__contender *contender, int status)
{
    struct uvzk__claim *claim = contender->claim;

    if (contender->kind->orphan) {
        return;
    }
    /* One that only admits is not part of the hold, so its delete does not decide the
     * release's status. */
    if (!contender->kind->admits) {
        uvzk__claim_set_release_status(claim, status);
    }
    if (claim->kind->contender_gone != NULL) {
        claim->kind->contender_gone(contender, status);
    }
    uvzk__claim_detach(contender);
}

/* The claim ends although the znode still exists, because its delete may be refused for a
 * long time. The contender continues without the claim (acl_retry.h). */
static void contender_user_undeletable(struct uvzk__contender *contender)
{
    int status = contender->node.status;

    detach_claim(contender, status != 0 ? status : UVZK_ENOAUTH);
}

static void contender_user_over(struct uvzk__contender *contender)
{
    /* It has left its claim already. */
    if (contender->state == UVZK__CONTENDER_UNDELETABLE) {
        uvzk__undeletable_gone(contender);
    } else {
        detach_claim(contender, release_status_of(&contender->node));
    }
}

static bool may_delete(struct uvzk__contender *contender)
{
    if (contender->state == UVZK__CONTENDER_UNDELETABLE) {
        return uvzk__undeletable_take_turn(contender);
    }
    /* An orphan was identified by a listing (divergence.h). */
    return contender->kind->orphan || contender->claim->kind->may_delete == NULL ||
           contender->claim->kind->may_delete(contender);
}

static bool grant_notified(const struct uvzk__contender *contender)
{
    return uvzk__claim_grant_notified(contender->claim);
}

static void contender_user_queued(struct uvzk__contender *contender, uint64_t ahead)
{
    uvzk__claim_queued(contender->claim, ahead);
}

static bool any_try_once(const struct uvzk__session *session)
{
    return !uvzk__list_empty(&session->claims->try_once);
}

static void has_to_wait(struct uvzk__contender *contender)
{
    uvzk__claim_end_try_once(contender->claim);
}

static void contender_user_data(const struct uvzk__contender *contender,
                                const void **bytes, size_t *length)
{
    const struct uvzk__claim *claim = contender->claim;

    *bytes = NULL;
    *length = 0;
    if (claim->has_data) {
        *bytes = uvzk__claim_data(claim);
        *length = uvzk__claim_data_length(claim);
    }
}

const struct uvzk__contender_user uvzk__claim_contender_user = {
    .granted = contender_user_granted,
    .hold_ended = hold_ended,
    .ungranted = contender_user_ungranted,
    .ended = contender_user_ended,
    .undeletable = contender_user_undeletable,
    .over = contender_user_over,
    .may_delete = may_delete,
    .grant_notified = grant_notified,
    .queued = contender_user_queued,
    .any_try_once = any_try_once,
    .has_to_wait = has_to_wait,
    .own_node_read = uvzk__revocation_read,
    .data = contender_user_data,
};

/* ----------------------------------------------------------- until when it is valid */

/* [P2] A multi lock is valid as long as each of its members is. The members' claims may
 * be in other sessions than this claim, each with its own proof, or may be persistent. So
 * only the members' proofs count, and the earliest one decides. */
static uint64_t members_valid_until(const struct uvzk__claim *claim)
{
    uint64_t until = UINT64_MAX;
    const struct uvzk__claim *member;

    for (uint32_t i = 0; (member = claim->kind->member(claim, i)) != NULL; i++) {
        uint64_t one = uvzk__claim_valid_until(member);
        until = one < until ? one : until;
    }
    return until;
}

/* [P2] A hold is not valid beyond its max_hold_ms, so code that has copied the end of the
 * validity stops before the lock is released. */
uint64_t uvzk__claim_valid_until(const struct uvzk__claim *claim)
{
    uint64_t limit =
        claim->limited ? uvzk__hold_limit_end(uvzk__claim_hold_limit(claim)) : UINT64_MAX;

    if (uvzk__is_broken(claim->session)) {
        return 0;
    }
    uint64_t proved = claim->kind->member != NULL ? members_valid_until(claim)
                      : claim->persistent         ? UINT64_MAX
                                                  : uvzk__validity_end(claim->session);
    return proved < limit ? proved : limit;
}

bool uvzk__claim_holds(const struct uvzk__claim *claim)
{
    return claim->state == UVZK__CLAIM_HELD &&
           uvzk__validity_lasts(claim->session, uvzk__claim_valid_until(claim));
}

/* ------------------------------------------------- what the room keeps of a session */

void uvzk__claims_init(struct uvzk__claims *claims)
{
    uvzk__list_init(&claims->locks);
    uvzk__list_init(&claims->try_once);
    uvzk__list_init(&claims->to_withdraw);
}

void uvzk__claims_free(struct uvzk__claims *claims)
{
    uvzk__free(claims->user_text);
}

char *uvzk__claims_user_text(struct uvzk__session *session, size_t size)
{
    struct uvzk__claims *claims = session->claims;

    if (claims->user_text == NULL || size > claims->user_text_size) {
        /* One byte more, so that a size of 0 yields a buffer too. */
        char *larger = uvzk__realloc(claims->user_text, size + 1);
        if (larger == NULL) {
            return NULL;
        }
        claims->user_text = larger;
        claims->user_text_size = size;
    }
    return claims->user_text;
}
