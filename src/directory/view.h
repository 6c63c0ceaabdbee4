/* From a listing's names to a queue's view. */
#ifndef UVZK_VIEW_H
#define UVZK_VIEW_H

#include "directory/queue.h"

/* Takes a listing over: finds the local contenders in it, keeps the foreign nodes
 * that stand before the last of ours, marks who is covered, and tells the
 * members that are missing in it and the unplaced contenders that turned up. 0 or
 * UV_ENOMEM, which changes nothing. */
int uvzk__view_update(struct uvzk__queue *, const char *const *names, size_t count);

#endif
