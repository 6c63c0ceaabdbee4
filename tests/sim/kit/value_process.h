/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated process that shares a value: a client with a shared value, and sets of it.
 * All callbacks are recorded.
 *
 * Each callback is checked, and the trace is printed before the test fails: the status
 * and the version are what the client has at that moment, a version never goes back,
 * nothing is reported twice or after the end, and a set is reported once. */
#ifndef UVZK_SIM_VALUE_PROCESS_H
#define UVZK_SIM_VALUE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process.h"
#include "value/shared_value.h"
#include "world.h"

#define VALUE_PROCESS_PATH "/app/values/v" /* of every value */
#define VALUE_PROCESS_NO_STATUS 9999       /* no callback has come yet */

struct value_process {
    struct process process;
    uvzk_shared_value_t value;
    int told; /* callbacks of the value; the last one's status and mzxid follow */
    int status;
    int64_t mzxid;
    int troubles;     /* how many of these callbacks had a status other than 0 */
    int value_closed; /* callbacks of the value's close */
    void (*hook)(
        struct value_process *); /* called inside the value's callback; may be NULL */
    void *data;                  /* for the test */
};

struct value_process_set {
    uvzk_req_t request;
    struct value_process *value_process;
    bool accepted;
    int told, status;
    int64_t known; /* the mzxid that was known at the callback; 0: none */
    uint64_t told_ms;
    void (*hook)(struct value_process_set *); /* inside its callback; may be NULL */
};

/* A test with VALUE_PROCESSES processes in one world (world_begin_exact). Its state is
 * the first process, "c". With value_process_made, the client of "c" is created but not
 * started. With value_process_told, "c" shares "seed" and has received the value. The
 * test may begin the others, which follow "c" in memory. The teardown ends all that were
 * begun. */
#define VALUE_PROCESSES 3
#define VALUE_PROCESS_CASE(test, setup) \
    cmocka_unit_test_setup_teardown(test, setup, value_processes_end)
int value_process_made(void **state);
int value_process_told(void **state);
int value_processes_end(void **state);

/* Creates the client without starting it. options: NULL for those of process_options. */
void value_process_begin(struct value_process *value_process, struct world *world,
                         const char *name, const uvzk_client_options_t *options);
/* Calls uvzk_shared_value_init with the text as the seed and returns its result. */
int value_process_share(struct value_process *value_process, const char *seed);
/* Shares a value with this seed, and starts the client. */
void value_process_start(struct value_process *value_process, const char *seed);
/* Begins a process with the default options, shares the value, starts the client, and
 * waits for the value's first callback. */
void value_process_open(struct value_process *value_process, struct world *world,
                        const char *name, const char *seed);

/* The simulation of the process's world. */
struct sim *value_process_sim(const struct value_process *value_process);
/* The node cache of the value; NULL after the value's end. */
struct uvzk__node_cache *
value_process_node_cache(const struct value_process *value_process);

/* Begin a set of the text and return the result of the call: 0, or the code of a refusal,
 * after which no callback comes. try_set: only over this version. */
int value_process_set(struct value_process_set *set, struct value_process *value_process,
                      const char *text);
int value_process_try_set(struct value_process_set *set,
                          struct value_process *value_process,
                          const uvzk_value_version_t *version, const char *text);
bool value_process_set_over(
    const struct value_process_set *set); /* its callback has come, or it was refused */

/* The version that the client knows; zeros: none. */
uvzk_value_version_t value_process_version(const struct value_process *value_process);
/* Whether the client knows this text as the value; whether the znode has it as its
 * data. */
bool value_process_knows(const struct value_process *value_process, const char *text);
bool value_process_znode_is(const struct sim *sim, const char *text);
/* Returns true if the client knows the znode's current data, mzxid and version, and the
 * last callback reported them. */
bool value_process_is_current(const struct value_process *value_process);

/* Set the data of the znode, create it with its parents, or delete it, as an operator
 * does. */
void value_process_set_by_hand(struct sim *sim, const char *text);
void value_process_make_by_hand(struct sim *sim);
void value_process_delete_by_hand(struct sim *sim);

/* Runs the simulation until the counter has reached the value. Fails the test after one
 * virtual minute. */
void value_process_await(const struct value_process *value_process, const int *counter,
                         int value);
/* Waits for the callback of the set, and asserts its status. */
void value_process_await_set(const struct value_process_set *set, int status);
/* Waits until value_process_is_current. Fails the test after one virtual minute. */
void value_process_await_current(struct value_process *value_process);

/* Closes the value if it is open, asserts that the client has nothing left of it, and
 * closes the client if it is open. */
void value_process_end(struct value_process *value_process);
/* Begins to close the value. `value_closed` counts the callback. */
void value_process_close_value(struct value_process *value_process);

/* Prints the trace and fails the test. */
void value_process_fail(const struct value_process *value_process, const char *format,
                        ...) __attribute__((format(printf, 2, 3)));

#endif
