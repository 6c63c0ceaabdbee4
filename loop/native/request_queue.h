/* SPDX-License-Identifier: Apache-2.0 */
/* The rpcs of a native port that have no reply yet, in the order of submission, which is
 * also the order of their requests on the wire and of their replies.
 *
 *   WAITING --written into the stream--> SENT --the server has answered--> replied
 *      |                                  |
 *      `--> SETTLED <--the connection is lost, the session has ended, ... 
 *              `--> replied, when all rpcs before it have been
 *
 * The list is intrusive, so adding an rpc cannot fail. What has been written is in a ring
 * too, which has what src/ must not see: where in the stream a request ends. */
#ifndef UVZK_REQUEST_QUEUE_H
#define UVZK_REQUEST_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/port.h"

/* A request that has been written and has no answer yet. */
struct uvzk__sent {
    struct uvzk__rpc *rpc;
    uint64_t end;   /* its last byte's place in the stream, plus 1 */
    int32_t opcode; /* enum uvzk__opcode */
};

struct uvzk__request_queue {
    /* Linked by rpc->port.next and prev. WAITING rpcs come last. */
    struct uvzk__rpc *first, *last;
    struct uvzk__rpc *first_waiting; /* NULL: none is WAITING */
    size_t count;
    struct uvzk__sent *ring; /* sent_count entries from sent_at on */
    size_t sent_at, sent_count, capacity;
    int32_t next_xid;   /* of the next request; counted up on each connection from 1 */
    int32_t answer_xid; /* of the next answer */
};

void uvzk__request_queue_init(struct uvzk__request_queue *queue);
void uvzk__request_queue_end(struct uvzk__request_queue *queue);

static inline bool uvzk__request_queue_is_empty(const struct uvzk__request_queue *queue)
{
    return queue->first == NULL;
}

/* Returns true if a request that was written has no answer yet. */
static inline bool
uvzk__request_queue_is_unanswered(const struct uvzk__request_queue *queue)
{
    return queue->sent_count > 0;
}

/* Appends the rpc, WAITING. */
void uvzk__request_queue_add(struct uvzk__request_queue *queue, struct uvzk__rpc *rpc,
                             struct uvzk__port *port);
/* Settles an rpc that is WAITING or SENT: it will be replied with this status and nothing
 * else. */
void uvzk__request_queue_settle(struct uvzk__request_queue *queue, struct uvzk__rpc *rpc,
                                int status);

/* The next rpc to write; NULL: none is WAITING. */
static inline struct uvzk__rpc *
uvzk__request_queue_waiting(const struct uvzk__request_queue *queue)
{
    return queue->first_waiting;
}
/* There is room in the ring for one more request: to be called before it is written. 0 or
 * UV_ENOMEM. */
int uvzk__request_queue_reserve(struct uvzk__request_queue *queue);
/* The first WAITING rpc has been written with the xid queue->next_xid. */
void uvzk__request_queue_sent(struct uvzk__request_queue *queue, uint64_t end,
                              int32_t opcode);

/* The request that an answer with this xid is for. It stays SENT until
 * uvzk__request_queue_take, so that the loss of the connection settles it if the answer
 * cannot be read. NULL: this is not the next answer. */
const struct uvzk__sent *
uvzk__request_queue_answered(const struct uvzk__request_queue *queue, int32_t xid);
/* Takes the first rpc, whose request has been answered, off the list and off the ring: it
 * is about to be replied. */
void uvzk__request_queue_take(struct uvzk__request_queue *queue);

/* The connection is lost, of which the kernel has taken `taken` bytes: settles all rpcs
 * that are not yet SETTLED. `sent`: the server may have executed it; `unsent`: certainly
 * not. Further requests are of a new connection. */
void uvzk__request_queue_fail(struct uvzk__request_queue *queue, uint64_t taken, int sent,
                              int unsent);
/* Settles every rpc, including those that are SETTLED already. */
void uvzk__request_queue_override(struct uvzk__request_queue *queue, int status);

/* Calls the reply callbacks of the SETTLED rpcs at the front, and stops at the first one
 * that is not. Calls at most as many as there are rpcs at the call. */
void uvzk__request_queue_deliver(struct uvzk__request_queue *queue);

#endif
