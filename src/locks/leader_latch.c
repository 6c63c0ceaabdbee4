/* LeaderLatch as a lock: each claim has one contender in an exclusive directory, and
 * in_order.c grants the contenders by sequence number, as those of a mutex. Only the
 * prefix of the names differs. Only elections use this kind (election/candidacy.c), so
 * its acquires have neither an owner nor leases. */
#include "locks/leader_latch.h"

#include "base/refusal.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"

static const struct uvzk__name_prefix name_prefixes[] = {{UVZK__LATCH_PREFIX, false},
                                                         {NULL, false}};

const struct uvzk__directory_kind uvzk__latches = {
    .name_prefixes = name_prefixes,
    .in_order = true,
    .settle = uvzk__settle_in_order,
};

static const struct uvzk__contender_kind contender_kind = {
    .name_prefix = UVZK__LATCH_PREFIX,
};

static int check(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    (void)lock;
    (void)options;
    return 0;
}

static bool occupied(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    (void)options;
    return uvzk__queue_occupied(lock->session, &uvzk__latches, lock->path->text, false);
}

static int prepare(struct uvzk__lock *lock, struct uvzk__claim *claim,
                   const uvzk_acquire_options_t *options)
{
    struct uvzk__contender *contender;

    return uvzk__claim_add_contender(claim, &uvzk__latches, lock->path, &contender_kind,
                                     NULL, options, &contender);
}

static size_t directories(const struct uvzk__lock *lock,
                          struct uvzk__participant_directory *directory)
{
    *directory = (struct uvzk__participant_directory){lock->path->text, &uvzk__latches};
    return 1;
}

static int classify(const struct uvzk__lock *lock, struct uvzk__participant *participants,
                    size_t count)
{
    (void)lock;
    (void)count;
    participants[0].holds = true;
    return 0;
}

static const struct uvzk__lock_kind leader_latch = {
    .claim_kind = &uvzk__claim_plain,
    .ignores_owners = true,
    .check = check,
    .occupied = occupied,
    .prepare = prepare,
    .directories = directories,
    .classify = classify,
};

int uvzk__leader_latch_init(uvzk_client_t *client, uvzk_lock_t *shell, const char *path)
{
    int status = uvzk__lock_check(client, shell, path);

    if (status == 0 && uvzk__lock_new(client->impl, shell, path, &leader_latch) == NULL) {
        status = UV_ENOMEM;
    }
    return status;
}
