/* One request on its way through the C client: made when an rpc is submitted,
 * it takes the answer on the client's thread, and outlives the rpc when that is
 * replied before the client has answered (connection lost, closing). */
#ifndef UVZK_REQUEST_H
#define UVZK_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "engine/port.h"
#include "to_loop.h"

struct uvzk__handle;
struct uvzk__registration;

/* Room for the server's ten digits, its sign and the end. */
#define UVZK__SUFFIX_SIZE 12

struct uvzk__request {
    struct uvzk__to_loop_entry to_loop_entry;
    uvzk__arrive_cb arrive; /* where it lands */
    struct uvzk__link link; /* handle->waiting or handle->sent */
    struct uvzk__handle *handle;
    struct uvzk__rpc *rpc;               /* NULL: replied already, or a watch's removal */
    struct uvzk__registration *watching; /* the watch it arms or removes */
    bool removal;
    bool auth_check; /* our own, ahead of a multi */
    bool sent;
    unsigned connection; /* handle->connection by which it was sent */
    uint8_t kind;        /* enum uvzk__rpc_kind */

    /* Written by the completion, or the submit thread, before it is pushed. */
    int code;     /* ZooKeeper's */
    bool refused; /* by the client, of the submit thread */
    struct uvzk__reply reply;
    void *memory;             /* what the reply points to */
    zoo_op_result_t *results; /* MULTI: these, what they and made point to are */
    const char **made;        /* in memory */
    size_t op_count;
    size_t name_size;
    char name[]; /* CREATE: name_size bytes, so that it cannot fail afterwards */
};

/* Behind those that wait on the handle. rpc: NULL for one of our own. NULL: out of
 * memory. */
struct uvzk__request *uvzk__request_new(struct uvzk__handle *handle,
                                        struct uvzk__rpc *rpc, size_t name_size);

/* ------------------------------------------------------------------------ on the loop */

/* It arms this watch, or removes it; NULL: neither any more. */
static inline void uvzk__request_watches(struct uvzk__request *request,
                                         struct uvzk__registration *watching,
                                         bool removal)
{
    request->watching = watching;
    request->removal = removal;
}

/* Our own, ahead of a multi. */
static inline void uvzk__request_is_auth_check(struct uvzk__request *request)
{
    request->auth_check = true;
}

/* The C client has it, or the submit thread, on this connection; or neither, which has
 * not been taken by the one or was recalled from the other. */
static inline void uvzk__request_sent(struct uvzk__request *request, unsigned connection)
{
    request->connection = connection;
    request->sent = true;
}
static inline void uvzk__request_not_taken(struct uvzk__request *request)
{
    request->sent = false;
}

/* Its rpc has been replied without it. */
static inline void uvzk__request_forget_rpc(struct uvzk__request *request)
{
    request->rpc = NULL;
}

/* A multi of so many operations, with memory for its outcome. */
static inline void uvzk__request_set_multi(struct uvzk__request *request,
                                           zoo_op_result_t *results, const char **made,
                                           size_t op_count)
{
    request->results = results;
    request->made = made;
    request->op_count = op_count;
}

/* Memory that is freed with it. */
static inline void *uvzk__request_set_memory(struct uvzk__request *request, void *memory)
{
    request->memory = memory;
    return memory;
}

/* ---------------------------------------------------------------------- by a completion */

static inline void uvzk__request_answered(struct uvzk__request *request, int code)
{
    request->code = code;
}
void uvzk__request_free(struct uvzk__request *request);

/* ------------------------------------------------------------------------ by the submit thread */

/* The C client has not taken it. */
static inline void uvzk__request_refused(struct uvzk__request *request, int code)
{
    request->code = code;
    request->refused = true;
}

#endif
