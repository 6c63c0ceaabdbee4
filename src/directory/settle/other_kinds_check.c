/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether a contender of another kind came first (other_kinds_check.h), and reads
 * the directories in which it may be. in_order.c asks for its waiters, leases.c for leases,
 * before they grant.
 *
 * A reading is one getChildren for each directory that is read, all sent together, and one
 * exists for the oldest contender in each, which tells its czxid. A directory without
 * contenders needs no exists. Everything that fails on the way is read again, from the
 * beginning; a directory that is missing has no contenders. */
#include "directory/settle/other_kinds_check.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/place.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "engine/inflight.h"
#include "engine/submission.h"

/* How often a reading begins again because the oldest contender has gone before its czxid
 * was read. After that it counts as older than every local one: so many have come and
 * gone there that the path is certainly in use. */
#define AGAIN_MAX 8U

/* ------------------------------------------------------------------ a reading */

/* Returns true if a semaphore's path is read once, because that tells the user enough. */
static bool is_read_once(const struct uvzk__queue *queue)
{
    return queue->kind->kinds_elsewhere == UVZK__KINDS_ABOVE &&
           !queue->session->refuses_mixed_kinds;
}

/* All is known of the places. */
static void reading_complete(struct uvzk__other_kinds *other_kinds)
{
    other_kinds->read_stamp = other_kinds->asked_stamp;
    other_kinds->oldest_czxid = INT64_MAX;
    other_kinds->again = 0;
    if (is_read_once(other_kinds->queue)) {
        uvzk__queue_remember(other_kinds->queue, UVZK__REMEMBERED_KINDS);
    }
    for (size_t i = 0; i < 2; i++) {
        const struct uvzk__kinds_place *place = &other_kinds->places[i];
        if (place->path != NULL && place->czxid < other_kinds->oldest_czxid) {
            other_kinds->oldest_czxid = place->czxid;
            other_kinds->oldest_kind = place->oldest.kind;
        }
    }
    uvzk__other_kinds_read_done(other_kinds);
}

static bool send_exists(struct uvzk__other_kinds *other_kinds);

/* A reply has come, or could not come. */
static void reading_answered(struct uvzk__other_kinds *other_kinds)
{
    struct uvzk__queue *queue = other_kinds->queue;

    if (other_kinds->outstanding > 0) {
        return;
    }
    if (queue == NULL) {
        uvzk__other_kinds_free_memory(other_kinds);
        return;
    }
    if (!other_kinds->failed && !other_kinds->dating && send_exists(other_kinds)) {
        return;
    }
    if (!other_kinds->failed) {
        reading_complete(other_kinds);
    }
    uvzk__kinds_places_free(other_kinds);
    other_kinds->news = true;
    uvzk__queue_settle_later(queue);
}

/* Takes a reply into account. Returns true if it is the server's answer and is still
 * wanted. */
static bool take_reply(struct uvzk__other_kinds *other_kinds, int status)
{
    struct uvzk__queue *queue = other_kinds->queue;

    other_kinds->outstanding--;
    if (uvzk__is_answer(status)) {
        return queue != NULL;
    }
    other_kinds->failed = true;
    if (queue != NULL && !uvzk__queue_is_transient(queue, status)) {
        uvzk__queue_back_off(queue);
    }
    return false;
}

/* If it has gone, another one may be the oldest. */
static void czxid_read(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__kinds_place *place = uvzk__inflight_requester(rpc);
    struct uvzk__other_kinds *other_kinds = place->other_kinds;

    uvzk__inflight_done(other_kinds->session, rpc, reply->status, false);
    if (take_reply(other_kinds, reply->status)) {
        if (reply->status == 0) {
            place->czxid = place->oldest.number < 0 ? 0 : reply->stat.czxid;
        } else if (other_kinds->again < AGAIN_MAX) {
            other_kinds->again++;
            other_kinds->failed = true;
        }
    }
    reading_answered(other_kinds);
}

/* Sends a request for the place. Without memory the session pauses, and the reading begins
 * again after that. */
static void place_send(struct uvzk__kinds_place *place, enum uvzk__rpc_kind kind,
                       uvzk__reply_cb replied)
{
    struct uvzk__other_kinds *other_kinds = place->other_kinds;
    struct uvzk__rpc *rpc =
        uvzk__inflight_new(other_kinds->session, place, kind, place->path, replied);

    if (rpc == NULL) {
        other_kinds->failed = true;
        return;
    }
    uvzk__submit(other_kinds->session, rpc);
    other_kinds->outstanding++;
}

/* Returns true if requests are in flight now: contenders were found. */
static bool send_exists(struct uvzk__other_kinds *other_kinds)
{
    other_kinds->dating = true;
    for (size_t i = 0; i < 2; i++) {
        struct uvzk__kinds_place *place = &other_kinds->places[i];
        if (place->oldest.kind == UVZK__NAMES_OTHER) {
            continue;
        }
        if (!uvzk__may_send(other_kinds->session)) {
            other_kinds->failed = true;
        } else {
            place_send(place, UVZK__RPC_EXISTS, czxid_read);
        }
    }
    return other_kinds->outstanding > 0;
}

/* The contender with this name is one of another kind: of a semaphore, if the place is
 * below the directory; or of any other kind, if it is above. One whose number is used up
 * (place.h) does not contend, but a lease with such a number counts. */
static enum uvzk__name_kind kind_at_place(const struct uvzk__queue *queue,
                                          const char *name, int32_t *number)
{
    enum uvzk__name_kind kind = uvzk__name_kind(name, number);

    if (kind == UVZK__NAMES_OTHER ||
        (kind != UVZK__NAMES_SEMAPHORE && uvzk__sequence_exhausted(*number))) {
        return UVZK__NAMES_OTHER;
    }
    if (queue->kind->kinds_elsewhere == UVZK__KINDS_BELOW) {
        return UVZK__NAMES_SEMAPHORE;
    }
    return kind == UVZK__NAMES_SEMAPHORE ? UVZK__NAMES_OTHER : kind;
}

/* The numbers of one directory grow with the czxid, as long as they are not used up. If
 * that of a lease is, no number says which lease is the oldest; it then counts as older
 * than every local contender (czxid_read). Returns 0 or UV_ENOMEM. */
static int find_oldest(struct uvzk__kinds_place *place, const char *const *names,
                       size_t count)
{
    const char *oldest = NULL;

    for (size_t i = 0; i < count; i++) {
        int32_t number = 0;
        enum uvzk__name_kind kind =
            kind_at_place(place->other_kinds->queue, names[i], &number);
        number = uvzk__sequence_exhausted(number) ? INT32_MIN : number;
        if (kind != UVZK__NAMES_OTHER &&
            (oldest == NULL || number < place->oldest.number)) {
            place->oldest = (struct uvzk__other_contender){kind, number};
            oldest = names[i];
        }
    }
    if (oldest == NULL) {
        return 0;
    }
    char *path = uvzk__path_join(place->path, oldest);
    if (path == NULL) {
        return UV_ENOMEM;
    }
    uvzk__free(place->path);
    place->path = path;
    place->czxid = 0;
    return 0;
}

static void place_listed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__kinds_place *place = uvzk__inflight_requester(rpc);
    struct uvzk__other_kinds *other_kinds = place->other_kinds;
    int status = reply->status;

    uvzk__inflight_done(other_kinds->session, rpc, status, false);
    bool answered = take_reply(other_kinds, status);
    other_kinds->unreadable = other_kinds->unreadable || status == UVZK_ENOAUTH;
    if (answered && status == 0 &&
        find_oldest(place, reply->names, reply->name_count) != 0) {
        other_kinds->failed = true;
        uvzk__queue_back_off(other_kinds->queue);
    }
    reading_answered(other_kinds);
}

/* Writes the paths that are listed. False: out of memory. */
static bool write_paths(struct uvzk__other_kinds *other_kinds)
{
    const char *path = other_kinds->queue->path->text;

    if (other_kinds->queue->kind->kinds_elsewhere == UVZK__KINDS_ABOVE) {
        size_t length = uvzk__path_parent_length(path);
        char *above = uvzk__memdup(path, length + 1);
        if (above != NULL) {
            above[length] = '\0';
        }
        other_kinds->places[0].path = above;
        return above != NULL;
    }
    other_kinds->places[0].path = uvzk__path_join(path, UVZK__TICKETS_NAME);
    other_kinds->places[1].path = uvzk__path_join(path, UVZK__LEASES_NAME);
    return other_kinds->places[0].path != NULL && other_kinds->places[1].path != NULL;
}

static void reading_begin(struct uvzk__other_kinds *other_kinds)
{
    if (!write_paths(other_kinds)) {
        uvzk__kinds_places_free(other_kinds);
        uvzk__queue_back_off(other_kinds->queue);
        return;
    }
    other_kinds->failed = other_kinds->dating = other_kinds->unreadable = false;
    for (size_t i = 0; i < 2; i++) {
        struct uvzk__kinds_place *place = &other_kinds->places[i];
        place->oldest.kind = UVZK__NAMES_OTHER;
        place->czxid = INT64_MAX;
        if (place->path != NULL) {
            place_send(place, UVZK__RPC_CHILDREN, place_listed);
            if (i == 0) {
                other_kinds->asked_stamp = other_kinds->session->submissions.stamp;
            }
        }
    }
    if (other_kinds->outstanding == 0) {
        uvzk__kinds_places_free(other_kinds); /* no memory: the session pauses */
    }
}

/* ------------------------------------------------------------------- who came first */

/* Returns true if what was read counts for a contender whose create has this stamp. */
static bool counts_for(const struct uvzk__other_kinds *other_kinds, uint64_t created)
{
    return is_read_once(other_kinds->queue) ? other_kinds->read_stamp != 0
                                            : other_kinds->read_stamp > created;
}

/* Returns true if nothing that was read counts, and nothing more is read: the path was
 * read before the directory was made anew. */
static bool needs_none(const struct uvzk__queue *queue)
{
    return is_read_once(queue) && uvzk__queue_remembers(queue, UVZK__REMEMBERED_KINDS);
}

/* Returns true if all is to be read again, whatever has been read. */
static bool is_due(const struct uvzk__other_kinds *other_kinds)
{
    return other_kinds->queue->kind->kinds_elsewhere == UVZK__KINDS_ABOVE
               ? other_kinds->due
               : other_kinds->read_below;
}

void uvzk__other_kinds_read(struct uvzk__queue *queue, uint64_t created)
{
    struct uvzk__other_kinds *other_kinds = uvzk__other_kinds(queue);
    bool due = other_kinds != NULL && is_due(other_kinds);

    created = due ? queue->session->submissions.stamp : created;
    if (created == 0 ||
        (other_kinds != NULL &&
         (other_kinds->outstanding > 0 || counts_for(other_kinds, created))) ||
        uvzk__queue_is_backing_off(queue) || !uvzk__may_send(queue->session) ||
        needs_none(queue)) {
        return;
    }
    other_kinds = uvzk__other_kinds_need(queue);
    if (other_kinds == NULL) {
        uvzk__queue_back_off(queue);
        return;
    }
    reading_begin(other_kinds);
    if (due && other_kinds->outstanding > 0) {
        other_kinds->read_below = other_kinds->due = false;
        uvzk__other_kinds_again(other_kinds);
    }
}

/* The other one may have come between the ticket and its lease. If it looks, it sees the
 * ticket, which stands until the lease is granted, and goes. If it is still there after a
 * session timeout, it does not look, and the lease is refused. */
static enum uvzk__kinds_check in_doubt(struct uvzk__other_kinds *other_kinds)
{
    uint64_t now = uvzk__now(other_kinds->session);

    if (!other_kinds->session->refuses_mixed_kinds) {
        return UVZK__KINDS_ALONE;
    }
    if (other_kinds->doubt_ms == 0) {
        other_kinds->doubt_ms = now;
    } else if (now - other_kinds->doubt_ms >=
               other_kinds->session->connection.timeout_ms) {
        return UVZK__KINDS_MIXED;
    }
    other_kinds->read_stamp = 0; /* read again, after a pause */
    uvzk__queue_back_off(other_kinds->queue);
    return UVZK__KINDS_NOT_KNOWN;
}

/* Znodes of one multi have the same czxid. Of these the lease counts as the later one, and
 * so does one whose czxid is its ticket's. */
static bool came_first(const struct uvzk__other_kinds *other_kinds, int64_t czxid)
{
    return other_kinds->queue->kind->kinds_elsewhere == UVZK__KINDS_ABOVE
               ? other_kinds->oldest_czxid <= czxid
               : other_kinds->oldest_czxid < czxid;
}

static enum uvzk__kinds_check check_kinds(struct uvzk__queue *queue, uint64_t created,
                                          int64_t czxid, bool exact)
{
    struct uvzk__other_kinds *other_kinds = uvzk__other_kinds(queue);

    if (other_kinds == NULL || !counts_for(other_kinds, created)) {
        return needs_none(queue) ? UVZK__KINDS_ALONE : UVZK__KINDS_NOT_KNOWN;
    }
    if (other_kinds->unreadable && queue->session->refuses_mixed_kinds) {
        return UVZK__KINDS_UNREADABLE;
    }
    if (came_first(other_kinds, czxid)) {
        return UVZK__KINDS_MIXED;
    }
    return exact || other_kinds->oldest_czxid == INT64_MAX ? UVZK__KINDS_ALONE
                                                           : in_doubt(other_kinds);
}

enum uvzk__kinds_check uvzk__other_kinds_check_lease(struct uvzk__contender *lease,
                                                     bool has_ticket)
{
    struct uvzk__queue *queue = lease->queue;
    enum uvzk__kinds_check found = UVZK__KINDS_ALONE;

    if (!lease->kind_checked) {
        found =
            check_kinds(queue, lease->create_stamp, lease->node.place.czxid, !has_ticket);
        lease->kind_checked = found == UVZK__KINDS_ALONE;
    }
    return found;
}

/* Checks a waiter. Its own number and czxid are known. A reader with its writer's
 * place came with that writer; a ticket's claim is checked by its leases. */
static enum uvzk__kinds_check check_waiter(const struct uvzk__contender *contender)
{
    const struct uvzk__listed_kinds *listed =
        &uvzk__other_kinds(contender->queue)->listed;

    if (contender->kind->has_writers_place || contender->kind->admits) {
        return UVZK__KINDS_ALONE;
    }
    if (!contender->predecessors_known || contender->node.state != UVZK__NODE_STANDING) {
        return UVZK__KINDS_NOT_KNOWN;
    }
    if (listed->first.kind != UVZK__NAMES_OTHER &&
        listed->first.number < contender->node.place.sequence) {
        return UVZK__KINDS_MIXED;
    }
    return listed->below ? check_kinds(contender->queue, contender->create_stamp,
                                       contender->node.place.czxid, true)
                         : UVZK__KINDS_ALONE;
}

int uvzk__other_kinds_met(struct uvzk__queue *queue, enum uvzk__kinds_check found)
{
    struct uvzk__other_kinds *other_kinds = uvzk__other_kinds(queue);
    bool refuses = queue->session->refuses_mixed_kinds;

    if (found == UVZK__KINDS_UNREADABLE) {
        return UVZK_ENOAUTH;
    }
    if (refuses || !other_kinds->told) {
        queue->session->directories->mixed_kinds++;
    }
    if (refuses) {
        uvzk__other_kinds_log(other_kinds, UVZK_LOG_INFO,
                              "the other one came first: refused");
    } else if (!other_kinds->told) {
        other_kinds->told = true;
        uvzk__other_kinds_log(other_kinds, UVZK_LOG_WARN, "both may be held");
    }
    return refuses ? UVZK_EKIND : 0;
}

bool uvzk__other_kinds_let(const struct uvzk__contender *contender)
{
    enum uvzk__kinds_check found = check_waiter(contender);

    return found == UVZK__KINDS_ALONE ||
           (found == UVZK__KINDS_MIXED &&
            !contender->queue->session->refuses_mixed_kinds);
}

/* The first waiter that may have to end. Without news only the first waiter of all is
 * looked at, because it may have got its place since. NULL: there is none. */
static struct uvzk__contender *first_against(const struct uvzk__queue *queue, bool news,
                                             enum uvzk__kinds_check *found)
{
    struct uvzk__contender *each = uvzk__first_in(&queue->waiters);

    while (each != NULL) {
        *found = check_waiter(each);
        if (*found == UVZK__KINDS_MIXED || *found == UVZK__KINDS_UNREADABLE) {
            return each;
        }
        each = news ? uvzk__next_in(&queue->waiters, each) : NULL;
    }
    return NULL;
}

/* The newest create that is known, at least that of the first waiter: one whose reply was
 * lost is found by a listing and needs no other. */
static uint64_t newest_create(const struct uvzk__queue *queue)
{
    const struct uvzk__contender *first = uvzk__first_in(&queue->waiters);
    uint64_t newest = queue->freshness.newest_create_stamp;

    return first != NULL && first->create_stamp > newest ? first->create_stamp : newest;
}

/* Each end removes a waiter, and possibly others of its claim, so the search begins at the
 * front again. */
void uvzk__other_kinds_settle(struct uvzk__queue *queue)
{
    struct uvzk__other_kinds *other_kinds = uvzk__other_kinds(queue);
    enum uvzk__kinds_check found;
    struct uvzk__contender *against;
    int code = 0;
    bool news = other_kinds->news;
    other_kinds->news = false;
    while ((against = first_against(queue, news, &found)) != NULL &&
           (code = uvzk__other_kinds_met(queue, found)) != 0) {
        uvzk__contender_end(against, code);
    }
    if (other_kinds->listed.below) {
        uvzk__other_kinds_read(queue, newest_create(queue));
    }
}
