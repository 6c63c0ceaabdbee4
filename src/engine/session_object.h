/* SPDX-License-Identifier: Apache-2.0 */
/* What a user has opened in a session and what is told of the session's events: atomic
 * longs and barriers. An object that is in the session's list is told of each event, so
 * its recipe adds nothing to the session's struct and to the room `client`. */
#ifndef UVZK_SESSION_OBJECT_H
#define UVZK_SESSION_OBJECT_H

#include <stdbool.h>

#include "base/list.h"

struct uvzk__session;
struct uvzk__session_object;

/* What it is told. Each may be NULL, except client_ended. None calls the user. */
struct uvzk__session_object_kind {
    /* A connection is ready, or a pause of the whole session is over: requests may be sent
     * again. */
    void (*resume)(struct uvzk__session_object *);
    /* The session has ended with this code, and its watches and ephemeral znodes are
     * gone. */
    void (*session_ended)(struct uvzk__session_object *, int code);
    /* No connection will come, or not soon: what waits for one ends with this code. */
    void (*unreachable)(struct uvzk__session_object *, int code);
    /* The client has ended: frees the object, without a callback. No request is under way. */
    void (*client_ended)(struct uvzk__session_object *);
};

/* Part of the object. */
struct uvzk__session_object {
    struct uvzk__link link; /* in session->objects */
    const struct uvzk__session_object_kind *kind;
    const char *directory; /* it needs znodes below this path; NULL: none */
};

/* The object is opened; it is closed, or freed. directory: it needs znodes below this path
 * from the beginning (znode_owner.h); namespace included, owned by the object; NULL:
 * none. */
void uvzk__session_object_begin(struct uvzk__session *, struct uvzk__session_object *,
                                const struct uvzk__session_object_kind *,
                                const char *directory);
void uvzk__session_object_end(struct uvzk__session_object *);

/* Tell all objects of the session, in the order in which they were opened. */
void uvzk__objects_resume(struct uvzk__session *);
void uvzk__objects_session_ended(struct uvzk__session *, int code);
void uvzk__objects_unreachable(struct uvzk__session *, int code);
void uvzk__objects_free(struct uvzk__session *);

/* Returns true if one of them needs a znode below this path. */
bool uvzk__objects_need_below(const struct uvzk__session *, const char *path);

#endif
