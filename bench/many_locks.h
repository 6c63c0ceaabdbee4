/* SPDX-License-Identifier: Apache-2.0 */
/* many_locks: many contenders on many locks in one loop, with a check of every result.
 * This header has the options and the result of a run. */
#ifndef BENCH_MANY_LOCKS_H
#define BENCH_MANY_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct many_locks_options {
    const char *hosts;
    size_t locks;
    size_t contenders;  /* on each lock */
    size_t clients;     /* all on one loop */
    size_t sessions;    /* of each client */
    uint32_t transport; /* uvzk_transport_t */
    const char *tls;    /* options.tls */
    uint64_t hold_ms;
    size_t rounds;
    bool json;
    bool words;
    bool verbose; /* the library's log goes to stderr */
};

struct many_locks_result {
    char base[64];     /* the parent of all lock directories, new for each run */
    char failure[256]; /* why the run was ended early; "" if it was not */
    bool interrupted;

    /* Outcomes, over all rounds. */
    uint64_t asked; /* acquires that were started */
    uint64_t granted;
    uint64_t released; /* release callbacks with status 0 */
    uint64_t lost;     /* holds that ended without a release */
    uint64_t refused;  /* acquires that ended without a grant */
    int first_error;   /* the first error code that a callback or call got */

    /* Checks. Each of these is 0 if the run is right. */
    uint64_t overlaps;       /* grants while another hold was valid */
    uint64_t out_of_order;   /* tokens or sequence numbers that did not grow */
    uint64_t invalid_grants; /* grants that were not valid in the callback */
    uint64_t extra_answers;  /* callbacks in a state that does not allow them */
    uint64_t unanswered;     /* contenders whose last callback did not run */
    /* Znodes in the lock directories after all releases, before the sessions are closed.
     * LEFTOVERS_UNKNOWN: not checked. */
    long left_nodes;
    long left_nodes_closed; /* the same, after the clients were closed */
    /* Watches on the server at the first of these two moments, minus the number before
     * the run. */
    long left_watches;
    /* From uvzk_client_metrics at that same moment. */
    uint64_t stats_contenders;
    uint64_t stats_watches;
    int loop_close;      /* the result of uv_loop_close() */
    size_t leaked_bytes; /* by the library, after everything was closed */

    /* Times in ns, over all rounds. */
    uint64_t connect_ns;
    uint64_t queue_ns; /* first acquire to all granted or queued */
    uint64_t drain_ns; /* from then to all released */
    uint64_t later_ns; /* the part of both that is of rounds 2 and later */

    /* Requests to the server, without the proof requests, whose number depends on
     * time. */
    uint64_t first_queue_requests; /* round 1, queueing */
    uint64_t later_queue_requests; /* rounds 2.., queueing */
    uint64_t drain_requests;
    uint64_t listings;
    uint64_t proofs;
    size_t bytes_before;  /* the library's, when the clients are connected */
    size_t bytes_pending; /* when all are granted or queued, in round 1 */
    size_t bytes_peak;    /* while round 1 queues */
    double acquire_p50_us, acquire_p99_us; /* acquire to grant */
    /* release to the next grant, while draining */
    double handover_p50_us, handover_p99_us;
};

/* Runs the benchmark. The result is complete in any case. */
void many_locks_run(const struct many_locks_options *options,
                    struct many_locks_result *result);

/* These print the result: as a summary, as one JSON object, or as a few figures with an
 * explanation for a new user. */
void many_locks_print_text(FILE *out, const struct many_locks_options *options,
                           const struct many_locks_result *result);
void many_locks_print_json(FILE *out, const struct many_locks_options *options,
                           const struct many_locks_result *result);
void many_locks_print_words(FILE *out, const struct many_locks_options *options,
                            const struct many_locks_result *result);

/* Prints one sentence for each check that has failed, and returns how many failed. With
 * `out` NULL it only counts. */
int many_locks_print_faults(FILE *out, const struct many_locks_options *options,
                            const struct many_locks_result *result);

#endif
