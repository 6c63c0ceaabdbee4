#include "directory/contender.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "base/retry.h"
#include "directory/guard.h"
#include "directory/queue.h"
#include "directory/vouching.h"
#include "engine/acl.h"
#include "engine/flight.h"
#include "engine/log.h"
#include "engine/second_look.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "proof/prover.h"

/* Until the requests that name the old node have been answered. */
#define REST_AGAIN_MS 10U

/* "-2147483648" and the NUL. */
#define SEQUENCE_SIZE 12U

/* What it may be at most: that is what the session has room for. */
static size_t path_size(const struct uvzk__queue *queue)
{
    return strlen(queue->path->text) + 1 + UVZK__NAME_PREFIX_SIZE + SEQUENCE_SIZE;
}

/* What it is; a driver may choose the whole name itself. */
static size_t path_room(const struct uvzk__queue *queue, const char *token)
{
    size_t prefix = UVZK__PROTECTION_LENGTH + strlen(token);

    return queue->kind->discipline == UVZK__DRIVEN
               ? path_size(queue)
               : strlen(queue->path->text) + 1 + prefix + SEQUENCE_SIZE;
}

/* A fresh name for a create: Curator makes a new UUID for each one, too. */
int uvzk__contender_rename(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    struct uvzk__port *port = uvzk__client_of(contender)->port;
    char prefix[UVZK__NAME_PREFIX_SIZE];
    uint8_t uuid[UVZK__UUID_BYTES];

    if (port->random(port, uuid, sizeof(uuid)) != 0) {
        return uvzk__refuse(UV_EIO, "the system has no random bytes for a znode's name");
    }
    uvzk__uuid_from_random(uuid);
    (void)uvzk__node_name_prefix(prefix, uuid, contender->token);
    uvzk__directories_mark(uvzk__client_of(contender)->directories,
                           prefix + UVZK__UUID_AT);
    (void)snprintf(contender->path, path_room(queue, contender->token), "%s/%s",
                   queue->path->text, prefix);
    return 0;
}

/* It rests: before a new node after a deletion by others, or before a refused delete is
 * repeated; or its guard looks again. Few ever do, or are revocable, which may have to. */
struct uvzk__pause {
    struct uvzk__timed timed;
    struct uvzk__contender *contender;
    int64_t revoked_mzxid; /* of the last message that was told, revocation.h */
};

static struct uvzk__pause *pause_of(struct uvzk__contender *contender)
{
    if (contender->pause == NULL) {
        contender->pause = uvzk__calloc(1, sizeof(*contender->pause));
        if (contender->pause != NULL) {
            contender->pause->contender = contender;
        }
    }
    return contender->pause;
}

static void have_rested(struct uvzk__contender *contender)
{
    if (uvzk__node_state(&contender->node) == UVZK__NODE_DOOMED) {
        uvzk__contender_pump(contender);
        return;
    }
    if (contender->pins > 0) { /* a request under way still reads the old path */
        uvzk__contender_rest(contender, REST_AGAIN_MS);
        return;
    }
    uvzk__node_rested(&contender->node);
    if (uvzk__contender_rename(contender) != 0) {
        uvzk__contender_end(contender, UV_EIO);
        return;
    }
    uvzk__contender_follow(contender);
}

static void rested(struct uvzk__timed *timed)
{
    have_rested(UVZK__CONTAINER_OF(timed, struct uvzk__pause, timed)->contender);
}

void uvzk__contender_rest(struct uvzk__contender *contender, uint64_t ms)
{
    struct uvzk__pause *pause = pause_of(contender);

    if (pause == NULL) {
        uvzk__hold_back(uvzk__client_of(contender)); /* then all rest, and are pumped */
        return;
    }
    pause->timed.due = rested;
    uvzk__timed_set(uvzk__client_of(contender), &pause->timed,
                    uvzk__now(uvzk__client_of(contender)) + ms);
}

static bool is_resting(const struct uvzk__contender *contender)
{
    return contender->pause != NULL && contender->pause->timed.due == rested &&
           uvzk__deadline_is_armed(&contender->pause->timed.deadline);
}

static void rest_no_more(struct uvzk__contender *contender)
{
    if (is_resting(contender)) {
        uvzk__timed_clear(uvzk__client_of(contender), &contender->pause->timed);
    }
}

static void look_again(struct uvzk__timed *timed)
{
    struct uvzk__contender *contender =
        UVZK__CONTAINER_OF(timed, struct uvzk__pause, timed)->contender;

    uvzk__guard_end(contender);
    uvzk__contender_pump(contender);
}

bool uvzk__contender_look_later(struct uvzk__contender *contender)
{
    assert(!is_resting(contender)); /* a get leaves before the delete that is refused */
    if (pause_of(contender) == NULL) {
        return false;
    }
    contender->pause->timed.due = look_again;
    uvzk__second_look(uvzk__client_of(contender), &contender->pause->timed);
    return true;
}

void uvzk__contender_look_no_more(struct uvzk__contender *contender)
{
    if (contender->pause != NULL && !is_resting(contender)) {
        uvzk__timed_clear(uvzk__client_of(contender), &contender->pause->timed);
    }
}

int uvzk__contender_is_revocable(struct uvzk__contender *contender)
{
    if (pause_of(contender) == NULL) {
        return UV_ENOMEM;
    }
    contender->revocable = true;
    return 0;
}

bool uvzk__contender_is_news(struct uvzk__contender *contender, int64_t mzxid)
{
    bool news = contender->pause->revoked_mzxid != mzxid;

    contender->pause->revoked_mzxid = mzxid;
    return news;
}

static void free_contender(struct uvzk__contender *contender)
{
    uvzk__guard_free(contender);
    uvzk__free(contender->pause);
    uvzk__free(contender);
}

static struct uvzk__contender *make(struct uvzk__queue *queue, const char *token,
                                    size_t room)
{
    struct uvzk__contender *contender =
        uvzk__calloc(1, offsetof(struct uvzk__contender, path) + room);

    if (contender == NULL) {
        return NULL;
    }
    uvzk__node_init(&contender->node);
    contender->queue = queue;
    contender->token = token;
    uvzk__list_init(&contender->in_claim);
    uvzk__list_init(&contender->everyone);
    uvzk__list_init(&contender->in_queue);
    uvzk__witness_init(&contender->witness);
    return contender;
}

/* A stranger, for the time being. */
static void join(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;
    struct uvzk__client *client = queue->client;

    uvzk__directories_joined(client->directories, path_size(queue));
    queue->tallies.contenders++;
    contender->first_attempt_ms = uvzk__now(client);
    uvzk__list_append(&client->directories->contenders, &contender->everyone);
    uvzk__ring_append(&queue->strangers, &contender->in_queue);
}

/* As one whose create is answered when it is not wanted any more. */
struct uvzk__contender *uvzk__contender_adopt(struct uvzk__queue *queue, const char *name,
                                              struct uvzk__place place, bool shared)
{
    size_t size = uvzk__path_join_into(NULL, queue->path->text, name);
    struct uvzk__contender *contender = make(queue, "", size);

    if (contender == NULL) {
        return NULL;
    }
    (void)uvzk__path_join_into(contender->path, queue->path->text, name);
    contender->shared = shared;
    contender->given_up = true;
    contender->adopted = true;
    join(contender);
    uvzk__node_sent(&contender->node);
    uvzk__node_unwanted(&contender->node);
    uvzk__node_created(&contender->node, 0, place);
    uvzk__contender_follow(contender);
    return contender;
}

int uvzk__contender_new(struct uvzk__claim *claim, struct uvzk__queue *queue,
                        const char *token, struct uvzk__contender **out)
{
    struct uvzk__client *client = queue->client;

    uvzk__queue_touch(queue); /* settled, and freed if it stays empty */
    if (client->directories->node_bytes + path_size(queue) >
        client->directories->node_bytes_most) {
        return uvzk__refuse(UVZK_ELIMIT,
                            "the session's budget of znodes, 1500000 bytes of their "
                            "paths, is spent: set options.sessions, or set it higher");
    }
    struct uvzk__contender *contender = make(queue, token, path_room(queue, token));
    if (contender == NULL) {
        return UV_ENOMEM;
    }
    int status = uvzk__contender_rename(contender);
    if (status != 0) {
        uvzk__free(contender);
        return status;
    }
    join(contender);
    contender->claim = claim;
    client->directories->contender_user->joined(contender);
    *out = contender;
    return 0;
}

void uvzk__contender_want_position(struct uvzk__contender *contender)
{
    contender->wants_position = true;
    contender->queue->tallies.positions_wanted++;
}

void uvzk__contender_want_no_position(struct uvzk__contender *contender)
{
    if (contender->wants_position) {
        contender->wants_position = false;
        contender->queue->tallies.positions_wanted--;
    }
}

/* ----------------------------------------------------------- where it stands */

static const struct uvzk__state standing_table[] = {
    [UVZK__STRANGER] = {"STRANGER", UVZK__BIT(UVZK__MEMBER) | UVZK__BIT(UVZK__LEAVING) |
                                        UVZK__BIT(UVZK__GONE)},
    [UVZK__MEMBER] = {"MEMBER", UVZK__BIT(UVZK__HOLDER) | UVZK__BIT(UVZK__LEAVING) |
                                    UVZK__BIT(UVZK__STRANGER) | UVZK__BIT(UVZK__GONE)},
    [UVZK__HOLDER] = {"HOLDER", UVZK__BIT(UVZK__MEMBER) | UVZK__BIT(UVZK__LEAVING) |
                                    UVZK__BIT(UVZK__STRANGER) | UVZK__BIT(UVZK__GONE)},
    [UVZK__LEAVING] = {"LEAVING", UVZK__BIT(UVZK__STRANGER) | UVZK__BIT(UVZK__GONE)},
    [UVZK__GONE] = {"GONE", 0},
};

const struct uvzk__machine uvzk__standing_machine =
    UVZK__MACHINE("contender's standing", standing_table);

static bool sound(const struct uvzk__contender *contender)
{
    switch (contender->standing) {
    case UVZK__STRANGER:
        return !uvzk__node_has_place(&contender->node);
    case UVZK__MEMBER:
        return !contender->held;
    case UVZK__HOLDER:
        return contender->held;
    case UVZK__LEAVING:
        return !uvzk__node_is_wanted(&contender->node);
    default:
        return uvzk__node_state(&contender->node) == UVZK__NODE_GONE;
    }
}

/* PARENTS and UNKNOWN wait for a request of the directory's. */
static void count_asking(struct uvzk__contender *contender)
{
    enum uvzk__node_state state = uvzk__node_state(&contender->node);
    bool asks = contender->standing == UVZK__STRANGER &&
                (state == UVZK__NODE_PARENTS || state == UVZK__NODE_UNKNOWN);

    contender->queue->tallies.asking += asks;
    contender->queue->tallies.asking -= contender->asks;
    contender->asks = asks;
}

/* The only writer of standing. */
void uvzk__contender_stands(struct uvzk__contender *contender,
                            enum uvzk__standing standing)
{
    if (contender->standing != standing) {
        contender->standing = (uint8_t)uvzk__machine_move(&uvzk__standing_machine,
                                                          contender->standing, standing);
        assert(sound(contender));
    }
    count_asking(contender);
}

/* ---------------------------------------------------------------- requests */

/* Where its name begins in its path. */
static size_t name_at(const struct uvzk__contender *contender)
{
    return strlen(contender->queue->path->text) + 1;
}

const char *uvzk__contender_uuid(const struct uvzk__contender *contender)
{
    return contender->path + name_at(contender) + UVZK__UUID_AT;
}

/* Where the number is, or is going to be. */
static char *number_of(struct uvzk__contender *contender)
{
    return contender->path + name_at(contender) + UVZK__PROTECTION_LENGTH +
           strlen(contender->token);
}

void uvzk__contender_name(struct uvzk__contender *contender, int32_t sequence)
{
    (void)snprintf(number_of(contender), SEQUENCE_SIZE, "%010" PRId32, sequence);
}

/* Whoever is asked for an ACL knows the path without the number, as in Curator. */
const struct uvzk__acl *uvzk__contender_acl(struct uvzk__contender *contender,
                                            struct uvzk__acl *storage)
{
    const struct uvzk__acl *acl;
    char *number = number_of(contender), first_digit = *number;

    *number = '\0';
    acl = uvzk__acl_of(uvzk__client_of(contender), contender->path, storage);
    *number = first_digit;
    return acl;
}

/* It has a place, or has not, but nothing has come of that yet. */
static void made(struct uvzk__contender *contender, int status, const char *path,
                 int64_t czxid)
{
    struct uvzk__place place = {0, czxid};

    if (status == 0) {
        struct uvzk__node_name name;
        uvzk__node_name_parse(&name, uvzk__path_name(path), contender->token);
        if (name.is_contender) {
            place.sequence = name.sequence;
            uvzk__contender_name(contender, name.sequence);
        } else {
            status = UVZK_EZOOKEEPER; /* it stands somewhere: search for it */
        }
        uvzk__queue_set_just_made(contender->queue, false);
    }
    if (status == UVZK_ENONODE) {
        uvzk__watermark_end(contender->queue); /* its watch has not told of that */
    }
    uvzk__node_created(&contender->node, status, place);
}

void uvzk__contender_made(struct uvzk__contender *contender, int status, const char *path,
                          int64_t czxid)
{
    made(contender, status, path, czxid);
    uvzk__contender_follow(contender);
}

void uvzk__contender_made_together(struct uvzk__contender *contender, const char *path)
{
    made(contender, 0, path, 0);
    if (uvzk__node_needs(&contender->node) == UVZK__NEEDS_STAT) {
        uvzk__node_sent(&contender->node);
    }
    uvzk__contender_follow(contender);
}

/* Of a multi that failed each op but the one to blame is told that it was not tried. */
void uvzk__contender_made_by_op(struct uvzk__contender *contender,
                                const struct uvzk__reply *reply, size_t i, size_t count,
                                int64_t czxid)
{
    bool innocent = reply->failed_op < count && reply->failed_op != i;

    uvzk__contender_made(contender, innocent ? UVZK_ENOTSENT : reply->status,
                         reply->status == 0 ? reply->made[i] : NULL, czxid);
}

static void create_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__flight_asker(rpc);

    uvzk__flight_landed(uvzk__client_of(contender), rpc, reply->status, true);
    uvzk__contender_made(contender, reply->status, reply->name, reply->stat.czxid);
}

void uvzk__contender_sent_unlisted(struct uvzk__contender *contender)
{
    contender->covered = false;
    contender->clear_stamp = 0;
    contender->reigned = false;
    uvzk__contender_made_at(contender,
                            uvzk__stamp(&uvzk__client_of(contender)->submissions));
    uvzk__node_sent(&contender->node);
    uvzk__watermark_sent(contender->queue);
}

void uvzk__contender_sent(struct uvzk__contender *contender)
{
    struct uvzk__client *client = uvzk__client_of(contender);
    struct uvzk__queue *queue = contender->queue;

    uvzk__contender_sent_unlisted(contender);
    if (client->tuning & UVZK__TUNE_PIPELINE && !queue->just_made &&
        !uvzk__watermark_expects(queue)) {
        uvzk__freshness_wanted(queue, uvzk__stamp(&client->submissions));
        uvzk__queue_touch(queue);
    }
}

void uvzk__contender_data(const struct uvzk__contender *contender, const void **data,
                          size_t *length)
{
    uvzk__client_of(contender)->directories->contender_user->data(contender, data,
                                                                  length);
    if (contender->revocable) {
        *data = "";
        *length = 0;
    } else if (*data == NULL || contender->ticket) {
        *data = uvzk__client_of(contender)->default_data;
        *length = uvzk__client_of(contender)->default_data_length;
    }
}

void uvzk__contender_create_op(struct uvzk__contender *contender, struct uvzk__op *op,
                               struct uvzk__acl *storage)
{
    op->kind = UVZK__OP_CREATE;
    op->mode = UVZK__EPHEMERAL_SEQUENTIAL;
    op->path = contender->path;
    op->acl = uvzk__contender_acl(contender, storage);
    uvzk__contender_data(contender, &op->data, &op->data_length);
}

void uvzk__contender_check_op(const struct uvzk__contender *contender,
                              struct uvzk__op *op)
{
    op->kind = UVZK__OP_CHECK;
    op->path = contender->path;
    op->version = -1;
}

void uvzk__contender_create(struct uvzk__contender *contender)
{
    struct uvzk__client *client = uvzk__client_of(contender);
    struct uvzk__rpc *rpc = uvzk__flight_new(client, contender, UVZK__RPC_CREATE,
                                             contender->path, create_replied);

    if (rpc == NULL) {
        return;
    }
    rpc->mode = UVZK__EPHEMERAL_SEQUENTIAL;
    rpc->acl = uvzk__contender_acl(contender, uvzk__flight_acl(rpc));
    uvzk__contender_data(contender, &rpc->data, &rpc->data_length);
    uvzk__submit(client, rpc);
    uvzk__contender_sent(contender);
}

void uvzk__contender_identified(struct uvzk__contender *contender, int status,
                                int64_t czxid, bool ours, uint64_t shown)
{
    uvzk__node_identified(&contender->node, status, czxid, ours);
    if (shown != 0 && uvzk__node_state(&contender->node) == UVZK__NODE_STANDING) {
        uvzk__vouch(contender, shown);
    }
    if (uvzk__node_state(&contender->node) == UVZK__NODE_CREATING &&
        uvzk__contender_rename(contender) != 0) {
        uvzk__contender_end(contender, UV_EIO);
        return;
    }
    uvzk__contender_follow(contender);
}

static void stat_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__flight_asker(rpc);
    struct uvzk__client *client = uvzk__client_of(contender);
    bool ours = contender->durable ||
                reply->stat.ephemeral_owner == uvzk__session_id(&client->session);
    int64_t czxid = uvzk__contender_downgraded(contender) ? contender->writer_czxid
                                                          : reply->stat.czxid;

    uvzk__flight_landed(client, rpc, reply->status, false);
    uvzk__contender_identified(contender, reply->status, czxid, ours,
                               contender->look_stamp);
}

static void submit_stat(struct uvzk__contender *contender)
{
    struct uvzk__client *client = uvzk__client_of(contender);
    struct uvzk__rpc *rpc = uvzk__flight_new(client, contender, UVZK__RPC_EXISTS,
                                             contender->path, stat_replied);

    if (rpc == NULL) {
        return;
    }
    uvzk__node_sent(&contender->node);
    uvzk__submit(client, rpc);
    uvzk__contender_looked_at(contender, uvzk__stamp(&client->submissions));
}

void uvzk__contender_pump(struct uvzk__contender *contender)
{
    enum uvzk__node_needs needs = uvzk__node_needs(&contender->node);

    if (uvzk__node_state(&contender->node) == UVZK__NODE_RESTING &&
        !is_resting(contender)) {
        have_rested(contender); /* there was no memory to rest in */
    } else if (needs == UVZK__NEEDS_DELETE) {
        if (uvzk__list_empty(&contender->errand) && !is_resting(contender) &&
            uvzk__client_of(contender)->directories->contender_user->certain(contender)) {
            uvzk__list_append(&uvzk__client_of(contender)->directories->doomed,
                              &contender->errand);
        }
        uvzk__wake(uvzk__client_of(contender));
    } else if (needs == UVZK__NEEDS_PARENTS || needs == UVZK__NEEDS_SEARCH) {
        uvzk__queue_touch(contender->queue);
    } else if (needs != UVZK__NEEDS_NOTHING &&
               uvzk__may_send(uvzk__client_of(contender)) &&
               !uvzk__guard_is_arming(contender)) {
        if (needs == UVZK__NEEDS_CREATE) {
            uvzk__client_of(contender)->directories->contender_user->create(contender);
        } else {
            submit_stat(contender);
        }
    } else if (contender->revocable) {
        uvzk__guard(contender);
    }
}

void uvzk__for_each_contender(struct uvzk__client *client,
                              void (*act)(struct uvzk__contender *, int), int code)
{
    struct uvzk__link *link = client->directories->contenders.next;

    while (link != &client->directories->contenders) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, everyone);
        link = link->next;
        act(contender, code);
    }
}

static void pump(struct uvzk__contender *contender, int code)
{
    (void)code;
    uvzk__contender_pump(contender);
}

void uvzk__contenders_pump(struct uvzk__client *client)
{
    uvzk__for_each_contender(client, pump, 0);
}

/* --------------------------------------------------------------- the outcome */

static void let_go_of_hold(struct uvzk__contender *contender)
{
    if (contender->held) {
        contender->held = false;
        uvzk__client_of(contender)->directories->contender_user->let_go(contender);
        contender->queue->tallies.writers_held -= !contender->shared;
        uvzk__contender_off_credit(contender);
        uvzk__prover_let_go(uvzk__client_of(contender), &contender->witness);
    }
}

/* The node is not wanted any more, whoever decided that: it holds nothing, and its
 * claim is told. */
static void give_up(struct uvzk__contender *contender, int code)
{
    contender->given_up = true;
    let_go_of_hold(contender);
    uvzk__prover_unwant(&contender->witness);
    rest_no_more(contender);
    uvzk__contender_want_no_position(contender);
    uvzk__client_of(contender)->directories->contender_user->ended(contender, code);
}

static void retire(struct uvzk__contender *contender)
{
    struct uvzk__client *client = uvzk__client_of(contender);

    client->directories->contender_user->retired(contender);
    uvzk__guard_end(contender);
    rest_no_more(contender);
    uvzk__list_remove(&contender->everyone);
    uvzk__queue_leave(contender);
    uvzk__list_remove(&contender->errand);
    uvzk__directories_left(client->directories, path_size(contender->queue));
    contender->queue->tallies.contenders--;
    contender->ended = true;
    contender->client = client;
    if (contender->pins == 0) {
        free_contender(contender);
    }
}

void uvzk__contender_follow(struct uvzk__contender *contender)
{
    struct uvzk__queue *queue = contender->queue;

    uvzk__queue_place(queue, contender);
    uvzk__queue_touch(queue);
    if (uvzk__contender_beside(contender) != NULL) {
        uvzk__queue_touch(uvzk__contender_beside(contender));
    }
    if (!uvzk__node_is_wanted(&contender->node) && !contender->given_up) {
        give_up(contender, uvzk__node_status(&contender->node));
    }
    if (uvzk__node_state(&contender->node) == UVZK__NODE_GONE) {
        retire(contender);
    } else {
        uvzk__contender_pump(contender);
    }
}

void uvzk__contender_unwanted(struct uvzk__contender *contender)
{
    uvzk__node_unwanted(&contender->node);
    uvzk__contender_follow(contender);
}

void uvzk__contender_end(struct uvzk__contender *contender, int code)
{
    uvzk__contender_pin(contender); /* its claim may withdraw it at once */
    if (!contender->given_up) {
        give_up(contender, code);
    }
    if (!contender->ended) {
        uvzk__contender_unwanted(contender);
    }
    uvzk__contender_unpin(contender);
}

void uvzk__contender_grant(struct uvzk__contender *contender)
{
    uvzk__contender_want_no_position(contender);
    contender->held = true;
    contender->queue->tallies.writers_held += !contender->shared;
    uvzk__queue_place(contender->queue, contender);
    uvzk__prover_hold(uvzk__client_of(contender), &contender->witness);
    uvzk__client_of(contender)->directories->contender_user->granted(contender);
}

void uvzk__contender_ungrant(struct uvzk__contender *contender)
{
    let_go_of_hold(contender);
    uvzk__queue_place(contender->queue, contender);
    uvzk__queue_touch(contender->queue);
    uvzk__client_of(contender)->directories->contender_user->ungranted(contender);
}

void uvzk__contender_on_credit(struct uvzk__contender *contender)
{
    contender->on_credit = true;
    contender->queue->tallies.credits++;
    uvzk__directories_credited(uvzk__client_of(contender)->directories, false,
                               contender->shared);
}

void uvzk__contender_off_credit(struct uvzk__contender *contender)
{
    if (contender->on_credit) {
        contender->on_credit = false;
        contender->queue->tallies.credits--;
        uvzk__directories_credited(uvzk__client_of(contender)->directories,
                                   contender->shared, false);
    }
}

/* A waiter may take a new place at the tail, as the retry policy allows, and so may
 * the ticket of one that waits for leases; a hold is lost. */
void uvzk__contender_missing(struct uvzk__contender *contender)
{
    struct uvzk__client *client = uvzk__client_of(contender);
    uint64_t now = uvzk__now(client);
    uint64_t random = 0, sleep_ms = 0;

    if (uvzk__node_state(&contender->node) != UVZK__NODE_STANDING) {
        return;
    }
    uvzk__departed(contender->queue);
    (void)client->port->random(client->port, &random, sizeof(random));
    bool waits = !contender->held || contender->ticket;
    bool again = waits && !contender->once &&
                 uvzk__retry_allow(&client->retry, contender->attempts++,
                                   now - contender->first_attempt_ms, random, &sleep_ms);
    uvzk__log(client, UVZK_LOG_WARN, "directory", "%s was deleted by somebody else",
              contender->path);
    if (again && contender->held) {
        uvzk__contender_ungrant(contender);
    }
    uvzk__prover_unwant(&contender->witness);
    uvzk__guard_missed(contender);
    uvzk__node_missing(&contender->node, again);
    if (again) {
        uvzk__contender_rest(contender, sleep_ms);
    }
    uvzk__contender_follow(contender);
}

/* A driver's own names may be another one's by now. */
void uvzk__contender_not_shown(struct uvzk__contender *contender)
{
    if (uvzk__node_state(&contender->node) == UVZK__NODE_STANDING &&
        contender->queue->kind->discipline != UVZK__DRIVEN) {
        struct uvzk__contender *orphan =
            uvzk__contender_adopt(contender->queue, uvzk__path_name(contender->path),
                                  uvzk__node_place(&contender->node), contender->shared);
        if (orphan != NULL) {
            orphan->unshown = true;
            uvzk__contender_made_at(orphan,
                                    uvzk__stamp(&uvzk__client_of(orphan)->submissions));
        }
    }
    uvzk__contender_missing(contender);
}

void uvzk__contender_found(struct uvzk__contender *contender, int32_t sequence)
{
    uvzk__contender_name(contender, sequence);
    uvzk__node_found(&contender->node, sequence);
    uvzk__contender_follow(contender);
}

void uvzk__contender_absent(struct uvzk__contender *contender)
{
    uvzk__node_absent(&contender->node);
    uvzk__contender_follow(contender);
}

void uvzk__contender_session_ended(struct uvzk__contender *contender, int code)
{
    contender->covered = false;
    uvzk__guard_lost(contender);
    if (contender->durable && code != UVZK_ECLOSED) {
        return; /* nothing of it is in flight, and nothing has ended */
    }
    uvzk__node_session_ended(&contender->node, code);
    uvzk__contender_follow(contender);
}

void uvzk__contender_pin(struct uvzk__contender *contender)
{
    contender->pins++;
}

void uvzk__contender_unpin(struct uvzk__contender *contender)
{
    assert(contender->pins > 0);
    contender->pins--;
    if (contender->pins == 0 && contender->ended) {
        free_contender(contender);
    }
}

void uvzk__end_strangers(struct uvzk__queue *queue, enum uvzk__node_state state, int code)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->strangers);

    while (link != NULL) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        link = uvzk__ring_next(&queue->strangers, link);
        if (uvzk__node_state(&contender->node) == state &&
            uvzk__node_is_wanted(&contender->node)) {
            uvzk__contender_end(contender, code);
        }
    }
}

void uvzk__end_members(struct uvzk__queue *queue, int code)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->members);

    while (link != NULL) {
        struct uvzk__contender *contender =
            UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
        link = uvzk__ring_next(&queue->members, link);
        uvzk__contender_end(contender, code);
    }
}

/* -------------------------------------------------------- a witness of proofs */

static struct uvzk__contender *of_witness(struct uvzk__witness *witness)
{
    return UVZK__CONTAINER_OF(witness, struct uvzk__contender, witness);
}

static const char *path_of(struct uvzk__witness *witness)
{
    return of_witness(witness)->path;
}

static void call(struct uvzk__witness *witness, struct uvzk__op *op)
{
    uvzk__contender_check_op(of_witness(witness), op);
    uvzk__contender_pin(of_witness(witness));
}

static void dismiss(struct uvzk__witness *witness)
{
    uvzk__contender_unpin(of_witness(witness));
}

static void stands(struct uvzk__witness *witness, uint64_t stamp)
{
    if (!of_witness(witness)->ended) {
        uvzk__vouch(of_witness(witness), stamp);
    }
}

static void missing(struct uvzk__witness *witness)
{
    if (!of_witness(witness)->ended) {
        uvzk__contender_missing(of_witness(witness));
    }
}

static void refused(struct uvzk__witness *witness, int status)
{
    if (!of_witness(witness)->ended) {
        uvzk__contender_end(of_witness(witness), status);
    }
}

static void answered(struct uvzk__witness *witness)
{
    uvzk__queue_touch(of_witness(witness)->queue);
}

/* Who has been told that it holds is told that it does not; the others wait on. */
static void lapsed(struct uvzk__witness *witness)
{
    struct uvzk__contender *contender = of_witness(witness);

    if (uvzk__client_of(contender)->directories->contender_user->known(contender)) {
        uvzk__contender_end(contender, UVZK_EPROOF);
    } else {
        uvzk__contender_ungrant(contender);
    }
}

const struct uvzk__witness_kind uvzk__contender_witnesses = {
    .path = path_of,
    .call = call,
    .stands = stands,
    .missing = missing,
    .refused = refused,
    .dismiss = dismiss,
    .answered = answered,
    .lapsed = lapsed,
};

bool uvzk__contender_prove(struct uvzk__contender *contender)
{
    const struct uvzk__client *client = uvzk__client_of(contender);
    bool possible =
        !uvzk__session_is_connected(&client->session) || uvzk__prover_possible(client);

    if (possible) {
        uvzk__prover_want(uvzk__client_of(contender), &contender->witness);
    } else {
        uvzk__contender_end(contender, UVZK_EPROOF);
    }
    return possible;
}
