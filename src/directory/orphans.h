/* Znodes of this client's own sessions that none of its contenders can mean any more. There
 * should be none. A server that has lost its place in history goes on showing, or brings back,
 * what has been deleted; and a fault of ours might leave one. Whoever waits for such a znode
 * would wait for as long as the session lives, which is ours and goes on.
 *
 *   shown as a predecessor, or as a lease that has been in the way for long
 *     its ephemeralOwner is one of our sessions,
 *     its name carries a UUID that none of our contenders has   --> deleted as one of ours
 *                                                                   that is not wanted
 *
 * Why nobody living is deleted, case by case: docs/decisions/diverged-servers.md. */
#ifndef UVZK_ORPHANS_H
#define UVZK_ORPHANS_H

#include <stdbool.h>

#include "engine/port.h"

struct uvzk__contender;
struct uvzk__queue;

/* A reading shows this child of the directory: if it is an orphan it is one of those that
 * leave from now on, and it is deleted. False: it is none, or there is no memory for it. */
bool uvzk__orphan_found(struct uvzk__queue *, const char *name,
                        const struct uvzk__stat *);

/* Whether one of the client's contenders means a child of this name, in whatever
 * session. */
bool uvzk__orphan_is_known(const struct uvzk__queue *, const char *name);

/* Its number, of a name as a contender writes it, whatever the token; NULL: it is none. */
const char *uvzk__orphan_number(const char *name);

/* Its delete has been answered, and it is gone, as far as the quorum knows. */
void uvzk__orphan_deleted(const struct uvzk__contender *);

#endif
