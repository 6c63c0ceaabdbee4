/* SPDX-License-Identifier: Apache-2.0 */
/* One client and what owns the znode of its persistent node, PERSISTENT_PROCESS_PATH: that node, a
 * second one, and a lock with a fixed name. Each owner recognizes the znode by the client's
 * session, so two of them would take it from each other. */
#ifndef OWNER_SCENE_H
#define OWNER_SCENE_H

#include "cmocka_test.h"

#include <string.h>

#include "group_process.h"
#include "persistent_process.h"

#define OWNER_SCENE_DIRECTORY "/app/workers" /* of the znode "w" */

/* A world without randomness, with one process, "c". */
struct owner_scene {
    struct world world;
    struct persistent_process c;
    /* Another persistent node: what it was told, and how often. */
    uvzk_persistent_node_t second;
    int told, status;
    uvzk_lock_t lock;
    uvzk_hold_t hold;
    int acquired, closed, lost, lock_status;
};

/* mode: of the process's persistent node, which is not opened. */
int owner_scene_begin(void **state, uint32_t sessions, uint32_t mode);
int owner_scene_begin_one(void **state);      /* one session; an ephemeral node */
int owner_scene_begin_sessions(void **state); /* three sessions; an ephemeral node */
int owner_scene_end(void **state);

/* Opens the process's node, and waits until it is told to be there. */
void owner_scene_open_node(struct owner_scene *scene);
/* Calls uvzk_persistent_node_init for the second node, and returns its result. */
int owner_scene_open_second(struct owner_scene *scene);
/* Waits until the second one is told to be there. */
void owner_scene_await_second(struct owner_scene *scene);
/* Returns true if the znode exists with these data. */
bool owner_scene_has(const struct owner_scene *scene, const char *data);

/* Calls uvzk_lock_init_with_driver for a lock, or for that of the scene, and returns its
 * result. */
int owner_scene_init_lock(struct owner_scene *scene, uvzk_lock_t *lock);
int owner_scene_open_lock(struct owner_scene *scene);
void owner_scene_acquire(struct owner_scene *scene);
/* Closes the lock, and waits until its znode is gone too. */
void owner_scene_close_lock(struct owner_scene *scene);
/* Begins to close the lock. `closed` counts the callback. */
void owner_scene_begin_close(struct owner_scene *scene);

#endif
