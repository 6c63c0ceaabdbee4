/* SPDX-License-Identifier: Apache-2.0 */
/* InterProcessReadWriteLock: two locks, the halves, on one directory. A writer waits for
 * all contenders before it, a reader for writers only; in_order.c grants both. This file
 * has the halves' checks, their claims' contenders, and which participants hold.
 *
 * An owner with a valid write hold reads at once, with the writer's sequence number
 * (a downgrade). An owner that reads, or waits to read, and asks to write would wait for
 * itself: the acquire is refused with UVZK_EDEADLK. */
#include "locks/rwlock.h"

#include "base/refusal.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/freshness.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "engine/inflight.h"
#include "engine/submission.h"
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

/* ---------------------------------------------------------------------- a downgrade */

/* A downgrade: a read lock that an owner acquires while it holds the write lock. The
 * reader's znode has the writer's sequence number, so that no other writer is granted in
 * between when the write lock is released (Curator since 5.5, CURATOR-621). The fencing
 * token is the writer's.
 *
 *   acquire under a valid write hold --> a multi: check the writer's znode, create the
 *                                        reader's znode, which is not sequential
 *        succeeds        --> the reader waits for no other contender
 *        UVZK_ENONODE    --> the writer's znode is gone: an ordinary read lock
 *        outcome unknown --> the znode is searched for like any other */

/* A reader is ordinary, or is created by the multi and has its writer's place. It becomes
 * ordinary if the writer's znode is gone. */
static const struct uvzk__contender_kind ordinary_reader = {
    .name_prefix = UVZK__READER_PREFIX,
    .shared = true,
};

/* claim->extra of a downgraded reader. NULL: the reader is an ordinary one. */
struct downgrade {
    struct uvzk__contender *writer; /* referenced; the write hold may end before this */
    struct uvzk__place writer_place;
    struct uvzk__op ops[2]; /* of the multi in flight */
};

static void downgrade_forget(struct uvzk__claim *reading)
{
    struct downgrade *downgrade = reading->extra;

    if (downgrade != NULL) {
        reading->extra = NULL;
        uvzk__contender_unref(downgrade->writer);
        uvzk__free(downgrade);
    }
}

/* Makes `reading`, which has no contender yet, a downgrade of the hold `writing`. Keeps a
 * reference to the writer's contender. Returns 0 or UV_ENOMEM. */
static int downgrade_prepare(struct uvzk__claim *reading, struct uvzk__claim *writing)
{
    struct downgrade *downgrade = uvzk__calloc(1, sizeof(*downgrade));

    if (downgrade == NULL) {
        return UV_ENOMEM;
    }
    downgrade->writer = uvzk__claim_first_contender(writing);
    downgrade->writer_place = downgrade->writer->node.place;
    uvzk__contender_ref(downgrade->writer);
    reading->extra = downgrade;
    return 0;
}

/* The writer's node is gone, so the write hold is lost. The reader needs a new name,
 * because from now on its node is sequential. */
static int become_ordinary(struct uvzk__contender *reader, struct downgrade *downgrade)
{
    if (downgrade->writer->state != UVZK__CONTENDER_ENDED) {
        uvzk__contender_missing(downgrade->writer);
    }
    uvzk__contender_set_kind(reader, &ordinary_reader);
    downgrade_forget(reader->claim);
    return uvzk__contender_new_name(reader);
}

static void downgrade_created(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *reader = uvzk__inflight_requester(rpc);
    struct downgrade *downgrade = reader->claim->extra;
    const struct uvzk__place place = downgrade->writer_place;
    int status = reply->status;

    uvzk__inflight_done(uvzk__session_of(reader), rpc, status, true);
    /* The reader's parent exists if the writer's node does, so UVZK_ENONODE is about the
     * writer's node. */
    if (status == UVZK_ENONODE) {
        status = become_ordinary(reader, downgrade) == 0 ? UVZK_ENOTSENT : UV_EIO;
    } else if (status == 0) {
        uvzk__contender_set_predecessors_known(reader);
    }
    uvzk__node_created(&reader->node, status, place);
    /* The multi has just shown that the node exists. */
    if (status == 0) {
        uvzk__last_seen_set(reader, reader->create_stamp);
    }
    uvzk__contender_update(reader);
}

static void downgrade_create(struct uvzk__contender *reader)
{
    struct downgrade *downgrade = reader->claim->extra;
    struct uvzk__rpc *rpc = uvzk__inflight_new(uvzk__session_of(reader), reader,
                                               UVZK__RPC_MULTI, NULL, downgrade_created);

    if (rpc == NULL) {
        return;
    }
    uvzk__contender_set_sequence(reader, downgrade->writer_place.sequence);
    uvzk__contender_check_op(downgrade->writer, &downgrade->ops[0]);
    downgrade->ops[1].kind = UVZK__OP_CREATE;
    downgrade->ops[1].mode = UVZK__EPHEMERAL;
    downgrade->ops[1].path = reader->path;
    downgrade->ops[1].acl = uvzk__contender_acl(reader, uvzk__inflight_acl(rpc));
    uvzk__contender_data(reader, &downgrade->ops[1].data, &downgrade->ops[1].data_length);
    rpc->ops = downgrade->ops;
    rpc->op_count = 2;
    uvzk__node_sent(&reader->node);
    uvzk__submit(uvzk__session_of(reader), rpc);
    uvzk__contender_set_create_stamp(reader, uvzk__session_of(reader)->submissions.stamp);
}

static int64_t czxid_of_writer(const struct uvzk__contender *reader)
{
    const struct downgrade *downgrade = reader->claim->extra;

    return downgrade->writer_place.czxid;
}

static const struct uvzk__contender_kind downgraded_reader = {
    .name_prefix = UVZK__READER_PREFIX,
    .shared = true,
    .has_writers_place = true,
    .create = downgrade_create,
    .place_czxid = czxid_of_writer,
};

/* Of all readers: the plain kind, except that it frees what the downgrade keeps. */
static const struct uvzk__claim_kind claim_reading = {
    .granted = uvzk__claim_plain_granted,
    .ungranted = uvzk__claim_plain_ungranted,
    .ended = uvzk__claim_plain_ended,
    .freed = downgrade_forget,
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

    if (writing != NULL && downgrade_prepare(claim, writing) != 0) {
        return UV_ENOMEM;
    }
    return uvzk__claim_add_contender(claim, &uvzk__read_write, lock->path,
                                     writing != NULL ? &downgraded_reader
                                                     : &ordinary_reader,
                                     NULL, options, &contender);
}

static const struct uvzk__lock_kind read_half = {
    .claim_kind = &claim_reading,
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
