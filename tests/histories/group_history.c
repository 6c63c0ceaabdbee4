/* SPDX-License-Identifier: Apache-2.0 */
#include "group_history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_handles.h"

#define GROUP "/groups/deep"
#define LIST_SIZE 512U /* of a list as text */

/* A group member. */
struct handle {
    struct node_handle common;
    int listed;           /* of the list, told last; 1: nothing yet */
    char told[LIST_SIZE]; /* the list, told last; empty: none, or data were set since */
    const char *id;       /* in the path */
};

static struct handle *handle_of(const struct node_handle *handle)
{
    return (struct handle *)(uintptr_t)handle;
}

static struct group_history_result *result_of(const struct node_handle *handle)
{
    return handle->slot->history->result;
}

/* -------------------------------------------------------------- the callbacks */

static void on_change(uvzk_group_member_t *member, int status)
{
    node_handle_told(member->data, member, status, &result_of(member->data)->counts);
}

/* As "id=data@mzxid ", in order, with the mzxids only if they are wanted. */
static void write_list(const struct handle *handle, char *text, bool mzxids)
{
    struct recipe_history *history = handle->common.slot->history;
    const uvzk_group_entry_t *members = NULL;
    size_t count = 0, used = 0;
    bool own = false;

    text[0] = '\0';
    if (uvzk_group_member_list(handle->common.object, &members, &count) != 0) {
        recipe_fail(history, "the members cannot be listed");
    }
    for (size_t i = 0; i < count && used < LIST_SIZE - 64; i++) {
        used += (size_t)snprintf(text + used, LIST_SIZE - used, "%s=%.*s", members[i].id,
                                 (int)members[i].length,
                                 members[i].data == NULL ? ""
                                                         : (const char *)members[i].data);
        if (mzxids) {
            used += (size_t)snprintf(text + used, LIST_SIZE - used, "@%" PRIx64,
                                     members[i].mzxid);
        }
        used += (size_t)snprintf(text + used, LIST_SIZE - used, " ");
        own =
            own || (strcmp(members[i].id, handle->id) == 0 &&
                    members[i].length == strlen(handle->common.data) &&
                    memcmp(members[i].data, handle->common.data, members[i].length) == 0);
    }
    if (!own) {
        recipe_fail(history, "client %d does not list itself: %s",
                    handle->common.slot->number, text);
    }
}

static void on_members(uvzk_group_member_t *node, int status)
{
    struct handle *handle = node->data;
    struct recipe_history *history = handle->common.slot->history;
    char list[LIST_SIZE];

    if (handle->common.object != node || handle->common.closing ||
        handle->common.slot->closing) {
        recipe_fail(history, "told of members after the close");
        return;
    }
    write_list(handle, list, true);
    sim_note(history->sim, "client %d, member %s: %s: %s", handle->common.slot->number,
             handle->id, uvzk_err_name(status), list);
    if (status > 0 || (status < 0 && status == handle->listed)) {
        recipe_fail(history, "told %s twice of the list", uvzk_err_name(status));
    }
    if (status == 0 && handle->listed == 0 && strcmp(list, handle->told) == 0) {
        recipe_fail(history, "told of one list twice: %s", list);
    }
    handle->listed = status;
    if (status == 0) {
        memcpy(handle->told, list, sizeof(list));
        result_of(&handle->common)->changes++;
    }
}

static void on_closed(uvzk_group_member_t *member, int status)
{
    node_handle_closed(member->data, member, status, &result_of(member->data)->counts);
}

/* -------------------------------------------------------------------- the calls */

static int open_member(struct node_handle *handle)
{
    uvzk_group_member_t *member = calloc(1, sizeof(*member));

    member->data = handle;
    handle->object = member;
    handle->impl = &member->impl;
    handle_of(handle)->listed = 1;
    handle_of(handle)->told[0] = '\0';
    return uvzk_group_member_init(handle->slot->client, member, GROUP,
                                  handle_of(handle)->id, handle->data,
                                  strlen(handle->data), on_change, on_members);
}

static int set_data(struct node_handle *handle)
{
    handle_of(handle)->told[0] = '\0'; /* its own data are in it, and no news for it */
    return uvzk_group_member_set_data(handle->object, handle->data, strlen(handle->data));
}

static int close_member(struct node_handle *handle)
{
    return uvzk_group_member_close(handle->object, on_closed);
}

/* ------------------------------------------------------------------- the checks */

static bool is_there(const struct node_handle *handle)
{
    const struct sim *sim = handle->slot->history->sim;
    struct uvzk__stat stat;
    size_t length;
    const void *data = sim_data(sim, handle->path, &length);

    return data != NULL && sim_stat(sim, handle->path, &stat) &&
           node_handle_is_of(handle, stat.ephemeral_owner) &&
           length == strlen(handle->data) && memcmp(data, handle->data, length) == 0;
}

/* Adds the znode of this path to the list that `asker` is to see. */
static void write_znode(const struct handle *asker, const struct handle *of, char *text)
{
    size_t used = strlen(text), length;
    const void *data =
        sim_data(asker->common.slot->history->sim, of->common.path, &length);

    if (strcmp(of->id, asker->id) == 0) {
        data = asker->common.data;
        length = strlen(asker->common.data);
    }
    if (data != NULL) {
        (void)snprintf(text + used, LIST_SIZE - used, "%s=%.*s ", of->id, (int)length,
                       (const char *)data);
    }
}

/* What it is to list: the znodes that there are, and itself. */
static void expect_list(const struct handle *asker, char *text)
{
    const struct recipe_history *history = asker->common.slot->history;

    text[0] = '\0';
    for (int i = 0; i < history->client_count; i++) {
        write_znode(asker, handle_of(node_handle_at(history, i, 0)), text);
    }
    write_znode(asker, handle_of(node_handle_at(history, 0, 1)), text);
}

/* Returns true if it lists what is there, and has been told so. */
static bool lists_all(const struct handle *handle)
{
    char expected[LIST_SIZE], list[LIST_SIZE], with_mzxids[LIST_SIZE];

    expect_list(handle, expected);
    write_list(handle, list, false);
    write_list(handle, with_mzxids, true);
    return strcmp(expected, list) == 0 && handle->listed == 0 &&
           (handle->told[0] == '\0' || strcmp(with_mzxids, handle->told) == 0);
}

static bool is_right(const struct node_handle *handle)
{
    return lists_all(handle_of(handle));
}

static bool is_gone(const struct node_handle *handle)
{
    return !sim_exists(handle->slot->history->sim, handle->path);
}

/* One that is closed has no znode. */
static bool is_right_closed(const struct node_handle *handle)
{
    return handle->shared || is_gone(handle);
}

static void complain(const struct node_handle *handle)
{
    char expected[LIST_SIZE], list[LIST_SIZE];

    expect_list(handle_of(handle), expected);
    write_list(handle_of(handle), list, false);
    recipe_fail(
        handle->slot->history, "client %d: %s is %s, told %s; lists %s instead of %s",
        handle->slot->number, handle->path, is_there(handle) ? "there" : "not there",
        handle->status == 1 ? "nothing" : uvzk_err_name(handle->status), list, expected);
}

/* ------------------------------------------------------------------- the history */

static void name_path(struct node_handle *handle)
{
    (void)snprintf(handle->path, sizeof(handle->path),
                   handle->shared ? GROUP "/shared" : GROUP "/%d", handle->slot->number);
    handle_of(handle)->id = handle->path + sizeof(GROUP);
}

static void begin(struct recipe_history *history, uint64_t seed)
{
    node_handles_begin(history, seed, GROUP);
}

static const struct node_handle_kind handles = {.name = "member",
                                                .znode_name = "znode",
                                                .size = sizeof(struct handle),
                                                .name_path = name_path,
                                                .open = open_member,
                                                .set = set_data,
                                                .close = close_member,
                                                .is_there = is_there,
                                                .is_gone = is_gone,
                                                .is_right = is_right,
                                                .is_right_closed = is_right_closed,
                                                .complain = complain};

void group_history_run(uint64_t seed, bool verbose, struct group_history_result *result)
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
