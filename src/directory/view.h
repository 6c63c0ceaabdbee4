/* Updates a directory's view from the names of a listing. */
#ifndef UVZK_VIEW_H
#define UVZK_VIEW_H

#include "directory/queue.h"

/* Replaces the directory's foreign nodes by those of the listing that are before the last
 * local contender. Marks the local contenders that the listing shows: their predecessors
 * are known. Reports contenders whose node is missing in the listing, and resolves those
 * whose create had an unknown outcome. names: borrowed; without a directory, NULL and 0.
 * Returns 0, or UV_ENOMEM, which changes nothing. Contenders may end, and may be
 * freed. */
int uvzk__view_update(struct uvzk__queue *, const char *const *names, size_t count);

#endif
