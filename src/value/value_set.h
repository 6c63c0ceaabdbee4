/* One set of a shared value, from the call to its callback.
 *
 *   WAITING --> SENT --> DECIDED      the callback will run at the end of the turn
 *      ^         |-----> WAITING      the server has certainly not executed it
 *      |         `-----> REREADING --> DECIDED   another version was found
 *      `-- until there is a connection
 *
 * WAITING, SENT and REREADING go to DECIDED when the value or the client is closed. The
 * set is freed when its callback has run and no request is under way. So a set whose
 * callback ran before its reply outlives its value until the reply comes. */
#ifndef UVZK_VALUE_SET_H
#define UVZK_VALUE_SET_H

#include "base/machine.h"
#include "engine/session.h"
#include "value/shared_value.h"

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

/* Makes a set in WAITING and adds it to value->sets. over: the version that it may
 * replace; NULL: any version. The data are copied. NULL: out of memory. */
struct uvzk__value_set *uvzk__value_set_new(struct uvzk__shared_value *, uvzk_req_t *,
                                            const uvzk_value_version_t *over,
                                            const void *data, size_t length, uvzk_req_cb);

/* Requests may be sent: sends the set if it is WAITING. */
void uvzk__value_set_send(struct uvzk__value_set *);

/* A read was answered: a set in REREADING ends with UVZK_EBADVERSION. */
void uvzk__value_set_was_read(struct uvzk__value_set *);

/* Ends the set with this code if it is not DECIDED yet. A set in REREADING ends with
 * UVZK_EBADVERSION instead, because that outcome is known. */
void uvzk__value_set_end(struct uvzk__value_set *, int code);

#endif
