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
 * check cannot tell one znode of a fixed name from the next, and a durable hold needs
 * no proof: both have a lookout on their own znode instead.
 *
 * A durable contender (persistent znode) is not touched by the end of a session: what
 * stands still stands, what is not known is searched for, what is to be deleted is
 * deleted, in the next one. */
#ifndef UVZK_DRIVEN_H
#define UVZK_DRIVEN_H

#include "claim/lock.h"
#include "recipes/lock_driver.h"
#include "recipes/ranking.h"

/* What a claim has for its one contender: claim->extra. */
struct uvzk__driven {
    struct uvzk__claim *claim;
    struct uvzk__lock_driver *driver;
    struct uvzk__lookout *lookout; /* on whom it waits for; GETS: on its own znode */
    struct uvzk__link in_lookout;
    uint32_t shown;  /* client->directories->settlings in which its verdict is fresh */
    uint8_t verdict; /* enum uvzk__verdict */
    bool inspecting; /* a look at its fixed name is under way */
    bool confirmed;  /* what stands there is its own */
};

/* Of a contender in a driven directory. */
static inline struct uvzk__driven *
uvzk__driven_of(const struct uvzk__contender *contender)
{
    return contender->claim->extra;
}

static inline bool uvzk__has_fixed_name(const struct uvzk__contender *contender)
{
    return contender->fixed_name;
}

/* What it looks at; NULL: nothing. */
static inline void uvzk__driven_looks(struct uvzk__driven *driven,
                                      struct uvzk__lookout *lookout)
{
    driven->lookout = lookout;
}

/* A look at its fixed name is under way, or no longer. */
static inline void uvzk__driven_inspects(struct uvzk__driven *driven, bool inspecting)
{
    driven->inspecting = inspecting;
}

/* Whether what stands at its fixed name is known to be its own. */
static inline void uvzk__driven_confirmed(struct uvzk__driven *driven, bool confirmed)
{
    driven->confirmed = confirmed;
}

/* Its verdict. WAITS, for the child of that name, is told how many are before it; the
 * contender may be gone afterwards: it has tried once. */
void uvzk__driven_asks(struct uvzk__contender *);
void uvzk__driven_gets(struct uvzk__contender *);
void uvzk__driven_waits(struct uvzk__contender *, const char *name, uint64_t ahead);

/* Once, if its claim wants to be told. */
void uvzk__driven_tell_position(struct uvzk__contender *, uint64_t ahead);

extern const struct uvzk__claim_kind uvzk__claim_driven;

/* A claim's extra. UV_ENOMEM: nothing is done. */
int uvzk__driven_attach(struct uvzk__claim *, struct uvzk__lock_driver *);

/* The child it is looking at: UVZK_ENONODE, it is gone; 0, something has happened to it;
 * else why it cannot be watched. */
void uvzk__driven_told(struct uvzk__driven *, int news);

/* What is told of a child with this czxid is not told of another than its own. */
bool uvzk__driven_is(const struct uvzk__driven *, int64_t czxid);

/* What such a directory is. */
extern const struct uvzk__directory_kind uvzk__driven_directory;

#endif
