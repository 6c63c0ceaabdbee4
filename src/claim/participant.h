/* SPDX-License-Identifier: Apache-2.0 */
/* The participants of a lock, and the directories in which they are found
 * (uvzk_lock_participants). lock_requests/participants.c fills them in. The lock's kind
 * then marks which of them hold or are hidden (lock_kind.classify). */
#ifndef UVZK_PARTICIPANT_H
#define UVZK_PARTICIPANT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/place.h"

struct uvzk__directory_kind;

/* A semaphore has two: `leases` and `locks`. */
#define UVZK__PARTICIPANT_DIRECTORIES_MAX 2

struct uvzk__participant_directory {
    const char *path; /* owned by the lock */
    const struct uvzk__directory_kind *kind;
};

struct uvzk__participant {
    /* By sequence number; the czxid is 0 here, because a listing does not show it. */
    struct uvzk__place place;
    /* The full path, owned by the participant. */
    char *path;
    size_t directory; /* index of the directory that it is in */
    bool shared;      /* it is a reader of a read-write lock */
    bool hidden;      /* set by classify: it is not reported */
    bool holds;       /* set by classify: it holds; holders come first */
};

#endif
