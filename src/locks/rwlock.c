/* InterProcessReadWriteLock: two locks, the halves, on one directory. A writer waits for
 * all contenders before it, a reader for writers only; in_order.c grants both. This file
 * has the halves' checks, their claims' contenders, and which participants hold.
 *
 * An owner with a valid write hold reads at once, with the writer's sequence number
 * (downgrade.h). An owner that reads, or waits to read, and asks to write would wait for
 * itself: the acquire is refused with UVZK_EDEADLK. */
#include "locks/rwlock.h"

#include "base/refusal.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "locks/downgrade.h"
#include "locks/mutex.h"
#include "proof/prover.h"

static const struct uvzk__name_prefix name_prefixes[] = {
    {UVZK__WRITER_PREFIX, false}, {UVZK__READER_PREFIX, true}, {NULL, false}};

const struct uvzk__directory_kind uvzk__read_write = {
    .name_prefixes = name_prefixes,
    .in_order = true,
    .kinds_elsewhere = UVZK__KINDS_BELOW,
    .has_readers = true,
    .settle = uvzk__settle_in_order,
};

/* lock->extra: the other half; NULL once that half is freed. */
static struct uvzk__lock *other_half(const struct uvzk__lock *lock)
{
    return lock->extra;
}

static void half_freed(struct uvzk__lock *lock)
{
    if (other_half(lock) != NULL) {
        other_half(lock)->extra = NULL;
    }
}

static struct uvzk__claim *claim_on_other_half(const struct uvzk__lock *lock,
                                               const uvzk_acquire_options_t *options)
{
    const struct uvzk__lock *other = other_half(lock);

    return other == NULL ? NULL : uvzk__claim_of(other, options->owner);
}

/* ------------------------------------------------------------- participants */

/* The lowest sequence number among the readers (shared) or among the writers. INT64_MAX:
 * there are none. The participants are sorted. */
static int64_t first_of(const struct uvzk__participant *participants, size_t count,
                        bool shared)
{
    for (size_t i = 0; i < count; i++) {
        if (participants[i].shared == shared) {
            return participants[i].place.sequence;
        }
    }
    return INT64_MAX;
}

/* Readers without a writer before them hold. The first writer holds if no reader is
 * before it. A downgraded reader has its writer's sequence number, and then both hold. */
static int classify_half(struct uvzk__participant *participants, size_t count,
                         bool shared)
{
    int64_t reader = first_of(participants, count, true);
    int64_t writer = first_of(participants, count, false);

    for (size_t i = 0; i < count; i++) {
        struct uvzk__participant *participant = &participants[i];
        int64_t number = participant->place.sequence;
        participant->hidden = participant->shared != shared;
        participant->holds =
            shared ? number <= writer : number == writer && number <= reader;
    }
    return 0;
}

static int classify_writers(const struct uvzk__lock *lock,
                            struct uvzk__participant *participants, size_t count)
{
    (void)lock;
    return classify_half(participants, count, false);
}

static int classify_readers(const struct uvzk__lock *lock,
                            struct uvzk__participant *participants, size_t count)
{
    (void)lock;
    return classify_half(participants, count, true);
}

/* -------------------------------------------------------------------- write */

static int check_write(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    int status = uvzk__one_contender_check(lock, options);

    if (status != 0) {
        return status;
    }
    uvzk__prover_check(lock->session); /* ends a write hold whose proof has expired */
    if (uvzk__claim_of(lock, options->owner) == NULL &&
        claim_on_other_half(lock, options) != NULL) {
        return uvzk__refuse(UVZK_EDEADLK,
                            "options.owner holds the read lock, or waits for "
                            "it: it would wait for itself");
    }
    return 0;
}

static const struct uvzk__contender_kind writer = {
    .name_prefix = UVZK__WRITER_PREFIX,
};

static const struct uvzk__lock_kind write_half = {
    .claim_kind = &uvzk__claim_plain,
    .directory_kind = &uvzk__read_write,
    .contender_kind = &writer,
    .check = check_write,
    .occupied = uvzk__one_contender_occupied,
    .prepare = uvzk__one_contender_prepare,
    .directories = uvzk__one_contender_directories,
    .classify = classify_writers,
    .freed = half_freed,
};

/* --------------------------------------------------------------------- read */

/* The claim of this owner's write hold, if the hold is valid at this moment; else
 * NULL. */
static struct uvzk__claim *write_hold(const struct uvzk__lock *lock,
                                      const uvzk_acquire_options_t *options)
{
    struct uvzk__claim *writing = claim_on_other_half(lock, options);

    return writing != NULL && uvzk__claim_holds(writing) ? writing : NULL;
}

static bool read_occupied(struct uvzk__lock *lock, const uvzk_acquire_options_t *options)
{
    return write_hold(lock, options) == NULL &&
           uvzk__queue_occupied(lock->session, &uvzk__read_write, lock->path->text, true);
}

/* A downgraded reader gets the writer's czxid, because its token is the writer's. */
static int prepare_read(struct uvzk__lock *lock, struct uvzk__claim *claim,
                        const uvzk_acquire_options_t *options)
{
    struct uvzk__claim *writing = write_hold(lock, options);
    struct uvzk__contender *contender;

    if (writing != NULL && uvzk__downgrade_prepare(claim, writing) != 0) {
        return UV_ENOMEM;
    }
    return uvzk__claim_add_contender(claim, &uvzk__read_write, lock->path,
                                     writing != NULL ? &uvzk__downgraded_reader
                                                     : &uvzk__reader,
                                     NULL, options, &contender);
}

static const struct uvzk__lock_kind read_half = {
    .claim_kind = &uvzk__claim_reading,
    .directory_kind = &uvzk__read_write,
    .check = uvzk__one_contender_check,
    .occupied = read_occupied,
    .prepare = prepare_read,
    .directories = uvzk__one_contender_directories,
    .classify = classify_readers,
    .freed = half_freed,
};

int uvzk_rwlock_init(uvzk_client_t *client, uvzk_rwlock_t *handle, const char *path)
{
    if (handle == NULL) {
        return uvzk__refuse(UV_EINVAL, "lock is NULL");
    }
    int status = uvzk__lock_check(client, &handle->read, path);
    if (status == 0) {
        status = uvzk__lock_check(client, &handle->write, path);
    }
    if (status != 0) {
        return status;
    }
    struct uvzk__lock *read =
        uvzk__lock_new(client->impl, &handle->read, path, &read_half);
    struct uvzk__lock *write =
        read == NULL ? NULL
                     : uvzk__lock_new(client->impl, &handle->write, path, &write_half);
    if (write == NULL) {
        if (read != NULL) {
            uvzk__lock_free(read);
        }
        return UV_ENOMEM;
    }
    read->extra = write;
    write->extra = read;
    return 0;
}
