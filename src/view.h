/* From a listing's names to a queue's view. */
#ifndef UVZK_VIEW_H
#define UVZK_VIEW_H

#include "state.h"

/* Takes a listing over: finds the local contenders in it, keeps the foreigners
 * that stand before the last of ours, marks who is covered, and tells the
 * members that are missing in it and the strangers that turned up. 0 or
 * UV_ENOMEM, which changes nothing. */
int uvzk__view_update(struct uvzk__queue *, const char *const *names, size_t count);

/* The nearest foreigner that this contender has to wait for, or NULL. */
const struct uvzk__foreigner *uvzk__view_blocker(const struct uvzk__queue *,
                                                 const struct uvzk__contender *);

/* The number of the first foreigner for whom readers behind it wait; INT32_MAX if there
 * is none. */
int32_t uvzk__view_first_writer(const struct uvzk__queue *);

/* One of them has gone. */
void uvzk__view_forget(struct uvzk__queue *, const char *name);

/* So many children are no contenders': counted, and reported when it changes. */
void uvzk__view_foreign_children(struct uvzk__queue *, uint64_t count);

void uvzk__view_clear(struct uvzk__queue *);

#endif
