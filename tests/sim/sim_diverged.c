/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that have diverged: what they show differs from what has been committed. Called
 * by sim_txn.c for each transaction at each follower, by sim_election.c at elections, by
 * sim_server.c for deletes, and by tests.
 *
 *   missed delete   A follower does not apply the delete of an ephemeral whose session
 *                   lives. Clients of that follower see the znode for as long as the
 *                   session lives. When the follower becomes the leader, the znode exists
 *                   again at all servers (resurrected).
 *   missed create   A follower does not apply the create of an ephemeral, or loses a
 *                   znode that it had (lacking). An election ends that.
 *   forgotten       A new leader has lost the last transactions that created ephemerals.
 *
 * The transactions at the other servers do not depend on any of this. When a session
 * ends, all of its ephemerals are deleted at all servers, missed deletes included. */
#include "sim_internal.h"

#include <stdlib.h>
#include <string.h>

/* Returns true if the znode is an ephemeral of a session that lives. */
static bool lives(const struct sim *sim, const struct sim__node *node)
{
    return node->stat.ephemeral_owner != 0 &&
           sim__session_find(sim, node->stat.ephemeral_owner) != NULL;
}

bool sim__diverged_misses(struct sim *sim, struct sim__member *member,
                          struct sim__node *node)
{
    if (member->misses == 0 && sim->faults.miss_delete == 0) {
        return false;
    }
    /* The end of a session deletes its ephemerals: that delete is never missed. */
    if (node->missed_delete || !lives(sim, node)) {
        return node->missed_delete;
    }
    if (member->misses > 0) {
        member->misses--;
    } else if (member->number != sim->faults.diverges ||
               !sim__random_hit(sim, sim->faults.miss_delete)) {
        return false;
    }
    sim__trace(sim, "server", "%zu misses the delete of %s", member->number, node->path);
    node->missed_delete = true;
    /* READ may be missing in the transaction of the delete alone, and whoever gives it back
     * later does so at the leader, which does not have the znode any more. */
    node->unreadable = false;
    return true;
}

static void lack(struct sim__member *member, const char *path)
{
    size_t size = (member->lacking_count + 1) * sizeof(*member->lacking);
    member->lacking = realloc(member->lacking, size);
    member->lacking[member->lacking_count++] = sim__copy(path, strlen(path) + 1);
}

bool sim__diverged_forgets(struct sim *sim, struct sim__member *member, int64_t owner,
                           const char *path)
{
    if (member->forgets == 0 || owner == 0) {
        return false;
    }
    member->forgets--;
    lack(member, path);
    sim__trace(sim, "server", "%zu misses a create", member->number);
    return true;
}

bool sim__diverged_lacks(const struct sim__member *member, const char *path)
{
    size_t i = 0;
    while (i < member->lacking_count && strcmp(member->lacking[i], path) != 0) {
        i++;
    }
    return i < member->lacking_count;
}

void sim__diverged_lacks_nothing(struct sim__member *member)
{
    while (member->lacking_count > 0) {
        free(member->lacking[--member->lacking_count]);
    }
    free(member->lacking);
    member->lacking = NULL;
}

static void remove_node(struct sim *sim, struct sim__member *member,
                        struct sim__node *node)
{
    sim__watch_fire_node(sim, member, node, UVZK__WATCH_DELETED);
    sim__watch_fire_parent(sim, member, node);
    sim__tree_delete(member->tree, node);
}

void sim__diverged_session_ended(struct sim *sim, struct sim__member *member, int64_t id)
{
    struct sim__node *node, *next;
    HASH_ITER(hh, member->tree->nodes, node, next)
    {
        if (node->missed_delete && node->stat.ephemeral_owner == id) {
            remove_node(sim, member, node);
        }
    }
}

void sim__diverged_remove_conflict(struct sim__tree *tree, struct sim__node *node)
{
    while (!uvzk__list_empty(&node->children)) {
        sim__tree_delete(
            tree, UVZK__CONTAINER_OF(node->children.next, struct sim__node, sibling));
    }
    if (node->missed_delete) {
        sim__tree_delete(tree, node);
    }
}

/* Returns true if a copy of the znode can be added to the tree: no znode has its path,
 * and its parent exists. */
static bool has_place(const struct sim__tree *tree, const struct sim__node *node)
{
    return sim__tree_find(tree, node->path, node->length) == NULL &&
           sim__tree_find(tree, node->path, sim__parent_length(node->path)) != NULL;
}

void sim__diverged_copy(struct sim *sim, struct sim__member *member,
                        const struct sim__tree *from)
{
    struct sim__tree before = member->own;
    /* The copy has everything that the member lacked. */
    sim__diverged_lacks_nothing(member);
    sim__tree_copy(&member->own, from);
    member->tree = &member->own;
    for (const struct sim__node *node = before.nodes; node != NULL;
         node = node->hh.next) {
        if (node->missed_delete && lives(sim, node) && has_place(&member->own, node)) {
            sim__tree_put(&member->own, node);
        }
    }
    before.root = NULL;
    sim__tree_free(&before);
}

/* The leader's `own` tree has the znodes of the time when it was a follower. In it only
 * the znodes with missed_delete matter, and they go back into the ensemble's tree. */
void sim__diverged_leads(struct sim *sim, struct sim__member *leader)
{
    struct sim__tree *tree = &sim->server.tree;
    sim__diverged_lacks_nothing(leader);
    for (struct sim__node *node = leader->own.nodes; node != NULL; node = node->hh.next) {
        if (node->missed_delete && lives(sim, node) && has_place(tree, node)) {
            struct sim__node *back = sim__tree_put(tree, node);
            back->missed_delete = false;
            back->resurrected = true;
            uvzk__list_append(
                &sim__session_find(sim, node->stat.ephemeral_owner)->ephemerals,
                &back->group);
            sim__trace(sim, "server", "%s is back", node->path);
        }
        node->missed_delete = false;
    }
}

#define FORGOTTEN_MOST 12U /* transactions that one random fault loses */
#define DIGITS 10U         /* of a sequence number */

/* Returns the sequence number in the znode's name; -1: the name has none. */
static long number_of(const struct sim__node *node)
{
    const char *digits = node->path + node->length - DIGITS;
    bool numbered = node->length > DIGITS && strspn(digits, "0123456789") == DIGITS;
    return numbered ? strtol(digits, NULL, 10) : -1;
}

/* The next sequential create gets this number again. Except if another child has this
 * number or a greater one: a downgraded read lock has its writer's number. */
static void give_again(struct sim__node *parent, long number)
{
    for (struct uvzk__link *at = parent->children.next; at != &parent->children;
         at = at->next) {
        if (number_of(UVZK__CONTAINER_OF(at, struct sim__node, sibling)) >= number) {
            return;
        }
    }
    if (number >= 0 && number < parent->counter) {
        parent->counter = (int32_t)number;
    }
}

/* Deletes the znode from the ensemble's tree without a transaction, and records it. */
static void forget(struct sim *sim, struct sim__node *node)
{
    struct sim__server *server = &sim->server;
    struct sim__node *parent = node->parent;
    long number = number_of(node);
    size_t size = (server->forgotten_count + 1) * sizeof(*server->forgotten);
    struct sim__forgotten *forgotten = realloc(server->forgotten, size);
    sim__trace(sim, "server", "has lost %s", node->path);
    server->forgotten = forgotten;
    forgotten += server->forgotten_count++;
    forgotten->path = sim__copy(node->path, node->length + 1);
    forgotten->czxid = node->stat.czxid;
    sim__tree_delete(&server->tree, node);
    give_again(parent, number);
}

/* Returns the last ephemeral that was created after the transaction `until`; NULL: none.
 * The hash table keeps the order of creation. */
static struct sim__node *youngest_behind(const struct sim__tree *tree, int64_t until)
{
    struct sim__node *youngest = NULL;
    for (struct sim__node *node = tree->nodes; node != NULL; node = node->hh.next) {
        if (node->stat.ephemeral_owner != 0 && node->stat.czxid > until) {
            youngest = node;
        }
    }
    return youngest;
}

void sim__diverged_forgets_all(struct sim *sim)
{
    struct sim__server *server = &sim->server;
    int64_t until = server->tree.zxid - server->forgets;
    struct sim__node *node = NULL;
    if (sim->faults.forget > 0 && sim__random_hit(sim, sim->faults.forget)) {
        until = server->tree.zxid - 1 - (int64_t)sim_random(sim, FORGOTTEN_MOST);
    }
    server->forgets = 0;
    /* The youngest first, so that give_again() lowers the counter step by step. */
    while ((node = youngest_behind(&server->tree, until)) != NULL) {
        forget(sim, node);
    }
}

void sim_lose_transactions(struct sim *sim, uint32_t transactions)
{
    sim->server.forgets = transactions;
}

bool sim_lost_transaction(const struct sim *sim, int64_t czxid)
{
    const struct sim__server *server = &sim->server;
    size_t i = 0;
    while (czxid != 0 && i < server->forgotten_count &&
           server->forgotten[i].czxid != czxid) {
        i++;
    }
    return i < server->forgotten_count;
}

int64_t sim_lost_znode(const struct sim *sim, const char *path)
{
    const struct sim__server *server = &sim->server;
    size_t i = server->forgotten_count;
    while (i > 0 && strcmp(server->forgotten[i - 1].path, path) != 0) {
        i--;
    }
    return i == 0 ? 0 : server->forgotten[i - 1].czxid;
}

void sim_miss_creates(struct sim *sim, int server, uint32_t count)
{
    sim->server.members[server].forgets = count;
}

void sim_lose_node(struct sim *sim, int server, const char *path)
{
    struct sim__member *member = &sim->server.members[server];
    struct sim__node *node = sim__tree_find(member->tree, path, strlen(path));
    lack(member, path);
    sim__trace(sim, "server", "%zu has lost %s", member->number, path);
    sim__tree_delete(member->tree, node);
}

void sim_miss_deletes(struct sim *sim, int server, uint32_t count)
{
    sim->server.members[server].misses = count;
}

/* Walks over the znodes that exist again and that no client has deleted since. */
void sim_delete_resurrected(struct sim *sim,
                            bool (*may_go)(void *, int64_t owner, const char *path),
                            void *context)
{
    struct sim__node *node = sim->server.tree.nodes;
    while (node != NULL && !(node->resurrected &&
                             may_go(context, node->stat.ephemeral_owner, node->path))) {
        node = node->hh.next;
    }
    if (node != NULL) {
        sim__txn_begin(sim);
        sim__txn_delete(sim, node);
        sim__txn_commit(sim);
    }
}

/* A may_go for sim_delete_resurrected. Each call counts *context down by one. */
static bool any(void *context, int64_t owner, const char *path)
{
    size_t *left = context;
    (void)owner;
    (void)path;
    --*left;
    return true;
}

/* Deletes one znode a time, until a pass finds none and so does not call any(). */
static void delete_resurrected(struct sim *sim)
{
    size_t left = SIZE_MAX, before;
    do {
        before = left;
        sim_delete_resurrected(sim, any, &left);
    } while (left != before);
}

/* As if an operator had compared the servers and removed what is only on some of them. */
void sim_converge(struct sim *sim)
{
    delete_resurrected(sim);
    for (size_t i = 0; i < sim->server.member_count; i++) {
        struct sim__member *member = &sim->server.members[i];
        struct sim__node *node, *next;
        member->misses = 0;
        HASH_ITER(hh, member->tree->nodes, node, next)
        {
            if (node->missed_delete) {
                remove_node(sim, member, node);
            }
        }
    }
}

bool sim_shows(const struct sim *sim, int server, const char *path)
{
    return sim__tree_find(sim->server.members[server].tree, path, strlen(path)) != NULL;
}
