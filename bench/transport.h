/* SPDX-License-Identifier: Apache-2.0 */
/* The options --transport and --tls of the benchmarks. */
#ifndef BENCH_TRANSPORT_H
#define BENCH_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <getopt.h>

/* Reads "c-client" or "native" into a uvzk_transport_t. Returns false for another
 * name. */
bool transport_named(const char *name, uint32_t *transport);
const char *transport_name(uint32_t transport);

#define TRANSPORT_LONG_OPTIONS                   \
    {"transport", required_argument, NULL, 'T'}, \
    {                                            \
        "tls", required_argument, NULL, 'S'      \
    }

/* Takes one of the options above, with the letter that getopt_long() has returned. --tls
 * implies the native transport. Returns false if it is another option, or for a transport
 * that there is not. */
bool transport_option(uint32_t *transport, const char **tls, int letter,
                      const char *text);

#endif
