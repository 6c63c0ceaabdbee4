/* The command line. */
#ifndef STOCK_OPTIONS_H
#define STOCK_OPTIONS_H

#include <stdbool.h>

#include "stock.h"
#include "store.h"

struct options {
    const char *address; /* where it listens */
    int port;
    const char *page; /* the file of the live page */
    struct store_options store;
    struct stock_options stock;
};

/* false: what is right is told on stderr. The texts are argv's. */
bool options_parse(struct options *options, int argc, char **argv);

#endif
