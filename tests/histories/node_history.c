/* SPDX-License-Identifier: Apache-2.0 */
#include "node_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_handles.h"

#define DIRECTORY "/nodes/deep"
#define SHARED DIRECTORY "/shared"

static struct node_handle_counts *counts_of(const struct node_handle *handle)
{
    struct node_history_result *result = handle->slot->history->result;

    return &result->counts;
}

/* Those that share a path are all ephemeral. */
static bool is_ephemeral(const struct node_handle *handle)
{
    return handle->shared || handle->slot->number % 2 == 0;
}

/* -------------------------------------------------------------------- the calls */

static void on_change(uvzk_persistent_node_t *node, int status)
{
    node_handle_told(node->data, node, status, counts_of(node->data));
}

static void on_closed(uvzk_persistent_node_t *node, int status)
{
    node_handle_closed(node->data, node, status, counts_of(node->data));
}

static int open_node(struct node_handle *handle)
{
    uvzk_persistent_node_t *node = calloc(1, sizeof(*node));

    node->data = handle;
    handle->object = node;
    handle->impl = &node->impl;
    return uvzk_persistent_node_init(handle->slot->client, node, handle->path,
                                     is_ephemeral(handle)
                                         ? UVZK_PERSISTENT_NODE_EPHEMERAL
                                         : UVZK_PERSISTENT_NODE_PERSISTENT,
                                     handle->data, strlen(handle->data), on_change);
}

static int set_data(struct node_handle *handle)
{
    return uvzk_persistent_node_set_data(handle->object, handle->data,
                                         strlen(handle->data));
}

static int close_node(struct node_handle *handle)
{
    return uvzk_persistent_node_close(handle->object, on_closed);
}

/* ------------------------------------------------------------------- the checks */

/* The data of a persistent one may be those of a set that came late, and has found the
 * znode with the version that it names. */
static bool is_there(const struct node_handle *handle)
{
    const struct sim *sim = handle->slot->history->sim;
    struct uvzk__stat stat;
    size_t length;
    const void *data = sim_data(sim, handle->path, &length);

    return data != NULL && sim_stat(sim, handle->path, &stat) &&
           (is_ephemeral(handle) ? node_handle_is_of(handle, stat.ephemeral_owner) &&
                                       length == strlen(handle->data) &&
                                       memcmp(data, handle->data, length) == 0
                                 : stat.ephemeral_owner == 0);
}

/* A persistent znode may be left by its client's close. */
static bool is_gone(const struct node_handle *handle)
{
    const struct sim *sim = handle->slot->history->sim;
    struct uvzk__stat stat;

    return !sim_stat(sim, handle->path, &stat) || stat.ephemeral_owner == 0;
}

static void complain(const struct node_handle *handle)
{
    recipe_fail(handle->slot->history, "client %d: %s is %s, told %s",
                handle->slot->number, handle->path,
                is_there(handle) ? "there" : "not there",
                handle->status == 1 ? "nothing" : uvzk_err_name(handle->status));
}

/* ------------------------------------------------------------------- the history */

static void name_path(struct node_handle *handle)
{
    (void)snprintf(handle->path, sizeof(handle->path),
                   handle->shared ? SHARED : DIRECTORY "/%d", handle->slot->number);
}

static void begin(struct recipe_history *history, uint64_t seed)
{
    node_handles_begin(history, seed, DIRECTORY);
}

static const struct node_handle_kind handles = {.name = "node",
                                                .znode_name = "node",
                                                .size = sizeof(struct node_handle),
                                                .name_path = name_path,
                                                .open = open_node,
                                                .set = set_data,
                                                .close = close_node,
                                                .is_there = is_there,
                                                .is_gone = is_gone,
                                                .complain = complain};

void node_history_run(uint64_t seed, bool verbose, struct node_history_result *result)
{
    const struct recipe_history_kind kind = {
        .size = node_handles_size(&handles),
        .active_ms = 8000,
        .heal_ms = 120000,
        .leaves_no_watch = true,
        .handles = &handles,
        .begin = begin,
        .client_opened = node_handles_client_opened,
        .client_closed = node_handles_client_closed,
        .act = node_handles_act,
        .is_settled = node_handles_are_settled,
        .heal = node_handles_heal,
        .end = node_handles_end,
    };

    memset(result, 0, sizeof(*result));
    recipe_history_run(&kind, seed, verbose, result, &result->outcome);
}
