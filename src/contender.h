/* One claim on a lock: drives its node machine, keeps its place in the queue,
 * and passes its fate on to its acquisitions. */
#ifndef UVZK_CONTENDER_H
#define UVZK_CONTENDER_H

#include "state.h"

/* A new contender for the lock's path; pump it when its first acquisition has
 * been attached. *out is set only at 0. UV_ENOMEM, UVZK_ELIMIT, UV_EIO (no
 * random bytes). */
int uvzk__contender_new(struct uvzk__lock *, const uvzk_acquire_options_t *,
                        struct uvzk__contender **out);

/* Submits what its node needs, if it can be submitted now. */
void uvzk__contender_pump(struct uvzk__contender *);

/* It is first in line and the session is proved. */
void uvzk__contender_grant(struct uvzk__contender *);

/* The grant came too late to be told: it is a waiter again. */
void uvzk__contender_ungrant(struct uvzk__contender *);

/* Ends every acquisition of it with this code and withdraws the node. */
void uvzk__contender_end(struct uvzk__contender *, int code);

/* The last acquisition has let go: withdraws the node. */
void uvzk__contender_unwanted(struct uvzk__contender *);

/* Somebody deleted its node. */
void uvzk__contender_missing(struct uvzk__contender *);

/* After each step of its node: moves it in its queue, tells its acquisitions,
 * and frees it when it is over. The contender may be gone afterwards. */
void uvzk__contender_follow(struct uvzk__contender *);

/* A listing shows the node of its lost create, or proves that there is none. */
void uvzk__contender_found(struct uvzk__contender *, int32_t sequence);
void uvzk__contender_absent(struct uvzk__contender *);

/* The session has ended. */
void uvzk__contender_session_ended(struct uvzk__contender *, int code);

void uvzk__contender_pin(struct uvzk__contender *);
void uvzk__contender_unpin(struct uvzk__contender *);

/* The request with this stamp has just shown that its node stands; good for the
 * next settle(). */
void uvzk__contender_vouch(struct uvzk__contender *, uint64_t stamp);

/* Whether its hold is valid at this moment. */
bool uvzk__contender_holds(const struct uvzk__contender *);

#endif
