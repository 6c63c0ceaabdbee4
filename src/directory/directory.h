/* A lock directory in a turn, and at the end of a connection. */
#ifndef UVZK_DIRECTORY_H
#define UVZK_DIRECTORY_H

#include "directory/queue.h"

/* For each that has been touched: decides what to ask, whom to grant, and frees the queue
 * if nobody is left. */
void uvzk__directories_settle(struct uvzk__session *);

/* A lock at this path, namespace included, has closed: what is kept of the directory while
 * nobody of ours is there goes, in each of the client's sessions. */
void uvzk__directory_lock_closed(struct uvzk__session *, enum uvzk__directory_order,
                                 const char *path);

/* The session goes on, its watches are gone: nothing is under way. */
void uvzk__directories_watches_lost(struct uvzk__session *);
/* The session has ended: requests and watches are gone, the views are void. */
void uvzk__directories_session_ended(struct uvzk__session *);
/* It has ended for good, and so have the contenders. */
void uvzk__directories_free(struct uvzk__session *);

#endif
