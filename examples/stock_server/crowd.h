/* Who is at a lock, in all processes, for people to look at. ZooKeeper is asked only
 * while a live page is open. */
#ifndef STOCK_CROWD_H
#define STOCK_CROWD_H

#include <stdbool.h>
#include <uvzk.h>

enum { CROWD_NAME_MAX = 31, CROWD_UNKNOWN = -1 };

struct crowd {
    int standing;                    /* holders and waiters, or CROWD_UNKNOWN */
    char holder[CROWD_NAME_MAX + 1]; /* the name of its instance; "": unknown or none */
    uvzk_participants_t participants;
    uvzk_read_t read;
    uvzk_client_t *client;
    bool asked;
};

void crowd_init(struct crowd *crowd);

/* Asks ZooKeeper, unless an answer is still awaited. The result is in the struct when it
 * has arrived. */
void crowd_look(struct crowd *crowd, uvzk_client_t *client, uvzk_lock_t *lock);

#endif
