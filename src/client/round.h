/* One round of a turn, in this order: claims that have ended withdraw their contenders;
 * directories in which something changed are settled; deletes go out. A hold released in a
 * callback is settled before it is swept, so that the delete of a lock that is handed over
 * can carry the check of its successor. */
#ifndef UVZK_ROUND_H
#define UVZK_ROUND_H

#include "engine/turn.h"

/* What a client's rooms do in its turns. */
extern const struct uvzk__turn_hooks uvzk__round_hooks;

#endif
