/* Who takes part in a lock: the children of its directories, listed once. What they
 * are to the lock is its kind's to say (lock.h):
 *
 *   directories() --> one listing each --> the contenders among the children, by
 *   directory and number --> judge() --> told
 */
#include <stdlib.h>

#include "base/path.h"
#include "base/refusal.h"
#include "claim/lock.h"
#include "directory/foreign_nodes.h"
#include "directory/queue.h"
#include "directory/view.h"
#include "engine/submission.h"

struct participants_query;

struct listing {
    struct uvzk__rpc rpc;
    struct participants_query *participants_query;
    struct uvzk__participant_directory directory;
};

struct participants_query {
    struct uvzk__lock *lock; /* not closed before this is over */
    uvzk_participants_t *shell;
    uvzk_participants_cb cb;
    struct listing listings[UVZK__PARTICIPANT_DIRECTORIES_MAX];
    size_t outstanding; /* listings */
    struct uvzk__participant *participants;
    size_t count;
    int status; /* the first failure */
};

/* -------------------------------------------------------------------- listings */

/* Whether the child is a contender: then *out is all but its path. */
static bool parse_child(const struct listing *listing, const char *name,
                        struct uvzk__participant *out)
{
    struct uvzk__node_name parsed;

    *out = (struct uvzk__participant){0};
    uvzk__parse_child_name(listing->directory.directory_order, name, &parsed,
                           &out->shared);
    out->place.sequence = parsed.sequence;
    out->directory = (size_t)(listing - listing->participants_query->listings);
    return listing->directory.directory_order == UVZK__DRIVER_DEFINED ||
           (parsed.is_contender && !uvzk__sequence_exhausted(parsed.sequence));
}

static int add(struct participants_query *participants_query,
               const struct listing *listing, const struct uvzk__reply *reply)
{
    size_t before = participants_query->count;
    struct uvzk__participant *more = uvzk__realloc(participants_query->participants,
                                                   (before + reply->name_count + 1) *
                                                       sizeof(struct uvzk__participant));

    if (more == NULL) {
        return UV_ENOMEM;
    }
    participants_query->participants = more;
    for (size_t i = 0; i < reply->name_count; i++) {
        struct uvzk__participant *participant = &more[participants_query->count];
        if (!parse_child(listing, reply->names[i], participant)) {
            continue;
        }
        participant->path = uvzk__path_join(listing->directory.path, reply->names[i]);
        if (participant->path == NULL) {
            return UV_ENOMEM;
        }
        participants_query->count++;
    }
    struct uvzk__queue *queue =
        uvzk__queue_find(participants_query->lock->session,
                         listing->directory.directory_order, listing->directory.path);
    if (queue != NULL &&
        queue->kind->directory_order != UVZK__DRIVER_DEFINED) { /* else the driver says */
        uvzk__foreign_children(queue,
                               reply->name_count + before - participants_query->count);
    }
    return 0;
}

/* --------------------------------------------------------------------- telling */

static int by_place(const void *left, const void *right)
{
    const struct uvzk__participant *a = left, *b = right;

    return a->directory != b->directory ? (a->directory > b->directory) * 2 - 1
                                        : uvzk__place_compare(a->place, b->place);
}

/* The paths to be told, borrowed from the participants. 0 or UV_ENOMEM. */
static int collect_participants(struct participants_query *participants_query,
                                const char ***paths, size_t *count, size_t *holding)
{
    int status = 0;

    *paths = uvzk__calloc(participants_query->count + 1, sizeof(char *));
    if (*paths == NULL) {
        return UV_ENOMEM;
    }
    if (participants_query->count > 0) {
        qsort(participants_query->participants, participants_query->count,
              sizeof(struct uvzk__participant), by_place);
        status = participants_query->lock->kind->classify(
            participants_query->lock, participants_query->participants,
            participants_query->count);
    }
    for (size_t i = 0; status == 0 && i < participants_query->count; i++) {
        const struct uvzk__participant *participant =
            &participants_query->participants[i];
        if (!participant->hidden) {
            *holding += participant->holds;
            (*paths)[(*count)++] = participant->path;
        }
    }
    return status;
}

static void free_participants_query(struct participants_query *participants_query)
{
    for (size_t i = 0; i < participants_query->count; i++) {
        uvzk__free(participants_query->participants[i].path);
    }
    uvzk__free(participants_query->participants);
    uvzk__free(participants_query);
}

static void tell(struct participants_query *participants_query)
{
    size_t count = 0, holding = 0;
    const char **paths = NULL;
    int status = participants_query->status;

    if (status == 0) {
        status = collect_participants(participants_query, &paths, &count, &holding);
    }
    participants_query->shell->reserved[0] = (void *)(uintptr_t)holding;
    participants_query->shell->impl = NULL;
    uvzk__lock_unref(participants_query->lock);
    participants_query->cb(participants_query->shell, status, paths, count);
    uvzk__free(paths);
    free_participants_query(participants_query);
}

static void listed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct listing *listing = UVZK__CONTAINER_OF(rpc, struct listing, rpc);
    struct participants_query *participants_query = listing->participants_query;
    int status = reply->status;

    uvzk__answered(participants_query->lock->session, rpc, status, false);
    if (status == 0) {
        status = add(participants_query, listing, reply);
    } else if (status == UVZK_ENONODE) {
        status = 0; /* no directory, nobody in it */
    }
    if (participants_query->status == 0) {
        participants_query->status = status;
    }
    if (--participants_query->outstanding == 0) {
        tell(participants_query);
    }
}

/* ------------------------------------------------------------------ the question */

/* The last directory first: who goes from one that is told later to one that is told
 * before, as a semaphore's waiter does, may be seen in both, but is never missed. */
static void ask(struct participants_query *participants_query,
                const struct uvzk__participant_directory *directories, size_t count)
{
    participants_query->outstanding = count;
    while (count-- > 0) {
        struct listing *listing = &participants_query->listings[count];
        listing->participants_query = participants_query;
        listing->directory = directories[count];
        uvzk__rpc_prepare(&listing->rpc, UVZK__RPC_CHILDREN, directories[count].path,
                          listed);
        uvzk__submit(participants_query->lock->session, &listing->rpc);
    }
}

int uvzk_lock_participants(uvzk_lock_t *lock_shell, uvzk_participants_t *shell,
                           uvzk_participants_cb cb)
{
    struct uvzk__participant_directory directories[UVZK__PARTICIPANT_DIRECTORIES_MAX];

    if (lock_shell == NULL || shell == NULL || cb == NULL) {
        return uvzk__refuse(UV_EINVAL, lock_shell == NULL ? "lock is NULL"
                                       : shell == NULL    ? "request is NULL"
                                                          : "cb is NULL");
    }
    struct uvzk__lock *lock = lock_shell->impl;
    if (shell->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "request is in use, or not zeroed");
    }
    if (lock == NULL || lock->closing || lock->session->closing) {
        return uvzk__refuse(UVZK_ECLOSED, "lock or its client is closing, or it is not "
                                          "initialised");
    }
    if (lock->kind->directories == NULL) {
        return uvzk__refuse(UV_ENOTSUP, "lock is a multi lock: ask its members");
    }
    struct participants_query *participants_query =
        uvzk__calloc(1, sizeof(*participants_query));
    if (participants_query == NULL) {
        return UV_ENOMEM;
    }
    participants_query->lock = lock;
    participants_query->shell = shell;
    participants_query->cb = cb;
    uvzk__lock_ref(lock);
    shell->impl = participants_query;
    ask(participants_query, directories, lock->kind->directories(lock, directories));
    return 0;
}

size_t uvzk_participants_holding(const uvzk_participants_t *request)
{
    return request == NULL ? 0 : (size_t)(uintptr_t)request->reserved[0];
}
