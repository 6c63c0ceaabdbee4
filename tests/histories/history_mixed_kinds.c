/* SPDX-License-Identifier: Apache-2.0 */
/* Locks of different kinds at one path, of clients that refuse whoever comes later: a
 * mutex, both halves of a read-write lock, and a semaphore of one lease. None of them
 * excludes another kind; still no two of them hold validly, but readers. Their tokens are
 * not compared, because who is refused leaves no order behind. */
#include "history_parts.h"

enum { MUTEX, READER, WRITER, SEMAPHORE, LOCKS };

static const char *const *directories(const struct history *history, int path)
{
    static const char *const all[] = {"", "/locks", "/leases", NULL};

    (void)history;
    (void)path;
    return all;
}

/* Who deletes znodes by hand takes them from holders too, because it knows one kind
 * only. Without tokens it is not seen which hold a leader has forgotten. */
static void prepare(struct history *history)
{
    history->deletes_nodes = false;
    history->leaders_lose_nothing = true;
}

static int open_locks(struct path_locks *path_locks, int path)
{
    uvzk_client_t *client = path_locks->slot->client;
    int status =
        uvzk_mutex_init(client, &path_locks->as.mixed.mutex, history_paths[path]);

    if (status == 0) {
        status =
            uvzk_rwlock_init(client, &path_locks->as.mixed.rwlock, history_paths[path]);
    }
    return status != 0
               ? status
               : uvzk_semaphore_mutex_init(client, &path_locks->as.mixed.semaphore,
                                           history_paths[path]);
}

static uvzk_lock_t *handle(struct path_locks *path_locks, int lock)
{
    switch (lock) {
    case MUTEX:
        return &path_locks->as.mixed.mutex;
    case READER:
        return &path_locks->as.mixed.rwlock.read;
    case WRITER:
        return &path_locks->as.mixed.rwlock.write;
    default:
        return &path_locks->as.mixed.semaphore;
    }
}

/* Each with an owner of its own: nobody re-enters. */
static void wish(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    int lock = (int)chance(acquisition->worker->history, LOCKS);

    acquisition_set(acquisition, some_path_for(acquisition), lock,
                    lock == READER ? SHARED : EXCLUSIVE, 0);
    options->owner = acquisition;
}

static bool wish_more(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    wish(acquisition, options);
    return chance(acquisition->worker->history, 2) == 0;
}

static const char *unseen(const struct history_result *sum)
{
    return sum->losses == 0          ? "a loss"
           : sum->shared_grants == 0 ? "readers together"
           : sum->other_kinds == 0   ? "one that another kind refuses"
                                     : NULL;
}

const struct recipe recipe_mixed_kinds = {
    .name = "mixed_kinds",
    .active_ms = 15000,
    .mixed_kinds = true,
    .lock_count = LOCKS,
    .acquisition_count = 2,
    .directories = directories,
    .prepare = prepare,
    .open = open_locks,
    .handle = handle,
    .choose_acquire = wish,
    .choose_another = wish_more,
    .granted = acquisition_without_token,
    .unseen = unseen,
};
