/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated process with a group member. All callbacks are recorded.
 *
 * Each callback is checked, and the trace is printed before the test fails: a status of the
 * own znode is not told twice in a row, neither is a list, none is told after the close, and
 * the process itself is always listed, with its own data. */
#ifndef UVZK_SIM_GROUP_PROCESS_H
#define UVZK_SIM_GROUP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "membership/group_member.h"
#include "process.h"
#include "world.h"

#define GROUP_PROCESS_PATH "/app/group" /* of every group */
#define GROUP_PROCESS_NO_STATUS 9999    /* no callback has come yet */
#define GROUP_PROCESS_LIST_SIZE 512U    /* of a list as text, in bytes */
#define PATIENCE_MS 60000U /* in virtual time: how long a callback is waited for */

struct group_process {
    struct process process;
    uvzk_group_member_t member;
    const char *id, *data;     /* data: what its znode was to have last */
    int told, status, present; /* joined_cb: calls, the last status, calls with 0 */
    int changed, list_status;  /* members_cb: calls with 0, the last status */
    /* As told last: "id=data@mzxid ", in order. */
    char told_list[GROUP_PROCESS_LIST_SIZE];
    int member_closed, close_status;
};

/* Creates a client and its group member without starting the client. The id is the name of
 * the process. */
void group_process_begin(struct group_process *process, struct world *world,
                         const char *name, const char *data);
/* Calls uvzk_group_member_init with this id and returns its result. */
int group_process_init(struct group_process *process, const char *id, const char *data);
/* Begins a process, starts its client, and waits until it has joined and has been told of
 * the members. */
void group_process_open(struct group_process *process, struct world *world,
                        const char *name, const char *data);
/* Calls uvzk_group_member_set_data and returns its result. data: static text. */
int group_process_set(struct group_process *process, const char *data);

/* Waits until the counter has reached the value, for one virtual minute at most. */
void group_process_await(const struct group_process *process, const int *counter,
                         int value);
/* What uvzk_group_member_list returns, as "id=data ". */
void group_process_list(const struct group_process *process, char *text);
/* Waits until the list is this text, and has been told, for one virtual minute at most. */
void group_process_await_list(const struct group_process *process, const char *text);
/* Creates the path of the group, as another client does. */
void group_process_make_path(struct sim *sim);

/* Begins to close the member. `member_closed` counts the callback. */
void group_process_close(struct group_process *process);
/* Closes the member and the client, if they are open, waits for both, and asserts that the
 * client has no watch left. */
void group_process_end(struct group_process *process);

/* Prints the trace and fails the test. */
void group_process_fail(const struct group_process *process, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
