#include "recipes/driven.h"

#include <string.h>

#include "base/path.h"
#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/divergence.h"
#include "directory/foreigners.h"
#include "directory/in_order.h"
#include "directory/listing.h"
#include "directory/orphans.h"
#include "directory/parents.h"
#include "directory/queue.h"
#include "directory/view.h"
#include "engine/flight.h"
#include "engine/log.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "proof/prover.h"
#include "recipes/fixed_name.h"
#include "recipes/lookout.h"

static struct uvzk__contender *contender_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

static bool stands(const struct uvzk__contender *contender)
{
    return uvzk__node_state(&contender->node) == UVZK__NODE_STANDING;
}

/* -------------------------------------------------------------------- the verdicts */

void uvzk__driven_asks(struct uvzk__contender *contender)
{
    uvzk__driven_of(contender)->verdict = UVZK__ASKS;
    uvzk__queue_touch(contender->queue);
}

void uvzk__driven_gets(struct uvzk__contender *contender)
{
    struct uvzk__driven *driven = uvzk__driven_of(contender);

    driven->verdict = UVZK__GETS;
    driven->shown = uvzk__client_of(contender)->directories->settlings + 1;
    uvzk__queue_touch(contender->queue);
}

void uvzk__driven_tell_position(struct uvzk__contender *contender, uint64_t ahead)
{
    if (contender->wants_position) {
        uvzk__contender_want_no_position(contender);
        uvzk__claim_queued(contender->claim, ahead == 0 ? 1 : ahead);
    }
}

/* The contender may be gone afterwards: it has tried once. */
void uvzk__driven_waits(struct uvzk__contender *contender, const char *name,
                        uint64_t ahead)
{
    struct uvzk__driven *driven = uvzk__driven_of(contender);

    if (uvzk__lookout_join(driven, name)) {
        driven->verdict = UVZK__WAITS;
    } else {
        uvzk__queue_rest(contender->queue); /* it asks again */
    }
    uvzk__driven_tell_position(contender, ahead);
    uvzk__claim_end_tries(contender->claim);
}

void uvzk__driven_told(struct uvzk__driven *driven, int news)
{
    struct uvzk__contender *contender = uvzk__claim_first(driven->claim);

    if (news != 0 && news != UVZK_ENONODE) {
        uvzk__contender_end(contender, news);
    } else if (driven->verdict != UVZK__GETS) {
        uvzk__driven_asks(contender);
    } else if (news == UVZK_ENONODE) {
        uvzk__contender_missing(contender); /* nothing if the delete is ours */
    }
}

bool uvzk__driven_is(const struct uvzk__driven *driven, int64_t czxid)
{
    const struct uvzk__contender *contender = uvzk__claim_first(driven->claim);

    return driven->verdict != UVZK__GETS ||
           uvzk__node_place(&contender->node).czxid == czxid;
}

/* ------------------------------------------------------------------------- creating */

static void created(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__flight_asker(rpc);
    int status = reply->status;

    uvzk__flight_landed(uvzk__client_of(contender), rpc, status, true);
    if (contender->claim->durable && status == UVZK_EEXPIRED) {
        status = UVZK_ECONNLOSS; /* what it has made stands in the next session, too */
    }
    uvzk__contender_made(contender, status, reply->name, reply->stat.czxid);
}

static void create(struct uvzk__contender *contender)
{
    struct uvzk__rpc *rpc;

    if (uvzk__has_fixed_name(contender)) {
        uvzk__queue_touch(contender->queue); /* one at a time */
        return;
    }
    rpc = uvzk__flight_new(uvzk__client_of(contender), contender, UVZK__RPC_CREATE,
                           contender->path, created);
    if (rpc == NULL) {
        return;
    }
    rpc->mode = contender->claim->durable ? UVZK__PERSISTENT_SEQUENTIAL
                                          : UVZK__EPHEMERAL_SEQUENTIAL;
    rpc->acl = uvzk__contender_acl(contender, uvzk__flight_acl(rpc));
    uvzk__contender_data(contender, &rpc->data, &rpc->data_length);
    uvzk__submit(uvzk__client_of(contender), rpc);
    uvzk__contender_sent(contender);
    uvzk__driven_asks(contender);
}

/* ------------------------------------------------------------------------- listings */

static bool asking(const struct uvzk__contender *contender)
{
    return stands(contender) && uvzk__driven_of(contender)->verdict == UVZK__ASKS;
}

/* The contender may be gone afterwards. */
static void judge(struct uvzk__contender *contender, const struct uvzk__ranking *ranking)
{
    size_t own = uvzk__ranking_find(ranking, uvzk__path_name(contender->path)), watch;

    if (own == SIZE_MAX) {
        uvzk__contender_missing(contender);
        return;
    }
    switch (uvzk__ranking_judge(ranking, own, &watch)) {
    case UVZK__GETS:
        uvzk__driven_gets(contender);
        break;
    case UVZK__WAITS:
        uvzk__driven_waits(contender, ranking->names[watch], own);
        break;
    case UVZK__ASKS:
        uvzk__log(uvzk__client_of(contender), UVZK_LOG_ERROR, "driver",
                  "the driver names nobody that %s could wait for", contender->path);
        uvzk__contender_end(contender, UV_EINVAL);
        break;
    }
}

/* Replies and events arrive in the order in which things happened: a listing is never
 * older than the wake of anybody who asks when it arrives. One ranking serves all that
 * have the same driver and come one after another. */
static int judge_members(struct uvzk__queue *queue, const struct uvzk__reply *reply)
{
    struct uvzk__ranking ranking = {0};
    struct uvzk__link *link = uvzk__ring_first(&queue->members);
    int status = 0;

    while (status == 0 && link != NULL) {
        struct uvzk__contender *contender = contender_at(link);
        struct uvzk__driven *driven = uvzk__driven_of(contender);
        link = uvzk__ring_next(&queue->members, link);
        if (!asking(contender)) {
            continue;
        }
        if (ranking.driver != &driven->driver->settings) {
            uvzk__ranking_free(&ranking);
            status = uvzk__ranking_make(&ranking, &driven->driver->settings, reply->names,
                                        reply->name_count);
            uvzk__foreign_children(queue, ranking.ignored);
        }
        if (status == 0) {
            judge(contender, &ranking);
        }
    }
    uvzk__ranking_free(&ranking);
    return status;
}

static bool searched_for(const struct uvzk__contender *contender)
{
    return uvzk__node_state(&contender->node) == UVZK__NODE_UNKNOWN &&
           !uvzk__has_fixed_name(contender);
}

/* While it is not known its path ends where the number would begin. */
static bool found(struct uvzk__contender *contender, const char *name)
{
    const char *prefix = uvzk__path_name(contender->path);
    struct uvzk__node_name parsed;

    if (strncmp(name, prefix, strlen(prefix)) != 0) {
        return false;
    }
    uvzk__node_name_parse(&parsed, name, contender->token);
    if (parsed.is_contender) {
        uvzk__contender_found(contender, parsed.sequence);
    }
    return parsed.is_contender;
}

static void resolve_unknown(struct uvzk__queue *queue, const struct uvzk__reply *reply)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->strangers);

    while (link != NULL) {
        struct uvzk__contender *contender = contender_at(link);
        bool is_there = false;
        link = uvzk__ring_next(&queue->strangers, link);
        if (!searched_for(contender)) {
            continue;
        }
        for (size_t i = 0; i < reply->name_count && !is_there; i++) {
            is_there = found(contender, reply->names[i]);
        }
        if (!is_there && contender->create_stamp < uvzk__asked_at(&queue->freshness)) {
            uvzk__contender_absent(contender);
        }
    }
}

static void end_asking(struct uvzk__queue *queue, int status)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->members);

    while (link != NULL) {
        struct uvzk__contender *contender = contender_at(link);
        link = uvzk__ring_next(&queue->members, link);
        if (asking(contender)) {
            uvzk__contender_end(contender, status);
        }
    }
}

static bool is_ours(const struct uvzk__queue *queue, const char *name)
{
    const struct uvzk__ring *rings[] = {&queue->holders, &queue->members,
                                        &queue->leaving};

    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
        for (struct uvzk__link *link = uvzk__ring_first(rings[i]); link != NULL;
             link = uvzk__ring_next(rings[i], link)) {
            if (strcmp(uvzk__path_name(contender_at(link)->path), name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Of those that look like contenders the one with the lowest number: in whatever order the
 * driver has them, the others will have gone before it. */
static void ask_for_the_oldest(struct uvzk__queue *queue, const struct uvzk__reply *reply)
{
    const char *oldest = NULL;

    for (size_t i = 0; queue->waits_long && i < reply->name_count; i++) {
        const char *name = reply->names[i];
        if (uvzk__orphan_number(name) != NULL &&
            (oldest == NULL ||
             strcmp(uvzk__orphan_number(name), uvzk__orphan_number(oldest)) < 0)) {
            oldest = name;
        }
    }
    if (oldest != NULL && !is_ours(queue, oldest)) {
        uvzk__divergence_ask(queue, oldest);
    }
    uvzk__queue_waits_long(queue, false);
}

/* No directory, and a znode of ours in it: somebody has deleted all of it, or the session
 * is over. If neither, that znode is withdrawn. */
static void listed(struct uvzk__queue *queue, const struct uvzk__reply *reply)
{
    int status = reply->status;

    uvzk__queue_touch(queue);
    if (status == 0 || status == UVZK_ENONODE) {
        uvzk__freshness_seen(queue);
        resolve_unknown(queue, reply);
    }
    if (status == 0) {
        ask_for_the_oldest(queue, reply);
        status = judge_members(queue, reply);
    }
    if (status == UVZK_ENONODE) {
        uvzk__queue_waits_long(queue, false); /* nobody is in the way */
        end_asking(queue, UVZK_EDELETED);
    } else if (status != 0 && !uvzk__queue_passing(queue, status)) {
        end_asking(queue, status);
        uvzk__end_strangers(queue, UVZK__NODE_UNKNOWN, status);
        uvzk__queue_waits_long(queue, false);
        uvzk__queue_rest(queue);
        uvzk__unsearchable(queue); /* what may stand still has to be searched for */
    }
}

static bool any(const struct uvzk__ring *ring,
                bool (*which)(const struct uvzk__contender *))
{
    struct uvzk__link *link = uvzk__ring_first(ring);

    while (link != NULL && !which(contender_at(link))) {
        link = uvzk__ring_next(ring, link);
    }
    return link != NULL;
}

static void request(struct uvzk__queue *queue)
{
    if (!uvzk__queue_may_ask(queue)) {
        return;
    }
    if (uvzk__queue_has_stranger(queue, UVZK__NODE_PARENTS)) {
        uvzk__parents_make(queue);
    } else if ((any(&queue->strangers, searched_for) && uvzk__unsearchable_may(queue)) ||
               any(&queue->members, asking) || queue->waits_long) {
        uvzk__listing_start(queue);
    }
}

/* ------------------------------------------------------------------------- granting */

static void grant_if_shown(struct uvzk__contender *contender)
{
    struct uvzk__client *client = uvzk__client_of(contender);
    bool shown = uvzk__driven_of(contender)->shown == client->directories->settlings ||
                 uvzk__is_just_seen(contender);

    if (!contender->claim->durable && !uvzk__prover_grants(client)) {
        uvzk__contender_prove(contender);
    } else if (shown) {
        uvzk__contender_grant(contender);
    } else if (uvzk__has_fixed_name(contender)) {
        uvzk__prover_want(client, &contender->witness);
    } else {
        uvzk__prover_unwant(&contender->witness);
        uvzk__driven_asks(contender);
    }
}

/* Whose znode is looked after by a watch of its own. */
static void look_after(const struct uvzk__ring *ring)
{
    for (struct uvzk__link *link = uvzk__ring_first(ring); link != NULL;
         link = uvzk__ring_next(ring, link)) {
        struct uvzk__contender *contender = contender_at(link);
        struct uvzk__driven *driven = uvzk__driven_of(contender);
        if (stands(contender) && driven->verdict == UVZK__GETS &&
            driven->lookout == NULL &&
            (uvzk__has_fixed_name(contender) || contender->claim->durable) &&
            !uvzk__lookout_join(driven, uvzk__path_name(contender->path))) {
            uvzk__queue_rest(contender->queue);
        }
    }
}

static void grant_members(struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->members);

    while (link != NULL) {
        struct uvzk__contender *contender = contender_at(link);
        link = uvzk__ring_next(&queue->members, link);
        if (stands(contender) && uvzk__driven_of(contender)->verdict == UVZK__GETS) {
            grant_if_shown(contender);
        }
    }
}

static void settle(struct uvzk__queue *queue)
{
    uvzk__fixed_names_settle(queue);
    look_after(&queue->members);
    look_after(&queue->holders);
    uvzk__lookouts_arm(queue);
    grant_members(queue);
    request(queue);
}

const struct uvzk__directory_kind uvzk__driven_directory = {
    .discipline = UVZK__DRIVEN,
    .extra_size = sizeof(struct uvzk__lookout *),
    .leave = &uvzk__exclusive,
    .settle = settle,
    .in_use = uvzk__lookouts_any,
    .watches_lost = uvzk__lookouts_lost,
    .listed = listed,
};

/* ---------------------------------------------------------------------- its claims */

/* For the child that its driver has named; or, with a fixed name, for one of ours that
 * is engaged with it. */
static void awaits(const struct uvzk__claim *claim, size_t most,
                   struct uvzk__awaiting *awaiting)
{
    const struct uvzk__contender *contender = uvzk__claim_first(claim);
    const struct uvzk__driven *driven = uvzk__driven_of(contender);
    bool placed = !uvzk__contender_awaits_place(contender, awaiting);
    bool begun = uvzk__node_state(&contender->node) != UVZK__NODE_CREATING ||
                 uvzk__node_is_in_flight(&contender->node);

    (void)most;
    if (awaiting->kind == UVZK_WAITS_FOR_CONNECTION) {
        return;
    }
    if (driven->lookout != NULL && driven->verdict != UVZK__GETS) {
        const char *name = uvzk__lookout_name(driven->lookout);
        bool ours = is_ours(contender->queue, name);
        awaiting->kind = ours ? UVZK_WAITS_FOR_OURS : UVZK_WAITS_FOR_OTHERS;
        awaiting->ahead = 1;
        awaiting->directory = ours ? NULL : contender->queue->path->text;
        awaiting->name = ours ? NULL : name;
    } else if (!placed && !begun && uvzk__has_fixed_name(contender) &&
               uvzk__fixed_name_taken(contender->queue, driven->driver->name)) {
        awaiting->kind = UVZK_WAITS_FOR_OURS;
        awaiting->ahead = 1;
    } else if (placed) {
        awaiting->kind =
            driven->verdict == UVZK__GETS ? UVZK_WAITS_FOR_PROOF : UVZK_WAITS_FOR_PLACE;
    }
}

static void granted(struct uvzk__contender *contender)
{
    if (contender->claim->durable) { /* no proof can fail it */
        uvzk__prover_let_go(uvzk__client_of(contender), &contender->witness);
    }
    uvzk__claim_plain_granted(contender);
}

static void claim_freed(struct uvzk__claim *claim)
{
    struct uvzk__driven *driven = claim->extra;

    if (driven != NULL) {
        uvzk__lookout_leave(driven);
        uvzk__lock_driver_drop(driven->driver);
        uvzk__free(driven);
    }
}

const struct uvzk__claim_kind uvzk__claim_driven = {
    .granted = granted,
    .ungranted = uvzk__claim_plain_ungranted,
    .ended = uvzk__claim_plain_ended,
    .create = create,
    .certain = uvzk__fixed_name_certain,
    .freed = claim_freed,
    .awaits = awaits,
};

int uvzk__driven_attach(struct uvzk__claim *claim, struct uvzk__lock_driver *driver)
{
    struct uvzk__driven *driven = uvzk__calloc(1, sizeof(*driven));

    if (driven == NULL) {
        return UV_ENOMEM;
    }
    driven->claim = claim;
    driven->driver = uvzk__lock_driver_share(driver);
    uvzk__list_init(&driven->in_lookout);
    claim->extra = driven;
    return 0;
}
