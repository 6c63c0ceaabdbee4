/* InterProcessMutex: one contender for each owner, all of them exclusive. */
#include "recipes/mutex.h"

#include "base/refusal.h"
#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/in_order.h"
#include "directory/queue.h"

static int check(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    (void)lock;
    return uvzk__object(UV_EINVAL, options->leases > 1
                                       ? "options.leases: only a semaphore has several"
                                       : NULL);
}

static bool occupied(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    (void)options;
    return uvzk__queue_occupied(lock->client, UVZK__EXCLUSIVE, lock->path, false);
}

static int prepare(struct uvzk__lock *lock, struct uvzk__claim *claim,
                   const uvzk_acquire_options_t *options)
{
    struct uvzk__contender *contender;

    return uvzk__claim_queue_up(claim, &uvzk__exclusive, lock->path, UVZK__TOKEN_MUTEX,
                                options, &contender);
}

static size_t directories(const struct uvzk__lock *lock,
                          struct uvzk__directory *directory)
{
    *directory = (struct uvzk__directory){lock->path, UVZK__EXCLUSIVE};
    return 1;
}

static int judge(const struct uvzk__lock *lock, struct uvzk__participant *participants,
                 size_t count)
{
    (void)lock;
    (void)count;
    participants[0].holds = true;
    return 0;
}

const struct uvzk__lock_kind uvzk__mutex = {
    .claim_kind = &uvzk__claim_plain,
    .check = check,
    .occupied = occupied,
    .prepare = prepare,
    .directories = directories,
    .judge = judge,
};

int uvzk_mutex_init(uvzk_client_t *client, uvzk_mutex_t *shell, const char *path)
{
    int status = uvzk__lock_check(client, shell, path);

    if (status == 0 && uvzk__lock_new(client->impl, shell, path, &uvzk__mutex) == NULL) {
        status = UV_ENOMEM;
    }
    return status;
}
