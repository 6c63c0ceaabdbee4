#include "proof/prover.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "engine/barrier.h"
#include "engine/log.h"
#include "engine/submission.h"
#include "engine/turn.h"

/* A proof names all who wait for it, as long as the request stays well below what a server
 * reads, and some of the nodes that hold; the others get their turn in the next ones. */
#define CANDIDATES_A_PROOF 1000U
#define HELD_A_PROOF 128U
#define BYTES_A_PROOF (256U * 1024U)

/* Of an op, besides its path. */
#define OP_BYTES 20U

#define RESTING UVZK__PROOF_RESTING
#define ASKING UVZK__PROOF_ASKING

static const struct uvzk__state table[] = {
    [RESTING] = {"RESTING", UVZK__BIT(ASKING)},
    [ASKING] = {"ASKING", UVZK__BIT(RESTING)},
};

const struct uvzk__machine uvzk__proof_request_machine =
    UVZK__MACHINE("proof request", table);

static bool sound(const struct uvzk__prover *prover)
{
    return prover->request == RESTING || uvzk__session_id(&prover->client->session) != 0;
}

/* The only writer of request. */
static void move(struct uvzk__prover *prover, enum uvzk__proof_request request)
{
    prover->request = (uint8_t)uvzk__machine_move(&uvzk__proof_request_machine,
                                                  prover->request, request);
    assert(sound(prover));
}

struct inquest {
    struct uvzk__rpc rpc;
    struct uvzk__client *client;
    uint64_t stamp; /* of its submission */
    size_t count, bytes;
    struct uvzk__op *ops;
    struct uvzk__witness **witnesses; /* of each op */
};

static struct uvzk__witness *witness_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__witness, link);
}

static uint64_t period(const struct uvzk__client *client)
{
    return uvzk__proof_period(&client->prover->proof);
}

static uint32_t mode(const struct uvzk__client *client)
{
    return uvzk__proof_mode(&client->prover->proof);
}

static void touch_at(struct uvzk__client *client, uint64_t at_ms)
{
    uvzk__timed_set(client, &client->prover->touch, at_ms);
}

/* The port is asked, for the loop may be late. */
uint64_t uvzk__prover_valid_until(const struct uvzk__client *client)
{
    return uvzk__proof_valid_until_given(&client->prover->proof,
                                         uvzk__port_least_timeout(client->port));
}

bool uvzk__prover_grants(struct uvzk__client *client)
{
    return uvzk__proof_grants(&client->prover->proof, uvzk__now(client));
}

bool uvzk__prover_possible(const struct uvzk__client *client)
{
    return uvzk__proof_possible(&client->prover->proof);
}

uint64_t uvzk__prover_proofs(const struct uvzk__client *client)
{
    return client->prover->proof_count;
}

void uvzk__prover_connected(struct uvzk__client *client, uint32_t timeout_ms, bool fresh,
                            uint64_t opened_ms)
{
    struct uvzk__proof *proof = &client->prover->proof;
    uint32_t before_ms = uvzk__proof_timeout(proof);
    uint32_t least_ms = uvzk__port_least_timeout(client->port);

    if (least_ms != 0 && least_ms < timeout_ms) {
        timeout_ms = least_ms; /* on a connection that the loop has not heard of */
    }
    if (!fresh && timeout_ms < before_ms) {
        uvzk__log(client, UVZK_LOG_WARN, "proof",
                  "this server ends the session after %" PRIu32 " ms, not %" PRIu32
                  ": what is held is valid for less from now on",
                  timeout_ms, before_ms);
    }
    uvzk__proof_connected(proof, timeout_ms, fresh, opened_ms);
    if (!uvzk__proof_possible(proof)) {
        uvzk__log(client, UVZK_LOG_ERROR, "proof",
                  "a session of %" PRIu32 " ms is too short for a tick of %" PRIu32
                  " ms: ownership cannot be proved",
                  timeout_ms, uvzk__proof_tick(proof));
    }
}

void uvzk__prover_suspended(struct uvzk__client *client)
{
    uvzk__proof_suspended(&client->prover->proof, uvzk__now(client));
    uvzk__prover_schedule(client);
}

void uvzk__prover_ended(struct uvzk__client *client)
{
    uvzk__proof_ended(&client->prover->proof);
}

/* -------------------------------------------------------------- the requests */

static void touch_candidates(struct uvzk__client *client)
{
    struct uvzk__link *link;

    for (link = client->prover->candidates.next; link != &client->prover->candidates;
         link = link->next) {
        client->prover->witnesses->answered(witness_at(link));
    }
}

static void free_inquest(struct inquest *inquest)
{
    if (inquest != NULL) {
        uvzk__free(inquest->ops);
        uvzk__free(inquest->witnesses);
        uvzk__free(inquest);
    }
}

/* With room for all that it may name; NULL when out of memory. */
static struct inquest *new_inquest(struct uvzk__client *client)
{
    struct inquest *inquest = uvzk__calloc(1, sizeof(*inquest));
    size_t room = uvzk__list_length(&client->prover->candidates, CANDIDATES_A_PROOF) +
                  uvzk__list_length(&client->prover->held, HELD_A_PROOF);

    if (inquest == NULL) {
        return NULL;
    }
    inquest->client = client;
    if (room > 0) {
        inquest->ops = uvzk__calloc(room, sizeof(inquest->ops[0]));
        inquest->witnesses = uvzk__calloc(room, sizeof(struct uvzk__witness *));
        if (inquest->ops == NULL || inquest->witnesses == NULL) {
            free_inquest(inquest);
            return NULL;
        }
    }
    return inquest;
}

/* One that may not be read is left out from now on, or the checks of all others would come
 * to nothing for ever; who waits for its proof cannot have it. */
static void is_to_blame(struct uvzk__client *client, struct uvzk__witness *witness,
                        int status)
{
    if (status == UVZK_ENONODE) {
        client->prover->witnesses->missing(witness);
    } else if (witness->held) {
        witness->unreadable = true;
    } else {
        client->prover->witnesses->refused(witness, status);
    }
}

/* The ops are looked at in their order: those before the one to blame have passed. */
static void vouch(const struct inquest *inquest, size_t passed)
{
    for (size_t i = 0; i < passed; i++) {
        inquest->client->prover->witnesses->stands(inquest->witnesses[i], inquest->stamp);
    }
}

static void inquest_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct inquest *inquest = UVZK__CONTAINER_OF(rpc, struct inquest, rpc);
    struct uvzk__client *client = inquest->client;
    int status = reply->status;

    move(client->prover, RESTING);
    uvzk__answered(client, rpc, status, rpc->kind == UVZK__RPC_MULTI);
    if (client->observer != NULL && status == 0) {
        uvzk__took(&client->observer->metrics.proof, uvzk__now(client) - rpc->sent_ms);
    }
    if (status == 0) {
        vouch(inquest, inquest->count);
    } else if ((status == UVZK_ENONODE || status == UVZK_ENOAUTH) &&
               reply->failed_op < inquest->count) {
        is_to_blame(client, inquest->witnesses[reply->failed_op], status);
        vouch(inquest, reply->failed_op);
        touch_at(client, uvzk__now(client)); /* the others are not checked yet */
    }
    for (size_t i = 0; i < inquest->count; i++) {
        client->prover->witnesses->dismiss(inquest->witnesses[i]);
    }
    free_inquest(inquest);
    touch_candidates(client);
}

static void call(struct inquest *inquest, struct uvzk__witness *witness)
{
    struct uvzk__op *op = &inquest->ops[inquest->count];

    inquest->client->prover->witnesses->call(witness, op);
    witness->inquired = true;
    inquest->witnesses[inquest->count++] = witness;
    inquest->bytes += strlen(op->path) + OP_BYTES;
}

/* Takes so many nodes at most from the head of the list and moves them to its tail. */
static void summon(struct inquest *inquest, struct uvzk__link *head, size_t most)
{
    for (size_t left = uvzk__list_length(head, most); left > 0; left--) {
        struct uvzk__witness *witness = witness_at(head->next);
        const char *path = inquest->client->prover->witnesses->path(witness);
        if (inquest->bytes + strlen(path) + OP_BYTES > BYTES_A_PROOF) {
            return;
        }
        uvzk__list_append(head, uvzk__list_take(head));
        if (!witness->held || !witness->unreadable) {
            call(inquest, witness);
        }
    }
}

/* A proof if there is anything to prove, else a touch: a sync, which the leader answers by
 * itself, so that the next grant knows how lately the leader has heard of us. */
static void inquire(struct uvzk__client *client)
{
    struct inquest *inquest = new_inquest(client);

    if (inquest == NULL) {
        touch_at(client, uvzk__now(client) + uvzk__proof_retry(&client->prover->proof));
        return;
    }
    summon(inquest, &client->prover->candidates, CANDIDATES_A_PROOF);
    if (mode(client) == UVZK_PROOF_QUORUM) {
        summon(inquest, &client->prover->held, HELD_A_PROOF);
    }
    bool holds =
        mode(client) == UVZK_PROOF_QUORUM &&
        !uvzk__list_empty(&client->prover->held); /* though none of it may be read */
    if (inquest->count > 0 || holds) {
        uvzk__rpc_prepare(&inquest->rpc, UVZK__RPC_MULTI, NULL, inquest_replied);
        inquest->rpc.ops = inquest->ops;
        inquest->rpc.op_count = inquest->count;
        client->prover->proof_count++;
    } else {
        uvzk__rpc_prepare(&inquest->rpc, UVZK__RPC_SYNC, "/", inquest_replied);
        client->prover->proof_count += mode(client) == UVZK_PROOF_SYNC;
    }
    move(client->prover, ASKING);
    uvzk__submit(client, &inquest->rpc);
    inquest->stamp = uvzk__stamp(&client->submissions);
}

static void touch_due(struct uvzk__timed *timed)
{
    struct uvzk__client *client =
        UVZK__CONTAINER_OF(timed, struct uvzk__prover, touch)->client;

    if (!uvzk__session_is_connected(&client->session) ||
        !uvzk__barrier_is_open(&client->barrier) || client->port_closing) {
        return; /* the barrier's reply begins anew */
    }
    bool proves = mode(client) != UVZK_PROOF_NONE;
    if (proves) {
        touch_at(client, uvzk__now(client) + period(client));
    }
    if (client->prover->request == RESTING &&
        (proves || !uvzk__list_empty(&client->prover->candidates))) {
        inquire(client);
    }
}

/* -------------------------------------------------------------- the moments */

static void expiry_due(struct uvzk__timed *timed)
{
    struct uvzk__client *client =
        UVZK__CONTAINER_OF(timed, struct uvzk__prover, expiry)->client;

    uvzk__prover_check(client);
    uvzk__prover_schedule(client);
}

void uvzk__prover_init(struct uvzk__client *client, const struct uvzk__witness_kind *kind,
                       uint32_t mode, uint32_t tick_ms)
{
    client->prover->client = client;
    client->prover->witnesses = kind;
    uvzk__proof_init(&client->prover->proof, mode, tick_ms);
    uvzk__list_init(&client->prover->held);
    uvzk__list_init(&client->prover->candidates);
    client->prover->touch.due = touch_due;
    client->prover->expiry.due = expiry_due;
}

/* A period after the last request of the kind, but while something is held no
 * later than a period after the last proof: touches prove nothing. */
static void schedule_touch(struct uvzk__client *client)
{
    uint64_t now = uvzk__now(client), at = now + period(client);

    if (!uvzk__list_empty(&client->prover->held) && client->prover->request == RESTING) {
        uint64_t due = uvzk__proof_proved_at(&client->prover->proof) + period(client);
        at = due < now ? now : due;
    }
    if (!uvzk__deadline_is_armed(&client->prover->touch.deadline) ||
        uvzk__deadline_at(&client->prover->touch.deadline) > at) {
        touch_at(client, at);
    }
}

void uvzk__prover_schedule(struct uvzk__client *client)
{
    if (uvzk__session_is_connected(&client->session) && mode(client) != UVZK_PROOF_NONE) {
        schedule_touch(client);
    }
    uint64_t until = uvzk__prover_valid_until(client);

    if (uvzk__list_empty(&client->prover->held) || until == UINT64_MAX) {
        uvzk__timed_clear(client, &client->prover->expiry);
    } else if (!uvzk__deadline_is_armed(&client->prover->expiry.deadline) ||
               uvzk__deadline_at(&client->prover->expiry.deadline) != until) {
        uvzk__timed_set(client, &client->prover->expiry, until);
    }
}

void uvzk__prover_answered(struct uvzk__client *client, const struct uvzk__rpc *rpc,
                           bool write)
{
    enum uvzk__passage passage = UVZK__PASSED_SERVER;

    if (write || (rpc->kind == UVZK__RPC_SYNC && mode(client) == UVZK_PROOF_SYNC)) {
        passage = UVZK__PASSED_QUORUM;
    } else if (rpc->kind == UVZK__RPC_SYNC) {
        passage = UVZK__PASSED_LEADER;
    }
    uvzk__proof_answered(&client->prover->proof, rpc->sent_ms, uvzk__now(client),
                         passage);
    uvzk__prover_schedule(client);
}

void uvzk__prover_refresh(struct uvzk__client *client)
{
    if (!uvzk__list_empty(&client->prover->candidates)) {
        touch_at(client, uvzk__now(client));
    } else if (mode(client) != UVZK_PROOF_NONE) {
        /* What waits to be sent goes first, and is as good as a touch. */
        touch_at(client, uvzk__now(client) + uvzk__proof_retry(&client->prover->proof));
    }
    uvzk__prover_schedule(client);
}

/* ------------------------------------------------------------ the witnesses */

void uvzk__prover_want(struct uvzk__client *client, struct uvzk__witness *witness)
{
    uint64_t at = uvzk__now(client);

    if (uvzk__list_empty(&witness->link)) {
        uvzk__list_append(&client->prover->candidates, &witness->link);
        witness->inquired = false;
    } else if (witness->inquired) {
        at +=
            uvzk__proof_retry(&client->prover->proof); /* one has just come to nothing */
    } /* else the one that may be under way does not name it: it has the next one */
    if (client->prover->request == RESTING &&
        uvzk__session_is_connected(&client->session) &&
        (!uvzk__deadline_is_armed(&client->prover->touch.deadline) ||
         uvzk__deadline_at(&client->prover->touch.deadline) > at)) {
        touch_at(client, at);
    }
}

void uvzk__prover_unwant(struct uvzk__witness *witness)
{
    if (!witness->held) {
        uvzk__list_remove(&witness->link);
    }
}

void uvzk__prover_hold(struct uvzk__client *client, struct uvzk__witness *witness)
{
    uvzk__list_remove(&witness->link);
    witness->held = true;
    witness->unreadable = false;
    uvzk__list_append(&client->prover->held, &witness->link);
    uvzk__prover_schedule(client);
}

void uvzk__prover_let_go(struct uvzk__client *client, struct uvzk__witness *witness)
{
    witness->held = false;
    uvzk__list_remove(&witness->link);
    uvzk__prover_schedule(client);
}

void uvzk__prover_check(struct uvzk__client *client)
{
    struct uvzk__link held, *link;

    if (uvzk__prover_valid_until(client) > uvzk__now(client)) {
        return;
    }
    uvzk__list_move(&client->prover->held, &held);
    while ((link = uvzk__list_take(&held)) != NULL) {
        client->prover->witnesses->lapsed(witness_at(link));
    }
}

void uvzk__provers_check(struct uvzk__client *client)
{
    const struct uvzk__sessions *sessions = client->sessions;

    for (uint32_t i = 0; i < sessions->count; i++) {
        uvzk__prover_check(sessions->each[i]);
    }
}
