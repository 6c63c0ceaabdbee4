#include "live.h"

#include <stdlib.h>
#include <utlist.h>

#include "connection.h"
#include "snapshot.h"

enum { TICK_MS = 500, WATCHERS_MAX = 100 };

struct watcher {
    struct live *live;
    struct connection *connection;
    struct watcher *prev, *next;
};

int live_init(struct live *live, struct stock *stock)
{
    live->stock = stock;
    live->tally.data = live->tick.data = live;
    live->figures = calloc((size_t)stock->options.products, sizeof(*live->figures));
    uv_timer_init(stock->loop, &live->tick);
    return live->figures == NULL ? UV_ENOMEM : 0;
}

/* ------------------------------------------------------------------------ a tick */

static void on_tallied(struct store_job *job, enum store_status status)
{
    struct live *live = job->data;
    struct watcher *watcher;
    struct text event = {0};

    live->tallying = false;
    if (live->closed || status != STORE_DONE) {
        return;
    }
    text_add(&event, "retry: 1000\ndata: ");
    snapshot_write(&event, live->stock, live->figures);
    text_add(&event, "\n\n");
    if (!event.failed) {
        DL_FOREACH(live->watchers, watcher)
        {
            connection_push(watcher->connection, event.bytes, event.length);
        }
    }
    text_free(&event);
}

static void on_tick(uv_timer_t *tick)
{
    struct live *live = tick->data;
    struct stock *stock = live->stock;

    for (int i = 0; i < stock->options.products && !stock->options.no_lock; i++) {
        struct product *product = &stock->products[i];
        crowd_look(&product->crowd, &stock->client, &product->mutex);
    }
    if (!live->tallying) {
        live->tallying = true;
        store_tally(stock->store, &live->tally, live->figures, on_tallied);
    }
}

/* ------------------------------------------------------------------- watchers */

static void on_gone(struct connection *connection)
{
    struct watcher *watcher = connection->data;
    struct live *live = watcher->live;

    DL_DELETE(live->watchers, watcher);
    free(watcher);
    if (--live->watching == 0 && !live->closed) {
        uv_timer_stop(&live->tick);
    }
}

void live_watch(struct live *live, struct connection *connection)
{
    static const char why[] = "{\"reason\": \"too many look already\"}\n";
    const struct answer full = {503, NULL, 5, NULL, why, sizeof(why) - 1};
    struct watcher *watcher =
        live->watching < WATCHERS_MAX ? calloc(1, sizeof(*watcher)) : NULL;

    if (watcher == NULL) {
        connection_answer(connection, &full);
        return;
    }
    watcher->live = live;
    watcher->connection = connection;
    connection->data = watcher;
    connection->gone_cb = on_gone;
    DL_APPEND(live->watchers, watcher);
    connection_stream(connection);
    if (live->watching++ == 0) {
        uv_timer_start(&live->tick, on_tick, 0, TICK_MS);
    }
}

void live_close(struct live *live)
{
    live->closed = true;
    uv_close((uv_handle_t *)&live->tick, NULL);
}

void live_free(struct live *live)
{
    free(live->figures);
    live->figures = NULL;
}
