/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated process with an atomic long, and calls on it. All callbacks are recorded.
 *
 * Each callback is checked, and the trace is printed before the test fails: a call is
 * reported once, with a status, and not after the end of its atomic long. */
#ifndef UVZK_SIM_ATOMIC_PROCESS_H
#define UVZK_SIM_ATOMIC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "atomic/atomic_long.h"
#include "process.h"
#include "world.h"

#define ATOMIC_PROCESS_PATH "/app/numbers/n"  /* of every number */
#define ATOMIC_PROCESS_MUTEX "/app/promotion" /* of the promoted phase */
#define ATOMIC_PROCESS_NO_STATUS 9999         /* no callback has come yet */
#define PATIENCE_MS 60000U /* in virtual time: how long a callback is waited for */

struct atomic_process {
    struct process process;
    uvzk_atomic_long_t atomic;
    int atomic_closed; /* callbacks of the close */
};

struct atomic_process_call {
    uvzk_req_t call;
    struct atomic_process *atomic_process;
    bool accepted;
    int told, status;
    uvzk_atomic_value_t value;
};

/* Options with so many tries without a pause in the optimistic phase. promoted: with the
 * mutex, and as many tries. */
void atomic_process_options(uvzk_atomic_long_options_t *options, uint32_t tries,
                            bool promoted);
/* Creates a client and its atomic long without starting the client. options: NULL for the
 * defaults. */
void atomic_process_begin(struct atomic_process *process, struct world *world,
                          const char *name, const uvzk_atomic_long_options_t *options);
/* Calls uvzk_atomic_long_init and returns its result. */
int atomic_process_init(struct atomic_process *process,
                        const uvzk_atomic_long_options_t *options);
/* Begins a process, starts its client, and waits until it is connected. */
void atomic_process_open(struct atomic_process *process, struct world *world,
                         const char *name, const uvzk_atomic_long_options_t *options);

/* Begin a call and return its result: 0, or the code of a refusal, after which no callback
 * comes. */
int atomic_process_get(struct atomic_process_call *, struct atomic_process *);
int atomic_process_add(struct atomic_process_call *, struct atomic_process *,
                       int64_t delta);
int atomic_process_compare_and_set(struct atomic_process_call *, struct atomic_process *,
                                   int64_t expected, int64_t value);
int atomic_process_try_set(struct atomic_process_call *, struct atomic_process *,
                           int64_t value);
int atomic_process_force_set(struct atomic_process_call *, struct atomic_process *,
                             int64_t value);
int atomic_process_create(struct atomic_process_call *, struct atomic_process *,
                          int64_t value);
/* Its callback has come, or it was refused. */
bool atomic_process_call_over(const struct atomic_process_call *);
/* Waits for the callback, for one virtual minute at most, and returns its status. */
int atomic_process_await(struct atomic_process_call *);

/* The number that the znode has; -999 if it is missing or has no eight bytes. The other
 * two write it, or other bytes, as another client does; the znode is created if it is
 * missing. */
int64_t atomic_process_number(const struct sim *sim);
void atomic_process_set_by_hand(struct sim *sim, int64_t number);
void atomic_process_set_bytes(struct sim *sim, const void *bytes, size_t length);

/* Begins to close the atomic long. `atomic_closed` counts the callback. */
void atomic_process_close(struct atomic_process *process);
/* Closes the atomic long and the client, if they are open, and waits for both. */
void atomic_process_end(struct atomic_process *process);

/* Prints the trace and fails the test. */
void atomic_process_fail(const struct atomic_process *process, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
