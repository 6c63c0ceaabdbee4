/* SPDX-License-Identifier: Apache-2.0 */
/* A request of a program that a call of the library answers: from the call until its
 * callback has answered the program. The connection may have ended by then; the call keeps
 * its memory. */
#ifndef SERVED_CALL_H
#define SERVED_CALL_H

#include <stddef.h>
#include <stdint.h>

#include <uvzk.h>

struct served_connection;

/* The first field of the struct of each such request. */
struct served_call {
    uvzk_req_t request; /* its `data` is this call */
    struct served_connection *connection;
    int64_t id; /* of the program's request */
};

/* Counts the request and returns its call: `size` bytes, which are zero behind the
 * struct. NULL: the connection has too many requests, or there is no memory; then the
 * program has been told. */
void *served_call_new(struct served_connection *, int64_t id, size_t size);

/* The library has refused the call: answers as served_answer_refused. Frees the call. */
void served_call_refused(struct served_call *, int status, const char *field);

/* The program has been answered. Frees the call, and its connection if that has ended. */
void served_call_end(struct served_call *);

#endif
