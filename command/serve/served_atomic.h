/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about atomic longs, for programs of `uvzk serve`. All programs share one atomic
 * long for each path while requests about it are under way: the library carries them out
 * one after the other, so programs of one machine do not compete. */
#ifndef SERVED_ATOMIC_H
#define SERVED_ATOMIC_H

#include <stddef.h>

struct served_connection;
struct served_request;
struct served_atomic;

struct served_atomics {
    struct served_atomic *open; /* by path */
    /* Requests whose connections have ended. The library cannot cancel them. */
    size_t left_behind;
};

/* Carries out "atomic_get" and the requests that change an atomic long. */
void served_atomic_call(struct served_connection *, const struct served_request *);

/* The connection has ended. */
void served_atomics_end(struct served_connection *);

#endif
