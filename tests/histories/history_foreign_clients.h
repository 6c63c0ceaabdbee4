/* SPDX-License-Identifier: Apache-2.0 */
/* Another library's clients in a history (history_foreign_clients.c). */
#ifndef UVZK_HISTORY_FOREIGN_CLIENTS_H
#define UVZK_HISTORY_FOREIGN_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "foreign_client.h"

#define FOREIGN_CLIENTS_MAX 2

struct history;

/* Some of a new history's seats are theirs, where the seed and the recipe have it so. */
void foreign_clients_begin(struct history *history, uint64_t seed);
/* As the seats move; once everything ends, they close for good when they are done. */
void foreign_clients_step(struct history *history, bool ending);
bool foreign_clients_gone(const struct history *history);
/* Counts their valid holds; between two clearings of the tallies. */
void foreign_clients_check(struct history *history);
bool foreign_clients_hold(const struct history *history, const char *znode);
void foreign_clients_free(struct history *history);

#endif
