/* SPDX-License-Identifier: Apache-2.0 */
/* The number of an atomic long as the data of a znode: eight bytes as Java's ByteBuffer
 * writes a long, two's complement, the high byte first. Pure functions. */
#ifndef UVZK_ATOMIC_NUMBER_H
#define UVZK_ATOMIC_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UVZK__ATOMIC_BYTES 8U

void uvzk__atomic_number_write(unsigned char bytes[UVZK__ATOMIC_BYTES], int64_t number);

/* No data are the number 0. Of more than eight bytes only the first eight are used, as in
 * Curator. Returns false if there are one to seven bytes. */
bool uvzk__atomic_number_read(const void *bytes, size_t length, int64_t *number);

/* Returns false if the sum does not fit in 64 bits. */
bool uvzk__atomic_number_add(int64_t number, int64_t delta, int64_t *sum);

#endif
