/* SPDX-License-Identifier: Apache-2.0 */
/* Multis that check that the znodes of a hold exist (node_checks.h). hold_query.c sends
 * checks alone; guarded_write.c sends them, followed by the user's operations. A reply of
 * 0 also counts as a sighting of each znode (freshness.h). */
#include "lock_requests/node_checks.h"

#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/freshness.h"
#include "engine/submission.h"

static void add_check(struct uvzk__node_checks *node_checks,
                      struct uvzk__contender *contender)
{
    uvzk__contender_check_op(contender, &node_checks->ops[node_checks->count]);
    uvzk__contender_ref(contender);
    node_checks->contenders[node_checks->count++] = contender;
}

/* At least as many as there will be checks: a ticket is counted here, but not checked. */
static size_t count_of(const struct uvzk__claim *claim)
{
    const struct uvzk__claim *member;
    size_t count = claim->contender_count;

    for (uint32_t i = 0; (member = uvzk__claim_member(claim, i)) != NULL; i++) {
        count += count_of(member);
    }
    return count;
}

static void add_checks(struct uvzk__node_checks *node_checks,
                       const struct uvzk__claim *claim)
{
    const struct uvzk__claim *member;

    for (struct uvzk__contender *each = uvzk__claim_first_contender(claim); each != NULL;
         each = uvzk__claim_next_contender(each)) {
        /* A ticket is not part of the hold. */
        if (!each->kind->admits) {
            add_check(node_checks, each);
        }
    }
    for (uint32_t i = 0; (member = uvzk__claim_member(claim, i)) != NULL; i++) {
        add_checks(node_checks, member);
    }
}

/* Any session of the client may send the checks: the first connected one of those that
 * the znodes belong to, else the first. The claim's own session may own none of the
 * znodes, if the claim has members. */
static void choose_session(struct uvzk__node_checks *node_checks)
{
    bool connected = false;

    for (size_t i = 0; i < node_checks->count && !connected; i++) {
        struct uvzk__session *session = uvzk__session_of(node_checks->contenders[i]);
        connected = uvzk__is_connected(session);
        if (i == 0 || connected) {
            node_checks->session = session;
        }
    }
    for (size_t i = 0; i < node_checks->count; i++) {
        const struct uvzk__contender *contender = node_checks->contenders[i];
        if (!contender->persistent &&
            uvzk__session_of(contender) == node_checks->session) {
            node_checks->ends_with_session = true;
        }
    }
}

struct uvzk__node_checks *uvzk__node_checks_new(struct uvzk__claim *claim, size_t room)
{
    struct uvzk__node_checks *node_checks = uvzk__calloc(1, sizeof(*node_checks));
    size_t count = count_of(claim);

    if (node_checks == NULL) {
        return NULL;
    }
    node_checks->session = claim->session;
    node_checks->ops = uvzk__calloc(count + room + 1, sizeof(node_checks->ops[0]));
    node_checks->contenders = uvzk__calloc(count + 1, sizeof(struct uvzk__contender *));
    if (node_checks->ops == NULL || node_checks->contenders == NULL) {
        uvzk__node_checks_free(node_checks);
        return NULL;
    }
    add_checks(node_checks, claim);
    choose_session(node_checks);
    return node_checks;
}

void uvzk__node_checks_free(struct uvzk__node_checks *node_checks)
{
    for (size_t i = 0; i < node_checks->count; i++) {
        uvzk__contender_unref(node_checks->contenders[i]);
    }
    uvzk__free(node_checks->ops);
    uvzk__free(node_checks->contenders);
    uvzk__free(node_checks);
}

static void send_next(struct uvzk__node_checks *node_checks);

/* How many checks are in the request under way. */
static size_t checks_in_request(const struct uvzk__node_checks *node_checks)
{
    return node_checks->rpc.op_count - node_checks->extra_ops;
}

/* The status for the caller. The end of a session that owns none of the znodes says
 * nothing about them. */
static int node_checks_told(const struct uvzk__node_checks *node_checks, int status,
                            bool absent)
{
    return absent                                                       ? UVZK_EDELETED
           : status == UVZK_EEXPIRED && !node_checks->ends_with_session ? UVZK_ECONNLOSS
                                                                        : status;
}

static void node_checks_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__node_checks *node_checks =
        UVZK__CONTAINER_OF(rpc, struct uvzk__node_checks, rpc);
    struct uvzk__contender **called = &node_checks->contenders[node_checks->checked];
    size_t count = checks_in_request(node_checks);
    bool absent = reply->status == UVZK_ENONODE && reply->failed_op < count;
    /* The failed operation is one of the caller's. */
    bool behind = reply->failed_op >= count && reply->failed_op < rpc->op_count;

    uvzk__answered(node_checks->session, rpc, reply->status, true);
    /* The quorum says that this znode does not exist. */
    if (absent && called[reply->failed_op]->state != UVZK__CONTENDER_ENDED) {
        uvzk__contender_missing(called[reply->failed_op]);
    }
    for (size_t i = 0; reply->status == 0 && i < count; i++) {
        /* Stamps are numbers of this session's requests, so they mean nothing to a
         * contender of another session. */
        if (called[i]->state != UVZK__CONTENDER_ENDED &&
            uvzk__session_of(called[i]) == node_checks->session) {
            uvzk__last_seen_set(called[i], node_checks->stamp);
        }
    }
    if (reply->status == 0 && node_checks->checked + count < node_checks->count) {
        node_checks->checked += count;
        send_next(node_checks);
        return;
    }
    node_checks->done(node_checks, reply,
                      node_checks_told(node_checks, reply->status, absent),
                      behind ? reply->failed_op - count : SIZE_MAX);
    uvzk__node_checks_free(node_checks);
}

static void send_next(struct uvzk__node_checks *node_checks)
{
    size_t count = node_checks->count - node_checks->checked;

    /* With operations after the checks everything must be in one transaction. */
    if (node_checks->extra_ops == 0 && count > UVZK__NODE_CHECKS_MAX) {
        count = UVZK__NODE_CHECKS_MAX;
    }
    uvzk__rpc_prepare(&node_checks->rpc, UVZK__RPC_MULTI, NULL, node_checks_replied);
    node_checks->rpc.ops = &node_checks->ops[node_checks->checked];
    node_checks->rpc.op_count = count + node_checks->extra_ops;
    uvzk__submit(node_checks->session, &node_checks->rpc);
    /* The stamp of the request that was just submitted. */
    node_checks->stamp = node_checks->session->submissions.stamp;
}

void uvzk__node_checks_send(struct uvzk__node_checks *node_checks, size_t behind,
                            uvzk__node_checks_done done, void *data)
{
    node_checks->extra_ops = behind;
    node_checks->done = done;
    node_checks->data = data;
    send_next(node_checks);
}
