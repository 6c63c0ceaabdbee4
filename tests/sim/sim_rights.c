/* SPDX-License-Identifier: Apache-2.0 */
/* Permissions that are missing for a time. Called by sim_faults.c at random, by
 * sim_inspect.c when a test takes READ, and by sim_txn.c for each delete.
 *
 *   unreadable   READ is missing on one random znode
 *   forbidden    DELETE is missing in one random directory
 *   unread       READ is missing at the moment at which a znode is deleted, so its
 *                watches are used up without an event
 *
 * This file also records which paths have been unreadable and which znodes were removed
 * unread. With these records a test decides whether a client could know of a removal. */
#include "sim_internal.h"

#include <stdlib.h>
#include <string.h>

static void set_right(struct sim *sim, const struct sim__missing *missing, bool given)
{
    if (missing == &sim->server.unreadable_path) {
        (void)sim_set_readable(sim, missing->path, given);
    } else {
        (void)sim_set_deletable(sim, missing->path, given);
    }
}

/* Fires when the time has passed; also called directly. */
static void give_back(struct sim *sim, struct sim__event *end)
{
    struct sim__missing *missing = UVZK__CONTAINER_OF(end, struct sim__missing, end);
    sim__event_clear(sim, end);
    if (missing->path != NULL) {
        set_right(sim, missing, true);
        free(missing->path);
        missing->path = NULL;
    }
}

static void take(struct sim *sim, struct sim__missing *missing,
                 const struct sim__node *node, uint64_t ms)
{
    missing->path = sim__copy(node->path, node->length + 1);
    set_right(sim, missing, false);
    missing->end.fire = give_back;
    sim__event_set(sim, &missing->end, sim->now + ms);
}

/* Chooses among all znodes. If it chooses the root or a znode that is unreadable already,
 * nothing happens this time. */
void sim__blind_one(struct sim *sim, uint64_t ms)
{
    const struct sim__tree *tree = &sim->server.tree;
    uint64_t chosen = sim_random(sim, tree->count);
    const struct sim__node *node = tree->nodes;
    while (chosen-- > 0) {
        node = node->hh.next;
    }
    if (sim->server.unreadable_path.path == NULL && node != tree->root &&
        !node->unreadable) {
        take(sim, &sim->server.unreadable_path, node, ms);
    }
}

/* Ephemerals have no children, and no lock deletes a child of the root. */
static bool may_be_forbidden(const struct sim__tree *tree, const struct sim__node *node)
{
    return node != tree->root && node->stat.ephemeral_owner == 0 && !node->undeletable;
}

void sim__forbid_one(struct sim *sim, uint64_t ms)
{
    const struct sim__tree *tree = &sim->server.tree;
    const struct sim__node *chosen = NULL;
    uint64_t count = 0;
    if (sim->server.forbidden.path != NULL) {
        return;
    }
    /* Reservoir sampling: each candidate is chosen with the same probability. */
    for (const struct sim__node *node = tree->nodes; node != NULL; node = node->hh.next) {
        if (may_be_forbidden(tree, node) && sim_random(sim, ++count) == 0) {
            chosen = node;
        }
    }
    if (chosen != NULL) {
        take(sim, &sim->server.forbidden, chosen, ms);
    }
}

/* Returns true if path is top, or below it. */
static bool is_below(const char *path, const char *top)
{
    size_t length = strlen(top);
    return strncmp(path, top, length) == 0 &&
           (path[length] == '\0' || path[length] == '/');
}

void sim__blinded(struct sim *sim, const struct sim__node *node)
{
    struct sim__server *server = &sim->server;
    size_t size = (server->blinded_count + 1) * sizeof(*server->blinded);
    server->blinded = realloc(server->blinded, size);
    server->blinded[server->blinded_count++] = sim__copy(node->path, node->length + 1);
}

bool sim_was_unreadable(const struct sim *sim, const char *path)
{
    size_t i = 0;
    while (i < sim->server.blinded_count && !is_below(sim->server.blinded[i], path)) {
        i++;
    }
    return i < sim->server.blinded_count;
}

void sim__rights_are_back(struct sim *sim)
{
    give_back(sim, &sim->server.unreadable_path.end);
    give_back(sim, &sim->server.forbidden.end);
}

/* ------------------------------------------------------------------ unread removals */

bool sim__goes_unread(struct sim *sim)
{
    return sim->faults.blind_removal > 0 &&
           sim__random_hit(sim, sim->faults.blind_removal);
}

/* The unread removal of the znode with this czxid; NULL: none. */
static struct sim__unread *find(const struct sim *sim, int64_t czxid)
{
    for (size_t i = 0; i < sim->server.unread_count; i++) {
        if (sim->server.unread[i].czxid == czxid) {
            return &sim->server.unread[i];
        }
    }
    return NULL;
}

void sim__went_unread(struct sim *sim, const struct sim__member *member,
                      const struct sim__node *node)
{
    struct sim__server *server = &sim->server;
    struct sim__unread *unread = find(sim, node->stat.czxid);
    /* The leader records the removal first. Each follower that applies it later moves
     * last_ms. */
    if (unread == NULL && sim__member_leads(sim, member)) {
        size_t size = (server->unread_count + 1) * sizeof(*server->unread);
        server->unread = realloc(server->unread, size);
        unread = &server->unread[server->unread_count++];
        unread->path = sim__copy(node->path, node->length + 1);
        unread->counted = node->counter != 0;
        unread->czxid = node->stat.czxid;
        unread->zxid = server->tree.zxid;
    }
    if (unread != NULL) {
        unread->last_ms = sim->now;
    }
}

void sim__moment_passes(struct sim *sim)
{
    struct sim__server *server = &sim->server;
    /* Only transactions after an unread removal are ever looked up. */
    if (server->unread_count == 0) {
        return;
    }
    if (server->moment_count == server->moment_room) {
        server->moment_room = 2 * server->moment_room + 64;
        server->moments =
            realloc(server->moments, server->moment_room * sizeof(*server->moments));
    }
    server->moments[server->moment_count++] =
        (struct sim__moment){server->tree.zxid, sim->now};
}

/* When the transaction was begun, which must have come after the first unread removal.
 * The moments are ordered by zxid. */
static uint64_t moment_of(const struct sim *sim, int64_t zxid)
{
    size_t low = 0, high = sim->server.moment_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (sim->server.moments[middle].zxid <= zxid) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high == 0 ? 0 : sim->server.moments[low].ms;
}

bool sim_went_unread(const struct sim *sim, int64_t czxid, uint64_t ms)
{
    const struct sim__unread *unread = czxid == 0 ? NULL : find(sim, czxid);
    return unread != NULL && sim->now <= unread->last_ms + ms;
}

int64_t sim_unread_removal(const struct sim *sim, const char *path)
{
    size_t i = sim->server.unread_count;
    while (i > 0 && strcmp(sim->server.unread[i - 1].path, path) != 0) {
        i--;
    }
    return i == 0 ? 0 : sim->server.unread[i - 1].czxid;
}

bool sim_made_behind_unread(const struct sim *sim, const char *path, int64_t first,
                            int64_t second, uint64_t ms)
{
    for (size_t i = 0; i < sim->server.unread_count; i++) {
        const struct sim__unread *unread = &sim->server.unread[i];
        if (unread->counted && is_below(unread->path, path) && unread->zxid < first &&
            first < second && moment_of(sim, second) <= unread->last_ms + ms) {
            return true;
        }
    }
    return false;
}

void sim__rights_free(struct sim *sim)
{
    struct sim__server *server = &sim->server;
    sim__event_clear(sim, &server->unreadable_path.end);
    sim__event_clear(sim, &server->forbidden.end);
    free(server->unreadable_path.path);
    free(server->forbidden.path);
    while (server->blinded_count > 0) {
        free(server->blinded[--server->blinded_count]);
    }
    free(server->blinded);
    while (server->unread_count > 0) {
        free(server->unread[--server->unread_count].path);
    }
    free(server->unread);
    free(server->moments);
}
