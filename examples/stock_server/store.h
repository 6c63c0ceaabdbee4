/* The store: how many pieces of each product there are, in SQLite, which blocks. So it
 * is used in libuv's thread pool alone, by one job after the other: SQLite has one writer
 * at a time in any case, and so a connection and its statements are never shared.
 *
 * The fence. Each row keeps the greatest fencing token that it has seen, and a smaller
 * one is refused. The token is put down by the look already, not only by the sale: else a
 * former holder could still sell between the look and the sale of its successor. */
#ifndef STOCK_STORE_H
#define STOCK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum store_status {
    STORE_DONE = 0,
    STORE_FENCED, /* somebody with a greater token was there: nothing is done */
    STORE_FAILED  /* told on stderr; nothing is done */
};

struct store;
struct store_job;
typedef void (*store_cb)(struct store_job *job, enum store_status status);

/* What is known of a product, all instances together. */
struct store_figures {
    int64_t stock; /* as there were at first */
    int64_t left;  /* as the last sale has written it down */
    int64_t sold;  /* counted by the store itself, whatever a sale has written */
};

/* A job's memory is the caller's until its callback. */
struct store_job {
    void *data;                    /* yours */
    int64_t left;                  /* of a look: what it has found */
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
    const char *path; /* of the database, which is made if there is none */
    int products;
    int64_t stock; /* of a product that the database does not have yet */
};

struct store *store_new(uv_loop_t *loop, const struct store_options *options);

/* The first job. STORE_FAILED: only store_close may follow. */
void store_open(struct store *store, struct store_job *job, store_cb cb);

/* How many pieces of a product, 1 and up, are left; from now on smaller tokens are refused. */
void store_look(struct store *store, struct store_job *job, int product, int64_t token,
                store_cb cb);

/* One piece is sold, `left` are left. */
void store_sell(struct store *store, struct store_job *job, int product, int64_t token,
                int64_t left, store_cb cb);

/* The figures of all products, for people to look at. */
void store_tally(struct store *store, struct store_job *job,
                 struct store_figures *figures, store_cb cb);

/* The last job; the store is freed in front of its callback. */
void store_close(struct store *store, struct store_job *job, store_cb cb);

#endif
