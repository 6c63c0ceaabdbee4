/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a libuv loop until something is true. */
#ifndef RUN_LOOP_H
#define RUN_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* 60 s: longer than any step takes on a loaded machine, so that only a test that hangs
 * reaches it. */
#define PATIENCE_MS 60000

typedef bool (*condition_fn)(void *context);

/* Runs the loop until the condition holds or `ms` have passed. Evaluates the condition
 * after every iteration, and at least every 10 ms. Returns whether the condition
 * holds. */
bool run_until(uv_loop_t *loop, condition_fn condition, void *context, uint64_t ms);

/* The same for a flag that becomes true, with PATIENCE_MS, and for a counter that reaches
 * `wanted`. */
bool run_until_set(uv_loop_t *loop, const bool *flag);
bool run_until_count(uv_loop_t *loop, const int *count, int wanted, uint64_t ms);

/* Runs one iteration of the loop, which takes 10 ms if nothing happens. */
void run_once(uv_loop_t *loop);

/* Runs the loop for `ms`. For events that must not happen. */
void run_for(uv_loop_t *loop, uint64_t ms);

/* Runs the loop until no handle and no request is active, then closes it. Returns what
 * uv_loop_close returns: 0, or UV_EBUSY if something is still active after
 * PATIENCE_MS. */
int run_down(uv_loop_t *loop);

#endif
