/* SPDX-License-Identifier: Apache-2.0 */
/* What every kind of barrier has of its user: the user's struct, the path, the calls and the
 * close.
 *
 * A call lasts from the user's call to its callback: a set, a remove, a wait, an enter or a
 * leave.
 *
 *   PENDING --> DECIDED    its outcome is known: the callback runs at the end of the turn
 *      |         ^ |
 *      `--> GIVEN_UP       cancelled, or out of time: its owner cleans up before it ends
 *                          the call. An enter can be cancelled until its callback runs */
#ifndef UVZK_BARRIER_OBJECT_H
#define UVZK_BARRIER_OBJECT_H

#include "base/machine.h"
#include "engine/session.h"
#include "engine/session_object.h"

/* --------------------------------------------------------------------------- a call */

enum uvzk__barrier_call_state {
    UVZK__BARRIER_CALL_PENDING,  /* next: GIVEN_UP DECIDED */
    UVZK__BARRIER_CALL_GIVEN_UP, /* next: DECIDED */
    UVZK__BARRIER_CALL_DECIDED   /* next: GIVEN_UP */
};

extern const struct uvzk__machine uvzk__barrier_call_machine;

/* The first member of the struct of each kind of call. */
struct uvzk__barrier_call {
    struct uvzk__session *session;
    uvzk_req_t *handle;
    uvzk_req_cb cb;
    struct uvzk__link siblings; /* in the barrier's list of calls */
    struct uvzk__notification notification;
    struct uvzk__timer timeout;
    /* It is GIVEN_UP: its owner cleans up, and calls uvzk__barrier_call_end at once or
     * later. NULL: such a call can neither be cancelled nor run out of time. */
    void (*given_up_cb)(struct uvzk__barrier_call *);
    /* Returns true if a call that is DECIDED with 0 can still be given up. NULL: it
     * cannot. */
    bool (*can_be_undone)(const struct uvzk__barrier_call *);
    /* The callback is about to run: the owner frees the call, or remembers to do so. */
    void (*over_cb)(struct uvzk__barrier_call *);
    int status;    /* GIVEN_UP: why; DECIDED: for the callback */
    uint8_t state; /* enum uvzk__barrier_call_state */
};

/* Returns the code with which a call is refused, or 0. timeout_ms: UVZK_WAIT_FOREVER for
 * a call that has none. */
int uvzk__barrier_call_check(const uvzk_req_t *, uvzk_req_cb, int64_t timeout_ms);

/* Fills in a call that the caller has allocated with zeros and whose given_up_cb and
 * over_cb it has set, and adds it to `calls`. */
void uvzk__barrier_call_begin(struct uvzk__barrier_call *, struct uvzk__session *,
                              struct uvzk__link *calls, uvzk_req_t *, int64_t timeout_ms,
                              uvzk_req_cb);

/* The same for a call that sends requests. Returns false if a server has refused the
 * client's credentials: then the call ends with UVZK_EAUTH. */
bool uvzk__barrier_call_begin_to_send(struct uvzk__barrier_call *, struct uvzk__session *,
                                      struct uvzk__link *calls, uvzk_req_t *,
                                      int64_t timeout_ms, uvzk_req_cb);

/* The outcome is this, unless the call has an outcome already. */
void uvzk__barrier_call_end(struct uvzk__barrier_call *, int status);

/* Ends all calls of a list with this code. */
void uvzk__barrier_calls_end(struct uvzk__link *calls, int status);

/* Frees all calls of a list without a callback, when their client has ended. */
void uvzk__barrier_calls_free(struct uvzk__link *calls);

/* ----------------------------------------------------- a call that makes one change */

/* A set or a remove makes one change to the tree (znode_write.h). It cannot be cancelled. A
 * change that is made already is made, so a repeated request changes nothing. */

/* Begin a call that creates this persistent znode, with missing ancestors, or deletes it.
 * The path is copied, because a request may be under way after the call. Return 0 or
 * UV_ENOMEM. */
int uvzk__change_call_create(struct uvzk__session *, struct uvzk__link *calls,
                             const char *path, uvzk_req_t *, uvzk_req_cb);
int uvzk__change_call_delete(struct uvzk__session *, struct uvzk__link *calls,
                             const char *path, uvzk_req_t *, uvzk_req_cb);

/* ----------------------------------------------------------------------- the object */

/* The first member of the barrier's struct. */
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

/* No connection will come, or not soon: all calls end with this code (a
 * change that may have been made, with UVZK_ECONNLOSS in place of UVZK_ENOTSENT). The
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
