/* SPDX-License-Identifier: Apache-2.0 */
/* What test_together needs of a world: two clients and the time. One world is over the
 * simulator's port, the other over the native transport in virtual time. */
#ifndef TOGETHER_WORLD_H
#define TOGETHER_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "uvzk.h"

/* So many seeds are run. The delays are drawn from them. */
extern const uint64_t together_seeds;
/* The tables of the page are this world's. Otherwise only what works there must work here:
 * of two codes, which one is seen first depends on the delays. */
extern const bool together_writes_the_page;

void together_world_begin(uint64_t seed);
/* number: 0 or 1. */
uvzk_client_t *together_world_client(int number);
void together_world_run(unsigned ms);
/* Closes the clients and checks that nothing is left. */
void together_world_end(void);

#endif
