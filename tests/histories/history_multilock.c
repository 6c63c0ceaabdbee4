/* SPDX-License-Identifier: Apache-2.0 */
/* InterProcessMultiLock: everybody takes two or three of three locks, in any order,
 * or one of them alone. In half of the histories all are mutexes, taken at once: that
 * nobody waits in a circle shows in that everybody is answered. In the other half
 * they are a mutex, a read-write lock and a semaphore, taken in turn; or some of them have
 * persistent znodes, or all are mutexes, which live in any session. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_parts.h"

enum member { MUTEX, DRIVER, RWLOCK, SEMAPHORE };

#define FIRST_MULTI 2 /* of the numbers of a place's locks; before it its own two */
#define SEMAPHORE_LEASES 2U

struct combination {
    int count;
    int paths[PATHS_MAX];
    bool writes; /* the lock of path 1 */
};

static const struct combination combinations[MULTIS_MAX] = {
    {2, {0, 1}, true},  {2, {1, 0}, false},   {2, {2, 1}, true},
    {2, {2, 0}, false}, {3, {0, 1, 2}, true}, {3, {2, 1, 0}, false},
};

static enum member member_at(const struct history *history, int path)
{
    static const enum member members[PATHS_MAX] = {MUTEX, RWLOCK, SEMAPHORE};

    return !history->in_turn || history->mutexes     ? MUTEX
           : (history->persistent >> path & 1U) != 0 ? DRIVER
                                                     : members[path];
}

static const char *const *directories(const struct history *history, int path)
{
    return member_at(history, path) == SEMAPHORE ? semaphore_directories
                                                 : no_directory_below(history, path);
}

static unsigned foreign_locks(const struct history *history, int path)
{
    switch (member_at(history, path)) {
    case RWLOCK:
        return BIT_OF(FOREIGN_READ) | BIT_OF(FOREIGN_WRITE);
    case SEMAPHORE:
        return BIT_OF(FOREIGN_SEMAPHORE);
    default:
        return BIT_OF(FOREIGN_MUTEX);
    }
}

static void prepare(struct history *history)
{
    history->path_count = PATHS_MAX;
    history->in_turn = chance(history, 2) == 0;
    history->max_leases[2] = SEMAPHORE_LEASES;
    if (history->in_turn && (history->kinds & HISTORY_DURABLE) != 0) {
        static const unsigned persistent[] = {0, 1, 3, 7};
        unsigned paths = persistent[chance(history, 4)];
        history->persistent = history->creates_come_late ? 0 : paths;
        history->mutexes = history->persistent == 0;
    }
}

static bool overflows(const struct history *history)
{
    return !history->in_turn || history->mutexes;
}

/* ------------------------------------------------------------------- the locks */

static int open_durable(uvzk_client_t *client, uvzk_lock_t *lock, const char *path)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    return uvzk_lock_init_with_driver(client, lock, path, &driver);
}

static int open_lock(struct path_locks *path_locks, int path)
{
    uvzk_client_t *client = path_locks->slot->client;
    const char *text = history_paths[path];

    switch (member_at(path_locks->slot->history, path)) {
    case DRIVER:
        return open_durable(client, &path_locks->as.mutex, text);
    case RWLOCK:
        return uvzk_rwlock_init(client, &path_locks->as.rwlock, text);
    case SEMAPHORE:
        return uvzk_semaphore_init(client, &path_locks->as.semaphore, text,
                                   SEMAPHORE_LEASES, NULL);
    default:
        return uvzk_mutex_init(client, &path_locks->as.mutex, text);
    }
}

/* lock: 1 is the write half, where there is one. */
static uvzk_lock_t *single(struct path_locks *path_locks, int lock)
{
    return lock == 1 ? &path_locks->as.rwlock.write : &path_locks->as.mutex;
}

static uvzk_lock_t *handle(struct path_locks *path_locks, int lock)
{
    return lock < FIRST_MULTI ? single(path_locks, lock)
                              : &path_locks->slot->multis[lock - FIRST_MULTI];
}

static void on_error(uvzk_multilock_t *lock, uvzk_lock_t *member, int status)
{
    const struct client_slot *slot = lock->data;

    if (member->impl == NULL || status == 0) {
        history_fail(slot->history, "a member failed with %s", uvzk_err_name(status));
    }
}

static int open_multis(struct client_slot *slot)
{
    bool in_turn = slot->history->in_turn;
    int status = 0;

    for (int i = 0; status == 0 && i < MULTIS_MAX; i++) {
        const struct combination *combination = &combinations[i];
        uvzk_lock_t *members[PATHS_MAX];
        for (int j = 0; j < combination->count; j++) {
            int path = combination->paths[j];
            bool is_writer =
                member_at(slot->history, path) == RWLOCK && combination->writes;
            members[j] = single(&slot->path_locks[path], is_writer);
        }
        slot->multis[i].data = slot;
        status = uvzk_multilock_init(slot->client, &slot->multis[i], members,
                                     (size_t)combination->count,
                                     in_turn ? UVZK_MULTILOCK_IN_TURN : 0, on_error);
    }
    return status;
}

/* ------------------------------------------------------------------ the wishes */

static enum kind kind_of(const struct history *history, int path, bool writes)
{
    switch (member_at(history, path)) {
    case SEMAPHORE:
        return LEASES;
    case RWLOCK:
        return writes ? EXCLUSIVE : SHARED;
    default:
        return EXCLUSIVE;
    }
}

static void want_multi(struct acquisition *acquisition, int which)
{
    const struct history *history = acquisition->worker->history;
    const struct combination *combination = &combinations[which];

    acquisition->path = combination->paths[0];
    acquisition->lock = FIRST_MULTI + which;
    acquisition->in_turn = history->in_turn;
    acquisition->share_count = 0;
    for (int i = 0; i < combination->count; i++) {
        int path = combination->paths[i];
        acquisition_add(acquisition, path, kind_of(history, path, combination->writes),
                        1);
    }
}

static void want_single(struct acquisition *acquisition, int path)
{
    struct history *history = acquisition->worker->history;
    bool writes = member_at(history, path) == RWLOCK && chance(history, 2) == 0;

    acquisition_set(acquisition, path, writes, kind_of(history, path, writes),
                    1 + (uint32_t)chance(history, SEMAPHORE_LEASES));
}

/* An owner of a mutex takes more of them in turn, and who does that may wait in a
 * circle with others that take them at once. */
static void wish(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    struct history *history = acquisition->worker->history;
    bool owned = chance(history, 2) == 0;

    if (chance(history, 3) != 0) {
        want_multi(acquisition, (int)chance(history, MULTIS_MAX));
    } else {
        want_single(acquisition, (int)chance(history, PATHS_MAX));
        owned = owned && history->in_turn && acquisition->path == 0;
        options->leases =
            acquisition->shares[0].kind == LEASES ? acquisition->shares[0].leases : 0;
    }
    options->owner = owned ? acquisition->worker : NULL;
}

/* The same again, or several locks on top of the mutex among them, or that mutex
 * once more. */
static bool wish_more(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    struct history *history = acquisition->worker->history;
    const struct acquisition *other = worker_other(acquisition, BIT_OF(HOLDING));

    if (other == NULL || chance(history, 2) == 0) {
        return false;
    }
    options->owner = acquisition->worker;
    if (history->in_turn && chance(history, 3) == 0) {
        want_single(acquisition, 0);
    } else {
        want_multi(acquisition, other->lock < FIRST_MULTI
                                    ? (int)chance(history, MULTIS_MAX)
                                    : other->lock - FIRST_MULTI);
    }
    return true;
}

/* ------------------------------------------------------------------ the checks */

static int64_t czxid_of(const struct acquisition *acquisition, const struct share *share)
{
    struct history *history = acquisition->worker->history;
    size_t length = strlen(history_paths[share->path]);
    struct uvzk__stat stat;
    const char *path;

    for (uint32_t i = 0; (path = uvzk_hold_node_path(acquisition->request, i)) != NULL;
         i++) {
        if (strncmp(path, history_paths[share->path], length) == 0 &&
            path[length] == '/') {
            return sim_stat(history->sim, path, &stat)
                       ? stat.czxid
                       : sim_unread_removal(history->sim, path);
        }
    }
    history_fail(history, "a multi lock is held without %s", history_paths[share->path]);
    return 0;
}

/* A semaphore's token is not that of its lease. A znode may be gone by now, deleted by
 * hand and not heard of yet. Its czxid is known if no watch could tell of that. If not,
 * the znodes made at once have its token in common, and what was there before has been
 * told its own. */
static int64_t token_of(const struct acquisition *acquisition, const struct share *share)
{
    if (share->kind == LEASES) {
        return 0;
    }
    int64_t token = czxid_of(acquisition, share);
    int64_t unseen = acquisition->worker->history->in_turn
                         ? share->joined
                         : uvzk_hold_token(acquisition->request);
    return token != 0 ? token : unseen;
}

static void granted(struct acquisition *acquisition)
{
    struct history *history = acquisition->worker->history;
    int64_t greatest = 0;

    if (acquisition->lock < FIRST_MULTI) {
        return;
    }
    if (uvzk_hold_node_count(acquisition->request) !=
        (uint32_t)acquisition->share_count) {
        history_fail(history, "a multi lock is held in part");
    }
    for (int i = 0; i < acquisition->share_count; i++) {
        struct share *share = &acquisition->shares[i];
        share->token = token_of(acquisition, share);
        if (!history->in_turn && share->token != 0 &&
            share->token != uvzk_hold_token(acquisition->request)) {
            history_fail(history, "not made at once: %s", history_paths[share->path]);
        }
        greatest = share->token > greatest ? share->token : greatest;
    }
    if (uvzk_hold_token(acquisition->request) < greatest) {
        history_fail(history, "the token is not the greatest");
    }
    history->result->multi_grants++;
    for (int i = 0; i < acquisition->share_count; i++) {
        if (member_at(history, acquisition->shares[i].path) == DRIVER) {
            history->result->persistent++;
            break;
        }
    }
}

static const char *unseen(const struct history_result *sum)
{
    return sum->losses == 0                  ? "a loss"
           : sum->reentries == 0             ? "a re-entry"
           : sum->shared_grants == 0         ? "holders together"
           : sum->multi_grants == 0          ? "several locks"
           : client_slot_no_remote_hold(sum) ? "a grant in another session"
                                             : NULL;
}

const struct recipe recipe_multilock = {
    .name = "multilock",
    .struck = true,
    .struck_holders = true,
    .active_ms = 13000,
    .acquisition_count = 2,
    .overflows = overflows,
    .directories = directories,
    .foreign_locks = foreign_locks,
    .prepare = prepare,
    .open = open_lock,
    .open_seat = open_multis,
    .handle = handle,
    .choose_acquire = wish,
    .choose_another = wish_more,
    .granted = granted,
    .unseen = unseen,
};
