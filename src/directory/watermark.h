/* The watermark of a directory: a number up to which everybody there is known, to be gone or
 * to stand, and whose. Who is given the next one has nobody before it but those, and needs no
 * listing. Needed together:
 *
 *   the number is the next one      each create in a directory is given another, so nobody
 *                                   has come between
 *   all are known up to the mark    by a listing that the view has taken over; that the
 *                                   number before was ours says nothing of those before it
 *   it is the same directory        one that is removed and made anew counts from 0, and
 *                                   comes to any number: a watch on the directory's data is
 *                                   armed before that listing, and silent since
 *
 *   UNWATCHED --> ARMING --> ARMED ---> UNWATCHED   silent for too long: set anew
 *                    |         |
 *                    |         `--> no more: it has fired, or we have seen that it should
 *                    |              have, or nobody has come for long
 *                    `--> ENDING --> no more: given up meanwhile
 *
 * The watch costs a request. So there is none before somebody of ours was given the number
 * behind one of ours (expected_sequences.h), and none again unless it has saved listings; the
 * directory is kept for it for a session timeout after the last of ours has gone.
 *
 * The watch itself is watermark_watch.h's. */
#ifndef UVZK_WATERMARK_H
#define UVZK_WATERMARK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"
#include "engine/port.h"
#include "engine/turn.h"

struct uvzk__contender;
struct uvzk__queue;

enum uvzk__watermark_state {
    UVZK__WATERMARK_UNWATCHED, /* next: ARMING */
    UVZK__WATERMARK_ARMING,    /* next: ARMED ENDING */
    UVZK__WATERMARK_ARMED,     /* next: UNWATCHED */
    UVZK__WATERMARK_ENDING     /* final */
};

extern const struct uvzk__machine uvzk__watermark_machine;

/* Few directories have one: the memory is there with it. */
struct uvzk__mark {
    struct uvzk__watch watch;
    struct uvzk__timer keep_timer; /* while nobody of ours is there */
    struct uvzk__queue *queue;
    uint64_t armed_stamp;    /* of the request that armed the watch */
    uint64_t armed_ms;       /* when it was submitted */
    uint64_t used_ms;        /* when one of ours was last given a number */
    int32_t sequence;        /* all are known up to this one; -1: up to none */
    uint32_t listings_saved; /* listings, since it was armed */
    bool gap_seen;           /* the last number was not the next one */
    uint8_t state;           /* enum uvzk__watermark_state */
};

/* Of a directory. */
struct uvzk__watermark {
    struct uvzk__mark *mark; /* NULL: there is none */
};

static inline struct uvzk__mark *
uvzk__watermark_mark(const struct uvzk__watermark *watermark)
{
    return watermark->mark;
}

/* A create of ours leaves. */
void uvzk__watermark_create_sent(struct uvzk__queue *);
/* Whether the next number is likely to need no listing. */
bool uvzk__watermark_expects_next(const struct uvzk__queue *);
/* It has its number. Whether everybody before it is in the view; then the mark is at it. */
bool uvzk__watermark_knows_predecessors(struct uvzk__contender *);

/* Whether we have met nobody there for a while, as far as it shows; and, we have,
 * though the numbers do not show it. */
bool uvzk__watermark_is_alone(const struct uvzk__queue *);
void uvzk__watermark_others_seen(struct uvzk__queue *);

/* The view has taken over the latest listing. last: the greatest number of ours in it, or
 * -1; behind: it has shown others behind that one, whom the view does not keep. */
void uvzk__watermark_listed(struct uvzk__queue *, int32_t last, bool others_behind);

/* Whether it wants a watch, and has none; whether it has one, or is about to; until when it
 * is kept if nobody of ours comes. */
bool uvzk__watermark_wants_watch(const struct uvzk__queue *);
bool uvzk__watermark_watches(const struct uvzk__queue *);
uint64_t uvzk__watermark_kept_until(const struct uvzk__mark *);

/* The latest request is to arm its watch; it has, with this status; the watch has fired. */
void uvzk__watermark_arming(struct uvzk__mark *, const struct uvzk__rpc *);
void uvzk__watermark_armed(struct uvzk__mark *, int status);
void uvzk__watermark_fired(struct uvzk__mark *);

/* There is none any more. */
void uvzk__watermark_end(struct uvzk__queue *);

#endif
