/* Creates the znode of a downgraded reader in a multi that checks the znode of its writer
 * (downgrade.h), in place of the usual create. If the znode of the writer is gone, the
 * reader becomes an ordinary one. rwlock.c calls it. */
#include "locks/downgrade.h"

#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/freshness.h"
#include "directory/queue.h"
#include "engine/inflight.h"
#include "engine/submission.h"
#include "locks/rwlock.h"

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

int uvzk__downgrade_prepare(struct uvzk__claim *reading, struct uvzk__claim *writing)
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
    uvzk__contender_set_kind(reader, &uvzk__reader);
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

const struct uvzk__contender_kind uvzk__reader = {
    .name_prefix = UVZK__READER_PREFIX,
    .shared = true,
};

const struct uvzk__contender_kind uvzk__downgraded_reader = {
    .name_prefix = UVZK__READER_PREFIX,
    .shared = true,
    .has_writers_place = true,
    .create = downgrade_create,
    .place_czxid = czxid_of_writer,
};

const struct uvzk__claim_kind uvzk__claim_reading = {
    .granted = uvzk__claim_plain_granted,
    .ungranted = uvzk__claim_plain_ungranted,
    .ended = uvzk__claim_plain_ended,
    .freed = downgrade_forget,
};
