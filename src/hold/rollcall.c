#include "hold/rollcall.h"

#include "directory/contender.h"
#include "directory/vouching.h"
#include "engine/submission.h"

static struct uvzk__contender *contender_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_claim);
}

static void call(struct uvzk__rollcall *rollcall, struct uvzk__contender *contender)
{
    uvzk__contender_check_op(contender, &rollcall->ops[rollcall->count]);
    uvzk__contender_pin(contender);
    rollcall->contenders[rollcall->count++] = contender;
}

static size_t count_of(const struct uvzk__claim *claim)
{
    const struct uvzk__claim *member;
    size_t count = claim->contender_count;

    for (uint32_t i = 0;
         claim->kind->member != NULL && (member = claim->kind->member(claim, i)) != NULL;
         i++) {
        count += count_of(member);
    }
    return count;
}

static void call_all(struct uvzk__rollcall *rollcall, const struct uvzk__claim *claim)
{
    const struct uvzk__claim *member;

    for (struct uvzk__link *link = uvzk__ring_first(&claim->contenders); link != NULL;
         link = uvzk__ring_next(&claim->contenders, link)) {
        if (!contender_at(link)->ticket) {
            call(rollcall, contender_at(link));
        }
    }
    for (uint32_t i = 0;
         claim->kind->member != NULL && (member = claim->kind->member(claim, i)) != NULL;
         i++) {
        call_all(rollcall, member);
    }
}

/* Checks may be asked for in any session: one that is connected, if one of theirs is. The
 * claim's own may have none of them, if it has members. */
static void choose_session(struct uvzk__rollcall *rollcall)
{
    bool connected = false;

    for (size_t i = 0; i < rollcall->count && !connected; i++) {
        struct uvzk__client *client = uvzk__client_of(rollcall->contenders[i]);
        connected = uvzk__session_is_connected(&client->session);
        if (i == 0 || connected) {
            rollcall->client = client;
        }
    }
    for (size_t i = 0; i < rollcall->count; i++) {
        const struct uvzk__contender *contender = rollcall->contenders[i];
        if (!contender->durable && uvzk__client_of(contender) == rollcall->client) {
            rollcall->ends_with_session = true;
        }
    }
}

struct uvzk__rollcall *uvzk__rollcall_new(struct uvzk__claim *claim, size_t room)
{
    struct uvzk__rollcall *rollcall = uvzk__calloc(1, sizeof(*rollcall));
    size_t count = count_of(claim);

    if (rollcall == NULL) {
        return NULL;
    }
    rollcall->client = claim->client;
    rollcall->ops = uvzk__calloc(count + room + 1, sizeof(rollcall->ops[0]));
    rollcall->contenders = uvzk__calloc(count + 1, sizeof(struct uvzk__contender *));
    if (rollcall->ops == NULL || rollcall->contenders == NULL) {
        uvzk__rollcall_free(rollcall);
        return NULL;
    }
    call_all(rollcall, claim);
    choose_session(rollcall);
    return rollcall;
}

void uvzk__rollcall_free(struct uvzk__rollcall *rollcall)
{
    for (size_t i = 0; i < rollcall->count; i++) {
        uvzk__contender_unpin(rollcall->contenders[i]);
    }
    uvzk__free(rollcall->ops);
    uvzk__free(rollcall->contenders);
    uvzk__free(rollcall);
}

static void send_next(struct uvzk__rollcall *rollcall);

/* How many of the checks are in the request under way. */
static size_t calling(const struct uvzk__rollcall *rollcall)
{
    return rollcall->rpc.op_count - rollcall->behind;
}

/* The end of a session in which none of them is says nothing of them. */
static int told(const struct uvzk__rollcall *rollcall, int status, bool absent)
{
    return absent                                                    ? UVZK_EDELETED
           : status == UVZK_EEXPIRED && !rollcall->ends_with_session ? UVZK_ECONNLOSS
                                                                     : status;
}

static void replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__rollcall *rollcall = UVZK__CONTAINER_OF(rpc, struct uvzk__rollcall, rpc);
    struct uvzk__contender **called = &rollcall->contenders[rollcall->called];
    size_t count = calling(rollcall);
    bool absent = reply->status == UVZK_ENONODE && reply->failed_op < count;
    bool behind = reply->failed_op >= count && reply->failed_op < rpc->op_count;

    uvzk__answered(rollcall->client, rpc, reply->status, true);
    if (absent && !called[reply->failed_op]->ended) {
        uvzk__contender_missing(called[reply->failed_op]);
    }
    for (size_t i = 0; reply->status == 0 && i < count; i++) {
        if (!called[i]->ended && uvzk__client_of(called[i]) == rollcall->client) {
            uvzk__vouch(called[i], rollcall->stamp);
        }
    }
    if (reply->status == 0 && rollcall->called + count < rollcall->count) {
        rollcall->called += count;
        send_next(rollcall);
        return;
    }
    rollcall->done(rollcall, reply, told(rollcall, reply->status, absent),
                   behind ? reply->failed_op - count : SIZE_MAX);
    uvzk__rollcall_free(rollcall);
}

static void send_next(struct uvzk__rollcall *rollcall)
{
    size_t count = rollcall->count - rollcall->called;

    if (rollcall->behind == 0 && count > UVZK__ROLLCALL_CHECKS) {
        count = UVZK__ROLLCALL_CHECKS;
    }
    uvzk__rpc_prepare(&rollcall->rpc, UVZK__RPC_MULTI, NULL, replied);
    rollcall->rpc.ops = &rollcall->ops[rollcall->called];
    rollcall->rpc.op_count = count + rollcall->behind;
    uvzk__submit(rollcall->client, &rollcall->rpc);
    rollcall->stamp = uvzk__stamp(&rollcall->client->submissions);
}

void uvzk__rollcall_send(struct uvzk__rollcall *rollcall, size_t behind,
                         uvzk__rollcall_done done, void *data)
{
    rollcall->behind = behind;
    rollcall->done = done;
    rollcall->data = data;
    send_next(rollcall);
}
