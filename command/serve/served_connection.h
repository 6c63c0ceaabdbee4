/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of a program to `uvzk serve`: requests come in as lines, answers and
 * events go out as lines. What the program has acquired lives as long as its connection.
 *
 * A connection ends in one of two ways. Either the program has closed it or has died: it
 * no longer works under any of its locks, so they are released at once. Or the daemon
 * cuts it off because it exceeds a limit: the program may continue to work under its
 * locks until it notices, so each lock is released only when the last validity that the
 * program was told has passed (served_hold.h). */
#ifndef SERVED_CONNECTION_H
#define SERVED_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>
#include <uv.h>

#include "serve/line_buffer.h"

struct daemon;
struct served_hold;
struct served_listing;
struct served_wait;
struct served_watch;
struct served_object;
struct served_owner;

struct served_connection {
    uv_pipe_t pipe;
    uv_stream_t *output; /* to which lines go: the pipe, or the daemon's `output` */
    struct daemon *daemon;
    struct line_buffer lines;
    char *unsent; /* owned: answers of this turn */
    size_t unsent_length, unsent_capacity;
    struct served_connection *unsent_prev,
        *unsent_next;          /* of the daemon's list, if there are */
    struct served_hold *holds; /* by number: pending acquires and holds */
    /* Pending acquires by the id of their request. One whose id another one has, and those that
     * come as long as there is such a one, are only counted. */
    struct served_hold *waiting;
    size_t waiting_besides;
    struct served_listing *listings; /* under way */
    struct served_watch *watches;    /* by number */
    struct served_wait *waits;       /* for the servers */
    struct served_object *objects;   /* by number */
    size_t atomic_calls;             /* about atomic longs, under way */
    struct served_owner *owners;     /* by name */
    size_t pending; /* requests without an answer, holds, watches, objects */
    size_t users;   /* what refers to this struct: its streams, holds, requests */
    /* When the line that is being carried out was read (CLOCK_MONOTONIC, ns). */
    uint64_t received;
    bool ended;
    pid_t pid;                             /* of the program, when it connected */
    struct served_connection *prev, *next; /* of the daemon's list */
};

/* Accepts a connection of the listener, and answers its requests from then on. If there
 * are too many connections, or no memory, the connection receives an error and is
 * closed. */
void served_connection_accept(struct daemon *, uv_stream_t *listener);

/* Begins the only connection of a daemon that has a parent. Returns 0, or an error code of
 * libuv: then the daemon must end. */
int served_connection_open(struct daemon *);

/* The program has ended. Does nothing if the connection has ended. */
void served_connection_end(struct served_connection *);

/* Sends a line, at the end of the turn, and frees the object. If the program has not read
 * what was sent before, or if there is no memory (NULL), the connection is cut off. Does
 * nothing but free the object if the connection has ended. */
void served_connection_send(struct served_connection *, json_t *);

/* Counts a request, a hold or a watch. Returns false if there are too many: then an error
 * has been sent. */
bool served_connection_begin(struct served_connection *, int64_t id);
/* ... which has ended. May free the connection, if it has ended too. */
void served_connection_done(struct served_connection *);

/* The daemon closes the connection. error, message: for the program. */
void served_connection_cut(struct served_connection *, const char *error,
                           const char *message);

#endif
