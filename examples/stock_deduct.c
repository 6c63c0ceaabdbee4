/* SPDX-License-Identifier: Apache-2.0 */
/* stock_deduct [HOSTS]: a handler that takes one piece of a product out of the stock,
 * under the lock /product<id>, around a slow step that blocks nothing.
 *
 * There are many orders for a few products. The handler reads the stock, waits for the
 * payment, which is slow, and writes the stock less one. The lock lets only one order for
 * a product do this at a time, in all processes: without it, several orders would read
 * the same number. Orders for different products do not wait for each other.
 *
 * The program fills the stock itself and counts only its own sales, so run only one at a
 * time. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>
#include <uvzk.h>

enum { PRODUCTS = 3, STOCK = 5, ORDERS = 8, PAYMENT_MS = 20 };

struct order {
    struct product *product;
    uvzk_locker_t locker; /* acquires the lock, runs on_locked, releases */
    uvzk_req_t read;
    uv_timer_t payment; /* in real life a request to another service */
    uvzk_req_t write;
    int stock;  /* as read under the lock */
    bool first; /* there was no stock znode yet */
};

static struct product {
    uvzk_mutex_t mutex;
    struct order orders[ORDERS], stocktaking;
    char stock_path[32]; /* the znode with the stock, in decimal digits */
    int waiting, sold, left;
} products[PRODUCTS];

static uvzk_client_t client;
static int open_products = PRODUCTS;

static bool failed(int status)
{
    if (status < 0) {
        fprintf(stderr, "failed: %s\n", uvzk_strerror(status));
        uvzk_client_close(&client, NULL); /* ends all requests that are under way */
    }
    return status < 0;
}

static void on_written(uvzk_req_t *write, int status)
{
    struct order *order = write->data;

    if (!failed(status)) {
        order->product->sold += order != &order->product->stocktaking;
        uvzk_locker_done(&order->locker);
    }
}

/* The write is carried out only if the lock is still held at that moment. So if this
 * process was stopped for too long, it does not overwrite what the next holder wrote. */
static void write_stock(struct order *order, uvzk_write_kind_t kind, int stock)
{
    char text[16];
    size_t length = (size_t)snprintf(text, sizeof(text), "%d", stock);
    uvzk_write_op_t op = {kind, -1, order->product->stock_path, text, length};

    order->write.data = order;
    failed(uvzk_hold_write(&order->locker.hold, &order->write, &op, 1, on_written));
}

static void on_paid(uv_timer_t *payment)
{
    struct order *order = payment->data;

    uv_close((uv_handle_t *)payment, NULL);
    write_stock(order, order->first ? UVZK_WRITE_CREATE : UVZK_WRITE_SET,
                order->stock - 1);
}

static void on_stock(uvzk_req_t *read, int status)
{
    const void *data = read->result->data;
    size_t length = read->result->length;
    struct order *order = read->data;
    struct product *product = order->product;
    char text[16];

    order->first = status == UVZK_ENONODE;
    if (order->first) {
        order->stock = STOCK;
    } else if (failed(status)) {
        return;
    } else if (length > 0) { /* otherwise data is NULL */
        snprintf(text, sizeof(text), "%.*s", (int)length, (const char *)data);
        order->stock = atoi(text);
    }
    printf("%s: %d left\n", product->stock_path, order->stock);
    if (order == &product->stocktaking) {
        product->left = order->stock;
        write_stock(order, UVZK_WRITE_DELETE, 0);
    } else if (order->stock == 0) { /* sold out */
        uvzk_locker_done(&order->locker);
    } else {
        order->payment.data = order;
        uv_timer_init(uv_default_loop(), &order->payment);
        uv_timer_start(&order->payment, on_paid, PAYMENT_MS, 0);
    }
}

static void on_locked(uvzk_locker_t *locker)
{
    struct order *order = locker->data;

    order->read.data = order;
    failed(uvzk_client_read(&client, &order->read, order->product->stock_path, on_stock));
}

static void on_unlocked(uvzk_locker_t *locker, int status);

static void handle(struct product *product, struct order *order)
{
    uvzk_acquire_options_t options;

    uvzk_acquire_options_init(&options);
    options.timeout_ms = 15000;
    order->product = product;
    order->locker.data = order;
    failed(
        uvzk_lock_run(&product->mutex, &order->locker, &options, on_locked, on_unlocked));
}

/* After all orders for a product, one more locker reads what is left and deletes the
 * znode. */
static void on_unlocked(uvzk_locker_t *locker, int status)
{
    struct order *order = locker->data;
    struct product *product = order->product;

    if (failed(status)) {
        return; /* not granted, or lost */
    }
    if (order != &product->stocktaking && --product->waiting == 0) {
        handle(product, &product->stocktaking);
    } else if (order == &product->stocktaking && --open_products == 0) {
        uvzk_client_close(&client, NULL);
    }
}

static void sell(struct product *product, int id)
{
    char lock_path[32];

    snprintf(lock_path, sizeof(lock_path), "/product%d", id);
    snprintf(product->stock_path, sizeof(product->stock_path), "/stock%d", id);
    if (!failed(uvzk_mutex_init(&client, &product->mutex, lock_path))) {
        for (product->waiting = 0; product->waiting < ORDERS; product->waiting++) {
            handle(product, &product->orders[product->waiting]);
        }
    }
}

int main(int argc, char **argv)
{
    uvzk_client_options_t options;
    int right = 0;

    uvzk_client_options_init(&options);
    options.hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    if (failed(uvzk_client_init(uv_default_loop(), &client, &options))) {
        return 1;
    }
    failed(uvzk_client_start(&client));
    for (int i = 0; i < PRODUCTS; i++) {
        sell(&products[i], i + 1);
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    for (int i = 0; i < PRODUCTS; i++) {
        printf("product %d: %d sold, %d left\n", i + 1, products[i].sold,
               products[i].left);
        right += products[i].sold == STOCK && products[i].left == 0;
    }
    return uv_loop_close(uv_default_loop()) == 0 && right == PRODUCTS ? 0 : 1;
}
