/* SPDX-License-Identifier: Apache-2.0 */
#include "loop_turns.h"

#include <time.h>

int64_t processor_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* tests/live/sasl_valgrind counts the instructions between two of its calls, by its name. */
static void turn_begins(uv_prepare_t *prepare)
{
    struct loop_turns *turns = prepare->data;
    int64_t now = processor_us();

    if (now - turns->turn_began_us > turns->longest_us) {
        turns->longest_us = now - turns->turn_began_us;
    }
    turns->turn_began_us = now;
    turns->count++;
}

void loop_turns_init(struct loop_turns *turns, uv_loop_t *loop)
{
    uv_prepare_init(loop, &turns->prepare);
    turns->prepare.data = turns;
}

void loop_turns_begin(struct loop_turns *turns)
{
    turns->longest_us = turns->count = 0;
    turns->began_us = turns->turn_began_us = processor_us();
    uv_prepare_start(&turns->prepare, turn_begins);
}

int64_t loop_turns_us(const struct loop_turns *turns)
{
    return turns->turn_began_us - turns->began_us;
}

void loop_turns_close(struct loop_turns *turns)
{
    uv_close((uv_handle_t *)&turns->prepare, NULL);
}
