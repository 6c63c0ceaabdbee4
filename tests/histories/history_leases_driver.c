/* SPDX-License-Identifier: Apache-2.0 */
/* The lock driver with n leases on one directory.
 *
 *   leases   never more than there are. Their tokens tell nothing: who was let in
 *            earlier may hear of it later */
#include "drivers.h"
#include "history_parts.h"

#define DRIVER_LEASES_MOST 4U

/* Where several hold it cannot be told from the directory who does not, yet. */
static void prepare(struct history *history)
{
    uint32_t max = 1 + (uint32_t)chance(history, DRIVER_LEASES_MOST);

    for (int i = 0; i < PATHS_MAX; i++) {
        history->max_leases[i] = max;
    }
    history->deletes_nodes = history->deletes_nodes && max == 1;
}

static int open_lock(struct path_locks *path_locks, int path)
{
    uvzk_lock_driver_t driver;

    n_leases_driver(&driver, path_locks->slot->history->max_leases[path]);
    return uvzk_lock_init_with_driver(path_locks->slot->client, &path_locks->as.mutex,
                                      history_paths[path], &driver);
}

static void wish(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    (void)options; /* no owner: each ticket is one lease */
    acquisition_set(acquisition, some_path_for(acquisition), 0, LEASES, 1);
}

static bool wish_more(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    wish(acquisition, options);
    return chance(acquisition->worker->history, 2) == 0;
}

static const char *unseen(const struct history_result *sum)
{
    return sum->losses == 0          ? "a loss"
           : sum->shared_grants == 0 ? "holders together"
           : sum->nodes_deleted == 0 ? "a waiter whose znode was deleted by hand"
                                     : NULL;
}

const struct recipe recipe_leases_driver = {
    .name = "leases_driver",
    .struck = true,
    .struck_holders = true,
    .many_hold = true,
    .active_ms = 20000,
    .lock_count = 1,
    .acquisition_count = 2,
    .directories = no_directory_below,
    .prepare = prepare,
    .open = open_lock,
    .handle = only_lock,
    .choose_acquire = wish,
    .choose_another = wish_more,
    .granted = acquisition_without_token,
    .unseen = unseen,
};
