/* SPDX-License-Identifier: Apache-2.0 */
/* The store: how many pieces of each product there are, in SQLite. SQLite blocks, so it
 * is used only in libuv's thread pool, by one job after the other. That costs little,
 * because SQLite has only one writer at a time anyway, and a connection and its
 * statements are never shared.
 *
 * The fence: each row keeps the greatest fencing token that it has seen, and smaller
 * tokens are refused. The look already records the token, not only the sale. Otherwise a
 * former holder could still sell between the look and the sale of its successor. */
#ifndef STOCK_STORE_H
#define STOCK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum store_status {
    STORE_DONE = 0,
    STORE_FENCED, /* a greater token was seen: nothing is done */
    STORE_FAILED  /* an error, printed on stderr; nothing is done */
};

struct store;
struct store_job;
typedef void (*store_cb)(struct store_job *job, enum store_status status);

/* The figures of a product, for all instances. */
struct store_figures {
    int64_t stock; /* at the beginning */
    int64_t left;  /* as the last sale has set it */
    int64_t sold;  /* counted by the store, whatever a sale has set */
};

/* One job. The caller owns its memory, and keeps it until the callback. */
struct store_job {
    void *data;                    /* the caller's */
    int64_t left;                  /* of a look or a sale: the result */
    struct store_job *prev, *next; /* private, from here on */
    struct store *store;
    enum store_status (*run)(struct store *store, struct store_job *job);
    store_cb cb;
    int64_t token;
    int product;
    enum store_status status;
    struct store_figures *figures;
};

struct store_options {
    const char *path; /* of the database, which is created if missing */
    int products;
    int64_t stock; /* of products that the database does not have */
};

struct store *store_new(uv_loop_t *loop, const struct store_options *options);

/* Opens the database. It must be the first job. After STORE_FAILED, only store_close may
 * follow. */
void store_open(struct store *store, struct store_job *job, store_cb cb);

/* Finds how many pieces of a product (counted from 1) are left. From then on, smaller
 * tokens are refused. */
void store_look(struct store *store, struct store_job *job, int product, int64_t token,
                store_cb cb);

/* Records the sale of one piece; `left` pieces are left. */
void store_sell(struct store *store, struct store_job *job, int product, int64_t token,
                int64_t left, store_cb cb);

/* Finds the figures of all products, for the live page. */
void store_tally(struct store *store, struct store_job *job,
                 struct store_figures *figures, store_cb cb);

/* Closes the database. It must be the last job. The store is freed before the
 * callback. */
void store_close(struct store *store, struct store_job *job, store_cb cb);

#endif
