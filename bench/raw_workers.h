/* A session and what is under way on it: members that go on and on, in the client's
 * completion thread, until they are told to end. */
#ifndef RAW_WORKERS_H
#define RAW_WORKERS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "raw_session.h"
#include "raw_tasks.h"

struct raw_workers {
    struct raw_workers *self; /* completions are handed pointers to const */
    struct raw_tasks *run;
    struct raw_session session;
    size_t worker_count;
    void (*begin)(struct raw_workers *workers,
                  size_t member); /* in the completion thread */
    size_t running;
    atomic_bool ending; /* for members to look at */
    sem_t ended;
};

/* Makes the directories, begins the members, warms up, measures, ends them. `run`,
 * `members` and `begin` are set. ZooKeeper's code. */
int raw_workers_run(struct raw_workers *workers);

/* A member has ended. */
void raw_worker_ended(struct raw_workers *workers, int rc);

#endif
