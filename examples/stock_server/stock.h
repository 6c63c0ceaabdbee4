/* The stock of each product: a lock, and the orders that are under way. */
#ifndef STOCK_STOCK_H
#define STOCK_STOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>
#include <uvzk.h>

#include "crowd.h"
#include "store.h"

struct connection;
struct order;
struct stock;

struct product {
    struct stock *stock;
    int id; /* 1 and up */
    uvzk_mutex_t mutex;
    struct order *orders; /* all that are under way, in the order in which they came */
    uint32_t waiting;     /* of those, for the lock */
    struct crowd crowd;   /* who stands at the lock, in all processes */

    uint64_t sold, sold_out, refused, gone; /* what became of the others */
    uint64_t lost;                          /* the lock, before the work was done */
    uint64_t fenced;       /* by the store, which had seen a greater token */
    const char *last_loss; /* why; NULL: none yet. Static text. */
};

struct stock_options {
    const char *hosts; /* of ZooKeeper */
    const char *name;  /* of this instance: the data of its znodes */
    int products;
    uint32_t step_ms;    /* how long the asynchronous step takes */
    uint32_t wait_ms;    /* for the lock, at most */
    uint32_t session_ms; /* ZooKeeper's session timeout */
    bool no_lock;
    bool log; /* what the library and ZooKeeper's C client say, to stderr */
};

typedef void (*stock_closed_cb)(struct stock *stock);

struct stock {
    struct stock_options options;
    uv_loop_t *loop;
    struct store *store;
    uvzk_client_t client;
    struct product *products;
    uint32_t orders; /* whose outcome is not certain yet */
    bool closing;
    stock_closed_cb closed_cb;
};

/* The store is open. Whatever it returns, stock_close is owed. */
int stock_init(struct stock *stock, uv_loop_t *loop, struct store *store,
               const struct stock_options *options);

/* NULL: there is no such product. */
struct product *stock_product(struct stock *stock, int id);

bool stock_is_connected(const struct stock *stock);
/* Whether there is no connection, and why, as far as that is known. */
bool stock_trouble(const struct stock *stock, uvzk_client_error_t *why);
/* "connected", ..., as people know it. */
const char *stock_connection(const struct stock *stock);

/* Who waits for a lock is told to come again; what is at work is done; then all locks are
 * given back. */
void stock_close(struct stock *stock, stock_closed_cb cb);
/* An order's outcome is certain. */
void stock_settled(struct stock *stock);

#endif
