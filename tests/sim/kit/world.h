/* SPDX-License-Identifier: Apache-2.0 */
/* The world of the tests of whole clients: a simulated ensemble, its processes, and their
 * holds (hold.h). All callbacks are recorded.
 *
 * The world checks the following in every test. It prints the trace before the test
 * fails:
 *
 *   exclusion   at every grant and at every virtual millisecond, no two holds of the
 *               processes' mutexes, which are at one path, are valid
 *   znodes      the znodes of a granted hold exist, in a living session of its process
 *   answers     see hold.h
 *   soundness   the structures of each client are consistent (invariants.h)
 *   residue     at world_end(), no contender, no watch and no session is left
 *
 * If UVZK_VERBOSE is set in the environment, every line of every trace goes to stderr. */
#ifndef UVZK_SIM_KIT_WORLD_H
#define UVZK_SIM_KIT_WORLD_H

#include "cmocka_test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hold.h"
#include "process.h"
#include "sim.h"
#include "sim_process.h"
#include "world_interface.h"

#define WORLD_PATH "/locks/a"
#define WORLD_TIMEOUT_MS 10000U /* of every session */
#define WORLD_NO_LINE SIZE_MAX

/* Many tests run twice: with the plain algorithm and with all optimisations. The state of
 * each test is its tuning. */
extern unsigned world_plain, world_tuned;
#define WORLD_CASE(test, how) \
    ((struct CMUnitTest){#test ", " #how, test, NULL, NULL, &world_##how})
#define WORLD_TEST(test) WORLD_CASE(test, plain), WORLD_CASE(test, tuned)

/* Many tests are scenarios, which run once for each number from `first` to `last`. The
 * number is the seed, and often also selects variants. The scenario begins a world with
 * the arguments that it gets, and ends that world. */
struct world_scenario {
    void (*run)(uint64_t seed, void *const *state);
    uint64_t first, last;
    unsigned *tuning;
};
void world_run_scenario(void **state);
#define WORLD_SCENARIO_CASE(story, first, last, how)                       \
    ((struct CMUnitTest){#story ", " #how, world_run_scenario, NULL, NULL, \
                         &(struct world_scenario){story, first, last, &world_##how}})
#define WORLD_SCENARIO(story, first, last)          \
    WORLD_SCENARIO_CASE(story, first, last, plain), \
        WORLD_SCENARIO_CASE(story, first, last, tuned)

struct world {
    struct sim *sim;
    unsigned tuning; /* UVZK__TUNE_* */
    uint64_t seed;
    uvzk_client_options_t options; /* of the next process; the test may change them */
    const char *path;              /* of the processes' mutexes: WORLD_PATH */
    /* The trace, if world_begin or world_begin_servers has made the world. */
    char **lines;
    size_t line_count, line_room;
    struct process *processes;
    struct hold *holds;     /* holds and acquires that are not over */
    int grants, ends;       /* grants and ends of holds, so far */
    struct hold first;      /* for world_make_directory */
    uint64_t checked_steps; /* of the simulation, when the clients were checked last */
    /* To be set by the test: */
    /* Another client has deleted a holder's znode. No lock remains exclusive then, so
     * exclusion is not checked. */
    bool holder_deleted;
    uint64_t outage_ms;              /* how long process_reset() and the like cut off */
    const char *what;                /* printed when the test fails; may be NULL */
    void (*each_ms)(struct world *); /* called after each ms; may be NULL */
    void (*failing)(struct world *); /* called before the test fails; may be NULL */
    void *data;                      /* for the test */
};

/* Seeds for tests in which this matters: acquires have a queued_cb, for which directories
 * are listed, or they have none. */
#define WORLD_QUEUED_CB 1U
#define WORLD_NO_QUEUED_CB 2U

/* state: of the cmocka test, a tuning. What may vary without effect on a test varies with
 * the seed: followers, the delay of callbacks, the order of simultaneous events, and
 * whether acquires have a queued_cb. */
void world_begin(struct world *world, uint64_t seed, void *const *state);
/* Like world_begin, with several servers (sim_options). The test decides to which server
 * each process connects. */
void world_begin_servers(struct world *world, uint64_t seed, void *const *state,
                         uint32_t servers);
/* A world without randomness: one server, and each message takes latency_ms one way. */
void world_begin_exact(struct world *world, unsigned tuning, uint32_t latency_ms);
/* A world over a simulation with these options. The world owns the simulation. */
void world_begin_with(struct world *world, uint64_t seed, unsigned tuning,
                      const struct sim_options *options);
/* Calls world_begin_exact and begins two processes, "a" and "b", which then connect. */
void world_begin_exact_two(struct world *world, unsigned tuning, uint32_t latency_ms,
                           struct process *a, struct process *b);
/* Sets the options of world_begin_exact. */
void world_exact_options(struct sim_options *options, uint32_t latency_ms);
/* Closes all clients, checks that nothing is left, and frees the simulation. All holds
 * must be over. */
void world_end(struct world *world);
/* Performs the checks of every step, for a test that steps the simulation by itself. */
void world_check(struct world *world);

/* The usual beginnings of a scenario. The processes need not be connected when these
 * functions return.
 *
 * Begins a process "a". */
void world_begin_one(struct world *world, uint64_t seed, void *const *state,
                     struct process *a);
/* Begins the processes "a" and "b". */
void world_begin_two(struct world *world, uint64_t seed, void *const *state,
                     struct process *a, struct process *b);
/* Begins "a" and "b" and waits until both are connected. */
void world_begin_ready(struct world *world, uint64_t seed, void *const *state,
                       struct process *a, struct process *b);
/* Begins "a" and waits until it holds the mutex. */
void world_begin_held(struct world *world, uint64_t seed, void *const *state,
                      struct process *a, struct hold *held);
/* Like world_begin_held; then "b" begins an acquire of the mutex. */
void world_begin_queued(struct world *world, uint64_t seed, void *const *state,
                        struct process *a, struct hold *held, struct process *b,
                        struct hold *waits);
/* Acquires the mutex and releases it. Afterwards the lock directory exists, so the first
 * create of the next acquire makes a znode. Once for each world. */
void world_make_directory(struct world *world, struct process *process);

/* -------------------------------------------------------------------------- time */

/* Runs the simulation until the time at_ms, which may be in the past. */
void world_run_until(struct world *world, uint64_t at_ms);
/* Performs `count` events. With it a test can stop at any point between two events. */
void world_steps(struct world *world, uint64_t count);
/* Runs the simulation until the time by_ms. Returns whether all of the holds are held
 * then. If not, prints how many are held, and how many one minute later. */
bool world_await_all(struct world *world, const struct hold *holds, size_t count,
                     uint64_t by_ms);
/* Releases each hold once it is granted, until all are over, and fails the test after two
 * virtual minutes. Then checks that no client has contenders or watches left, and that
 * WORLD_PATH has no children. */
void world_release_all(struct world *world);
/* The same for one hold. The other holds are released only if it takes longer than half a
 * minute. */
void world_finish(struct world *world, struct hold *hold);
/* The end of most scenarios: calls world_release_all and world_end. */
void world_release_and_end(struct world *world);
/* Waits for the answer of an acquire, whatever it is. If it takes longer than half a
 * minute, all other holds are released. */
void world_await_answer(struct world *world, const struct hold *hold);

/* -------------------------------------------------------------------- the trace */

/* The first line at or after `from` whose subject is `who` and which begins with `text`;
 * WORLD_NO_LINE: there is none. The trace is kept only by world_begin and
 * world_begin_servers. */
size_t world_line(const struct world *world, size_t from, const char *who,
                  const char *text);
/* How many such lines there are. */
size_t world_count(const struct world *world, size_t from, const char *who,
                   const char *text);
/* Runs the simulation until the trace has such a line at or after `from`. Returns false
 * if there is none within `ms`. */
bool world_await_line(struct world *world, size_t from, const char *who, const char *text,
                      uint64_t ms);
/* How many creates of contenders' znodes in WORLD_PATH the server has executed for the
 * process `who`, counted from the line `from`. */
size_t world_znodes_made(const struct world *world, size_t from, const char *who);

/* -------------------------------------------------------- changes by an operator */

/* Creates the znodes of a path that do not exist yet. The next sequential child of the
 * path gets the number 1. */
void world_make_path(struct world *world, const char *path);
/* Creates a contender of a foreign client in this directory, in a session that never
 * ends. end: the end of its name before the sequence number ("lock-", "__WRIT__",
 * "__READ__", "lease-"). Returns its path; "" if the directory does not exist. */
#define WORLD_FOREIGN_PREFIX "/_c_64fc66ae-773f-4d77-9695-eba698b095f7-"
struct world_path {
    char text[HOLD_PATH_MAX];
};
struct world_path world_foreign_node(struct world *world, const char *directory,
                                     const char *end);
/* Deletes this znode. Does nothing if the path is "". */
void world_delete(struct world *world, const struct world_path *path);
/* The child with this index, in the order of creation, among those that exist. */
struct world_path world_child(const struct world *world, const char *parent,
                              size_t index);
/* Deletes that child. */
void world_delete_child(struct world *world, const char *parent, size_t index);
/* The number of children of WORLD_PATH; of another path. */
size_t world_queue_length(const struct world *world);
size_t world_children(const struct world *world, const char *path);

#endif
