/* SPDX-License-Identifier: Apache-2.0 */
/* One order: a POST /stock/deduct, from its request to its answer.
 *
 *     WAITING ---granted---> LOOKING ---> WORKING ---> SELLING ---> RELEASING ---> freed
 *        |                      |            |            |            ^
 *        |                      +------------+------------+------------+
 *        |                                  answered                   |
 *        +--not granted--> ASKING: answered--> freed   (or, if the lock was lost, freed)
 *
 * WAITING    for the lock. If the client disconnects or the server ends: cancelled.
 * ASKING     ZooKeeper who was ahead when the wait timed out, for half a second at most.
 * LOOKING    how many pieces the store has. Cannot be stopped; whether the client has
 *            disconnected is checked afterwards.
 * WORKING    the asynchronous step. If the client disconnects or the lock is lost:
 *            stopped.
 * SELLING    the store records the sale, or refuses it because of the fencing token. The
 *            order is answered with the store's result, even if the lock is lost
 *            meanwhile.
 * RELEASING  answered; the lock is being released.
 *
 * Without locks (--no-lock) an order begins with LOOKING. */
#ifndef STOCK_ORDER_H
#define STOCK_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>
#include <uvzk.h>

#include "store.h"

struct connection;
struct product;

enum order_state { WAITING, ASKING, LOOKING, WORKING, SELLING, RELEASING };

struct order {
    struct product *product;
    struct order *prev, *next;
    struct connection *connection; /* NULL: answered, or disconnected */
    enum order_state state;
    uint64_t since;   /* time of the request, uv_now() */
    uint64_t granted; /* time of the grant, uv_now() */
    uvzk_hold_t hold;
    bool holds;           /* the hold is granted, not lost, not released */
    int lost_reason;      /* 0: not lost */
    int refused;          /* the acquire's error code; 0: none */
    uint64_t ahead;       /* contenders ahead at that time; 0: not known */
    uvzk_future_t before; /* ASKING: the read of the nearest predecessor's znode */
    struct store_job job;
    uv_timer_t step;
};

void order_begin(struct product *product, struct connection *connection);

/* The server ends: cancels what the order waits for, if it is WAITING or ASKING. */
void order_hurry(struct order *order);

/* Returns how many of the product's orders are in this state. */
unsigned order_count(const struct product *product, enum order_state state);

/* Returns the order of this instance that holds the product's lock, or NULL. */
const struct order *order_holder(const struct product *product);

#endif
