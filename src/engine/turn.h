/* A turn: what is due, the work of the rooms above, what there is to tell. Nothing is told
 * to the user anywhere else. */
#ifndef UVZK_TURN_H
#define UVZK_TURN_H

#include "base/deadline.h"
#include "base/list.h"
#include "engine/port.h"

struct uvzk__client;

/* Something to be done at a moment; due() runs inside a turn. */
struct uvzk__timed {
    struct uvzk__deadline deadline;
    void (*due)(struct uvzk__timed *);
};

/* Something to be told to the user at the end of a turn, and nowhere else.
 * deliver() may free what contains it. */
struct uvzk__telling {
    struct uvzk__link link;
    void (*deliver)(struct uvzk__telling *);
};

/* What the rooms above do in a client's turns (round.h). */
struct uvzk__above {
    /* A server has answered a request; write: it was one. */
    void (*answered)(struct uvzk__client *, const struct uvzk__rpc *, bool write);
    /* There is a connection, and its barrier is open. */
    void (*reached)(struct uvzk__client *);
    /* The next chance to send has come: whoever waits for it asks again. */
    void (*resume)(struct uvzk__client *);
    /* Settles what has changed, and sends. */
    void (*work)(struct uvzk__client *);
    bool (*has_work)(const struct uvzk__client *);
    /* Somebody is about to watch this path: who else does, and can do without, ends it. */
    void (*give_way)(struct uvzk__client *, const char *path);
    /* A turn is over. */
    void (*turned)(struct uvzk__client *);
};

uint64_t uvzk__now(struct uvzk__client *);

/* A turn will come soon. */
void uvzk__wake(struct uvzk__client *);

void uvzk__timed_set(struct uvzk__client *, struct uvzk__timed *, uint64_t at_ms);
void uvzk__timed_clear(struct uvzk__client *, struct uvzk__timed *);

/* Puts the telling on the list, once. */
void uvzk__tell_soon(struct uvzk__client *, struct uvzk__telling *);

/* Delivers what is on the list now, not what the callbacks add to it. */
void uvzk__tell_all(struct uvzk__client *);

void uvzk__turn(struct uvzk__client *);

#endif
