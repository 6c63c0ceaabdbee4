/* SPDX-License-Identifier: Apache-2.0 */
/* raw_tasks singles: creates a znode and deletes it, each in a request of its own
 * (raw_workers.h). */
#include <stdlib.h>

#include "raw_workers.h"

struct single {
    struct single *self; /* completions get a pointer to const */
    struct raw_workers *workers;
    char contender[RAW_NODE];
    uint64_t began_ns;
};

struct singles {
    struct raw_workers crowd; /* must be first */
    struct single *tasks;
};

static void begin(struct single *task);

static void on_deleted(int rc, const void *data)
{
    struct single *task = ((const struct single *)data)->self;
    struct raw_tasks *run = task->workers->run;

    if (rc == ZOK && run->window.open) {
        run->cycles++;
        latencies_add(&run->latencies, window_now() - task->began_ns);
    }
    if (rc != ZOK || task->workers->ending) {
        raw_worker_ended(task->workers, rc);
    } else {
        begin(task);
    }
}

static void on_created(int rc, const char *name, const void *data)
{
    struct single *task = ((const struct single *)data)->self;

    if (rc == ZOK) {
        rc = zoo_adelete(task->workers->session.zh, name, -1, on_deleted, task);
    }
    if (rc != ZOK) {
        raw_worker_ended(task->workers, rc);
    }
}

static void begin(struct single *task)
{
    task->began_ns = window_now();
    int rc =
        zoo_acreate(task->workers->session.zh, task->contender, "127.0.0.1", 9,
                    &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, on_created, task);
    if (rc != ZOK) {
        raw_worker_ended(task->workers, rc);
    }
}

static void begin_member(struct raw_workers *workers, size_t member)
{
    begin(&((struct singles *)(void *)workers)->tasks[member]);
}

void raw_singles(struct raw_tasks *run)
{
    struct singles all = {.crowd = {.run = run,
                                    .worker_count = run->workload.tasks,
                                    .begin = begin_member}};
    char directory[RAW_PATH];

    all.tasks = calloc(run->workload.tasks, sizeof(*all.tasks));
    if (all.tasks == NULL) {
        run->error = ZSYSTEMERROR;
        return;
    }
    for (size_t i = 0; i < run->workload.tasks; i++) {
        all.tasks[i].self = &all.tasks[i];
        all.tasks[i].workers = &all.crowd;
        raw_directory(directory, i % run->workload.paths);
        raw_contender(all.tasks[i].contender, directory);
    }
    run->error = raw_workers_run(&all.crowd);
    free(all.tasks);
}
