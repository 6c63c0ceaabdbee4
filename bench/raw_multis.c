/* SPDX-License-Identifier: Apache-2.0 */
/* raw_tasks multis: creates `batch` znodes in one multi, and deletes them in another
 * (raw_workers.h). */
#include <stdlib.h>

#include "raw_workers.h"

struct batch {
    struct batch *self; /* completions get a pointer to const */
    struct raw_workers *workers;
    size_t size;
    zoo_op_t *operations;
    zoo_op_result_t *results;
    char (*contenders)[RAW_NODE];
    char (*nodes)[RAW_NODE];
    uint64_t began_ns;
};

struct multis {
    struct raw_workers crowd; /* must be first */
    struct batch *batches;
};

static void begin(struct batch *batch);

static void on_deleted(int rc, const void *data)
{
    struct batch *batch = ((const struct batch *)data)->self;
    struct raw_tasks *run = batch->workers->run;

    if (rc == ZOK && run->window.open) {
        run->cycles += batch->size;
        latencies_add(&run->latencies, window_now() - batch->began_ns);
    }
    if (rc != ZOK || batch->workers->ending) {
        raw_worker_ended(batch->workers, rc);
    } else {
        begin(batch);
    }
}

static void on_created(int rc, const void *data)
{
    struct batch *batch = ((const struct batch *)data)->self;

    if (rc == ZOK) {
        for (size_t i = 0; i < batch->size; i++) {
            zoo_delete_op_init(&batch->operations[i], batch->nodes[i], -1);
        }
        rc = zoo_amulti(batch->workers->session.zh, (int)batch->size, batch->operations,
                        batch->results, on_deleted, batch);
    }
    if (rc != ZOK) {
        raw_worker_ended(batch->workers, rc);
    }
}

static void begin(struct batch *batch)
{
    batch->began_ns = window_now();
    for (size_t i = 0; i < batch->size; i++) {
        zoo_create_op_init(&batch->operations[i], batch->contenders[i], "127.0.0.1", 9,
                           &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                           batch->nodes[i], RAW_NODE);
    }
    int rc = zoo_amulti(batch->workers->session.zh, (int)batch->size, batch->operations,
                        batch->results, on_created, batch);
    if (rc != ZOK) {
        raw_worker_ended(batch->workers, rc);
    }
}

static void begin_member(struct raw_workers *workers, size_t member)
{
    begin(&((struct multis *)(void *)workers)->batches[member]);
}

static int prepare(struct batch *batch, const struct raw_tasks *run, size_t first)
{
    char directory[RAW_PATH];

    batch->self = batch;
    batch->operations = calloc(batch->size, sizeof(*batch->operations));
    batch->results = calloc(batch->size, sizeof(*batch->results));
    batch->contenders = calloc(batch->size, sizeof(*batch->contenders));
    batch->nodes = calloc(batch->size, sizeof(*batch->nodes));
    if (batch->operations == NULL || batch->results == NULL ||
        batch->contenders == NULL || batch->nodes == NULL) {
        return ZSYSTEMERROR;
    }
    for (size_t i = 0; i < batch->size; i++) {
        raw_directory(directory, (first + i) % run->workload.paths);
        raw_contender(batch->contenders[i], directory);
    }
    return ZOK;
}

static int prepare_all(struct multis *all, const struct raw_tasks *run)
{
    all->batches = calloc(all->crowd.worker_count, sizeof(*all->batches));
    if (all->batches == NULL) {
        return ZSYSTEMERROR;
    }
    for (size_t b = 0; b < all->crowd.worker_count; b++) {
        size_t left = run->workload.tasks - b * run->batch;
        all->batches[b].workers = &all->crowd;
        all->batches[b].size = left < run->batch ? left : run->batch;
        if (prepare(&all->batches[b], run, b * run->batch) != ZOK) {
            return ZSYSTEMERROR;
        }
    }
    return ZOK;
}

static void free_all(struct multis *all)
{
    for (size_t b = 0; all->batches != NULL && b < all->crowd.worker_count; b++) {
        free(all->batches[b].operations);
        free(all->batches[b].results);
        free(all->batches[b].contenders);
        free(all->batches[b].nodes);
    }
    free(all->batches);
}

void raw_multis(struct raw_tasks *run)
{
    struct multis all = {
        .crowd = {.run = run,
                  .worker_count = (run->workload.tasks + run->batch - 1) / run->batch,
                  .begin = begin_member}};

    run->error = prepare_all(&all, run);
    if (run->error == ZOK) {
        run->error = raw_workers_run(&all.crowd);
    }
    free_all(&all);
}
