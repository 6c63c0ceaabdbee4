/* SPDX-License-Identifier: Apache-2.0 */
/* The locks of the client: makes a lock of a kind by the kind's name. Of an election, each
 * worker makes its own participant (elections.c). */
#include "client.h"

#include <stdio.h>
#include <string.h>

#define COHORT_HANDOVERS 8
#define COHORT_MS 100

struct chaos_lock *find_lock(const char *name)
{
    for (size_t i = 0; i < chaos.lock_count; i++) {
        if (strcmp(chaos.locks[i].name, name) == 0) {
            return &chaos.locks[i];
        }
    }
    return NULL;
}

static struct chaos_lock *add(const char *name, const char *path)
{
    struct chaos_lock *lock = &chaos.locks[chaos.lock_count];
    if (chaos.lock_count == LOCKS_MAX) {
        return NULL;
    }
    chaos.lock_count++;
    snprintf(lock->name, sizeof(lock->name), "%s", name);
    snprintf(lock->path, sizeof(lock->path), "%s", path);
    lock->used = &lock->lock;
    lock->fencing = FENCING_GROWS;
    return lock;
}

/* Makes two locks, NAME.read and NAME.write. */
static int make_halves(const char *name, const char *path)
{
    char half[WORD_MAX + 8];
    snprintf(half, sizeof(half), "%s.read", name);
    struct chaos_lock *read = add(half, path);
    snprintf(half, sizeof(half), "%s.write", name);
    struct chaos_lock *write = add(half, path);
    if (read == NULL || write == NULL) {
        return UV_ENOMEM;
    }
    read->used = &write->halves.read;
    write->used = &write->halves.write;
    read->fencing = FENCING_NONE;
    return uvzk_rwlock_init(&chaos.client, &write->halves, path);
}

static int make_driven(struct chaos_lock *lock, uint32_t mode)
{
    uvzk_lock_driver_t driver;
    uvzk_lock_driver_init(&driver);
    driver.name = mode == UVZK_NODE_EPHEMERAL ? "holder" : "lock-";
    driver.mode = mode;
    return uvzk_lock_init_with_driver(&chaos.client, &lock->lock, lock->path, &driver);
}

int make_lock(const char *name, const char *kind, const char *path, uint32_t number)
{
    if (strcmp(kind, "rwlock") == 0) {
        return make_halves(name, path);
    }
    struct chaos_lock *lock = add(name, path);
    if (lock == NULL) {
        return UV_ENOMEM;
    }
    if (strcmp(kind, "mutex") == 0) {
        return uvzk_mutex_init(&chaos.client, &lock->lock, path);
    }
    if (strcmp(kind, "cohort") == 0) {
        lock->fencing = FENCING_OF_COHORT;
        return uvzk_mutex_init_with_cohort(&chaos.client, &lock->lock, path,
                                           COHORT_HANDOVERS, COHORT_MS);
    }
    if (strcmp(kind, "semaphore") == 0) {
        lock->fencing = FENCING_NONE;
        return uvzk_semaphore_init(&chaos.client, &lock->lock, path, number, NULL);
    }
    if (strcmp(kind, "semaphore_mutex") == 0) {
        return uvzk_semaphore_mutex_init(&chaos.client, &lock->lock, path);
    }
    if (strcmp(kind, "driver") == 0) {
        return make_driven(lock, UVZK_NODE_EPHEMERAL_SEQUENTIAL);
    }
    if (strcmp(kind, "fixed") == 0) {
        return make_driven(lock, UVZK_NODE_EPHEMERAL);
    }
    if (strcmp(kind, "latch") == 0 || strcmp(kind, "selector") == 0) {
        lock->is_election = true;
        lock->election_kind =
            kind[0] == 'l' ? UVZK_ELECTION_LATCH : UVZK_ELECTION_SELECTOR;
        return 0;
    }
    return strcmp(kind, "persistent") == 0
               ? make_driven(lock, UVZK_NODE_PERSISTENT_SEQUENTIAL)
               : UV_EINVAL;
}

/* The token of a multi lock is not compared. If its members are acquired at once they
 * have one token, but if they are acquired in turn, its token is the greatest of theirs,
 * and that says nothing about the holds of clients that acquire only one of the
 * members. */
int make_multi(const char *name, unsigned flags, char *const *members, size_t count)
{
    uvzk_lock_t *locks[MEMBERS_MAX];
    struct chaos_lock *lock = add(name, "");
    if (lock == NULL || count == 0 || count > MEMBERS_MAX) {
        return UV_EINVAL;
    }
    lock->fencing = FENCING_NONE;
    for (size_t i = 0; i < count; i++) {
        struct chaos_lock *member = find_lock(members[i]);
        if (member == NULL) {
            return UV_EINVAL;
        }
        locks[i] = member->used;
    }
    return uvzk_multilock_init(&chaos.client, &lock->lock, locks, count, flags, NULL);
}
