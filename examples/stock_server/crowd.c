#include "crowd.h"

#include <stdio.h>
#include <string.h>

void crowd_init(struct crowd *crowd)
{
    crowd->standing = CROWD_UNKNOWN;
}

static void not_known(struct crowd *crowd, int standing)
{
    crowd->standing = standing;
    crowd->holder[0] = '\0';
    crowd->asked = false;
}

static void on_read(uvzk_read_t *read, int status, const uvzk_stat_t *stat,
                    const void *data, size_t length)
{
    (void)stat;
    struct crowd *crowd = read->data;

    if (status < 0) { /* mostly UVZK_ENONODE: it has released meanwhile */
        not_known(crowd, crowd->standing);
        return;
    }
    snprintf(crowd->holder, sizeof(crowd->holder), "%.*s", (int)length,
             length > 0 ? (const char *)data : "");
    crowd->asked = false;
}

static void on_participants(uvzk_participants_t *request, int status,
                            const char *const *paths, size_t count)
{
    struct crowd *crowd = request->data;

    if (status < 0) {
        not_known(crowd, CROWD_UNKNOWN);
        return;
    }
    crowd->standing = (int)count;
    if (count == 0 ||
        uvzk_client_read(crowd->client, &crowd->read, paths[0], on_read) < 0) {
        not_known(crowd, crowd->standing);
    }
}

void crowd_look(struct crowd *crowd, uvzk_client_t *client, uvzk_lock_t *lock)
{
    if (crowd->asked) {
        return;
    }
    crowd->client = client;
    crowd->participants.data = crowd->read.data = crowd;
    if (uvzk_lock_participants(lock, &crowd->participants, on_participants) < 0) {
        not_known(crowd, CROWD_UNKNOWN);
    } else {
        crowd->asked = true;
    }
}
