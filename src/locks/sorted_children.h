/* How a lock driver reads a listing: the order of the children, and whether one of them
 * gets the lock (Curator's getSortedChildren and getsTheLock). These functions call the
 * driver's functions and keep no state. */
#ifndef UVZK_SORTED_CHILDREN_H
#define UVZK_SORTED_CHILDREN_H

#include "uvzk.h"

struct uvzk__sorted_children {
    const uvzk_lock_driver_t *driver; /* borrowed */
    /* The contenders in order. The array is owned, the names are borrowed from the
     * listing. */
    const char **names;
    size_t count;   /* of names */
    size_t ignored; /* how many children the driver ignores */
};

/* Sorts the children of a listing. Returns 0 or UV_ENOMEM. Call
 * uvzk__sorted_children_free in either case. */
int uvzk__sorted_children_sort(struct uvzk__sorted_children *, const uvzk_lock_driver_t *,
                               const char *const *names, size_t count);
void uvzk__sorted_children_free(struct uvzk__sorted_children *);

/* The index of this name; SIZE_MAX: it is not among the contenders. */
size_t uvzk__sorted_children_find(const struct uvzk__sorted_children *, const char *name);

enum uvzk__probe_result {
    UVZK__DRIVER_UNDECIDED,
    UVZK__DRIVER_WAITS,
    UVZK__DRIVER_GETS_LOCK
};

/* The driver's decision about the contender with index `own`. WAITS: for the contender
 * with index *watch. UNDECIDED: the driver named no other contender to wait for, which is
 * an error of the driver. */
enum uvzk__probe_result uvzk__sorted_children_decide(const struct uvzk__sorted_children *,
                                                     size_t own, size_t *watch);

#endif
