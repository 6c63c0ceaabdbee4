/* One request on its way through the C client: made when an rpc is submitted,
 * it takes the answer on the client's thread, and outlives the rpc when that is
 * replied before the client has answered (connection lost, closing). */
#ifndef UVZK_REQUEST_H
#define UVZK_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "engine/port.h"
#include "hop.h"

struct uvzk__handle;
struct uvzk__registration;

/* Room for the server's ten digits, its sign and the end. */
#define UVZK__SUFFIX_SIZE 12

struct uvzk__request {
    struct uvzk__hop_entry landing;
    uvzk__arrive_cb arrive; /* where it lands */
    struct uvzk__link link; /* handle->waiting or handle->sent */
    struct uvzk__handle *handle;
    struct uvzk__rpc *rpc;               /* NULL: replied already, or a watch's removal */
    struct uvzk__registration *watching; /* the watch it arms or removes */
    bool removal;
    bool probe; /* our own, ahead of a multi */
    bool sent;
    unsigned connection; /* handle->connection by which it was sent */
    uint8_t kind;        /* enum uvzk__rpc_kind */

    /* Written by the completion, before it hops. */
    int code; /* ZooKeeper's */
    struct uvzk__reply reply;
    void *memory;             /* what the reply points to */
    zoo_op_result_t *results; /* MULTI: these, what they and made point to are */
    const char **made;        /* in memory */
    size_t op_count;
    size_t name_size;
    char name[]; /* CREATE: name_size bytes, so that it cannot fail afterwards */
};

/* Behind those that wait on the handle. NULL: out of memory. */
struct uvzk__request *uvzk__request_new(struct uvzk__handle *handle, size_t name_size);
void uvzk__request_free(struct uvzk__request *request);

#endif
