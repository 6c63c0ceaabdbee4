/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the contenders in one directory. Pure functions. */
#ifndef UVZK_PLACE_H
#define UVZK_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* Near 2147483647, ZooKeeper's sequence counter stops, repeats numbers or becomes
 * negative (ZOOKEEPER-4706). A sequence number above this limit or below 0 is exhausted:
 * a contender whose znode gets such a number must not contend with it. */
#define UVZK__SEQUENCE_LIMIT (INT32_MAX - (1 << 20))

bool uvzk__sequence_exhausted(int32_t sequence);

/* The position of a contender: first by the sequence number, then by the czxid. Two
 * znodes have the same sequence number if the server's counter has stopped. A downgraded
 * reader has the sequence number and the czxid of its writer (locks/rwlock.c). */
struct uvzk__place {
    int32_t sequence;
    int64_t czxid; /* 0: not known, which sorts first */
};

/* Returns < 0 if a is before b, > 0 if a is after b, 0 if they are equal. */
int uvzk__place_compare(struct uvzk__place a, struct uvzk__place b);

#endif
