/* The allocator of tests in which the n-th allocation of the library fails. */
#ifndef UVZK_SIM_FAILING_ALLOCATOR_H
#define UVZK_SIM_FAILING_ALLOCATOR_H

#include <stdint.h>

/* Once, before anything else. 0 or negative. */
int failing_allocator_install(void);
/* From now on the allocations number first (1 is the next) and count - 1 more fail.
 * first 0: none. */
#define FAILING_ALLOCATOR_FOREVER UINT64_MAX
void failing_allocator_arm(uint64_t first, uint64_t count);
/* No more of them fails, and what has failed stays counted; the same as soon as so
 * many ms have passed since the first one failed, if this is called each ms. */
void failing_allocator_stop(void);
void failing_allocator_stop_after(uint64_t ms, uint64_t now_ms);
/* Since armed. */
uint64_t failing_allocator_calls(void);
uint64_t failing_allocator_failures(void);
/* Blocks not freed yet. */
int64_t failing_allocator_live_blocks(void);

#endif
