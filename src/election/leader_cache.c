/* Reads who leads at one path (leader_cache.h). leader_caches.c makes leader caches and
 * passes on what happens to the session; the reports are notified when another leader is
 * known.
 *
 * As in a node cache (value/node_cache.c), each reply, event and timer records what has
 * happened, and uvzk__leader_cache_pump sends the request that is due. Each listing
 * begins without a watch, so that the path of a watch never changes under it. */
#include "election/leader_cache.h"

#include <string.h>

#include "base/node_name.h"
#include "base/path.h"
#include "directory/queue.h"
#include "election/leader_report.h"
#include "engine/invariant.h"
#include "engine/submission.h"
#include "engine/turn.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__LEADER_CACHE_, IDLE, LISTING, READING, LOOKING),
    UVZK__STATE(UVZK__LEADER_CACHE_, LISTING, IDLE),
    UVZK__STATE(UVZK__LEADER_CACHE_, READING, IDLE),
    UVZK__STATE(UVZK__LEADER_CACHE_, LOOKING, IDLE),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__leader_cache *leader_cache = object;

    return leader_cache->state == UVZK__LEADER_CACHE_IDLE || leader_cache->refs > 0;
}

const struct uvzk__machine uvzk__leader_cache_machine = UVZK__MACHINE(
    "leader cache's request", table, struct uvzk__leader_cache, state, invariant_holds);

static struct uvzk__leader_report *report_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__leader_report, in_cache);
}

/* -------------------------------------------------------------------- memory */

void uvzk__leader_cache_free(struct uvzk__leader_cache *leader_cache)
{
    uvzk__free(leader_cache->path);
    uvzk__free(leader_cache->first);
    uvzk__free(leader_cache->leader);
    uvzk__free(leader_cache);
}

void uvzk__leader_cache_pin(struct uvzk__leader_cache *leader_cache)
{
    leader_cache->refs++;
}

void uvzk__leader_cache_unpin(struct uvzk__leader_cache *leader_cache)
{
    leader_cache->refs--;
    if (leader_cache->ended && leader_cache->refs == 0) {
        uvzk__leader_cache_free(leader_cache);
    }
}

static void tell(struct uvzk__leader_cache *leader_cache)
{
    struct uvzk__link *link;

    for (link = leader_cache->reports.next; link != &leader_cache->reports;
         link = link->next) {
        uvzk__notify_later(leader_cache->session, &report_at(link)->notification);
    }
}

/* ------------------------------------------------------------------ what is known */

const uvzk_election_participant_t *
uvzk__leader_cache_leader(const struct uvzk__leader_cache *leader_cache)
{
    return leader_cache->leader == NULL ? NULL : &leader_cache->leader->shown;
}

/* Takes ownership. NULL: there is no participant. A server that has diverged may show an
 * earlier leader, which the reports recognize by its token. */
static void set_leader(struct uvzk__leader_cache *leader_cache,
                       struct uvzk__known_participant *leader)
{
    uvzk__free(leader_cache->leader);
    leader_cache->leader = leader;
    tell(leader_cache);
}

static void begin_pause(struct uvzk__leader_cache *leader_cache, uint64_t ms)
{
    uvzk__growing_pause_begin_once(leader_cache->session, &leader_cache->pause, ms);
}

void uvzk__leader_cache_tell_later(struct uvzk__leader_cache *leader_cache)
{
    begin_pause(leader_cache, UVZK__SHORT_PAUSE_MS);
}

/* The last known leader stays. */
static void no_answer(struct uvzk__leader_cache *leader_cache, int status)
{
    leader_cache->read_again = true;
    (void)uvzk__growing_pause_begin_after(leader_cache->session, &leader_cache->pause,
                                          status);
}

/* ---------------------------------------------------------------------- requests */

static void submit(struct uvzk__leader_cache *leader_cache,
                   enum uvzk__leader_cache_state state)
{
    /* reply_begins() removes this reference. */
    uvzk__leader_cache_pin(leader_cache);
    uvzk__move(leader_cache->session, &uvzk__leader_cache_machine, leader_cache, state);
    uvzk__submit(leader_cache->session, &leader_cache->rpc);
}

/* Called first for every reply. armed: the request has set the watch, if it carried one.
 * Returns NULL if the cache has ended; it may be freed then. */
static struct uvzk__leader_cache *reply_begins(struct uvzk__rpc *rpc, int status,
                                               bool armed)
{
    struct uvzk__leader_cache *leader_cache =
        UVZK__CONTAINER_OF(rpc, struct uvzk__leader_cache, rpc);

    uvzk__answered(leader_cache->session, rpc, status, false);
    uvzk__move(leader_cache->session, &uvzk__leader_cache_machine, leader_cache,
               UVZK__LEADER_CACHE_IDLE);
    if (leader_cache->ended) {
        uvzk__leader_cache_unpin(leader_cache);
        return NULL;
    }
    leader_cache->refs--; /* not ended, so nothing has to be freed */
    uvzk__watch_answered(&leader_cache->renewed.watcher, armed);
    return leader_cache;
}

/* Prepares the request to carry the watch. Without room it is not sent, because nothing
 * would report the next change. */
static bool arm(struct uvzk__leader_cache *leader_cache)
{
    if (uvzk__watch_join_with(&leader_cache->renewed.watcher, &leader_cache->rpc)) {
        return true;
    }
    leader_cache->read_again = true;
    begin_pause(leader_cache, UVZK__NO_ROOM_PAUSE_MS);
    return false;
}

static void looked(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    bool missing = reply->status == UVZK_ENONODE;
    /* The watch is armed on a path that exists too. The next listing removes it. */
    struct uvzk__leader_cache *leader_cache =
        reply_begins(rpc, reply->status, missing || reply->status == 0);

    if (leader_cache == NULL) {
        return;
    }
    if (missing) {
        set_leader(leader_cache, NULL);
    } else if (reply->status == 0) {
        leader_cache->read_again = true; /* created since the listing */
    } else {
        no_answer(leader_cache, reply->status);
    }
    uvzk__leader_cache_pump(leader_cache);
}

/* The path does not exist. An exists still sets a watch on it. */
static void look(struct uvzk__leader_cache *leader_cache)
{
    if (!uvzk__may_send(leader_cache->session)) {
        leader_cache->read_again = true;
        return;
    }
    uvzk__rpc_prepare(&leader_cache->rpc, UVZK__RPC_EXISTS, leader_cache->path, looked);
    if (arm(leader_cache)) {
        submit(leader_cache, UVZK__LEADER_CACHE_LOOKING);
    }
}

static void read_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    int status = reply->status;
    struct uvzk__leader_cache *leader_cache = reply_begins(rpc, status, status == 0);
    struct uvzk__known_participant *leader = NULL;

    if (leader_cache == NULL) {
        return;
    }
    leader_cache->missing = status == UVZK_ENONODE;
    if (status == 0) {
        leader = uvzk__known_participant_new(leader_cache->first, reply->stat.czxid,
                                             reply->stat.ephemeral_owner, reply->data,
                                             reply->data_length);
        status = leader == NULL ? UV_ENOMEM : 0;
    }
    if (status == 0) {
        leader->shown.is_leader = 1;
        uvzk__growing_pause_reset(&leader_cache->pause);
        set_leader(leader_cache, leader);
    } else if (status == UVZK_ENONODE) {
        /* Deleted since the listing (CURATOR-645). */
        leader_cache->read_again = true;
    } else {
        no_answer(leader_cache, status);
    }
    uvzk__leader_cache_pump(leader_cache);
}

static void read_first(struct uvzk__leader_cache *leader_cache)
{
    if (!uvzk__may_send(leader_cache->session)) {
        leader_cache->read_again = true;
        return;
    }
    uvzk__rpc_prepare(&leader_cache->rpc, UVZK__RPC_GET, leader_cache->first,
                      read_replied);
    if (arm(leader_cache)) {
        submit(leader_cache, UVZK__LEADER_CACHE_READING);
    }
}

/* The first in the queue, among the children; NULL: no child is a participant. */
static const char *first_of(const struct uvzk__leader_cache *leader_cache,
                            const struct uvzk__reply *reply)
{
    const char *first = NULL;
    int32_t least = 0;

    for (size_t i = 0; i < reply->name_count; i++) {
        struct uvzk__node_name parsed;
        bool shared;

        uvzk__node_name_parse_any(&parsed, reply->names[i],
                                  leader_cache->kind->name_prefixes, &shared);
        if (parsed.is_contender && !uvzk__sequence_exhausted(parsed.sequence) &&
            (first == NULL || parsed.sequence < least)) {
            first = reply->names[i];
            least = parsed.sequence;
        }
    }
    return first;
}

/* The children have to be watched if there is no first. If this listing did not watch
 * them, the next one does. */
static void watch_children(struct uvzk__leader_cache *leader_cache)
{
    leader_cache->on_children = true;
    leader_cache->read_again = !uvzk__watcher_is_set(&leader_cache->renewed.watcher);
}

/* There is a first in the queue, and its path is stored. */
static void listed_first(struct uvzk__leader_cache *leader_cache)
{
    leader_cache->on_children = false;
    uvzk__watch_leave(&leader_cache->renewed.watcher);
    read_first(leader_cache);
}

static void take_listing(struct uvzk__leader_cache *leader_cache, const char *name)
{
    char *first = name == NULL ? NULL : uvzk__path_join(leader_cache->path, name);

    if (name == NULL) {
        set_leader(leader_cache, NULL);
        watch_children(leader_cache);
        return;
    }
    if (first == NULL) {
        no_answer(leader_cache, UV_ENOMEM);
        return;
    }
    bool again = leader_cache->missing && strcmp(leader_cache->first, first) == 0;
    uvzk__free(leader_cache->first);
    leader_cache->first = first;
    if (again) {
        /* The server shows it to one request and not to the other. Without a pause, the
         * two would alternate as fast as it answers. */
        leader_cache->missing = false;
        leader_cache->read_again = true;
        begin_pause(leader_cache, UVZK__SHORT_PAUSE_MS);
    } else {
        listed_first(leader_cache);
    }
}

static void listed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__leader_cache *leader_cache =
        reply_begins(rpc, reply->status, reply->status == 0);

    if (leader_cache == NULL) {
        return;
    }
    if (reply->status == 0) {
        take_listing(leader_cache, first_of(leader_cache, reply));
    } else if (reply->status == UVZK_ENONODE) {
        look(leader_cache);
    } else {
        no_answer(leader_cache, reply->status);
    }
    uvzk__leader_cache_pump(leader_cache);
}

static void list_path(struct uvzk__leader_cache *leader_cache)
{
    uvzk__watch_leave(&leader_cache->renewed.watcher);
    uvzk__rpc_prepare(&leader_cache->rpc, UVZK__RPC_CHILDREN, leader_cache->path, listed);
    if (!leader_cache->on_children || arm(leader_cache)) {
        leader_cache->read_again = false;
        submit(leader_cache, UVZK__LEADER_CACHE_LISTING);
        leader_cache->read_stamp = uvzk__stamp(leader_cache->session);
    }
}

/* Returns true if an election that shares the cache does not lead. */
static bool is_wanted(const struct uvzk__leader_cache *leader_cache)
{
    struct uvzk__link *link = leader_cache->reports.next;

    while (link != &leader_cache->reports && report_at(link)->own_token != 0) {
        link = link->next;
    }
    return link != &leader_cache->reports;
}

static bool is_due(const struct uvzk__leader_cache *leader_cache)
{
    return leader_cache->read_again ||
           !uvzk__watcher_is_set(&leader_cache->renewed.watcher) ||
           !uvzk__is_of_this_connection(leader_cache->session, leader_cache->read_stamp);
}

void uvzk__leader_cache_pump(struct uvzk__leader_cache *leader_cache)
{
    if (leader_cache->state == UVZK__LEADER_CACHE_IDLE &&
        !uvzk__growing_pause_runs(&leader_cache->pause) &&
        !uvzk__session_is_closing(leader_cache->session) &&
        uvzk__may_send(leader_cache->session) && is_due(leader_cache) &&
        is_wanted(leader_cache)) {
        list_path(leader_cache);
    }
}

/* ------------------------------------------------------------- what calls back */

static void pause_over(struct uvzk__timer *timer)
{
    uvzk__leader_cache_resume(
        UVZK__CONTAINER_OF(timer, struct uvzk__leader_cache, pause.timer));
}

void uvzk__leader_cache_resume(struct uvzk__leader_cache *leader_cache)
{
    uvzk__growing_pause_end(leader_cache->session, &leader_cache->pause);
    tell(leader_cache);
    uvzk__leader_cache_pump(leader_cache);
}

/* Any event makes a listing due. After a loss nothing may be sent yet. */
static void told(struct uvzk__watcher *watcher, enum uvzk__watch_news news)
{
    if (news != UVZK__NEWS_LOST) {
        uvzk__leader_cache_pump(
            UVZK__CONTAINER_OF(watcher, struct uvzk__leader_cache, renewed.watcher));
    }
}

void uvzk__leader_cache_init(struct uvzk__leader_cache *leader_cache)
{
    leader_cache->pause.timer.due = pause_over;
    uvzk__renewed_watcher_init(&leader_cache->renewed, leader_cache->session, told);
    uvzk__list_init(&leader_cache->reports);
}

void uvzk__leader_cache_end(struct uvzk__leader_cache *leader_cache)
{
    uvzk__growing_pause_end(leader_cache->session, &leader_cache->pause);
    uvzk__watch_leave(&leader_cache->renewed.watcher);
    leader_cache->ended = true;
    uvzk__leader_cache_pin(leader_cache);
    uvzk__leader_cache_unpin(leader_cache);
}
