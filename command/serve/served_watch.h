/* SPDX-License-Identifier: Apache-2.0 */
/* A watch of a program of `uvzk serve`: who holds a lock and who waits for it, now and
 * after each change; of an election also who leads, with the data of its znode. */
#ifndef SERVED_WATCH_H
#define SERVED_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <uvzk.h>

#include "serve/served_request.h"
#include "serve/table.h"

struct served_connection;

struct served_watch {
    UT_hash_handle hh;
    uvzk_participants_view_t view;
    struct served_connection *connection;
    struct served_lock *lock; /* NULL: of an election */
    int64_t number;           /* by which the program names it */
    int64_t id;               /* of the request, until it is answered; then -1 */
    bool ending;              /* its view is being closed */
};

/* Carry out "watch" and "unwatch". */
void served_watch_begin(struct served_connection *, const struct served_request *);
void served_watch_unwatch(struct served_connection *, const struct served_request *);

/* The connection has ended. */
void served_watches_end(struct served_connection *);
/* The daemon ends: tells the program that its watches and requests are over. */
void served_watches_expire(struct served_connection *);

#endif
