/* All elections of one session, and what they share. */
#ifndef UVZK_ELECTIONS_H
#define UVZK_ELECTIONS_H

#include "base/list.h"
#include "uvzk.h"

struct uvzk__reading;
struct uvzk__session;

/* One for each session. */
struct uvzk__elections {
    struct uvzk__link all;               /* struct uvzk__election */
    struct uvzk__reading *leader_caches; /* engine/reading.h: struct uvzk__leader_cache */
};

void uvzk__elections_init(struct uvzk__elections *);

/* The client is being closed, or is broken. Participants that wait for nothing but time
 * or their user end with this code; the lock reports it to all others. */
void uvzk__elections_closing(struct uvzk__session *, int code);

/* Frees all elections of the session, when its client has ended and its locks have been
 * freed. */
void uvzk__elections_free(struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* The close callback of an election's lock: frees the election and calls its user. */
void uvzk__election_lock_closed(uvzk_lock_t *);

#endif
