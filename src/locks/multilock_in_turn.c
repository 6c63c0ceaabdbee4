/* SPDX-License-Identifier: Apache-2.0 */
/* A claim of a multi lock whose members are acquired one after the other, each by
 * uvzk_lock_acquire, as a user would do it. multilock.c makes and begins the claim.
 *
 *   acquire the first -- granted --> acquire the next -- ... granted --> the claim holds
 *         |                                |                                 |
 *         `----- an acquire fails, a member is lost, or the claim is given up: members
 *                that hold are released, the last one first, and the pending acquire is
 *                cancelled ---> the claim is freed
 *
 * The claim has no contenders of its own, so the claims of the members, which may be in
 * other sessions, answer for its paths and its validity (`member` of the claim_kind).
 * Each member keeps a reference to the claim from its acquire until its last callback. */
#include "claim/acquisition.h"

#include "claim/claim.h"
#include "claim/hold_calls.h"
#include "claim/lock.h"
#include "claim/timed_out_wait.h"
#include "directory/contender.h"
#include "directory/settle/creates.h"
#include "locks/multilock.h"
#include "locks/semaphore/semaphore.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__MEMBER_, IDLE, ASKED),
    UVZK__STATE(UVZK__MEMBER_, ASKED, GRANTED, DONE),
    UVZK__STATE(UVZK__MEMBER_, GRANTED, RELEASING, LOSING),
    UVZK__STATE(UVZK__MEMBER_, RELEASING, DONE),
    UVZK__STATE(UVZK__MEMBER_, LOSING, DONE),
    UVZK__FINAL(UVZK__MEMBER_, DONE),
};

struct member {
    uvzk_hold_t request; /* the acquire of the member; its data is this struct */
    struct in_turn *in_turn;
    struct uvzk__member_error error;
    uint8_t state; /* enum uvzk__member_state */
};

/* claim->extra. */
struct in_turn {
    struct uvzk__claim *claim; /* referenced by each member from ASKED until DONE */
    struct uvzk__lock *lock;   /* referenced until the claim is freed */
    size_t count, granted;     /* how many members; how many were granted */
    bool try_once;             /* the acquire has UVZK_TRY_ONCE */
    struct member members[];   /* in the order of their paths */
};

static bool invariant_holds(const void *object)
{
    const struct member *member = object;

    switch (member->state) {
    case UVZK__MEMBER_GRANTED:
    case UVZK__MEMBER_RELEASING:
        return member->request.impl != NULL;
    case UVZK__MEMBER_DONE:
        return member->request.impl == NULL;
    default:
        return true;
    }
}

const struct uvzk__machine uvzk__member_machine =
    UVZK__MACHINE("multi lock's member", table, struct member, state, invariant_holds);

static struct in_turn *in_turn_of(const struct uvzk__claim *claim)
{
    return claim->extra;
}

/* No callback of this member follows. The claim may have been freed when this returns,
 * and the member with it. */
static void multilock_in_turn_done(struct member *member)
{
    uvzk__move(member->in_turn->claim->session, &uvzk__member_machine, member,
               UVZK__MEMBER_DONE);
    uvzk__claim_unref(member->in_turn->claim);
}

/* The first failure of a member ends the whole claim with its status. */
static void multilock_in_turn_failed(struct member *member, int status)
{
    uvzk__member_error_report(&member->error, status);
    uvzk__claim_end(member->in_turn->claim, status);
}

static void member_released(uvzk_hold_t *hold, int status)
{
    struct member *member = hold->data;
    struct uvzk__claim *claim = member->in_turn->claim;

    uvzk__member_error_report(&member->error, status);
    uvzk__claim_set_release_status(claim, status);
    multilock_in_turn_done(member);
}

static void release_members(struct in_turn *in_turn);

/* Called as soon as the member is lost, before the end of the turn: from this moment the
 * multi lock is no longer held. The other members are released only in member_lost,
 * because the code that is ending this member may still refer to their claims. */
static void member_losing(uvzk_hold_t *hold, int reason)
{
    struct member *member = hold->data;

    uvzk__move(member->in_turn->claim->session, &uvzk__member_machine, member,
               UVZK__MEMBER_LOSING);
    multilock_in_turn_failed(member, reason);
}

static void member_lost(uvzk_hold_t *hold, int reason)
{
    struct member *member = hold->data;

    (void)reason;
    release_members(member->in_turn);
    multilock_in_turn_done(member);
}

static void ask_next(struct in_turn *in_turn);

/* The member was granted, or its acquire has ended. After a cancel, which release_members
 * sends, the claim has been given up already, and the status is no failure. The claim of a
 * member that is granted has been given up if another member is LOSING, in a session whose
 * turn has not come yet: then member_lost releases this one too. */
static void member_acquired(uvzk_hold_t *hold, int status)
{
    struct member *member = hold->data;
    struct in_turn *in_turn = member->in_turn;

    if (status != 0) {
        if (!uvzk__claim_is_given_up(in_turn->claim)) {
            multilock_in_turn_failed(member, status);
        }
        multilock_in_turn_done(member);
        return;
    }
    uvzk__move(member->in_turn->claim->session, &uvzk__member_machine, member,
               UVZK__MEMBER_GRANTED);
    in_turn->granted++;
    uvzk__hold_intercept_loss(hold, member_losing);
    if (!uvzk__claim_is_given_up(in_turn->claim)) {
        ask_next(in_turn);
    }
}

/* The token of a multi lock is the token of one member. It may be compared with the token
 * of a hold of another lock which a different member excludes. So no other hold may share
 * the token: the member's znode is created alone, and a ticket sharer gets a ticket of
 * its own. */
static void create_alone(const struct member *member)
{
    const struct uvzk__acquisition *acquisition = member->request.impl;
    struct uvzk__claim *claim = acquisition->claim;
    struct uvzk__link *link;

    if (claim == NULL) { /* the acquire was refused without a request */
        return;
    }
    uvzk__semaphore_own_ticket(claim);
    for (link = uvzk__ring_first(&claim->contenders); link != NULL;
         link = uvzk__ring_next(&claim->contenders, link)) {
        uvzk__create_alone(UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim));
    }
}

static void multilock_in_turn_ask(struct member *member)
{
    struct in_turn *in_turn = member->in_turn;
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.owner = (void *)(uintptr_t)uvzk__claim_owner(in_turn->claim);
    options.timeout_ms = in_turn->try_once ? UVZK_TRY_ONCE : UVZK_WAIT_FOREVER;
    options.node_data = uvzk__claim_data(in_turn->claim);
    options.node_data_length = uvzk__claim_data_length(in_turn->claim);
    options.max_hold_ms = UVZK_HOLD_UNLIMITED; /* the multi lock's own limit counts */
    uvzk__claim_ref(in_turn->claim);
    uvzk__move(member->in_turn->claim->session, &uvzk__member_machine, member,
               UVZK__MEMBER_ASKED);
    /* The user may have closed the member since the multi lock was requested. */
    int status = uvzk__multilock_member_check(member->error.member);
    if (status == 0) {
        status = uvzk_lock_acquire(member->error.member->handle, &member->request,
                                   &options, member_acquired, member_lost);
    }
    if (status == 0) {
        create_alone(member);
    } else {
        multilock_in_turn_failed(member, status);
        multilock_in_turn_done(member);
    }
}

/* Acquires the next member. If all are granted, the claim holds, and its token is the
 * greatest of the members' tokens. */
static void ask_next(struct in_turn *in_turn)
{
    int64_t token = 0;

    if (in_turn->granted < in_turn->count) {
        multilock_in_turn_ask(&in_turn->members[in_turn->granted]);
        return;
    }
    for (size_t i = 0; i < in_turn->count; i++) {
        int64_t one = uvzk_hold_token(&in_turn->members[i].request);
        token = one > token ? one : token;
    }
    uvzk__claim_grant(in_turn->claim, token);
}

static bool one_is_losing(const struct in_turn *in_turn)
{
    for (size_t i = 0; i < in_turn->count; i++) {
        if (in_turn->members[i].state == UVZK__MEMBER_LOSING) {
            return true;
        }
    }
    return false;
}

/* Releases the members that hold, the last one first, and cancels the pending acquire. */
static void release_members(struct in_turn *in_turn)
{
    struct uvzk__claim *claim = in_turn->claim;

    uvzk__claim_ref(claim); /* the loop needs `in_turn`, which is freed with the claim */
    for (size_t i = in_turn->count; i > 0; i--) {
        struct member *member = &in_turn->members[i - 1];
        if (member->state == UVZK__MEMBER_GRANTED) {
            uvzk__move(member->in_turn->claim->session, &uvzk__member_machine, member,
                       UVZK__MEMBER_RELEASING);
            (void)uvzk_hold_release(&member->request, member_released);
        } else if (member->state == UVZK__MEMBER_ASKED) {
            (void)uvzk_hold_cancel(&member->request);
        }
    }
    uvzk__claim_unref(claim);
}

/* The claim has been given up. If a member is LOSING, member_lost releases the others at
 * the end of the turn. Always true: the claim has no contenders that claim.c could
 * withdraw. */
static bool keeps_contenders(struct uvzk__claim *claim)
{
    if (!one_is_losing(in_turn_of(claim))) {
        release_members(in_turn_of(claim));
    }
    return true;
}

static const struct uvzk__claim *member_claim(const struct uvzk__claim *claim,
                                              uint32_t index)
{
    const struct in_turn *in_turn = in_turn_of(claim);

    return index < in_turn->count ? uvzk__hold_of(&in_turn->members[index].request)
                                  : NULL;
}

/* The claim waits for what the pending member waits for. */
static void wait_reason(const struct uvzk__claim *claim, size_t most,
                        struct uvzk__wait_reason *reason)
{
    const struct in_turn *in_turn = in_turn_of(claim);

    for (size_t i = 0; i < in_turn->count; i++) {
        const struct uvzk__acquisition *asked = in_turn->members[i].request.impl;
        if (in_turn->members[i].state == UVZK__MEMBER_ASKED && asked != NULL &&
            asked->claim != NULL) {
            uvzk__claim_wait_reason(asked->claim, most, reason);
        }
    }
}

static void multilock_in_turn_freed(struct uvzk__claim *claim)
{
    struct in_turn *in_turn = in_turn_of(claim);

    if (in_turn != NULL) {
        uvzk__lock_unref(in_turn->lock);
        uvzk__free(in_turn);
    }
}

const struct uvzk__claim_kind uvzk__claim_in_turn = {
    .keeps_contenders = keeps_contenders,
    .member = member_claim,
    .freed = multilock_in_turn_freed,
    .wait_reason = wait_reason,
};

int uvzk__in_turn_prepare(struct uvzk__claim *claim,
                          const struct uvzk__multilock *multilock,
                          const uvzk_acquire_options_t *options)
{
    struct in_turn *in_turn =
        uvzk__calloc(1, sizeof(*in_turn) + multilock->count * sizeof(struct member));

    if (in_turn == NULL) {
        return UV_ENOMEM;
    }
    claim->extra = in_turn;
    in_turn->claim = claim;
    in_turn->lock = claim->lock;
    uvzk__lock_ref(in_turn->lock);
    in_turn->count = multilock->count;
    in_turn->try_once = options->timeout_ms == UVZK_TRY_ONCE;
    for (size_t i = 0; i < in_turn->count; i++) {
        in_turn->members[i].request.data = &in_turn->members[i];
        in_turn->members[i].in_turn = in_turn;
        uvzk__member_error_init(&in_turn->members[i].error, claim, multilock,
                                &multilock->members[i]);
    }
    return 0;
}

void uvzk__in_turn_begin(struct uvzk__claim *claim)
{
    ask_next(in_turn_of(claim));
}
