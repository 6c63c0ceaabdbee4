/* SPDX-License-Identifier: Apache-2.0 */
/* The recipes of test_together, each at work on one path: it goes on, round after round, or
 * its callback says why it cannot. */
#ifndef TOGETHER_USERS_H
#define TOGETHER_USERS_H

#include <stdbool.h>
#include <stddef.h>

#include "uvzk.h"

/* The driver locks have this fixed name, which is also that of the level below. */
#define TOGETHER_NAME "x"
#define TOGETHER_PAUSE_MS 100 /* before each of them does the next thing */

struct user;

struct recipe {
    const char *name;
    void (*begin)(struct user *);
};

extern const struct recipe together_recipes[];
extern const size_t together_recipe_count;

/* A recipe of a client. */
struct user {
    const struct recipe *recipe;
    uvzk_client_t *client;
    const char *name; /* of the client */
    const char *path;
    int rounds;                  /* what it has done so far */
    bool stays;                  /* it has nothing more to do */
    int status;                  /* < 0: why it cannot go on */
    bool at_call;                /* a call has returned it */
    void (*next)(struct user *); /* what it does after a pause; NULL: nothing */
    int pauses;                  /* before that, more than one */
    uvzk_lock_t lock, members[2], *acquires;
    uvzk_rwlock_t rwlock;
    uvzk_hold_t hold;
    uvzk_shared_value_t value;
    uvzk_shared_count_t count;
    uvzk_req_t set;
    uvzk_barrier_t barrier;
    uvzk_double_barrier_t gate;
    uvzk_req_t call;
    uvzk_atomic_long_t atomic;
    uvzk_req_t change;
    uvzk_group_member_t member;
    uvzk_persistent_node_t node;
    uvzk_election_t election;
};

/* Begins the user's recipe; its other fields are zeroed before. */
void together_begin(struct user *user, const struct recipe *recipe, uvzk_client_t *client,
                    const char *name, const char *path);
/* A pause is over. */
void together_go_on(struct user *user);

#endif
