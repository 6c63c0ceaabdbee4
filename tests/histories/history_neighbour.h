/* Another library's clients in a history (history_neighbour.c). */
#ifndef UVZK_HISTORY_NEIGHBOUR_H
#define UVZK_HISTORY_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "neighbour.h"

#define NEIGHBOURS_MAX 2

struct history;

/* Some of a new history's seats are theirs, where the seed and the recipe have it so. */
void neighbours_begin(struct history *history, uint64_t seed);
/* As the seats move; once everything ends, they close for good when they are done. */
void neighbours_move(struct history *history, bool ending);
bool neighbours_gone(const struct history *history);
/* Counts their valid holds; between two clearings of the tallies. */
void neighbours_check(struct history *history);
bool neighbours_hold(const struct history *history, const char *znode);
void neighbours_free(struct history *history);

#endif
