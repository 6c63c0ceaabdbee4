/* LockInternalsDriver: a lock whose znodes, and whose order, are the caller's. What its
 * contenders do is driven.h's. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "recipes/driven.h"
#include "recipes/fixed_name.h"
#include "recipes/lock_driver.h"

static struct uvzk__lock_driver *driver_of(const struct uvzk__lock *lock)
{
    return lock->extra;
}

static int check(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    (void)lock;
    return uvzk__object(UV_EINVAL, options->leases > 1
                                       ? "options.leases: only a semaphore has several"
                                   : options->revoke_cb != NULL
                                       ? "options.revoke_cb: not of a lock with a driver"
                                       : NULL);
}

/* Who waits for whom is the driver's to say, but a fixed name is had by one alone. */
static bool occupied(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    const struct uvzk__lock_driver *driver = driver_of(lock);
    struct uvzk__queue *queue =
        uvzk__queue_find(lock->client, UVZK__DRIVEN, lock->path->text);

    (void)options;
    return queue != NULL && uvzk__lock_driver_fixed(driver) &&
           uvzk__fixed_name_taken(queue, driver->name);
}

static int prepare(struct uvzk__lock *lock, struct uvzk__claim *claim,
                   const uvzk_acquire_options_t *options)
{
    struct uvzk__lock_driver *driver = driver_of(lock);
    struct uvzk__contender *contender;
    int status = uvzk__driven_attach(claim, driver);

    if (status == 0) {
        status = uvzk__claim_queue_up(claim, &uvzk__driven_directory, lock->path,
                                      uvzk__lock_driver_fixed(driver) ? "" : driver->name,
                                      options, &contender);
    }
    if (status == 0) {
        uvzk__contender_has_fixed_name(contender, uvzk__lock_driver_fixed(driver));
    }
    return status;
}

static void freed(struct uvzk__lock *lock)
{
    uvzk__lock_driver_drop(driver_of(lock));
}

/* -------------------------------------------------------------------- participants */

static size_t directories(const struct uvzk__lock *lock,
                          struct uvzk__directory *directory)
{
    *directory = (struct uvzk__directory){lock->path->text, UVZK__DRIVEN};
    return 1;
}

/* Whoever has the znode holds; who waits for it has none. */
static int judge_fixed(const char *name, struct uvzk__participant *participants,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        participants[i].holds = strcmp(uvzk__path_name(participants[i].path), name) == 0;
        participants[i].silent = !participants[i].holds;
    }
    return 0;
}

static int by_path(const void *left, const void *right)
{
    const struct uvzk__participant *a = left, *b = right;

    return strcmp(a->path, b->path);
}

static int name_to_path(const void *name, const void *participant)
{
    return strcmp(name,
                  uvzk__path_name(((const struct uvzk__participant *)participant)->path));
}

/* Holders first, wherever the driver sorts them. */
static int by_rank(const void *left, const void *right)
{
    const struct uvzk__participant *a = left, *b = right;

    return a->holds != b->holds ? b->holds - a->holds
                                : uvzk__place_compare(a->place, b->place);
}

/* The order and the holders are the driver's to say, and who takes part at all. */
static void rank(const struct uvzk__ranking *ranking,
                 struct uvzk__participant *participants, size_t count)
{
    size_t watch;

    qsort(participants, count, sizeof(participants[0]), by_path);
    for (size_t i = 0; i < count; i++) {
        participants[i].silent = true;
        participants[i].place.sequence = INT32_MAX;
    }
    for (size_t i = 0; i < ranking->count; i++) {
        struct uvzk__participant *participant =
            bsearch(ranking->names[i], participants, count, sizeof(participants[0]),
                    name_to_path);
        participant->silent = false;
        participant->place.sequence = (int32_t)i;
        participant->holds = uvzk__ranking_judge(ranking, i, &watch) == UVZK__GETS;
    }
    qsort(participants, count, sizeof(participants[0]), by_rank);
}

static int judge(const struct uvzk__lock *lock, struct uvzk__participant *participants,
                 size_t count)
{
    const struct uvzk__lock_driver *driver = driver_of(lock);
    struct uvzk__ranking ranking;

    if (uvzk__lock_driver_fixed(driver)) {
        return judge_fixed(driver->name, participants, count);
    }
    const char **names = uvzk__calloc(count, sizeof(char *));
    if (names == NULL) {
        return UV_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = uvzk__path_name(participants[i].path);
    }
    int status = uvzk__ranking_make(&ranking, &driver->settings, names, count);
    if (status == 0) {
        rank(&ranking, participants, count);
    }
    uvzk__ranking_free(&ranking);
    uvzk__free(names);
    return status;
}

static const struct uvzk__lock_kind driver_lock = {
    .claim_kind = &uvzk__claim_driven,
    .check = check,
    .occupied = occupied,
    .prepare = prepare,
    .directories = directories,
    .judge = judge,
    .freed = freed,
};

int uvzk_driver_lock_init(uvzk_client_t *client, uvzk_lock_t *shell, const char *path,
                          const uvzk_lock_driver_t *settings)
{
    struct uvzk__lock_driver *driver;
    struct uvzk__lock *lock;
    int status = uvzk__lock_check(client, shell, path);

    if (status == 0) {
        status = uvzk__lock_driver_check(settings);
    }
    if (status != 0) {
        return status;
    }
    driver = uvzk__lock_driver_new(settings);
    if (driver == NULL) {
        return UV_ENOMEM;
    }
    lock = uvzk__lock_new(client->impl, shell, path, &driver_lock);
    if (lock == NULL) {
        uvzk__lock_driver_drop(driver);
        return UV_ENOMEM;
    }
    lock->extra = driver;
    uvzk__lock_is_durable(lock, settings->mode == UVZK_NODE_PERSISTENT_SEQUENTIAL);
    return 0;
}
