/* Clients in a world where every message takes exactly LATENCY_MS one way, so that what
 * took n round trips took n ROUND_TRIP_MS, and acquires whose moments are written down. */
#ifndef UVZK_SIM_WAITERS_H
#define UVZK_SIM_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"
#include "sim.h"

#define LATENCY_MS 10U
#define ROUND_TRIP_MS (2U * LATENCY_MS)
#define TICK_MS 2000U
#define SESSION_MS 10000U
#define CLIENTS 2

struct waiter {
    uvzk_hold_t request;
    struct sim *sim;
    bool told, holds;
    int status; /* of the acquire */
    uint64_t granted_ms;
    void (*hook)(struct waiter *); /* run when it is granted, or over; may be NULL */
    void *data;
};

struct world {
    struct sim *sim;
    struct uvzk__port *ports[CLIENTS]; /* "a", "b" */
    uvzk_client_t clients[CLIENTS];
    int closed;
};

/* The clients are connected; the path of each znode in `paths` (ends with NULL) has been
 * made by hand, with a counter above 0. */
void world_begin(struct world *world, unsigned tuning, const char *const *paths);
/* Everybody has let go: no contender is left, no watch and no session. */
void world_end(struct world *world);

/* leases: 0 where there are none. owner may be NULL. */
void waiter_ask(struct waiter *waiter, struct world *world, uvzk_lock_t *lock,
                uint32_t leases, void *owner);
/* The same, which may be refused: what uvzk_lock_acquire says. */
int waiter_request(struct waiter *waiter, struct world *world, uvzk_lock_t *lock,
                   uint32_t leases, void *owner);
/* Cancels it, or releases what it holds. */
void waiter_let_go(struct waiter *waiter);
/* Asks, and is granted within a second. */
void waiter_take(struct waiter *waiter, struct world *world, uvzk_lock_t *lock,
                 uint32_t leases);

/* Whether all of them hold, by this moment at the latest; waits for it. The longest wait
 * is printed if not. */
bool all_hold_by(struct world *world, const struct waiter *waiters, size_t count,
                 uint64_t by_ms);

/* Another one's contender in this directory. */
const char *foreign_mutex(struct world *world, const char *directory);
const char *foreign_writer(struct world *world, const char *directory);
const char *foreign_reader(struct world *world, const char *directory);
const char *foreign_lease(struct world *world, const char *directory);
void foreigner_goes(struct world *world, const char *path);

#endif
