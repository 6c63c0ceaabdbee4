/* SPDX-License-Identifier: Apache-2.0 */
/* The turns of a loop, in processor time of its thread. A loop that waits takes none, so a
 * turn lasts from one prepare callback to the next. */
#ifndef BENCH_LOOP_TURNS_H
#define BENCH_LOOP_TURNS_H

#include <stdint.h>
#include <uv.h>

struct loop_turns {
    uv_prepare_t prepare;
    int64_t began_us, turn_began_us; /* of processor_us() */
    int64_t longest_us;              /* since the beginning */
    int count;
};

/* Processor time of this thread. */
int64_t processor_us(void);

void loop_turns_init(struct loop_turns *, uv_loop_t *);
/* From now on; may be called again. */
void loop_turns_begin(struct loop_turns *);
/* All turns since the beginning; the one under way is none of them. */
int64_t loop_turns_us(const struct loop_turns *);
void loop_turns_close(struct loop_turns *);

#endif
