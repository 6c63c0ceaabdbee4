/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are answered when the daemon is connected to the servers. A program that has
 * just started its daemon asks so before it asks what needs the servers at once. */
#ifndef SERVED_WAIT_H
#define SERVED_WAIT_H

#include <stdint.h>

#include <uv.h>

struct daemon;
struct served_connection;
struct served_request;

/* One request, until it is answered and its timer is closed. */
struct served_wait {
    struct served_connection *connection;
    int64_t id;
    uv_timer_t timer;                /* of its time-out */
    struct served_wait *prev, *next; /* of the connection's list; in none once answered */
};

/* Carries out "connected". */
void served_wait_begin(struct served_connection *, const struct served_request *);

/* The daemon is connected: answers all. */
void served_waits_end(struct daemon *);
/* The connection has ended, or the daemon ends: then those who wait are told. */
void served_waits_expire(struct served_connection *);

#endif
