/* SPDX-License-Identifier: Apache-2.0 */
/* grants HOW COUNT: so many times a mutex is taken and given back in the simulator,
 * alone and from one of ours to the next; to be run under callgrind. HOW: "unseen",
 * nobody observes the client; "counted", metrics; "traced", both. Prints how many
 * grants and how many steps (uvzk_trace_step_t) there were. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 8 /* so many wait at a time */

static struct world world;
static struct process a;
static struct hold holds[LINE];
static unsigned long steps;

static void on_step(const uvzk_client_t *client, const uvzk_trace_t *event)
{
    (void)client;
    steps += event->step != UVZK_TRACE_STATE;
}

static void take_and_give_back(void)
{
    hold_take(&holds[0], &a);
    hold_give_back(&holds[0]);
}

/* All of them at once: each has it from the one before. */
static void hand_on(void)
{
    for (int i = 0; i < LINE; i++) {
        hold_begin(&holds[i], &a, UVZK_WAIT_FOREVER);
        holds[i].release_at_once = true; /* the call clears it */
    }
    for (int i = 0; i < LINE; i++) {
        (void)world_await(&world, &holds[i].released, WORLD_TIMEOUT_MS);
    }
}

int main(int argc, char **argv)
{
    uvzk_client_options_t options;

    if (argc != 3) {
        fputs("usage: grants unseen|counted|traced COUNT\n", stderr);
        return 2;
    }
    long count = strtol(argv[2], NULL, 10);
    world_begin_exact(&world, UVZK__TUNE_ALL, 1);
    process_options(&options);
    options.metrics = strcmp(argv[1], "unseen") != 0;
    options.trace_cb = strcmp(argv[1], "traced") == 0 ? on_step : NULL;
    process_begin(&a, &world, "a", &options);
    (void)process_await_connected(&a, WORLD_TIMEOUT_MS);
    world_make_directory(&world, &a);
    for (long i = 0; i < count; i += LINE + 1) {
        take_and_give_back();
        hand_on();
    }
    printf("%d %lu\n", world.grants, steps);
    world_end(&world);
    return 0;
}
