/* A lock directory in a turn, and at the end of a connection. */
#ifndef UVZK_DIRECTORY_H
#define UVZK_DIRECTORY_H

#include "directory/queue.h"

/* For each that has been touched: decides what to ask, whom to grant, and frees the queue
 * if nobody is left. */
void uvzk__directories_settle(struct uvzk__client *);

/* The session goes on, its watches are gone: nothing is under way. */
void uvzk__directory_watches_lost(struct uvzk__queue *);
/* The session has ended: requests and watch are gone, the view is void. */
void uvzk__directory_session_ended(struct uvzk__queue *);

void uvzk__directory_free(struct uvzk__queue *);

#endif
