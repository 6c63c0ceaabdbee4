/* The order of contenders on one path. Pure. */
#ifndef UVZK_PLACE_H
#define UVZK_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* Near 2147483647 ZooKeeper's sequence counter sticks, repeats or turns
 * negative (ZOOKEEPER-4706). Above this limit, and below 0, a suffix is worn out:
 * whoever is given one must not contend with it. */
#define UVZK__SEQUENCE_LIMIT (INT32_MAX - (1 << 20))

bool uvzk__sequence_exhausted(int32_t sequence);

/* Where a contender stands: by sequence; equal sequences, which only a counter
 * that sticks makes, by czxid (0 = unknown sorts first). <0, 0, >0. */
struct uvzk__place {
    int32_t sequence;
    int64_t czxid;
};
int uvzk__place_compare(struct uvzk__place a, struct uvzk__place b);

#endif
