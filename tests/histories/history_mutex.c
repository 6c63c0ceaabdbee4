/* SPDX-License-Identifier: Apache-2.0 */
/* One holds, and may re-enter: InterProcessMutex, and the lock driver of the simple
 * exclusive lock, one znode for everybody. */
#include "drivers.h"
#include "history_parts.h"

const char *const *no_directory_below(const struct history *history, int path)
{
    static const char *const itself[] = {"", NULL};

    (void)history;
    (void)path;
    return itself;
}

unsigned foreign_mutexes(const struct history *history, int path)
{
    (void)history;
    (void)path;
    return BIT_OF(FOREIGN_MUTEX);
}

/* A cohort stays at home. */
bool mutexes_overflow(const struct history *history)
{
    return !history->cohorts;
}

static int open_mutex(struct path_locks *path_locks, int path)
{
    if (path_locks->slot->history->cohorts && path_locks->slot->number % 2 == 0) {
        return uvzk_mutex_init_with_cohort(path_locks->slot->client,
                                           &path_locks->as.mutex, history_paths[path],
                                           COHORT_HANDOVERS, COHORT_MS);
    }
    return uvzk_mutex_init(path_locks->slot->client, &path_locks->as.mutex,
                           history_paths[path]);
}

static int open_driver(struct path_locks *path_locks, int path)
{
    uvzk_lock_driver_t driver;

    exclusive_driver(&driver);
    return uvzk_lock_init_with_driver(path_locks->slot->client, &path_locks->as.mutex,
                                      history_paths[path], &driver);
}

/* Each kind of it begins at the same place of the union. */
uvzk_lock_t *only_lock(struct path_locks *path_locks, int lock)
{
    (void)lock;
    return &path_locks->as.mutex;
}

static void wish(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    struct history *history = acquisition->worker->history;

    acquisition_set(acquisition, some_path_for(acquisition), 0, EXCLUSIVE, 0);
    options->owner = chance(history, 2) == 0 ? acquisition->worker : NULL;
}

/* Where the first has no owner this is no re-entry: it queues behind. */
static bool wish_more(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    const struct acquisition *first = &acquisition->worker->acquisitions[0];

    if (first->state != HOLDING || chance(acquisition->worker->history, 3) != 0) {
        return false;
    }
    acquisition_set(acquisition, first->path, 0, EXCLUSIVE, 0);
    options->owner = acquisition->worker;
    return true;
}

static const char *unseen(const struct history_result *sum)
{
    return sum->losses == 0 ? "a loss" : sum->reentries == 0 ? "a re-entry" : NULL;
}

static const char *unseen_of_mutex(const struct history_result *sum)
{
    return sum->cohort_grants == 0           ? "a znode that is handed on"
           : client_slot_no_remote_hold(sum) ? "a grant in another session"
                                             : unseen(sum);
}

const struct recipe recipe_mutex = {
    .name = "mutex",
    .struck = true,
    .struck_holders = true,
    .active_ms = 20000,
    .revocable = true,
    .lock_count = 1,
    .acquisition_count = 2,
    .overflows = mutexes_overflow,
    .directories = no_directory_below,
    .foreign_locks = foreign_mutexes,
    .open = open_mutex,
    .handle = only_lock,
    .choose_acquire = wish,
    .choose_another = wish_more,
    .unseen = unseen_of_mutex,
};

/* One whose create was forgotten deletes the next one of that name when it lets go. */
static void prepare_one_name(struct history *history)
{
    history->leaders_lose_nothing = true;
}

const struct recipe recipe_exclusive_driver = {
    .prepare = prepare_one_name,
    .name = "exclusive_driver",
    .struck = true,
    .struck_holders = true,
    .unnumbered = true,
    .active_ms = 20000,
    .lock_count = 1,
    .acquisition_count = 2,
    .directories = no_directory_below,
    .open = open_driver,
    .handle = only_lock,
    .choose_acquire = wish,
    .choose_another = wish_more,
    .unseen = unseen,
};
