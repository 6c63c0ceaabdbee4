/* SPDX-License-Identifier: Apache-2.0 */
/* The list of rpcs without a reply, in the order of submission (outstanding.h). An rpc is
 * PENDING until its outcome is known, and SETTLED until its reply is delivered.
 * rpc->port.answer points to its request; NULL: there is none. */
#include "requests/outstanding.h"

#include "requests/request.h"
#include "watches/registration.h"

enum state { PENDING, SETTLED };

void uvzk__outstanding_add(struct uvzk__outstanding *outstanding, struct uvzk__rpc *rpc,
                           struct uvzk__port *port)
{
    rpc->port.next = NULL;
    rpc->port.prev = outstanding->last;
    rpc->port.port = port;
    rpc->port.answer = NULL;
    rpc->port.status = 0;
    rpc->port.state = PENDING;
    if (outstanding->last == NULL) {
        outstanding->first = rpc;
    } else {
        outstanding->last->port.next = rpc;
    }
    outstanding->last = rpc;
    outstanding->count++;
}

void uvzk__outstanding_settle(struct uvzk__rpc *rpc, int status,
                              struct uvzk__request *request)
{
    rpc->port.answer = request;
    rpc->port.status = status;
    rpc->port.state = SETTLED;
}

/* Separates the request from its rpc, which will be replied without it. A request that
 * waits, or that has been answered already, is freed. A request that the C client or the
 * submit thread still has is left to its completion. Returns whether the request had been
 * sent. */
static bool abandon_request(struct uvzk__request *request)
{
    bool sent = request->sent;
    request->rpc = NULL;
    if (request->watching != NULL) {
        uvzk__registration_detach(request->watching);
    }
    /* A sent request that is on no list has been answered: its rpc was settled and not
     * yet replied. */
    if (!sent || uvzk__list_empty(&request->link)) {
        if (request->watching != NULL) {
            uvzk__request_watch_answered(request, false);
        }
        uvzk__request_free(request);
    }
    return sent;
}

static void outstanding_abandon(struct uvzk__rpc *rpc, int sent, int unsent)
{
    struct uvzk__request *request = rpc->port.answer;
    bool was_sent = request != NULL && abandon_request(request);
    uvzk__outstanding_settle(rpc, was_sent ? sent : unsent, NULL);
}

void uvzk__outstanding_fail(struct uvzk__outstanding *outstanding, int sent, int unsent)
{
    struct uvzk__rpc *rpc;
    for (rpc = outstanding->first; rpc != NULL; rpc = rpc->port.next) {
        if (rpc->port.state == PENDING) {
            outstanding_abandon(rpc, sent, unsent);
        }
    }
}

void uvzk__outstanding_override(struct uvzk__outstanding *outstanding, int status)
{
    struct uvzk__rpc *rpc;
    for (rpc = outstanding->first; rpc != NULL; rpc = rpc->port.next) {
        outstanding_abandon(rpc, status, status);
    }
}

static void outstanding_reply(struct uvzk__rpc *rpc)
{
    /* The callback may submit the rpc again or free it, so the rpc is not used after the
     * callback. */
    struct uvzk__request *request = rpc->port.answer;
    rpc->port.answer = NULL;
    if (request != NULL) {
        request->reply.status = rpc->port.status;
        rpc->reply_cb(rpc, &request->reply);
        uvzk__request_free(request);
    } else {
        const struct uvzk__reply empty = {.status = rpc->port.status,
                                          .failed_op = SIZE_MAX};
        rpc->reply_cb(rpc, &empty);
    }
}

void uvzk__outstanding_deliver(struct uvzk__outstanding *outstanding)
{
    /* Callbacks may submit further rpcs and even settle them; these wait for the next
     * call, so that the loop is not delayed. */
    size_t budget = outstanding->count;
    struct uvzk__rpc *rpc;
    while (budget-- > 0 && (rpc = outstanding->first) != NULL &&
           rpc->port.state == SETTLED) {
        outstanding->first = rpc->port.next;
        if (rpc->port.next == NULL) {
            outstanding->last = NULL;
        } else {
            rpc->port.next->port.prev = NULL;
        }
        outstanding->count--;
        outstanding_reply(rpc);
    }
}
