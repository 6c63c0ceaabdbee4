/* The names of the children of one znode, listed again after each change. All group members
 * of this client in one group share it, and its watch.
 * It has at most one request under way:
 *
 *   IDLE --> LISTING --> IDLE    the names are told; the request sets a watch on the children
 *    |
 *    `--> LOOKING --> IDLE       the path does not exist: by an exists, which watches that
 *
 * A listing is due while no watch is set, which is the case after each watch event; when
 * nothing has been listed on this connection; and when a listener asks for it. A listing
 * begins without a watch, because the watch on a missing path reports nothing about its
 * children. A server that lags shows the children at an earlier moment; a change since
 * then fires the watch that the listing has set. */
#ifndef UVZK_WATCHED_CHILDREN_H
#define UVZK_WATCHED_CHILDREN_H

#include "base/machine.h"
#include "base/table.h"
#include "engine/growing_pause.h"
#include "engine/session.h"
#include "engine/watch.h"

enum uvzk__watched_children_state {
    UVZK__WATCHED_CHILDREN_IDLE,    /* next: LISTING LOOKING */
    UVZK__WATCHED_CHILDREN_LISTING, /* next: IDLE */
    UVZK__WATCHED_CHILDREN_LOOKING  /* next: IDLE */
};

extern const struct uvzk__machine uvzk__watched_children_machine;

struct uvzk__watched_children {
    struct uvzk__session *session;
    UT_hash_handle hh;           /* in session->watched_children, by the full path */
    struct uvzk__link listeners; /* struct uvzk__children_listener */
    struct uvzk__rpc rpc;        /* the request under way */
    struct uvzk__renewed_watcher renewed;
    struct uvzk__growing_pause pause; /* before a failed request is repeated */
    char *path;                       /* namespace included */
    uint64_t list_stamp;              /* of the last listing (submission.h) */
    uint32_t refs;                    /* requests under way */
    uint8_t state;                    /* enum uvzk__watched_children_state */
    bool list_again;                  /* a listing is due although a watch is set */
    bool ended; /* it has no listeners left, and is freed when refs is 0 */
};

/* For all of the session. resume: requests may be sent again. free: the client has
 * ended. */
void uvzk__watched_children_resume(struct uvzk__session *);
void uvzk__watched_children_free(struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* Part of the struct that listens. No callback may call the user or end the listening. */
struct uvzk__children_listener {
    struct uvzk__link link; /* in watched->listeners */
    struct uvzk__watched_children *watched;
    /* The children, or none if there is no such znode. The names are valid during the call.
     * Returns 0, or UV_ENOMEM: then it is listed again after a pause. */
    int (*listed_cb)(struct uvzk__children_listener *, const char *const *names,
                     size_t count);
    /* They cannot be listed; that is tried again. */
    void (*refused_cb)(struct uvzk__children_listener *, int status);
    /* The client has ended, and with it the listening. */
    void (*client_gone_cb)(struct uvzk__children_listener *);
};

/* Listens to the children of this full path. Returns 0 or UV_ENOMEM. It sends nothing, and no
 * callback is called inside. The caller has set the callbacks. */
int uvzk__children_listener_begin(struct uvzk__session *,
                                  struct uvzk__children_listener *, const char *path);
/* The listener needs the names, so they are listed. */
void uvzk__children_listener_list(struct uvzk__children_listener *);
/* Ends the listening. The watch of the last listener is removed. */
void uvzk__children_listener_end(struct uvzk__children_listener *);

#endif
