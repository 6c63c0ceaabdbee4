/* An allocator that counts, for uvzk_replace_allocator: what the library itself
 * holds, without the C client's memory and without the program's own. */
#ifndef BENCH_COUNTING_ALLOCATOR_H
#define BENCH_COUNTING_ALLOCATOR_H

#include <stddef.h>

/* Installs it; 0 or uvzk's negative code. Before anything else of uvzk. */
int counting_allocator_install(void);

/* Bytes the library has allocated and not freed now, as malloc rounded them
 * up (malloc_usable_size), and the most since the last reset of the peak. */
size_t counting_allocator_bytes(void);
size_t counting_allocator_peak(void);
void counting_allocator_reset_peak(void);

#endif
