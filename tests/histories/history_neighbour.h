/* Another library's clients in a history (history_neighbour.c). */
#ifndef UVZK_HISTORY_NEIGHBOUR_H
#define UVZK_HISTORY_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "neighbour.h"

#define NEIGHBOURS_MAX 2

struct world;

/* Some of a new world's seats are theirs, where the seed and the recipe have it so. */
void neighbours_begin(struct world *world, uint64_t seed);
/* As the seats move; once everything ends, they close for good when they are done. */
void neighbours_move(struct world *world, bool ending);
bool neighbours_gone(const struct world *world);
/* Counts their valid holds; between two clearings of the tallies. */
void neighbours_check(struct world *world);
bool neighbours_hold(const struct world *world, const char *znode);
void neighbours_free(struct world *world);

#endif
