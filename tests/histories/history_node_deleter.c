/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_parts.h"

#define CHILDREN_MAX 128

static bool holds_node(const struct acquisition *acquisition, const char *node_path)
{
    const char *held;

    for (uint32_t i = 0; (held = uvzk_hold_node_path(acquisition->request, i)) != NULL;
         i++) {
        if (strcmp(held, node_path) == 0) {
            return true;
        }
    }
    return false;
}

/* Somebody may have been granted past a node of its own client that still stands. */
static bool is_held(const struct history *history, const char *node_path)
{
    for (int i = 0; i < history->slot_count; i++) {
        for (int j = 0; history->slots[i].client != NULL && j < history->worker_count;
             j++) {
            const struct acquisition *acquisitions =
                history->slots[i].workers[j].acquisitions;
            for (int k = 0; k < history->recipe->acquisition_count; k++) {
                if (acquisitions[k].state == HOLDING &&
                    holds_node(&acquisitions[k], node_path)) {
                    return true;
                }
            }
        }
    }
    return foreign_clients_hold(history, node_path);
}

/* How many may hold together by the order of their znodes. A semaphore's tickets are in the
 * first directory, and the first of them alone may hold. */
static uint32_t together(const struct history *history, int path)
{
    return history->recipe->many_hold ? history->max_leases[path] : 1;
}

/* The first in line of those that wait, or any of them; NULL: nobody is sure to. By the
 * order of the directory: a hold need not have been told yet. Whoever deletes a holder's
 * node makes two holders, and nothing can prevent it. */
static const char *choose(struct history *history, int path, const char *const *names,
                          size_t count)
{
    const char *chosen = NULL;
    bool any = chance(history, 2) == 0;

    for (size_t i = 0; i < count; i++) {
        if (!history->deletes_first_waiter &&
            strikes_may_hold(names, count, names[i], together(history, path))) {
            continue;
        }
        if (chosen == NULL || (any && chance(history, count) == 0) ||
            (!any && strikes_number(names[i]) < strikes_number(chosen))) {
            chosen = names[i];
        }
    }
    return chosen;
}

/* Who does both to one znode is outside the promise: one that could not be checked is
 * handed on to without it, and left out of proofs. */
static void delete_one(struct history *history, int path)
{
    const char *names[CHILDREN_MAX];
    char directory[128], chosen[256];

    (void)snprintf(directory, sizeof(directory), "%s%s", history_paths[path],
                   history->recipe->directories(history, path)[0]);
    size_t count = sim_children(history->sim, directory, names, CHILDREN_MAX);
    const char *name = choose(history, path, names, count < CHILDREN_MAX ? count : 0);
    if (name == NULL) {
        return;
    }
    (void)snprintf(chosen, sizeof(chosen), "%s/%s", directory, name);
    if (!is_held(history, chosen) && !sim_was_unreadable(history->sim, chosen)) {
        history->result->nodes_deleted++;
        (void)sim_delete_by_hand(history->sim, chosen);
    }
}

/* Around a handover is the worst of moments. */
void node_deleter_sees_release(struct history *history, int path)
{
    if (!history->deletes_nodes || chance(history, 3) != 0) {
        return;
    }
    if (chance(history, 3) == 0) {
        delete_one(history, path);
    } else {
        history->next_delete_ms[path] = sim_now(history->sim) + chance(history, 50);
    }
}

void node_deleter_step(struct history *history)
{
    for (int i = 0; history->deletes_nodes && i < history->path_count; i++) {
        if (history->next_delete_ms[i] <= sim_now(history->sim)) {
            history->next_delete_ms[i] =
                sim_now(history->sim) + 1 + chance(history, 2000);
            delete_one(history, i);
        }
    }
}

/* ------------------------------------------------------------------ at any moment */

static bool spares(void *context, const char *path)
{
    return foreign_clients_hold(context, path);
}

/* A client that closes holds nothing any more, and its ports are freed one by one. */
static bool has_session(const struct client_slot *slot, int64_t session_id)
{
    for (int i = 0; slot->client != NULL && !slot->closing && i < slot->sessions; i++) {
        if (slot->ports[i] != NULL &&
            history_transport.session_id(slot->ports[i]) == session_id) {
            return true;
        }
    }
    return false;
}

/* How many directories of a path are struck. */
static size_t struck_below(const struct history *history, int path)
{
    const char *const *below = history->recipe->directories(history, path);
    size_t count = 0;

    while (below[count] != NULL) {
        count++;
    }
    return count;
}

/* Where all znodes have one name, whoever releases before he knows may delete the znode of
 * whoever holds next, however late. So nothing is known of the holds there from then on. */
static void ends_hold(void *context, size_t directory, int64_t session_id)
{
    struct history *history = context;
    bool one_name = history->recipe->unnumbered;
    int path = 0;

    while (directory >= struck_below(history, path)) {
        directory -= struck_below(history, path++);
    }
    for (int i = 0; i < history->slot_count; i++) {
        if (one_name || has_session(&history->slots[i], session_id)) {
            history->slots[i].struck_until_ms[path] =
                one_name ? UINT64_MAX
                         : sim_now(history->sim) +
                               STRIKES_UNKNOWN * (uint64_t)history->timeout_ms;
        }
    }
}

/* Of a semaphore, the tickets are in order and the leases are not. A client of another
 * library that holds would not notice, nor would one that is not proved by multis. */
void node_deleter_begin(struct history *history, uint64_t seed)
{
    struct strikes *strikes = &history->strikes;

    strikes_begin(strikes, history->sim, seed, history->timeout_ms);
    if (!history->recipe->struck || strikes->sim == NULL) {
        strikes->sim = NULL;
        return;
    }
    history->deletes_nodes = true;
    strikes->context = history;
    strikes->spares = spares;
    if (history->foreign_clients == NULL && history->recipe->struck_holders &&
        history->proof == UVZK_PROOF_QUORUM) {
        strikes->ends_hold = ends_hold;
    }
    for (int i = 0; i < history->path_count; i++) {
        const char *const *below = history->recipe->directories(history, i);
        for (size_t j = 0; below[j] != NULL; j++) {
            char directory[128];
            (void)snprintf(directory, sizeof(directory), "%s%s", history_paths[i],
                           below[j]);
            if (history->recipe->unnumbered) {
                strikes_add_named(strikes, directory, true);
            } else {
                strikes_add(strikes, directory, j == 0 ? together(history, i) : 0,
                            j == 0 && below[1] != NULL && !history->deletes_first_waiter);
            }
        }
    }
}

bool node_deleter_has_struck(const struct share *share)
{
    const struct actor *worker = share->acquisition->worker;

    return sim_now(worker->history->sim) < worker->slot->struck_until_ms[share->path];
}
