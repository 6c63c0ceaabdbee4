/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent nodes and members of groups, for programs of `uvzk serve`: znodes that the
 * daemon keeps in existence as long as their program is connected. */
#ifndef SERVED_NODE_H
#define SERVED_NODE_H

struct served_connection;
struct served_object;
struct served_request;

/* Carry out "persistent_node" and "group_member". */
void served_node_open(struct served_connection *, const struct served_request *);
void served_node_join(struct served_connection *, const struct served_request *);

/* Carries out "get" of a member of a group: lists all members. */
void served_node_get_members(struct served_object *, const struct served_request *);

/* Carries out "set" of a node or a member. The request has data. */
void served_node_set(struct served_object *, const struct served_request *);

#endif
