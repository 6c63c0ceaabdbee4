/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to requests that may be longer than the server's jute.maxbuffer. A server
 * that gets one closes the connection, which looks as if the reply were lost, and the
 * client does not know the server's limit. All requests pass here on their way to the
 * port (submission.c).
 *
 * A request is "proved" if it is not longer than a request that has been answered in this
 * session, or than 1,024 bytes, which every server accepts. Proved requests are never
 * refused, however often the connection is lost. Of the others:
 *
 *  - A batch (rpc->divisible) that was in flight when the connection was lost makes the
 *    next batches half as long (uvzk__batch_size_max). So does a proved one that was in
 *    flight at three losses in a row: the present server may have a smaller limit.
 *  - After three losses in a row with such a request in flight, each of them is sent
 *    alone: after all earlier requests have been answered, and before any later one is
 *    sent.
 *  - If the connection is lost while one is in flight alone, requests of its size and
 *    longer ones are refused with UVZK_EREJECTED without being sent, as long as the next
 *    connection lasts. On later connections they are sent alone again: the loss may have
 *    had another reason, and another server may have another limit. */
#ifndef UVZK_SIZE_LIMIT_H
#define UVZK_SIZE_LIMIT_H

#include "engine/port.h"

struct uvzk__session;

/* One for each session. */
struct uvzk__size_limit {
    /* Requests that must wait for a request that is alone, in the order of submission;
     * linked by rpc->port.next. NULL: none waits. */
    struct uvzk__rpc *first_held, *last_held;
    const struct uvzk__rpc *alone; /* in flight alone; NULL: none is */
    size_t in_flight;              /* submitted to the port, and not replied */
    size_t answered;               /* the longest request that was answered */
    size_t batch_most;             /* the limit of a batch; 0: no batch was lost */
    size_t refused_from;           /* the least size that is refused; 0: none is */
    /* Of those in flight when the connection was lost: the longest that was not proved,
     * the longest batch, and the one that was alone. 0: there was none. */
    size_t lost, lost_batch, lost_alone;
    size_t suspect; /* `lost` of the latest loss that had one */
    /* How many losses in a row, up to LOSSES_MAX, had a request in flight that was not
     * proved, and how many had a batch in flight. */
    uint8_t losses, batch_losses;
};

/* There is a new connection. fresh: of another session than the one before. */
void uvzk__size_limit_connected(struct uvzk__session *, bool fresh);
/* Hands all requests that are held to the port. Called before the port is closed. */
void uvzk__size_limit_release(struct uvzk__session *);

/* Returns how many bytes a batch may have. An op that is longer is sent alone. */
size_t uvzk__batch_size_max(const struct uvzk__session *);

/* ------------------------------------------------------------ for this room alone */

/* A watch is given up. A held request that would arm it is sent without it, because the
 * port has not seen the request yet. */
void uvzk__size_limit_unwatch(struct uvzk__session *, const struct uvzk__watch *);

/* Hands the request to the port, or holds it until it may be sent. */
void uvzk__size_limit_submit(struct uvzk__session *, struct uvzk__rpc *);
/* The request has got this reply. */
void uvzk__size_limit_replied(struct uvzk__session *, const struct uvzk__rpc *,
                              int status);

#endif
