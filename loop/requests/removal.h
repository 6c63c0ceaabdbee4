/* Requests by which the server removes watches that are not wanted any more. */
#ifndef UVZK_REMOVAL_H
#define UVZK_REMOVAL_H

struct uvzk__registration;
struct uvzk__send_window;

/* A connection has been established: adds removal requests for the detached registrations
 * that the server may still have. The caller must pump the send window. */
void uvzk__removal_of_detached(struct uvzk__send_window *window);

/* ------------------------------------------------------------ for this room alone */

/* Detaches the registration and adds a request by which the server removes the watch. The
 * caller must pump the send window. */
void uvzk__removal_of(struct uvzk__registration *registration);

#endif
