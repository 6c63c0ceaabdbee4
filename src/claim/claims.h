/* What this room keeps for one session: its locks, the lists of claims and acquisitions
 * that wait for something, and a buffer for texts. */
#ifndef UVZK_CLAIMS_H
#define UVZK_CLAIMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct uvzk__session;

struct uvzk__claims {
    struct uvzk__link locks;    /* made in this session, until they are freed */
    struct uvzk__link try_once; /* pending acquisitions with UVZK_TRY_ONCE */
    /* Claims that have ended, whose contenders are withdrawn in the next round. */
    struct uvzk__link to_withdraw;
    /* The buffer of uvzk__claims_user_text; NULL: none yet. */
    char *user_text;
    /* In bytes, without one byte that is always added. */
    size_t user_text_size;
    /* Locks made in this session so far; the last number that was given out. */
    uint64_t locks_made;
};

/* The struct itself is part of the session's memory (client/create.c). init prepares its
 * lists; free frees what the struct points to. */
void uvzk__claims_init(struct uvzk__claims *);
void uvzk__claims_free(struct uvzk__claims *);

/* Returns a buffer of at least `size` bytes for a text that the user may read until the
 * next call of this function. The session owns the buffer. NULL: out of memory. */
char *uvzk__claims_user_text(struct uvzk__session *, size_t size);

/* ------------------------------------------------------------ for this room alone */

/* Returns the number of a new lock. No two locks of one session have the same number. */
static inline uint64_t uvzk__claims_number_lock(struct uvzk__claims *claims)
{
    return ++claims->locks_made;
}

#endif
