/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator for uvzk_replace_allocator that counts what the library itself has
 * allocated, without the memory of the C client and of the program. */
#ifndef BENCH_COUNTING_ALLOCATOR_H
#define BENCH_COUNTING_ALLOCATOR_H

#include <stddef.h>

/* Installs the allocator. Returns 0 or a negative code of uvzk. It must be called before
 * any other function of uvzk. */
int counting_allocator_install(void);

/* These return the bytes that the library has allocated and not freed, as malloc rounded
 * them up (malloc_usable_size): the current number, and the greatest since the last
 * counting_allocator_reset_peak(). */
size_t counting_allocator_bytes(void);
size_t counting_allocator_peak(void);
void counting_allocator_reset_peak(void);

#endif
