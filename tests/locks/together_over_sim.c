/* SPDX-License-Identifier: Apache-2.0 */
/* The world of test_together over the simulator's port. The simulator aborts if a persistent
 * watch and another one are on one path. */
#include "cmocka_test.h"

#include <string.h>

#include "together_world.h"
#include "world.h"

const uint64_t together_seeds = 6;
const bool together_writes_the_page = true;

static struct world world;
static struct process processes[2];

void together_world_begin(uint64_t seed)
{
    uvzk_client_options_t options;

    struct sim_options sim_options;

    sim_options_init(&sim_options);
    process_options(&options);
    options.default_data = "d"; /* not the address, which is another one in each world */
    options.default_data_length = 1;
    memset(processes, 0, sizeof(processes));
    sim_options.trace_lines = 300;
    world_begin_with(&world, seed, UVZK__TUNE_ALL, &sim_options);
    process_begin(&processes[0], &world, "a", &options);
    process_begin(&processes[1], &world, "b", &options);
    processes[0].may_log_errors = processes[1].may_log_errors = true;
}

uvzk_client_t *together_world_client(int number)
{
    return &processes[number].client;
}

void together_world_run(unsigned ms)
{
    world_run_for(&world, ms);
}

void together_world_end(void)
{
    process_end(&processes[0]);
    process_end(&processes[1]);
    world_end(&world);
}
