/* SPDX-License-Identifier: Apache-2.0 */
/* One request on its way through the C client. It is created when an rpc is submitted,
 * and receives the answer on the C client's thread. If the rpc is replied before the C
 * client has answered (connection lost, closing), the request outlives the rpc. */
#ifndef UVZK_REQUEST_H
#define UVZK_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

#include "engine/port.h"
#include "platform/to_loop.h"

struct uvzk__registration;
struct uvzk__send_window;

/* What a request of uvzk's own is for. */
enum uvzk__own_request {
    UVZK__OWN_NONE,       /* it is a request of an rpc */
    UVZK__OWN_REMOVAL,    /* removes a watch */
    UVZK__OWN_AUTH_CHECK, /* an exists of "/", sent ahead of a multi */
    /* Questions (port/dialect.h). The C client removes only watches that it has, so a
     * watch comes before the question about the removal. */
    UVZK__OWN_ASK_CREATE2,
    UVZK__OWN_ASK_CONTAINERS,
    UVZK__OWN_ASK_WATCH,
    UVZK__OWN_ASK_REMOVAL
};

/* Bytes for the server's sequence number: ten digits, a sign and the terminating 0. */
#define UVZK__SUFFIX_SIZE 12

struct uvzk__request {
    /* On the to_loop queue once answered; its link is on the submit thread's queue
     * before. */
    struct uvzk__to_loop_entry to_loop_entry;
    uvzk__arrive_cb arrive; /* called on the loop when the answer arrives */
    struct uvzk__link link; /* on window->waiting or window->sent */
    struct uvzk__send_window *window;
    zhandle_t *zh;         /* by which it was sent */
    struct uvzk__rpc *rpc; /* NULL: replied already, or the request is uvzk's own */
    /* The watch that it arms or removes; NULL: none. */
    struct uvzk__registration *watching;
    uint8_t own;         /* enum uvzk__own_request */
    bool sent;           /* the C client or the submit thread has it, or has had it */
    unsigned connection; /* the window->connection on which it was sent */
    uint8_t kind;        /* enum uvzk__rpc_kind */

    /* Written by the completion, or by the submit thread, before the request is pushed
     * onto the to_loop queue. */
    int code;     /* ZooKeeper's code */
    bool refused; /* the C client refused it when the submit thread submitted it */
    struct uvzk__reply reply;
    void *memory; /* holds what the reply points to; owned, may be NULL */
    /* MULTI: the results. They, and everything that they and made point to, are in
     * memory. */
    zoo_op_result_t *results;
    const char **made; /* MULTI: the created paths; within memory */
    size_t op_count;   /* MULTI: the length of results and made */
    size_t name_size;
    /* CREATE, SYNC: name_size bytes for the path that is answered. They are allocated with
     * the request, so that the completion needs no memory. */
    char name[];
};

/* Creates a request and appends it to window->waiting. rpc is NULL for a request of
 * uvzk's own. Returns NULL if out of memory. */
struct uvzk__request *uvzk__request_new(struct uvzk__send_window *window,
                                        struct uvzk__rpc *rpc, size_t name_size);

/* ---------------------------------------------------------------------- on the loop */

/* Sets the watch that the request arms or removes. NULL: from now on it does neither. */
static inline void uvzk__request_watches(struct uvzk__request *request,
                                         struct uvzk__registration *watching)
{
    request->watching = watching;
}
/* Sets what the request, which has no rpc, is for. */
static inline void uvzk__request_is_own(struct uvzk__request *request,
                                        enum uvzk__own_request own)
{
    request->own = (uint8_t)own;
}

/* The request has an answer, or was never sent. `armed` says whether the C client has the
 * watch. The request must arm a watch; from now on it arms none. */
void uvzk__request_watch_answered(struct uvzk__request *request, bool armed);

/* The C client or the submit thread is given the request, on the present connection. If
 * the C client refuses it, or the submit thread returns it, it is no longer `sent`. */
static inline void uvzk__request_sent(struct uvzk__request *request, zhandle_t *zh,
                                      unsigned connection)
{
    request->zh = zh;
    request->connection = connection;
    request->sent = true;
}
/* Sets the memory that receives the outcome of a multi with op_count operations. */
static inline void uvzk__request_set_multi(struct uvzk__request *request,
                                           zoo_op_result_t *results, const char **made,
                                           size_t op_count)
{
    request->results = results;
    request->made = made;
    request->op_count = op_count;
}

/* Sets memory that is freed with the request, and returns it. NULL is allowed. */
static inline void *uvzk__request_set_memory(struct uvzk__request *request, void *memory)
{
    request->memory = memory;
    return memory;
}

/* Takes the request off its list and frees it with its memory. */
void uvzk__request_free(struct uvzk__request *request);

/* ------------------------------------------ on the loop, or on the submit thread */

/* Returns the path of the request; "/" for a multi and for the check of the
 * credentials. */
const char *uvzk__rpc_path(const struct uvzk__request *request);
/* Submits the request to the C client with this path, and returns the code of the zoo_a*
 * call; ZAUTHFAILED if the servers have refused the session's credentials. The C client
 * may read the path, in order to log it, even after the request has been answered. */
int uvzk__rpc_send(struct uvzk__request *request, const char *path);

#endif
