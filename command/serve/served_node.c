/* SPDX-License-Identifier: Apache-2.0 */
/* Passes requests to the persistent nodes and group members of the library
 * (served_node.h), and what they report to the programs. */
#include "serve/served_node.h"

#include <stdlib.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_bytes.h"
#include "serve/served_connection.h"
#include "serve/served_data.h"
#include "serve/served_object.h"

/* Whether the program's znode exists. */
static void send_change(struct served_object *object, int status)
{
    if (!object->closing) {
        served_object_send_event(object, "changed", status);
        served_object_heard(object, status);
    }
}

/* -------------------------------------------------------------------- persistent nodes */

static void on_node_changed(uvzk_persistent_node_t *node, int status)
{
    send_change(node->data, status);
}

static int init_node(uvzk_client_t *client, struct served_object *object,
                     const struct served_request *request)
{
    struct served_data data;

    if (!served_data_read(&data, request)) {
        return UV_ENOMEM;
    }
    object->handle.node.data = object;
    int status =
        uvzk_persistent_node_init(client, &object->handle.node, request->path,
                                  request->persistent ? UVZK_PERSISTENT_NODE_PERSISTENT
                                                      : UVZK_PERSISTENT_NODE_EPHEMERAL,
                                  data.bytes, data.length, on_node_changed);
    free(data.decoded);
    return status;
}

void served_node_open(struct served_connection *connection,
                      const struct served_request *request)
{
    struct served_object *object =
        served_object_open(connection, request, SERVED_OBJECT_NODE, init_node);

    if (object != NULL) {
        served_object_answer(object, 0, false);
    }
}

/* ---------------------------------------------------------------------- group members */

static void on_joined(uvzk_group_member_t *member, int status)
{
    send_change(member->data, status);
}

/* A program that wants the list asks for it: several changes need one answer. */
static void on_members_changed(uvzk_group_member_t *member, int status)
{
    struct served_object *object = member->data;
    const uvzk_group_entry_t *members;
    size_t count = 0;

    if (object->closing) {
        return;
    }
    json_t *event = served_answer_event("group");
    served_answer_add_number(event, "object", object->number);
    (void)uvzk_group_member_list(member, &members, &count);
    served_answer_add_number(event, "members", (int64_t)count);
    if (status < 0) {
        served_answer_add_text(event, "error", uvzk_err_name(status));
        served_answer_add_text(event, "message", uvzk_strerror(status));
    }
    served_connection_send(object->connection, event);
}

static int init_member(uvzk_client_t *client, struct served_object *object,
                       const struct served_request *request)
{
    struct served_data data;

    if (!served_data_read(&data, request)) {
        return UV_ENOMEM;
    }
    object->handle.member.data = object;
    int status = uvzk_group_member_init(client, &object->handle.member, request->path,
                                        request->member, data.bytes, data.length,
                                        on_joined, on_members_changed);
    free(data.decoded);
    return status;
}

void served_node_join(struct served_connection *connection,
                      const struct served_request *request)
{
    struct served_object *object =
        served_object_open(connection, request, SERVED_OBJECT_MEMBER, init_member);

    if (object != NULL) {
        served_object_answer(object, 0, false);
    }
}

/* The data of a member that the client may not read, or has not read yet, are left out.
 * Returns NULL if there is no memory. */
static json_t *member_json(const uvzk_group_entry_t *member)
{
    json_t *row = json_object();

    served_answer_add_text(row, "member", member->id);
    if (member->data != NULL && !served_bytes_add(row, member->data, member->length)) {
        json_decref(row);
        return NULL;
    }
    return row;
}

/* Returns NULL if there is no memory. */
static json_t *list(const uvzk_group_entry_t *members, size_t count)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < count; i++) {
        if (json_array_append_new(rows, member_json(&members[i])) < 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return rows;
}

void served_node_get_members(struct served_object *object,
                             const struct served_request *request)
{
    const uvzk_group_entry_t *members = NULL;
    size_t count = 0;
    int status = uvzk_group_member_list(&object->handle.member, &members, &count);
    json_t *rows = status < 0 ? NULL : list(members, count), *answer;

    if (rows == NULL) {
        status = status < 0 ? status : UV_ENOMEM;
        answer = served_answer_status(request->id, status, 0);
    } else {
        answer = served_answer_ok(request->id);
        json_object_set_new(answer, "members", rows);
    }
    served_connection_send(
        object->connection,
        served_answer_fit(answer, request->id,
                          object->connection->daemon->options->max_unsent));
}

/* ---------------------------------------------------------------------------- both */

void served_node_set(struct served_object *object, const struct served_request *request)
{
    struct served_data data;
    int status = UV_ENOMEM;

    if (served_data_read(&data, request)) {
        status = object->kind == SERVED_OBJECT_NODE
                     ? uvzk_persistent_node_set_data(&object->handle.node, data.bytes,
                                                     data.length)
                     : uvzk_group_member_set_data(&object->handle.member, data.bytes,
                                                  data.length);
        free(data.decoded);
    }
    served_connection_send(object->connection,
                           status < 0 ? served_answer_status(request->id, status, 1)
                                      : served_answer_ok(request->id));
}
