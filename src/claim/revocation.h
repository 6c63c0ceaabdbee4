/* Another client asks a holder to release: it writes __REVOKE__ into the holder's znode
 * (Curator's Revoker). The own watch of a revocable contender (own_watch.h) is always
 * armed, and reads the znode's data each time that it is set. */
#ifndef UVZK_REVOCATION_H
#define UVZK_REVOCATION_H

#include "claim/claim.h"

#define UVZK__REVOKE "__REVOKE__"
#define UVZK__REVOKE_LENGTH (sizeof(UVZK__REVOKE) - 1)

/* An acquisition of the claim has a revoke callback: the znodes of the claim's contenders
 * are watched from now on. Znodes that are created after this call get no data, even if
 * the acquire has node_data. Returns 0 or UV_ENOMEM. */
int uvzk__revocation_enable(struct uvzk__claim *);

/* The own watch has read the znode of this contender. If the data are __REVOKE__, the
 * revoke callbacks of the claim's acquisitions will run, once for each write of the
 * message. */
void uvzk__revocation_read(struct uvzk__contender *, const struct uvzk__reply *);

#endif
