/* Znodes of ours that nobody wants, and that cannot be searched for: a create got
 * lost, whoever wanted it has given up, and its directory may not be listed. One may
 * stand, and would block others for as long as its session lives; so the directory is
 * listed again, but seldom (slow_retry.h). What somebody wants does not wait for that
 * pause, and each listing that is answered ends it. */
#ifndef UVZK_UNSEARCHABLE_H
#define UVZK_UNSEARCHABLE_H

#include <stdbool.h>
#include <stddef.h>

struct uvzk__queue;
struct uvzk__unsearchable;

/* Of a directory. */
struct uvzk__unsearchables {
    struct uvzk__unsearchable *those; /* NULL: none is known to be */
};

static inline bool
uvzk__unsearchables_any(const struct uvzk__unsearchables *unsearchables)
{
    return unsearchables->those != NULL;
}

/* It may not be listed. Who is still to be searched for is not wanted. */
void uvzk__unsearchable(struct uvzk__queue *);

/* It has been listed, or there is none any more. */
void uvzk__unsearchable_no_more(struct uvzk__queue *);

/* Whether it may be listed now for the sake of those whose creates have left: one of
 * them is wanted, or it is no pause. */
bool uvzk__unsearchable_may(const struct uvzk__queue *);

#endif
