/* SPDX-License-Identifier: Apache-2.0 */
/* The rpcs of a port that have no reply yet, in the order of submission. Replies are
 * delivered in this order. The list is intrusive, so adding an rpc cannot fail. */
#ifndef UVZK_OUTSTANDING_H
#define UVZK_OUTSTANDING_H

#include <stdbool.h>

#include "engine/port.h"

struct uvzk__request;

struct uvzk__outstanding {
    /* Linked by rpc->port.next and rpc->port.prev; NULL: the list is empty. */
    struct uvzk__rpc *first, *last;
    size_t count;
};

static inline bool uvzk__outstanding_is_empty(const struct uvzk__outstanding *outstanding)
{
    return outstanding->first == NULL;
}

/* Appends the rpc, without an outcome. `port` is stored in the rpc. */
void uvzk__outstanding_add(struct uvzk__outstanding *outstanding, struct uvzk__rpc *rpc,
                           struct uvzk__port *port);

/* Records the outcome of the rpc; the reply is delivered later. The request, if it is not
 * NULL, carries the answer and is freed after the reply. */
void uvzk__outstanding_settle(struct uvzk__rpc *rpc, int status,
                              struct uvzk__request *request);

/* Settles the rpcs that have no outcome yet: with `sent` if the C client or the submit
 * thread had been given the request, with `unsent` otherwise. */
void uvzk__outstanding_fail(struct uvzk__outstanding *outstanding, int sent, int unsent);
/* Settles every rpc with this status, including rpcs that already have another
 * outcome. */
void uvzk__outstanding_override(struct uvzk__outstanding *outstanding, int status);

/* Calls the reply callbacks of the settled rpcs at the front of the list, and stops at
 * the first rpc that is not settled. It delivers at most as many replies as the list has
 * rpcs at the call, so rpcs that callbacks add wait for the next call. */
void uvzk__outstanding_deliver(struct uvzk__outstanding *outstanding);

#endif
