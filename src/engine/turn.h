/* A turn: what is due, the work of the rooms above, what there is to tell. Nothing is told
 * to the user anywhere else. */
#ifndef UVZK_TURN_H
#define UVZK_TURN_H

#include "base/deadline.h"
#include "base/list.h"
#include "engine/port.h"

struct uvzk__session;

/* Something to be done at a moment; due() runs inside a turn. */
struct uvzk__timer {
    struct uvzk__deadline deadline;
    void (*due)(struct uvzk__timer *);
};

/* Something to be told to the user at the end of a turn, and nowhere else.
 * deliver() may free what contains it. */
struct uvzk__notification {
    struct uvzk__link link;
    void (*notify_cb)(struct uvzk__notification *);
};

/* What the rooms above do in a client's turns (round.h). */
struct uvzk__turn_hooks {
    /* A server has answered a request; write: it was one. */
    void (*answered)(struct uvzk__session *, const struct uvzk__rpc *, bool write);
    /* There is a connection, and its barrier is open. */
    void (*connected)(struct uvzk__session *);
    /* The next chance to send has come: whoever waits for it asks again. */
    void (*resume)(struct uvzk__session *);
    /* Settles what has changed, and sends. */
    void (*work)(struct uvzk__session *);
    bool (*has_work)(const struct uvzk__session *);
    /* Somebody is about to watch this path: who else does, and can do without, ends it. */
    void (*yield_watch)(struct uvzk__session *, const char *path);
    /* A turn is over. */
    void (*turn_ended)(struct uvzk__session *);
};

uint64_t uvzk__now(struct uvzk__session *);

/* A turn will come soon. */
void uvzk__wake(struct uvzk__session *);

void uvzk__timer_set(struct uvzk__session *, struct uvzk__timer *, uint64_t at_ms);
void uvzk__timer_clear(struct uvzk__session *, struct uvzk__timer *);

/* Puts the telling on the list, once. */
void uvzk__notify_later(struct uvzk__session *, struct uvzk__notification *);

/* Delivers what is on the list now, not what the callbacks add to it. */
void uvzk__notify_all(struct uvzk__session *);

void uvzk__turn(struct uvzk__session *);

#endif
