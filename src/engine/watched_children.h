/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the children of one znode, listed again after each change: a reading
 * (reading.h). All group members of this client in one group share it and its watch, and so
 * do those who follow the participants of a lock. A reading is a getChildren, which sets a
 * watch on the children; if the path does not exist, an exists follows, which watches that.
 *
 * A listing begins without a watch, because the watch on a missing path reports nothing about
 * its children. A server that lags shows the children at an earlier moment; a change since
 * then fires the watch that the listing has set. So each listing that is out of date is
 * followed by another one, and the user is told of a member that comes or goes, if late.
 *
 * A listener may accept that a listing is out of date for a while, because the children change
 * often. If all of them do, the reading rests after each listing. */
#ifndef UVZK_WATCHED_CHILDREN_H
#define UVZK_WATCHED_CHILDREN_H

#include "engine/reading.h"

struct uvzk__watched_children {
    struct uvzk__reading reading;
    struct uvzk__link listeners; /* struct uvzk__children_listener */
};

/* For all of the session. resume: requests may be sent again. free: the client has
 * ended. */
void uvzk__watched_children_resume(struct uvzk__session *);
void uvzk__watched_children_free(struct uvzk__session *);

/* Part of the struct that listens. No callback may call the user or end the listening. */
struct uvzk__children_listener {
    struct uvzk__link link; /* in watched->listeners */
    struct uvzk__watched_children *watched;
    uint32_t rest_ms;
    /* The children, or none if there is no such znode. The names are valid during the call.
     * Returns 0, or UV_ENOMEM: then it is listed again after a pause. */
    int (*listed_cb)(struct uvzk__children_listener *, const char *const *names,
                     size_t count);
    /* They cannot be listed; that is tried again. */
    void (*refused_cb)(struct uvzk__children_listener *, int status);
    /* The client has ended, and with it the listening. NULL: it is ended before that. */
    void (*client_gone_cb)(struct uvzk__children_listener *);
};

/* Listens to the children of this full path. rest_ms: for how long a listing may be out of
 * date. Returns 0 or UV_ENOMEM. It sends nothing, and no callback is called inside. The caller
 * has set the callbacks. */
int uvzk__children_listener_begin(struct uvzk__session *,
                                  struct uvzk__children_listener *, const char *path,
                                  uint32_t rest_ms);
/* The listener needs the names, so they are listed. */
void uvzk__children_listener_list(struct uvzk__children_listener *);
/* Ends the listening. The watch of the last listener is removed. */
void uvzk__children_listener_end(struct uvzk__children_listener *);

#endif
