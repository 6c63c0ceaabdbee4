/* uvzk_lock_participants: who holds a lock or waits for it, of any client and library.
 * The directories of the lock are listed once. The lock's kind decides what each child is
 * to the lock (lock_kind.classify).
 *
 *   directories() --> one listing each --> the contenders among the children, sorted
 *   by directory and place --> classify() --> the user's callback */
#include <stdlib.h>

#include "base/path.h"
#include "base/refusal.h"
#include "claim/lock.h"
#include "directory/foreign_nodes.h"
#include "directory/queue.h"
#include "directory/view.h"
#include "engine/req.h"
#include "engine/submission.h"

struct participants_query;

struct listing {
    struct uvzk__rpc rpc;
    struct participants_query *participants_query;
    struct uvzk__participant_directory directory;
};

struct participants_query {
    struct uvzk__lock *lock; /* referenced: its close callback waits for this query */
    /* The user's struct. It refers to this query until the callback. */
    uvzk_req_t *handle;
    uvzk_req_cb cb;
    struct listing listings[UVZK__PARTICIPANT_DIRECTORIES_MAX];
    size_t outstanding; /* listings that have no reply yet */
    /* All contenders found so far; each owns its path. */
    struct uvzk__participant *participants;
    size_t count;
    int status; /* the first failure of a listing; 0: none */
};

/* -------------------------------------------------------------------- listings */

/* Returns true if the child is a contender. *out gets everything but its path. */
static bool parse_child(const struct listing *listing, const char *name,
                        struct uvzk__participant *out)
{
    struct uvzk__node_name parsed;

    *out = (struct uvzk__participant){0};
    uvzk__node_name_parse_any(&parsed, name, listing->directory.kind->name_prefixes,
                              &out->shared);
    out->place.sequence = parsed.sequence;
    out->directory = (size_t)(listing - listing->participants_query->listings);
    /* Any name may be a contender for a lock driver. */
    return uvzk__is_driver_defined(listing->directory.kind) ||
           (parsed.is_contender && !uvzk__sequence_exhausted(parsed.sequence));
}

static int participants_add(struct participants_query *participants_query,
                            const struct listing *listing,
                            const struct uvzk__reply *reply)
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
        uvzk__queue_find(participants_query->lock->session, listing->directory.kind,
                         listing->directory.path);
    /* In a driver-defined directory the driver decides which children are foreign. */
    if (queue != NULL && !uvzk__is_driver_defined(listing->directory.kind)) {
        uvzk__foreign_children(queue,
                               reply->name_count + before - participants_query->count);
    }
    return 0;
}

/* --------------------------------------------------------------------- reporting */

/* For qsort: by directory, then by place. */
static int by_place(const void *left, const void *right)
{
    const struct uvzk__participant *a = left, *b = right;

    return a->directory != b->directory ? (a->directory > b->directory) * 2 - 1
                                        : uvzk__place_compare(a->place, b->place);
}

/* Makes the array of paths for the callback. The paths are borrowed from the
 * participants. *holding: how many of them hold. Returns 0 or UV_ENOMEM; *paths must be
 * freed in any case. */
static int collect_participants(struct participants_query *participants_query,
                                const char ***paths, size_t *count, size_t *holding)
{
    int status = 0;

    /* One more, so that the array exists even without participants. */
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

static void participants_tell(struct participants_query *participants_query)
{
    uvzk_result_t result = uvzk__result_of_nothing();
    const char **paths = NULL;
    int status = participants_query->status;

    if (status == 0) {
        status = collect_participants(participants_query, &paths, &result.count,
                                      &result.holding);
    }
    result.paths = paths;
    uvzk__lock_unref(participants_query->lock);
    /* The paths stay valid until the callback returns. */
    uvzk__req_end(participants_query->handle, participants_query->cb, status, &result);
    uvzk__free(paths);
    free_participants_query(participants_query);
}

static void participants_listed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct listing *listing = UVZK__CONTAINER_OF(rpc, struct listing, rpc);
    struct participants_query *participants_query = listing->participants_query;
    int status = reply->status;

    uvzk__answered(participants_query->lock->session, rpc, status, false);
    if (status == 0) {
        status = participants_add(participants_query, listing, reply);
    } else if (status == UVZK_ENONODE) {
        status = 0; /* the directory does not exist, so it has no participants */
    }
    /* The other listings are awaited even after a failure, because their memory is in the
     * query. */
    if (participants_query->status == 0) {
        participants_query->status = status;
    }
    if (--participants_query->outstanding == 0) {
        participants_tell(participants_query);
    }
}

/* ------------------------------------------------------------------ the call */

/* Lists the last directory first. A semaphore's waiter moves from the directory that is
 * reported later (`locks`) to the one that is reported earlier (`leases`). In this order
 * it may be seen in both, but is never missed. */
static void participants_ask(struct participants_query *participants_query,
                             const struct uvzk__participant_directory *directories,
                             size_t count)
{
    participants_query->outstanding = count;
    while (count-- > 0) {
        struct listing *listing = &participants_query->listings[count];
        listing->participants_query = participants_query;
        listing->directory = directories[count];
        uvzk__rpc_prepare(&listing->rpc, UVZK__RPC_CHILDREN, directories[count].path,
                          participants_listed);
        uvzk__submit(participants_query->lock->session, &listing->rpc);
    }
}

static int participants_begin(uvzk_lock_t *lock_handle, uvzk_req_t *handle,
                              uvzk_req_cb cb)
{
    struct uvzk__participant_directory directories[UVZK__PARTICIPANT_DIRECTORIES_MAX];

    int status = lock_handle == NULL ? uvzk__refuse(UV_EINVAL, "lock is NULL")
                                     : uvzk__req_check(handle, cb);
    if (status != 0) {
        return status;
    }
    struct uvzk__lock *lock = lock_handle->impl;
    if (lock == NULL || lock->closing || uvzk__session_is_closing(lock->session)) {
        return uvzk__refuse(UVZK_ECLOSED, "lock or its client is closing, or it is not "
                                          "initialised");
    }
    if (lock->kind->directories == NULL) {
        return uvzk__refuse(UV_ENOTSUP,
                            "lock is a multi lock: call this function for its members");
    }
    struct participants_query *participants_query =
        uvzk__calloc(1, sizeof(*participants_query));
    if (participants_query == NULL) {
        return UV_ENOMEM;
    }
    participants_query->lock = lock;
    participants_query->handle = handle;
    participants_query->cb = cb;
    uvzk__lock_ref(lock);
    uvzk__req_begin(handle, participants_query, NULL);
    participants_ask(participants_query, directories,
                     lock->kind->directories(lock, directories));
    return 0;
}

int uvzk_lock_participants(uvzk_lock_t *lock, uvzk_req_t *req, uvzk_req_cb cb)
{
    int status = participants_begin(lock, req, cb);

    return uvzk__req_begun(req, uvzk__lock_session(lock), status);
}
