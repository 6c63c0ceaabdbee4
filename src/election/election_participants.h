/* SPDX-License-Identifier: Apache-2.0 */
/* A participant of an election as it was read from its znode, in one allocation. */
#ifndef UVZK_ELECTION_PARTICIPANTS_H
#define UVZK_ELECTION_PARTICIPANTS_H

#include "uvzk.h"

struct uvzk__known_participant {
    uvzk_election_participant_t shown; /* its pointers point into this allocation */
    char texts[];                      /* the id, a NUL, the path of the znode, a NUL */
};

/* A copy of a participant that this library has shown; NULL: out of memory. It is freed
 * with the second function. */
const uvzk_election_participant_t *
uvzk__known_participant_copy(const uvzk_election_participant_t *);
void uvzk__known_participant_free(const uvzk_election_participant_t *);

/* ------------------------------------------------------------ for this room alone */

/* Copies all of it. token: the znode's czxid. NULL: out of memory. The caller frees the
 * result with uvzk__free. */
struct uvzk__known_participant *
uvzk__known_participant_new(const char *path, int64_t token, int64_t session_id,
                            const void *id, size_t id_length);

#endif
