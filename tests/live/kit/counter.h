/* SPDX-License-Identifier: Apache-2.0 */
/* A shared count of a live process. Its callbacks are recorded. */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdint.h>

#include "world.h"

#define COUNTER_SEEN 128

struct counter {
    struct process *process;
    uvzk_shared_count_t count;
    int told, troubles, closed; /* values, errors and ends that were reported */
    int32_t seen[COUNTER_SEEN]; /* the first values that were reported, in order */
    int32_t value;              /* the latest value */
};

/* One set of a counter, with the number of its callbacks and the status of the last. */
struct counter_set {
    uvzk_req_t request;
    int told, status;
};

/* Shares a count at this path with this seed. */
void counter_begin(struct counter *counter, struct process *process, const char *path,
                   int32_t seed);
/* Waits until `told` values or more have been reported. */
void counter_await(struct counter *counter, int told);
/* Closes the count and waits for the callback. */
void counter_close(struct counter *counter);

/* The value and the version that the client knows. */
int32_t counter_value(const struct counter *counter);
uvzk_value_version_t counter_version(const struct counter *counter);

/* Set the count and wait for the callback, whose status they return. counter_try_set sets
 * it only over this version. */
int counter_set(struct counter *counter, int32_t value);
int counter_try_set(struct counter *counter, uvzk_value_version_t version, int32_t value);
/* The two halves of counter_set: the call, and the wait for its callback. */
void counter_begin_set(struct counter *counter, struct counter_set *set, int32_t value);
int counter_end_set(struct counter *counter, struct counter_set *set);

#endif
