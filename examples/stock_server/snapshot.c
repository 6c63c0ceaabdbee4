/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot.h"

#include <inttypes.h>
#include <utlist.h>

#include "live.h"
#include "order.h"

/* How many orders of this instance work on the product. With locks it is never more than
 * one. */
static unsigned at_work(const struct product *product)
{
    return order_count(product, LOOKING) + order_count(product, WORKING) +
           order_count(product, SELLING);
}

static uint64_t oldest_wait(const struct product *product, uint64_t now)
{
    const struct order *order;

    DL_FOREACH(product->orders, order)
    {
        if (order->state == WAITING) {
            return now - order->since;
        }
    }
    return 0;
}

/* Writes the queue of the lock in all processes, as the names of instances; "" is an
 * instance that is not known. */
static void write_queue(struct text *text, const struct product *product)
{
    static const struct queue unknown = {.standing = CROWD_UNKNOWN};
    const struct queue *queue = &product->crowd.queue;

    if (!stock_is_connected(product->stock)) {
        queue = &unknown;
    }
    text_add(text, ", \"standing\": %d, \"holding\": %d, \"queue\": [", queue->standing,
             queue->holding);
    for (int i = 0; i < queue->shown; i++) {
        text_add(text, i == 0 ? "" : ", ");
        text_add_quoted(text, queue->contenders[i].name);
    }
    text_add(text, "]");
}

/* Writes what this instance has at the lock, or at work without it. */
static void write_own(struct text *text, const struct product *product)
{
    uint64_t now = uv_now(product->stock->loop);
    const struct order *holder = order_holder(product);

    if (holder != NULL) {
        text_add(text, ", \"held_ms\": %" PRIu64, now - holder->granted);
    }
    text_add(text, ", \"at_work\": %u, \"waiting\": %u, \"oldest_ms\": %" PRIu64,
             at_work(product), product->waiting, oldest_wait(product, now));
}

static void write_product(struct text *text, const struct product *product,
                          const struct store_figures *figures)
{
    /* What was sold and what is left are together what there was, unless two orders have
     * sold the same piece. */
    int64_t oversold = figures->sold + figures->left - figures->stock;

    text_add(text, "{\"id\": %d, \"stock\": %" PRId64 ", \"left\": %" PRId64, product->id,
             figures->stock, figures->left);
    text_add(text, ", \"sold\": %" PRId64 ", \"oversold\": %" PRId64, figures->sold,
             oversold > 0 ? oversold : 0);
    write_queue(text, product);
    write_own(text, product);
    text_add(text, ", \"losses\": %" PRIu64, product->lost + product->fenced);
    if (product->last_loss != NULL) {
        text_add(text, ", \"last_loss\": ");
        text_add_quoted(text, product->last_loss);
    }
    text_add(text, "}");
}

/* Writes why there is no connection, if there is none. */
static void write_trouble(struct text *text, const struct stock *stock)
{
    uvzk_client_error_t error;

    if (stock_trouble(stock, &error)) {
        text_add(text, ", \"trouble\": ");
        text_add_quoted(text, error.text);
        text_add(text, ", \"trouble_at\": ");
        text_add_quoted(text, error.address);
    }
}

void snapshot_write(struct text *text, const struct stock *stock,
                    const struct store_figures *figures, bool store_answers)
{
    text_add(text, "{\"name\": ");
    text_add_quoted(text, stock->options.name);
    text_add(text, ", \"period_ms\": %d, \"store_answers\": %s", LIVE_PERIOD_MS,
             store_answers ? "true" : "false");
    text_add(text, ", \"locks\": %s, \"zookeeper\": ",
             stock->options.no_lock ? "false" : "true");
    text_add_quoted(text, stock_connection(stock));
    write_trouble(text, stock);
    text_add(text, ", \"products\": [");
    for (int i = 0; i < stock->options.products; i++) {
        text_add(text, i == 0 ? "" : ", ");
        write_product(text, &stock->products[i], &figures[i]);
    }
    text_add(text, "]}");
}
