/* What every kind of barrier has of its user: the user's struct, the path, the calls and the
 * close. It is the first member of the barrier's struct. */
#ifndef UVZK_BARRIER_OBJECT_H
#define UVZK_BARRIER_OBJECT_H

#include "barrier/barrier_call.h"
#include "engine/session_object.h"

struct uvzk__barrier_object {
    /* In the user's struct. It refers to the barrier until the close callback. */
    void **impl;
    struct uvzk__session *session; /* the home session of the path */
    struct uvzk__session_object of_session;
    struct uvzk__link calls;                /* struct uvzk__barrier_call */
    struct uvzk__notification notification; /* of the close */
    const struct uvzk__barrier_kind *kind;
    char *path; /* namespace included */
    bool closing;
};

/* What a kind has of its own. */
struct uvzk__barrier_kind {
    size_t size;         /* of its struct */
    bool needs_children; /* it needs znodes below its path from the beginning */
    struct uvzk__session_object_kind told; /* UVZK__BARRIER_OBJECT_TOLD, or its own */
    /* Calls the user's close callback, if there is one. */
    void (*tell_closed)(struct uvzk__barrier_object *);
    /* Ends what it has besides its calls. May be NULL. */
    void (*end)(struct uvzk__barrier_object *);
};

/* No connection will come, or not soon: all calls end with this code (change_call.h). The
 * client has ended: frees the barrier. */
#define UVZK__BARRIER_OBJECT_TOLD                         \
    {                                                     \
        .unreachable = uvzk__barrier_object_unreachable,  \
        .client_ended = uvzk__barrier_object_client_ended \
    }
void uvzk__barrier_object_unreachable(struct uvzk__session_object *, int code);
void uvzk__barrier_object_client_ended(struct uvzk__session_object *);

/* The init of a barrier. handle: the user's struct; impl: in it. Returns the code with
 * which the init is refused, or 0: then *impl is a struct of the kind, zeros but for this
 * part. */
int uvzk__barrier_object_open(uvzk_client_t *, const struct uvzk__barrier_kind *,
                              const void *handle, void **impl, const char *path);

/* Returns the code with which a call is refused, or 0. The struct is NULL if the user's
 * struct is NULL, or not initialised. timeout_ms: as uvzk__barrier_call_check. */
int uvzk__barrier_object_check(const void *handle, const struct uvzk__barrier_object *,
                               const uvzk_req_t *, uvzk_req_cb, int64_t timeout_ms);

/* Returns the code with which the close is refused, or 0: it is closing, and its calls have
 * ended. Its owner queues the notification, whose notify_cb is the second function. This
 * one frees the barrier, and tells its user. */
int uvzk__barrier_object_close(const void *handle, struct uvzk__barrier_object *);
void uvzk__barrier_object_tell_closed(struct uvzk__notification *);

#endif
