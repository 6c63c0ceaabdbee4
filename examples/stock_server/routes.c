/* SPDX-License-Identifier: Apache-2.0 */
#include "routes.h"

#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "metrics.h"
#include "order.h"

static void answer_error(struct connection *connection, int status, const char *reason,
                         const char *allow)
{
    struct text body = {0};

    text_add(&body, "{\"reason\": ");
    text_add_quoted(&body, reason);
    text_add(&body, "}\n");
    const struct answer answer = {status, NULL,       0,
                                  allow,  body.bytes, body.failed ? 0 : body.length};
    connection_answer(connection, &answer);
    text_free(&body);
}

static void get_page(struct routes *routes, struct connection *connection)
{
    const struct page *page = routes->page;
    const struct answer answer = {
        200, "text/html; charset=utf-8", 0, NULL, page->bytes, page->length};

    connection_answer(connection, &answer);
}

static void get_events(struct routes *routes, struct connection *connection)
{
    live_watch(routes->live, connection);
}

static void get_metrics(struct routes *routes, struct connection *connection)
{
    struct text body = {0};

    metrics_write(&body, routes->stock);
    const struct answer answer = {
        body.failed ? 503 : 200,      METRICS_TYPE, 0, NULL, body.bytes,
        body.failed ? 0 : body.length};
    connection_answer(connection, &answer);
    text_free(&body);
}

/* Returns the number after "id=" if the query has nothing else; otherwise -1. */
static int id_of(const char *query, size_t length)
{
    char text[16], *end;

    if (length < 4 || length >= sizeof(text) || memcmp(query, "id=", 3) != 0) {
        return -1;
    }
    memcpy(text, query + 3, length - 3);
    text[length - 3] = '\0';
    long id = strtol(text, &end, 10);
    return *end == '\0' && text[0] >= '0' && text[0] <= '9' && id <= 1000000 ? (int)id
                                                                             : -1;
}

static void post_deduct(struct routes *routes, struct connection *connection)
{
    const char *query = strchr(connection->url, '?');
    int id = query == NULL ? -1 : id_of(query + 1, strlen(query + 1));
    struct product *product = id < 0 ? NULL : stock_product(routes->stock, id);

    if (id < 0) {
        answer_error(connection, 400, "which product? /stock/deduct?id=1", NULL);
    } else if (product == NULL) {
        answer_error(connection, 404, "there is no such product", NULL);
    } else {
        order_begin(product, connection);
    }
}

static const struct route {
    const char *path;
    enum http_method method;
    const char *allow;
    void (*run)(struct routes *routes, struct connection *connection);
} all[] = {
    {"/", HTTP_GET, "GET", get_page},
    {"/events", HTTP_GET, "GET", get_events},
    {"/metrics", HTTP_GET, "GET", get_metrics},
    {"/stock/deduct", HTTP_POST, "POST", post_deduct},
};

void routes_request(struct connection *connection, void *context)
{
    size_t length = strcspn(connection->url, "?");

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strlen(all[i].path) == length &&
            memcmp(connection->url, all[i].path, length) == 0) {
            if (connection->parser.method == all[i].method) {
                all[i].run(context, connection);
            } else {
                answer_error(connection, 405, "not so", all[i].allow);
            }
            return;
        }
    }
    answer_error(connection, 404, "there is nothing here", NULL);
}
