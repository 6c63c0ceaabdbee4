/* A session and what is under way on it: members that go on and on, in the client's
 * completion thread, until they are told to end. */
#ifndef BENCH_RAW_CROWD_H
#define BENCH_RAW_CROWD_H

#include <stdatomic.h>
#include <stdbool.h>

#include "raw_session.h"
#include "raw_tasks.h"

struct raw_crowd {
    struct raw_crowd *self; /* completions are handed pointers to const */
    struct raw_tasks *run;
    struct raw_session session;
    size_t members;
    void (*begin)(struct raw_crowd *crowd, size_t member); /* in the completion thread */
    size_t running;
    atomic_bool ending; /* for members to look at */
    sem_t ended;
};

/* Makes the directories, begins the members, warms up, measures, ends them. `run`, `members`
 * and `begin` are set. ZooKeeper's code. */
int raw_crowd_run(struct raw_crowd *crowd);

/* A member has ended. */
void raw_crowd_left(struct raw_crowd *crowd, int rc);

#endif
