/* Which request is whose. */
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

/* context: the routes. */
void routes_request(struct connection *connection, void *context);

#endif
