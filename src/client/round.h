/* One round of a turn, in this order: claims that have ended withdraw their contenders;
 * directories that have changed are settled; creates and deletes are sent. A hold that a
 * callback releases is settled before its znode's delete is sent. So the delete can carry
 * a check of the znode of the contender that was granted early. */
#ifndef UVZK_ROUND_H
#define UVZK_ROUND_H

#include "engine/turn.h"

/* The functions that the engine calls in the turns of each session. */
extern const struct uvzk__turn_hooks uvzk__round_hooks;

#endif
