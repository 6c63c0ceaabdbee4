/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded histories of one recipe, each with another mix of the optimisations.
 *
 *   test_histories mutex|rwlock|semaphore|semaphore_mutex|multilock|exclusive_driver
 *                  |leases_driver|mixed_kinds
 *
 *   UVZK_HISTORIES  how many; 5000, over the native transport 1000,
 *                   with replies that are tampered with 200
 *   UVZK_SEED       the first seed; 1
 *   UVZK_TUNING     always these UVZK__TUNE_* bits
 *   UVZK_UNTUNED    never these
 *   UVZK_TAMPERED   no more histories once so many replies have been tampered with
 *   UVZK_WORLD      only these of enum history_kind; all
 *   UVZK_FAULTS     so many times as many faults; 1
 *   UVZK_VERBOSE    set: every line of every trace
 *   UVZK_STORIES    set: a line for each history, its seed and the hash of its trace
 *
 * A failing seed is printed; UVZK_SEED=that UVZK_HISTORIES=1 replays it exactly. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/create.h"
#include "history.h"

#define ENOUGH 1000U /* histories, to have seen everything that is rare */

static const struct recipe *const recipes[] = {
    &recipe_mutex,           &recipe_rwlock,      &recipe_semaphore,
    &recipe_semaphore_mutex, &recipe_multilock,   &recipe_exclusive_driver,
    &recipe_leases_driver,   &recipe_mixed_kinds,
};
static const struct recipe *recipe;

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

/* The plain algorithm, everything, and every mix between. */
static unsigned tuning_of(uint64_t seed)
{
    switch (seed % 4) {
    case 0:
        return 0;
    case 1:
        return (unsigned)(seed / 4 % (UVZK__TUNE_ALL + 1));
    default:
        return UVZK__TUNE_ALL;
    }
}

static void add_up(struct history_result *sum, const struct history_result *result)
{
    sum->steps += result->steps;
    sum->requests += result->requests;
    sum->lost_txn_overlaps += result->lost_txn_overlaps;
    sum->faults += result->faults;
    sum->grants += result->grants;
    sum->refusals += result->refusals;
    sum->losses += result->losses;
    sum->releases += result->releases;
    sum->reentries += result->reentries;
    sum->shared_grants += result->shared_grants;
    sum->kept_reads += result->kept_reads;
    sum->cohort_grants += result->cohort_grants;
    sum->deadlocks += result->deadlocks;
    sum->nodes_deleted += result->nodes_deleted;
    sum->resized += result->resized;
    sum->multi_grants += result->multi_grants;
    sum->foreign_grants += result->foreign_grants;
    sum->remote_grants += result->remote_grants;
    sum->high_counters += result->high_counters;
    sum->exhausted += result->exhausted;
    sum->persistent += result->persistent;
    sum->revoked += result->revoked;
    sum->given_back += result->given_back;
    sum->other_kinds += result->other_kinds;
}

static int run(uint64_t seed, struct history_result *sum)
{
    struct history_options options = {
        .recipe = recipe,
        .tuning =
            history_sim_tuning(seed, (unsigned)(setting("UVZK_TUNING", tuning_of(seed)) &
                                                ~setting("UVZK_UNTUNED", 0))),
        .faults = true,
        .verbose = getenv("UVZK_VERBOSE") != NULL,
    };
    struct history_result result;

    history_run(seed, &options, &result);
    if (result.failure[0] != '\0') {
        printf("FAILED: seed %" PRIu64 ", tuning %u: %s\n", seed, options.tuning,
               result.failure);
        printf("replay: UVZK_SEED=%" PRIu64 " UVZK_HISTORIES=1 UVZK_VERBOSE=1\n", seed);
        return 1;
    }
    if (getenv("UVZK_STORIES") != NULL) {
        printf("story %" PRIu64 " %016" PRIx64 "\n", seed, result.trace_hash);
    }
    add_up(sum, &result);
    return 0;
}

/* The same seed must give the same history, to the last byte of the trace. */
static int replays_exactly(uint64_t seed)
{
    struct history_options options = {
        .recipe = recipe, .tuning = UVZK__TUNE_ALL, .faults = true};
    struct history_result first, second;

    history_run(seed, &options, &first);
    history_run(seed, &options, &second);
    if (first.trace_hash != second.trace_hash || first.steps != second.steps) {
        printf("FAILED: seed %" PRIu64 " does not replay\n", seed);
        return 1;
    }
    return 0;
}

static void report(uint64_t count, const struct history_result *sum)
{
    printf("%" PRIu64 " histories, %" PRIu64 " events, %" PRIu64 " faults, %" PRIu64
           " grants (%" PRIu64 " again, %" PRIu64 " beside others), %" PRIu64
           " refusals, %" PRIu64 " losses, %" PRIu64 " releases, %" PRIu64
           " deleted by hand",
           count, sum->steps, sum->faults, sum->grants, sum->reentries,
           sum->shared_grants, sum->refusals, sum->losses, sum->releases,
           sum->nodes_deleted);
    if (sum->multi_grants > 0) {
        printf(", %" PRIu64 " of several, %" PRIu64 " resizings", sum->multi_grants,
               sum->resized);
    }
    if (sum->foreign_grants > 0) {
        printf(", %" PRIu64 " grants of other libraries", sum->foreign_grants);
    }
    if (sum->cohort_grants > 0) {
        printf(", %" PRIu64 " grants of a znode handed on", sum->cohort_grants);
    }
    if (sum->remote_grants > 0) {
        printf(", %" PRIu64 " in another session", sum->remote_grants);
    }
    if (sum->exhausted > 0) {
        printf(", %" PRIu64 " numbers worn out", sum->exhausted);
    }
    if (sum->persistent > 0) {
        printf(", %" PRIu64 " grants by persistent znodes", sum->persistent);
    }
    printf(", %" PRIu64 " given back at the limit", sum->given_back);
    if (sum->revoked > 0) {
        printf(", %" PRIu64 " revocations", sum->revoked);
    }
    if (history_tampered() > 0) {
        printf(", %" PRIu64 " replies tampered with", history_tampered());
    }
    if (sum->lost_txn_overlaps > 0) {
        printf(", %" PRIu64 " moments beside what was forgotten or untold",
               sum->lost_txn_overlaps);
    }
    if (sum->kept_reads > 0) {
        printf(", %" PRIu64 " downgrades, %" PRIu64 " upgrades refused", sum->kept_reads,
               sum->deadlocks);
    }
    printf(": all checks hold\n");
}

static int find_recipe(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        if (strcmp(argv[1], history_recipe_name(recipes[i])) == 0) {
            recipe = recipes[i];
            return 0;
        }
    }
    fprintf(stderr, "test_histories: which recipe?\n");
    return 1;
}

static int run_all(uint64_t first, uint64_t count)
{
    struct history_result sum = {0};

    for (uint64_t seed = first; seed < first + count; seed++) {
        if (history_tampered() >= setting("UVZK_TAMPERED", UINT64_MAX)) {
            count = seed - first;
            break;
        }
        if (run(seed, &sum) != 0) {
            return 1;
        }
        if ((seed - first + 1) % 1000 == 0) {
            printf("%" PRIu64 " done, the next seed is %" PRIu64 "\n", seed - first + 1,
                   seed + 1);
        }
    }
    const char *unseen = history_unseen(recipe, &sum);
    if (count >= ENOUGH && unseen != NULL) {
        printf("FAILED: so many histories, and not %s in them\n", unseen);
        return 1;
    }
    report(count, &sum);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t first = setting("UVZK_SEED", 1);
    uint64_t count = setting("UVZK_HISTORIES", history_transport.histories);

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (find_recipe(argc, argv) != 0) {
        return 2;
    }
    printf("%s: %" PRIu64 " histories from seed %" PRIu64 "\n",
           history_recipe_name(recipe), count, first);
    if (run_all(first, count) != 0 || replays_exactly(first) != 0) {
        fflush(NULL);
        _Exit(1); /* what is broken is not worth a leak report */
    }
    return 0;
}
