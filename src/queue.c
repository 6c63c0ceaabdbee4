#include "queue.h"

#include <string.h>

#include "acquisition.h"
#include "contender.h"
#include "driver.h"
#include "guard.h"
#include "listing.h"
#include "parents.h"
#include "predecessor.h"
#include "prover.h"
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

struct uvzk__queue *uvzk__queue_find(struct uvzk__client *client, const char *path)
{
    struct uvzk__queue *queue;

    HASH_FIND_STR(client->queues, path, queue);
    return queue;
}

bool uvzk__queue_occupied(struct uvzk__queue *queue)
{
    struct uvzk__link *link;

    for (link = queue->strangers.next; link != &queue->strangers; link = link->next) {
        if (member_at(link)->node.wanted) {
            return true;
        }
    }
    return !uvzk__list_empty(&queue->members);
}

struct uvzk__queue *uvzk__queue_of(struct uvzk__client *client, const char *path)
{
    struct uvzk__queue *queue = uvzk__queue_find(client, path);

    if (queue != NULL) {
        return queue;
    }
    queue = uvzk__calloc(1, sizeof(*queue));
    if (queue == NULL) {
        return NULL;
    }
    queue->client = client;
    queue->token = "lock-";
    queue->path = uvzk__strdup(path);
    queue->rest.due = rested;
    uvzk__predecessor_init(queue);
    uvzk__list_init(&queue->members);
    uvzk__list_init(&queue->leaving);
    uvzk__list_init(&queue->strangers);
    uvzk__list_init(&queue->dirty);
    uvzk__list_init(&queue->behind_scout);
    if (queue->path != NULL) {
        HASH_ADD_KEYPTR(hh, client->queues, queue->path, strlen(queue->path), queue);
    }
    if (queue->path == NULL || queue->hh.tbl == NULL) {
        uvzk__free(queue->path);
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
    uvzk__free(queue->parent);
    uvzk__free(queue->path);
    uvzk__free(queue);
}

void uvzk__queue_session_ended(struct uvzk__queue *queue)
{
    queue->doing = UVZK__QUEUE_IDLE;
    uvzk__predecessor_forget(queue);
    uvzk__view_clear(queue);
    queue->list_again = false;
    queue->fresh = false;
    queue->newest_stamp = queue->listed_stamp;
    uvzk__queue_touch(queue);
}

/* ---------------------------------------------------------------- the order */

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
    uvzk__list_remove(&contender->in_queue);
    if (!uvzk__node_has_place(&contender->node)) {
        uvzk__list_append(&queue->strangers, &contender->in_queue);
        return;
    }
    if (contender->node.state == UVZK__NODE_DOOMED) {
        insert(&queue->leaving, contender);
        return;
    }
    insert(&queue->members, contender);
    if (queue->client->tuning & UVZK__TUNE_FIRST_SUFFIX &&
        contender->node.place.sequence == 0) {
        contender->covered = true; /* nobody was ever there before */
        uvzk__contender_vouch(contender, contender->create_stamp);
    }
    if (!contender->covered && contender->create_stamp > queue->newest_stamp) {
        queue->newest_stamp = contender->create_stamp;
    }
}

struct uvzk__contender *uvzk__queue_front(struct uvzk__queue *queue)
{
    if (uvzk__list_empty(&queue->members)) {
        return NULL;
    }
    struct uvzk__contender *front = member_at(queue->members.next);
    if (!(queue->client->tuning & UVZK__TUNE_LOCAL_HANDOVER) &&
        !uvzk__list_empty(&queue->leaving) &&
        uvzk__place_compare(member_at(queue->leaving.next)->node.place,
                            front->node.place) < 0) {
        return NULL;
    }
    return front;
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
        if (!contender->held) {
            uvzk__contender_end(contender, code);
        }
    }
}

/* Passing troubles are tried again: at once when the connection is back, after a
 * rest when the server had one. */
bool uvzk__queue_passing(struct uvzk__queue *queue, int status)
{
    switch (status) {
    case UVZK_ECONNLOSS:
    case UVZK_ENOTSENT:
    case UVZK_EEXPIRED:
    case UVZK_EAUTH:
    case UVZK_ECLOSED:
        return true;
    case UVZK_ETHROTTLED:
    case UV_ENOMEM:
        uvzk__queue_rest(queue);
        return true;
    default:
        return false;
    }
}

/* The foreigner right before the first in line, or NULL. */
static const struct uvzk__foreigner *predecessor_of(struct uvzk__queue *queue,
                                                    struct uvzk__contender *front)
{
    if (front == NULL || front->held || !front->covered) {
        return NULL;
    }
    size_t before = uvzk__view_foreigners_before(queue, front);
    return before == 0 ? NULL : &queue->foreigners[before - 1];
}

/* ----------------------------------------------------------------- settling */

static struct uvzk__contender *next_in_line(struct uvzk__queue *queue)
{
    struct uvzk__link *link = queue->members.next;

    while (link != &queue->members && member_at(link)->held) {
        link = link->next;
    }
    return link == &queue->members ? NULL : member_at(link);
}

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
    if (next != NULL && queue->list_again &&
        uvzk__view_foreigners_before(queue, next) > 0) {
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
    predecessor = predecessor_of(queue, uvzk__queue_front(queue));
    if (queue->watched != NULL &&
        (predecessor == NULL || predecessor->sequence != queue->watched_sequence)) {
        uvzk__predecessor_unwatch(queue);
    }
    if (uvzk__queue_has_stranger(queue, UVZK__NODE_PARENTS)) {
        uvzk__parents_make(queue);
    } else if (uvzk__queue_has_stranger(queue, UVZK__NODE_UNKNOWN)) {
        uvzk__listing_start_synced(queue);
    } else if (wants_listing(queue)) {
        uvzk__listing_start(queue);
    } else if (predecessor != NULL && queue->watched == NULL) {
        uvzk__predecessor_watch(queue, predecessor);
    }
}

/* The released node of our own that stands right before the front, or NULL. */
static struct uvzk__contender *released_before(struct uvzk__queue *queue,
                                               struct uvzk__contender *front)
{
    struct uvzk__link *link = queue->leaving.prev;

    while (link != &queue->leaving &&
           uvzk__place_compare(member_at(link)->node.place, front->node.place) > 0) {
        link = link->prev;
    }
    return link == &queue->leaving ? NULL : member_at(link);
}

enum voucher { VOUCHED, ASK_GUARD, ASK_PROOF, AWAIT_DELETE };

/* Whether the front's node is known to have stood when the last node before it
 * went; if not, what will tell. Requests are executed in the order in which they
 * were submitted, so stamps compare what has been seen with what has been done. */
static enum voucher voucher_of(struct uvzk__queue *queue, struct uvzk__contender *front)
{
    struct uvzk__contender *before = released_before(queue, front);

    if (before != NULL) {
        /* It still stands for certain, and goes only with a check of the front. */
        bool stands = !before->node.in_flight && !before->node.delete_unknown;
        return stands ? VOUCHED : AWAIT_DELETE;
    }
    if (front->vouched == queue->settlings && front->vouched_stamp > queue->bare_stamp) {
        return VOUCHED;
    }
    if (front->guarding == UVZK__GUARD_ARMED) {
        /* What happened during a disconnection is told only by and by. */
        bool silent = front->guard_stamp > queue->client->connected_stamp;
        return silent ? VOUCHED : ASK_PROOF;
    }
    return ASK_GUARD;
}

static void grant_if_vouched(struct uvzk__queue *queue, struct uvzk__contender *front)
{
    switch (voucher_of(queue, front)) {
    case VOUCHED:
        uvzk__contender_grant(front);
        break;
    case ASK_GUARD:
        uvzk__guard(front);
        break;
    case ASK_PROOF:
        uvzk__prover_want(front);
        break;
    case AWAIT_DELETE:
        break; /* its reply settles the queue again */
    }
}

/* A session too short for the servers' tick can never be proved again. */
static void want_proof(struct uvzk__queue *queue, struct uvzk__contender *front)
{
    const struct uvzk__client *client = queue->client;

    if (client->session.connected && !uvzk__proof_possible(&client->proof)) {
        uvzk__contender_end(front, UVZK_EPROOF);
    } else {
        uvzk__prover_want(front);
    }
}

static void grant_front(struct uvzk__queue *queue)
{
    struct uvzk__contender *front = uvzk__queue_front(queue);

    if (front == NULL || front->held || !front->covered ||
        front->node.state != UVZK__NODE_STANDING) {
        return;
    }
    if (uvzk__view_foreigners_before(queue, front) > 0) {
        uvzk__guard(front);
    } else if (!uvzk__proof_grants(&queue->client->proof, uvzk__now(queue->client))) {
        want_proof(queue, front);
    } else {
        grant_if_vouched(queue, front);
    }
}

static void end_tries_of(struct uvzk__contender *contender)
{
    struct uvzk__link *link = contender->acquisitions.next;

    while (link != &contender->acquisitions) {
        struct uvzk__acquisition *acquisition =
            UVZK__CONTAINER_OF(link, struct uvzk__acquisition, siblings);
        link = link->next;
        if (acquisition->try_once) {
            uvzk__acquisition_end(acquisition, UV_ETIMEDOUT);
        }
    }
    if (uvzk__list_empty(&contender->acquisitions)) {
        uvzk__contender_unwanted(contender);
    }
}

/* Whoever tried once and is known not to be first has had its answer. */
static void end_tries(struct uvzk__queue *queue)
{
    struct uvzk__link *link = queue->members.next;
    bool first = true;

    while (queue->tries > 0 && link != &queue->members) {
        struct uvzk__contender *member = member_at(link);
        link = link->next;
        if (!member->held && (!first || (member->covered && uvzk__view_foreigners_before(
                                                                queue, member) > 0))) {
            end_tries_of(member);
        }
        first = false;
    }
}

void uvzk__queue_settle(struct uvzk__queue *queue)
{
    queue->settlings++;
    grant_front(queue);
    end_tries(queue);
    request(queue);
    if (uvzk__list_empty(&queue->members) && uvzk__list_empty(&queue->leaving) &&
        uvzk__list_empty(&queue->strangers) && queue->doing == UVZK__QUEUE_IDLE) {
        uvzk__predecessor_unwatch(queue);
        uvzk__queue_free(queue);
    }
}
