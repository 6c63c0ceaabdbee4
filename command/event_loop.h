/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of one run of the command. Every subcommand begins it here. */
#ifndef EVENT_LOOP_H
#define EVENT_LOOP_H

#include <stddef.h>

#include <uv.h>

/* Checks that this process may open the file descriptors that this many clients need.
 * With fewer, a client would find only later that it cannot connect, for a permanent
 * reason. Returns EX_OK, or EX_OSERR after it has printed what is wrong. */
int event_loop_has_room(size_t clients);

/* Initialises the loop, for one client. From then on, reports have the time: a usage error
 * needs none. Returns EX_OK, or EX_OSERR after it has printed what is wrong; then the loop
 * must not be used. */
int event_loop_begin(uv_loop_t *);

#endif
