/* SPDX-License-Identifier: Apache-2.0 */
/* A view of who takes part in a lock or an election, of any client and library
 * (uvzk_participants_view_t): its directories are listed again after each change
 * (watched_children.h).
 *
 *   listings of all directories --> gathered and sorted --> shown by the kind --> the user's
 *   callback, if they differ from what was told last
 *
 * What is told is only information: the server may lag behind others. The directories are
 * listed each by itself. A semaphore's waiter creates its lease before it leaves the queue,
 * and the events of both come in this order. So it is seen in both for a moment, and in
 * neither only if a listing of the leases has failed or rests. */
#ifndef UVZK_PARTICIPANTS_H
#define UVZK_PARTICIPANTS_H

#include "claim/participant.h"
#include "engine/growing_pause.h"
#include "engine/session_object.h"
#include "engine/watched_children.h"

struct uvzk__participants_view;

/* How views of a lock and of an election differ. */
struct uvzk__participants_view_kind {
    /* All directories have been listed, and may have changed: gathers them, and tells the user if they have. Runs at the end
     * of a turn. Returns 0; UV_EAGAIN: it runs again when there is more; or why it has
     * failed: then it runs again after a pause, and the user is told if that is not
     * transient. */
    int (*update)(struct uvzk__participants_view *);
    /* It is closed: frees the struct, as soon as no request is under way. */
    void (*closed)(struct uvzk__participants_view *);
    /* The client has ended, and its locks are freed already: frees the struct. */
    void (*client_ended)(struct uvzk__participants_view *);
};

struct uvzk__viewed_directory {
    struct uvzk__children_listener listener;
    struct uvzk__participants_view *view;
    struct uvzk__participant_directory directory;
    struct uvzk__participant *participants; /* as it was listed last; owned */
    size_t count;
    int status; /* of the last listing; UV_EAGAIN: there was none yet */
};

struct uvzk__participants_view {
    uvzk_participants_view_t *handle; /* the user's */
    struct uvzk__session *session;
    struct uvzk__session_object object;
    const struct uvzk__participants_view_kind *kind;
    struct uvzk__viewed_directory directories[UVZK__PARTICIPANT_DIRECTORIES_MAX];
    size_t directory_count;
    struct uvzk__notification notification;
    struct uvzk__growing_pause pause; /* before `update` runs again */
    uvzk_participants_view_cb cb;
    uvzk_participants_view_close_cb close_cb;
    int told; /* the status that cb was told last; UV_EAGAIN: nothing yet */
    bool closing;
};

/* What all views refuse: returns 0 or UV_EINVAL. */
int uvzk__participants_view_check(uint64_t interval_ms, uvzk_participants_view_cb);
/* Begins a view. The caller has set everything to zero, and owns the paths of the
 * directories. Returns 0 or UV_ENOMEM: then the caller frees the struct. */
int uvzk__participants_view_begin(struct uvzk__participants_view *,
                                  const struct uvzk__participants_view_kind *,
                                  struct uvzk__session *,
                                  const struct uvzk__participant_directory *,
                                  size_t count, uvzk_participants_view_t *,
                                  uint64_t interval_ms, uvzk_participants_view_cb);

/* Runs `update` at the end of the turn. */
void uvzk__participants_view_changed(struct uvzk__participants_view *);

/* Those that were listed last, by directory and place. The array is the caller's; the paths
 * are borrowed. Returns 0 or UV_ENOMEM. */
int uvzk__participants_view_gather(const struct uvzk__participants_view *,
                                   struct uvzk__participant **, size_t *count);
/* Calls the user. */
void uvzk__participants_view_tell(struct uvzk__participants_view *, int status,
                                  const uvzk_result_t *result);

#endif
