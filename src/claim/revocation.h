/* Somebody asks for a hold: __REVOKE__ in its znode (Curator's Revoker). The own watch of
 * a revocable contender (own_watch.h) is always armed, and reads the znode each time. */
#ifndef UVZK_REVOCATION_H
#define UVZK_REVOCATION_H

#include "claim/claim.h"

#define UVZK__REVOKE "__REVOKE__"
#define UVZK__REVOKE_LENGTH (sizeof(UVZK__REVOKE) - 1)

/* The acquisition has a callback for it: its contenders' znodes are watched from now
 * on. Those that are still to be made will have no data. 0 or UV_ENOMEM. */
int uvzk__revocation_enable(struct uvzk__claim *);

/* The own watch has read the znode: tells those who want to know, once for each write
 * of the message. */
void uvzk__revocation_read(struct uvzk__contender *, const struct uvzk__reply *);

#endif
