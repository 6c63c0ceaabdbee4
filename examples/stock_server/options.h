/* SPDX-License-Identifier: Apache-2.0 */
/* The command-line options. */
#ifndef STOCK_OPTIONS_H
#define STOCK_OPTIONS_H

#include <stdbool.h>

#include "stock.h"
#include "store.h"

struct options {
    const char *address; /* on which it listens */
    int port;
    const char *page;        /* the path of the live page's file */
    const char *page_origin; /* of another page that may read /events; NULL: none */
    struct store_options store;
    struct stock_options stock;
};

/* Returns false if the options are wrong; it has printed the usage on stderr then. The
 * texts belong to argv. */
bool options_parse(struct options *options, int argc, char **argv);

#endif
