/* SPDX-License-Identifier: Apache-2.0 */
/* raw_cycles: the baseline for many_locks. It sends the requests of one uncontended lock
 * cycle directly through the ZooKeeper C client, without any lock logic: create an
 * ephemeral sequential znode, list its parent, delete the znode. W cycles are under way
 * at the same time on one session, each below a parent of its own that was created
 * beforehand. The next request is sent from inside the completion of the one before.
 *
 * By default the create and the listing are sent together, so a cycle has two round
 * trips. With --sequential the listing is sent after the reply to the create, as Curator
 * does, so a cycle has three. */
#include <getopt.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include "latencies.h"

enum { ANSWER_SECONDS = 15, RUN_SECONDS = 600 };

struct raw;

/* One of the W cycles that are under way. */
struct slot {
    struct slot *self; /* completions get a pointer to const */
    struct raw *raw;
    char parent[96];
    char node[160];
    uint64_t began_ns;
    int answers_awaited; /* of create and listing */
};

/* After setup, only the C client's completion thread changes this, until the last cycle
 * has ended. */
struct raw {
    const char *hosts;
    size_t cycles;
    size_t window;
    bool sequential;
    bool json;
    zhandle_t *zh;
    sem_t connected;
    sem_t answered; /* posted for each parent; then once, after all cycles */
    struct slot *slots;
    size_t begun;
    size_t done;
    size_t running;
    int error; /* the first error, which ends the run */
    uint64_t ended_ns;
    struct latencies latencies; /* of whole cycles */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static int wait_for(sem_t *semaphore, int seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    return sem_timedwait(semaphore, &until);
}

/* ------------------------------------------------------------------- cycles */

static void begin_cycle(struct slot *slot);

static void stop_slot(struct slot *slot, int rc)
{
    struct raw *raw = slot->raw;
    if (rc != ZOK && raw->error == ZOK) {
        raw->error = rc;
    }
    if (--raw->running == 0) {
        raw->ended_ns = now_ns();
        sem_post(&raw->answered);
    }
}

static void on_deleted(int rc, const void *data)
{
    struct slot *slot = ((const struct slot *)data)->self;
    struct raw *raw = slot->raw;

    if (rc == ZOK) {
        raw->done++;
        latencies_add(&raw->latencies, now_ns() - slot->began_ns);
    }
    if (rc != ZOK || raw->error != ZOK || raw->begun == raw->cycles) {
        stop_slot(slot, rc);
    } else {
        begin_cycle(slot);
    }
}

static void on_half_acquired(struct slot *slot, int rc)
{
    if (rc != ZOK && slot->raw->error == ZOK) {
        slot->raw->error = rc;
    }
    /* A cycle goes on when both replies, to create and to listing, have come. */
    if (--slot->answers_awaited > 0) {
        return;
    }
    if (slot->raw->error == ZOK) {
        rc = zoo_adelete(slot->raw->zh, slot->node, -1, on_deleted, slot);
    }
    if (slot->raw->error != ZOK || rc != ZOK) {
        stop_slot(slot, rc);
    }
}

static void on_listed(int rc, const struct String_vector *names, const void *data)
{
    (void)names;
    on_half_acquired(((const struct slot *)data)->self, rc);
}

static int list_parent(struct slot *slot)
{
    return zoo_awget_children(slot->raw->zh, slot->parent, NULL, NULL, on_listed, slot);
}

static void on_created(int rc, const char *name, const struct Stat *stat,
                       const void *data)
{
    struct slot *slot = ((const struct slot *)data)->self;

    (void)stat;
    if (rc == ZOK) {
        snprintf(slot->node, sizeof(slot->node), "%s", name);
        if (slot->raw->sequential) {
            rc = list_parent(slot);
        }
    }
    if (rc != ZOK && slot->raw->sequential) {
        slot->answers_awaited--; /* there is no listing */
    }
    on_half_acquired(slot, rc);
}

static void begin_cycle(struct slot *slot)
{
    struct raw *raw = slot->raw;
    char path[160];

    /* As long as the name of a Curator contender. */
    snprintf(path, sizeof(path), "%s/_c_00000000-0000-4000-8000-000000000000-lock-",
             slot->parent);
    raw->begun++;
    slot->began_ns = now_ns();
    slot->answers_awaited = 2;
    int rc = zoo_acreate2(raw->zh, path, "127.0.0.1", 9, &ZOO_OPEN_ACL_UNSAFE,
                          ZOO_EPHEMERAL_SEQUENTIAL, on_created, slot);
    if (rc != ZOK) {
        stop_slot(slot, rc);
    } else if (!raw->sequential && (rc = list_parent(slot)) != ZOK) {
        on_half_acquired(slot, rc);
    }
}

/* Begins the cycles from a completion, so that only the completion thread changes the
 * state. */
static void on_ready(int rc, const char *path, const void *data)
{
    struct slot *slots = ((const struct slot *)data)->self;
    struct raw *raw = slots->raw;

    (void)path;
    if (rc != ZOK) {
        raw->error = rc;
        sem_post(&raw->answered);
        return;
    }
    raw->running = raw->window;
    for (size_t n = 0; n < raw->window; n++) {
        begin_cycle(&slots[n]);
    }
}

/* ------------------------------------------------------------------ parents */

static void on_session(zhandle_t *zh, int type, int state, const char *path,
                       void *context)
{
    struct raw *raw = context;
    (void)zh;
    (void)path;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) {
        sem_post(&raw->connected);
    }
}

static void ignore_log(const char *line)
{
    (void)line;
}

static void note_answer(struct raw *raw, int rc)
{
    if (rc != ZOK && raw->error == ZOK) {
        raw->error = rc;
    }
    sem_post(&raw->answered);
}

static void on_parent_made(int rc, const char *name, const void *data)
{
    (void)name;
    note_answer(((const struct slot *)data)->raw, rc);
}

static void on_parent_gone(int rc, const void *data)
{
    note_answer(((const struct slot *)data)->raw, rc);
}

static int make(struct slot *slot, const char *path)
{
    return zoo_acreate(slot->raw->zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT,
                       on_parent_made, slot);
}

/* Creates the parents as persistent znodes, because the server would remove empty
 * container znodes between two cycles. Returns 0, or -1 with raw->error set. */
static int make_parents(struct raw *raw, const char *base)
{
    int rc = make(&raw->slots[0], base);
    if (rc == ZOK && wait_for(&raw->answered, ANSWER_SECONDS) != 0) {
        rc = ZOPERATIONTIMEOUT;
    }
    for (size_t n = 0; n < raw->window && rc == ZOK; n++) {
        struct slot *slot = &raw->slots[n];
        snprintf(slot->parent, sizeof(slot->parent), "%s/%05zu", base, n);
        rc = make(slot, slot->parent);
        if (rc == ZOK && wait_for(&raw->answered, ANSWER_SECONDS) != 0) {
            rc = ZOPERATIONTIMEOUT;
        }
    }
    if (raw->error == ZOK) {
        raw->error = rc;
    }
    return raw->error == ZOK ? 0 : -1;
}

static void remove_parents(struct raw *raw, const char *base)
{
    for (size_t n = 0; n <= raw->window; n++) {
        const char *path = n < raw->window ? raw->slots[n].parent : base;
        if (path[0] != '\0' &&
            zoo_adelete(raw->zh, path, -1, on_parent_gone, &raw->slots[0]) == ZOK) {
            wait_for(&raw->answered, ANSWER_SECONDS);
        }
    }
}

/* ---------------------------------------------------------------------- run */

static void print_result(struct raw *raw, uint64_t elapsed_ns)
{
    double elapsed_ms = (double)elapsed_ns / 1e6;
    double rate = (double)raw->done * 1000.0 / elapsed_ms;
    double p50 = latencies_percentile_us(&raw->latencies, 50);
    double p99 = latencies_percentile_us(&raw->latencies, 99);

    if (raw->json) {
        printf("{\"cycles\":%zu,\"window\":%zu,\"sequential\":%s,"
               "\"elapsed_ms\":%.3f,\"cycles_per_s\":%.3f,\"p50_us\":%.3f,"
               "\"p99_us\":%.3f}\n",
               raw->done, raw->window, raw->sequential ? "true" : "false", elapsed_ms,
               rate, p50, p99);
    } else {
        printf("%zu cycles, %zu outstanding, listing %s the create\n"
               "  %.1f ms, %.0f cycles/s, p50 %.0f us, p99 %.0f us\n",
               raw->done, raw->window, raw->sequential ? "after" : "together with",
               elapsed_ms, rate, p50, p99);
    }
}

static int run_cycles(struct raw *raw)
{
    char base[64];
    int rc = 1;

    snprintf(base, sizeof(base), "/raw-cycles-%" PRIx64 "-%x", now_ns(),
             (unsigned)getpid());
    for (size_t n = 0; n < raw->window; n++) {
        raw->slots[n].self = &raw->slots[n];
        raw->slots[n].raw = raw;
    }
    if (make_parents(raw, base) == 0) {
        uint64_t began = now_ns();
        raw->error = zoo_async(raw->zh, base, on_ready, &raw->slots[0]);
        if (raw->error == ZOK && wait_for(&raw->answered, RUN_SECONDS) != 0) {
            raw->error = ZOPERATIONTIMEOUT;
        } else if (raw->error == ZOK) {
            print_result(raw, raw->ended_ns - began);
            rc = 0;
        }
    }
    if (raw->error != ZOK) {
        fprintf(stderr, "raw_cycles: %s (%d)\n", zerror(raw->error), raw->error);
    }
    if (zoo_state(raw->zh) == ZOO_CONNECTED_STATE) {
        remove_parents(raw, base);
    }
    return rc;
}

static int run(struct raw *raw)
{
    int rc = 1;

    sem_init(&raw->connected, 0, 0);
    sem_init(&raw->answered, 0, 0);
    raw->slots = calloc(raw->window, sizeof(*raw->slots));
    if (raw->slots == NULL || latencies_init(&raw->latencies, raw->cycles) != 0) {
        fputs("raw_cycles: out of memory\n", stderr);
        free(raw->slots);
        return 1;
    }
    raw->zh = zookeeper_init2(raw->hosts, on_session, 30000, NULL, raw,
                              ZOO_NO_LOG_CLIENTENV, ignore_log);
    if (raw->zh == NULL || wait_for(&raw->connected, ANSWER_SECONDS) != 0) {
        fprintf(stderr, "raw_cycles: no ZooKeeper session at %s within %d seconds\n",
                raw->hosts, ANSWER_SECONDS);
    } else {
        zoo_set_servers_resolution_delay(raw->zh, -1);
        rc = run_cycles(raw);
    }
    if (raw->zh != NULL) {
        zookeeper_close(raw->zh);
    }
    latencies_free(&raw->latencies);
    free(raw->slots);
    sem_destroy(&raw->answered);
    sem_destroy(&raw->connected);
    return rc;
}

/* ------------------------------------------------------------------ options */

static void bad_usage(void)
{
    fputs("usage: raw_cycles --hosts HOSTS [--cycles N] [--window W]\n"
          "                  [--sequential] [--json]\n"
          "\n"
          "  --cycles N     create, list, delete so many times (20000)\n"
          "  --window W     so many at once, on one session (256)\n"
          "  --sequential   list after the create's answer, not with it\n"
          "  --json         one JSON object on stdout\n",
          stderr);
    exit(2);
}

static size_t number(const char *text, unsigned long most)
{
    char *end = NULL;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || text[0] == '-' || value < 1 || value > most) {
        bad_usage();
    }
    return value;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"hosts", required_argument, NULL, 'H'},
        {"cycles", required_argument, NULL, 'n'},
        {"window", required_argument, NULL, 'w'},
        {"sequential", no_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},
        {NULL, 0, NULL, 0},
    };
    struct raw raw = {.cycles = 20000, .window = 256};
    int letter;

    while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (letter) {
        case 'H':
            raw.hosts = optarg;
            break;
        case 'n':
            raw.cycles = number(optarg, 10000000);
            break;
        case 'w':
            raw.window = number(optarg, 10000);
            break;
        case 's':
            raw.sequential = true;
            break;
        case 'j':
            raw.json = true;
            break;
        default:
            bad_usage();
        }
    }
    if (raw.hosts == NULL || optind < argc) {
        bad_usage();
    }
    raw.window = raw.window < raw.cycles ? raw.window : raw.cycles;
    return run(&raw);
}
