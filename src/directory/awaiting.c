#include "directory/awaiting.h"

#include "directory/contender.h"
#include "directory/foreigners.h"
#include "directory/queue.h"

static const struct uvzk__contender *member_at(const struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF((uintptr_t)link, struct uvzk__contender, in_queue);
}

/* ------------------------------------------------------------ before it has a place */

/* The moment it was asked for; without a connection not before that was lost. */
static uint64_t since(const struct uvzk__contender *contender)
{
    const struct uvzk__session *session = &uvzk__client_of(contender)->session;
    uint64_t lost =
        uvzk__session_is_connected(session) ? 0 : uvzk__session_lost_ms(session);

    return contender->first_attempt_ms > lost ? contender->first_attempt_ms : lost;
}

bool uvzk__contender_awaits_place(const struct uvzk__contender *contender,
                                  struct uvzk__awaiting *awaiting)
{
    enum uvzk__node_state state = uvzk__node_state(&contender->node);

    *awaiting = (struct uvzk__awaiting){.since_ms = since(contender)};
    if (!uvzk__session_is_connected(&uvzk__client_of(contender)->session)) {
        awaiting->kind = UVZK_WAITS_FOR_CONNECTION;
    } else if (state == UVZK__NODE_PARENTS) {
        awaiting->kind = UVZK_WAITS_FOR_DIRECTORY;
    } else if (contender->standing == UVZK__STRANGER) {
        awaiting->kind = UVZK_WAITS_FOR_ZNODE; /* it stands on no list of the others' */
    } else {
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ who is before it */

/* Of ours that wait before it, and of them whether it has to wait for any: a reader does
 * not for readers. */
struct before {
    uint64_t count;
    bool stops;
};

static void count(struct before *before, const struct uvzk__contender *contender,
                  const struct uvzk__contender *other)
{
    before->count++;
    before->stops |= !contender->shared || !other->shared;
}

static struct before ours_before(const struct uvzk__contender *contender, size_t most)
{
    const struct uvzk__queue *queue = contender->queue;
    const struct uvzk__link *link =
        uvzk__ring_prev(&queue->members, &contender->in_queue);
    struct before before = {0, false};

    for (; link != NULL && before.count < most;
         link = uvzk__ring_prev(&queue->members, link)) {
        count(&before, contender, member_at(link));
    }
    for (link = uvzk__ring_first(&queue->holders); link != NULL && before.count < most;
         link = uvzk__ring_next(&queue->holders, link)) {
        count(&before, contender, member_at(link));
    }
    return before;
}

/* Given back, and still being deleted. */
static uint64_t leaving_before(const struct uvzk__contender *contender, size_t most)
{
    const struct uvzk__ring *leaving = &contender->queue->leaving;
    struct before before = {0, false};

    for (const struct uvzk__link *link = uvzk__ring_first(leaving);
         link != NULL && before.count < most; link = uvzk__ring_next(leaving, link)) {
        if (uvzk__place_compare(uvzk__node_place(&member_at(link)->node),
                                uvzk__node_place(&contender->node)) >= 0) {
            break;
        }
        count(&before, contender, member_at(link));
    }
    return before.stops ? before.count : 0;
}

void uvzk__contender_awaits(const struct uvzk__contender *contender, size_t most,
                            struct uvzk__awaiting *awaiting)
{
    const struct uvzk__queue *queue = contender->queue;
    const struct uvzk__foreigner *blocker;
    struct before ours;

    if (uvzk__contender_awaits_place(contender, awaiting)) {
        return;
    }
    blocker = uvzk__blocker(queue, contender);
    ours = ours_before(contender, most);
    awaiting->ahead = ours.count + uvzk__foreigners_before(queue, contender);
    if (blocker != NULL) {
        awaiting->kind = UVZK_WAITS_FOR_OTHERS;
        awaiting->directory = queue->path->text;
        awaiting->name = blocker->name;
    } else if (ours.stops && !uvzk__contender_downgraded(contender)) {
        awaiting->kind = UVZK_WAITS_FOR_OURS;
    } else if (!contender->covered) {
        awaiting->kind = UVZK_WAITS_FOR_PLACE;
        awaiting->ahead = 0;
    } else {
        awaiting->ahead = leaving_before(contender, most);
        awaiting->kind = awaiting->ahead > 0 ? UVZK_WAITS_FOR_OURS : UVZK_WAITS_FOR_PROOF;
    }
}
