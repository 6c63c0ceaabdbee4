/* The allocator of tests in which the n-th allocation of the library fails. */
#ifndef UVZK_SIM_SCARCE_H
#define UVZK_SIM_SCARCE_H

#include <stdint.h>

/* Once, before anything else. 0 or negative. */
int scarce_install(void);
/* From now on the allocations number first (1 is the next) and count - 1 more fail.
 * first 0: none. */
void scarce_arm(uint64_t first, uint64_t count);
/* Since armed. */
uint64_t scarce_asked(void);
uint64_t scarce_failed(void);
/* Blocks not freed yet. */
int64_t scarce_live(void);

#endif
