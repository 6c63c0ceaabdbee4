/* SPDX-License-Identifier: Apache-2.0 */
/* LeaderLatch as a lock: each claim has one contender in an exclusive directory, and
 * in_order.c grants the contenders by sequence number, as those of a mutex. Only the
 * prefix of the names differs. Only elections use this kind (election/election.c), so
 * its acquires have neither an owner nor leases. */
#include "locks/leader_latch.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "locks/mutex.h"

static const struct uvzk__name_prefix name_prefixes[] = {{UVZK__LATCH_PREFIX, false},
                                                         {NULL, false}};

const struct uvzk__directory_kind uvzk__latches = {
    .name_prefixes = name_prefixes,
    .in_order = true,
    .kinds_elsewhere = UVZK__KINDS_BELOW,
    .settle = uvzk__settle_in_order,
};

static const struct uvzk__contender_kind contender_kind = {
    .name_prefix = UVZK__LATCH_PREFIX,
};

static const struct uvzk__lock_kind leader_latch = {
    .claim_kind = &uvzk__claim_plain,
    .ignores_owners = true,
    .directory_kind = &uvzk__latches,
    .contender_kind = &contender_kind,
    .check = uvzk__one_contender_check,
    .occupied = uvzk__one_contender_occupied,
    .prepare = uvzk__one_contender_prepare,
    .directories = uvzk__one_contender_directories,
    .classify = uvzk__one_contender_classify,
};

int uvzk__leader_latch_init(uvzk_client_t *client, uvzk_lock_t *handle, const char *path)
{
    int status = uvzk__lock_check(client, handle, path);

    if (status == 0 &&
        uvzk__lock_new(client->impl, handle, path, &leader_latch) == NULL) {
        status = UV_ENOMEM;
    }
    return status;
}
