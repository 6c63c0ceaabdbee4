/* SPDX-License-Identifier: Apache-2.0 */
/* A request of a program of `uvzk serve` for who holds a lock and who waits for it.
 * served_watch.h shows that again after each change. */
#ifndef SERVED_LISTING_H
#define SERVED_LISTING_H

#include <stdbool.h>
#include <stdint.h>

#include <uvzk.h>

#include "serve/served_request.h"

struct served_connection;

struct served_listing {
    uvzk_req_t request;
    struct served_connection *connection;
    struct served_lock *lock;
    struct served_listing *prev, *next; /* of the connection */
    int64_t id;                         /* of the request; -1: it is answered already */
};

/* Carries out "participants". */
void served_listing_begin(struct served_connection *, const struct served_request *);

/* The daemon ends: tells the program that its requests are over. */
void served_listings_expire(struct served_connection *);

#endif
