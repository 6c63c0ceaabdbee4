/* Turning a loop until something is true. */
#ifndef RUN_LOOP_H
#define RUN_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Long enough for a loaded machine: no test passes or fails by it but one that
 * hangs. */
#define PATIENCE_MS 60000

typedef bool (*condition_fn)(void *context);

/* Runs the loop until the condition holds, which is asked after every turn and
 * at least every 10 ms, or until ms have passed. Whether it holds. */
bool run_until(uv_loop_t *loop, condition_fn condition, void *context, uint64_t ms);

/* The same for the commonest conditions, the first one with PATIENCE_MS. */
bool run_until_set(uv_loop_t *loop, const bool *flag);
bool run_until_count(uv_loop_t *loop, const int *count, int wanted, uint64_t ms);

/* One turn, after 10 ms if nothing happens. */
void run_once(uv_loop_t *loop);

/* Runs the loop for a while, whatever happens: for what must not happen. */
void run_for(uv_loop_t *loop, uint64_t ms);

/* Runs the loop until nothing is alive on it, then closes it: what
 * uv_loop_close says, UV_EBUSY also if something never ends. */
int run_down(uv_loop_t *loop);

#endif
