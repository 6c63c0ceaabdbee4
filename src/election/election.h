/* SPDX-License-Identifier: Apache-2.0 */
/* The library's part of a uvzk_election_t: one participant of one election, from its init
 * to its close. It owns a lock and the only hold of that lock, and uses both through the
 * public functions, as a user would: whatever makes a hold safe makes a leader safe.
 *
 * The machine of a participant, its candidacy:
 *
 *   IDLE --> QUEUED --> LEADING --> RESIGNING --> RELEASING --> IDLE
 *    | ^       |           |            |
 *    | |<------'           |            |   the acquire is refused
 *    | |<------------------+------------'   the hold is lost: deposed_cb
 *    | |
 *    `-+-> PAUSING --> IDLE                 a temporary refusal: after a pause
 *
 * In IDLE the next step follows at once, unless the user has to request it (a permanent
 * refusal, options.manual_requeue). QUEUED: the acquire is pending. LEADING: the hold is
 * granted. RESIGNING: deposed_cb is due, and the participant still leads. RELEASING:
 * deposed_cb has begun; the hold is released only when it has returned. Every state may
 * go to CLOSING, where the lock is being closed.
 *
 * A participant stops being leader in the move out of LEADING or RESIGNING. That move
 * comes before deposed_cb, and deposed_cb comes before the request that deletes the
 * znode. */
#ifndef UVZK_ELECTION_H
#define UVZK_ELECTION_H

#include "base/list.h"
#include "base/machine.h"
#include "election/leader_cache.h"
#include "engine/session.h"

enum uvzk__candidacy_state {
    UVZK__CANDIDACY_IDLE,      /* next: QUEUED PAUSING CLOSING */
    UVZK__CANDIDACY_QUEUED,    /* next: LEADING IDLE CLOSING */
    UVZK__CANDIDACY_PAUSING,   /* next: IDLE CLOSING */
    UVZK__CANDIDACY_LEADING,   /* next: RESIGNING IDLE CLOSING */
    UVZK__CANDIDACY_RESIGNING, /* next: RELEASING IDLE CLOSING */
    UVZK__CANDIDACY_RELEASING, /* next: IDLE CLOSING */
    UVZK__CANDIDACY_CLOSING    /* final */
};

extern const struct uvzk__machine uvzk__candidacy_machine;

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

/* ------------------------------------------------------- all elections of a session */

struct uvzk__reading;

/* One for each session. */
struct uvzk__elections {
    struct uvzk__link all;               /* struct uvzk__election */
    struct uvzk__reading *leader_caches; /* engine/reading.h: struct uvzk__leader_cache */
};

void uvzk__elections_init(struct uvzk__elections *);

/* The client is being closed, or is broken. Participants that wait for nothing but time
 * or their user end with this code; the lock reports it to all others. */
void uvzk__elections_closing(struct uvzk__session *, int code);

/* Frees all elections of the session, when its client has ended and its locks have been
 * freed. */
void uvzk__elections_free(struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* Returns true if the close has begun. */
bool uvzk__candidacy_is_closing(const struct uvzk__election *);

#endif
