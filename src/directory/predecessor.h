/* The watch on the foreign predecessor of the first in line. */
#ifndef UVZK_PREDECESSOR_H
#define UVZK_PREDECESSOR_H

#include "directory/queue.h"

void uvzk__predecessor_init(struct uvzk__queue *);

void uvzk__predecessor_watch(struct uvzk__queue *, const struct uvzk__foreigner *);

/* Takes the watch off. Nothing while it is being armed: its request still needs
 * the path, and the queue is settled again when it is answered. */
void uvzk__predecessor_unwatch(struct uvzk__queue *);

/* The watch is gone already. */
void uvzk__predecessor_forget(struct uvzk__queue *);

#endif
