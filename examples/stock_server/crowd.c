/* SPDX-License-Identifier: Apache-2.0 */
#include "crowd.h"

#include <stdio.h>
#include <string.h>

static void forget(struct queue *queue)
{
    queue->standing = CROWD_UNKNOWN;
    queue->holding = queue->shown = 0;
}

void crowd_init(struct crowd *crowd)
{
    forget(&crowd->queue);
}

static void known(struct crowd *crowd)
{
    crowd->queue = crowd->next;
    crowd->asked = false;
    crowd->known_cb(crowd);
}

static void on_read(uvzk_req_t *read, int status)
{
    const void *data = read->result->data;
    size_t length = read->result->length;
    struct crowd *crowd = read->data;
    struct contender *contender = &crowd->next.contenders[read - crowd->reads];

    if (status == 0 && length > 0) { /* otherwise mostly UVZK_ENONODE: it has released */
        snprintf(contender->name, sizeof(contender->name), "%.*s", (int)length,
                 (const char *)data);
    }
    if (--crowd->reading == 0) {
        known(crowd);
    }
}

/* Returns the name of the contender that has this znode in the last queue; "" if it was
 * not there. */
static const char *name_in(const struct queue *queue, const char *path)
{
    for (int i = 0; i < queue->shown; i++) {
        if (strcmp(queue->contenders[i].path, path) == 0) {
            return queue->contenders[i].name;
        }
    }
    return "";
}

/* Takes contender number i of the next queue. Its name is known from the last queue, or
 * is read. */
static void take(struct crowd *crowd, int i, const char *path)
{
    struct contender *contender = &crowd->next.contenders[i];

    snprintf(contender->path, sizeof(contender->path), "%s", path);
    snprintf(contender->name, sizeof(contender->name), "%s",
             name_in(&crowd->queue, path));
    crowd->reads[i].data = crowd;
    if (contender->name[0] == '\0' &&
        uvzk_client_read(crowd->client, &crowd->reads[i], path, on_read) == 0) {
        crowd->reading++;
    }
}

static void on_participants(uvzk_req_t *request, int status)
{
    const char *const *paths = request->result->paths;
    size_t count = request->result->count;
    struct crowd *crowd = request->data;
    struct queue *next = &crowd->next;

    forget(next);
    if (status == 0) {
        next->standing = (int)count;
        next->holding = (int)request->result->holding;
        next->shown = count < CROWD_SHOWN ? (int)count : CROWD_SHOWN;
    }
    for (int i = 0; i < next->shown; i++) {
        take(crowd, i, paths[i]);
    }
    if (crowd->reading == 0) {
        known(crowd);
    }
}

bool crowd_look(struct crowd *crowd, uvzk_client_t *client, uvzk_lock_t *lock,
                crowd_known_cb known_cb)
{
    if (crowd->asked) {
        return false;
    }
    crowd->client = client;
    crowd->known_cb = known_cb;
    crowd->participants.data = crowd;
    crowd->asked =
        uvzk_lock_participants(lock, &crowd->participants, on_participants) == 0;
    if (!crowd->asked) {
        forget(&crowd->queue);
    }
    return crowd->asked;
}
