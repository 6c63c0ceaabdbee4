/* The world of the tests of whole clients: a simulated ensemble, its processes, and their
 * holds (hold.h), of which everything that is told is written down.
 *
 * Checked throughout, whatever a test is about, the trace printed before it fails:
 *
 *   exclusion   at every grant and at every virtual millisecond, no two holds of the
 *               processes' mutexes, which have one path, are valid
 *   znodes      what is granted stands, in a session that is alive and the process's own
 *   answers     as hold.h has it
 *   soundness   what each client keeps is of one mind with itself (invariants.h)
 *   residue     world_end() finds no contender, no watch and no session left
 *
 * With UVZK_VERBOSE set in the environment every line of every trace goes to stderr. */
#ifndef UVZK_SIM_KIT_WORLD_H
#define UVZK_SIM_KIT_WORLD_H

#include "cmocka_test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hold.h"
#include "process.h"
#include "sim.h"

#define WORLD_PATH "/locks/a"
#define WORLD_TIMEOUT_MS 10000U /* of every session */
#define WORLD_NO_LINE SIZE_MAX

/* Many tests run with the plain algorithm and with every optimisation: the state of each
 * is its tuning. */
extern unsigned world_plain, world_tuned;
#define WORLD_CASE(test, how) \
    ((struct CMUnitTest){#test ", " #how, test, NULL, NULL, &world_##how})
#define WORLD_TEST(test) WORLD_CASE(test, plain), WORLD_CASE(test, tuned)

/* And many of them tell one story again for each number of a range: a seed, often with
 * more that depends on it. The story begins its world with what it is given, and ends
 * it. */
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
    char **lines; /* of the trace, if they are kept */
    size_t line_count, line_room;
    struct process *processes;
    struct hold *holds; /* that are not over */
    int grants, ends;   /* of holds, so far */
    struct hold first;  /* of world_make_directory */
    /* The test's to set: */
    bool holder_deleted; /* somebody deleted a holder's znode: no lock survives that */
    uint64_t outage_ms;  /* of those that are cut off by process_reset() and the like */
    const char *what;    /* printed when the test fails; may be NULL */
    void (*each_ms)(struct world *); /* called when a ms has passed; may be NULL */
    void (*failing)(struct world *); /* called before the test fails; may be NULL */
    void *data;                      /* the test's own */
};

/* Seeds, for tests that do mind: holds are told of queues, for which directories are
 * listed; or they are not. */
#define WORLD_QUEUED_CB 1U
#define WORLD_NO_QUEUED_CB 2U

/* state: of the cmocka test, a tuning. Whatever may vary without a test minding varies
 * with the seed: followers, hops, the order of simultaneous events, whether holds are
 * told of queues. */
void world_begin(struct world *world, uint64_t seed, void *const *state);
/* The same with so many servers (sim_options): who connects where is the test's to say. */
void world_begin_servers(struct world *world, uint64_t seed, void *const *state,
                         uint32_t servers);
/* Without chance: each message takes so many ms one way, one server. */
void world_begin_exact(struct world *world, unsigned tuning, uint32_t latency_ms);
/* A simulation of one's own making; the trace is the world's. */
void world_begin_with(struct world *world, uint64_t seed, unsigned tuning,
                      const struct sim_options *options);
/* And two processes, "a" and "b", which begin to connect. */
void world_begin_exact_two(struct world *world, unsigned tuning, uint32_t latency_ms,
                           struct process *a, struct process *b);
void world_exact_options(struct sim_options *options, uint32_t latency_ms);
void world_end(struct world *world);
/* What is checked throughout, once more: where a test steps the simulation by itself. */
void world_check(struct world *world);

/* How most stories open, by what there is before anything happens: a process "a", or
 * "a" and "b" as well, of which neither need be connected yet. Then A may hold the mutex,
 * and B, which has just asked for it, be on its way to waiting. */
void world_begin_one(struct world *world, uint64_t seed, void *const *state,
                     struct process *a);
void world_begin_two(struct world *world, uint64_t seed, void *const *state,
                     struct process *a, struct process *b);
/* The two, connected. */
void world_begin_ready(struct world *world, uint64_t seed, void *const *state,
                       struct process *a, struct process *b);
void world_begin_held(struct world *world, uint64_t seed, void *const *state,
                      struct process *a, struct hold *held);
void world_begin_queued(struct world *world, uint64_t seed, void *const *state,
                        struct process *a, struct hold *held, struct process *b,
                        struct hold *waits);
/* The mutex is taken and given back, once in a world: its directory stands then, and the
 * first create of the next hold makes a znode. */
void world_make_directory(struct world *world, struct process *process);

/* Prints the trace and fails. */
void world_fail(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------------- time passes */

uint64_t world_now(const struct world *world);
/* Checked at every millisecond, as long as somebody holds or waits. */
void world_run_for(struct world *world, uint64_t ms);
void world_run_until(struct world *world, uint64_t at_ms);
/* Performs so many events, the way to reach any moment in between. */
void world_steps(struct world *world, uint64_t count);
/* Until the counter is above 0, or has reached a value; false: not within ms. */
bool world_await(struct world *world, const int *counter, uint64_t ms);
bool world_await_count(struct world *world, const int *counter, int value, uint64_t ms);
/* Until all of them hold; false, with what there is printed: not by then. */
bool world_await_all(struct world *world, const struct hold *holds, size_t count,
                     uint64_t by_ms);
/* Everybody lets go of what he holds as he comes to it, until all holds are over; fails
 * after two virtual minutes. Then nothing is left of any client, nor at WORLD_PATH. */
void world_release_all(struct world *world);
/* The same for one of them, and for the others only if it takes half a minute. */
void world_finish(struct world *world, struct hold *hold);
/* The end of most stories: everybody lets go, and the world ends. */
void world_release_and_end(struct world *world);
/* Waits for its answer, whatever it is; the others let go if it takes half a minute. */
void world_await_answer(struct world *world, const struct hold *hold);

/* -------------------------------------------------------------------- the trace */

/* A line of the test's own. */
void world_note(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The first line at or after `from` that is about `who` and begins with `text`;
 * WORLD_NO_LINE. And how many there are. Kept by world_begin and world_begin_servers. */
size_t world_line(const struct world *world, size_t from, const char *who,
                  const char *text);
size_t world_count(const struct world *world, size_t from, const char *who,
                   const char *text);
/* Until the trace has such a line at or after `from`; false: not within ms. */
bool world_await_line(struct world *world, size_t from, const char *who, const char *text,
                      uint64_t ms);
/* How many creates of contenders' znodes by this process the server has carried
 * out. */
size_t world_znodes_made(const struct world *world, size_t from, const char *who);

/* ------------------------------------------------------------ another one's hand */

/* Znodes of a path of which some may stand; its next sequential child gets the number 1. */
void world_make_path(struct world *world, const char *path);
/* Another one's contender in this directory, by the end of its name ("lock-", "__WRIT__",
 * "__READ__", "lease-"), in a session that never ends: its path, "" if there is no such
 * directory. */
#define WORLD_FOREIGN_PREFIX "/_c_64fc66ae-773f-4d77-9695-eba698b095f7-"
struct world_path {
    char text[HOLD_PATH_MAX];
};
struct world_path world_foreign_node(struct world *world, const char *directory,
                                     const char *end);
/* Deletes it, or another znode; nothing if there is none. */
void world_delete(struct world *world, const struct world_path *path);
/* The child that was made as the one with this index, and still stands. */
struct world_path world_child(const struct world *world, const char *parent,
                              size_t index);
void world_delete_child(struct world *world, const char *parent, size_t index);
/* Children of WORLD_PATH, and of another one. */
size_t world_queue_length(const struct world *world);
size_t world_children(const struct world *world, const char *path);

/* ----------------------------------------------------------------- for hold.c alone */

bool world_has_queued_cb(const struct world *world);
void world_granted(struct world *world, struct hold *hold);

#endif
