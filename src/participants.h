/* Who takes part in a lock: the children of its directories, listed once. What they
 * are to the lock is its kind's to say (lock.h):
 *
 *   directories() --> one listing each --> the contenders among the children, by
 *   directory and number --> judge() --> told
 */
#ifndef UVZK_PARTICIPANTS_H
#define UVZK_PARTICIPANTS_H

#include "state.h"

#define UVZK__DIRECTORIES_MAX 2

struct uvzk__directory {
    const char *path; /* of the lock's */
    enum uvzk__discipline discipline;
};

struct uvzk__participant {
    struct uvzk__place place;
    char *path;
    size_t directory; /* which one it stands in */
    bool shared;      /* it is a reader */
    bool silent;      /* judge(): it is not told */
    bool holds;       /* judge(): likewise; holders come first */
};

#endif
