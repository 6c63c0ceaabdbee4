/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions. The server's files call them for every change of a znode, a permission
 * or a session. A transaction is done at the leader at once. If there are several
 * servers, it is also kept in a log until each of them has applied it, in its own time.
 *
 *   begin ─► create, delete, set... ─► commit ─► log ─► members
 *
 * There is one transaction at a time. Each takes one zxid, even if it changes nothing. */
#include "sim_internal.h"

#include <stdlib.h>
#include <string.h>

void sim__txn_begin(struct sim *sim)
{
    struct sim__server *server = &sim->server;
    server->tree.zxid++;
    server->txn_count++;
    sim__moment_passes(sim);
    if (server->member_count == 1) { /* no follower would read the log */
        return;
    }
    struct sim__txn *txn = sim__alloc(sizeof(*txn));
    uvzk__list_init(&txn->link);
    uvzk__list_init(&txn->effects);
    txn->number = server->txn_count;
    txn->at = sim->now;
    txn->zxid = server->tree.zxid;
    server->txn = txn;
}

/* Adds a copy of the effect to the transaction, with copies of its path and data. Does
 * nothing if there is no log. */
static void record(struct sim *sim, const struct sim__effect *effect)
{
    const struct uvzk__op *op = &effect->op;
    if (sim->server.txn == NULL) {
        return;
    }
    size_t path_size = op->path != NULL ? strlen(op->path) + 1 : 0;
    struct sim__effect *kept = sim__alloc(sizeof(*kept) + path_size + op->data_length);
    *kept = *effect;
    kept->op.acl = NULL;
    char *room = (char *)(kept + 1);
    if (path_size > 0) {
        kept->op.path = memcpy(room, op->path, path_size);
    }
    if (op->data_length > 0) {
        kept->op.data = memcpy(room + path_size, op->data, op->data_length);
    }
    uvzk__list_init(&kept->link);
    uvzk__list_append(&sim->server.txn->effects, &kept->link);
}

/* --------------------------------------------------------- at any one member */

/* The next three functions change the znodes of one member and fire its watches. Watches
 * on the znode fire before those on its parent's children, and all before the reply. */
static struct sim__node *make(struct sim *sim, struct sim__member *member,
                              const struct sim__effect *effect)
{
    struct sim__node *node = sim__tree_create(member->tree, &effect->op, effect->owner);
    node->unreadable = effect->unreadable;
    node->stat.created_ms = effect->created_ms;
    node->made_at = node->set_at = sim->now;
    sim__watch_fire_node(sim, member, node, UVZK__WATCH_CREATED);
    sim__watch_fire_parent(sim, member, node);
    return node;
}

static void delete_node(struct sim *sim, struct sim__member *member,
                        struct sim__node *node)
{
    if (node->unreadable) {
        sim__went_unread(sim, member, node);
    }
    /* The watches fire first, because they need the znode. */
    sim__watch_fire_node(sim, member, node, UVZK__WATCH_DELETED);
    sim__watch_fire_parent(sim, member, node);
    sim__tree_delete(member->tree, node);
}

static void set(struct sim *sim, struct sim__member *member, struct sim__node *node,
                const struct uvzk__op *op)
{
    sim__tree_set(member->tree, node, op->data, op->data_length);
    node->set_at = sim->now;
    sim__watch_fire_node(sim, member, node, UVZK__WATCH_CHANGED);
}

/* Closes the session's connections to this member, which learns only now that the session
 * has ended. */
static void hang_up_all(struct sim *sim, const struct sim__member *member, int64_t id)
{
    for (struct uvzk__link *at = sim->links.next; at != &sim->links; at = at->next) {
        struct sim__link *link = UVZK__CONTAINER_OF(at, struct sim__link, all);
        if (link->member == member && link->session_id == id && link->follower == NULL) {
            sim__server_hang_up(sim, link);
        }
    }
}

/* Does at a follower what the effect has done at the leader, unless the follower misses
 * it (sim_diverged.c). */
static void apply(struct sim *sim, struct sim__member *member,
                  const struct sim__effect *effect)
{
    const struct uvzk__op *op = &effect->op;
    if (effect->ended != 0) {
        sim__diverged_session_ended(sim, member, effect->ended);
        hang_up_all(sim, member, effect->ended);
        return;
    }
    struct sim__node *node = sim__tree_find(member->tree, op->path, strlen(op->path));
    /* The leader has deleted the old znode long ago, so the effect is about a new one. */
    if (node != NULL && node->missed_delete) {
        sim__diverged_remove_conflict(member->tree, node);
        node = NULL;
    }
    if (op->kind == UVZK__OP_CREATE) {
        if (!sim__diverged_forgets(sim, member, effect->owner, op->path)) {
            make(sim, member, effect);
        }
    } else if (op->kind == UVZK__OP_DELETE) {
        if (node != NULL && !sim__diverged_misses(sim, member, node)) {
            sim__diverged_remove_conflict(member->tree, node);
            delete_node(sim, member, node);
        }
    } else if (node == NULL) { /* it has missed the create */
        return;
    } else if (op->kind == UVZK__OP_SET) {
        set(sim, member, node, op);
    } else {
        node->unreadable = effect->unreadable;
        node->undeletable = effect->undeletable;
    }
}

void sim__txn_apply(struct sim *sim, struct sim__member *member,
                    const struct sim__txn *txn)
{
    member->tree->zxid = txn->zxid;
    for (struct uvzk__link *at = txn->effects.next; at != &txn->effects; at = at->next) {
        apply(sim, member, UVZK__CONTAINER_OF(at, struct sim__effect, link));
    }
}

/* ------------------------------------------------------------- at the leader */

struct sim__node *sim__txn_create(struct sim *sim, const struct uvzk__op *op,
                                  int64_t owner)
{
    const struct sim__effect effect = {.op = *op,
                                       .owner = owner,
                                       .created_ms = (int64_t)sim->now +
                                                     sim->server.leader->clock_ahead_ms,
                                       .unreadable = !sim__acl_grants_read(op->acl)};
    record(sim, &effect);
    return make(sim, sim->server.leader, &effect);
}

void sim__txn_delete(struct sim *sim, struct sim__node *node)
{
    /* READ is taken in the transaction of the delete, so no request sees it missing. */
    if (sim__goes_unread(sim)) {
        sim__trace(sim, "server", "READ is missing as %s goes", node->path);
        sim__txn_permit(sim, node, false, !node->undeletable);
    }
    record(sim,
           &(struct sim__effect){.op = {.kind = UVZK__OP_DELETE, .path = node->path}});
    delete_node(sim, sim->server.leader, node);
}

void sim__txn_set(struct sim *sim, struct sim__node *node, const void *data,
                  size_t length)
{
    const struct sim__effect effect = {.op = {.kind = UVZK__OP_SET,
                                              .path = node->path,
                                              .data = data,
                                              .data_length = length}};
    record(sim, &effect);
    set(sim, sim->server.leader, node, &effect.op);
}

void sim__txn_permit(struct sim *sim, struct sim__node *node, bool readable,
                     bool deletable)
{
    record(sim, &(struct sim__effect){.op = {.kind = UVZK__OP_CHECK, .path = node->path},
                                      .unreadable = !readable,
                                      .undeletable = !deletable});
    node->unreadable = !readable;
    node->undeletable = !deletable;
}

void sim__txn_end_session(struct sim *sim, int64_t id)
{
    record(sim, &(struct sim__effect){.ended = id});
}

void sim__txn_commit(struct sim *sim)
{
    struct sim__txn *txn = sim->server.txn;
    if (txn != NULL) {
        /* From here on the log owns it. */
        sim->server.txn = NULL;
        uvzk__list_append(&sim->server.log, &txn->link);
        txn->awaited = sim->server.member_count;
        sim__members_committed(sim, txn);
    }
}

/* ------------------------------------------------------------------- the log */

void sim__txn_done(struct sim__txn *txn)
{
    if (--txn->awaited > 0) {
        return;
    }
    struct uvzk__link *taken;
    while ((taken = uvzk__list_take(&txn->effects)) != NULL) {
        free(UVZK__CONTAINER_OF(taken, struct sim__effect, link));
    }
    uvzk__list_remove(&txn->link);
    free(txn);
}

struct sim__txn *sim__txn_after(struct sim *sim, const struct sim__txn *txn)
{
    struct uvzk__link *next = txn->link.next;
    return next == &sim->server.log ? NULL
                                    : UVZK__CONTAINER_OF(next, struct sim__txn, link);
}
