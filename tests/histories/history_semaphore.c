/* SPDX-License-Identifier: Apache-2.0 */
/* InterProcessSemaphoreV2, with a fixed number of leases or with a shared count that
 * changes at random, and InterProcessSemaphoreMutex.
 *
 *   leases   never more than there are, however many are asked for at once; with a
 *            shared count: who is granted some fits into the count that its own
 *            client knows, but for one request of each client that was under way
 *            when it heard of a lower one. Where somebody deletes the znode of whoever
 *            is the first in P/locks, the next may be granted its leases before the
 *            first has heard of its own: the greatest count counts that any client knows
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "history_parts.h"

static const char *const count_paths[PATHS_MAX] = {"/counts/a", "/counts/b", "/c"};

const char *const semaphore_directories[] = {"/locks", "/leases", NULL};

static const char *const *directories(const struct history *history, int path)
{
    (void)history;
    (void)path;
    return semaphore_directories;
}

/* Others do not follow a shared count here. */
static unsigned foreign_locks(const struct history *history, int path)
{
    return history->max_leases[path] == 0 ? 0 : BIT_OF(FOREIGN_SEMAPHORE);
}

static void prepare(struct history *history)
{
    bool counted = chance(history, 3) == 0;

    history->deletes_first_waiter = chance(history, 2) == 0;
    for (int i = 0; i < PATHS_MAX; i++) {
        history->max_leases[i] = counted ? 0 : 1 + (uint32_t)chance(history, LEASES_MOST);
    }
}

/* ---------------------------------------------------------------- the count */

/* Whoever is being granted leases at this moment may have counted on more. */
static void hear_of(struct known_count *known)
{
    int32_t value;

    if (uvzk_shared_count_get(&known->count, &value, NULL) != 0) {
        value = known->value;
    }
    if (value < known->value && known->excess_most < (uint64_t)known->value) {
        known->excess_most = (uint64_t)known->value;
    }
    known->value = value;
}

static void on_count(uvzk_shared_count_t *count, int status, int32_t value)
{
    (void)status;
    (void)value;
    hear_of(count->data);
}

static int begin_count(struct client_slot *slot, int path)
{
    struct known_count *known = &slot->counts[path];

    if (known->slot != NULL) {
        return 0; /* semaphores come and go, the count stays */
    }
    known->slot = slot;
    known->path = path;
    known->count.data = known;
    return uvzk_shared_count_init(slot->client, &known->count, count_paths[path],
                                  1 + (int32_t)chance(slot->history, LEASES_MOST),
                                  on_count);
}

static void on_set(uvzk_req_t *request, int status)
{
    (void)status;
    free(request);
}

static void client_slot_step(struct client_slot *slot)
{
    struct history *history = slot->history;
    int path = some_path(history);

    if (history->max_leases[path] != 0 || chance(history, 100) != 0) {
        return;
    }
    uvzk_req_t *request = calloc(1, sizeof(*request));
    int32_t value = 1 + (int32_t)chance(history, LEASES_MOST);
    sim_note(history->sim, "client %d: sets the count of %s to %d", slot->number,
             history_paths[path], (int)value);
    if (uvzk_shared_count_set(&slot->counts[path].count, request, value, on_set) == 0) {
        history->result->resized++;
    } else {
        history_fail(history, "set refused");
    }
}

/* Everybody can be served. */
static void ending(struct history *history)
{
    for (int i = 0; i < history->path_count; i++) {
        size_t length;
        const unsigned char *bytes = sim_data(history->sim, count_paths[i], &length);
        if (bytes != NULL && bytes[3] < LEASES_MOST) {
            const unsigned char most[4] = {0, 0, 0, LEASES_MOST};
            (void)sim_set_by_hand(history->sim, count_paths[i], most, sizeof(most));
        }
    }
}

/* -------------------------------------------------------------- the semaphore */

static int open_semaphore(struct path_locks *path_locks, int path)
{
    uint32_t max = path_locks->slot->history->max_leases[path];
    uvzk_shared_count_t *count = max == 0 ? &path_locks->slot->counts[path].count : NULL;
    int status = count == NULL ? 0 : begin_count(path_locks->slot, path);

    return status != 0
               ? status
               : uvzk_semaphore_init(path_locks->slot->client, &path_locks->as.semaphore,
                                     history_paths[path], max, count);
}

static void wish(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    struct history *history = acquisition->worker->history;
    int path = some_path_for(acquisition);
    uint32_t max = history->max_leases[path], leases = 1;

    if (chance(history, 2) == 0) {
        leases += (uint32_t)chance(history, max == 0 ? LEASES_MOST : max);
    }
    acquisition_set(acquisition, path, 0, LEASES, leases);
    options->owner =
        chance(history, 2) == 0 ? acquisition->worker : NULL; /* says nothing */
    options->leases = leases == 1 ? (uint32_t)chance(history, 2) : leases;
}

static bool wish_more(struct acquisition *acquisition, uvzk_acquire_options_t *options)
{
    wish(acquisition, options);
    return chance(acquisition->worker->history, 2) == 0;
}

static void never_acquired(uvzk_hold_t *hold, int status)
{
    (void)status;
    history_fail(hold->data, "asked for more leases than there are");
}

static void provoke(struct actor *worker)
{
    struct history *history = worker->history;
    int path = some_path(history);
    struct path_locks *path_locks = &worker->slot->path_locks[path];
    uvzk_acquire_options_t options;
    uvzk_hold_t request = {.data = history};

    if (history->max_leases[path] == 0 || path_locks->closing[0] ||
        chance(history, 50) != 0) {
        return;
    }
    uvzk_acquire_options_init(&options);
    options.leases = history->max_leases[path] + 1;
    if (uvzk_lock_acquire(&path_locks->as.semaphore, &request, &options, never_acquired,
                          never_acquired) != UV_EINVAL) {
        history_fail(history, "more leases than there are: not refused");
    }
}

static bool return_some(struct acquisition *acquisition)
{
    struct history *history = acquisition->worker->history;
    struct share *share = &acquisition->shares[0];

    if (share->leases == 1 || !uvzk_hold_is_valid(acquisition->request) ||
        chance(history, 3) != 0) {
        return false;
    }
    uint32_t back = 1 + (uint32_t)chance(history, share->leases - 1);
    int status = uvzk_hold_return_leases(acquisition->request, back);
    if (status != 0) {
        history_fail(history, "return of leases: %s", uvzk_err_name(status));
    }
    share->leases -= back;
    if (uvzk_hold_node_count(acquisition->request) != share->leases) {
        history_fail(history, "wrong number of leases after a return");
    }
    return true;
}

static int32_t greatest_known(const struct history *history, int path)
{
    int32_t greatest = 0;

    for (int i = 0; i < history->slot_count; i++) {
        int32_t value = history->slots[i].counts[path].value;
        greatest = value > greatest ? value : greatest;
    }
    return greatest;
}

static void check_count(struct acquisition *acquisition)
{
    struct history *history = acquisition->worker->history;
    const struct share *share = &acquisition->shares[0];
    struct known_count *known = &acquisition->worker->slot->counts[share->path];
    uint64_t leases = share->leases + count_leases(history, share->path, acquisition);

    hear_of(known);
    int32_t count = history->deletes_nodes && history->deletes_first_waiter
                        ? greatest_known(history, share->path)
                        : known->value;
    if (leases <= (uint64_t)count || acquisition_killed(acquisition) ||
        node_deleter_has_struck(share) || history->proof == UVZK_PROOF_NONE) {
        return;
    }
    if (leases > known->excess_most) {
        history_fail(history, "%" PRIu64 " leases on %s, and the count is %d", leases,
                     history_paths[share->path], (int)count);
    }
    known->excess_most = 0;
}

static void granted(struct acquisition *acquisition)
{
    struct history *history = acquisition->worker->history;
    const struct share *share = &acquisition->shares[0];

    if (uvzk_hold_node_count(acquisition->request) != share->leases) {
        history_fail(history, "wrong number of leases");
    }
    if (history->max_leases[share->path] == 0) {
        check_count(acquisition);
    }
    history->result->multi_grants += share->leases > 1;
}

static const char *unseen(const struct history_result *sum)
{
    return sum->losses == 0          ? "a loss"
           : sum->shared_grants == 0 ? "holders together"
           : sum->multi_grants == 0  ? "several leases"
           : sum->resized == 0       ? "a resizing"
                                     : NULL;
}

const struct recipe recipe_semaphore = {
    .name = "semaphore",
    .struck = true,
    .struck_holders = true,
    .active_ms = 8000,
    .lock_count = 1,
    .acquisition_count = 2,
    .directories = directories,
    .foreign_locks = foreign_locks,
    .prepare = prepare,
    .open = open_semaphore,
    .handle = only_lock,
    .choose_acquire = wish,
    .choose_another = wish_more,
    .try_refused = provoke,
    .while_held = return_some,
    .client_slot_step = client_slot_step,
    .ending = ending,
    .granted = granted,
    .unseen = unseen,
};

/* --------------------------------------------------------- the semaphore mutex */

static void prepare_mutex(struct history *history)
{
    history->deletes_first_waiter = chance(history, 2) == 0;
    for (int i = 0; i < PATHS_MAX; i++) {
        history->max_leases[i] = 1;
    }
}

static int open_mutex(struct path_locks *path_locks, int path)
{
    return uvzk_semaphore_mutex_init(path_locks->slot->client, &path_locks->as.semaphore,
                                     history_paths[path]);
}

static const char *unseen_of_mutex(const struct history_result *sum)
{
    return sum->losses == 0 ? "a loss" : NULL;
}

const struct recipe recipe_semaphore_mutex = {
    .name = "semaphore_mutex",
    .struck = true,
    .struck_holders = true,
    .active_ms = 10000,
    .lock_count = 1,
    .acquisition_count = 2,
    .directories = directories,
    .foreign_locks = foreign_locks,
    .prepare = prepare_mutex,
    .open = open_mutex,
    .handle = only_lock,
    .choose_acquire = wish,
    .choose_another = wish_more,
    .try_refused = provoke,
    .granted = granted,
    .unseen = unseen_of_mutex,
};
