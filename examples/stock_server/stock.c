/* SPDX-License-Identifier: Apache-2.0 */
#include "stock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "order.h"

static void on_state(uvzk_client_t *client, uvzk_client_state_t state)
{
    static const char *const names[] = {
        [UVZK_STATE_CONNECTED] = "connected",
        [UVZK_STATE_SUSPENDED] = "not connected",
        [UVZK_STATE_RECONNECTED] = "connected again",
        [UVZK_STATE_LOST] = "the session is over, and every lock with it",
    };
    const struct stock *stock = client->data;

    if (state < sizeof(names) / sizeof(names[0]) && names[state] != NULL) {
        fprintf(stderr, "%s: ZooKeeper: %s\n", stock->options.name, names[state]);
    }
}

static void on_log(uvzk_client_t *client, int level, const char *module, const char *line)
{
    (void)module;
    const struct stock *stock = client->data;

    (void)level;
    fprintf(stderr, "%s: %s\n", stock->options.name, line);
}

static int open_client(struct stock *stock)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = stock->options.hosts;
    options.session_timeout_ms = stock->options.session_ms;
    options.default_data = stock->options.name; /* other instances show this name */
    options.default_data_length = strlen(stock->options.name);
    options.state_cb = on_state;
    options.log_cb = stock->options.log ? on_log : NULL;
    options.metrics = 1; /* counted from the start */
    stock->client.data = stock;
    int status = uvzk_client_init(stock->loop, &stock->client, &options);
    return status < 0 ? status : uvzk_client_start(&stock->client);
}

static int make_products(struct stock *stock)
{
    int status = 0;

    for (int i = 0; i < stock->options.products && status == 0; i++) {
        struct product *product = &stock->products[i];
        char path[32];
        product->stock = stock;
        product->id = i + 1;
        crowd_init(&product->crowd);
        snprintf(path, sizeof(path), "/product%d", product->id);
        if (!stock->options.no_lock) {
            status = uvzk_mutex_init(&stock->client, &product->mutex, path);
        }
    }
    return status;
}

int stock_init(struct stock *stock, uv_loop_t *loop, struct store *store,
               const struct stock_options *options)
{
    int status = 0;

    stock->options = *options;
    stock->loop = loop;
    stock->store = store;
    stock->products = calloc((size_t)options->products, sizeof(*stock->products));
    if (stock->products == NULL) {
        return UV_ENOMEM;
    }
    if (!options->no_lock) {
        status = open_client(stock);
    }
    if (status == 0) {
        status = make_products(stock);
    }
    return status;
}

struct product *stock_product(struct stock *stock, int id)
{
    return id >= 1 && id <= stock->options.products ? &stock->products[id - 1] : NULL;
}

bool stock_is_connected(const struct stock *stock)
{
    uvzk_client_state_t state = uvzk_client_state(&stock->client);

    return state == UVZK_STATE_CONNECTED || state == UVZK_STATE_RECONNECTED;
}

bool stock_trouble(const struct stock *stock, uvzk_client_error_t *why)
{
    uvzk_client_error_init(why);
    return !stock->options.no_lock && !stock_is_connected(stock) &&
           uvzk_client_last_error(&stock->client, why) == 0 && why->code != 0;
}

const char *stock_connection(const struct stock *stock)
{
    if (stock->options.no_lock) {
        return "not used";
    }
    return stock_is_connected(stock) ? "connected" : "not connected";
}

/* ----------------------------------------------------------------------- the end */

static void closed(struct stock *stock)
{
    free(stock->products);
    stock->products = NULL;
    stock->closed_cb(stock);
}

static void on_client_closed(uvzk_client_t *client)
{
    closed(client->data);
}

static void close_if_settled(struct stock *stock)
{
    if (!stock->closing || stock->orders > 0) {
        return;
    }
    /* This also closes the locks, and waits a moment for releases that are under way. */
    if (stock->options.no_lock ||
        uvzk_client_close(&stock->client, on_client_closed) < 0) {
        closed(stock);
    }
}

void stock_settled(struct stock *stock)
{
    stock->orders--;
    close_if_settled(stock);
}

void stock_close(struct stock *stock, stock_closed_cb cb)
{
    struct order *order, *next;

    stock->closing = true;
    stock->closed_cb = cb;
    for (int i = 0; i < stock->options.products && stock->products != NULL; i++) {
        DL_FOREACH_SAFE(stock->products[i].orders, order, next)
        {
            order_hurry(order);
        }
    }
    close_if_settled(stock);
}
