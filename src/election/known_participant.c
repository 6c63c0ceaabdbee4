/* Copies a participant, with its id and path, into one allocation
 * (known_participant.h). */
#include "election/known_participant.h"

#include <string.h>

#include "base/list.h"
#include "base/memory.h"

struct uvzk__known_participant *
uvzk__known_participant_new(const char *path, int64_t token, int64_t session_id,
                            const void *id, size_t id_length)
{
    size_t path_size = strlen(path) + 1;
    struct uvzk__known_participant *known =
        uvzk__calloc(1, sizeof(*known) + id_length + 1 + path_size);

    if (known == NULL) {
        return NULL;
    }
    if (id_length > 0) {
        memcpy(known->texts, id, id_length);
    }
    memcpy(known->texts + id_length + 1, path, path_size);
    known->shown = (uvzk_election_participant_t){.size = sizeof(known->shown),
                                                 .id = known->texts,
                                                 .id_length = id_length,
                                                 .token = token,
                                                 .session_id = session_id,
                                                 .path = known->texts + id_length + 1};
    return known;
}

const uvzk_election_participant_t *
uvzk__known_participant_copy(const uvzk_election_participant_t *shown)
{
    struct uvzk__known_participant *copy = uvzk__known_participant_new(
        shown->path, shown->token, shown->session_id, shown->id, shown->id_length);

    if (copy == NULL) {
        return NULL;
    }
    copy->shown.is_leader = shown->is_leader;
    return &copy->shown;
}

void uvzk__known_participant_free(const uvzk_election_participant_t *shown)
{
    uvzk__free(
        UVZK__CONTAINER_OF((uintptr_t)shown, struct uvzk__known_participant, shown));
}
