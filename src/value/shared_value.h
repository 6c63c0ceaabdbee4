/* SPDX-License-Identifier: Apache-2.0 */
/* A shared value (Curator's SharedValue) is one user's handle on a node cache: its change
 * callback, its listeners inside the library, and the sets that this user has requested.
 * What the change callback reports is decided when it runs, at the end of a turn: the
 * state at that moment, if it differs from the state that was reported last.
 *
 * One set of a shared value, from the call to its callback.
 *
 *   WAITING --> SENT --> DECIDED      the callback will run at the end of the turn
 *      ^         |-----> WAITING      the server has certainly not executed it
 *      |         `-----> REREADING --> DECIDED   another version was found
 *      `-- until there is a connection
 *
 * WAITING, SENT and REREADING go to DECIDED when the value or the client is closed. The
 * set is freed when its callback has run and no request is under way. So a set whose
 * callback ran before its reply outlives its value until the reply comes. */
#ifndef UVZK_SHARED_VALUE_H
#define UVZK_SHARED_VALUE_H

#include "base/machine.h"
#include "engine/session.h"
#include "value/node_cache.h"

/* A listener inside the library. `changed` is called at once for each new value, before
 * the user's callback. It must neither call the user nor close the value. */
struct uvzk__value_listener {
    /* Initialized by uvzk__shared_value_listen; uvzk__list_remove() ends the
     * listening. */
    struct uvzk__link link;
    void (*changed)(struct uvzk__value_listener *);
    /* The value is closed, and the listener has been removed. The value's struct may be
     * used for another value. May be NULL. */
    void (*closed)(struct uvzk__value_listener *);
    /* The node cache has read the znode: get tells the outcome. The session has ended, or
     * must be assumed to have ended. No connection will come, or not soon. Each may be NULL;
     * none may close the value. */
    void (*was_read)(struct uvzk__value_listener *);
    void (*session_ended)(struct uvzk__value_listener *);
    void (*lapsed)(struct uvzk__value_listener *);
    void (*unreachable)(struct uvzk__value_listener *, int code);
};

/* Whose the value is. */
enum uvzk__value_use {
    UVZK__VALUE_FOLLOWS, /* a recipe's, which only reads the znode by it */
    UVZK__VALUE_IS_VALUE,
    UVZK__VALUE_IS_COUNT
};

struct uvzk__shared_value {
    /* The user's struct. It refers to this value until the close callback. */
    uvzk_shared_value_t *handle;
    /* Exists for as long as it has values. */
    struct uvzk__node_cache *node_cache;
    struct uvzk__link siblings;  /* in node_cache->values */
    struct uvzk__link sets;      /* sets whose callback has not run yet */
    struct uvzk__link listeners; /* struct uvzk__value_listener */
    /* Of a change, or once it is closing of the close. */
    struct uvzk__notification notification;
    /* May be NULL, and so may close_cb. */
    uvzk_shared_value_change_cb cb;
    uvzk_shared_value_close_cb close_cb;
    void (*client_gone_cb)(
        uvzk_shared_value_t *); /* its client ended before its close; may be NULL */
    /* The state that was reported last: mzxid and status; 0 at first. */
    int64_t told_mzxid;
    int told_status;
    uint8_t use; /* enum uvzk__value_use */
    bool closing;
};

#define UVZK__ANY_VERSION (-1) /* ZooKeeper's version that matches any version */

enum uvzk__value_set_state {
    UVZK__SET_WAITING,   /* next: SENT DECIDED */
    UVZK__SET_SENT,      /* next: WAITING REREADING DECIDED */
    UVZK__SET_REREADING, /* next: DECIDED */
    UVZK__SET_DECIDED    /* final */
};

extern const struct uvzk__machine uvzk__value_set_machine;

struct uvzk__value_set {
    struct uvzk__rpc rpc;
    struct uvzk__node_cache *node_cache; /* pinned while a request is under way */
    struct uvzk__shared_value *value;    /* NULL once the callback has run */
    uvzk_req_t *handle;
    uvzk_req_cb cb;
    struct uvzk__link siblings; /* in value->sets */
    struct uvzk__notification notification;
    /* A copy; NULL once it has been passed on to the node cache. */
    void *data;
    size_t length;
    /* Version of the value that is to be replaced; version -1: any. */
    uvzk_value_version_t expected;
    /* From DECIDED on: for the callback. */
    int status;
    uint8_t state; /* enum uvzk__value_set_state */
    /* A request is under way. */
    bool under_way;
};

/* The session of an initialized value, else NULL. */
struct uvzk__session *uvzk__shared_value_session(const uvzk_shared_value_t *);

/* Like uvzk_shared_value_init, without a seed: a missing znode is not created. */
int uvzk__shared_value_follow(uvzk_client_t *, uvzk_shared_value_t *, const char *path,
                              uvzk_shared_value_change_cb);
/* The callback for the end of the client before the value's close. */
void uvzk__shared_value_set_client_gone(uvzk_shared_value_t *,
                                        void (*client_gone)(uvzk_shared_value_t *));
/* Adds a listener to an initialized value. The caller owns its memory and sets its
 * callbacks. */
void uvzk__shared_value_add_listener(uvzk_shared_value_t *,
                                     struct uvzk__value_listener *);
/* What was read last: 0, UVZK_ENONODE, or why that was not possible. UV_EAGAIN: it must
 * be read again, so nothing is known for certain. The stat has the mzxid, the version and
 * the owner of the znode; it is older if the result is not 0. */
int uvzk__shared_value_known(const uvzk_shared_value_t *, struct uvzk__stat *);
/* The znode is read again, as soon as requests may be sent. */
void uvzk__shared_value_read_again(uvzk_shared_value_t *);

/* Returns true if a value of the session has its znode below this path. */
bool uvzk__shared_values_need_below(const struct uvzk__session *, const char *path);
/* Which of the user's values the session has at this path, as turn.h says. */
unsigned uvzk__shared_values_at(const struct uvzk__session *, const char *path);

/* The same for an initialized count. */
void uvzk__shared_count_listen(uvzk_shared_count_t *, struct uvzk__value_listener *);

/* ------------------------------------------------------- called by its node cache */

/* Frees all values of the session, when its client ends. */
void uvzk__shared_values_free(struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* uvzk_shared_value_init, for a shared value or a shared count. */
int uvzk__shared_value_open(uvzk_client_t *, uvzk_shared_value_t *, const char *path,
                            const void *seed, size_t seed_length, enum uvzk__value_use,
                            uvzk_shared_value_change_cb);
/* Adds a listener. The caller owns its memory and sets its callbacks. */
void uvzk__shared_value_listen(struct uvzk__shared_value *,
                               struct uvzk__value_listener *);

/* changed: a new value is known; calls the listeners at once. tell: the reason why it
 * cannot be read has changed. After both the user's callback will run. */
void uvzk__shared_value_changed(struct uvzk__shared_value *);
void uvzk__shared_value_tell(struct uvzk__shared_value *);

/* Sends the sets that wait. */
void uvzk__shared_value_send_sets(struct uvzk__shared_value *);
/* A read was answered, with any outcome: sets that waited for it end. */
void uvzk__shared_value_was_read(struct uvzk__shared_value *);
/* The session has ended, or must be assumed to have; no connection will come, or not
 * soon. */
void uvzk__shared_value_session_ended(struct uvzk__shared_value *);
void uvzk__shared_value_lapsed(struct uvzk__shared_value *);
void uvzk__shared_value_unreachable(struct uvzk__shared_value *, int code);
/* The undecided sets end with this code. */
void uvzk__shared_value_end_sets(struct uvzk__shared_value *, int code);

#endif
