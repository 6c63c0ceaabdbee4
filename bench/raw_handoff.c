/* SPDX-License-Identifier: Apache-2.0 */
/* raw_tasks handoff: the shortest possible handover from one session to another. The
 * znodes of a row belong to several sessions in turn, and each session watches the znode
 * before its own. When a znode is deleted, the watcher of the next one runs, and it
 * deletes its own znode. raw_tasks.c calls raw_handoff(). All callbacks run on the
 * completion threads of the C client, but only one place of the row acts at a time. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "raw_session.h"
#include "raw_tasks.h"

enum { END_SECONDS = 60 };

struct place;

struct handoff {
    struct raw_tasks *run;
    struct raw_session *sessions;
    struct place *row;
    char contender[RAW_NODE];
    atomic_int error;
    atomic_uint_fast64_t deleted_ns; /* when the last delete was sent */
    sem_t answered;
    sem_t last_acted;
};

struct place {
    struct place *self; /* completions get a pointer to const */
    struct handoff *handoff;
    zhandle_t *zh;
    char node[RAW_NODE];
};

static void note(struct handoff *handoff, int rc)
{
    int none = ZOK;
    if (rc != ZOK) {
        atomic_compare_exchange_strong(&handoff->error, &none, rc);
    }
}

static void on_created(int rc, const char *name, const void *data)
{
    struct place *place = ((const struct place *)data)->self;

    note(place->handoff, rc);
    if (rc == ZOK) {
        snprintf(place->node, sizeof(place->node), "%s", name);
    }
    sem_post(&place->handoff->answered);
}

static void on_watched(int rc, const struct Stat *stat, const void *data)
{
    struct place *place = ((const struct place *)data)->self;

    (void)stat;
    note(place->handoff, rc);
    sem_post(&place->handoff->answered);
}

static void on_deleted(int rc, const void *data)
{
    struct place *place = ((const struct place *)data)->self;

    note(place->handoff, rc);
    sem_post(&place->handoff->answered);
}

static void act(struct place *place)
{
    place->handoff->deleted_ns = window_now();
    int rc = zoo_adelete(place->zh, place->node, -1, on_deleted, place);
    if (rc != ZOK) {
        note(place->handoff, rc);
        sem_post(&place->handoff->answered);
    }
}

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    struct place *place = context;
    struct handoff *handoff = place->handoff;
    struct raw_tasks *run = handoff->run;

    (void)zh;
    (void)state;
    (void)path;
    if (type != ZOO_DELETED_EVENT) {
        return;
    }
    if (run->window.open) { /* no lock needed: one place acts at a time */
        run->cycles++;
        latencies_add(&run->latencies, window_now() - handoff->deleted_ns);
    }
    if (run->hold_ms > 0) {
        struct timespec hold = {.tv_sec = (time_t)(run->hold_ms / 1000),
                                .tv_nsec = (long)(run->hold_ms % 1000) * 1000000};
        nanosleep(&hold, NULL);
    }
    act(place);
    if (place == &handoff->row[run->workload.tasks - 1]) {
        sem_post(&handoff->last_acted);
    }
}

static int answers(struct handoff *handoff, size_t count)
{
    for (size_t i = 0; i < count && handoff->error == ZOK; i++) {
        if (!raw_wait(&handoff->answered, END_SECONDS)) {
            note(handoff, ZOPERATIONTIMEOUT);
        }
    }
    return handoff->error;
}

/* Creates the znodes in the order of the row, and then sets a watch of each place on the
 * znode before its own. */
static int make_row(struct handoff *handoff)
{
    size_t count = handoff->run->workload.tasks;
    int rc = ZOK;

    for (size_t i = 0; i < count && rc == ZOK; i++) {
        struct place *place = &handoff->row[i];
        place->self = place;
        place->handoff = handoff;
        place->zh = handoff->sessions[i % handoff->run->workload.sessions].zh;
        rc = zoo_acreate(place->zh, handoff->contender, "127.0.0.1", 9,
                         &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, on_created,
                         place);
    }
    note(handoff, rc);
    rc = answers(handoff, count);
    for (size_t i = 1; i < count && rc == ZOK; i++) {
        struct place *place = &handoff->row[i];
        rc = zoo_awexists(place->zh, place[-1].node, on_event, place, on_watched, place);
    }
    note(handoff, rc);
    return answers(handoff, count - 1);
}

/* Creates a row and lets it drain, again and again until `ms` have passed. */
static int drain_rows(struct handoff *handoff, uint64_t ms)
{
    uint64_t until = window_now() + ms * 1000000U;
    int rc = ZOK;

    while (rc == ZOK && window_now() < until) {
        rc = make_row(handoff);
        if (rc != ZOK) {
            break;
        }
        uint64_t began = window_now();
        act(&handoff->row[0]);
        if (!raw_wait(&handoff->last_acted, END_SECONDS)) {
            note(handoff, ZOPERATIONTIMEOUT);
        }
        handoff->run->active_ns += window_now() - began;
        rc = answers(handoff, handoff->run->workload.tasks);
    }
    return rc;
}

static int measure(struct handoff *handoff)
{
    struct raw_tasks *run = handoff->run;
    char directory[RAW_PATH];

    raw_directory(directory, 0);
    raw_contender(handoff->contender, directory);
    int rc = drain_rows(handoff, run->workload.warm_ms);
    if (rc == ZOK) {
        run->active_ns = 0;
        window_begin(&run->window);
        rc = drain_rows(handoff, run->workload.window_ms);
        window_end(&run->window);
    }
    return rc;
}

void raw_handoff(struct raw_tasks *run)
{
    struct handoff handoff = {.run = run};
    int rc = ZSYSTEMERROR;

    sem_init(&handoff.answered, 0, 0);
    sem_init(&handoff.last_acted, 0, 0);
    handoff.sessions = calloc(run->workload.sessions, sizeof(*handoff.sessions));
    handoff.row = calloc(run->workload.tasks, sizeof(*handoff.row));
    if (handoff.sessions != NULL && handoff.row != NULL) {
        rc = ZOK;
    }
    for (size_t s = 0; s < run->workload.sessions && rc == ZOK; s++) {
        rc = raw_session_open(&handoff.sessions[s], run->workload.hosts);
    }
    if (rc == ZOK) {
        rc = raw_directories_make(&handoff.sessions[0], 1);
    }
    if (rc == ZOK) {
        rc = measure(&handoff);
        raw_directories_remove(&handoff.sessions[0], 1);
    }
    for (size_t s = 0; handoff.sessions != NULL && s < run->workload.sessions; s++) {
        raw_session_close(&handoff.sessions[s]);
    }
    run->error = rc;
    free(handoff.row);
    free(handoff.sessions);
    sem_destroy(&handoff.last_acted);
    sem_destroy(&handoff.answered);
}
