#include "directory/succession.h"

#include "directory/contender.h"
#include "directory/foreigners.h"
#include "directory/guard.h"
#include "directory/queue.h"
#include "directory/vouching.h"
#include "engine/turn.h"
#include "proof/prover.h"

static struct uvzk__contender *member_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

/* ------------------------------------------------------------------ who is next */

static bool waits_for_holders(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;

    if (uvzk__contender_downgraded(contender)) {
        return false;
    }
    return contender->shared ? uvzk__writers_held(&queue->tallies) > 0
                             : !uvzk__ring_empty(&queue->holders);
}

static bool leaves_before(struct uvzk__link *link, const void *place)
{
    const struct uvzk__contender *contender = place;
    int order = uvzk__place_compare(uvzk__node_place(&member_at(link)->node),
                                    uvzk__node_place(&contender->node));

    return order < 0 || (order == 0 && uvzk__contender_downgraded(contender));
}

/* NULL: nobody does. */
static struct uvzk__link *last_leaving_before(const struct uvzk__contender *contender)
{
    const struct uvzk__ring *leaving = &contender->queue->leaving;
    struct uvzk__link *behind = uvzk__ring_behind(leaving, leaves_before, contender);

    return behind == NULL ? uvzk__ring_last(leaving) : uvzk__ring_prev(leaving, behind);
}

/* What is left of ours before this one, and has to go first. */
struct remains {
    bool any;
    bool standing_writer; /* held, and stands: everybody behind waits for it */
};

/* Whoever let go last is asked first: a writer's delete seldom is on its way yet. */
static struct remains remains_before(const struct uvzk__contender *contender)
{
    const struct uvzk__ring *leaving = &contender->queue->leaving;
    struct remains remains = {false, false};

    for (struct uvzk__link *link = last_leaving_before(contender);
         link != NULL && !remains.standing_writer;
         link = uvzk__ring_prev(leaving, link)) {
        const struct uvzk__contender *left = member_at(link);
        if (!left->shared || !contender->shared) {
            remains.any = true;
            remains.standing_writer = left->reigned && !left->shared &&
                                      !uvzk__node_is_in_flight(&left->node) &&
                                      !uvzk__node_is_doubted(&left->node);
        }
    }
    return remains;
}

/* The next in line, if it waits for nobody of ours; else NULL. */
struct uvzk__contender *uvzk__front_of(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = uvzk__next_in_line(queue);

    if (next == NULL || waits_for_holders(next) ||
        (!(queue->client->tuning & UVZK__TUNE_LOCAL_HANDOVER) &&
         remains_before(next).any)) {
        return NULL;
    }
    return next;
}

static bool waits_for_nobody_else(const struct uvzk__contender *next)
{
    return next != NULL && uvzk__node_state(&next->node) == UVZK__NODE_STANDING &&
           next->covered && uvzk__blocker(next->queue, next) == NULL;
}

struct uvzk__contender *uvzk__heir(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = uvzk__next_in_line(queue);

    return queue->kind->discipline != UVZK__DRIVEN && waits_for_nobody_else(next) &&
                   !waits_for_holders(next)
               ? next
               : NULL;
}

bool uvzk__next_is_ours(struct uvzk__client *client, enum uvzk__discipline discipline,
                        const char *path)
{
    struct uvzk__queue *queue = uvzk__queue_find(client, discipline, path);

    return queue != NULL && waits_for_nobody_else(uvzk__next_in_line(queue));
}

/* ------------------------------------------------------------ whether it may be granted */

enum voucher { VOUCHED, ON_CREDIT, ASK_GUARD, ASK_PROOF, AWAIT_DELETE };

/* Whether the front's node is known to have stood when the last node that it had to
 * wait for went; if not, what will tell. */
static enum voucher voucher_of(struct uvzk__queue *queue, struct uvzk__contender *front,
                               struct remains remains)
{
    if (uvzk__contender_downgraded(front) && uvzk__writers_held(&queue->tallies) > 0) {
        return VOUCHED; /* created while its writer held, which holds on */
    }
    if (remains.standing_writer && uvzk__credits(&queue->tallies) < UVZK__CREDITS_MAX) {
        return ON_CREDIT; /* that writer goes only with a check of the front */
    }
    if (remains.any) {
        return AWAIT_DELETE;
    }
    if (uvzk__is_vouched_for(front)) {
        return VOUCHED;
    }
    if (uvzk__guard_is_armed(front)) {
        return uvzk__guard_vouches(front) ? VOUCHED : ASK_PROOF;
    }
    return front->shared || !uvzk__may_guard(front) ? ASK_PROOF : ASK_GUARD;
}

/* One proof serves all readers up to the next writer, ours or foreign; whoever comes later
 * has the next one. The front may be gone afterwards. */
static void want_proof(struct uvzk__queue *queue, struct uvzk__contender *front)
{
    struct uvzk__link *link = uvzk__ring_next(&queue->members, &front->in_queue);
    bool is_first = front->shared && !uvzk__prover_is_wanted(&front->witness);

    if (!uvzk__contender_prove(front) || !is_first) {
        return;
    }
    int32_t end = uvzk__foreigners_first_writer(queue);
    for (; link != NULL; link = uvzk__ring_next(&queue->members, link)) {
        struct uvzk__contender *member = member_at(link);
        if (!member->shared || !member->covered ||
            uvzk__node_place(&member->node).sequence >= end) {
            return;
        }
        if (uvzk__node_state(&member->node) == UVZK__NODE_STANDING &&
            !uvzk__prover_is_wanted(&member->witness)) {
            uvzk__prover_want(uvzk__client_of(member), &member->witness);
        }
    }
}

/* Nobody else can have held since the listing that showed nobody else before this one; which
 * is asked of tickets only (leases.h). */
static void reign(struct uvzk__contender *front)
{
    if (front->ticket) {
        uvzk__queue_reigns(front->queue,
                           front->clear_stamp != 0
                               ? front->clear_stamp
                               : uvzk__stamp(&uvzk__client_of(front)->submissions));
    }
    uvzk__contender_reigned(front);
    uvzk__contender_grant(front);
}

static bool grant_if_vouched(struct uvzk__queue *queue, struct uvzk__contender *front)
{
    struct remains remains = remains_before(front);

    switch (voucher_of(queue, front, remains)) {
    case VOUCHED:
        reign(front);
        return true;
    case ON_CREDIT:
        uvzk__contender_on_credit(front);
        reign(front);
        return true;
    case ASK_GUARD:
        uvzk__guard(front);
        break;
    case ASK_PROOF:
        want_proof(queue, front);
        break;
    case AWAIT_DELETE:
        break; /* its reply settles the queue again */
    }
    return false;
}

/* Whether somebody is about to read on in the place of a writer that may be gone. */
static bool downgrade_pending(struct uvzk__queue *queue)
{
    struct uvzk__link *link;

    for (link = uvzk__ring_first(&queue->strangers); link != NULL;
         link = uvzk__ring_next(&queue->strangers, link)) {
        if (uvzk__contender_downgraded(member_at(link)) &&
            uvzk__node_is_wanted(&member_at(link)->node)) {
            return true;
        }
    }
    return false;
}

/* Behind one alone its guard vouches when that one goes. Behind more a listing will tell
 * whether all have gone, and vouches too. A ticket's is armed in any case: leases that are
 * found after an outage count while it has kept its place. */
static bool is_next_but_one(const struct uvzk__queue *queue,
                            const struct uvzk__contender *front)
{
    return front->ticket || (uvzk__foreigners_block_once(queue, front) &&
                             !uvzk__is_doubted(&queue->freshness));
}

bool uvzk__grant_front(struct uvzk__queue *queue)
{
    struct uvzk__contender *front = uvzk__front_of(queue);

    if (front == NULL || !front->covered ||
        uvzk__node_state(&front->node) != UVZK__NODE_STANDING) {
        return false;
    }
    if (uvzk__blocker(queue, front) != NULL) {
        if (is_next_but_one(queue, front)) {
            uvzk__guard(front);
        }
    } else if (!uvzk__prover_grants(queue->client)) {
        want_proof(queue, front);
    } else if (front->shared || !downgrade_pending(queue)) {
        return grant_if_vouched(queue, front);
    }
    return false;
}
