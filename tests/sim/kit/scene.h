/* The stage of the regression tests: a simulated ensemble, a few processes with
 * a client and a mutex each, and their claims on one lock, of which everything
 * that is told is written down. Checked throughout, whatever a test is about:
 *
 *   exclusion   at every grant and at every virtual millisecond, no two claims
 *               of the path are valid holds
 *   answers     every claim is told once how its acquire ended, and once how its
 *               hold ended, in that order
 *   residue     scene_end() finds no contender, no watch and no session left
 *
 * With UVZK_VERBOSE set in the environment every line of every trace goes to
 * stderr. */
#ifndef UVZK_SCENE_H
#define UVZK_SCENE_H

#include "cmocka_test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/client.h"
#include "sim.h"
#include "uvzk.h"

#define SCENE_PATH "/locks/a"
#define SCENE_TIMEOUT_MS 10000U /* of every session */
#define SCENE_STATES 32
#define SCENE_NOWHERE SIZE_MAX

/* Each test runs with the plain algorithm and with every optimisation. Its state
 * is the tuning, for scene_begin. */
extern unsigned scene_plain, scene_tuned;
#define SCENE_CASE(test, how) \
    ((struct CMUnitTest){#test ", " #how, test, NULL, NULL, &scene_##how})
#define SCENE_TEST(test) SCENE_CASE(test, plain), SCENE_CASE(test, tuned)

/* One acquire. The counters count callbacks. */
struct claim {
    uvzk_hold_t request;
    struct process *process;
    struct claim *next;
    int acquired, queued, lost, released;
    int status, reason, release_status;
    uint64_t acquired_ms, lost_ms, released_ms;
    uint64_t ahead;               /* told when queued */
    int64_t token;                /* at the grant */
    int64_t owner;                /* ephemeralOwner of its znode at the grant; -1: gone */
    char path[256];               /* of its znode, at the grant */
    bool stood_when_released;     /* its znode, when release_cb came with 0 */
    void (*hook)(struct claim *); /* run inside the acquire and lost callbacks */
};

struct scene {
    struct sim *sim;
    unsigned tuning;
    uint64_t seed;
    char **lines; /* of the trace */
    size_t line_count, line_room;
    struct process *processes;
    struct claim *claims;
    struct claim first; /* of scene_make_directory */
};

struct process {
    struct scene *scene;
    struct process *next;
    const char *name; /* as the trace has it */
    struct uvzk__port *port;
    uvzk_client_t client;
    uvzk_mutex_t mutex; /* of SCENE_PATH */
    uvzk_client_state_t states[SCENE_STATES];
    uint64_t state_ms[SCENE_STATES];
    size_t state_count;
    int closed;  /* callbacks of uvzk_client_close */
    bool killed; /* its session was ended before its time */
};

/* state: of the cmocka test. Whatever may vary without a test minding varies with
 * the seed: followers, hops, the order of simultaneous events. */
void scene_begin(struct scene *scene, uint64_t seed, void *const *state);
void scene_end(struct scene *scene);
/* The same with so many servers (sim_options): who connects where is the test's to say. */
void scene_begin_servers(struct scene *scene, uint64_t seed, void *const *state,
                         uint32_t servers);

/* How most stories open, by what there is before anything happens: a process "a", or
 * "a" and "b" as well, of which neither need be connected yet. Then A may hold the lock,
 * and B, which has just asked for it, be on its way to waiting. */
void scene_begin_one(struct scene *scene, uint64_t seed, void *const *state,
                     struct process *a);
void scene_begin_two(struct scene *scene, uint64_t seed, void *const *state,
                     struct process *a, struct process *b);
void scene_begin_held(struct scene *scene, uint64_t seed, void *const *state,
                      struct process *a, struct claim *held);
void scene_begin_queued(struct scene *scene, uint64_t seed, void *const *state,
                        struct process *a, struct claim *held, struct process *b,
                        struct claim *waits);
/* The lock is taken and given back, once in a scene: its directory stands then, and the
 * first create of the next claim makes a znode. */
void scene_make_directory(struct scene *scene, struct process *process);

/* Virtual time passes, checked at every millisecond. */
void scene_run_for(struct scene *scene, uint64_t ms);
/* Performs so many events, the way to reach any moment in between. */
void scene_steps(struct scene *scene, uint64_t count);
/* Until the counter is above 0; false: not within ms. */
bool scene_await(struct scene *scene, const int *counter, uint64_t ms);
/* Until the trace has such a line at or after `from`; false: not within ms. */
bool scene_await_line(struct scene *scene, size_t from, const char *who, const char *text,
                      uint64_t ms);

/* The first line at or after `from` that is about `who` and begins with `text`;
 * SCENE_NOWHERE. And how many there are. */
size_t scene_line(const struct scene *scene, size_t from, const char *who,
                  const char *text);
size_t scene_count(const struct scene *scene, size_t from, const char *who,
                   const char *text);
/* How many creates of contenders' znodes by this process the server has carried
 * out. */
size_t scene_znodes_made(const struct scene *scene, size_t from, const char *who);

/* By hand, of the child that was made as the one with this index, and still stands. */
void scene_delete_child(const struct scene *scene, const char *parent, size_t index);
/* Children of the lock's path. */
size_t scene_queue_length(const struct scene *scene);

/* Begins and starts a client. options: NULL for a few quick retries. */
void process_begin(struct process *process, struct scene *scene, const char *name,
                   const uvzk_client_options_t *options);
void process_options(uvzk_client_options_t *options);
void process_close(struct process *process);
void process_expire(struct process *process); /* an operator ends its session */
/* Its mutex, yet unused, becomes a lock with this driver, of the same path. */
void process_drive(struct process *process, const uvzk_lock_driver_t *driver);
/* What may befall it, each to be put into a table of troubles: nothing, or one loss on
 * its connection (sim.h). */
void process_in_peace(struct process *process);
void process_lose_request(struct process *process);
void process_lose_reply(struct process *process);
void process_spoil_reply(struct process *process);
bool process_connected(const struct process *process);
bool process_await_connected(struct process *process, uint64_t ms);
/* Whether it was told of this state, since the states counted `from`. */
bool process_was_told(const struct process *process, size_t from,
                      uvzk_client_state_t state);

void claim_begin(struct claim *claim, struct process *process, int64_t timeout_ms);
void claim_begin_for(struct claim *claim, struct process *process, void *owner,
                     int64_t timeout_ms);
void claim_release(struct claim *claim);
/* Waits for the grant and asserts it. */
void claim_await(struct claim *claim, uint64_t ms);
/* Waits for the answer, and asserts that it is this one. */
void claim_await_status(struct claim *claim, uint64_t ms, int status);
/* Begins, waits for the grant and asserts it. */
void claim_take(struct claim *claim, struct process *process);
/* Releases and waits for the outcome, which must be 0. */
void claim_give_back(struct claim *claim);

#endif
