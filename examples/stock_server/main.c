/* SPDX-License-Identifier: Apache-2.0 */
/* stock_server [--port 8080] [--hosts 127.0.0.1:2181] ...: an HTTP server that sells
 * products from stock, one piece for each POST /stock/deduct?id=1, under the lock
 * /product1. Several instances that use the same database sell exactly the pieces that
 * exist.
 *
 * This file has the order in which all parts begin and end. README.md lists the other
 * files. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>
#include <uvzk.h>

#include "http.h"
#include "live.h"
#include "options.h"
#include "page.h"
#include "routes.h"
#include "stock.h"
#include "store.h"

struct server {
    struct options options;
    uv_loop_t *loop;
    struct page page;
    struct store *store;
    struct store_job job; /* of store_open, later of store_close */
    struct stock stock;
    struct live live;
    struct http http;
    struct routes routes;
    uv_signal_t signals[2];
    bool serving, stopping;
    int closing; /* parts that still use the store */
    int exit_code;
};

/* ------------------------------------------------------- the end, the last step first */

static void on_store_closed(struct store_job *job, enum store_status status)
{
    struct server *server = job->data;

    if (status != STORE_DONE) {
        server->exit_code = 1;
    }
    live_free(&server->live);
    for (int i = 0; i < 2; i++) {
        uv_close((uv_handle_t *)&server->signals[i], NULL);
    }
}

static void close_store(struct server *server)
{
    store_close(server->store, &server->job, on_store_closed);
}

static void part_closed(struct server *server)
{
    if (--server->closing == 0) {
        close_store(server);
    }
}

static void on_stock_closed(struct stock *stock)
{
    part_closed((struct server *)((char *)stock - offsetof(struct server, stock)));
}

static void on_http_closed(void *routes)
{
    part_closed((struct server *)((char *)routes - offsetof(struct server, routes)));
}

/* Ends the server: no new connections; waiting orders are refused; orders at work are
 * finished and answered; the locks are released and the session is closed; then the store
 * is closed. */
static void stop(struct server *server)
{
    server->stopping = true;
    server->closing = server->serving ? 2 : 1;
    live_close(&server->live);
    if (server->serving) {
        http_close(&server->http, on_http_closed);
    }
    stock_close(&server->stock, on_stock_closed);
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct server *server = signal->data;

    (void)number;
    for (int i = 0; i < 2; i++) {
        /* A second signal ends the process at once. */
        uv_signal_stop(&server->signals[i]);
    }
    if (server->serving) {
        stop(server);
    } else {
        server->stopping = true; /* the store is being opened */
    }
}

/* ---------------------------------------------------------------------- the beginning */

static int serve(struct server *server)
{
    struct options *options = &server->options;
    int status = stock_init(&server->stock, server->loop, server->store, &options->stock);

    int live_status = live_init(&server->live, &server->stock, options->page_origin);
    server->routes = (struct routes){&server->stock, &server->live, &server->page};
    if (status == 0) {
        status = live_status;
    }
    if (status == 0) {
        status = http_listen(&server->http, server->loop, options->address, options->port,
                             routes_request, &server->routes);
        server->serving = status == 0;
    }
    return status;
}

static void on_store_open(struct store_job *job, enum store_status status)
{
    struct server *server = job->data;

    if (status != STORE_DONE || server->stopping) {
        server->exit_code = status != STORE_DONE;
        close_store(server);
        return;
    }
    int outcome = serve(server);
    if (outcome < 0) {
        fprintf(stderr, "stock_server: %s\n", uvzk_strerror(outcome));
        server->exit_code = 1;
        stop(server);
        return;
    }
    printf("%s: http://%s:%d/ %s\n", server->options.stock.name, server->options.address,
           http_port(&server->http),
           server->options.stock.no_lock ? "(without locks)" : "");
    fflush(stdout);
}

static void begin(struct server *server)
{
    const int numbers[2] = {SIGTERM, SIGINT};

    signal(SIGPIPE, SIG_IGN); /* a write to a closed connection returns an error */
    for (int i = 0; i < 2; i++) {
        uv_signal_init(server->loop, &server->signals[i]);
        uv_signal_start(&server->signals[i], on_signal, numbers[i]);
        server->signals[i].data = server;
    }
    server->job.data = server;
    store_open(server->store, &server->job, on_store_open);
    uv_run(server->loop, UV_RUN_DEFAULT);
}

int main(int argc, char **argv)
{
    static struct server server; /* all zeros */

    if (!options_parse(&server.options, argc, argv)) {
        return 2;
    }
    server.loop = uv_default_loop();
    server.store = store_new(server.loop, &server.options.store);
    if (page_read(&server.page, server.options.page) && server.store != NULL) {
        begin(&server);
    } else {
        free(server.store);
        server.exit_code = 1;
    }
    page_free(&server.page);
    return uv_loop_close(server.loop) == 0 ? server.exit_code : 1;
}
