/* InterProcessMutex: each claim has one contender in an exclusive directory, and
 * in_order.c grants the contenders by sequence number. A mutex with a cohort differs in
 * its claims only (cohort.h). */
#include "locks/mutex.h"

#include "base/refusal.h"
#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "locks/cohort.h"

/* --------------------------------------- what all kinds with one contender have in common */

int uvzk__one_contender_check(struct uvzk__lock *lock,
                              const uvzk_acquire_options_t *options)
{
    (void)lock;
    return uvzk__refuse_if(UV_EINVAL, options->leases > 1
                                          ? "options.leases: only a semaphore has several"
                                          : NULL);
}

bool uvzk__one_contender_occupied(struct uvzk__lock *lock,
                                  const uvzk_acquire_options_t *options)
{
    (void)options;
    return uvzk__queue_occupied(lock->session, lock->kind->directory_kind,
                                lock->path->text, false);
}

int uvzk__one_contender_prepare(struct uvzk__lock *lock, struct uvzk__claim *claim,
                                const uvzk_acquire_options_t *options)
{
    struct uvzk__contender *contender;

    return uvzk__claim_add_contender(claim, lock->kind->directory_kind, lock->path,
                                     lock->kind->contender_kind, NULL, options,
                                     &contender);
}

size_t uvzk__one_contender_directories(const struct uvzk__lock *lock,
                                       struct uvzk__participant_directory *directory)
{
    *directory = (struct uvzk__participant_directory){lock->path->text,
                                                      lock->kind->directory_kind};
    return 1;
}

/* The participants are sorted by sequence number, and the first one holds. */
int uvzk__one_contender_classify(const struct uvzk__lock *lock,
                                 struct uvzk__participant *participants, size_t count)
{
    (void)lock;
    (void)count;
    participants[0].holds = true;
    return 0;
}

/* ---------------------------------------------------------------------- the mutex */

static const char *session_order_path(const struct uvzk__lock *lock,
                                      const uvzk_acquire_options_t *options)
{
    (void)options;
    return lock->path->text;
}

static const struct uvzk__name_prefix name_prefixes[] = {{UVZK__MUTEX_PREFIX, false},
                                                         {NULL, false}};

const struct uvzk__directory_kind uvzk__exclusive = {
    .name_prefixes = name_prefixes,
    .in_order = true,
    .kinds_elsewhere = UVZK__KINDS_BELOW,
    .settle = uvzk__settle_in_order,
};

static const struct uvzk__contender_kind contender_kind = {
    .name_prefix = UVZK__MUTEX_PREFIX,
};

static int prepare_in_cohort(struct uvzk__lock *lock, struct uvzk__claim *claim,
                             const uvzk_acquire_options_t *options)
{
    int status = uvzk__cohort_add_claim(lock, claim);

    return status == 0 ? uvzk__one_contender_prepare(lock, claim, options) : status;
}

const struct uvzk__lock_kind uvzk__mutex = {
    .claim_kind = &uvzk__claim_plain,
    .directory_kind = &uvzk__exclusive,
    .contender_kind = &contender_kind,
    .check = uvzk__one_contender_check,
    .occupied = uvzk__one_contender_occupied,
    .session_order_path = session_order_path,
    .prepare = uvzk__one_contender_prepare,
    .directories = uvzk__one_contender_directories,
    .classify = uvzk__one_contender_classify,
};

const struct uvzk__lock_kind uvzk__mutex_in_cohort = {
    .claim_kind = &uvzk__claim_in_cohort,
    .directory_kind = &uvzk__exclusive,
    .contender_kind = &contender_kind,
    .check = uvzk__one_contender_check,
    .occupied = uvzk__one_contender_occupied,
    .prepare = prepare_in_cohort,
    .directories = uvzk__one_contender_directories,
    .classify = uvzk__one_contender_classify,
    .freed = uvzk__cohort_freed,
};

int uvzk_mutex_init(uvzk_client_t *client, uvzk_mutex_t *handle, const char *path)
{
    int status = uvzk__lock_check(client, handle, path);

    if (status == 0 && uvzk__lock_new(client->impl, handle, path, &uvzk__mutex) == NULL) {
        status = UV_ENOMEM;
    }
    return status;
}

int uvzk_mutex_init_with_cohort(uvzk_client_t *client, uvzk_mutex_t *handle,
                                const char *path, uint32_t handovers, uint32_t ms)
{
    const struct uvzk__cohort_limit bound = {handovers, ms};
    struct uvzk__lock *lock;
    int status = uvzk__lock_check(client, handle, path);

    if (status == 0) {
        status = uvzk__cohort_check(&bound);
    }
    if (status != 0) {
        return status;
    }
    lock = uvzk__lock_new(client->impl, handle, path, &uvzk__mutex_in_cohort);
    if (lock == NULL) {
        return UV_ENOMEM;
    }
    status = uvzk__cohort_set_limit(lock, &bound);
    if (status != 0) {
        uvzk__lock_free(lock);
    }
    return status;
}
