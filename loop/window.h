/* What the C client has been given, and what waits for that. */
#ifndef UVZK_WINDOW_H
#define UVZK_WINDOW_H

#include <stdbool.h>

struct uvzk__handle;
struct uvzk__rpc;

/* At most this many are with the C client: above 65,536 its wake-up pipe
 * overflows and it drops the connection, above 1,000 the server stops reading. */
#define UVZK__WINDOW 1000

/* While fewer are, the loop gives them itself: that is the shortest way, and there is
 * little that the client's thread could be writing. Beyond, the giver does (giver.h). */
#define UVZK__FEW 2

/* Puts the rpc behind those that wait; its watch counts as being armed. False:
 * out of memory, nothing has happened. */
bool uvzk__window_add(struct uvzk__handle *handle, struct uvzk__rpc *rpc);

/* Gives waiting requests to the C client, as far as the window allows. With credentials
 * no multi is given to it before something sent on this connection has been answered;
 * if nothing has been sent, a request of our own is. */
void uvzk__window_pump(struct uvzk__handle *handle);

/* What the giver has not given yet waits again: to be called before anything is replied that
 * has no answer. */
void uvzk__window_recall(struct uvzk__handle *handle);
/* The handle is about to be closed: what the giver has not given yet is given now. */
void uvzk__window_flush(struct uvzk__handle *handle);

#endif
