/* The request by which the server forgets a watch of a native port. */
#ifndef UVZK_WATCH_REMOVAL_H
#define UVZK_WATCH_REMOVAL_H

struct uvzk__native_port;
struct uvzk__native_watch;

/* Adds the request to the port's queue. native: REMOVING; NULL: there is none. Without a
 * connection the server has forgotten it anyway. A server that does not know the request
 * reports the next change, which then meets no watch. */
void uvzk__watch_removal_add(struct uvzk__native_port *port,
                             struct uvzk__native_watch *native);

#endif
