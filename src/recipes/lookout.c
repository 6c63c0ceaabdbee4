#include "recipes/lookout.h"

#include <assert.h>
#include <string.h>

#include "base/path.h"
#include "base/table.h"
#include "claim/claim.h"
#include "directory/contender.h"
#include "directory/divergence.h"
#include "directory/orphans.h"
#include "directory/queue.h"
#include "engine/second_look.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch_budget.h"
#include "recipes/driven.h"
#include "recipes/fixed_name.h"

enum doing { IDLE, ARMING, ARMED };

struct uvzk__lookout {
    UT_hash_handle hh; /* of the directory, by name */
    struct uvzk__queue *queue;
    struct uvzk__link watchers; /* struct uvzk__driven */
    struct uvzk__rpc rpc;
    struct uvzk__watch watch;
    struct uvzk__timed second_look; /* ARMED */
    int64_t mzxid;                  /* of the child, when it was last looked at; or 0 */
    char *path;
    const char *name; /* its end */
    uint8_t doing;    /* enum doing */
};

static const struct uvzk__state table[] = {
    [IDLE] = {"IDLE", UVZK__BIT(ARMING)},
    [ARMING] = {"ARMING", UVZK__BIT(ARMED)},
    [ARMED] = {"ARMED", UVZK__BIT(IDLE)},
};

const struct uvzk__machine uvzk__lookout_machine = UVZK__MACHINE("lookout", table);

static bool sound(const struct uvzk__lookout *lookout)
{
    return lookout->doing == ARMED ||
           !uvzk__deadline_is_armed(&lookout->second_look.deadline);
}

/* The only writer of doing. */
static void does(struct uvzk__lookout *lookout, enum doing doing)
{
    lookout->doing =
        (uint8_t)uvzk__machine_move(&uvzk__lookout_machine, lookout->doing, doing);
    assert(sound(lookout));
}

static struct uvzk__driven *watcher_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__driven, in_lookout);
}

/* uvzk__queue_extra of a driven directory: uthash by name. */
static struct uvzk__lookout **lookouts_of(const struct uvzk__queue *queue)
{
    return uvzk__queue_extra(queue);
}

static struct uvzk__lookout *find(const struct uvzk__queue *queue, const char *name)
{
    struct uvzk__lookout *lookout;

    HASH_FIND_STR(*lookouts_of(queue), name, lookout);
    return lookout;
}

bool uvzk__lookout_exists(const struct uvzk__queue *queue, const char *name)
{
    return find(queue, name) != NULL;
}

const char *uvzk__lookout_name(const struct uvzk__lookout *lookout)
{
    return lookout->name;
}

bool uvzk__lookouts_any(const struct uvzk__queue *queue)
{
    return *lookouts_of(queue) != NULL;
}

/* ------------------------------------------------------------------------- its end */

static void free_lookout(struct uvzk__lookout *lookout)
{
    struct uvzk__queue *queue = lookout->queue;

    if (lookout->doing != IDLE) {
        uvzk__watch_budget_give(queue->client, lookout->path);
    }
    uvzk__timed_clear(queue->client, &lookout->second_look);
    HASH_DEL(*lookouts_of(queue), lookout);
    uvzk__queue_touch(queue);
    uvzk__free(lookout->path);
    uvzk__free(lookout);
}

/* Tells everyone what has become of the child: ENONODE, it is gone; 0, that is to be
 * found out; else why it cannot be watched. */
static void dissolve(struct uvzk__lookout *lookout, int news)
{
    struct uvzk__link watchers, *link;

    uvzk__list_move(&lookout->watchers, &watchers);
    for (link = watchers.next; link != &watchers; link = link->next) {
        uvzk__driven_looks(watcher_at(link), NULL);
    }
    free_lookout(lookout);
    while ((link = uvzk__list_take(&watchers)) != NULL) {
        uvzk__driven_told(watcher_at(link), news);
    }
}

static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    dissolve(UVZK__CONTAINER_OF(watch, struct uvzk__lookout, watch),
             event == UVZK__WATCH_DELETED ? UVZK_ENONODE : 0);
}

static void look_again(struct uvzk__timed *timed)
{
    struct uvzk__lookout *lookout =
        UVZK__CONTAINER_OF(timed, struct uvzk__lookout, second_look);
    struct uvzk__client *client = lookout->queue->client;

    uvzk__unwatch(client, &lookout->watch);
    uvzk__watch_budget_give(client, lookout->path);
    does(lookout, IDLE);
    if (uvzk__orphan_number(lookout->name) != NULL) {
        uvzk__queue_waits_long(lookout->queue, true);
    }
    uvzk__divergence_ask(lookout->queue, lookout->name);
    uvzk__queue_touch(lookout->queue);
}

void uvzk__lookout_leave(struct uvzk__driven *driven)
{
    struct uvzk__lookout *lookout = driven->lookout;

    uvzk__driven_looks(driven, NULL);
    uvzk__list_remove(&driven->in_lookout);
    if (lookout == NULL || !uvzk__list_empty(&lookout->watchers) ||
        lookout->doing == ARMING) {
        return; /* whoever is the last while it is armed: the reply ends it */
    }
    if (lookout->doing == ARMED) {
        uvzk__unwatch(lookout->queue->client, &lookout->watch);
    }
    free_lookout(lookout);
}

void uvzk__lookouts_lost(struct uvzk__queue *queue)
{
    struct uvzk__lookout *lookout, *next;

    HASH_ITER(hh, *lookouts_of(queue), lookout, next)
    {
        dissolve(lookout, 0);
    }
}

/* ------------------------------------------------------------------------- its life */

bool uvzk__lookout_join(struct uvzk__driven *driven, const char *name)
{
    struct uvzk__queue *queue = uvzk__claim_first(driven->claim)->queue;
    struct uvzk__lookout *lookout = find(queue, name);

    if (lookout == NULL) {
        lookout = uvzk__calloc(1, sizeof(*lookout));
        if (lookout == NULL) {
            return false;
        }
        lookout->path = uvzk__path_join(queue->path->text, name);
        if (lookout->path != NULL) {
            lookout->name = uvzk__path_name(lookout->path);
            HASH_ADD_KEYPTR(hh, *lookouts_of(queue), lookout->name, strlen(lookout->name),
                            lookout);
        }
        if (lookout->hh.tbl == NULL) {
            uvzk__free(lookout->path);
            uvzk__free(lookout);
            return false;
        }
        lookout->queue = queue;
        lookout->watch.watch_cb = fired;
        lookout->second_look.due = look_again;
        uvzk__list_init(&lookout->watchers);
    }
    uvzk__driven_looks(driven, lookout);
    uvzk__list_append(&lookout->watchers, &driven->in_lookout);
    uvzk__queue_touch(queue);
    return true;
}

/* A fixed name may be another one's by now: who owns it there has lost its znode. */
static void tell_owners(struct uvzk__lookout *lookout, int64_t czxid)
{
    struct uvzk__link *link = lookout->watchers.next;

    while (link != &lookout->watchers) {
        struct uvzk__driven *driven = watcher_at(link);
        link = link->next;
        if (!uvzk__driven_is(driven, czxid)) {
            uvzk__driven_looks(driven, NULL);
            uvzk__list_remove(&driven->in_lookout);
            uvzk__driven_told(driven, UVZK_ENONODE);
        }
    }
}

/* It is of our own session, which goes on: who comes first of those that wait for it sees
 * whether it is its own. */
static void tell_who_may_have_made_it(struct uvzk__lookout *lookout,
                                      const struct uvzk__stat *stat)
{
    if (uvzk__list_empty(&lookout->watchers)) {
        return;
    }
    struct uvzk__driven *driven = watcher_at(lookout->watchers.next);
    if (uvzk__fixed_name_may_be_ours(uvzk__claim_first(driven->claim), stat)) {
        uvzk__driven_looks(driven, NULL);
        uvzk__list_remove(&driven->in_lookout);
    }
}

/* A watch on the child stands, which has the stat. */
static void stands(struct uvzk__lookout *lookout, const struct uvzk__stat *stat)
{
    struct uvzk__client *client = lookout->queue->client;
    bool changed = lookout->mzxid != 0 && lookout->mzxid != stat->mzxid;

    does(lookout, ARMED);
    lookout->mzxid = stat->mzxid;
    tell_owners(lookout, stat->czxid);
    tell_who_may_have_made_it(lookout, stat);
    if (changed || uvzk__list_empty(&lookout->watchers)) {
        uvzk__unwatch(client, &lookout->watch);
        dissolve(lookout, 0);
    } else {
        uvzk__second_look(client, &lookout->second_look);
    }
}

static void armed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__lookout *lookout = UVZK__CONTAINER_OF(rpc, struct uvzk__lookout, rpc);
    struct uvzk__queue *queue = lookout->queue;
    struct uvzk__client *client = queue->client;
    int status = reply->status;

    uvzk__answered(client, rpc, status, false);
    if (status == 0) {
        stands(lookout, &reply->stat);
    } else {
        dissolve(lookout, status == UVZK_ENONODE || !uvzk__queue_passing(queue, status)
                              ? status
                              : 0);
    }
}

static void arm(struct uvzk__lookout *lookout)
{
    struct uvzk__client *client = lookout->queue->client;

    if (!uvzk__watch_budget_take(client, lookout->path)) {
        dissolve(lookout, UVZK_ELIMIT);
        return;
    }
    uvzk__rpc_prepare(&lookout->rpc, UVZK__RPC_GET, lookout->path, armed);
    lookout->rpc.watch = &lookout->watch;
    does(lookout, ARMING);
    uvzk__submit(client, &lookout->rpc);
}

void uvzk__lookouts_arm(struct uvzk__queue *queue)
{
    struct uvzk__lookout *lookout, *next;

    if (uvzk__queue_is_resting(queue) || !uvzk__may_send(queue->client)) {
        return;
    }
    HASH_ITER(hh, *lookouts_of(queue), lookout, next)
    {
        if (lookout->doing == IDLE) {
            arm(lookout);
        }
    }
}
