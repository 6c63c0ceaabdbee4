#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_parts.h"

#define CHILDREN_MAX 128
#define DIGITS 10

static long sequence_of(const char *name)
{
    size_t length = strlen(name);

    return length < DIGITS ? 0 : strtol(name + length - DIGITS, NULL, 10);
}

static bool is_reader(const char *name)
{
    return strstr(name, "__READ__") != NULL;
}

/* By the order of the directory: it need not have been told yet. Whoever deletes a
 * holder's node makes two holders, and nothing can prevent it. */
static bool may_hold(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (sequence_of(names[i]) < sequence_of(name) &&
            !(is_reader(name) && is_reader(names[i]))) {
            return false;
        }
        if (is_reader(name) && !is_reader(names[i]) &&
            sequence_of(names[i]) == sequence_of(name)) {
            return true; /* taken under a write hold */
        }
    }
    return true;
}

static bool holds_node(const struct acquisition *acquisition, const char *node_path)
{
    const char *held;

    for (uint32_t i = 0; (held = uvzk_hold_lease_path(acquisition->request, i)) != NULL;
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

/* The first in line of those that wait, or any of them; NULL: nobody is sure to. */
static const char *choose(struct history *history, const char *const *names, size_t count)
{
    const char *chosen = NULL;
    bool any = chance(history, 2) == 0;

    for (size_t i = 0; i < count; i++) {
        if (!history->deletes_first_waiter && may_hold(names, count, names[i])) {
            continue;
        }
        if (chosen == NULL || (any && chance(history, count) == 0) ||
            (!any && sequence_of(names[i]) < sequence_of(chosen))) {
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
    const char *name = choose(history, names, count < CHILDREN_MAX ? count : 0);
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
