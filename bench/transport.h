/* The option --transport of the benchmarks. */
#ifndef BENCH_TRANSPORT_H
#define BENCH_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

/* Reads "c-client" or "native" into a uvzk_transport_t. Returns false for another
 * name. */
bool transport_named(const char *name, uint32_t *transport);
const char *transport_name(uint32_t transport);

#endif
