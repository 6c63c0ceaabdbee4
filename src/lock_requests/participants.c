/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds a lock or waits for it, of any client and library: once
 * (uvzk_lock_participants), or again after each change (uvzk_participants_view_init,
 * participants.h). The lock's kind decides what each child of its directories is to the lock
 * (lock_kind.classify).
 *
 *   directories() --> one listing each --> the contenders among the children, sorted
 *   by directory and place --> classify() --> the user's callback */
#include "lock_requests/participants.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "claim/lock.h"
#include "directory/foreign_nodes.h"
#include "directory/queue.h"
#include "engine/handle_end.h"
#include "engine/req.h"
#include "engine/submission.h"

/* ------------------------------------------------------- what a listing shows */

/* Returns true if the child is a contender. *out gets everything but its path and its
 * directory's index. */
static bool parse_child(const struct uvzk__directory_kind *kind, const char *name,
                        struct uvzk__participant *out)
{
    struct uvzk__node_name parsed;

    *out = (struct uvzk__participant){0};
    uvzk__node_name_parse_any(&parsed, name, kind->name_prefixes, &out->shared);
    out->place.sequence = parsed.sequence;
    /* Any name may be a contender for a lock driver. */
    return uvzk__is_driver_defined(kind) ||
           (parsed.is_contender && !uvzk__sequence_exhausted(parsed.sequence));
}

/* Counts the children that are not contenders, for the warning about them. */
static void note_foreign_children(const struct uvzk__session *session,
                                  const struct uvzk__participant_directory *directory,
                                  size_t count)
{
    struct uvzk__queue *queue =
        uvzk__queue_find(session, directory->kind, directory->path);

    /* In a driver-defined directory the driver decides which children are foreign. */
    if (queue != NULL && !uvzk__is_driver_defined(directory->kind)) {
        uvzk__foreign_children(queue, count);
    }
}

static void free_participants(struct uvzk__participant *participants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uvzk__free(participants[i].path);
    }
    uvzk__free(participants);
}

/* Appends the contenders among the children to the array, which grows. index: of the
 * directory. Returns 0 or UV_ENOMEM; the array is the caller's in any case. */
static int participants_add(struct uvzk__participant **participants, size_t *count,
                            const struct uvzk__participant_directory *directory,
                            size_t index, const char *const *names, size_t name_count)
{
    /* One more, so that the array exists even without participants. */
    struct uvzk__participant *more = uvzk__realloc(
        *participants, (*count + name_count + 1) * sizeof(struct uvzk__participant));

    if (more == NULL) {
        return UV_ENOMEM;
    }
    *participants = more;
    for (size_t i = 0; i < name_count; i++) {
        struct uvzk__participant *participant = &more[*count];
        if (!parse_child(directory->kind, names[i], participant)) {
            continue;
        }
        participant->directory = index;
        participant->path = uvzk__path_join(directory->path, names[i]);
        if (participant->path == NULL) {
            return UV_ENOMEM;
        }
        ++*count;
    }
    return 0;
}

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
static int collect_participants(const struct uvzk__lock *lock,
                                struct uvzk__participant *participants, size_t number,
                                uvzk_result_t *result, const char ***paths)
{
    int status = 0;

    *paths = uvzk__calloc(number + 1, sizeof(char *));
    if (*paths == NULL) {
        return UV_ENOMEM;
    }
    if (number > 0) {
        qsort(participants, number, sizeof(struct uvzk__participant), by_place);
        status = lock->kind->classify(lock, participants, number);
    }
    for (size_t i = 0; status == 0 && i < number; i++) {
        if (!participants[i].hidden) {
            result->holding += participants[i].holds;
            (*paths)[result->count++] = participants[i].path;
        }
    }
    result->paths = *paths;
    return status;
}

/* ------------------------------------------------------------------- once */

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

static int listing_add(const struct listing *listing, const struct uvzk__reply *reply)
{
    struct participants_query *participants_query = listing->participants_query;
    size_t before = participants_query->count;
    int status = participants_add(&participants_query->participants,
                                  &participants_query->count, &listing->directory,
                                  (size_t)(listing - participants_query->listings),
                                  reply->names, reply->name_count);

    if (status == 0) {
        note_foreign_children(participants_query->lock->session, &listing->directory,
                              reply->name_count + before - participants_query->count);
    }
    return status;
}

static void free_participants_query(struct participants_query *participants_query)
{
    free_participants(participants_query->participants, participants_query->count);
    uvzk__free(participants_query);
}

static void participants_tell(struct participants_query *participants_query)
{
    uvzk_result_t result = uvzk__result_of_nothing();
    const char **paths = NULL;
    int status = participants_query->status;

    if (status == 0) {
        status = collect_participants(participants_query->lock,
                                      participants_query->participants,
                                      participants_query->count, &result, &paths);
    }
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
        status = listing_add(listing, reply);
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

static int check_lock(const struct uvzk__lock *lock)
{
    if (lock == NULL || lock->closing || uvzk__session_is_closing(lock->session)) {
        return uvzk__refuse(UVZK_ECLOSED, "lock or its client is closing, or it is not "
                                          "initialised");
    }
    if (lock->kind->directories == NULL) {
        return uvzk__refuse(UV_ENOTSUP,
                            "lock is a multi lock: call this function for its members");
    }
    return 0;
}

static int participants_begin(uvzk_lock_t *lock_handle, uvzk_req_t *handle,
                              uvzk_req_cb cb)
{
    struct uvzk__participant_directory directories[UVZK__PARTICIPANT_DIRECTORIES_MAX];
    int status = lock_handle == NULL ? uvzk__refuse(UV_EINVAL, "lock is NULL")
                                     : uvzk__req_check(handle, cb);

    if (status == 0) {
        status = check_lock(lock_handle->impl);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__lock *lock = lock_handle->impl;
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

/* --------------------------------------------------------- again after each change */

void uvzk__participants_view_changed(struct uvzk__participants_view *view)
{
    if (!view->closing) {
        uvzk__notify_later(view->session, &view->notification);
    }
}

static struct uvzk__viewed_directory *
directory_of(struct uvzk__children_listener *listener)
{
    return UVZK__CONTAINER_OF(listener, struct uvzk__viewed_directory, listener);
}

static int view_listed(struct uvzk__children_listener *listener, const char *const *names,
                       size_t count)
{
    struct uvzk__viewed_directory *directory = directory_of(listener);
    struct uvzk__participants_view *view = directory->view;
    struct uvzk__participant *participants = NULL;
    size_t number = 0;
    int status = participants_add(&participants, &number, &directory->directory,
                                  (size_t)(directory - view->directories), names, count);

    if (status != 0) {
        free_participants(participants, number);
        return status;
    }
    note_foreign_children(view->session, &directory->directory, count - number);
    free_participants(directory->participants, directory->count);
    directory->participants = participants;
    directory->count = number;
    directory->status = 0;
    uvzk__participants_view_changed(view);
    return 0;
}

static void view_refused(struct uvzk__children_listener *listener, int status)
{
    directory_of(listener)->status = status;
    uvzk__participants_view_changed(directory_of(listener)->view);
}

/* Ends the listening, and frees what was listed. */
static void view_end(struct uvzk__participants_view *view)
{
    uvzk__growing_pause_end(view->session, &view->pause);
    uvzk__session_object_end(&view->object);
    for (size_t i = 0; i < view->directory_count; i++) {
        struct uvzk__viewed_directory *directory = &view->directories[i];
        uvzk__children_listener_end(&directory->listener);
        free_participants(directory->participants, directory->count);
    }
}

static struct uvzk__participants_view *view_at(struct uvzk__session_object *object)
{
    return UVZK__CONTAINER_OF(object, struct uvzk__participants_view, object);
}

static void view_client_ended(struct uvzk__session_object *object)
{
    struct uvzk__participants_view *view = view_at(object);

    view->handle->impl = NULL;
    uvzk__list_remove(&view->notification.link);
    view_end(view);
    view->kind->client_ended(view);
}

static void view_unreachable(struct uvzk__session_object *object, int code)
{
    struct uvzk__participants_view *view = view_at(object);

    for (size_t i = 0; i < view->directory_count; i++) {
        view->directories[i].status = code;
    }
    uvzk__participants_view_changed(view);
}

static const struct uvzk__session_object_kind view_object = {
    .unreachable = view_unreachable,
    .client_ended = view_client_ended,
};

int uvzk__participants_view_gather(const struct uvzk__participants_view *view,
                                   struct uvzk__participant **participants, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < view->directory_count; i++) {
        *count += view->directories[i].count;
    }
    *participants = uvzk__calloc(*count + 1, sizeof(**participants));
    if (*participants == NULL) {
        return UV_ENOMEM;
    }
    size_t filled = 0;
    for (size_t i = 0; i < view->directory_count; i++) {
        const struct uvzk__viewed_directory *directory = &view->directories[i];
        memcpy(*participants + filled, directory->participants,
               directory->count * sizeof(**participants));
        filled += directory->count;
    }
    qsort(*participants, *count, sizeof(**participants), by_place);
    return 0;
}

void uvzk__participants_view_tell(struct uvzk__participants_view *view, int status,
                                  const uvzk_result_t *result)
{
    view->told = status;
    view->cb(view->handle, status, result);
}

static void view_closed(struct uvzk__participants_view *view)
{
    uvzk_participants_view_t *handle = view->handle;
    uvzk_participants_view_close_cb close_cb = view->close_cb;
    struct uvzk__end_listener *listener = uvzk__end_take(&handle->end);

    handle->impl = NULL;
    view->kind->closed(view);
    if (close_cb != NULL) {
        close_cb(handle);
    }
    uvzk__end_tell(listener, 0);
}

/* Whether all directories have been listed: 0, UV_EAGAIN, or why one cannot be listed now,
 * which its reading repeats. */
static int listing_status(const struct uvzk__participants_view *view)
{
    int status = 0;

    for (size_t i = 0; status == 0 && i < view->directory_count; i++) {
        status = view->directories[i].status;
    }
    return status;
}

static void view_update(struct uvzk__participants_view *view)
{
    uvzk_result_t nothing = uvzk__result_of_nothing();
    int status = listing_status(view);
    bool listed = status == 0;

    uvzk__growing_pause_end(view->session, &view->pause);
    if (listed) {
        status = view->kind->update(view);
    }
    if (status == 0) {
        uvzk__growing_pause_reset(&view->pause);
        return;
    }
    bool tells = status != UV_EAGAIN && status != view->told;
    if (listed && status != UV_EAGAIN) {
        tells &= uvzk__growing_pause_begin_after(view->session, &view->pause, status);
    }
    if (tells) {
        uvzk__participants_view_tell(view, status, &nothing);
    }
}

static void view_notified(struct uvzk__notification *notification)
{
    struct uvzk__participants_view *view =
        UVZK__CONTAINER_OF(notification, struct uvzk__participants_view, notification);

    if (view->closing) {
        view_closed(view);
    } else if (!uvzk__session_is_closing(view->session)) {
        view_update(view);
    }
}

static void view_pause_over(struct uvzk__timer *timer)
{
    uvzk__participants_view_changed(
        UVZK__CONTAINER_OF(timer, struct uvzk__participants_view, pause.timer));
}

int uvzk__participants_view_check(uint64_t interval_ms, uvzk_participants_view_cb cb)
{
    return uvzk__refuse_if(UV_EINVAL, cb == NULL ? "cb is NULL"
                                      : interval_ms > UINT32_MAX
                                          ? "interval_ms is more than 4294967295"
                                          : NULL);
}

static int listen_to(struct uvzk__participants_view *view,
                     const struct uvzk__participant_directory *shown,
                     uint64_t interval_ms)
{
    struct uvzk__viewed_directory *directory = &view->directories[view->directory_count];

    directory->view = view;
    directory->directory = *shown;
    directory->status = UV_EAGAIN;
    directory->listener.listed_cb = view_listed;
    directory->listener.refused_cb = view_refused;
    return uvzk__children_listener_begin(view->session, &directory->listener, shown->path,
                                         (uint32_t)interval_ms);
}

int uvzk__participants_view_begin(struct uvzk__participants_view *view,
                                  const struct uvzk__participants_view_kind *kind,
                                  struct uvzk__session *session,
                                  const struct uvzk__participant_directory *directories,
                                  size_t count, uvzk_participants_view_t *handle,
                                  uint64_t interval_ms, uvzk_participants_view_cb cb)
{
    view->handle = handle;
    view->session = session;
    view->kind = kind;
    view->cb = cb;
    view->told = UV_EAGAIN;
    view->pause.timer.due = view_pause_over;
    view->notification.notify_cb = view_notified;
    uvzk__list_init(&view->notification.link);
    uvzk__session_object_begin(session, &view->object, &view_object, NULL);
    for (; view->directory_count < count; view->directory_count++) {
        if (listen_to(view, &directories[view->directory_count], interval_ms) != 0) {
            view_end(view);
            return UV_ENOMEM;
        }
    }
    handle->impl = view;
    handle->end = NULL;
    if (session->auth_failed) {
        view_unreachable(&view->object, UVZK_EAUTH);
    }
    /* The last one first, as in participants_ask. */
    while (count-- > 0) {
        uvzk__children_listener_list(&view->directories[count].listener);
    }
    return 0;
}

int uvzk_participants_view_close(uvzk_participants_view_t *handle,
                                 uvzk_participants_view_close_cb close_cb)
{
    struct uvzk__participants_view *view = handle == NULL ? NULL : handle->impl;

    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "view is NULL");
    }
    if (view == NULL || view->closing) {
        return uvzk__refuse(UVZK_ESTATE, "view is closing, or not initialised");
    }
    view->closing = true;
    view->close_cb = close_cb;
    uvzk__end_begin(&handle->end, view->session);
    view_end(view);
    uvzk__notify_later(view->session, &view->notification);
    return 0;
}

/* -------------------------------------------------------------- those of a lock */

struct lock_view {
    struct uvzk__participants_view view;
    struct uvzk__lock *lock; /* referenced: its close callback waits for the close */
    /* What was told last; NULL: nothing. Its paths are in the same allocation. */
    char **paths;
    size_t count, holding;
};

static struct lock_view *lock_view_of(struct uvzk__participants_view *view)
{
    return UVZK__CONTAINER_OF(view, struct lock_view, view);
}

static bool is_told(const struct lock_view *lock_view, const uvzk_result_t *result)
{
    bool same = lock_view->view.told == 0 && lock_view->count == result->count &&
                lock_view->holding == result->holding;

    for (size_t i = 0; same && i < result->count; i++) {
        same = strcmp(lock_view->paths[i], result->paths[i]) == 0;
    }
    return same;
}

/* Keeps a copy, which the user is shown. Returns 0 or
 * UV_ENOMEM. */
static int keep_told(struct lock_view *lock_view, uvzk_result_t *result)
{
    size_t size = (result->count + 1) * sizeof(char *);

    for (size_t i = 0; i < result->count; i++) {
        size += strlen(result->paths[i]) + 1;
    }
    char **paths = uvzk__calloc(1, size);
    if (paths == NULL) {
        return UV_ENOMEM;
    }
    char *text = (char *)(paths + result->count + 1);
    for (size_t i = 0; i < result->count; i++) {
        size_t length = strlen(result->paths[i]) + 1;
        paths[i] = memcpy(text, result->paths[i], length);
        text += length;
    }
    uvzk__free(lock_view->paths);
    lock_view->paths = paths;
    lock_view->count = result->count;
    lock_view->holding = result->holding;
    result->paths = (const char *const *)paths;
    return 0;
}

static int lock_view_update(struct uvzk__participants_view *view)
{
    struct lock_view *lock_view = lock_view_of(view);
    uvzk_result_t result = uvzk__result_of_nothing();
    struct uvzk__participant *participants;
    const char **paths = NULL;
    size_t count;
    int status = uvzk__participants_view_gather(view, &participants, &count);

    if (status == 0) {
        status =
            collect_participants(lock_view->lock, participants, count, &result, &paths);
    }
    bool changed = status == 0 && !is_told(lock_view, &result);
    if (changed) {
        status = keep_told(lock_view, &result);
    }
    uvzk__free(paths);
    uvzk__free(participants);
    if (changed && status == 0) {
        uvzk__participants_view_tell(view, 0, &result);
    }
    return status;
}

static void lock_view_free(struct uvzk__participants_view *view)
{
    uvzk__free(lock_view_of(view)->paths);
    uvzk__free(lock_view_of(view));
}

static void lock_view_closed(struct uvzk__participants_view *view)
{
    uvzk__lock_unref(lock_view_of(view)->lock);
    lock_view_free(view);
}

static const struct uvzk__participants_view_kind kind_of_lock = {
    .update = lock_view_update,
    .closed = lock_view_closed,
    .client_ended = lock_view_free,
};

int uvzk_participants_view_init(uvzk_lock_t *lock_handle,
                                uvzk_participants_view_t *handle, uint64_t interval_ms,
                                uvzk_participants_view_cb cb)
{
    struct uvzk__participant_directory directories[UVZK__PARTICIPANT_DIRECTORIES_MAX];
    int status = lock_handle == NULL ? uvzk__refuse(UV_EINVAL, "lock is NULL")
                                     : uvzk__participants_view_check(interval_ms, cb);

    if (status == 0) {
        status = check_lock(lock_handle->impl);
    }
    if (status == 0) {
        status = uvzk__check_handle(uvzk__lock_session(lock_handle)->handle, "view",
                                    handle, handle == NULL ? NULL : handle->impl);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__lock *lock = lock_handle->impl;
    struct lock_view *lock_view = uvzk__calloc(1, sizeof(*lock_view));
    if (lock_view == NULL) {
        return UV_ENOMEM;
    }
    lock_view->lock = lock;
    size_t count = lock->kind->directories(lock, directories);
    status = uvzk__participants_view_begin(&lock_view->view, &kind_of_lock, lock->session,
                                           directories, count, handle, interval_ms, cb);
    if (status != 0) {
        uvzk__free(lock_view);
        return status;
    }
    uvzk__lock_ref(lock);
    return 0;
}
