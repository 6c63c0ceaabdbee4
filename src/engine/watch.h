/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of a session. Each part of the client that waits for a change has a watcher,
 * which is on one path at a time, and any number of them may be on one path:
 *
 *   UNWATCHED --> ARMING --> ARMED --> UNWATCHED   it fired, was lost or removed, or is
 *       ^           |                              due for renewal
 *       `-----------' the request has not set it, or it was removed
 *
 * A watcher joins with the request that reads what it waits for, and this request sets its
 * watch, even if another watcher is on the path. Nothing more is sent for that: the server
 * has one watch of a kind on a path for each session. A watcher must set its own watch,
 * because a change that the client was not allowed to READ may have used up the existing
 * one without an event: since the fix of CVE-2024-23944, a server sends no event to a
 * session that may not READ the znode at that moment, but removes the watch. From then on
 * the lack of an event proves nothing.
 *
 * The table of a session's watchers decides what concerns all that are on a path:
 *
 *   room     The first one of a kind takes room for the path in the session's budget
 *            (below), and the last one gives it back.
 *   removal  The port removes a watch at the server with the last one of its kind
 *            (port.h, 5).
 *   loss     When the session loses its watches, all watchers are told.
 *   alone    A persistent watch is the only one on its path (port.h, 5): a server before
 *            3.9.0 has one of the two for a path and a session (ZOOKEEPER-4466). It does
 *            not join others, and it yields to one that joins.
 *
 * A watcher that is renewed removes its watch about once per session timeout, because its
 * event may be lost, and its owner sets it again: the reply to the request that sets the
 * watch shows the same as the lost event. The owner of one that is not renewed limits for
 * how long it believes in the silence. */
#ifndef UVZK_WATCH_H
#define UVZK_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/machine.h"
#include "engine/port.h"
#include "engine/turn.h"

struct uvzk__session;

enum uvzk__watcher_state {
    UVZK__WATCHER_UNWATCHED, /* next: ARMING */
    UVZK__WATCHER_ARMING,    /* next: ARMED UNWATCHED */
    UVZK__WATCHER_ARMED      /* next: UNWATCHED */
};

extern const struct uvzk__machine uvzk__watcher_machine;

/* What a watcher is told. Its watch is gone by then. */
enum uvzk__watch_news {
    UVZK__NEWS_CREATED = UVZK__WATCH_CREATED, /* the events of the port */
    UVZK__NEWS_DELETED = UVZK__WATCH_DELETED,
    UVZK__NEWS_CHANGED = UVZK__WATCH_CHANGED,
    UVZK__NEWS_CHILDREN = UVZK__WATCH_CHILDREN,
    UVZK__NEWS_RENEWAL, /* it has been removed to be set again */
    UVZK__NEWS_YIELDED, /* a persistent one: another watcher is on the path now */
    UVZK__NEWS_LOST     /* with all others. No watcher may join inside */
};

/* Part of its owner. All zeros before uvzk__watcher_init. */
struct uvzk__watcher {
    struct uvzk__session *session;
    struct uvzk__watch watch;
    void (*told_cb)(struct uvzk__watcher *, enum uvzk__watch_news);
    const char *path;           /* that is watched, owned by the owner; NULL: UNWATCHED */
    struct uvzk__watcher *next; /* in the table, at the same head */
    uint32_t hash;              /* of the path */
    uint8_t state;              /* enum uvzk__watcher_state */
    uint8_t kind;               /* enum uvzk__watch_kind */
    bool renewed;               /* it is part of a struct uvzk__renewed_watcher */
};

/* Of what a watcher is told: of the znode and its data; of its children; or of both, again
 * and again, through the watch's child_cb (port.h, 16). */
enum uvzk__watch_kind {
    UVZK__WATCH_OF_DATA,
    UVZK__WATCH_OF_CHILDREN,
    UVZK__WATCH_PERSISTENT
};

/* A watcher that is renewed. */
struct uvzk__renewed_watcher {
    struct uvzk__watcher watcher;
    struct uvzk__timer renewal; /* runs in ARMED */
};

/* One for each session: a hash table of the watchers that are not UNWATCHED. */
struct uvzk__watchers {
    struct uvzk__watcher **heads; /* NULL: `sole` is the only one */
    struct uvzk__watcher *sole;
    uint32_t head_count; /* a power of two; 0: heads is NULL */
    uint32_t count;
};

void uvzk__watcher_init(struct uvzk__watcher *, struct uvzk__session *,
                        void (*told_cb)(struct uvzk__watcher *, enum uvzk__watch_news));
void uvzk__renewed_watcher_init(struct uvzk__renewed_watcher *, struct uvzk__session *,
                                void (*told_cb)(struct uvzk__watcher *,
                                                enum uvzk__watch_news));

/* Returns true if the watch is set, or is being set; uvzk__watcher_is_armed: only if it is
 * set. */
bool uvzk__watcher_is_set(const struct uvzk__watcher *);
bool uvzk__watcher_is_armed(const struct uvzk__watcher *);

/* In UNWATCHED: takes its place on the path, which must stay valid until the watcher is
 * UNWATCHED. The caller then submits a request with rpc->watch, or leaves. Returns false if
 * there is no room for another watch, or if a persistent one would not be alone. */
bool uvzk__watch_join(struct uvzk__watcher *, const char *path, enum uvzk__watch_kind);
/* The same for this request, which is prepared and not submitted; adds the watch to it. */
bool uvzk__watch_join_with(struct uvzk__watcher *, struct uvzk__rpc *);

/* The request under way has been answered. armed: it has set the watch, if it carried
 * one. */
void uvzk__watch_answered(struct uvzk__watcher *, bool armed);

/* Removes the watch, if there is one, from the port too. */
void uvzk__watch_leave(struct uvzk__watcher *);

/* The session has lost its watches, and may have ended: all watchers are told. */
void uvzk__watches_lost(struct uvzk__session *);

/* Frees the table, when the session is freed. All watchers have left. */
void uvzk__watchers_free(struct uvzk__session *);

/* ------------------------------------------------------------------- their room */

/* What a session may watch is limited. After each reconnect the C client sends all watched
 * paths in one request. If that request exceeds the servers' jute.maxbuffer of 1 MB, the
 * session can never reconnect (ZOOKEEPER-706 is not solved in the C client). An acquire for
 * which there is no room ends with UVZK_ELIMIT, perhaps long after its call. A log line
 * then says what the user can do. */

/* In bytes of a request: each path with its length of 4 bytes. */
#define UVZK__WATCH_BYTES_MAX 900000U
/* Of these, how many the members of groups may take, however many there are. */
#define UVZK__WATCH_BYTES_SHARE_MAX (UVZK__WATCH_BYTES_MAX / 3 * 2)

/* One for each session. */
struct uvzk__watch_budget {
    uint64_t bytes, count; /* of all watches of the session */
    uint64_t shared_bytes; /* reserved for the members of groups */
    bool warned;           /* the log line that there is no room has been written */
};

/* Return the number of watches, and the bytes that they take in the request. */
static inline uint64_t uvzk__watch_count(const struct uvzk__watch_budget *budget)
{
    return budget->count;
}

static inline uint64_t uvzk__watch_bytes(const struct uvzk__watch_budget *budget)
{
    return budget->bytes;
}

/* Returns true if there is room for a watch on a znode in the directory with this path,
 * or on the directory itself. Reserves nothing. */
bool uvzk__watch_budget_has_room(const struct uvzk__session *, const char *path);
/* Returns true if less than a third is used, so that a watch that is not essential may be
 * set. */
bool uvzk__watch_budget_is_ample(const struct uvzk__session *);
/* Others decide how many members a group has. So a part of the budget is left to the rest of
 * the session: for as long as a member is watched, it also reserves a path of this length in
 * the share of all groups. Returns false if there is no room. */
bool uvzk__watch_budget_take_share(struct uvzk__session *, size_t path_length);
void uvzk__watch_budget_give_share(struct uvzk__session *, size_t path_length);

/* ------------------------------------------------------------------ their renewal */

/* Arms the timer of a watch that has just been armed. due() runs after a random time
 * between 3/4 and 5/4 of the session timeout, so that watches that were armed at the same
 * time are not renewed at the same time. */
void uvzk__watch_renewal_schedule(struct uvzk__session *, struct uvzk__timer *);

/* ------------------------------------------------------------ for this room alone */

/* Removes the watch from the port. Does nothing if the port is closing, because a closing
 * port has dropped all watches. */
void uvzk__unwatch(struct uvzk__session *, struct uvzk__watch *);

#endif
