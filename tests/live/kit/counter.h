/* A shared count of a process, with what is told of it written down. */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdint.h>

#include "world.h"

#define COUNTER_SEEN 128

struct counter {
    struct process *process;
    uvzk_shared_count_t count;
    int told, troubles, closed; /* callbacks */
    int32_t seen[COUNTER_SEEN]; /* the first values it was told, in order */
    int32_t value;              /* the last one */
};

struct counter_set {
    uvzk_set_t request;
    int told, status;
};

void counter_begin(struct counter *counter, struct process *process, const char *path,
                   int32_t seed);
/* Until it has been told so many values. */
void counter_await(struct counter *counter, int told);
void counter_close(struct counter *counter);

/* What is known. */
int32_t counter_value(const struct counter *counter);
uvzk_value_version_t counter_version(const struct counter *counter);

/* Sets it over any version, or over this one, and waits for what is told of that. */
int counter_set(struct counter *counter, int32_t value);
int counter_try_set(struct counter *counter, uvzk_value_version_t version, int32_t value);
/* The first one without waiting, and the waiting. */
void counter_begin_set(struct counter *counter, struct counter_set *set, int32_t value);
int counter_end_set(struct counter *counter, struct counter_set *set);

#endif
