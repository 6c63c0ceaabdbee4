/* The loop of one run of the command. Every subcommand begins it here. */
#ifndef EVENT_LOOP_H
#define EVENT_LOOP_H

#include <stddef.h>

#include <uv.h>

/* Whether this process may open the file descriptors that so many clients need. With fewer a
 * client would only find at some later moment that it cannot connect, for a reason that does
 * not pass. Returns EX_OK, or EX_OSERR after it has printed what is wrong. */
int event_loop_has_room(size_t clients);

/* Initialises the loop, for one client. Returns EX_OK, or EX_OSERR after it has printed what is
 * wrong; then the loop must not be used. */
int event_loop_begin(uv_loop_t *);

#endif
