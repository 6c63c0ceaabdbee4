/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that `uvzk serve` sends: answers to requests and events, as JSON objects.
 * Each function that makes one returns NULL if there is no memory; the others accept
 * NULL. Pure: no loop. */
#ifndef SERVED_ANSWER_H
#define SERVED_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Errors of the protocol, in addition to the library's codes. */
#define SERVED_EREQUEST "SERVE_EREQUEST"         /* the line is not a valid request */
#define SERVED_ELINE "SERVE_ELINE"               /* the line is too long */
#define SERVED_EPENDING "SERVE_EPENDING"         /* too many requests and holds */
#define SERVED_EUNREAD "SERVE_EUNREAD"           /* too much was not read */
#define SERVED_ECONNECTIONS "SERVE_ECONNECTIONS" /* too many connections */
#define SERVED_ESIZE "SERVE_ESIZE"               /* the answer would be too long */
#define SERVED_EENDING "SERVE_EENDING"           /* the daemon ends */
#define SERVED_ENDING_TEXT "the daemon ends"     /* the message of SERVED_EENDING */

/* {"id":ID,"ok":true} */
json_t *served_answer_ok(int64_t id);

/* {"id":ID,"ok":false,"error":ERROR,"message":MESSAGE,"retriable":...}; the id is null if
 * it is -1. */
json_t *served_answer_error(int64_t id, const char *error, const char *message,
                            int retriable);
/* As served_answer_error, for a code of the library. refused: right after a call that was
 * refused, whose reason the library knows. */
json_t *served_answer_status(int64_t id, int status, int refused);
/* ... right after a call that was refused. field: by which the program gave the path, which
 * the library may have refused; NULL: it gave none. */
json_t *served_answer_refused(int64_t id, int status, const char *field);
/* As served_answer_ok, or as served_answer_status, of a request that changes znodes:
 * `unknown` tells whether it may have been carried out all the same. */
json_t *served_answer_change(int64_t id, int status);
/* ... for a request that the end of the daemon has refused. */
json_t *served_answer_ending(int64_t id);

/* Returns the answer, or, if its line would be longer than this, another one that says
 * so. */
json_t *served_answer_fit(json_t *, int64_t id, size_t most);

/* {"event":EVENT}; the second function adds an error and a message. */
json_t *served_answer_event(const char *event);
json_t *served_answer_event_of(const char *event, const char *error, const char *message);
/* ... and NAME:NUMBER: what the program has under this number is over. */
json_t *served_answer_event_over(const char *event, const char *error,
                                 const char *message, const char *name, int64_t number);

/* Returns the event of an object, or, if its line would be longer than this, another one
 * that says so. */
json_t *served_answer_fit_event(json_t *, size_t most);

/* Add a field. Text that is not UTF-8 is left out. */
void served_answer_add_number(json_t *, const char *name, int64_t number);
void served_answer_add_null(json_t *, const char *name);
void served_answer_add_text(json_t *, const char *name, const char *text);
void served_answer_add_texts(json_t *, const char *name, const char *const *texts,
                             size_t count);
/* `holders`, the first so many of the paths, and `waiters`, the rest. */
void served_answer_add_participants(json_t *, const char *const *paths, size_t count,
                                    size_t holding);
/* `session`, as ZooKeeper shows it. */
void served_answer_add_session(json_t *, int64_t session_id);

/* Turns the object into a line with its newline, and frees the object. Returns the line,
 * which the caller frees, and sets *length; NULL: there was no memory, be it for a field. */
char *served_answer_line(json_t *, size_t *length);

#endif
