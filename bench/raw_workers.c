/* SPDX-License-Identifier: Apache-2.0 */
#include "raw_workers.h"

enum { END_SECONDS = 60 };

void raw_worker_ended(struct raw_workers *workers, int rc)
{
    if (rc != ZOK && workers->run->error == ZOK) {
        workers->run->error = rc;
    }
    if (--workers->running == 0) {
        sem_post(&workers->ended);
    }
}

static void on_ready(int rc, const char *path, const void *data)
{
    struct raw_workers *workers = ((const struct raw_workers *)data)->self;

    (void)path;
    workers->running = workers->worker_count;
    for (size_t member = 0; member < workers->worker_count; member++) {
        if (rc == ZOK) {
            workers->begin(workers, member);
        } else {
            raw_worker_ended(workers, rc);
        }
    }
}

static int measure(struct raw_workers *workers)
{
    struct raw_tasks *run = workers->run;
    /* A sync, only so that on_ready runs in the completion thread. */
    int rc = zoo_async(workers->session.zh, "/", on_ready, workers);

    if (rc != ZOK) {
        return rc;
    }
    raw_sleep_ms(run->workload.warm_ms);
    window_begin(&run->window);
    do {
        raw_sleep_ms(run->workload.window_ms);
    } while (run->cycles == 0 && run->error == ZOK);
    window_end(&run->window);
    run->active_ns = run->window.length_ns;
    workers->ending = true;
    return raw_wait(&workers->ended, END_SECONDS) ? run->error : ZOPERATIONTIMEOUT;
}

int raw_workers_run(struct raw_workers *workers)
{
    workers->self = workers;
    sem_init(&workers->ended, 0, 0);
    int rc = raw_session_open(&workers->session, workers->run->workload.hosts);
    if (rc == ZOK) {
        rc = raw_directories_make(&workers->session, workers->run->workload.paths);
    }
    if (rc == ZOK) {
        rc = measure(workers);
        raw_directories_remove(&workers->session, workers->run->workload.paths);
    }
    raw_session_close(&workers->session);
    sem_destroy(&workers->ended);
    return rc;
}
