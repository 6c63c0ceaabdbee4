/* What a lock driver makes of a listing: who stands before whom, and whether one of
 * them gets the lock. It calls the driver, and nothing else. */
#ifndef UVZK_RANKING_H
#define UVZK_RANKING_H

#include "uvzk.h"

struct uvzk__ranking {
    const uvzk_lock_driver_t *driver;
    const char **names; /* of the contenders, in order; borrowed from the listing */
    size_t count;
    size_t ignored; /* children that the driver takes for no contenders */
};

/* 0 or UV_ENOMEM. Free it in either case. */
int uvzk__ranking_make(struct uvzk__ranking *, const uvzk_lock_driver_t *,
                       const char *const *names, size_t count);
void uvzk__ranking_free(struct uvzk__ranking *);

/* Its index; SIZE_MAX: it is not among them. */
size_t uvzk__ranking_find(const struct uvzk__ranking *, const char *name);

enum uvzk__verdict { UVZK__ASKS, UVZK__WAITS, UVZK__GETS };

/* GETS; WAITS, for the one with index *watch; ASKS: the driver said nonsense. */
enum uvzk__verdict uvzk__ranking_judge(const struct uvzk__ranking *, size_t own,
                                       size_t *watch);

#endif
