/* SPDX-License-Identifier: Apache-2.0 */
/* The output of many_locks: the summary, the JSON object, and one sentence for each check
 * that failed. many_locks.c calls it after the run. All figures that both outputs show
 * are computed in one place, figures_of(). */
#include <inttypes.h>

#include "leftovers.h"
#include "many_locks.h"
#include "uvzk.h"

static double ms(uint64_t nanoseconds)
{
    return (double)nanoseconds / 1e6;
}

static double ratio(double dividend, double divisor)
{
    return divisor > 0.0 ? dividend / divisor : 0.0;
}

static double per_second(uint64_t count, uint64_t nanoseconds)
{
    return ratio((double)count * 1e9, (double)nanoseconds);
}

/* The figures that are computed from the options and the result. */
struct figures {
    double pending; /* contenders, all at the same time */
    double elapsed_ms;
    double grants_per_s, pairs_per_s, later_pairs_per_s;
    double queued_per_s, drained_per_s;
    double first_requests, later_requests; /* per acquire */
    double drain_requests;                 /* per release */
    double bytes, peak_bytes;              /* per pending contender */
    /* The structs that the caller provides, uvzk_hold_t and uvzk_mutex_t: bytes per
     * pending contender. */
    double shells;
    uint64_t requests;
};

static struct figures figures_of(const struct many_locks_options *options,
                                 const struct many_locks_result *result)
{
    size_t per_lock =
        options->clients < options->contenders ? options->clients : options->contenders;
    double count = (double)(options->locks * options->contenders);
    double later = count * (double)(options->rounds - 1);
    uint64_t elapsed = result->queue_ns + result->drain_ns;
    double before = (double)result->bytes_before;

    return (struct figures){
        .pending = count,
        .elapsed_ms = ms(elapsed),
        .grants_per_s = per_second(result->granted, elapsed),
        .pairs_per_s = per_second(result->released, elapsed),
        .later_pairs_per_s = per_second((uint64_t)later, result->later_ns),
        .queued_per_s = per_second(result->asked, result->queue_ns),
        .drained_per_s = per_second(result->released, result->drain_ns),
        .first_requests = ratio((double)result->first_queue_requests, count),
        .later_requests = ratio((double)result->later_queue_requests, later),
        .drain_requests = ratio((double)result->drain_requests, (double)result->released),
        .bytes = ratio((double)result->bytes_pending - before, count),
        .peak_bytes = ratio((double)result->bytes_peak - before, count),
        .shells = (double)sizeof(uvzk_hold_t) + (double)(options->locks * per_lock) *
                                                    (double)sizeof(uvzk_mutex_t) / count,
        .requests = result->first_queue_requests + result->later_queue_requests +
                    result->drain_requests,
    };
}

static void print_left(FILE *out, const char *what, long left)
{
    if (left == LEFTOVERS_UNKNOWN) {
        fprintf(out, "  %-19s unknown\n", what);
    } else {
        fprintf(out, "  %-19s %ld\n", what, left);
    }
}

static void print_checks(FILE *out, const struct many_locks_result *result)
{
    fprintf(out, "checks (each must be 0)\n");
    fprintf(out, "  overlaps            %" PRIu64 "\n", result->overlaps);
    fprintf(out, "  out of order        %" PRIu64 "\n", result->out_of_order);
    fprintf(out, "  invalid grants      %" PRIu64 "\n", result->invalid_grants);
    fprintf(out, "  extra answers       %" PRIu64 "\n", result->extra_answers);
    fprintf(out, "  unanswered          %" PRIu64 "\n", result->unanswered);
    fprintf(out, "  refused, lost       %" PRIu64 ", %" PRIu64 "\n", result->refused,
            result->lost);
    print_left(out, "left znodes", result->left_nodes);
    print_left(out, "  sessions closed", result->left_nodes_closed);
    print_left(out, "left watches", result->left_watches);
    fprintf(out, "  by the clients      %" PRIu64 " contenders, %" PRIu64 " watches\n",
            result->stats_contenders, result->stats_watches);
    fprintf(out, "  memory not freed    %zu bytes\n", result->leaked_bytes);
}

void many_locks_print_text(FILE *out, const struct many_locks_options *options,
                           const struct many_locks_result *result)
{
    struct figures f = figures_of(options, result);

    fprintf(out,
            "%zu locks, %zu contender%s each, %zu session%s, %zu round%s, hold %" PRIu64
            " ms, uvzk %s\n",
            options->locks, options->contenders, options->contenders == 1 ? "" : "s",
            options->clients * options->sessions,
            options->clients * options->sessions == 1 ? "" : "s", options->rounds,
            options->rounds == 1 ? "" : "s", options->hold_ms, uvzk_version());
    fprintf(out, "  asked %" PRIu64 ", granted %" PRIu64 ", released %" PRIu64 "\n",
            result->asked, result->granted, result->released);
    fprintf(out, "times\n");
    fprintf(out, "  connecting          %10.1f ms\n", ms(result->connect_ns));
    fprintf(out, "  queueing            %10.1f ms  %10.0f requests/s\n",
            ms(result->queue_ns), f.queued_per_s);
    fprintf(out, "  draining            %10.1f ms  %10.0f releases/s\n",
            ms(result->drain_ns), f.drained_per_s);
    fprintf(out, "  both                %10.1f ms  %10.0f grants/s, %.0f pairs/s\n",
            f.elapsed_ms, f.grants_per_s, f.pairs_per_s);
    if (options->rounds > 1) {
        fprintf(out, "  from round 2 on                    %10.0f pairs/s\n",
                f.later_pairs_per_s);
    }
    fprintf(out, "  acquire to grant    p50 %.0f us, p99 %.0f us\n",
            result->acquire_p50_us, result->acquire_p99_us);
    if (options->contenders > 1) {
        fprintf(out, "  release to grant    p50 %.0f us, p99 %.0f us\n",
                result->handover_p50_us, result->handover_p99_us);
    }
    fprintf(out, "requests to the server (a multi counts as one)\n");
    fprintf(out, "  for each acquire    %.3f in round 1", f.first_requests);
    if (options->rounds > 1) {
        fprintf(out, ", %.3f later", f.later_requests);
    }
    fputc('\n', out);
    fprintf(out, "  for each release    %.3f\n", f.drain_requests);
    fprintf(out, "  listings            %" PRIu64 " in all, proofs %" PRIu64 "\n",
            result->listings, result->proofs);
    fprintf(out, "memory of the library, for each pending request\n");
    fprintf(out, "  at rest             %.0f bytes (peak %.0f), and %.0f in shells\n",
            f.bytes, f.peak_bytes, f.shells);
    print_checks(out, result);
}

/* Prints a count, or null if it is not known. */
static void print_json_left(FILE *out, const char *name, long left)
{
    if (left == LEFTOVERS_UNKNOWN) {
        fprintf(out, "\"%s\":null,", name);
    } else {
        fprintf(out, "\"%s\":%ld,", name, left);
    }
}

static void print_json_count(FILE *out, const char *name, uint64_t count)
{
    fprintf(out, "\"%s\":%" PRIu64 ",", name, count);
}

static void print_json_real(FILE *out, const char *name, double value)
{
    fprintf(out, "\"%s\":%.3f,", name, value);
}

/* Prints a figure that only some runs have, or null. */
static void print_json_real_if(FILE *out, bool known, const char *name, double value)
{
    if (known) {
        print_json_real(out, name, value);
    } else {
        fprintf(out, "\"%s\":null,", name);
    }
}

static void print_json_outcome(FILE *out, const struct many_locks_options *options,
                               const struct many_locks_result *result)
{
    print_json_count(out, "locks", options->locks);
    print_json_count(out, "contenders", options->contenders);
    print_json_count(out, "clients", options->clients);
    print_json_count(out, "sessions", options->sessions);
    print_json_count(out, "rounds", options->rounds);
    print_json_count(out, "hold_ms", options->hold_ms);
    print_json_count(out, "asked", result->asked);
    print_json_count(out, "granted", result->granted);
    print_json_count(out, "released", result->released);
    print_json_count(out, "refused", result->refused);
    print_json_count(out, "lost", result->lost);
    print_json_count(out, "overlaps", result->overlaps);
    print_json_count(out, "out_of_order", result->out_of_order);
    print_json_count(out, "invalid_grants", result->invalid_grants);
    print_json_count(out, "extra_answers", result->extra_answers);
    print_json_count(out, "unanswered", result->unanswered);
    print_json_left(out, "left_nodes", result->left_nodes);
    print_json_left(out, "left_nodes_closed", result->left_nodes_closed);
    print_json_left(out, "left_watches", result->left_watches);
    print_json_count(out, "left_contenders", result->stats_contenders);
    print_json_count(out, "armed_watches", result->stats_watches);
    print_json_count(out, "leaked_bytes", result->leaked_bytes);
}

void many_locks_print_json(FILE *out, const struct many_locks_options *options,
                           const struct many_locks_result *result)
{
    struct figures f = figures_of(options, result);

    fputc('{', out);
    print_json_outcome(out, options, result);
    print_json_real(out, "elapsed_ms", f.elapsed_ms);
    print_json_real(out, "connect_ms", ms(result->connect_ns));
    print_json_real(out, "queue_ms", ms(result->queue_ns));
    print_json_real(out, "drain_ms", ms(result->drain_ns));
    print_json_real(out, "grants_per_s", f.grants_per_s);
    print_json_real(out, "pairs_per_s", f.pairs_per_s);
    print_json_real_if(out, options->rounds > 1, "later_pairs_per_s",
                       f.later_pairs_per_s);
    print_json_real(out, "queued_per_s", f.queued_per_s);
    print_json_real(out, "drained_per_s", f.drained_per_s);
    print_json_real(out, "p50_us", result->acquire_p50_us);
    print_json_real(out, "p99_us", result->acquire_p99_us);
    print_json_real_if(out, options->contenders > 1, "handover_p50_us",
                       result->handover_p50_us);
    print_json_real_if(out, options->contenders > 1, "handover_p99_us",
                       result->handover_p99_us);
    print_json_count(out, "requests", f.requests);
    print_json_count(out, "listings", result->listings);
    print_json_count(out, "proofs", result->proofs);
    print_json_real(out, "requests_per_acquire", f.first_requests);
    print_json_real_if(out, options->rounds > 1, "requests_per_later_acquire",
                       f.later_requests);
    print_json_real(out, "requests_per_release", f.drain_requests);
    print_json_real(out, "bytes_per_pending", f.bytes);
    print_json_real(out, "peak_bytes_per_pending", f.peak_bytes);
    print_json_real(out, "shell_bytes_per_pending", f.shells);
    fprintf(out, "\"right\":%s}\n",
            many_locks_print_faults(NULL, options, result) == 0 ? "true" : "false");
}

/* Prints a sentence if count is not 0, and returns whether it is. `out` may be NULL. */
static int fault(FILE *out, uint64_t count, const char *sentence)
{
    if (count == 0) {
        return 0;
    }
    if (out != NULL) {
        fprintf(out, "many_locks: WRONG: %" PRIu64 " %s\n", count, sentence);
    }
    return 1;
}

static uint64_t left_count(long left)
{
    return left == LEFTOVERS_UNKNOWN ? 0 : (uint64_t)left;
}

int many_locks_print_faults(FILE *out, const struct many_locks_options *options,
                            const struct many_locks_result *result)
{
    uint64_t wanted = options->locks * options->contenders * options->rounds;
    int faults = 0;

    if (result->failure[0] != '\0') {
        faults++;
        if (out != NULL) {
            fprintf(out, "many_locks: WRONG: given up: %s\n", result->failure);
        }
    }
    faults += fault(out, wanted - result->granted, "requests were not granted");
    faults += fault(out, result->granted - result->released,
                    "holds were not released as they should");
    faults += fault(out, result->lost, "holds were lost");
    faults += fault(out, result->overlaps,
                    "times a lock was granted while another hold was valid");
    faults +=
        fault(out, result->out_of_order, "grants were against the order of the znodes");
    faults += fault(out, result->invalid_grants, "grants were not valid when told");
    faults += fault(out, result->extra_answers, "callbacks came once too often");
    faults += fault(out, result->unanswered, "requests never had their last callback");
    faults += fault(out, left_count(result->left_nodes),
                    "znodes were left after every release was told as done");
    faults += fault(out, left_count(result->left_nodes_closed),
                    "znodes were left after the clients were closed");
    faults +=
        fault(out, left_count(result->left_watches), "watches were left on the server");
    faults += fault(out, result->stats_contenders,
                    "contenders were left by the clients' own count");
    faults +=
        fault(out, result->stats_watches, "watches were left by the clients' own count");
    faults += fault(out, result->leaked_bytes, "bytes were not freed");
    faults += fault(out, result->loop_close != 0, "loop could not be closed");
    if (faults > 0 && out != NULL && result->first_error != 0) {
        fprintf(out, "many_locks: the first error code was %s, %s\n",
                uvzk_err_name(result->first_error), uvzk_strerror(result->first_error));
    }
    return faults;
}
