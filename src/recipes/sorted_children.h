/* What a lock driver makes of a listing: who stands before whom, and whether one of
 * them gets the lock. It calls the driver, and nothing else. */
#ifndef UVZK_SORTED_CHILDREN_H
#define UVZK_SORTED_CHILDREN_H

#include "uvzk.h"

struct uvzk__sorted_children {
    const uvzk_lock_driver_t *driver;
    const char **names; /* of the contenders, in order; borrowed from the listing */
    size_t count;
    size_t ignored; /* children that the driver takes for no contenders */
};

/* 0 or UV_ENOMEM. Free it in either case. */
int uvzk__sorted_children_sort(struct uvzk__sorted_children *, const uvzk_lock_driver_t *,
                               const char *const *names, size_t count);
void uvzk__sorted_children_free(struct uvzk__sorted_children *);

/* Its index; SIZE_MAX: it is not among them. */
size_t uvzk__sorted_children_find(const struct uvzk__sorted_children *, const char *name);

enum uvzk__probe_result {
    UVZK__DRIVER_UNDECIDED,
    UVZK__DRIVER_WAITS,
    UVZK__DRIVER_GETS_LOCK
};

/* GETS; WAITS, for the one with index *watch; ASKS: the driver said nonsense. */
enum uvzk__probe_result uvzk__sorted_children_decide(const struct uvzk__sorted_children *,
                                                     size_t own, size_t *watch);

#endif
