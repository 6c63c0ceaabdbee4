/* Reads who leads at one path (leader_cache.h): what the requests of a reading are, and what
 * their replies show. leader_report.c joins the caches; the reports are notified when
 * another leader is known. */
#include "election/leader_cache.h"

#include <string.h>

#include "base/memory.h"
#include "base/node_name.h"
#include "base/path.h"
#include "base/refusal.h"
#include "directory/queue.h"
#include "election/elections.h"
#include "election/leader_report.h"
#include "engine/session.h"
#include "engine/turn.h"

static struct uvzk__leader_cache *cache_of(struct uvzk__reading *reading)
{
    return UVZK__CONTAINER_OF(reading, struct uvzk__leader_cache, reading);
}

static struct uvzk__leader_report *report_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__leader_report, in_cache);
}

/* ------------------------------------------------------------------ what is known */

static void leader_cache_tell(struct uvzk__leader_cache *leader_cache)
{
    struct uvzk__link *link;

    for (link = leader_cache->reports.next; link != &leader_cache->reports;
         link = link->next) {
        uvzk__notify_later(leader_cache->reading.session, &report_at(link)->notification);
    }
}

static void no_memory_due(struct uvzk__timer *timer)
{
    leader_cache_tell(UVZK__CONTAINER_OF(timer, struct uvzk__leader_cache, no_memory));
}

void uvzk__leader_cache_tell_later(struct uvzk__leader_cache *leader_cache)
{
    struct uvzk__session *session = leader_cache->reading.session;

    uvzk__timer_set(session, &leader_cache->no_memory,
                    uvzk__now(session) + UVZK__SHORT_PAUSE_MS);
}

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
    leader_cache_tell(leader_cache);
}

/* ---------------------------------------------------------------------- requests */

/* Returns true if an election that shares the cache does not lead. */
static bool is_wanted(const struct uvzk__leader_cache *leader_cache)
{
    struct uvzk__link *link = leader_cache->reports.next;

    while (link != &leader_cache->reports && report_at(link)->own_token != 0) {
        link = link->next;
    }
    return link != &leader_cache->reports;
}

static bool leader_cache_list(struct uvzk__reading *reading)
{
    struct uvzk__leader_cache *leader_cache = cache_of(reading);

    if (!is_wanted(leader_cache)) {
        return false;
    }
    uvzk__watch_leave(&reading->renewed.watcher);
    return uvzk__reading_ask(reading, UVZK__RPC_CHILDREN, reading->path,
                             leader_cache->on_children);
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
    if (!uvzk__watcher_is_set(&leader_cache->reading.renewed.watcher)) {
        uvzk__reading_want(&leader_cache->reading);
    }
}

/* There is a first in the queue, and its path is stored. */
static void listed_first(struct uvzk__leader_cache *leader_cache)
{
    leader_cache->on_children = false;
    uvzk__watch_leave(&leader_cache->reading.renewed.watcher);
    (void)uvzk__reading_ask(&leader_cache->reading, UVZK__RPC_GET, leader_cache->first,
                            true);
}

static void leader_cache_listed(struct uvzk__leader_cache *leader_cache, const char *name)
{
    struct uvzk__reading *reading = &leader_cache->reading;
    char *first = name == NULL ? NULL : uvzk__path_join(reading->path, name);

    if (name == NULL) {
        set_leader(leader_cache, NULL);
        watch_children(leader_cache);
        return;
    }
    if (first == NULL) {
        (void)uvzk__reading_repeat(reading, UV_ENOMEM);
        return;
    }
    bool again = leader_cache->missing && strcmp(leader_cache->first, first) == 0;
    uvzk__free(leader_cache->first);
    leader_cache->first = first;
    if (again) {
        /* The server shows it to one request and not to the other. Without a pause, the
         * two would alternate as fast as it answers. */
        leader_cache->missing = false;
        uvzk__reading_repeat_soon(reading);
    } else {
        listed_first(leader_cache);
    }
}

static void read_first(struct uvzk__leader_cache *leader_cache,
                       const struct uvzk__reply *reply)
{
    struct uvzk__known_participant *leader;

    leader_cache->missing = reply->status == UVZK_ENONODE;
    if (leader_cache->missing) {
        /* Deleted since the listing (CURATOR-645). */
        uvzk__reading_want(&leader_cache->reading);
        return;
    }
    leader = uvzk__known_participant_new(leader_cache->first, reply->stat.czxid,
                                         reply->stat.ephemeral_owner, reply->data,
                                         reply->data_length);
    if (leader == NULL) {
        (void)uvzk__reading_repeat(&leader_cache->reading, UV_ENOMEM);
        return;
    }
    leader->shown.is_leader = 1;
    uvzk__growing_pause_reset(&leader_cache->reading.pause);
    set_leader(leader_cache, leader);
}

static void leader_cache_shown(struct uvzk__reading *reading,
                               const struct uvzk__reply *reply)
{
    struct uvzk__leader_cache *leader_cache = cache_of(reading);
    bool missing = reply->status == UVZK_ENONODE;

    if (reading->rpc.kind == UVZK__RPC_GET) {
        read_first(leader_cache, reply);
    } else if (reading->rpc.kind == UVZK__RPC_CHILDREN && missing) {
        (void)uvzk__reading_ask(reading, UVZK__RPC_EXISTS, reading->path, true);
    } else if (reading->rpc.kind == UVZK__RPC_CHILDREN) {
        leader_cache_listed(leader_cache, first_of(leader_cache, reply));
    } else if (missing) {
        set_leader(leader_cache, NULL);
    } else {
        /* Created since the listing. The exists has armed the watch on the path, which the
         * next listing removes. */
        uvzk__reading_want(reading);
    }
}

/* The last known leader stays. */
static void leader_cache_failed(struct uvzk__reading *reading, int status)
{
    if (reading->rpc.kind == UVZK__RPC_GET && status != UVZK_ELIMIT) {
        cache_of(reading)->missing = false;
    }
    (void)uvzk__reading_repeat(reading, status);
}

/* ------------------------------------------------------------ making and ending */

static struct uvzk__reading **leader_cache_table(const struct uvzk__session *session)
{
    return &session->elections->leader_caches;
}

static void free_memory(struct uvzk__reading *reading)
{
    struct uvzk__leader_cache *leader_cache = cache_of(reading);

    uvzk__free(leader_cache->first);
    uvzk__free(leader_cache->leader);
    uvzk__free(leader_cache);
}

static const struct uvzk__reading_kind reading_kind = {
    .table = leader_cache_table,
    .begin = leader_cache_list,
    .shown = leader_cache_shown,
    .failed = leader_cache_failed,
    .free_memory = free_memory,
};

static struct uvzk__leader_cache *
new_cache(struct uvzk__session *session,
          const struct uvzk__participant_directory *directory)
{
    struct uvzk__leader_cache *leader_cache = uvzk__calloc(1, sizeof(*leader_cache));

    if (leader_cache == NULL) {
        return NULL;
    }
    leader_cache->kind = directory->kind;
    leader_cache->no_memory.due = no_memory_due;
    uvzk__list_init(&leader_cache->reports);
    if (!uvzk__reading_init(&leader_cache->reading, session, &reading_kind,
                            directory->path)) {
        uvzk__free(leader_cache);
        return NULL;
    }
    return leader_cache;
}

int uvzk__leader_cache_join(struct uvzk__leader_report *report,
                            struct uvzk__session *session,
                            const struct uvzk__participant_directory *directory)
{
    struct uvzk__reading *reading =
        uvzk__reading_find(session, &reading_kind, directory->path);
    struct uvzk__leader_cache *leader_cache =
        reading == NULL ? new_cache(session, directory) : cache_of(reading);

    if (leader_cache == NULL) {
        return UV_ENOMEM;
    }
    if (leader_cache->kind != directory->kind) {
        return uvzk__refuse(UV_EINVAL, "options.kind: another election of this client on "
                                       "this path is of the other kind");
    }
    report->leader_cache = leader_cache;
    uvzk__list_append(&leader_cache->reports, &report->in_cache);
    /* Another election may have read it already. */
    uvzk__notify_later(session, &report->notification);
    uvzk__reading_pump(&leader_cache->reading);
    return 0;
}

void uvzk__leader_cache_end_unused(struct uvzk__leader_cache *leader_cache)
{
    if (uvzk__list_empty(&leader_cache->reports)) {
        uvzk__timer_clear(leader_cache->reading.session, &leader_cache->no_memory);
        uvzk__reading_end(&leader_cache->reading);
    }
}

void uvzk__leader_caches_resume(struct uvzk__session *session)
{
    uvzk__readings_resume(session, &reading_kind);
}
