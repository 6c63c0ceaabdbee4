/* Who stands at a lock, in all processes: for people to look at, asked of ZooKeeper only
 * while somebody looks. */
#ifndef STOCK_CROWD_H
#define STOCK_CROWD_H

#include <stdbool.h>
#include <uvzk.h>

enum { CROWD_NAME_MAX = 31, CROWD_UNKNOWN = -1 };

struct crowd {
    int standing;                    /* holders and waiters; CROWD_UNKNOWN */
    char holder[CROWD_NAME_MAX + 1]; /* the name of its instance; "" if nobody's */
    uvzk_participants_t participants;
    uvzk_read_t read;
    uvzk_client_t *client;
    bool asked;
};

void crowd_init(struct crowd *crowd);

/* Asks, if that is not under way; what comes of it is seen in the next look. */
void crowd_look(struct crowd *crowd, uvzk_client_t *client, uvzk_lock_t *lock);

#endif
