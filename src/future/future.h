/* A future: what becomes of one call, made of the public verbs and their callbacks. What
 * the user sees of it, its status, is settled when it leaves PENDING; the rest is about
 * what is under way beneath.
 *
 *   PENDING --- the call has ended -------------------------> OVER
 *     |  \                                                     ^ ^
 *     |   `--- it has got something to keep ---> HOLDING ------' |
 *     |                                            |  it is gone |
 *     `------------ given up ---> LEAVING <--------'             |
 *                                    `------ the call has ended -'
 *
 * HOLDING: an acquire has its hold, a combination its winners. OVER: nothing is under way;
 * it is freed once it has been dropped as well. */
#ifndef UVZK_FUTURE_H
#define UVZK_FUTURE_H

#include "base/machine.h"
#include "engine/session.h"

enum uvzk__future_state {
    UVZK__FUTURE_PENDING, /* next: HOLDING LEAVING OVER */
    UVZK__FUTURE_HOLDING, /* next: LEAVING OVER */
    UVZK__FUTURE_LEAVING, /* next: OVER */
    UVZK__FUTURE_OVER     /* final */
};

extern const struct uvzk__machine uvzk__future_machine;

struct uvzk__future;

/* How the calls differ. Each may be NULL. */
struct uvzk__future_kind {
    /* It is LEAVING: ends what is under way, or gives back what it has. True: that is
     * done; false, and if NULL: uvzk__future_over() will be called. */
    bool (*withdraw)(struct uvzk__future *);
    /* It is dropped HOLDING, and takes leave of what it has; it is OVER then. NULL:
     * it is given up. */
    void (*leave)(struct uvzk__future *);
    /* Frees what it keeps beside itself. */
    void (*freed)(struct uvzk__future *);
    /* Of a combination: a part is done; one that was done with 0 has lost what it had; it
     * is dropped, or becomes another combination's. */
    void (*part_done)(struct uvzk__future *, struct uvzk__future *part);
    void (*part_lost)(struct uvzk__future *, struct uvzk__future *part, int reason);
    void (*part_gone)(struct uvzk__future *, struct uvzk__future *part);
    /* Done with 0, it still has what it is for. NULL: that cannot be lost. */
    bool (*holds)(const struct uvzk__future *);
    bool outlives; /* its client's end is what it waits for */
};

struct uvzk__future {
    uvzk_future_t *shell;          /* NULL once dropped */
    struct uvzk__session *session; /* NULL once that has gone */
    const struct uvzk__future_kind *kind;
    struct uvzk__link of_session; /* on session->futures->all */
    struct uvzk__link thens;      /* to be called back */
    struct uvzk__notification notification;
    struct uvzk__timer deadline;
    struct uvzk__future *combination; /* the combination that it is a part of; or NULL */
    size_t index;                     /* in it */
    int status;                       /* UV_EAGAIN while PENDING */
    uint8_t state;                    /* enum uvzk__future_state */
    uint8_t depth;                    /* of combinations inside one another */
    uint8_t refs;                     /* not to be freed meanwhile */
    bool listed;                      /* as a part, in a call that combines */
};

/* Of a call that cannot be taken back, and of which nothing is kept but its status. */
extern const struct uvzk__future_kind uvzk__future_plain;

/* Of a client. */
struct uvzk__futures {
    struct uvzk__link all;
};

void uvzk__futures_init(struct uvzk__futures *);
/* The client goes, everything has been told. */
void uvzk__futures_session_gone(struct uvzk__session *);

/* A new one of `size` bytes, which begin with struct uvzk__future, for this shell: 0,
 * UV_EINVAL, UV_EBUSY, UV_ENOMEM. */
int uvzk__future_new(uvzk_future_t *, const struct uvzk__future_kind *, size_t size,
                     struct uvzk__future **);
/* What its call has returned. 0: from now on the shell is in use; else it is freed. */
int uvzk__future_begun(struct uvzk__future *, struct uvzk__session *, int status);

/* From a callback. PENDING: it is done with 0, and has something to keep. */
void uvzk__future_holding(struct uvzk__future *);
/* Likewise. Its call has ended, or what it kept is gone. */
void uvzk__future_over(struct uvzk__future *, int status);
/* PENDING: done with this status; HOLDING: what it has is given back. */
void uvzk__future_give_up(struct uvzk__future *, int status);

/* It is not freed before it is unpinned: around callbacks of the user's. */
void uvzk__future_ref(struct uvzk__future *);
void uvzk__future_unref(struct uvzk__future *);

/* It is the part with this index of a combination; or of none, NULL. */
static inline void uvzk__future_belongs(struct uvzk__future *part,
                                        struct uvzk__future *whole, size_t index)
{
    part->combination = whole;
    part->index = index;
}

/* Named as a part in a call that combines, or no longer. */
static inline void uvzk__future_name(struct uvzk__future *part, bool named)
{
    part->listed = named;
}

/* It is further out than its part. */
static inline void uvzk__future_contains(struct uvzk__future *whole,
                                         const struct uvzk__future *part)
{
    if (part->depth >= whole->depth) {
        whole->depth = (uint8_t)(part->depth + 1);
    }
}

/* Of a shell; NULL if it is not in use. */
struct uvzk__future *uvzk__future_of(const uvzk_future_t *);
/* Likewise, of this kind, and done with 0; else NULL. */
struct uvzk__future *uvzk__future_done(const uvzk_future_t *,
                                       const struct uvzk__future_kind *);

#endif
