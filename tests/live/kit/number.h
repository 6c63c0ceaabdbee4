/* SPDX-License-Identifier: Apache-2.0 */
/* An atomic long of a live process. Its callbacks are recorded. */
#ifndef NUMBER_H
#define NUMBER_H

#include <stdint.h>

#include "world.h"

struct number {
    struct process *process;
    uvzk_atomic_long_t atomic;
    int closed;
    uvzk_atomic_value_t value; /* of the latest call */
};

/* Makes the atomic long at this path. options: NULL for the defaults. */
void number_begin(struct number *number, struct process *process, const char *path,
                  const uvzk_atomic_long_options_t *options);
/* Closes the atomic long and waits for the callback. */
void number_close(struct number *number);

/* Make a call, wait for its callback, whose value they keep, and return its status. */
int number_get(struct number *number);
int number_add(struct number *number, int64_t delta);
int number_compare_and_set(struct number *number, int64_t expected, int64_t value);
int number_try_set(struct number *number, int64_t value);
int number_force_set(struct number *number, int64_t value);
int number_initialize(struct number *number, int64_t value);

#endif
