/* SPDX-License-Identifier: Apache-2.0 */
/* InterProcessSemaphoreV2 and InterProcessSemaphoreMutex. A semaphore at path P has a
 * mutex in P/locks, whose znodes are the tickets, and leases in P/leases, which only the
 * mutex's holder may create (leases.h). A semaphore mutex is a semaphore of one lease.
 *
 * This file has the lock and its claims: semaphore_prepare() chooses how a claim gets its
 * leases (with a ticket of its own, as a ticket sharer, or without a ticket), and the
 * claim_kind passes the events of tickets and leases to the files that grant leases. The
 * maximum is fixed, or is the value of a shared count, to which the lock listens. */
#include "locks/semaphore/semaphore.h"

#include <string.h>

#include "base/node_name.h"
#include "base/path.h"
#include "base/refusal.h"
#include "claim/claim.h"
#include "claim/hold_calls.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "engine/acl.h"
#include "engine/request_size.h"
#include "locks/mutex.h"
#include "locks/semaphore/leases.h"
#include "value/shared_value.h"

/* The most leases of one acquire: one multi must create all of them, and one must check
 * all of them. */
#define LEASES_MAX 100U

/* lock->extra. */
struct semaphore {
    struct uvzk__lock *lock;
    uint32_t max; /* the fixed maximum; not used if `counted` */
    /* The user's shared count. NULL: the maximum is fixed, or the count has been closed,
     * and its struct may be another count now. */
    uvzk_shared_count_t *count;
    bool counted; /* the maximum is that of a shared count, closed or not */
    struct uvzk__value_listener listener;
    struct uvzk__shared_path *locks_path, *leases_path; /* owned by reference */
};

static struct semaphore *semaphore_of(const struct uvzk__lock *lock)
{
    return lock->extra;
}

/* The maximum at this moment. While the count is not known, and after it has been closed,
 * the maximum is 0, so no lease is granted. */
static uint64_t max_of(const struct uvzk__claim *claim)
{
    const struct semaphore *semaphore = semaphore_of(claim->lock);
    int32_t value;

    if (!semaphore->counted) {
        return semaphore->max;
    }
    return semaphore->count != NULL &&
                   uvzk_shared_count_get(semaphore->count, &value, NULL) == 0 && value > 0
               ? (uint64_t)value
               : 0;
}

/* ------------------------------------------------------------------ its claims */

/* A ticket's grant makes its lease request the ticket holder. Leases are granted by
 * leases.c, which reports to the claim itself. */
static void semaphore_granted(struct uvzk__contender *contender)
{
    if (contender->kind->admits) {
        uvzk__ticket_held(uvzk__lease_request_of(contender->claim));
    }
}

/* The loss of a ticket's grant does not change the hold. The loss of a lease's grant,
 * before it was reported, takes back the grant of the whole claim. */
static void semaphore_ungranted(struct uvzk__contender *contender)
{
    struct uvzk__lease_request *request = uvzk__lease_request_of(contender->claim);

    if (contender->kind->admits) {
        uvzk__ticket_lost(request);
    } else {
        uvzk__claim_ungrant(request->claim);
        if (!uvzk__lease_request_ended(request)) {
            uvzk__lease_request_ungranted(request);
        }
        uvzk__queue_settle_later(request->leases);
    }
}

/* A contender ends, so the claim ends, with one exception: when the claim holds, it no
 * longer needs its ticket. */
static void semaphore_ended(struct uvzk__contender *contender, int code)
{
    struct uvzk__lease_request *request = uvzk__lease_request_of(contender->claim);

    if (contender->kind->admits) {
        if (contender != request->ticket) {
            return; /* released already: the claim goes on as a ticket sharer */
        }
        uvzk__ticket_lost(request);
        uvzk__lease_request_lose_ticket(request);
        uvzk__ticket_ended(request->leases, code);
        if (uvzk__claim_is_held(request->claim)) {
            return;
        }
    }
    uvzk__claim_end(request->claim, code);
}

/* The claim has been given up. Its ticket may be passed on, its leases may be offered. */
static bool keeps_contenders(struct uvzk__claim *claim)
{
    struct uvzk__lease_request *request = uvzk__lease_request_of(claim);
    bool counted = uvzk__lease_request_is_counted(request);

    uvzk__lease_request_end(request);
    return uvzk__ticket_claim_ended(request) || (counted && uvzk__leases_offer(claim));
}

static const struct uvzk__claim_kind semaphore_claim = {
    .granted = semaphore_granted,
    .ungranted = semaphore_ungranted,
    .ended = semaphore_ended,
    .keeps_contenders = keeps_contenders,
    .freed = uvzk__lease_request_free,
    .wait_reason = uvzk__lease_request_wait_reason,
};

void uvzk__semaphore_own_ticket(struct uvzk__claim *claim)
{
    if (claim->kind == &semaphore_claim) {
        uvzk__ticket_make_own(uvzk__lease_request_of(claim));
    }
}

/* -------------------------------------------------------------------- the lock kind */

static uint32_t fixed_max_of(const struct semaphore *semaphore)
{
    return semaphore->counted ? 0 : semaphore->max;
}

/* The lease directory, if anything of this client is in it. */
static struct uvzk__queue *leases_found(const struct uvzk__lock *lock)
{
    return uvzk__queue_find(lock->session, &uvzk__lease_directory,
                            semaphore_of(lock)->leases_path->text);
}

static int semaphore_check(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    const struct semaphore *semaphore = semaphore_of(lock);
    const struct uvzk__queue *leases = leases_found(lock);

    if (semaphore->counted && semaphore->count == NULL) {
        return uvzk__refuse(UVZK_ECLOSED, "the semaphore's count is closed");
    }
    if (leases != NULL && !uvzk__leases_agree(leases, fixed_max_of(semaphore))) {
        return uvzk__refuse(UVZK_EKIND, "this client uses a semaphore with another "
                                        "max_leases at the path");
    }
    return uvzk__refuse_if(UV_EINVAL,
                           options->leases > LEASES_MAX ? "options.leases: more than 100"
                           : options->revoke_cb != NULL
                               ? "options.revoke_cb: a semaphore's hold cannot be revoked"
                           : !semaphore->counted && options->leases > semaphore->max
                               ? "options.leases: more than the semaphore's max_leases"
                               : NULL);
}

/* Local tickets, and ticket sharers, come before a new acquire. Leases that are held do
 * not count here, because there may be room beside them. */
static bool semaphore_occupied(struct uvzk__lock *lock,
                               const uvzk_acquire_options_t *options)
{
    const struct semaphore *semaphore = semaphore_of(lock);
    const struct uvzk__queue *leases = leases_found(lock);

    (void)options;
    return uvzk__queue_occupied(lock->session, &uvzk__exclusive,
                                semaphore->locks_path->text, false) ||
           (leases != NULL && uvzk__first_sharer(leases) != NULL);
}

/* The lease directory, with the path of `locks` set. NULL: out of memory. */
static struct uvzk__queue *leases_of(struct uvzk__lock *lock)
{
    struct semaphore *semaphore = semaphore_of(lock);
    struct uvzk__queue *queue =
        uvzk__queue_of(lock->session, &uvzk__lease_directory, semaphore->leases_path);

    if (queue == NULL) {
        return NULL;
    }
    uvzk__queue_settle_later(queue); /* settled, and freed if it stays empty */
    uvzk__leases_set_locks_path(queue, semaphore->locks_path);
    return queue;
}

/* Returns true if a lease may be created without a ticket. With a shared count it may
 * not: when the count falls, each client may have one request in flight that used the
 * earlier count, which is the request of its ticket. A directly created lease would be a
 * second one. */
static bool has_fixed_count(const struct uvzk__lock *lock)
{
    return !semaphore_of(lock)->counted;
}

/* The claim creates its lease directly, becomes a ticket sharer, or gets a ticket of its
 * own, in this order of preference. A claim with a queued_cb never becomes a ticket
 * sharer, because its position is that of its ticket's znode. */
static int choose_way(struct uvzk__lease_request *request,
                      const uvzk_acquire_options_t *options)
{
    if (options->queued_cb != NULL) {
        request->wants_position = true;
    }
    if (has_fixed_count(request->claim->lock) && uvzk__direct_lease_may(request)) {
        return uvzk__direct_lease_begin(request);
    }
    uvzk__direct_lease_yield(request->leases);
    if (options->queued_cb == NULL && uvzk__ticket_should_share(request)) {
        uvzk__lease_request_share(request);
        return 0;
    }
    return uvzk__ticket_make(request);
}

/* One multi creates all leases of an acquire, after a check of its ticket. */
static int check_size(const struct semaphore *semaphore, const struct uvzk__claim *claim,
                      uint32_t wanted)
{
    struct uvzk__session *session = claim->session;
    const char *path = semaphore->leases_path->text;
    struct uvzk__acl storage;
    const struct uvzk__op lease = {.kind = UVZK__OP_CREATE,
                                   .path = path,
                                   .data_length = uvzk__claim_data_length(claim),
                                   .acl = uvzk__acl_of(session, path, &storage)};
    const struct uvzk__op ticket = {.kind = UVZK__OP_CHECK,
                                    .path = semaphore->locks_path->text};
    size_t name = 1 + UVZK__PROTECTION_LENGTH;
    size_t size =
        UVZK__MULTI_SIZE + uvzk__op_size(session, &ticket) + name +
        strlen(UVZK__MUTEX_PREFIX "0000000000") +
        wanted * (uvzk__op_size(session, &lease) + name + strlen(UVZK__LEASE_PREFIX));

    return uvzk__refuse_size("options.leases with options.node_data", size);
}

static int semaphore_prepare(struct uvzk__lock *lock, struct uvzk__claim *claim,
                             const uvzk_acquire_options_t *options)
{
    uint32_t wanted = options->leases == 0 ? 1 : options->leases;
    int status = check_size(semaphore_of(lock), claim, wanted);
    if (status != 0) {
        return status;
    }
    struct uvzk__queue *leases = leases_of(lock);
    if (leases == NULL || uvzk__lease_request_new(claim, leases, wanted, max_of) != 0) {
        return UV_ENOMEM;
    }
    uvzk__leases_set_fixed_max(leases, fixed_max_of(semaphore_of(lock)));
    return choose_way(uvzk__lease_request_of(claim), options);
}

static void semaphore_begin(struct uvzk__claim *claim)
{
    const struct uvzk__lease_request *request = uvzk__lease_request_of(claim);

    if (request->ticket != NULL) {
        uvzk__contender_pump(request->ticket);
    } else {
        uvzk__queue_settle_later(request->leases);
    }
}

static void semaphore_freed(struct uvzk__lock *lock)
{
    struct semaphore *semaphore = semaphore_of(lock);

    uvzk__list_remove(&semaphore->listener.link);
    uvzk__shared_path_unref(semaphore->locks_path);
    uvzk__shared_path_unref(semaphore->leases_path);
    uvzk__free(semaphore);
}

/* `leases` comes first: its participants hold, those of `locks` wait (classify). */
static size_t semaphore_directories(const struct uvzk__lock *lock,
                                    struct uvzk__participant_directory *directory)
{
    const struct semaphore *semaphore = semaphore_of(lock);

    directory[0] = (struct uvzk__participant_directory){semaphore->leases_path->text,
                                                        &uvzk__lease_directory};
    directory[1] = (struct uvzk__participant_directory){semaphore->locks_path->text,
                                                        &uvzk__exclusive};
    return 2;
}

static int semaphore_classify(const struct uvzk__lock *lock,
                              struct uvzk__participant *participants, size_t count)
{
    (void)lock;
    for (size_t i = 0; i < count; i++) {
        participants[i].holds = participants[i].directory == 0;
    }
    return 0;
}

static const struct uvzk__lock_kind semaphore_kind = {
    .claim_kind = &semaphore_claim,
    .ignores_owners = true,
    .check = semaphore_check,
    .occupied = semaphore_occupied,
    .prepare = semaphore_prepare,
    .begin = semaphore_begin,
    .directories = semaphore_directories,
    .classify = semaphore_classify,
    .freed = semaphore_freed,
};

/* ------------------------------------------------------- the shared count, init */

/* The count has a new value: leases may be granted, or are counted again. */
static void count_changed(struct uvzk__value_listener *listener)
{
    struct semaphore *semaphore =
        UVZK__CONTAINER_OF(listener, struct semaphore, listener);
    struct uvzk__queue *leases = leases_found(semaphore->lock);

    if (leases != NULL) {
        uvzk__queue_settle_later(leases);
    }
}

static struct uvzk__claim *first_waiting(const struct uvzk__lock *lock)
{
    struct uvzk__claim *claim = uvzk__lock_first_claim(lock);

    while (claim != NULL && uvzk__claim_is_held(claim)) {
        claim = uvzk__lock_next_claim(lock, claim);
    }
    return claim;
}

/* The maximum will never be known again, so all waiting claims end. Holds are not
 * changed. */
static void count_closed(struct uvzk__value_listener *listener)
{
    struct semaphore *semaphore =
        UVZK__CONTAINER_OF(listener, struct semaphore, listener);
    struct uvzk__claim *claim;

    semaphore->count = NULL;
    /* Each end removes the claim from the lock's list. */
    while ((claim = first_waiting(semaphore->lock)) != NULL) {
        uvzk__claim_end(claim, UVZK_ECLOSED);
    }
}

static int semaphore_init(uvzk_client_t *client, uvzk_lock_t *handle, const char *path,
                          uint32_t max, uvzk_shared_count_t *count)
{
    struct semaphore *semaphore;
    struct uvzk__lock *lock;
    int status = uvzk__lock_check(client, handle, path);

    if (status != 0) {
        return status;
    }
    semaphore = uvzk__calloc(1, sizeof(*semaphore));
    if (semaphore == NULL) {
        return UV_ENOMEM;
    }
    uvzk__list_init(&semaphore->listener.link);
    semaphore->listener.changed = count_changed;
    semaphore->listener.closed = count_closed;
    lock = uvzk__lock_new(client->impl, handle, path, &semaphore_kind);
    if (lock == NULL) {
        uvzk__free(semaphore);
        return UV_ENOMEM;
    }
    lock->extra = semaphore;
    semaphore->lock = lock;
    semaphore->max = max;
    semaphore->count = count;
    semaphore->counted = count != NULL;
    semaphore->locks_path = uvzk__shared_path_join(lock->path->text, UVZK__TICKETS_NAME);
    semaphore->leases_path = uvzk__shared_path_join(lock->path->text, UVZK__LEASES_NAME);
    if (semaphore->locks_path == NULL || semaphore->leases_path == NULL) {
        uvzk__lock_free(lock);
        return UV_ENOMEM;
    }
    if (count != NULL) {
        uvzk__shared_count_listen(count, &semaphore->listener);
    }
    return 0;
}

int uvzk_semaphore_init(uvzk_client_t *client, uvzk_semaphore_t *handle, const char *path,
                        uint32_t max_leases, uvzk_shared_count_t *count)
{
    if ((count == NULL && max_leases == 0) || (count != NULL && count->impl == NULL)) {
        return uvzk__refuse(UV_EINVAL, count == NULL ? "max_leases is 0 and count is NULL"
                                                     : "count is not initialised");
    }
    return semaphore_init(client, handle, path, max_leases, count);
}

int uvzk_semaphore_mutex_init(uvzk_client_t *client, uvzk_semaphore_mutex_t *handle,
                              const char *path)
{
    return semaphore_init(client, handle, path, 1, NULL);
}

/* ----------------------------------------------------------- the hold's leases */

uint32_t uvzk_hold_node_count(const uvzk_hold_t *hold)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);
    uint32_t count = 0;

    while (claim != NULL && uvzk__claim_node_path(claim, count) != NULL) {
        count++;
    }
    return count;
}

const char *uvzk_hold_node_path(const uvzk_hold_t *hold, uint32_t index)
{
    const struct uvzk__claim *claim = uvzk__hold_of(hold);

    return claim == NULL ? NULL : uvzk__claim_node_path(claim, index);
}

int uvzk_hold_return_leases(uvzk_hold_t *hold, uint32_t leases)
{
    struct uvzk__claim *claim = uvzk__hold_of(hold);

    if (claim == NULL) {
        return hold == NULL ? uvzk__refuse(UV_EINVAL, "hold is NULL")
                            : uvzk__refuse(UVZK_ENOTHELD, "hold is not held");
    }
    if (leases == 0 || claim->kind != &semaphore_claim ||
        leases >= uvzk_hold_node_count(hold)) {
        return uvzk__refuse(
            UV_EINVAL,
            claim->kind != &semaphore_claim ? "hold: not of a semaphore"
            : leases == 0
                ? "leases is 0"
                : "leases: not fewer than the hold has; release the hold instead");
    }
    return uvzk__lease_request_return(uvzk__lease_request_of(claim), leases);
}
