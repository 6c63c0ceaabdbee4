/* SPDX-License-Identifier: Apache-2.0 */
#include "group_process.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void group_process_fail(const struct group_process *process, const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    world_fail(process->process.world, "%s: %s", process->process.name, text);
}

/* mzxids: with the transaction of each. Fails if the process is not listed with its data. */
static void write_list(const struct group_process *process, char *text, bool mzxids)
{
    const uvzk_group_entry_t *members = NULL;
    size_t count = 0, used = 0;
    bool listed = false;

    assert_int_equal(uvzk_group_member_list(&process->member, &members, &count), 0);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(
            text + used, GROUP_PROCESS_LIST_SIZE - used, "%s%s%.*s", members[i].id,
            members[i].data == NULL ? "?" : "=", (int)members[i].length,
            members[i].data == NULL ? "" : (const char *)members[i].data);
        if (mzxids) {
            used += (size_t)snprintf(text + used, GROUP_PROCESS_LIST_SIZE - used,
                                     "@%" PRIx64, members[i].mzxid);
        }
        used += (size_t)snprintf(text + used, GROUP_PROCESS_LIST_SIZE - used, " ");
        assert_true(used < GROUP_PROCESS_LIST_SIZE);
        listed =
            listed || (strcmp(members[i].id, process->id) == 0 &&
                       members[i].length == strlen(process->data) &&
                       memcmp(members[i].data, process->data, members[i].length) == 0);
    }
    if (!listed) {
        group_process_fail(process, "it is not listed itself: %s", text);
    }
}

void group_process_list(const struct group_process *process, char *text)
{
    write_list(process, text, false);
}

static void on_joined(uvzk_group_member_t *member, int status)
{
    struct group_process *process = member->data;

    world_note(process->process.world, "%s: its znode is %s", process->process.name,
               uvzk_err_name(status));
    if (process->member_closed > 0 || process->process.closing) {
        group_process_fail(process, "told after the close");
    }
    if (status > 0 || (status != 0 && status == process->status)) {
        group_process_fail(process, "told %s twice", uvzk_err_name(status));
    }
    process->told++;
    process->present += status == 0;
    process->status = status;
}

static void on_members(uvzk_group_member_t *member, int status)
{
    struct group_process *process = member->data;
    char list[GROUP_PROCESS_LIST_SIZE];

    write_list(process, list, true);
    world_note(process->process.world, "%s: the members, %s: %s", process->process.name,
               uvzk_err_name(status), list);
    if (process->member_closed > 0 || process->process.closing) {
        group_process_fail(process, "told of members after the close");
    }
    if (status > 0 || (status != 0 && status == process->list_status)) {
        group_process_fail(process, "told %s twice", uvzk_err_name(status));
    }
    if (status == 0 && process->list_status == 0 &&
        strcmp(list, process->told_list) == 0) {
        group_process_fail(process, "told of the same members twice: %s", list);
    }
    process->list_status = status;
    if (status == 0) {
        process->changed++;
        memcpy(process->told_list, list, sizeof(list));
    }
}

int group_process_init(struct group_process *process, const char *id, const char *data)
{
    process->member.data = process;
    process->id = id;
    process->data = data;
    process->status = process->list_status = GROUP_PROCESS_NO_STATUS;
    return uvzk_group_member_init(&process->process.client, &process->member,
                                  GROUP_PROCESS_PATH, id, data, strlen(data), on_joined,
                                  on_members);
}

void group_process_begin(struct group_process *process, struct world *world,
                         const char *name, const char *data)
{
    memset(process, 0, sizeof(*process));
    process_make(&process->process, world, name, NULL);
    assert_int_equal(group_process_init(process, name, data), 0);
}

void group_process_open(struct group_process *process, struct world *world,
                        const char *name, const char *data)
{
    group_process_begin(process, world, name, data);
    process_start(&process->process);
    group_process_await(process, &process->present, 1);
    group_process_await(process, &process->changed, 1);
}

int group_process_set(struct group_process *process, const char *data)
{
    int status = uvzk_group_member_set_data(&process->member, data, strlen(data));

    if (status == 0) {
        process->data = data;
        /* The caller knows its own entry, and is not told of it. */
        process->told_list[0] = '\0';
    }
    return status;
}

void group_process_await(const struct group_process *process, const int *counter,
                         int value)
{
    if (!world_await_count(process->process.world, counter, value, PATIENCE_MS)) {
        group_process_fail(process, "%d instead of %d", *counter, value);
    }
}

/* Returns true if the list is this text, and nothing is left to be told. */
static bool is_told(const struct group_process *process, const char *text)
{
    char list[GROUP_PROCESS_LIST_SIZE], told[GROUP_PROCESS_LIST_SIZE];

    group_process_list(process, list);
    write_list(process, told, true);
    return strcmp(list, text) == 0 && process->list_status == 0 &&
           (strcmp(told, process->told_list) == 0 || process->told_list[0] == '\0');
}

void group_process_await_list(const struct group_process *process, const char *text)
{
    struct world *world = process->process.world;
    uint64_t until = world_now(world) + PATIENCE_MS;

    while (!is_told(process, text)) {
        if (world_now(world) >= until || !sim_step(world->sim)) {
            char list[GROUP_PROCESS_LIST_SIZE];
            group_process_list(process, list);
            group_process_fail(process, "%s instead of %s", list, text);
        }
    }
}

void group_process_make_path(struct sim *sim)
{
    (void)sim_create_by_hand(sim, "/app", UVZK__PERSISTENT);
    (void)sim_create_by_hand(sim, GROUP_PROCESS_PATH, UVZK__PERSISTENT);
}

static void on_closed(uvzk_group_member_t *member, int status)
{
    struct group_process *process = member->data;

    world_note(process->process.world, "%s: its member is closed with %s",
               process->process.name, uvzk_err_name(status));
    if (member->impl != NULL || process->member_closed > 0 || status > 0) {
        group_process_fail(process, "a close callback out of order");
    }
    process->member_closed++;
    process->close_status = status;
}

void group_process_close(struct group_process *process)
{
    assert_int_equal(uvzk_group_member_close(&process->member, on_closed), 0);
}

void group_process_end(struct group_process *process)
{
    if (process->member.impl != NULL && !process->process.closing) {
        /* Refused if it is closing already. */
        (void)uvzk_group_member_close(&process->member, on_closed);
        group_process_await(process, &process->member_closed, 1);
    }
    if (!process->process.closing) {
        world_run_for(process->process.world, 2ULL * WORLD_TIMEOUT_MS);
        if (process_watches(&process->process) != 0) {
            group_process_fail(process, "%" PRIu64 " watches are left",
                               process_watches(&process->process));
        }
        process_close(&process->process);
    }
    group_process_await(process, &process->process.closed, 1);
    assert_null(process->member.impl);
}
