/* One order: a POST /stock/deduct, from its request to its answer.
 *
 *     WAITING ---granted---> LOOKING ---> WORKING ---> SELLING ---> RELEASING ---> freed
 *        |                      |            |            |            ^
 *        |                      +------------+------------+------------+
 *        |                                  answered                   |
 *        +--not granted--> ASKING: answered--> freed     (or, if the lock was lost, freed)
 *
 * ASKING     who was before it when its time ran out, for half a second at most.
 * WAITING    for the lock. The client goes away, or the server ends: cancelled.
 * LOOKING    what the store has. Cannot be stopped: who has gone meanwhile is seen then.
 * WORKING    the asynchronous step. The client goes away, or the lock is lost: stopped.
 * SELLING    the store writes it down, or refuses it by the fencing token. What it says
 *            is so, and is answered, whatever becomes of the lock meanwhile.
 * RELEASING  answered; the lock is given back.
 *
 * Without locks (--no-lock) it begins with LOOKING. */
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
    struct connection *connection; /* NULL: answered, or the client has gone */
    enum order_state state;
    uint64_t since;   /* the request, uv_now() */
    uint64_t granted; /* the lock, uv_now() */
    uvzk_hold_t hold;
    bool holds;           /* has the hold: granted, not lost, not released */
    int lost_reason;      /* 0: not lost */
    int refused;          /* the code with which the lock was not granted; 0: none */
    uint64_t ahead;       /* so many stood before it then; 0: not known */
    uvzk_future_t before; /* ASKING: the znode of the next one before it */
    struct store_job job;
    uv_timer_t step;
};

void order_begin(struct product *product, struct connection *connection);

/* The server ends: who waits shall not wait any more. */
void order_hurry(struct order *order);

/* How many of the product's orders are in that state. */
unsigned order_count(const struct product *product, enum order_state state);

/* Who has the product's lock here; NULL: nobody. */
const struct order *order_holder(const struct product *product);

#endif
