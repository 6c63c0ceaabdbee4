/* Reports who leads to the user of one election (leader_report.h). The leader cache of
 * the path and the candidacy say that something may have changed. What is reported is
 * decided when the notification runs, so several changes in a turn are one report. */
#include "election/leader_report.h"

#include "base/memory.h"
#include "claim/hold_calls.h"
#include "claim/lock.h"
#include "election/election.h"
#include "election/leader_cache.h"

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
        uvzk__leader_cache_tell_later(report->leader_cache);
        return;
    }
    tell_if_news(report, &known->shown);
    uvzk__free(known);
}

static void tell_cached(struct uvzk__leader_report *report)
{
    struct uvzk__leader_cache *leader_cache = report->leader_cache;
    const uvzk_election_participant_t *leader = uvzk__leader_cache_leader(leader_cache);

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
    return uvzk__leader_cache_join(&election->report, election->session, &directory);
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
        uvzk__leader_cache_end_unused(leader_cache);
    }
}
