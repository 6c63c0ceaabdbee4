/* The library's part of a uvzk_election_t: one participant of one election, from its init
 * to its close. It owns a lock and the only hold of that lock, and uses both through the
 * public functions, as a user would: whatever makes a hold safe makes a leader safe.
 * candidacy.c decides when the participant is queued; election.c has the calls of the
 * user. */
#ifndef UVZK_ELECTION_H
#define UVZK_ELECTION_H

#include "base/list.h"
#include "election/leader_report.h"
#include "engine/session.h"

/* A call that waits until the participant leads. The caller owns the memory and sets
 * `done`, which is called once, from the loop. */
struct uvzk__lead_request {
    struct uvzk__link link; /* in election->lead_requests; removing it ends the wait */
    void (*done)(struct uvzk__lead_request *, int status);
};

struct uvzk__election {
    uvzk_election_t *handle;       /* the user's, until the close callback */
    struct uvzk__session *session; /* the home of its path */
    struct uvzk__link in_session;  /* in session->elections->all */
    uvzk_lock_t lock;
    uvzk_hold_t hold;                /* in use in QUEUED to RELEASING */
    struct uvzk__link lead_requests; /* struct uvzk__lead_request */
    struct uvzk__notification notification;
    struct uvzk__timer timer; /* LEADING: max_reign_ms is over. PAUSING: queue again */
    struct uvzk__leader_report report;
    uvzk_election_leader_cb leader_cb; /* may be NULL, and so may the others */
    uvzk_election_deposed_cb deposed_cb;
    uvzk_election_error_cb error_cb;
    uvzk_election_close_cb close_cb;
    uint64_t max_reign_ms;     /* 0: no limit */
    void *id;                  /* owned; NULL: the client's default data */
    size_t id_length;          /* of id */
    uint64_t retries_since_ms; /* when the first of the retries was counted */
    uint32_t retries;          /* as the retry policy counts them */
    int refusal;               /* for error_cb; 0: none that has not been reported */
    int deposed_reason;        /* in RESIGNING: for deposed_cb */
    uint8_t state;             /* enum uvzk__candidacy_state */
    bool manual_requeue;
    bool requeue_wanted; /* in RELEASING: the user has called uvzk_election_requeue */
    bool close_wanted;   /* in RESIGNING: it is closed after deposed_cb */
};

/* Adds a wait for the leadership. Returns 0; UVZK_ECLOSED; UVZK_ESTATE if the participant
 * is not queued and will not be by itself; UV_EINVAL: the election is NULL. */
int uvzk__election_wait_to_lead(uvzk_election_t *, struct uvzk__lead_request *);

/* The session of an initialized election, else NULL. */
struct uvzk__session *uvzk__election_session(const uvzk_election_t *);

#endif
