/* SPDX-License-Identifier: Apache-2.0 */
/* InterProcessReadWriteLock: readers hold together, a writer alone, except for the
 * read lock that its own owner takes under it. */
#include <stdlib.h>

#include "history_parts.h"

#define READ 0
#define WRITE 1

static unsigned foreign_locks(const struct history *history, int path)
{
    (void)history;
    (void)path;
    return BIT_OF(FOREIGN_READ) | BIT_OF(FOREIGN_WRITE);
}

static int open_lock(struct path_locks *path_locks, int path)
{
    return uvzk_rwlock_init(path_locks->slot->client, &path_locks->as.rwlock,
                            history_paths[path]);
}

static uvzk_lock_t *handle(struct path_locks *path_locks, int lock)
{
    return lock == READ ? &path_locks->as.rwlock.read : &path_locks->as.rwlock.write;
}

static void want(struct acquisition *acquisition, int path, int half)
{
    acquisition_set(acquisition, path, half, half == READ ? SHARED : EXCLUSIVE, 0);
}

static void wish(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    struct history *history = acquisition->worker->history;

    want(acquisition, some_path_for(acquisition),
         chance(history, 100) < history->readers ? READ : WRITE);
    options->owner = chance(history, 3) != 0 ? acquisition->worker : NULL;
}

/* Returns true if the owner waits for this half or holds it, as far as it has been
 * told. */
static bool engaged(const struct actor *worker, int half)
{
    for (int i = 0; i < ACQUISITIONS_MAX; i++) {
        const struct acquisition *acquisition = &worker->acquisitions[i];
        if (acquisition->owner != NULL && acquisition->lock == half &&
            (acquisition->state == ASKING ||
             (acquisition->state == HOLDING &&
              uvzk_hold_is_valid(acquisition->request)))) {
            return true;
        }
    }
    return false;
}

static bool wish_more(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    struct history *history = acquisition->worker->history;
    const struct acquisition *other = worker_other(
        acquisition, BIT_OF(HOLDING) | (chance(history, 4) == 0 ? BIT_OF(ASKING) : 0));

    if (other == NULL || chance(history, 2) == 0) {
        return false;
    }
    want(acquisition, other->path,
         other->lock == WRITE && chance(history, 3) == 0 ? WRITE : READ);
    options->owner = acquisition->worker;
    return acquisition->lock == READ || !engaged(acquisition->worker, READ);
}

static void on_upgraded(uvzk_hold_t *hold, int status)
{
    if (status == 0) {
        history_fail(hold->data, "an upgrade was granted");
    }
    free(hold);
}

/* The read was lost or refused just before, and that is still to be told. */
static void expect_end_of_reads(struct actor *worker)
{
    for (int i = 0; i < ACQUISITIONS_MAX; i++) {
        struct acquisition *acquisition = &worker->acquisitions[i];
        acquisition->must_fail =
            acquisition->owner != NULL && acquisition->lock == READ &&
            (acquisition->state == ASKING || acquisition->state == HOLDING);
    }
}

/* Returns true if the worker has a write hold whose max_hold_ms is over, which is still
 * to be told: another acquire to write joins it, and ends with it. The limit is the claim's,
 * and an acquire that has been cancelled since may have set it. */
static bool writes_until_told(const struct actor *worker)
{
    for (int i = 0; i < ACQUISITIONS_MAX; i++) {
        const struct acquisition *acquisition = &worker->acquisitions[i];
        if (acquisition->owner != NULL && acquisition->lock == WRITE &&
            acquisition->state == HOLDING &&
            (acquisition->max_hold_ms > 0 || worker->history->hold_limits)) {
            return true;
        }
    }
    return false;
}

static void upgrade(struct actor *worker, uvzk_lock_t *lock)
{
    struct history *history = worker->history;
    uvzk_acquire_options_t options;
    uvzk_hold_t *hold = calloc(1, sizeof(*hold));

    uvzk_acquire_options_init(&options);
    options.owner = worker;
    hold->data = history;
    int status = uvzk_lock_acquire(lock, hold, &options, on_upgraded, on_upgraded);
    if (status == 0) {
        if (!writes_until_told(worker)) {
            expect_end_of_reads(worker);
        }
        (void)uvzk_hold_cancel(hold);
        return;
    }
    if (status == UVZK_EDEADLK) {
        history->result->deadlocks++;
    } else if (status != UV_EIO) {
        history_fail(history, "an upgrade says %s", uvzk_err_name(status));
    }
    free(hold);
}

/* Who reads, or waits for it, and asks to write would wait for itself. */
static void provoke(struct actor *worker)
{
    struct path_locks *path_locks =
        &worker->slot->path_locks[worker->acquisitions[0].path];

    if (engaged(worker, READ) && !engaged(worker, WRITE) && !path_locks->closing[READ] &&
        !path_locks->closing[WRITE] && chance(worker->history, 8) == 0) {
        upgrade(worker, handle(path_locks, WRITE));
    }
}

static void released(struct acquisition *acquisition)
{
    const struct acquisition *other = worker_other(acquisition, BIT_OF(HOLDING));

    acquisition->worker->history->result->kept_reads +=
        acquisition->lock == WRITE && other != NULL && other->lock == READ;
}

static const char *unseen(const struct history_result *sum)
{
    return sum->losses == 0          ? "a loss"
           : sum->reentries == 0     ? "a re-entry"
           : sum->shared_grants == 0 ? "readers together"
           : sum->kept_reads == 0    ? "a downgrade"
           : sum->deadlocks == 0     ? "an upgrade"
                                     : NULL;
}

const struct recipe recipe_rwlock = {
    .name = "rwlock",
    .struck = true,
    .active_ms = 13000,
    .revocable = true,
    .lock_count = 2,
    .acquisition_count = 3,
    .directories = no_directory_below,
    .foreign_locks = foreign_locks,
    .open = open_lock,
    .handle = handle,
    .choose_acquire = wish,
    .choose_another = wish_more,
    .try_refused = provoke,
    .released = released,
    .unseen = unseen,
};
