/* Ends a client of which an invariant is broken (engine/invariant.h). */
#ifndef UVZK_BROKEN_H
#define UVZK_BROKEN_H

#include "engine/session.h"

/* Ends everything in all sessions of the client, with UVZK_EINTERNAL: first every hold is
 * lost and reported, then everything else that is pending ends. Ends the sessions. The
 * client's memory and its ports remain until uvzk_client_close. */
void uvzk__broken_end(struct uvzk__session *);

#endif
