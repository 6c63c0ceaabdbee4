/* SPDX-License-Identifier: Apache-2.0 */
/* The events of the live page (server-sent events): in each period, a snapshot for all
 * watchers. The events are a heartbeat too: one comes in each period even if ZooKeeper or
 * the store does not answer. While there is no watcher, neither of them is asked. */
#ifndef STOCK_LIVE_H
#define STOCK_LIVE_H

#include <stdbool.h>
#include <uv.h>

#include "stock.h"

enum { LIVE_PERIOD_MS = 500 };

struct connection;
struct watcher;

struct live { /* must be all zeros before live_init */
    struct stock *stock;
    const char *page_origin; /* of another page that may read the events; NULL: none */
    struct watcher *watchers;
    unsigned watching;
    uv_timer_t tick;
    unsigned awaited; /* answers of the store and of ZooKeeper */
    struct store_job tally;
    struct store_figures *figures;
    bool tallying;
    bool store_answers; /* and so the figures are those of this period or the last one */
    bool closed;
};

/* `page_origin` may be NULL, and is not copied. */
int live_init(struct live *live, struct stock *stock, const char *page_origin);
void live_watch(struct live *live, struct connection *connection);
/* Ends the ticks. The HTTP server ends the watchers' connections. The struct is needed
 * until the store and the stock are closed. */
void live_close(struct live *live);
/* Frees the figures; to be called after the store is closed. */
void live_free(struct live *live);

#endif
