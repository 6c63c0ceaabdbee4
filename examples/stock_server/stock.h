/* SPDX-License-Identifier: Apache-2.0 */
/* The stock: for each product a lock, and the orders that are under way. */
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
    int id; /* from 1 */
    uvzk_mutex_t mutex;
    struct order *orders; /* under way, in order of arrival */
    uint32_t waiting;     /* how many of them wait for the lock */
    struct crowd crowd;   /* who is at the lock, in all processes */

    uint64_t sold, sold_out, refused, gone; /* finished orders, by outcome */
    uint64_t lost;         /* orders that lost the lock before the sale */
    uint64_t fenced;       /* orders refused by the store's fencing token */
    const char *last_loss; /* why; NULL: none yet. Static text. */
};

struct stock_options {
    const char *hosts; /* of ZooKeeper */
    const char *name;  /* of this instance: the data of its znodes */
    int products;
    uint32_t step_ms;    /* duration of the asynchronous step */
    uint32_t wait_ms;    /* the longest wait for the lock */
    uint32_t session_ms; /* ZooKeeper's session timeout */
    bool no_lock;
    bool log; /* uvzk's and the C client's log goes to stderr */
};

typedef void (*stock_closed_cb)(struct stock *stock);

struct stock {
    struct stock_options options;
    uv_loop_t *loop;
    struct store *store;
    uvzk_client_t client;
    struct product *products;
    uint32_t orders; /* orders that are not settled */
    bool closing;
    stock_closed_cb closed_cb;
};

/* The store must be open. Call stock_close later even if this fails. */
int stock_init(struct stock *stock, uv_loop_t *loop, struct store *store,
               const struct stock_options *options);

/* Returns NULL if there is no such product. */
struct product *stock_product(struct stock *stock, int id);

bool stock_is_connected(const struct stock *stock);
/* Returns whether there is no connection and the reason is known; *why is the reason. */
bool stock_trouble(const struct stock *stock, uvzk_client_error_t *why);
/* Returns "connected", "not connected" or "not used". */
const char *stock_connection(const struct stock *stock);

/* Refuses the orders that wait for a lock, lets the others finish, and then releases all
 * locks and closes the client. */
void stock_close(struct stock *stock, stock_closed_cb cb);
/* An order calls this when its outcome is certain. */
void stock_settled(struct stock *stock);

#endif
