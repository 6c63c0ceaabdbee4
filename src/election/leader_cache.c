/* SPDX-License-Identifier: Apache-2.0 */
/* Who leads at a path, and what is reported of it (leader_cache.h): what the requests of a
 * reading are, and what their replies show; then the report to the user of one election. The
 * cache of the path and the election say that something may have changed. What is reported
 * is decided when the notification runs, so several changes in a turn are one report. */
#include "election/leader_cache.h"

#include <string.h>

#include "base/memory.h"
#include "base/node_name.h"
#include "base/path.h"
#include "base/refusal.h"
#include "claim/hold_calls.h"
#include "claim/lock.h"
#include "directory/queue.h"
#include "election/election.h"
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

/* A report failed because memory ran out: all reports are made again after a pause. */
static void leader_cache_tell_later(struct uvzk__leader_cache *leader_cache)
{
    struct uvzk__session *session = leader_cache->reading.session;

    uvzk__timer_set(session, &leader_cache->no_memory,
                    uvzk__now(session) + UVZK__SHORT_PAUSE_MS);
}

/* The last known leader, valid while the reading is pinned; NULL: none. */
static const uvzk_election_participant_t *
leader_cache_leader(const struct uvzk__leader_cache *leader_cache)
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

/* Adds the report to the leader cache of this directory, which is made if it is missing.
 * Returns 0; UV_EINVAL: there is one, of another kind; UV_ENOMEM. */
static int leader_cache_join(struct uvzk__leader_report *report,
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

/* Ends the cache if it has no reports left. */
static void leader_cache_end_unused(struct uvzk__leader_cache *leader_cache)
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

/* ---------------------------------------------------------------------- the reports */

static struct uvzk__election *election_of(struct uvzk__leader_report *report)
{
    return UVZK__CONTAINER_OF(report, struct uvzk__election, report);
}

/* This participant as a leader. NULL: out of memory. */
static struct uvzk__known_participant *
leader_report_own(const struct uvzk__election *election)
{
    const struct uvzk__session *session = uvzk__hold_session(&election->hold);
    size_t length = election->id_length;
    const void *id =
        election->id == NULL ? uvzk__default_data(session, &length) : election->id;
    struct uvzk__known_participant *known = uvzk__known_participant_new(
        uvzk_hold_path(&election->hold), uvzk_hold_token(&election->hold),
        session->connection.session_id, id, id == NULL ? 0 : length);

    if (known != NULL) {
        known->shown.is_leader = 1;
    }
    return known;
}

/* Reports the leader, or none (NULL), if that is news. */
static void tell_if_news(struct uvzk__leader_report *report,
                         const uvzk_election_participant_t *leader)
{
    int64_t token = leader == NULL ? 0 : leader->token;

    if (token == report->told_token || (token != 0 && token <= report->newest_token)) {
        return;
    }
    report->told_token = token;
    if (token != 0) {
        report->newest_token = token;
    }
    report->changed_cb(election_of(report)->handle, leader);
}

static void tell_own(struct uvzk__leader_report *report)
{
    struct uvzk__known_participant *known;

    /* The hold is lost, which is about to be reported. */
    if (uvzk_hold_token(&election_of(report)->hold) == 0) {
        return;
    }
    known = leader_report_own(election_of(report));
    if (known == NULL) {
        leader_cache_tell_later(report->leader_cache);
        return;
    }
    tell_if_news(report, &known->shown);
    uvzk__free(known);
}

static void tell_cached(struct uvzk__leader_report *report)
{
    struct uvzk__leader_cache *leader_cache = report->leader_cache;
    const uvzk_election_participant_t *leader = leader_cache_leader(leader_cache);

    /* A server that has diverged shows an earlier leader, which says nothing of the
     * newest one. */
    if (leader != NULL && leader->token < report->newest_token) {
        return;
    }
    /* The cache may still show this participant. */
    if (leader != NULL && leader->token <= report->past_token) {
        leader = NULL;
    }
    /* The callback may close the election, and with it the cache. */
    uvzk__reading_pin(&leader_cache->reading);
    tell_if_news(report, leader);
    uvzk__reading_unpin(&leader_cache->reading);
}

static void leader_report_tell(struct uvzk__notification *notification)
{
    struct uvzk__leader_report *report =
        UVZK__CONTAINER_OF(notification, struct uvzk__leader_report, notification);

    if (uvzk__session_is_closing(election_of(report)->session)) {
        return;
    }
    if (report->own_token != 0) {
        tell_own(report);
    } else {
        tell_cached(report);
    }
}

void uvzk__leader_report_init(struct uvzk__leader_report *report)
{
    uvzk__list_init(&report->in_cache);
    uvzk__list_init(&report->notification.link);
    report->notification.notify_cb = leader_report_tell;
}

int uvzk__leader_report_begin(struct uvzk__election *election,
                              uvzk_election_changed_cb changed_cb)
{
    struct uvzk__participant_directory directory;
    const struct uvzk__lock *lock = election->lock.impl;

    (void)lock->kind->directories(lock, &directory);
    election->report.changed_cb = changed_cb;
    return leader_cache_join(&election->report, election->session, &directory);
}

void uvzk__leader_report_leads(struct uvzk__leader_report *report, int64_t token)
{
    if (report->leader_cache == NULL) {
        return;
    }
    if (token == 0) {
        report->past_token = report->own_token;
    }
    report->own_token = token;
    uvzk__notify_later(election_of(report)->session, &report->notification);
}

void uvzk__leader_report_follow(struct uvzk__leader_report *report)
{
    if (report->leader_cache != NULL) {
        uvzk__reading_pump(&report->leader_cache->reading);
    }
}

void uvzk__leader_report_end(struct uvzk__leader_report *report)
{
    struct uvzk__leader_cache *leader_cache = report->leader_cache;

    report->leader_cache = NULL;
    uvzk__list_remove(&report->in_cache);
    uvzk__list_remove(&report->notification.link);
    if (leader_cache != NULL) {
        leader_cache_end_unused(leader_cache);
    }
}
