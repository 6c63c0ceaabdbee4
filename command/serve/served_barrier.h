/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers and double barriers, for programs of `uvzk serve`. A request about a barrier
 * names its path. A member of a double barrier is an object, from its enter to its
 * leave. */
#ifndef SERVED_BARRIER_H
#define SERVED_BARRIER_H

struct served_connection;
struct served_request;

/* Carries out "barrier_set", "barrier_remove" and "barrier_wait". */
void served_barrier_call(struct served_connection *, const struct served_request *);

/* Carry out "enter" and "leave". */
void served_barrier_enter(struct served_connection *, const struct served_request *);
void served_barrier_leave(struct served_connection *, const struct served_request *);

#endif
