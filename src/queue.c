#include "queue.h"

#include <stdio.h>
#include <string.h>

#include "contender.h"
#include "guard.h"
#include "listing.h"
#include "parents.h"
#include "path.h"
#include "predecessor.h"
#include "prover.h"
#include "submission.h"
#include "turn.h"
#include "view.h"

/* Before a request is repeated that failed for a reason that may pass. */
#define REST_MS 100

static struct uvzk__contender *member_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

/* ------------------------------------------------------------------ its life */

static void rested(struct uvzk__timed *timed)
{
    struct uvzk__queue *queue = UVZK__CONTAINER_OF(timed, struct uvzk__queue, rest);

    queue->resting = false;
    uvzk__queue_touch(queue);
}

/* Of every discipline, and of the longest path of a directory. */
#define KEY_SIZE (1 + UVZK__PATH_MAX + sizeof("/leases"))

static void write_key(char key[KEY_SIZE], enum uvzk__discipline discipline,
                      const char *path)
{
    (void)snprintf(key, KEY_SIZE, "%c%s", "mrsd"[discipline], path);
}

struct uvzk__queue *uvzk__queue_find(struct uvzk__client *client,
                                     enum uvzk__discipline discipline, const char *path)
{
    struct uvzk__queue *queue;
    char key[KEY_SIZE];

    write_key(key, discipline, path);
    HASH_FIND_STR(client->queues, key, queue);
    return queue;
}

static bool anyone_wanted(struct uvzk__link *head, bool writers_only)
{
    for (struct uvzk__link *link = head->next; link != head; link = link->next) {
        if (member_at(link)->node.wanted && !(writers_only && member_at(link)->shared)) {
            return true;
        }
    }
    return false;
}

bool uvzk__queue_occupied(struct uvzk__client *client, enum uvzk__discipline discipline,
                          const char *path, bool writers_only)
{
    struct uvzk__queue *queue = uvzk__queue_find(client, discipline, path);

    return queue != NULL && ((writers_only ? queue->writers_held > 0
                                           : !uvzk__list_empty(&queue->holders)) ||
                             anyone_wanted(&queue->members, writers_only) ||
                             anyone_wanted(&queue->strangers, writers_only));
}

static void init_lists(struct uvzk__queue *queue)
{
    uvzk__list_init(&queue->holders);
    uvzk__list_init(&queue->members);
    uvzk__list_init(&queue->leaving);
    uvzk__list_init(&queue->strangers);
    uvzk__list_init(&queue->dirty);
    uvzk__list_init(&queue->behind_scout);
}

struct uvzk__queue *uvzk__queue_of(struct uvzk__client *client,
                                   const struct uvzk__directory_kind *kind,
                                   const char *path)
{
    struct uvzk__queue *queue = uvzk__queue_find(client, kind->discipline, path);
    char key[KEY_SIZE];

    if (queue != NULL) {
        return queue;
    }
    queue = uvzk__calloc(1, sizeof(*queue) + kind->extra_size);
    if (queue == NULL) {
        return NULL;
    }
    write_key(key, kind->discipline, path);
    queue->client = client;
    queue->kind = kind;
    queue->extra = queue + 1;
    queue->rest.due = rested;
    uvzk__predecessor_init(queue);
    init_lists(queue);
    if (kind->init != NULL) {
        kind->init(queue);
    }
    queue->key = uvzk__strdup(key);
    if (queue->key != NULL) {
        queue->path = queue->key + 1;
        HASH_ADD_KEYPTR(hh, client->queues, queue->key, strlen(queue->key), queue);
    }
    if (queue->key == NULL || queue->hh.tbl == NULL) {
        uvzk__free(queue->key);
        uvzk__free(queue);
        return NULL;
    }
    return queue;
}

void uvzk__queue_touch(struct uvzk__queue *queue)
{
    if (uvzk__list_empty(&queue->dirty)) {
        uvzk__list_append(&queue->client->dirty, &queue->dirty);
        uvzk__wake(queue->client);
    }
}

void uvzk__queues_touch(struct uvzk__client *client)
{
    struct uvzk__queue *queue, *next;

    HASH_ITER(hh, client->queues, queue, next)
    {
        uvzk__queue_touch(queue);
    }
}

void uvzk__queue_departed(struct uvzk__queue *queue)
{
    queue->departures++;
}

void uvzk__queue_rest(struct uvzk__queue *queue)
{
    queue->resting = true;
    uvzk__timed_set(queue->client, &queue->rest, uvzk__now(queue->client) + REST_MS);
}

void uvzk__queue_free(struct uvzk__queue *queue)
{
    struct uvzk__client *client = queue->client;

    uvzk__predecessor_forget(queue);
    uvzk__view_clear(queue);
    uvzk__timed_clear(client, &queue->rest);
    uvzk__list_remove(&queue->dirty);
    HASH_DEL(client->queues, queue);
    if (queue->kind->freed != NULL) {
        queue->kind->freed(queue);
    }
    uvzk__free(queue->parent);
    uvzk__free(queue->key);
    uvzk__free(queue);
}

void uvzk__queue_watches_lost(struct uvzk__queue *queue)
{
    if (queue->kind->watches_lost != NULL) {
        queue->kind->watches_lost(queue);
    }
    uvzk__predecessor_forget(queue);
    uvzk__queue_touch(queue);
}

void uvzk__queue_session_ended(struct uvzk__queue *queue)
{
    queue->doing = UVZK__QUEUE_IDLE;
    uvzk__queue_watches_lost(queue);
    uvzk__view_clear(queue);
    queue->list_again = false;
    queue->fresh = false;
    queue->newest_stamp = queue->listed_stamp;
    uvzk__queue_touch(queue);
}

/* ---------------------------------------------------------------- the order */

static void deletes_matter(struct uvzk__contender *contender, uint64_t last,
                           uint64_t last_exclusive)
{
    if (contender->delete_stamp < last) {
        contender->delete_stamp = last;
    }
    if (contender->exclusive_delete_stamp < last_exclusive) {
        contender->exclusive_delete_stamp = last_exclusive;
    }
}

static bool is_before(const struct uvzk__queue *queue, struct uvzk__link *link,
                      int32_t sequence)
{
    return link != &queue->members && member_at(link)->node.place.sequence < sequence;
}

/* The first of the members that is not before this number, looked for from both ends:
 * who goes is nearly always the first of all, or a newcomer. */
static struct uvzk__link *first_behind(struct uvzk__queue *queue, int32_t sequence)
{
    struct uvzk__link *early = queue->members.next, *late = queue->members.prev;

    while (is_before(queue, early, sequence) && !is_before(queue, late, sequence)) {
        early = early->next;
        late = late->prev;
    }
    return is_before(queue, early, sequence) ? late->next : early;
}

/* Only the next one behind it is told: the others are when they come to stand in its
 * place. Who has no place yet, and may be behind it, asks the queue. */
void uvzk__queue_deletes(struct uvzk__contender *leaving, uint64_t stamp)
{
    struct uvzk__queue *queue = leaving->queue;
    struct uvzk__link *behind = first_behind(queue, leaving->node.place.sequence);

    queue->delete_stamp = stamp;
    if (!leaving->shared) {
        queue->exclusive_delete_stamp = stamp;
    }
    if (behind != &queue->members) {
        deletes_matter(member_at(behind), stamp, leaving->shared ? 0 : stamp);
    }
}

void uvzk__queue_leave(struct uvzk__contender *contender)
{
    struct uvzk__link *behind = contender->in_queue.next;

    if (contender->in_line && behind != &contender->queue->members) {
        deletes_matter(member_at(behind), contender->delete_stamp,
                       contender->exclusive_delete_stamp);
    }
    contender->in_line = false;
    uvzk__list_remove(&contender->in_queue);
}

/* Creates are answered in order, so the place is nearly always at the tail. */
static void insert(struct uvzk__link *head, struct uvzk__contender *contender)
{
    struct uvzk__link *at = head;

    while (at->prev != head && uvzk__place_compare(member_at(at->prev)->node.place,
                                                   contender->node.place) > 0) {
        at = at->prev;
    }
    uvzk__list_insert_before(at, &contender->in_queue);
}

void uvzk__queue_place(struct uvzk__queue *queue, struct uvzk__contender *contender)
{
    uvzk__queue_leave(contender);
    if (!uvzk__node_has_place(&contender->node)) {
        uvzk__list_append(&queue->strangers, &contender->in_queue);
        return;
    }
    if (contender->node.state == UVZK__NODE_DOOMED) {
        insert(&queue->leaving, contender);
        return;
    }
    if (contender->held) {
        uvzk__list_append(&queue->holders, &contender->in_queue);
        return;
    }
    insert(&queue->members, contender);
    contender->in_line = true;
    deletes_matter(contender, queue->delete_stamp, queue->exclusive_delete_stamp);
    if (queue->client->tuning & UVZK__TUNE_FIRST_SUFFIX && !contender->covered &&
        contender->node.place.sequence == 0) {
        contender->covered = true; /* nobody was ever there before */
        contender->clear_stamp = contender->create_stamp;
        uvzk__contender_vouch(contender, contender->create_stamp);
    }
    if (!contender->covered && contender->create_stamp > queue->newest_stamp) {
        queue->newest_stamp = contender->create_stamp;
    }
}

static struct uvzk__contender *next_in_line(struct uvzk__queue *queue)
{
    struct uvzk__link *link = queue->members.next;

    return link == &queue->members ? NULL : member_at(link);
}

static bool waits_for_holders(const struct uvzk__contender *contender)
{
    const struct uvzk__queue *queue = contender->queue;

    if (uvzk__contender_downgraded(contender)) {
        return false;
    }
    return contender->shared ? queue->writers_held > 0
                             : !uvzk__list_empty(&queue->holders);
}

/* What is left of ours before this one, and has to go first. */
struct remains {
    bool any;
    bool standing_writer; /* held, and stands: everybody behind waits for it */
    bool reigned;         /* it held, and stood when nobody else was before this one */
};

/* Its delete may be long done, and others have come and gone; but not if it stood behind
 * no foreigner's, and before this one, in the listing that showed this one clear. */
static bool reigned_until(const struct uvzk__contender *left,
                          const struct uvzk__contender *contender)
{
    return left->reigned && contender->clear_stamp != 0 &&
           left->seen_stamp >= contender->clear_stamp;
}

static struct remains remains_before(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    struct remains remains = {false, false, false};

    for (struct uvzk__link *link = queue->leaving.next; link != &queue->leaving;
         link = link->next) {
        const struct uvzk__contender *left = member_at(link);
        int order = uvzk__place_compare(left->node.place, contender->node.place);
        if (order > 0 || (order == 0 && !uvzk__contender_downgraded(contender))) {
            break;
        }
        if (!left->shared || !contender->shared) {
            remains.any = true;
            remains.reigned |= reigned_until(left, contender);
            remains.standing_writer |= left->reigned && !left->shared &&
                                       !left->node.in_flight &&
                                       !left->node.delete_unknown;
        }
    }
    return remains;
}

/* The next in line, if it waits for nobody of ours; else NULL. */
static struct uvzk__contender *front_of(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = next_in_line(queue);

    if (next == NULL || waits_for_holders(next) ||
        (!(queue->client->tuning & UVZK__TUNE_LOCAL_HANDOVER) &&
         remains_before(next).any)) {
        return NULL;
    }
    return next;
}

static bool waits_for_nobody_else(const struct uvzk__contender *next)
{
    return next != NULL && next->node.state == UVZK__NODE_STANDING && next->covered &&
           uvzk__view_blocker(next->queue, next) == NULL;
}

struct uvzk__contender *uvzk__queue_heir(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = next_in_line(queue);

    return queue->kind->discipline != UVZK__DRIVEN && waits_for_nobody_else(next) &&
                   !waits_for_holders(next)
               ? next
               : NULL;
}

bool uvzk__queue_next_is_ours(struct uvzk__client *client,
                              enum uvzk__discipline discipline, const char *path)
{
    struct uvzk__queue *queue = uvzk__queue_find(client, discipline, path);

    return queue != NULL && waits_for_nobody_else(next_in_line(queue));
}

/* ----------------------------------------------------------------- requests */

/* Ends those among the strangers that are in this state, each with this code. */
void uvzk__queue_end_strangers(struct uvzk__queue *queue, enum uvzk__node_state state,
                               int code)
{
    struct uvzk__link *link = queue->strangers.next;

    while (link != &queue->strangers) {
        struct uvzk__contender *contender = member_at(link);
        link = link->next;
        if (contender->node.state == state && contender->node.wanted) {
            uvzk__contender_end(contender, code);
        }
    }
}

void uvzk__queue_end_members(struct uvzk__queue *queue, int code)
{
    struct uvzk__link *link = queue->members.next;

    while (link != &queue->members) {
        struct uvzk__contender *contender = member_at(link);
        link = link->next;
        uvzk__contender_end(contender, code);
    }
}

/* Passing troubles are tried again: at once when the connection is back, after a
 * rest when the server had one. */
bool uvzk__queue_passing(struct uvzk__queue *queue, int status)
{
    if (status == UVZK_ETHROTTLED || status == UV_ENOMEM) {
        uvzk__queue_rest(queue);
    }
    return uvzk__is_passing(status);
}

/* The foreigner that the first in line has to wait for, or NULL. */
static const struct uvzk__foreigner *predecessor_of(struct uvzk__queue *queue)
{
    struct uvzk__contender *front = front_of(queue);

    return front == NULL || !front->covered ? NULL : uvzk__view_blocker(queue, front);
}

/* ----------------------------------------------------------------- settling */

/* A listing is asked for when the next in line is not covered, or nobody is
 * placed yet but creates are on their way (the pipeline), or somebody wants to
 * know a position. One listing serves all that have come until it leaves; those
 * further back wait until they are next. */
static bool wants_listing(struct uvzk__queue *queue)
{
    struct uvzk__contender *next = next_in_line(queue);
    bool news = queue->newest_stamp > queue->listed_stamp;

    if (next != NULL && !next->covered) {
        return true;
    }
    if (next != NULL && queue->list_again && uvzk__view_blocker(queue, next) != NULL) {
        return true;
    }
    return news && (next == NULL || queue->positions_wanted > 0) &&
           !(uvzk__list_empty(&queue->strangers) && queue->positions_wanted == 0);
}

bool uvzk__queue_has_stranger(struct uvzk__queue *queue, enum uvzk__node_state state)
{
    struct uvzk__link *link;

    for (link = queue->strangers.next; link != &queue->strangers; link = link->next) {
        if (member_at(link)->node.state == state) {
            return true;
        }
    }
    return false;
}

static void request(struct uvzk__queue *queue)
{
    const struct uvzk__foreigner *predecessor;

    if (queue->doing != UVZK__QUEUE_IDLE || queue->resting ||
        !uvzk__may_send(queue->client)) {
        return;
    }
    predecessor = predecessor_of(queue);
    if (queue->watched != NULL &&
        (predecessor == NULL ||
         strcmp(uvzk__path_name(queue->watched), predecessor->name) != 0)) {
        uvzk__predecessor_unwatch(queue);
    }
    if (uvzk__queue_has_stranger(queue, UVZK__NODE_PARENTS)) {
        uvzk__parents_make(queue);
    } else if (uvzk__queue_has_stranger(queue, UVZK__NODE_UNKNOWN) ||
               wants_listing(queue)) {
        uvzk__listing_start(queue);
    } else if (predecessor != NULL && queue->watched == NULL) {
        uvzk__predecessor_watch(queue, predecessor);
    }
}

enum voucher { VOUCHED, ON_CREDIT, ASK_GUARD, ASK_PROOF, AWAIT_DELETE };

/* Whether its node has been seen since the last node went that it had to wait for.
 * Requests are executed in the order in which they were submitted, so stamps compare what
 * has been seen with what we have done; and what we are told comes in the order in which
 * it happened, so what others have done is compared by when we heard of it. */
static bool is_vouched_for(const struct uvzk__contender *front)
{
    const struct uvzk__queue *queue = front->queue;

    return front->vouched == queue->client->settlings &&
           front->departures == queue->departures &&
           front->vouched_stamp >=
               (front->shared ? front->exclusive_delete_stamp : front->delete_stamp);
}

/* Whether the front's node is known to have stood when the last node that it had to
 * wait for went; if not, what will tell. */
static enum voucher voucher_of(struct uvzk__queue *queue, struct uvzk__contender *front,
                               struct remains remains)
{
    if (uvzk__contender_downgraded(front) && queue->writers_held > 0) {
        return VOUCHED; /* created while its writer held, which holds on */
    }
    if (remains.standing_writer && queue->credits < UVZK__CREDITS_MAX) {
        return ON_CREDIT; /* that writer goes only with a check of the front */
    }
    if (remains.any) {
        return AWAIT_DELETE;
    }
    if (is_vouched_for(front)) {
        return VOUCHED;
    }
    if (front->guarding == UVZK__GUARD_ARMED) {
        return uvzk__guard_vouches(front) ? VOUCHED : ASK_PROOF;
    }
    return front->shared || !uvzk__may_guard(front) ? ASK_PROOF : ASK_GUARD;
}

/* One proof serves all readers up to the next writer, ours or foreign; whoever comes later
 * has the next one. The front may be gone afterwards. */
static void want_proof(struct uvzk__queue *queue, struct uvzk__contender *front)
{
    struct uvzk__link *link = front->in_queue.next;
    bool is_first = front->shared && !uvzk__prover_is_wanted(&front->witness);

    if (!uvzk__contender_prove(front) || !is_first) {
        return;
    }
    int32_t end = uvzk__view_first_writer(queue);
    for (; link != &queue->members; link = link->next) {
        struct uvzk__contender *member = member_at(link);
        if (!member->shared || !member->covered || member->node.place.sequence >= end) {
            return;
        }
        if (member->node.state == UVZK__NODE_STANDING &&
            !uvzk__prover_is_wanted(&member->witness)) {
            uvzk__prover_want(member->client, &member->witness);
        }
    }
}

/* Nobody else can have held since one of ours did that has not quite gone yet, or since
 * the listing that showed nobody else before this one. */
static void reign(struct uvzk__contender *front, struct remains remains)
{
    if (!remains.reigned) {
        front->queue->reign_stamp =
            front->clear_stamp != 0 ? front->clear_stamp : front->client->stamp;
    }
    front->reigned = true;
    uvzk__contender_grant(front);
}

static bool grant_if_vouched(struct uvzk__queue *queue, struct uvzk__contender *front)
{
    struct remains remains = remains_before(front);

    switch (voucher_of(queue, front, remains)) {
    case VOUCHED:
        reign(front, remains);
        return true;
    case ON_CREDIT:
        uvzk__contender_on_credit(front);
        reign(front, remains);
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

    for (link = queue->strangers.next; link != &queue->strangers; link = link->next) {
        if (uvzk__contender_downgraded(member_at(link)) && member_at(link)->node.wanted) {
            return true;
        }
    }
    return false;
}

static bool grant_front(struct uvzk__queue *queue)
{
    struct uvzk__contender *front = front_of(queue);

    if (front == NULL || !front->covered || front->node.state != UVZK__NODE_STANDING) {
        return false;
    }
    if (uvzk__view_blocker(queue, front) != NULL) {
        uvzk__guard(front);
    } else if (!uvzk__proof_grants(&queue->client->proof, uvzk__now(queue->client))) {
        want_proof(queue, front);
    } else if (front->shared || !downgrade_pending(queue)) {
        return grant_if_vouched(queue, front);
    }
    return false;
}

/* Whoever tried once and is known to have to wait has had its answer. */
static void end_tries(struct uvzk__queue *queue)
{
    struct uvzk__link *link = queue->members.next;
    bool anyone = !uvzk__list_empty(&queue->holders), writer = queue->writers_held > 0;

    while (!uvzk__list_empty(&queue->client->tries) && link != &queue->members) {
        struct uvzk__contender *member = member_at(link);
        bool waits = uvzk__contender_downgraded(member) ? false
                     : member->shared                   ? writer
                                                        : anyone;
        link = link->next;
        anyone = true;
        writer = writer || !member->shared;
        if (waits || (member->covered && uvzk__view_blocker(queue, member) != NULL)) {
            queue->client->contender_user->waits(member);
        }
    }
}

static void settle_in_order(struct uvzk__queue *queue)
{
    while (grant_front(queue)) {
    }
    end_tries(queue);
    request(queue);
}

const struct uvzk__directory_kind uvzk__exclusive = {
    .discipline = UVZK__EXCLUSIVE,
    .settle = settle_in_order,
};

const struct uvzk__directory_kind uvzk__read_write = {
    .discipline = UVZK__READ_WRITE,
    .settle = settle_in_order,
};

static void settle(struct uvzk__queue *queue)
{
    queue->kind->settle(queue);

    bool in_use = queue->kind->in_use != NULL && queue->kind->in_use(queue);
    if (!in_use && uvzk__list_empty(&queue->holders) &&
        uvzk__list_empty(&queue->members) && uvzk__list_empty(&queue->leaving) &&
        uvzk__list_empty(&queue->strangers) && queue->doing == UVZK__QUEUE_IDLE) {
        uvzk__predecessor_unwatch(queue);
        uvzk__queue_free(queue);
    }
}

void uvzk__queues_settle(struct uvzk__client *client)
{
    struct uvzk__link dirty, *link;

    client->settlings++;
    uvzk__list_move(&client->dirty, &dirty);
    while ((link = uvzk__list_take(&dirty)) != NULL) {
        settle(UVZK__CONTAINER_OF(link, struct uvzk__queue, dirty));
    }
}
