/* SPDX-License-Identifier: Apache-2.0 */
/* A play: a script of what a user does with one object, which is disturbed at every single
 * event, in every way there is. Whatever happens, the object is as it is to be when the
 * disturbance is over, and nothing is left. Which states of the object the disturbances have
 * met is counted: none may be missing. The same play while the n-th allocation fails. */
#ifndef UVZK_DISTURBED_PLAY_H
#define UVZK_DISTURBED_PLAY_H

#include "cmocka_test.h"

#include <stdbool.h>
#include <stdint.h>

#include "sim_process.h"
#include "world.h"

/* Each kind of play defines it. It begins with a struct play_stage. */
struct play;

enum play_end { GOES_ON, CLOSED, SHUT_OUT };

struct disturbance {
    const char *name;
    void (*disturb)(struct play *);
    enum play_end end;
    void (*trouble)(struct process *); /* or */
    enum sim_cut how;                  /* a connection is lost, for so long, or */
    uint64_t ms;
    int status; /* requests of kinds up to this one are refused */
    enum uvzk__rpc_kind last_kind;
};

struct play_stage {
    const struct play_kind *kind;
    const struct disturbance *disturbance; /* NULL: none */
    struct world world;
    struct process *process; /* of the object; the kind sets it */
    bool memory_may_fail;
};

struct play_action {
    uint64_t at_ms;
    void (*act)(struct play *);
};

struct play_kind {
    size_t size; /* of struct play */
    uint64_t ms; /* how long the script takes */
    const struct play_action *script;
    size_t actions;
    void (*close)(struct play *); /* the object, unless it is closed */
    /* Besides those that befall every client: the close of the object, and its own. */
    const struct disturbance *disturbances;
    size_t disturbance_count;
    size_t states;
    const char *(*state_name)(size_t state);
    /* Counts the states in which the object is. */
    void (*meet)(const struct play *, unsigned *met);
    /* The world has begun, and nothing else. */
    void (*begin)(struct play *);
    void (*each_step)(struct play *); /* may be NULL */
    /* Memory is there again; may be NULL. */
    void (*memory_back)(struct play *);
    /* After the script, undisturbed. */
    void (*check)(struct play *);
    /* Nothing has disturbed it for a minute. It goes on, or it has been closed, or the
     * client's credentials have been refused. Checks that, and ends the process. */
    void (*finish)(struct play *, enum play_end);
    uint64_t allocations; /* the script makes more than so many */
};

/* In the script: starts the client; cuts it off for 50 ms. */
void play_start(struct play *);
void play_cut_off(struct play *);

/* For tests beside these: a play that has begun; its end. */
struct play *play_begin(const struct play_kind *);
void play_finish(struct play *, enum play_end);

/* Each gets its kind as its state. */
void play_undisturbed(void **state);
void play_disturbed_at_every_event(void **state);
void play_every_state_has_met_every_disturbance(void **state);
void play_memory_runs_out(void **state);

#define PLAY_TESTS(kind)                                                               \
    {"undisturbed", play_undisturbed, NULL, NULL, kind},                               \
        {"disturbed_at_every_event", play_disturbed_at_every_event, NULL, NULL, kind}, \
        {"every_state_has_met_every_disturbance",                                      \
         play_every_state_has_met_every_disturbance, NULL, NULL, kind},                \
    {                                                                                  \
        "memory_runs_out", play_memory_runs_out, NULL, NULL, kind                      \
    }

#endif
