/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics.h"

#include <inttypes.h>
#include <stddef.h>

#include "order.h"

/* The counters of each product, and their places in struct product. */
static const struct counter {
    const char *name, *help;
    size_t offset; /* of a uint64_t */
} counters[] = {
    {"stock_sold_total", "Orders answered with a sale.", offsetof(struct product, sold)},
    {"stock_sold_out_total", "Orders that came too late.",
     offsetof(struct product, sold_out)},
    {"stock_refused_total", "Orders answered with 503.",
     offsetof(struct product, refused)},
    {"stock_client_gone_total", "Orders whose client went away before the answer.",
     offsetof(struct product, gone)},
    {"stock_lock_lost_total", "Locks lost before the work was done.",
     offsetof(struct product, lost)},
    {"stock_fenced_total", "Orders that the store refused by the fencing token.",
     offsetof(struct product, fenced)},
};

static void write_head(struct text *text, const char *name, const char *type,
                       const char *help)
{
    text_add(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_products(struct text *text, const struct stock *stock)
{
    for (size_t c = 0; c < sizeof(counters) / sizeof(counters[0]); c++) {
        write_head(text, counters[c].name, "counter", counters[c].help);
        for (int i = 0; i < stock->options.products; i++) {
            const char *product = (const char *)&stock->products[i];
            text_add(text, "%s{product=\"%d\"} %" PRIu64 "\n", counters[c].name, i + 1,
                     *(const uint64_t *)(const void *)(product + counters[c].offset));
        }
    }
}

static void write_states(struct text *text, const struct stock *stock)
{
    static const char *const states[] = {"waiting", "asking",  "looking",
                                         "working", "selling", "releasing"};

    write_head(text, "stock_orders", "gauge", "Orders under way, by state.");
    for (int i = 0; i < stock->options.products; i++) {
        for (int state = WAITING; state <= RELEASING; state++) {
            text_add(text, "stock_orders{product=\"%d\",state=\"%s\"} %u\n", i + 1,
                     states[state],
                     order_count(&stock->products[i], (enum order_state)state));
        }
    }
}

/* Adds the library's own metrics. */
static void write_client(struct text *text, struct stock *stock)
{
    const char *name = stock->options.name;
    int length = uvzk_client_write_metrics(&stock->client, name, NULL, 0);
    char *room = length < 0 ? NULL : text_room(text, (size_t)length);

    if (room != NULL) {
        (void)uvzk_client_write_metrics(&stock->client, name, room, (size_t)length + 1);
    }
}

void metrics_write(struct text *text, struct stock *stock)
{
    write_products(text, stock);
    write_states(text, stock);
    if (!stock->options.no_lock) {
        write_client(text, stock);
    }
}
