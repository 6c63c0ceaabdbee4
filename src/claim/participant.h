/* Those who take part in a lock, and where they stand (uvzk_lock_participants): filled
 * in by who asks and by the lock's kind, which judges them. */
#ifndef UVZK_PARTICIPANT_H
#define UVZK_PARTICIPANT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/place.h"

#define UVZK__PARTICIPANT_DIRECTORIES_MAX 2

struct uvzk__participant_directory {
    const char *path; /* of the lock's */
    enum uvzk__directory_order directory_order;
};

struct uvzk__participant {
    struct uvzk__place place;
    char *path;
    size_t directory; /* which one it stands in */
    bool shared;      /* it is a reader */
    bool hidden;      /* judge(): it is not told */
    bool holds;       /* judge(): likewise; holders come first */
};

#endif
