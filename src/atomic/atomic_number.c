/* SPDX-License-Identifier: Apache-2.0 */
/* The eight bytes of the number, and its arithmetic (atomic_number.h). Pure functions. */
#include "atomic/atomic_number.h"

void uvzk__atomic_number_write(unsigned char bytes[UVZK__ATOMIC_BYTES], int64_t number)
{
    uint64_t bits = (uint64_t)number;

    for (unsigned i = 0; i < UVZK__ATOMIC_BYTES; i++) {
        bytes[i] = (unsigned char)(bits >> (8U * (UVZK__ATOMIC_BYTES - 1U - i)));
    }
}

/* The arithmetic avoids a conversion of an unsigned value that does not fit. */
bool uvzk__atomic_number_read(const void *data, size_t length, int64_t *number)
{
    const unsigned char *bytes = data;
    uint64_t bits = 0;

    if (length > 0 && length < UVZK__ATOMIC_BYTES) {
        return false;
    }
    for (unsigned i = 0; length > 0 && i < UVZK__ATOMIC_BYTES; i++) {
        bits = bits << 8U | bytes[i];
    }
    *number = bits <= INT64_MAX ? (int64_t)bits : -1 - (int64_t)(UINT64_MAX - bits);
    return true;
}

bool uvzk__atomic_number_add(int64_t number, int64_t delta, int64_t *sum)
{
    if (delta > 0 ? number > INT64_MAX - delta : number < INT64_MIN - delta) {
        return false;
    }
    *sum = number + delta;
    return true;
}
