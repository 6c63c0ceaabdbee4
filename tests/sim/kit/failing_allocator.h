/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator for tests that makes the n-th allocation of the library fail, and counts
 * the allocations. It is one for the whole program. */
#ifndef UVZK_SIM_FAILING_ALLOCATOR_H
#define UVZK_SIM_FAILING_ALLOCATOR_H

#include <stdint.h>

/* Installs the allocator. Must be called once, before any other function of uvzk. Returns
 * what uvzk_replace_allocator returns: 0 or a negative code. */
int failing_allocator_install(void);
/* Makes allocations fail: the first one is allocation number `first`, counted from this
 * call (1 is the next), and count - 1 allocations after it fail too. first 0: none fails.
 * Also resets the counters of calls and failures. */
#define FAILING_ALLOCATOR_FOREVER UINT64_MAX
void failing_allocator_arm(uint64_t first, uint64_t count);
/* Lets all further allocations succeed. The failures that have happened stay counted. */
void failing_allocator_stop(void);
/* Calls failing_allocator_stop as soon as more than `ms` have passed since the first
 * failure. Must be called about once per ms, because it notices the first failure only
 * when it is called. */
void failing_allocator_stop_after(uint64_t ms, uint64_t now_ms);
/* Allocations since failing_allocator_arm, including those that failed. */
uint64_t failing_allocator_calls(void);
/* Failed allocations since failing_allocator_arm. */
uint64_t failing_allocator_failures(void);
/* Blocks that are allocated and not freed yet. */
int64_t failing_allocator_live_blocks(void);

#endif
