/* The limit of requests that the C client has at one time, and the requests that wait for
 * it. */
#ifndef UVZK_SEND_WINDOW_H
#define UVZK_SEND_WINDOW_H

#include <stdbool.h>

struct uvzk__handle;
struct uvzk__rpc;

/* At most this many requests are given to the C client and the submit thread at a time.
 * Above 65,536 requests the C client's wake-up pipe overflows and the C client drops the
 * connection; above 1,000 requests the server stops reading. */
#define UVZK__SEND_WINDOW 1000

/* While fewer requests are in flight, the loop submits directly: this is the shortest
 * way, and the C client's thread has little to write, so its mutex is rarely held. From
 * this number on the submit thread submits (submit_thread.h). */
#define UVZK__DIRECT_SENDS 2

/* Appends a request for the rpc to those that wait. The watch of the rpc, if any, counts
 * as being armed. Returns false, and changes nothing, if out of memory. */
bool uvzk__send_window_add(struct uvzk__handle *handle, struct uvzk__rpc *rpc);

/* Gives waiting requests to the C client, as far as the window allows. If the port has
 * credentials, no multi is given to the C client before a request that was sent on this
 * connection has been answered. If no request has been sent on this connection, uvzk
 * sends an exists of "/" of its own. */
void uvzk__send_window_pump(struct uvzk__handle *handle);

/* The requests that the submit thread has not yet submitted wait again. Must be called
 * before an rpc is replied without an answer, because the submit thread may be reading
 * the rpc. */
void uvzk__send_window_take_back(struct uvzk__handle *handle);
/* The handle is about to be closed: submits the requests that the submit thread has not
 * yet submitted. From now on the loop submits all requests itself. */
void uvzk__send_window_flush(struct uvzk__handle *handle);

#endif
