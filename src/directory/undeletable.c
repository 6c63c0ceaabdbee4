#include "directory/undeletable.h"

#include <inttypes.h>

#include "directory/contender.h"
#include "directory/guard.h"
#include "directory/queue.h"
#include "directory/slow_retry.h"
#include "engine/flight.h"
#include "engine/log.h"
#include "engine/submission.h"
#include "engine/turn.h"

/* Before a delete is repeated that found no memory to be kept in mind. */
#define NO_MEMORY_REST_MS 1000U

/* Of a directory: there is one while some of its znodes are undeletable. */
struct uvzk__undeletable {
    struct uvzk__timed retry;
    struct uvzk__queue *queue;
    struct uvzk__contender *asking; /* whose turn it is; NULL: it is a pause */
    uint64_t pause_ms;              /* the next one */
    uint32_t count;
    int32_t last;   /* the number of the one that had the last turn */
    bool looking;   /* at the znode of the one whose turn it is */
    bool looked;    /* it stands, and is ours */
    bool permitted; /* a delete has succeeded since one was refused */
};

static struct uvzk__undeletable *those_of(const struct uvzk__queue *queue)
{
    return uvzk__aside(queue)->undeletables.those;
}

static struct uvzk__contender *leaving_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

/* ------------------------------------------------------------------------ whose turn */

static void rest(struct uvzk__undeletable *those)
{
    uvzk__slow_retry(those->queue->client, &those->retry, &those->pause_ms);
}

/* They have turns by their numbers, over and over. */
static struct uvzk__contender *next_in_turn(const struct uvzk__undeletable *those)
{
    const struct uvzk__ring *leaving = &those->queue->leaving;
    struct uvzk__contender *first = NULL;

    for (struct uvzk__link *link = uvzk__ring_first(leaving); link != NULL;
         link = uvzk__ring_next(leaving, link)) {
        struct uvzk__contender *contender = leaving_at(link);
        if (!contender->undeletable) {
            continue;
        }
        if (uvzk__node_place(&contender->node).sequence > those->last) {
            return contender;
        }
        first = first == NULL ? contender : first;
    }
    return first;
}

static void turn_over(struct uvzk__undeletable *those)
{
    those->asking = NULL;
    those->looking = false;
    those->looked = false;
}

static void take_turns(struct uvzk__timed *timed)
{
    struct uvzk__undeletable *those =
        UVZK__CONTAINER_OF(timed, struct uvzk__undeletable, retry);

    if (those->asking == NULL) {
        those->asking = next_in_turn(those);
        those->last = uvzk__node_place(&those->asking->node).sequence;
        uvzk__contender_pump(those->asking);
    }
}

/* ---------------------------------------------------------------------- the look at it */

/* A unique name is nobody else's. */
static bool is_anothers(const struct uvzk__contender *contender,
                        const struct uvzk__stat *stat)
{
    int64_t czxid = uvzk__node_place(&contender->node).czxid;

    return contender->fixed_name &&
           (stat->ephemeral_owner !=
                uvzk__session_id(&uvzk__client_of(contender)->session) ||
            (czxid != 0 && czxid != stat->czxid));
}

/* Once the server had told us that it stood, one that does not show it tells that it has
 * gone: the barrier of each connection is behind that reply. Of a unique name it need not
 * be read; of a fixed one nothing is done that might be done to another one's. */
static void seen(struct uvzk__contender *contender, const struct uvzk__reply *reply)
{
    struct uvzk__undeletable *those = those_of(contender->queue);
    int status = reply->status;

    if (status == UVZK_ENONODE || (status == 0 && is_anothers(contender, &reply->stat))) {
        uvzk__node_sent(&contender->node);
        uvzk__node_delete_replied(&contender->node, UVZK_ENONODE);
        uvzk__contender_follow(contender);
    } else if (uvzk__is_passing(status)) {
        uvzk__contender_pump(contender); /* now, or when something may be sent again */
    } else if (status == 0 || !contender->fixed_name) {
        those->looked = true;
        uvzk__contender_pump(contender);
    } else {
        turn_over(those);
        rest(those);
    }
}

/* When the right has come back meanwhile its delete has left already, and will tell more. */
static void look_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__flight_asker(rpc);

    uvzk__flight_landed(uvzk__client_of(contender), rpc, reply->status, false);
    if (!contender->ended && those_of(contender->queue)->asking == contender) {
        those_of(contender->queue)->looking = false;
        if (uvzk__node_needs(&contender->node) == UVZK__NEEDS_DELETE) {
            seen(contender, reply);
        }
    }
    uvzk__contender_unpin(contender);
}

static void look(struct uvzk__undeletable *those, struct uvzk__contender *contender)
{
    struct uvzk__client *client = uvzk__client_of(contender);
    struct uvzk__rpc *rpc = NULL;

    if (!those->looking && uvzk__may_send(client)) {
        rpc = uvzk__flight_new(client, contender, UVZK__RPC_EXISTS, contender->path,
                               look_replied);
    }
    if (rpc != NULL) {
        those->looking = true;
        uvzk__contender_pin(contender);
        uvzk__submit(client, rpc);
    }
}

bool uvzk__undeletable_may(struct uvzk__contender *contender)
{
    struct uvzk__undeletable *those = those_of(contender->queue);

    if (those->permitted && !contender->fixed_name) {
        return true;
    }
    if (those->asking != contender) {
        return false;
    }
    if (!those->looked) {
        look(those, contender);
        return false;
    }
    those->looked = false; /* for one delete */
    return true;
}

/* ------------------------------------------------------------------- they come and go */

static struct uvzk__undeletable *begin(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    struct uvzk__undeletable *those =
        uvzk__aside_needed(queue) ? uvzk__calloc(1, sizeof(*those)) : NULL;

    if (those == NULL) {
        return NULL;
    }
    those->queue = queue;
    those->pause_ms = UVZK__SLOW_RETRY_FIRST_MS;
    those->retry.due = take_turns;
    queue->aside->undeletables.those = those;
    uvzk__log(queue->client, UVZK_LOG_WARN, "directory",
              "%s may not be deleted: the ACL of its directory has no DELETE for us; it "
              "blocks others, and is tried again until it or the session has gone",
              contender->path);
    return those;
}

/* One that was refused has been told so: all that is left of it is its znode. What was to
 * arm a watch on that left before the delete, and has been answered. */
static void add(struct uvzk__undeletable *those, struct uvzk__contender *contender)
{
    struct uvzk__directories *directories = those->queue->client->directories;

    those->count++;
    uvzk__directories_undeletable(directories, false, true);
    uvzk__contender_is_undeletable(contender, true);
    uvzk__guard_missed(contender);
    directories->contender_user->refused(contender);
}

void uvzk__undeletable(struct uvzk__contender *contender)
{
    struct uvzk__undeletable *those = those_of(contender->queue);
    bool its_turn = those != NULL && those->asking == contender;

    if (those == NULL && (those = begin(contender)) == NULL) {
        uvzk__contender_rest(contender, NO_MEMORY_REST_MS);
        return;
    }
    those->permitted = false;
    if (!contender->undeletable) {
        add(those, contender);
    }
    if (its_turn) {
        turn_over(those);
    }
    if (those->asking == NULL && !uvzk__deadline_is_armed(&those->retry.deadline)) {
        rest(those);
    }
}

static void next_at_once(struct uvzk__undeletable *those)
{
    uvzk__timed_set(those->queue->client, &those->retry, uvzk__now(those->queue->client));
}

void uvzk__undeletable_permitted(struct uvzk__queue *queue)
{
    struct uvzk__undeletable *those = those_of(queue);

    if (those == NULL) {
        return;
    }
    if (!those->permitted) {
        uvzk__log(queue->client, UVZK_LOG_INFO, "directory",
                  "%s: znodes of ours may be deleted there again, %" PRIu32 " are left",
                  queue->path->text, those->count);
        those->permitted = true;
    }
    those->pause_ms = UVZK__SLOW_RETRY_FIRST_MS;
    next_at_once(those);
    for (struct uvzk__link *link = uvzk__ring_first(&queue->leaving), *next; link != NULL;
         link = next) {
        next = uvzk__ring_next(&queue->leaving, link);
        if (leaving_at(link)->undeletable) {
            uvzk__contender_pump(leaving_at(link));
        }
    }
}

void uvzk__undeletable_left(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    struct uvzk__undeletable *those = those_of(queue);

    uvzk__contender_is_undeletable(contender, false);
    uvzk__directories_undeletable(queue->client->directories, true, false);
    those->count--;
    if (those->count == 0) {
        uvzk__timed_clear(queue->client, &those->retry);
        queue->aside->undeletables.those = NULL;
        uvzk__free(those);
    } else if (those->asking == contender) {
        turn_over(those);
        next_at_once(those); /* who has gone says nothing of the others */
    }
}
