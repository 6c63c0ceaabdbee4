/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include <stdlib.h>
#include <utlist.h>

#include "connection.h"
#include "snapshot.h"

enum { WATCHERS_MAX = 100 };

struct watcher {
    struct live *live;
    struct connection *connection;
    struct watcher *prev, *next;
};

int live_init(struct live *live, struct stock *stock, const char *page_origin)
{
    live->stock = stock;
    live->page_origin = page_origin;
    live->tally.data = live->tick.data = live;
    live->figures = calloc((size_t)stock->options.products, sizeof(*live->figures));
    uv_timer_init(stock->loop, &live->tick);
    return live->figures == NULL ? UV_ENOMEM : 0;
}

/* ------------------------------------------------------------------------ a tick */

static void push(struct live *live)
{
    struct watcher *watcher;
    struct text event = {0};

    text_add(&event, "retry: 1000\ndata: ");
    snapshot_write(&event, live->stock, live->figures, live->store_answers);
    text_add(&event, "\n\n");
    if (!event.failed) {
        DL_FOREACH(live->watchers, watcher)
        {
            /* A dropped event is no loss: the next one has all figures again. */
            (void)connection_push(watcher->connection, event.bytes, event.length);
        }
    }
    text_free(&event);
}

/* The snapshot is sent with the last answer, so that its figures and queues are of one
 * moment. */
static void answered(struct live *live)
{
    if (--live->awaited == 0 && !live->closed) {
        push(live);
    }
}

static void on_tallied(struct store_job *job, enum store_status status)
{
    struct live *live = job->data;

    live->tallying = false;
    live->store_answers = status == STORE_DONE;
    answered(live);
}

static void on_queue_known(struct crowd *crowd)
{
    answered(crowd->data);
}

static void ask_zookeeper(struct live *live)
{
    struct stock *stock = live->stock;

    for (int i = 0; i < stock->options.products && !stock->options.no_lock; i++) {
        struct product *product = &stock->products[i];
        product->crowd.data = live;
        if (crowd_look(&product->crowd, &stock->client, &product->mutex,
                       on_queue_known)) {
            live->awaited++;
        }
    }
}

static void ask_store(struct live *live)
{
    if (live->tallying) {
        live->store_answers = false; /* it has had a whole period */
        return;
    }
    live->tallying = true;
    live->awaited++;
    store_tally(live->stock->store, &live->tally, live->figures, on_tallied);
}

static void on_tick(uv_timer_t *tick)
{
    struct live *live = tick->data;
    bool late = live->awaited > 0;

    ask_zookeeper(live);
    ask_store(live);
    if (late) { /* the heartbeat does not wait for what is not answered */
        push(live);
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
    if (live->watching++ == 0) {
        live->store_answers = false; /* the figures are old */
        uv_timer_start(&live->tick, on_tick, 0, LIVE_PERIOD_MS);
    }
    connection_stream(connection, live->page_origin);
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
