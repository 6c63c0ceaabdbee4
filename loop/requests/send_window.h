/* SPDX-License-Identifier: Apache-2.0 */
/* The requests and the watches of one handle. At most UVZK__SEND_WINDOW requests are given
 * to the C client at a time; the others wait. All functions run on the loop's thread. */
#ifndef UVZK_SEND_WINDOW_H
#define UVZK_SEND_WINDOW_H

#include <stdbool.h>

#include <zookeeper/zookeeper.h>

#include "port/dialect.h"
#include "requests/request.h"
#include "requests/submit_thread.h"
#include "watches/registration.h"

struct uvzk__log_route;
struct uvzk__outstanding;
struct uvzk__rpc;
struct uvzk__to_loop;

/* At most this many requests are given to the C client and the submit thread at a time.
 * Above 65,536 requests the C client's wake-up pipe overflows and the C client drops the
 * connection; above 1,000 requests the server stops reading. */
#define UVZK__SEND_WINDOW 1000

/* While fewer requests are in flight, the loop submits directly: this is the shortest
 * way, and the C client's thread has little to write, so its mutex is rarely held. From
 * this number on the submit thread submits (submit_thread.h). */
#define UVZK__DIRECT_SENDS 2

struct uvzk__send_window {
    struct uvzk__to_loop *to_loop;         /* answers arrive by it */
    struct uvzk__outstanding *outstanding; /* the rpcs of the requests */
    const struct uvzk__log_route *log_route;
    const struct uvzk__dialect *dialect; /* of the port */
    /* A request has come back. May end the window's handle. */
    void (*returned)(struct uvzk__send_window *);
    /* A server has answered a question, with this code. May end the window's handle. */
    void (*told)(struct uvzk__send_window *, enum uvzk__own_request, int code);
    bool has_credentials;
    unsigned forks; /* uvzk__forks() when it was made; in a child nothing is sent */

    zhandle_t *zh;             /* where requests are sent; NULL: not connected */
    struct uvzk__link waiting; /* requests not yet sent, in the order of submission */
    /* Requests that the C client or the submit thread has. */
    struct uvzk__link sent;
    struct uvzk__submit_thread submit_thread;
    int in_flight; /* the length of sent */
    /* The number of this connection, from 1; 0: there was none yet. */
    unsigned connection;
    /* On this connection a request has been sent, and a server has answered one. */
    bool asked, answered;
    struct uvzk__registrations registrations;
};

/* Initialises a window without a connection, in memory of zeros. The pointers are
 * borrowed. The caller sets returned and told. Returns 0 or UV_ENOMEM. */
int uvzk__send_window_init(struct uvzk__send_window *window,
                           struct uvzk__outstanding *outstanding,
                           struct uvzk__to_loop *to_loop,
                           const struct uvzk__log_route *log_route,
                           const struct uvzk__dialect *dialect, bool has_credentials);
/* Frees the requests and the detached watches. The C client's threads have ended, so no
 * request will be answered. */
void uvzk__send_window_clear(struct uvzk__send_window *window);
/* Frees what the window owns; uvzk__send_window_clear must have run. */
void uvzk__send_window_destroy(struct uvzk__send_window *window);

/* uvzk__send_window_connect: a new connection begins, on which requests are sent to zh.
 * uvzk__send_window_disconnect: no request is sent until the next connection. */
void uvzk__send_window_connect(struct uvzk__send_window *window, zhandle_t *zh);
void uvzk__send_window_disconnect(struct uvzk__send_window *window);

/* Returns how many requests the C client and the submit thread have. */
static inline int uvzk__send_window_in_flight(const struct uvzk__send_window *window)
{
    return window->in_flight;
}

/* Appends a request for the rpc to those that wait. The watch of the rpc, if any, counts
 * as being armed. Returns false, and changes nothing, if out of memory. */
bool uvzk__send_window_add(struct uvzk__send_window *window, struct uvzk__rpc *rpc);

/* Gives waiting requests to the C client, up to the size of the window. If the port has
 * credentials, no multi is given to the C client before a request that was sent on this
 * connection has been answered. If no request has been sent on this connection, uvzk
 * sends an exists of "/" of its own. */
void uvzk__send_window_pump(struct uvzk__send_window *window);

/* Sends a question, or the check of the credentials, ahead of all that waits. Returns ZOK,
 * or the code of the C client, which has refused it. */
int uvzk__send_window_send_own(struct uvzk__send_window *window,
                               enum uvzk__own_request own);

/* A connection has been established: adds removal requests for the detached registrations
 * that the server may still have. The caller must pump the window. */
void uvzk__send_window_remove_detached(struct uvzk__send_window *window);
/* Detaches the registration and has the server remove its watch. */
void uvzk__send_window_unwatch(struct uvzk__registration *registration);

/* The requests that the submit thread has not yet submitted wait again. Must be called
 * before an rpc is replied without an answer, because the submit thread may be reading
 * the rpc. */
void uvzk__send_window_take_back(struct uvzk__send_window *window);
/* The handle is about to be closed: submits the requests that the submit thread has not
 * yet submitted. From now on the loop submits all requests itself. */
void uvzk__send_window_flush(struct uvzk__send_window *window);
/* Disconnects the window in a child that fork() has made. The submit thread is its
 * parent's. */
void uvzk__send_window_inherit(struct uvzk__send_window *window);

#endif
