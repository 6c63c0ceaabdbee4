/* SPDX-License-Identifier: Apache-2.0 */
/* Who leads at one path: the client's copy of the first znode in an election's queue, as a
 * reading (reading.h). All elections of this client on the path that have a changed_cb
 * share it. The requests of a reading:
 *
 *   getChildren   shows the first in the queue
 *   get           its data; it sets a watch on its znode
 *   exists        instead of the get, if the path does not exist: it watches the path
 *
 * So only the end of the first znode wakes the followers, not every change in the queue. If
 * the queue is empty, the getChildren watches the children. Each reading begins without a
 * watch, so that the path of a watch never changes under it.
 *
 * The results are only information for the user: a participant's own hold decides whether
 * it leads. The server that answers is not known, and it may lag. But each request is
 * sent after the barrier of its connection (barrier.h), so the server has carried out
 * everything that was committed before that, and this includes everything that this cache
 * has read on earlier connections. A later change reaches the same server together with
 * the event of the watch. Only a diverged server shows something older; the cache ignores
 * it, because the token of a later leader is greater.
 *
 * The cache reads nothing while all elections that share it lead.
 *
 * What one election reports to its changed_cb: who leads, if it differs from what was
 * reported last. While the participant itself leads, its hold shows that; otherwise the
 * leader cache of its path shows who leads.
 *
 * Tokens only rise. A leader is reported if its token is greater than those of all
 * leaders that were reported before; every other result is ignored. */
#ifndef UVZK_LEADER_CACHE_H
#define UVZK_LEADER_CACHE_H

#include "claim/participant.h"
#include "election/election_participants.h"
#include "engine/reading.h"
#include "engine/turn.h"

struct uvzk__election;
struct uvzk__leader_cache;

/* Part of an election. */
struct uvzk__leader_report {
    struct uvzk__leader_cache *leader_cache; /* NULL: there is no changed_cb */
    struct uvzk__link in_cache;              /* in leader_cache->reports */
    struct uvzk__notification notification;
    uvzk_election_changed_cb changed_cb;
    int64_t told_token;   /* of the leader that was reported last; 0: none */
    int64_t newest_token; /* the greatest that was reported */
    int64_t own_token;    /* of this participant while it leads, else 0 */
    int64_t past_token;   /* of this participant when it led last: that is over */
};

struct uvzk__leader_cache {
    struct uvzk__reading reading;
    const struct uvzk__directory_kind *kind; /* whose names the participants have */
    struct uvzk__link reports;               /* struct uvzk__leader_report */
    struct uvzk__timer no_memory; /* makes the reports again, one of which failed */
    char *first; /* full path of the first in the last listing; NULL: none yet */
    struct uvzk__known_participant *leader; /* NULL: none */
    bool on_children;                       /* the next listing watches the children */
    bool missing;                           /* the last get did not find `first` */
};

/* Requests may be sent again. */
void uvzk__leader_caches_resume(struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

void uvzk__leader_report_init(struct uvzk__leader_report *);

/* Begins to report. Returns 0; UV_EINVAL: the client reports on an election of another
 * kind on this path; UV_ENOMEM. */
int uvzk__leader_report_begin(struct uvzk__election *, uvzk_election_changed_cb);

/* This participant has begun to lead, with this token; or, with 0, it no longer leads. */
void uvzk__leader_report_leads(struct uvzk__leader_report *, int64_t token);

/* Its own znode is gone, or about to go: reads who leads, which was not necessary while
 * it led. */
void uvzk__leader_report_follow(struct uvzk__leader_report *);

/* Stops the reports. May be called again, and if they never began. */
void uvzk__leader_report_end(struct uvzk__leader_report *);

#endif
