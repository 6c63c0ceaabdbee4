/* SPDX-License-Identifier: Apache-2.0 */
/* Persistent znodes of a client that is closed stand for ever, if it could not delete them:
 * somebody has to, and knows by their data whose they are. */
#include <stdio.h>
#include <string.h>

#include "history_parts.h"

#define CHILDREN_MAX 128

void operator_tag(const struct client_slot *slot, char tag[TAG_SIZE])
{
    (void)snprintf(tag, TAG_SIZE, "client %d.%u", slot->number, slot->openings);
}

/* Ours, of one that is closed. */
static bool is_left(const struct history *history, const char *path)
{
    static const char mark[] = "client ";
    size_t length;
    const char *data = sim_data(history->sim, path, &length);
    char tag[TAG_SIZE];

    if (data == NULL || length < strlen(mark) || memcmp(data, mark, strlen(mark)) != 0) {
        return false;
    }
    for (int i = 0; i < history->slot_count; i++) {
        operator_tag(&history->slots[i], tag);
        if (history->slots[i].client != NULL && strlen(tag) == length &&
            memcmp(data, tag, length) == 0) {
            return false;
        }
    }
    return true;
}

static void clear(struct history *history, const char *directory)
{
    const char *names[CHILDREN_MAX];
    char path[256];
    size_t count = sim_children(history->sim, directory, names, CHILDREN_MAX);

    for (size_t i = 0; i < count && i < CHILDREN_MAX; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        if (is_left(history, path)) {
            (void)sim_delete_by_hand(history->sim, path);
            return; /* the names may have gone with it; the next one next time */
        }
    }
}

void operator_step(struct history *history)
{
    for (int i = 0; i < history->path_count; i++) {
        if ((history->persistent >> i & 1U) != 0) {
            clear(history, history_paths[i]);
        }
    }
}
