/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_long [HOSTS]: a number that all clients count up, and none of them overwrites.
 *
 * There are two clients, as if in two processes. Each takes five order numbers; no number
 * is given out twice. A Java program's DistributedAtomicLong on the same path is the same
 * number. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <uv.h>
#include <uvzk.h>

#define NUMBER "/examples_orders"
enum { SHOPS = 2, ORDERS = 5 };

struct shop {
    uvzk_client_t client;
    uvzk_atomic_long_t orders;
    uvzk_req_t call;
    int taken;
};

static struct shop shops[SHOPS];
static bool seen[SHOPS * ORDERS + 1]; /* by the order number */
static int taken;
static int result = 1;

static void finish(void)
{
    for (int i = 0; i < SHOPS; i++) {
        uvzk_client_close(&shops[i].client, NULL);
    }
}

/* The number's znode remains when its clients are closed; this example deletes it. */
static uvzk_mutex_t mutex;
static uvzk_hold_t hold;
static uvzk_req_t removal;

static void on_removed(uvzk_req_t *request, int status)
{
    (void)request;
    printf("the number is deleted: %s\n", status == 0 ? "yes" : uvzk_strerror(status));
    finish();
}

static void on_lost(uvzk_hold_t *lost, int reason)
{
    (void)lost;
    (void)reason;
}

static void on_granted(uvzk_hold_t *granted, int status)
{
    uvzk_write_op_t op = {.kind = UVZK_WRITE_DELETE, .version = -1, .path = NUMBER};

    if (status < 0 || uvzk_hold_write(granted, &removal, &op, 1, on_removed) < 0) {
        finish();
    }
}

static void remove_number(void)
{
    if (uvzk_mutex_init(&shops[0].client, &mutex, "/examples/orders_mutex") < 0 ||
        uvzk_lock_acquire(&mutex, &hold, NULL, on_granted, on_lost) < 0) {
        finish();
    }
}

static void take_order(struct shop *shop);

static void on_order(uvzk_req_t *call, int status)
{
    const uvzk_atomic_value_t *value = call->result->value;
    struct shop *shop = call->data;
    int64_t order = value->post_value;

    /* UVZK_EBADVERSION: the other one was faster too often. Nothing was added. */
    if (status == UVZK_EBADVERSION) {
        take_order(shop);
        return;
    }
    if (status < 0 || order > SHOPS * ORDERS || seen[order]) {
        printf("no order: %s\n", uvzk_strerror(status));
        finish();
        return;
    }
    seen[order] = true;
    printf("order %" PRId64 " is taken\n", order);
    if (++taken == SHOPS * ORDERS) {
        result = 0;
        remove_number();
    } else if (++shop->taken < ORDERS) {
        take_order(shop);
    }
}

static void take_order(struct shop *shop)
{
    shop->call.data = shop;
    if (uvzk_atomic_long_add(&shop->orders, &shop->call, 1, on_order) < 0) {
        finish();
    }
}

static int open_shop(uv_loop_t *loop, struct shop *shop, const char *hosts)
{
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = hosts;
    int rc = uvzk_client_init(loop, &shop->client, &options);
    if (rc == 0) {
        rc = uvzk_client_start(&shop->client);
    }
    if (rc == 0) {
        rc = uvzk_atomic_long_init(&shop->client, &shop->orders, NUMBER, NULL);
    }
    return rc;
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    const char *hosts = argc > 1 ? argv[1] : "127.0.0.1:2181";
    int rc = 0;

    for (int i = 0; rc == 0 && i < SHOPS; i++) {
        rc = open_shop(loop, &shops[i], hosts);
    }
    if (rc < 0) {
        fprintf(stderr, "%s\n", uvzk_strerror(rc));
        finish();
    } else {
        for (int i = 0; i < SHOPS; i++) {
            take_order(&shops[i]);
        }
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 ? result : 1;
}
