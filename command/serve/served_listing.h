/* Who holds a lock and who waits for it, for a program of `uvzk serve`: once, or again
 * and again (a watch). The library has no watch on all contenders of a lock, so a watch
 * lists them at intervals, and sends what has changed. */
#ifndef SERVED_LISTING_H
#define SERVED_LISTING_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>
#include <uvzk.h>

#include "serve/served_request.h"
#include "serve/table.h"

struct served_connection;

struct served_listing {
    UT_hash_handle hh;
    uvzk_req_t request;
    uv_timer_t timer; /* of a watch, until the next listing */
    struct served_connection *connection;
    struct served_lock *lock;
    enum served_kind kind;
    int64_t number;       /* by which the program names a watch */
    int64_t id;           /* of the request, until it is answered; then -1 */
    uint64_t interval_ms; /* 0: lists once */
    json_t *seen;         /* what was sent last; NULL: nothing */
    bool listing;         /* a request is under way */
    bool ending;          /* ends when the request is done */
};

/* Carry out "participants" or "watch", and "unwatch". */
void served_listing_begin(struct served_connection *, const struct served_request *);
void served_listing_unwatch(struct served_connection *, const struct served_request *);

/* The connection has ended. */
void served_listings_end(struct served_connection *);
/* The daemon ends: tells the program that its watches and requests are over. */
void served_listings_expire(struct served_connection *);

#endif
