/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a native port (request_queue.h). native_port.c calls it on the loop's
 * thread. rpc->port.state is the state of an rpc; rpc->port.answer is not used here
 * (watch_table.h). */
#include "native/request_queue.h"

#include <string.h>
#include <uv.h>

#include "base/memory.h"
#include "native/rpc_message.h"

#define RING_MIN 64U

enum state { WAITING, SENT, SETTLED };

static void begin_connection(struct uvzk__request_queue *queue)
{
    queue->sent_at = queue->sent_count = 0;
    queue->next_xid = queue->answer_xid = 1;
}

void uvzk__request_queue_init(struct uvzk__request_queue *queue)
{
    memset(queue, 0, sizeof(*queue));
    begin_connection(queue);
}

void uvzk__request_queue_end(struct uvzk__request_queue *queue)
{
    uvzk__free(queue->ring);
}

void uvzk__request_queue_add(struct uvzk__request_queue *queue, struct uvzk__rpc *rpc,
                             struct uvzk__port *port)
{
    rpc->port.next = NULL;
    rpc->port.prev = queue->last;
    rpc->port.port = port;
    rpc->port.answer = NULL;
    rpc->port.status = 0;
    rpc->port.state = WAITING;
    if (queue->last == NULL) {
        queue->first = rpc;
    } else {
        queue->last->port.next = rpc;
    }
    queue->last = rpc;
    queue->count++;
    if (queue->first_waiting == NULL) {
        queue->first_waiting = rpc;
    }
}

/* Sets first_waiting to the next WAITING rpc after this one. */
static void wait_behind(struct uvzk__request_queue *queue, struct uvzk__rpc *rpc)
{
    do {
        rpc = rpc->port.next;
    } while (rpc != NULL && rpc->port.state != WAITING);
    queue->first_waiting = rpc;
}

void uvzk__request_queue_settle(struct uvzk__request_queue *queue, struct uvzk__rpc *rpc,
                                int status)
{
    rpc->port.status = status;
    rpc->port.state = SETTLED;
    if (queue->first_waiting == rpc) {
        wait_behind(queue, rpc);
    }
}

/* --------------------------------------------------------------------------- the ring */

static struct uvzk__sent *sent_at(const struct uvzk__request_queue *queue, size_t i)
{
    return &queue->ring[(queue->sent_at + i) % queue->capacity];
}

int uvzk__request_queue_reserve(struct uvzk__request_queue *queue)
{
    if (queue->sent_count < queue->capacity) {
        return 0;
    }
    size_t capacity = queue->capacity == 0 ? RING_MIN : 2 * queue->capacity;
    struct uvzk__sent *ring = uvzk__malloc(capacity * sizeof(*ring));
    if (ring == NULL) {
        return UV_ENOMEM;
    }
    for (size_t i = 0; i < queue->sent_count; i++) {
        ring[i] = *sent_at(queue, i);
    }
    uvzk__free(queue->ring);
    queue->ring = ring;
    queue->capacity = capacity;
    queue->sent_at = 0;
    return 0;
}

/* A server answers a negative xid as it does the fixed ones. */
static int32_t request_queue_after(int32_t xid)
{
    return xid == INT32_MAX ? 1 : xid + 1;
}

void uvzk__request_queue_sent(struct uvzk__request_queue *queue, uint64_t end,
                              int32_t opcode)
{
    struct uvzk__rpc *rpc = queue->first_waiting;

    *sent_at(queue, queue->sent_count++) = (struct uvzk__sent){rpc, end, opcode};
    queue->next_xid = request_queue_after(queue->next_xid);
    rpc->port.state = SENT;
    wait_behind(queue, rpc);
}

const struct uvzk__sent *
uvzk__request_queue_answered(const struct uvzk__request_queue *queue, int32_t xid)
{
    return queue->sent_count > 0 && xid == queue->answer_xid ? sent_at(queue, 0) : NULL;
}

/* ------------------------------------------------------------------------ the replies */

/* Takes the first rpc off the list. */
static void request_queue_take(struct uvzk__request_queue *queue)
{
    struct uvzk__rpc *rpc = queue->first;

    queue->first = rpc->port.next;
    if (queue->first == NULL) {
        queue->last = NULL;
    } else {
        queue->first->port.prev = NULL;
    }
    if (queue->first_waiting == rpc) {
        wait_behind(queue, rpc);
    }
    queue->count--;
}

void uvzk__request_queue_take(struct uvzk__request_queue *queue)
{
    queue->sent_at = (queue->sent_at + 1) % queue->capacity;
    queue->sent_count--;
    queue->answer_xid = request_queue_after(queue->answer_xid);
    request_queue_take(queue);
}

void uvzk__request_queue_fail(struct uvzk__request_queue *queue, uint64_t taken, int sent,
                              int unsent)
{
    for (size_t i = 0; i < queue->sent_count; i++) {
        const struct uvzk__sent *request = sent_at(queue, i);
        if (request->rpc->port.state == SENT) {
            uvzk__request_queue_settle(queue, request->rpc,
                                       request->end <= taken ? sent : unsent);
        }
    }
    while (queue->first_waiting != NULL) {
        uvzk__request_queue_settle(queue, queue->first_waiting, unsent);
    }
    begin_connection(queue);
}

void uvzk__request_queue_override(struct uvzk__request_queue *queue, int status)
{
    struct uvzk__rpc *rpc;

    for (rpc = queue->first; rpc != NULL; rpc = rpc->port.next) {
        rpc->port.status = status;
        rpc->port.state = SETTLED;
    }
    queue->first_waiting = NULL;
    begin_connection(queue);
}

/* A multi that was refused here has not been sent. */
static size_t failed_op(const struct uvzk__rpc *rpc)
{
    bool refused = rpc->kind == UVZK__RPC_MULTI && rpc->port.status == UVZK_EREJECTED;
    return refused ? uvzk__rpc_message_refused_op(rpc) : SIZE_MAX;
}

void uvzk__request_queue_deliver(struct uvzk__request_queue *queue)
{
    size_t budget = queue->count;
    struct uvzk__rpc *rpc;

    while (budget-- > 0 && (rpc = queue->first) != NULL && rpc->port.state == SETTLED) {
        const struct uvzk__reply reply = {.status = rpc->port.status,
                                          .failed_op = failed_op(rpc)};
        request_queue_take(queue);
        /* The callback may submit the rpc again or free it. */
        rpc->reply_cb(rpc, &reply);
    }
}
