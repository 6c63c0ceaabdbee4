/* A driver lock (Curator's LockInternals with a LockInternalsDriver): the caller's driver
 * defines the znodes and their order. This file has the lock: its checks, its claims'
 * contenders, and which participants hold. driver_directory.c grants the contenders. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "locks/driver_claim.h"
#include "locks/driver_directory.h"
#include "locks/fixed_name.h"
#include "locks/lock_driver.h"

static struct uvzk__lock_driver *driver_of(const struct uvzk__lock *lock)
{
    return lock->extra;
}

/* Returns true for the path "/", which has participants and cannot be acquired. */
static bool is_of_root(const struct uvzk__lock *lock)
{
    const char *ns = uvzk__namespace_of(lock->session);

    return strcmp(lock->path->text, ns[0] == '\0' ? "/" : ns) == 0;
}

static int driver_lock_check(struct uvzk__lock *lock,
                             const uvzk_acquire_options_t *options)
{
    if (is_of_root(lock)) {
        return uvzk__refuse(UVZK_EPATH, "path: a lock at \"/\" cannot be acquired");
    }
    return uvzk__refuse_if(
        UV_EINVAL,
        options->leases > 1 ? "options.leases: only a semaphore has several"
        : options->revoke_cb != NULL
            ? "options.revoke_cb: the hold of a lock with a driver cannot be revoked"
            : NULL);
}

/* With sequential names only the driver knows which contender waits for which, so the
 * answer is no. With a fixed name, an acquire waits for any other local contender. */
static bool driver_lock_occupied(struct uvzk__lock *lock,
                                 const uvzk_acquire_options_t *options)
{
    const struct uvzk__lock_driver *driver = driver_of(lock);
    struct uvzk__queue *queue =
        uvzk__queue_find(lock->session, &uvzk__driver_directory, lock->path->text);

    (void)options;
    return queue != NULL && uvzk__lock_driver_fixed(driver) &&
           uvzk__fixed_name_taken(queue, driver->name);
}

static int driver_lock_prepare(struct uvzk__lock *lock, struct uvzk__claim *claim,
                               const uvzk_acquire_options_t *options)
{
    struct uvzk__lock_driver *driver = driver_of(lock);
    struct uvzk__contender *contender;
    int status = uvzk__driver_claim_new(claim, driver);

    if (status == 0) {
        status = uvzk__claim_add_contender(claim, &uvzk__driver_directory, lock->path,
                                           uvzk__lock_driver_fixed(driver)
                                               ? &uvzk__fixed_contender
                                               : &uvzk__driver_contender,
                                           driver->name, options, &contender);
    }
    return status;
}

static void driver_lock_freed(struct uvzk__lock *lock)
{
    uvzk__lock_driver_unref(driver_of(lock));
}

/* -------------------------------------------------------------------- participants */

static size_t driver_lock_directories(const struct uvzk__lock *lock,
                                      struct uvzk__participant_directory *directory)
{
    *directory =
        (struct uvzk__participant_directory){lock->path->text, &uvzk__driver_directory};
    return 1;
}

/* The client whose znode has the fixed name holds. Waiting contenders have no znode, and
 * other children are not participants. */
static int classify_fixed(const char *name, struct uvzk__participant *participants,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        participants[i].holds = strcmp(uvzk__path_name(participants[i].path), name) == 0;
        participants[i].hidden = !participants[i].holds;
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

/* Holders first, whatever their position in the driver's order. */
static int by_order(const void *left, const void *right)
{
    const struct uvzk__participant *a = left, *b = right;

    return a->holds != b->holds ? b->holds - a->holds
                                : uvzk__place_compare(a->place, b->place);
}

/* Asks the driver which children are contenders, in which order, and which of them hold.
 * Their indexes in that order replace the sequence numbers. Children that the driver
 * ignores are hidden. */
static void driver_lock_sort(const struct uvzk__sorted_children *children,
                             struct uvzk__participant *participants, size_t count)
{
    size_t watch;

    qsort(participants, count, sizeof(participants[0]), by_path);
    for (size_t i = 0; i < count; i++) {
        participants[i].hidden = true;
        participants[i].place.sequence = INT32_MAX;
    }
    for (size_t i = 0; i < children->count; i++) {
        struct uvzk__participant *participant =
            bsearch(children->names[i], participants, count, sizeof(participants[0]),
                    name_to_path);
        participant->hidden = false;
        participant->place.sequence = (int32_t)i;
        participant->holds =
            uvzk__sorted_children_decide(children, i, &watch) == UVZK__DRIVER_GETS_LOCK;
    }
    qsort(participants, count, sizeof(participants[0]), by_order);
}

static int driver_lock_classify(const struct uvzk__lock *lock,
                                struct uvzk__participant *participants, size_t count)
{
    const struct uvzk__lock_driver *driver = driver_of(lock);
    struct uvzk__sorted_children children;

    if (uvzk__lock_driver_fixed(driver)) {
        return classify_fixed(driver->name, participants, count);
    }
    const char **names = uvzk__calloc(count, sizeof(char *));
    if (names == NULL) {
        return UV_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = uvzk__path_name(participants[i].path);
    }
    int status = uvzk__sorted_children_sort(&children, &driver->settings, names, count);
    if (status == 0) {
        driver_lock_sort(&children, participants, count);
    }
    uvzk__sorted_children_free(&children);
    uvzk__free(names);
    return status;
}

static const struct uvzk__lock_kind driver_lock = {
    .claim_kind = &uvzk__claim_of_driver,
    .check = driver_lock_check,
    .occupied = driver_lock_occupied,
    .prepare = driver_lock_prepare,
    .directories = driver_lock_directories,
    .classify = driver_lock_classify,
    .freed = driver_lock_freed,
};

static int check_init(const uvzk_client_t *client, const uvzk_lock_t *handle,
                      const char *path)
{
    return path != NULL && strcmp(path, "/") == 0
               ? uvzk__check_handle(client, "the lock", handle,
                                    handle == NULL ? NULL : handle->impl)
               : uvzk__lock_check(client, handle, path);
}

int uvzk_lock_init_with_driver(uvzk_client_t *client, uvzk_lock_t *handle,
                               const char *path, const uvzk_lock_driver_t *settings)
{
    struct uvzk__lock_driver *driver;
    struct uvzk__lock *lock;
    int status = check_init(client, handle, path);

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
    status = uvzk__lock_driver_own(driver, client->impl, path);
    lock = status != 0 ? NULL : uvzk__lock_new(client->impl, handle, path, &driver_lock);
    if (lock == NULL) {
        uvzk__lock_driver_unref(driver);
        return status != 0 ? status : UV_ENOMEM;
    }
    lock->extra = driver;
    uvzk__lock_set_persistent(lock, settings->mode == UVZK_NODE_PERSISTENT_SEQUENTIAL);
    return 0;
}
