/* SPDX-License-Identifier: Apache-2.0 */
#include "persistent_process.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void persistent_process_fail(const struct persistent_process *process, const char *format,
                             ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    world_fail(process->process.world, "%s: %s", process->process.name, text);
}

bool persistent_process_is_there(const struct persistent_process *process)
{
    const struct sim *sim = process->process.world->sim;
    struct uvzk__stat stat;
    size_t length;
    const void *data = sim_data(sim, PERSISTENT_PROCESS_PATH, &length);
    int64_t owner = process->mode == UVZK_PERSISTENT_NODE_EPHEMERAL
                        ? uvzk_client_session_id(&process->process.client)
                        : 0;

    return data != NULL && sim_stat(sim, PERSISTENT_PROCESS_PATH, &stat) &&
           stat.ephemeral_owner == owner && length == strlen(process->data) &&
           memcmp(data, process->data, length) == 0;
}

static void on_change(uvzk_persistent_node_t *node, int status)
{
    struct persistent_process *process = node->data;

    world_note(process->process.world, "%s: its node is %s", process->process.name,
               uvzk_err_name(status));
    if (process->node_closed > 0 || process->process.closing) {
        persistent_process_fail(process, "told after the close");
    }
    if (status > 0 || (status != 0 && status == process->status)) {
        persistent_process_fail(process, "told %s twice", uvzk_err_name(status));
    }
    if (status == 0 && !process->disturbed && !persistent_process_is_there(process)) {
        persistent_process_fail(process, "told of a node that is not there");
    }
    process->told++;
    process->present += status == 0;
    process->status = status;
}

int persistent_process_init(struct persistent_process *process, const char *data)
{
    process->node.data = process;
    process->data = data;
    process->status = PERSISTENT_PROCESS_NO_STATUS;
    return uvzk_persistent_node_init(&process->process.client, &process->node,
                                     PERSISTENT_PROCESS_PATH, process->mode, data,
                                     strlen(data), on_change);
}

void persistent_process_begin(struct persistent_process *process, struct world *world,
                              const char *name, uint32_t mode, const char *data)
{
    memset(process, 0, sizeof(*process));
    process->mode = mode;
    process_make(&process->process, world, name, NULL);
    assert_int_equal(persistent_process_init(process, data), 0);
}

void persistent_process_open(struct persistent_process *process, struct world *world,
                             const char *name, uint32_t mode, const char *data)
{
    persistent_process_begin(process, world, name, mode, data);
    process_start(&process->process);
    persistent_process_await(process, &process->present, 1);
}

int persistent_process_set(struct persistent_process *process, const char *data)
{
    int status = uvzk_persistent_node_set_data(&process->node, data, strlen(data));

    if (status == 0) {
        process->data = data;
    }
    return status;
}

void persistent_process_await(const struct persistent_process *process,
                              const int *counter, int value)
{
    if (!world_await_count(process->process.world, counter, value, PATIENCE_MS)) {
        persistent_process_fail(process, "%d instead of %d", *counter, value);
    }
}

void persistent_process_make_parents(struct sim *sim)
{
    (void)sim_create_by_hand(sim, "/app", UVZK__PERSISTENT);
    (void)sim_create_by_hand(sim, "/app/workers", UVZK__PERSISTENT);
}

static void on_closed(uvzk_persistent_node_t *node, int status)
{
    struct persistent_process *process = node->data;

    world_note(process->process.world, "%s: its node is closed with %s",
               process->process.name, uvzk_err_name(status));
    if (node->impl != NULL || process->node_closed > 0 || status > 0) {
        persistent_process_fail(process, "a close callback out of order");
    }
    if (status == 0 && !process->disturbed && persistent_process_is_there(process)) {
        persistent_process_fail(process, "closed, and the znode is there");
    }
    process->node_closed++;
    process->close_status = status;
}

void persistent_process_close(struct persistent_process *process)
{
    assert_int_equal(uvzk_persistent_node_close(&process->node, on_closed), 0);
}

void persistent_process_end(struct persistent_process *process)
{
    if (process->node.impl != NULL && !process->process.closing) {
        /* Refused if it is closing already. */
        (void)uvzk_persistent_node_close(&process->node, on_closed);
        persistent_process_await(process, &process->node_closed, 1);
    }
    if (!process->process.closing) {
        world_run_for(process->process.world, 2ULL * WORLD_TIMEOUT_MS);
        if (process_watches(&process->process) != 0) {
            persistent_process_fail(process, "%" PRIu64 " watches are left",
                                    process_watches(&process->process));
        }
        process_close(&process->process);
    }
    persistent_process_await(process, &process->process.closed, 1);
    assert_null(process->node.impl);
}
