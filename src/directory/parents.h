/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the lock directory and its missing ancestors, like Curator's
 * creatingParentContainersIfNeeded. uvzk first tries the directory, then one ancestor
 * after the other upwards, until a parent exists, and then goes down again
 * (engine/node_create.h). */
#ifndef UVZK_PARENTS_H
#define UVZK_PARENTS_H

#include <stdbool.h>

#include "base/list.h"

struct uvzk__queue;

/* The part of a directory that parents.c keeps. */
struct uvzk__parents {
    /* Room for the path of the directory or of the ancestor that is being created; owned
     * by this struct. NULL: nothing is being created. */
    char *path;
    struct uvzk__link behind_creator; /* on directories->behind_creator, while it waits */
    struct uvzk__queue *queue;        /* the directory; set together with path */
};

/* Starts to create the directory, or waits for another directory below the same parent
 * that has started already. When it is done, the contenders whose nodes are in PARENTS
 * send their creates again, or end with the error. Call it only when the directory may
 * send a request (uvzk__queue_may_ask). */
void uvzk__parents_make(struct uvzk__queue *);

/* ------------------------------------------------------------ for this room alone */

void uvzk__parents_free(struct uvzk__queue *);

#endif
