/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const struct options defaults = {
    .address = "127.0.0.1",
    .port = 8080,
    .page = STOCK_PAGE,
    .store = {.path = "stock.db", .products = 3, .stock = 100},
    .stock = {.hosts = "127.0.0.1:2181",
              .name = "A",
              .products = 3,
              .step_ms = 20,
              .wait_ms = 2000,
              .session_ms = 6000},
};

static const struct option names[] = {
    {"listen", required_argument, NULL, 'l'},
    {"port", required_argument, NULL, 'p'},
    {"hosts", required_argument, NULL, 'h'},
    {"name", required_argument, NULL, 'n'},
    {"db", required_argument, NULL, 'd'},
    {"products", required_argument, NULL, 'P'},
    {"stock", required_argument, NULL, 's'},
    {"step-ms", required_argument, NULL, 't'},
    {"wait-ms", required_argument, NULL, 'w'},
    {"session-ms", required_argument, NULL, 'S'},
    {"page", required_argument, NULL, 'f'},
    {"page-origin", required_argument, NULL, 'o'},
    {"no-lock", no_argument, NULL, 'x'},
    {"log", no_argument, NULL, 'L'},
    {NULL, 0, NULL, 0},
};

static bool usage(void)
{
    fputs("usage: stock_server [--listen 127.0.0.1] [--port 8080] [--name A]\n"
          "    [--hosts 127.0.0.1:2181]    ZooKeeper's\n"
          "    [--db stock.db] [--products 3] [--stock 100]\n"
          "    [--step-ms 20]              the asynchronous step\n"
          "    [--wait-ms 2000]            for the lock, at most\n"
          "    [--session-ms 6000]         ZooKeeper's session timeout\n"
          "    [--page-origin http://127.0.0.1:9000]  its pages may read /events too\n"
          "    [--page FILE] [--log] [--no-lock]\n",
          stderr);
    return false;
}

/* Returns the number in `text`, from `least` to a million; otherwise 0, with *right
 * false. */
static int number(const char *text, int least, bool *right)
{
    char *end;
    long value = strtol(text, &end, 10);

    *right =
        *right && *text != '\0' && *end == '\0' && value >= least && value <= 1000000;
    return *right ? (int)value : 0;
}

/* Takes the value of an option with a text. Returns false if it is none of these
 * options. */
static bool take_text(struct options *options, int name, const char *text)
{
    const char **place = name == 'l'   ? &options->address
                         : name == 'h' ? &options->stock.hosts
                         : name == 'n' ? &options->stock.name
                         : name == 'd' ? &options->store.path
                         : name == 'f' ? &options->page
                         : name == 'o' ? &options->page_origin
                                       : NULL;

    if (place != NULL) {
        *place = text;
    }
    return place != NULL;
}

static bool take_number(struct options *options, int name, const char *text)
{
    bool right = true;

    switch (name) {
    case 'p':
        options->port = number(text, 0, &right);
        break;
    case 'P':
        options->store.products = options->stock.products = number(text, 1, &right);
        break;
    case 's':
        options->store.stock = number(text, 0, &right);
        break;
    case 't':
        options->stock.step_ms = (uint32_t)number(text, 0, &right);
        break;
    case 'w':
        options->stock.wait_ms = (uint32_t)number(text, 0, &right);
        break;
    case 'S':
        options->stock.session_ms = (uint32_t)number(text, 500, &right);
        break;
    default:
        right = false;
    }
    return right && options->port <= 65535;
}

bool options_parse(struct options *options, int argc, char **argv)
{
    int name;

    *options = defaults;
    while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (name == 'x') {
            options->stock.no_lock = true;
        } else if (name == 'L') {
            options->stock.log = true;
        } else if (!take_text(options, name, optarg) &&
                   !take_number(options, name, optarg)) {
            return usage();
        }
    }
    return optind == argc || usage();
}
