/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated process with a persistent node. All callbacks are recorded.
 *
 * Each callback is checked, and the trace is printed before the test fails: a status is not
 * told twice in a row, none is told after the close, and when the node is told to be there, it
 * is there, with its data, in the process's session if it is ephemeral. */
#ifndef UVZK_SIM_PERSISTENT_PROCESS_H
#define UVZK_SIM_PERSISTENT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "membership/persistent_node.h"
#include "process.h"
#include "world.h"

#define PERSISTENT_PROCESS_PATH "/app/workers/w" /* of every node */
#define PERSISTENT_PROCESS_NO_STATUS 9999        /* no callback has come yet */
#define PATIENCE_MS 60000U /* in virtual time: how long a callback is waited for */

struct persistent_process {
    struct process process;
    uvzk_persistent_node_t node;
    uint32_t mode;
    const char *data; /* what it was to have last */
    int told, status; /* callbacks; the status of the last one */
    int present;      /* callbacks with status 0 */
    int node_closed, close_status;
    /* Somebody else may set or delete the znode at any time, so it is not compared. */
    bool disturbed;
};

/* Creates a client and its persistent node without starting the client. */
void persistent_process_begin(struct persistent_process *process, struct world *world,
                              const char *name, uint32_t mode, const char *data);
/* Calls uvzk_persistent_node_init and returns its result. */
int persistent_process_init(struct persistent_process *process, const char *data);
/* Begins a process, starts its client, and waits until the node is told to be there. */
void persistent_process_open(struct persistent_process *process, struct world *world,
                             const char *name, uint32_t mode, const char *data);
/* Calls uvzk_persistent_node_set_data and returns its result. data: static text. */
int persistent_process_set(struct persistent_process *process, const char *data);

/* Waits until the counter has reached the value, for one virtual minute at most. */
void persistent_process_await(const struct persistent_process *process,
                              const int *counter, int value);
/* Returns true if the znode exists with these data, and, if it is ephemeral, in the
 * process's session. */
bool persistent_process_is_there(const struct persistent_process *process);
/* Creates the parents of the node, as another client does. */
void persistent_process_make_parents(struct sim *sim);

/* Begins to close the node. `node_closed` counts the callback. */
void persistent_process_close(struct persistent_process *process);
/* Closes the node and the client, if they are open, waits for both, and asserts that the
 * client has no watch left. */
void persistent_process_end(struct persistent_process *process);

/* Prints the trace and fails the test. */
void persistent_process_fail(const struct persistent_process *process, const char *format,
                             ...) __attribute__((format(printf, 2, 3)));

#endif
