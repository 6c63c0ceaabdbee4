/* SPDX-License-Identifier: Apache-2.0 */
/* Passes each request to its handler, by path and method. */
#ifndef STOCK_ROUTES_H
#define STOCK_ROUTES_H

#include "live.h"
#include "page.h"
#include "stock.h"

struct connection;

struct routes {
    struct stock *stock;
    struct live *live;
    const struct page *page;
};

/* An http_request_cb. `context` is the struct routes. */
void routes_request(struct connection *connection, void *context);

#endif
