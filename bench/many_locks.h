/* many_locks: many contenders on many locks in one loop, and whether what came
 * of it was right. This header: what is asked, what was seen. */
#ifndef BENCH_MANY_LOCKS_H
#define BENCH_MANY_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct many_locks_options {
    const char *hosts;
    size_t locks;
    size_t contenders; /* on each lock */
    size_t clients;    /* all on one loop */
    size_t sessions;   /* of each client */
    uint64_t hold_ms;
    size_t rounds;
    bool json;
    bool words;
    bool verbose; /* the library's log on stderr */
};

struct many_locks_result {
    char base[64];     /* the locks' parent, new for each run */
    char failure[256]; /* why the run was given up; "" if it was not */
    bool interrupted;

    /* Outcomes, over all rounds. */
    uint64_t asked; /* acquires started */
    uint64_t granted;
    uint64_t released; /* releases told as carried out */
    uint64_t lost;     /* holds that ended without a release */
    uint64_t refused;  /* acquires that ended without a grant */
    int first_error;   /* the code of the first lost, refused, ... */

    /* Checks: each is 0 in a right run. */
    uint64_t overlaps;         /* grants while another hold was valid */
    uint64_t out_of_order;     /* grants against the order of the znodes */
    uint64_t invalid_grants;   /* grants that were not valid when told */
    uint64_t extra_answers;    /* callbacks that must not have come */
    uint64_t unanswered;       /* requests without their last callback */
    long left_nodes;           /* LEFTOVERS_UNKNOWN: not checked. All releases
                                  done, the sessions still alive */
    long left_nodes_closed;    /* the same after the clients were closed */
    long left_watches;         /* with the sessions alive, above the number
                                  before the run */
    uint64_t stats_contenders; /* uvzk_client_stats at that same moment */
    uint64_t stats_watches;
    int loop_close;      /* what uv_loop_close() said */
    size_t leaked_bytes; /* of the library, after everything is closed */

    /* Times, ns, over all rounds. */
    uint64_t connect_ns;
    uint64_t queue_ns; /* first acquire .. everybody granted or queued */
    uint64_t drain_ns; /* .. everybody released */
    uint64_t later_ns; /* of both, what rounds 2.. took: directories stand */

    /* Cost. Requests without proofs of ownership, which go by time. */
    uint64_t first_queue_requests; /* round 1, queueing */
    uint64_t later_queue_requests; /* rounds 2.., queueing */
    uint64_t drain_requests;
    uint64_t listings;
    uint64_t proofs;
    size_t bytes_before;                     /* the library's memory, clients connected */
    size_t bytes_pending;                    /* everybody granted or queued, round 1 */
    size_t bytes_peak;                       /* in round 1's queueing */
    double acquire_p50_us, acquire_p99_us;   /* acquire .. grant */
    double handover_p50_us, handover_p99_us; /* release .. next grant, draining */
};

/* Runs it; the result is filled whatever comes. */
void many_locks_run(const struct many_locks_options *options,
                    struct many_locks_result *result);

/* Prints the summary, or the one JSON object, or a few figures in a user's words. */
void many_locks_print_text(FILE *out, const struct many_locks_options *options,
                           const struct many_locks_result *result);
void many_locks_print_json(FILE *out, const struct many_locks_options *options,
                           const struct many_locks_result *result);
void many_locks_print_words(FILE *out, const struct many_locks_options *options,
                            const struct many_locks_result *result);

/* Prints one sentence for each thing that is wrong; their number. */
int many_locks_print_faults(FILE *out, const struct many_locks_options *options,
                            const struct many_locks_result *result);

#endif
