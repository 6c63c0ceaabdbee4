/* Contenders of lock drivers (LockInternalsDriver): the plain algorithm, each contender
 * for itself.
 *
 *   created --> ASKS -- a listing, judged by its driver --> GETS --> proved, granted
 *                ^ |
 *                | `--> WAITS for the child the driver named
 *                `--------- it is gone, or has changed
 *
 * With a fixed name there is nothing to list: whoever has created the znode GETS, and
 * everybody else WAITS for that one to go and then tries again (fixed_name.h).
 *
 * A grant rests on what has just been seen: a listing after the last wake that shows
 * the contender's znode, a proof that names it, the reply to a fixed name's create. A
 * check cannot tell one znode of a fixed name from the next, and a persistent hold needs
 * no proof: both have a node watch on their own znode instead.
 *
 * A persistent contender (persistent znode) is not touched by the end of a session: what
 * stands still stands, what is not known is searched for, what is to be deleted is
 * deleted, in the next one. */
#ifndef UVZK_DRIVER_DIRECTORY_H
#define UVZK_DRIVER_DIRECTORY_H

#include "claim/lock.h"
#include "recipes/lock_driver.h"
#include "recipes/sorted_children.h"

/* What a claim has for its one contender: claim->extra. */
struct uvzk__driver_claim {
    struct uvzk__claim *claim;
    struct uvzk__lock_driver *driver;
    struct uvzk__node_watch
        *node_watch; /* on whom it waits for; GETS: on its own znode */
    struct uvzk__link in_node_watch;
    uint32_t
        settle_count; /* session->directories->settle_count in which its verdict is fresh */
    uint8_t decision; /* enum uvzk__probe_result */
    bool reading;     /* a look at its fixed name is under way */
    bool confirmed;   /* what stands there is its own */
};

/* Of a contender in a driver-defined directory. */
static inline struct uvzk__driver_claim *
uvzk__driver_claim_of(const struct uvzk__contender *contender)
{
    return contender->claim->extra;
}

static inline bool uvzk__has_fixed_name(const struct uvzk__contender *contender)
{
    return contender->fixed_name;
}

/* What it looks at; NULL: nothing. */
static inline void
uvzk__driver_claim_set_node_watch(struct uvzk__driver_claim *driver_claim,
                                  struct uvzk__node_watch *node_watch)
{
    driver_claim->node_watch = node_watch;
}

/* A look at its fixed name is under way, or no longer. */
static inline void uvzk__driver_claim_set_reading(struct uvzk__driver_claim *driver_claim,
                                                  bool reading)
{
    driver_claim->reading = reading;
}

/* Whether what stands at its fixed name is known to be its own. */
static inline void
uvzk__driver_claim_set_confirmed(struct uvzk__driver_claim *driver_claim, bool confirmed)
{
    driver_claim->confirmed = confirmed;
}

/* Its verdict. WAITS, for the child of that name, is told how many are before it; the
 * contender may be gone afterwards: it has tried once. */
void uvzk__driver_claim_set_undecided(struct uvzk__contender *);
void uvzk__driver_claim_set_gets_lock(struct uvzk__contender *);
void uvzk__driver_claim_set_waits(struct uvzk__contender *, const char *name,
                                  uint64_t ahead);

/* Once, if its claim wants to be told. */
void uvzk__driver_claim_notify_position(struct uvzk__contender *, uint64_t ahead);

extern const struct uvzk__claim_kind uvzk__claim_of_driver;

/* A claim's extra. UV_ENOMEM: nothing is done. */
int uvzk__driver_claim_new(struct uvzk__claim *, struct uvzk__lock_driver *);

/* The child it is looking at: UVZK_ENONODE, it is gone; 0, something has happened to it;
 * else why it cannot be watched. */
void uvzk__driver_claim_node_changed(struct uvzk__driver_claim *, int news);

/* What is told of a child with this czxid is not told of another than its own. */
bool uvzk__driver_claim_owns(const struct uvzk__driver_claim *, int64_t czxid);

/* What such a directory is. */
extern const struct uvzk__directory_kind uvzk__driver_directory;

#endif
