/* Requests by which the server removes watches that are no longer wanted. */
#ifndef UVZK_REMOVAL_H
#define UVZK_REMOVAL_H

struct uvzk__registration;
struct uvzk__request;
struct uvzk__send_window;

/* A connection has been established: adds removal requests for the detached registrations
 * that the server may still have. The caller must pump the send window. */
void uvzk__removal_of_detached(struct uvzk__send_window *window);

/* ------------------------------------------------------------ for this room alone */

/* The request has not armed its watch: frees the registration, and adds a removal request if
 * others on the path had been given up for it. The caller must pump the send window. */
void uvzk__removal_of_unarmed(struct uvzk__request *request);

/* Detaches the registration and adds a request by which the server removes the watch, if
 * it was the last one of its type on the path. The caller must pump the send window. */
void uvzk__removal_of(struct uvzk__registration *registration);

#endif
