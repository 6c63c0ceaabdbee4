/* The live page's events (server-sent events): a snapshot now and then, to all who look.
 * While nobody looks, nothing is asked. */
#ifndef STOCK_LIVE_H
#define STOCK_LIVE_H

#include <stdbool.h>
#include <uv.h>

#include "stock.h"

struct connection;
struct watcher;

struct live { /* filled with zeros before */
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
/* The watchers' connections are ended by the HTTP server. Its memory is needed until the
 * store is closed. */
void live_close(struct live *live);
/* After that. */
void live_free(struct live *live);

#endif
