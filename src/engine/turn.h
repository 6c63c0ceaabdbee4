/* SPDX-License-Identifier: Apache-2.0 */
/* A turn of a session. It consists of rounds. Each round runs the timers that are due,
 * then the work of the higher rooms, then the notifications, which call the user. The
 * exceptions, which call the user elsewhere, are listed under P5 in docs/promise.md. */
#ifndef UVZK_TURN_H
#define UVZK_TURN_H

#include "base/deadline.h"
#include "base/list.h"
#include "engine/port.h"

struct uvzk__session;

/* Something to be done at a given time. due() runs inside a turn. The timer is a member
 * of the struct that needs it, which must clear the timer before it is freed. */
struct uvzk__timer {
    struct uvzk__deadline deadline;
    void (*due)(struct uvzk__timer *);
};

/* A callback to the user that is due at the end of the round. notify_cb() may free the
 * struct that contains the notification. */
struct uvzk__notification {
    struct uvzk__link link; /* on session->notifications, or on no list */
    void (*notify_cb)(struct uvzk__notification *);
};

/* What the higher rooms do in the turns of a session. client/round.c implements the
 * hooks. */
struct uvzk__turn_hooks {
    /* A server has answered a request (uvzk__is_answer). write: a quorum has accepted
     * it. */
    void (*answered)(struct uvzk__session *, const struct uvzk__rpc *, bool write);
    /* There is a connection, and its barrier is open. */
    void (*connected)(struct uvzk__session *);
    /* Requests may be sent again: each room sends what had to wait. */
    void (*resume)(struct uvzk__session *);
    /* An invariant of the client is broken, and its end has not been reported yet: ends
     * everything in all of its sessions (invariant.h). */
    void (*broken)(struct uvzk__session *);
    /* Settles the directories that have changed, and sends requests. */
    void (*work)(struct uvzk__session *);
    /* Returns true if `work` has anything to do. */
    bool (*has_work)(const struct uvzk__session *);
    /* Returns true if a recipe of this session needs a znode below this path
     * (znode_owner.h). */
    bool (*needs_below)(const struct uvzk__session *, const char *path);
    /* Which of a shared value and a shared count this session has at this path: the bits of
     * UVZK__OWNED_BY_VALUE and UVZK__OWNED_BY_COUNT (znode_owner.h). */
    unsigned (*values_at)(const struct uvzk__session *, const char *path);
    /* The turn is over. The port is not closing. */
    void (*turn_ended)(struct uvzk__session *);
};

/* Returns the time in ms, by the port's clock. */
uint64_t uvzk__now(struct uvzk__session *);

/* Requests a turn, which runs soon, and not inside this call. */
void uvzk__wake(struct uvzk__session *);

/* Arms the timer, or moves it; disarms the timer. */
void uvzk__timer_set(struct uvzk__session *, struct uvzk__timer *, uint64_t at_ms);
void uvzk__timer_clear(struct uvzk__session *, struct uvzk__timer *);

/* Queues the notification, if it is not queued already, and requests a turn. */
void uvzk__notify_later(struct uvzk__session *, struct uvzk__notification *);

/* Runs the notifications that are queued now, but not those that the callbacks add. Runs
 * none while the end of a broken client has not been reported (invariant.h). */
void uvzk__notify_all(struct uvzk__session *);

/* Runs those of the notifications that are queued now, and no others. */
void uvzk__notify_those(struct uvzk__session *,
                        bool (*is_one)(const struct uvzk__notification *));

/* Runs a turn. The port calls it through uvzk__port_user.turn. */
void uvzk__turn(struct uvzk__session *);

#endif
