/* The watch on the foreign predecessor of the first in line; or on the directory's children.
 *
 *   NONE --- asked for ---> ARMING --- answered ---> ARMED
 *    ^ ^                      |                        |
 *    | `--- not to be had ----'                        |
 *    `--- fired, lost, taken off, looked at anew ------' */
#ifndef UVZK_PREDECESSOR_H
#define UVZK_PREDECESSOR_H

#include "base/machine.h"
#include "engine/port.h"

struct uvzk__foreign_node;
struct uvzk__queue;

enum uvzk__predecessor_state {
    UVZK__PREDECESSOR_NONE,   /* next: ARMING */
    UVZK__PREDECESSOR_ARMING, /* next: ARMED NONE */
    UVZK__PREDECESSOR_ARMED   /* next: NONE */
};

extern const struct uvzk__machine uvzk__predecessor_machine;

/* Of a directory: what it has under watch. */
struct uvzk__predecessor {
    char *path; /* not in NONE; in the memory of its watch, predecessor.c */
    int32_t sequence;
    uint8_t state; /* enum uvzk__predecessor_state */
    bool shared;
    bool on_children; /* it is the directory itself */
    bool missing;     /* the last one that was asked for was not there */
};

void uvzk__predecessor_watch(struct uvzk__queue *, const struct uvzk__foreign_node *);

/* For the directory's children: the listing is to arm it; and it has done so. 0, UV_ENOMEM,
 * UVZK_ELIMIT. */
int uvzk__predecessor_watch_children(struct uvzk__queue *, struct uvzk__rpc *listing);
void uvzk__predecessor_armed(struct uvzk__queue *);

/* What is under watch, or being put under it; or NULL. */
static inline const char *
uvzk__predecessor_watched(const struct uvzk__predecessor *predecessor)
{
    return predecessor->path;
}

/* Whether there is nothing to be kept of it. */
static inline bool uvzk__predecessor_is_empty(const struct uvzk__predecessor *predecessor)
{
    return predecessor->path == NULL && !predecessor->missing;
}

/* Whether that is the directory itself, for its children. */
static inline bool
uvzk__predecessor_is_on_children(const struct uvzk__predecessor *predecessor)
{
    return predecessor->path != NULL && predecessor->on_children;
}

/* Takes the watch off. Nothing while it is being armed: its request still needs
 * the path, and the queue is settled again when it is answered. */
void uvzk__predecessor_unwatch(struct uvzk__queue *);

/* The quorum says that the one of this path is not there. */
void uvzk__predecessor_is_gone(struct uvzk__queue *, const char *path);

/* The watch is gone already. */
void uvzk__predecessor_watch_gone(struct uvzk__queue *);

#endif
