/* SPDX-License-Identifier: Apache-2.0 */
/* The watermark of a directory: a sequence number up to which all contenders are known.
 * Each of them has gone, or exists and its owner is known. A new contender that gets the
 * next number has only these before it, so it needs no listing. Three things are needed
 * together:
 *
 *   the number is the next one    Each create in a directory gets another number. So no
 *                                 contender has come in between.
 *   all are known up to the mark  A listing that the view has taken over showed them.
 *                                 That the number before was this client's says nothing
 *                                 about the numbers before that one.
 *   it is the same directory      A directory that is removed and created again counts
 *                                 from 0 and can reach any number. So a watch on the
 *                                 directory's data is armed before that listing, and must
 *                                 have been silent since.
 *
 * docs/decisions/directory.md says why these readings are fresh enough. The states are
 * those of the watch (engine/watch.h):
 *
 *   UNWATCHED --> ARMING --> ARMED ---> UNWATCHED   silent for too long: set again
 *                    |         |
 *                    |         `--> freed: it has fired, or it should have fired, or no
 *                    |              contender has come for a session timeout
 *                    `--> the mark is ended: the watcher leaves, and the reply frees it
 *
 * The watch costs a request. So a directory gets a mark only after a contender of this
 * session got the number that follows one of this session's numbers. The watch is set
 * again only if it has saved listings. A directory without contenders is kept for its
 * mark until a session timeout after a contender last got a number there.
 *
 * A mark may have a persistent watch instead, which reports each node that is created or
 * deleted in the directory (mirror.h). Then the mark is the greatest number up to which
 * all nodes, of any session, have been reported, and it rises before the replies to the
 * creates arrive. Its watch is set again before the silence of a withheld event could
 * count.
 *
 * A mirror ends when another part of the client watches the path (engine/watch.h). */
#ifndef UVZK_WATERMARK_H
#define UVZK_WATERMARK_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/port.h"
#include "engine/turn.h"
#include "engine/watch.h"

struct uvzk__contender;
struct uvzk__queue;
struct uvzk__session;

#define UVZK__MARK_NOT_KNOWN (-1)

/* Allocated for the few directories that have a mark. */
struct uvzk__mark {
    struct uvzk__watcher watcher;
    /* Runs while no local contender is in the directory; for a mirror, while it is
     * ARMED. */
    struct uvzk__timer timer;
    struct uvzk__queue *queue;
    uint64_t armed_stamp;    /* of the get that armed the watch */
    uint64_t armed_ms;       /* when that get was submitted */
    uint64_t used_ms;        /* when a local contender last got a number */
    int32_t sequence;        /* the mark; UVZK__MARK_NOT_KNOWN unless it is armed */
    uint32_t listings_saved; /* since the watch was armed */
    bool asking;             /* the request that arms the watch is in flight */
    bool gap_seen;           /* the last number was not the next one */
    bool mirrors;            /* the watch is a persistent one */
    bool heard_others;       /* a mirror: of other sessions' nodes, since it was armed */
};

/* The part of a directory that watermark.c keeps. */
struct uvzk__watermark {
    struct uvzk__mark *mark; /* owned; NULL: the directory has no mark */
};

/* Returns true if the next create will probably need no listing. */
bool uvzk__watermark_expects_next(const struct uvzk__queue *);

/* Returns true if the directory has a mark and no number has been missing lately, so that
 * probably no other client uses it. uvzk__watermark_others_seen: another client does,
 * although the numbers do not show it. */
bool uvzk__watermark_is_alone(const struct uvzk__queue *);
void uvzk__watermark_others_seen(struct uvzk__queue *);

/* Sends the get that arms the watch, if the mark needs one and requests may be sent. Ends
 * the mark if another watch exists on the path, or if there is no ample room for
 * watches. */
void uvzk__watermark_send_watch(struct uvzk__queue *);

/* ------------------------------------------------------------ for this room alone */

/* The view has taken over the latest listing. last: the greatest number of a local
 * contender in it, or -1. others_behind: the listing shows foreign nodes behind that
 * number, which the view does not keep. */
void uvzk__watermark_listed(struct uvzk__queue *, int32_t last, bool others_behind);

/* Returns true if the mark has a watch, or is arming one. */
bool uvzk__watermark_watches(const struct uvzk__queue *);

/* No local contender is in the directory. Returns true if the directory is kept for its
 * mark, for up to a session timeout after the last contender got its number. */
bool uvzk__watermark_keeps_directory(struct uvzk__queue *);

/* Ends the mark and removes its watch. Does nothing if there is no mark. */
void uvzk__watermark_end(struct uvzk__queue *);

/* Begins a mark, if the directory has none. Without memory it still has none. */
void uvzk__watermark_begin(struct uvzk__queue *);
/* Returns true if the watch is armed and its silence counts. */
bool uvzk__watermark_is_silent(const struct uvzk__mark *);
/* Returns true if there is a mark whose watch is armed; or one that needs a watch and has
 * none. */
bool uvzk__watermark_is_armed(const struct uvzk__mark *);
bool uvzk__watermark_wants_watch(const struct uvzk__mark *);
/* The directory's mark, or NULL. */
struct uvzk__mark *uvzk__mark_of(const struct uvzk__queue *);

/* A create in the directory has been submitted. If the silence of the watch no longer
 * counts, the watch is set again, or the mark ends if it has saved no listing. */
void uvzk__watermark_create_sent(struct uvzk__queue *);

/* The contender has a number and no listing has shown its predecessors yet. Returns true
 * if all of them are in the view; the mark is then raised to the number. The call may
 * also begin or end the mark. */
bool uvzk__watermark_knows_predecessors(struct uvzk__contender *);

/* Returns true if all predecessors of the contender were known when it was created: by
 * the watermark, or because its number is 0. No contender was ever before number 0. */
bool uvzk__needs_no_listing(struct uvzk__contender *);

#endif
