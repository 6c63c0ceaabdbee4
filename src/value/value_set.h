/* One set of a shared value, from the call to its one callback.
 *
 *   WAITING --> SENT --> DECIDED      the callback is to come
 *      ^         |-----> WAITING      it was certainly not carried out
 *      |         `-----> REREADING --> DECIDED   another version was found
 *      `-- until the connection is there
 *
 * WAITING, SENT and REREADING go to DECIDED when the value or the client is closed.
 * It is freed when it has been told and no request is under way, so one that is told
 * while SENT outlives its value until the reply comes. */
#ifndef UVZK_VALUE_SET_H
#define UVZK_VALUE_SET_H

#include "base/machine.h"
#include "engine/session.h"
#include "value/shared_value.h"

#define UVZK__ANY_VERSION (-1) /* to ZooKeeper */

enum uvzk__value_set_state {
    UVZK__SET_WAITING,   /* next: SENT DECIDED */
    UVZK__SET_SENT,      /* next: WAITING REREADING DECIDED */
    UVZK__SET_REREADING, /* next: DECIDED */
    UVZK__SET_DECIDED    /* final */
};

extern const struct uvzk__machine uvzk__value_set_machine;

struct uvzk__value_set {
    struct uvzk__rpc rpc;
    struct uvzk__node_cache *node_cache; /* pinned while under way */
    struct uvzk__shared_value *value;    /* NULL once told */
    uvzk_set_t *shell;
    uvzk_set_cb cb;
    struct uvzk__link siblings; /* on value->sets */
    struct uvzk__notification notification;
    void *data;
    size_t length;
    uvzk_value_version_t expected; /* of the value it is to replace; version -1: any */
    int status;
    uint8_t state; /* enum uvzk__value_set_state */
    bool under_way;
};

/* On value->sets, WAITING. over: NULL for any. NULL when out of memory. */
struct uvzk__value_set *uvzk__value_set_new(struct uvzk__shared_value *, uvzk_set_t *,
                                            const uvzk_value_version_t *over,
                                            const void *data, size_t length, uvzk_set_cb);

/* Something may be sent. */
void uvzk__value_set_send(struct uvzk__value_set *);

/* A read was answered. */
void uvzk__value_set_was_read(struct uvzk__value_set *);

/* It is over with this code, if it is not decided yet. */
void uvzk__value_set_end(struct uvzk__value_set *, int code);

#endif
