/* The lock directory itself: Curator's creatingParentContainersIfNeeded. Upwards to
 * the first ancestor whose parent exists, then down again; containers, which the
 * server reaps when they are empty, or persistent znodes where it has none. */
#ifndef UVZK_PARENTS_H
#define UVZK_PARENTS_H

#include <stdbool.h>

#include "base/list.h"

struct uvzk__queue;

/* Of a directory. */
struct uvzk__parents {
    char *path; /* being made; NULL: none is */
    struct uvzk__link behind_creator;
    struct uvzk__queue *queue; /* whose they are, with a path */
};

/* One of them is being made, or waits for the parents creator. */
static inline bool uvzk__parents_are_made(const struct uvzk__parents *parents)
{
    return parents->path != NULL;
}

void uvzk__parents_free(struct uvzk__queue *);

/* Begins to make them, or waits for another lock that makes its own below the same
 * parent; the nodes in PARENTS are created when it is done, or ended with what stood
 * in the way. */
void uvzk__parents_make(struct uvzk__queue *);

#endif
