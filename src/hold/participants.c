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
#include "directory/foreigners.h"
#include "directory/queue.h"
#include "directory/view.h"
#include "engine/submission.h"

struct roster;

struct listing {
    struct uvzk__rpc rpc;
    struct roster *roster;
    struct uvzk__directory directory;
};

struct roster {
    struct uvzk__lock *lock; /* not closed before this is over */
    uvzk_participants_t *shell;
    uvzk_participants_cb cb;
    struct listing listings[UVZK__DIRECTORIES_MAX];
    size_t outstanding; /* listings */
    struct uvzk__participant *participants;
    size_t count;
    int status; /* the first failure */
};

/* -------------------------------------------------------------------- listings */

/* Whether the child is a contender: then *out is all but its path. */
static bool recognise(const struct listing *listing, const char *name,
                      struct uvzk__participant *out)
{
    struct uvzk__node_name parsed;

    *out = (struct uvzk__participant){0};
    uvzk__discipline_parse(listing->directory.discipline, name, &parsed, &out->shared);
    out->place.sequence = parsed.sequence;
    out->directory = (size_t)(listing - listing->roster->listings);
    return listing->directory.discipline == UVZK__DRIVEN ||
           (parsed.is_contender && !uvzk__sequence_worn_out(parsed.sequence));
}

static int add(struct roster *roster, const struct listing *listing,
               const struct uvzk__reply *reply)
{
    size_t before = roster->count;
    struct uvzk__participant *more =
        uvzk__realloc(roster->participants, (before + reply->name_count + 1) *
                                                sizeof(struct uvzk__participant));

    if (more == NULL) {
        return UV_ENOMEM;
    }
    roster->participants = more;
    for (size_t i = 0; i < reply->name_count; i++) {
        struct uvzk__participant *participant = &more[roster->count];
        if (!recognise(listing, reply->names[i], participant)) {
            continue;
        }
        participant->path = uvzk__path_join(listing->directory.path, reply->names[i]);
        if (participant->path == NULL) {
            return UV_ENOMEM;
        }
        roster->count++;
    }
    struct uvzk__queue *queue = uvzk__queue_find(
        roster->lock->client, listing->directory.discipline, listing->directory.path);
    if (queue != NULL &&
        queue->kind->discipline != UVZK__DRIVEN) { /* else the driver says */
        uvzk__foreign_children(queue, reply->name_count + before - roster->count);
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
static int sort_out(struct roster *roster, const char ***paths, size_t *count,
                    size_t *holding)
{
    int status = 0;

    *paths = uvzk__calloc(roster->count + 1, sizeof(char *));
    if (*paths == NULL) {
        return UV_ENOMEM;
    }
    if (roster->count > 0) {
        qsort(roster->participants, roster->count, sizeof(struct uvzk__participant),
              by_place);
        status =
            roster->lock->kind->judge(roster->lock, roster->participants, roster->count);
    }
    for (size_t i = 0; status == 0 && i < roster->count; i++) {
        const struct uvzk__participant *participant = &roster->participants[i];
        if (!participant->silent) {
            *holding += participant->holds;
            (*paths)[(*count)++] = participant->path;
        }
    }
    return status;
}

static void free_roster(struct roster *roster)
{
    for (size_t i = 0; i < roster->count; i++) {
        uvzk__free(roster->participants[i].path);
    }
    uvzk__free(roster->participants);
    uvzk__free(roster);
}

static void tell(struct roster *roster)
{
    size_t count = 0, holding = 0;
    const char **paths = NULL;
    int status = roster->status;

    if (status == 0) {
        status = sort_out(roster, &paths, &count, &holding);
    }
    roster->shell->reserved[0] = (void *)(uintptr_t)holding;
    roster->shell->impl = NULL;
    uvzk__lock_unpin(roster->lock);
    roster->cb(roster->shell, status, paths, count);
    uvzk__free(paths);
    free_roster(roster);
}

static void listed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct listing *listing = UVZK__CONTAINER_OF(rpc, struct listing, rpc);
    struct roster *roster = listing->roster;
    int status = reply->status;

    uvzk__answered(roster->lock->client, rpc, status, false);
    if (status == 0) {
        status = add(roster, listing, reply);
    } else if (status == UVZK_ENONODE) {
        status = 0; /* no directory, nobody in it */
    }
    if (roster->status == 0) {
        roster->status = status;
    }
    if (--roster->outstanding == 0) {
        tell(roster);
    }
}

/* ------------------------------------------------------------------ the question */

/* The last directory first: who goes from one that is told later to one that is told
 * before, as a semaphore's waiter does, may be seen in both, but is never missed. */
static void ask(struct roster *roster, const struct uvzk__directory *directories,
                size_t count)
{
    roster->outstanding = count;
    while (count-- > 0) {
        struct listing *listing = &roster->listings[count];
        listing->roster = roster;
        listing->directory = directories[count];
        uvzk__rpc_prepare(&listing->rpc, UVZK__RPC_CHILDREN, directories[count].path,
                          listed);
        uvzk__submit(roster->lock->client, &listing->rpc);
    }
}

int uvzk_lock_participants(uvzk_lock_t *lock_shell, uvzk_participants_t *shell,
                           uvzk_participants_cb cb)
{
    struct uvzk__directory directories[UVZK__DIRECTORIES_MAX];

    if (lock_shell == NULL || shell == NULL || cb == NULL) {
        return uvzk__refuse(UV_EINVAL, lock_shell == NULL ? "lock is NULL"
                                       : shell == NULL    ? "request is NULL"
                                                          : "cb is NULL");
    }
    struct uvzk__lock *lock = lock_shell->impl;
    if (shell->impl != NULL) {
        return uvzk__refuse(UV_EBUSY, "request is in use, or not zeroed");
    }
    if (lock == NULL || lock->closing || lock->client->closing) {
        return uvzk__refuse(UVZK_ECLOSED, "lock or its client is closing, or it is not "
                                          "initialised");
    }
    if (lock->kind->directories == NULL) {
        return uvzk__refuse(UV_ENOTSUP, "lock is a multi lock: ask its members");
    }
    struct roster *roster = uvzk__calloc(1, sizeof(*roster));
    if (roster == NULL) {
        return UV_ENOMEM;
    }
    roster->lock = lock;
    roster->shell = shell;
    roster->cb = cb;
    uvzk__lock_pin(lock);
    shell->impl = roster;
    ask(roster, directories, lock->kind->directories(lock, directories));
    return 0;
}

size_t uvzk_participants_holding(const uvzk_participants_t *request)
{
    return request == NULL ? 0 : (size_t)(uintptr_t)request->reserved[0];
}
