/* What one election reports to its changed_cb: who leads, if it differs from what was
 * reported last. While the participant itself leads, its hold shows that; otherwise the
 * leader cache of its path shows who leads.
 *
 * Tokens only rise. A leader is reported if its token is greater than those of all
 * leaders that were reported before; every other result is ignored. */
#ifndef UVZK_LEADER_REPORT_H
#define UVZK_LEADER_REPORT_H

#include <stdint.h>

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
