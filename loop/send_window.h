/* What the C client has been given, and what waits for that. */
#ifndef UVZK_SEND_WINDOW_H
#define UVZK_SEND_WINDOW_H

#include <stdbool.h>

struct uvzk__handle;
struct uvzk__rpc;

/* At most this many are with the C client: above 65,536 its wake-up pipe
 * overflows and it drops the connection, above 1,000 the server stops reading. */
#define UVZK__SEND_WINDOW 1000

/* While fewer are, the loop gives them itself: that is the shortest way, and there is
 * little that the client's thread could be writing. Beyond, the submit thread does
 * (submit_thread.h). */
#define UVZK__DIRECT_SENDS 2

/* Puts the rpc behind those that wait; its watch counts as being armed. False:
 * out of memory, nothing has happened. */
bool uvzk__send_window_add(struct uvzk__handle *handle, struct uvzk__rpc *rpc);

/* Gives waiting requests to the C client, as far as the window allows. With credentials
 * no multi is given to it before something sent on this connection has been answered;
 * if nothing has been sent, a request of our own is. */
void uvzk__send_window_pump(struct uvzk__handle *handle);

/* What the submit thread has not given yet waits again: to be called before anything
 * is replied that has no answer. */
void uvzk__send_window_take_back(struct uvzk__handle *handle);
/* The handle is about to be closed: what the submit thread has not given yet is given
 * now. */
void uvzk__send_window_flush(struct uvzk__handle *handle);

#endif
