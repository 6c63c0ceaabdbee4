/* The events of the live page (server-sent events): every half second, a snapshot for all
 * watchers. While there is no watcher, neither ZooKeeper nor the store is asked. */
#ifndef STOCK_LIVE_H
#define STOCK_LIVE_H

#include <stdbool.h>
#include <uv.h>

#include "stock.h"

struct connection;
struct watcher;

struct live { /* must be all zeros before live_init */
    struct stock *stock;
    struct watcher *watchers;
    unsigned watching;
    uv_timer_t tick;
    struct store_job tally;
    struct store_figures *figures;
    bool tallying, closed;
};

int live_init(struct live *live, struct stock *stock);
void live_watch(struct live *live, struct connection *connection);
/* Ends the ticks. The HTTP server ends the watchers' connections. The struct is needed
 * until the store is closed. */
void live_close(struct live *live);
/* Frees the figures; to be called after the store is closed. */
void live_free(struct live *live);

#endif
