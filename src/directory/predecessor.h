/* The watch on the foreign predecessor of the first in line.
 *
 *   NONE --- asked for ---> ARMING --- answered ---> ARMED
 *    ^ ^                      |                        |
 *    | `--- not to be had ----'                        |
 *    `--- fired, lost, taken off, looked at anew ------' */
#ifndef UVZK_PREDECESSOR_H
#define UVZK_PREDECESSOR_H

#include "base/machine.h"
#include "engine/port.h"
#include "engine/turn.h"

struct uvzk__foreigner;
struct uvzk__queue;

enum uvzk__predecessor_state {
    UVZK__PREDECESSOR_NONE,   /* next: ARMING */
    UVZK__PREDECESSOR_ARMING, /* next: ARMED NONE */
    UVZK__PREDECESSOR_ARMED   /* next: NONE */
};

extern const struct uvzk__machine uvzk__predecessor_machine;

/* Of a directory: what it has under watch, which for leases is the directory itself. */
struct uvzk__predecessor {
    struct uvzk__watch watch;
    struct uvzk__timed second_look; /* while the watch stands */
    char *path;                     /* not in NONE */
    int32_t sequence;
    uint8_t state; /* enum uvzk__predecessor_state */
    bool shared;
};

void uvzk__predecessor_init(struct uvzk__queue *);

void uvzk__predecessor_watch(struct uvzk__queue *, const struct uvzk__foreigner *);

/* For the children of this path, which is its own from now on: what a listing is to arm;
 * and it has done so. */
struct uvzk__watch *uvzk__predecessor_watch_children(struct uvzk__queue *, char *path);
void uvzk__predecessor_armed(struct uvzk__queue *);

/* What is under watch, or being put under it; or NULL. */
static inline const char *
uvzk__predecessor_watched(const struct uvzk__predecessor *predecessor)
{
    return predecessor->path;
}

/* Takes the watch off. Nothing while it is being armed: its request still needs
 * the path, and the queue is settled again when it is answered. */
void uvzk__predecessor_unwatch(struct uvzk__queue *);

/* The watch is gone already. */
void uvzk__predecessor_forget(struct uvzk__queue *);

#endif
