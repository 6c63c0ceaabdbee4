#include "value/replica.h"

#include <assert.h>
#include <string.h>

#include "base/path.h"
#include "engine/acl.h"
#include "engine/second_look.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch_budget.h"
#include "value/shared_value.h"

#define REST_MS 100
#define NO_ROOM_REST_MS 1000 /* for another watch: others have to go first */

/* ---------------------------------------------------------------------- watch */

#define UNWATCHED UVZK__REPLICA_UNWATCHED
#define ARMING UVZK__REPLICA_ARMING
#define ARMED UVZK__REPLICA_ARMED

static const struct uvzk__state watch_table[] = {
    [UNWATCHED] = {"UNWATCHED", UVZK__BIT(ARMING)},
    [ARMING] = {"ARMING", UVZK__BIT(ARMED) | UVZK__BIT(UNWATCHED)},
    [ARMED] = {"ARMED", UVZK__BIT(UNWATCHED)},
};

const struct uvzk__machine uvzk__replica_watch_machine =
    UVZK__MACHINE("replica's watch", watch_table);

static bool sound(const struct uvzk__replica *replica)
{
    return (replica->doing == UVZK__REPLICA_IDLE || replica->pins > 0) &&
           (replica->watching == UNWATCHED || !replica->ended);
}

/* The only writer of watching. */
static void move_watch(struct uvzk__replica *replica,
                       enum uvzk__replica_watching watching)
{
    replica->watching = (uint8_t)uvzk__machine_move(&uvzk__replica_watch_machine,
                                                    replica->watching, watching);
    assert(sound(replica));
}

static void disarm(struct uvzk__replica *replica)
{
    if (replica->watching != UNWATCHED) {
        uvzk__timed_clear(replica->client, &replica->second_look);
        move_watch(replica, UNWATCHED);
        uvzk__watch_budget_give(replica->client, replica->path);
    }
}

static void unwatch(struct uvzk__replica *replica)
{
    if (replica->watching != UNWATCHED) {
        uvzk__unwatch(replica->client, &replica->watch);
    }
    disarm(replica);
}

/* Whatever it was, the next read tells. */
static void fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct uvzk__replica *replica =
        UVZK__CONTAINER_OF(watch, struct uvzk__replica, watch);

    (void)event;
    disarm(replica);
    uvzk__replica_pump(replica);
}

static void look_again(struct uvzk__timed *timed)
{
    struct uvzk__replica *replica =
        UVZK__CONTAINER_OF(timed, struct uvzk__replica, second_look);

    unwatch(replica);
    uvzk__replica_pump(replica);
}

/* For a request that will arm it. False: there is no room for a watch. */
static bool arm(struct uvzk__replica *replica)
{
    replica->client->above->give_way(replica->client, replica->path);
    if (!uvzk__watch_budget_take(replica->client, replica->path)) {
        return false;
    }
    move_watch(replica, ARMING);
    replica->rpc.watch = &replica->watch;
    return true;
}

/* ------------------------------------------------------------------- its life */

static void free_memory(struct uvzk__replica *replica)
{
    uvzk__free(replica->path);
    uvzk__free(replica->making);
    uvzk__free(replica->seed);
    uvzk__free(replica->data);
    uvzk__free(replica);
}

static void free_if_over(struct uvzk__replica *replica)
{
    if (replica->ended && replica->pins == 0) {
        free_memory(replica);
    }
}

static void rested(struct uvzk__timed *timed)
{
    struct uvzk__replica *replica = UVZK__CONTAINER_OF(timed, struct uvzk__replica, rest);

    replica->resting = false;
    uvzk__replica_pump(replica);
}

static struct uvzk__replica *make_replica(struct uvzk__client *client, const char *path)
{
    struct uvzk__replica *replica = uvzk__calloc(1, sizeof(*replica));

    if (replica == NULL) {
        return NULL;
    }
    replica->client = client;
    replica->watch.watch_cb = fired;
    replica->rest.due = rested;
    replica->second_look.due = look_again;
    uvzk__list_init(&replica->values);
    replica->path = uvzk__strdup(path);
    replica->making = uvzk__strdup(path);
    if (replica->path != NULL && replica->making != NULL) {
        HASH_ADD_KEYPTR(hh, client->replicas, replica->path, strlen(path), replica);
    }
    if (replica->hh.tbl == NULL) {
        free_memory(replica);
        return NULL;
    }
    return replica;
}

struct uvzk__replica *uvzk__replica_of(struct uvzk__client *client, const char *path)
{
    struct uvzk__replica *replica;

    HASH_FIND_STR(client->replicas, path, replica);
    return replica != NULL ? replica : make_replica(client, path);
}

bool uvzk__replica_exists(const struct uvzk__client *client, const char *path)
{
    struct uvzk__replica *replica;

    HASH_FIND_STR(client->replicas, path, replica);
    return replica != NULL;
}

void uvzk__replica_end_unused(struct uvzk__replica *replica)
{
    if (!uvzk__list_empty(&replica->values)) {
        return;
    }
    HASH_DEL(replica->client->replicas, replica);
    uvzk__timed_clear(replica->client, &replica->rest);
    unwatch(replica);
    replica->ended = true;
    free_if_over(replica);
}

void uvzk__replica_pin(struct uvzk__replica *replica)
{
    replica->pins++;
}

void uvzk__replica_unpin(struct uvzk__replica *replica)
{
    replica->pins--;
    free_if_over(replica);
}

static void rest_for(struct uvzk__replica *replica, uint64_t ms)
{
    replica->resting = true;
    uvzk__timed_set(replica->client, &replica->rest, uvzk__now(replica->client) + ms);
}

void uvzk__replica_rest(struct uvzk__replica *replica)
{
    rest_for(replica, REST_MS);
}

/* --------------------------------------------------------------- what is known */

static struct uvzk__shared_value *value_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__shared_value, siblings);
}

static void for_each_value(struct uvzk__replica *replica,
                           void (*act)(struct uvzk__shared_value *))
{
    struct uvzk__link *link;

    for (link = replica->values.next; link != &replica->values; link = link->next) {
        act(value_at(link));
    }
}

static void set_status(struct uvzk__replica *replica, int status)
{
    if (replica->status != status) {
        replica->status = status;
        for_each_value(replica, uvzk__shared_value_tell);
    }
}

void uvzk__replica_learn(struct uvzk__replica *replica, const struct uvzk__stat *stat,
                         void *data, size_t length)
{
    if (stat->mzxid <= replica->version.mzxid) {
        uvzk__free(data);
        set_status(replica, 0);
        return;
    }
    uvzk__free(replica->data);
    replica->data = data;
    replica->length = length;
    replica->version.mzxid = stat->mzxid;
    replica->version.version = stat->version;
    replica->status = 0;
    for_each_value(replica, uvzk__shared_value_changed);
}

static void drop_seed(struct uvzk__replica *replica)
{
    uvzk__free(replica->seed);
    replica->seed = NULL;
}

void uvzk__replica_seed(struct uvzk__replica *replica, void *seed, size_t length)
{
    if (replica->seed != NULL) {
        uvzk__free(seed);
        return;
    }
    replica->seed = seed;
    replica->seed_length = length;
    replica->refusal = 0;
    replica->read_again = true;
}

/* ---------------------------------------------------------------- the requests */

/* The servers say how things are, and that there is nothing to read. */
static void settle_without(struct uvzk__replica *replica, int status)
{
    replica->answered = true;
    set_status(replica, status);
}

/* What is refused is not likely to be allowed a moment later: each rest is twice as long
 * as the one before, up to a session timeout. */
static void rest_longer(struct uvzk__replica *replica)
{
    uint64_t timeout_ms = uvzk__session_timeout(&replica->client->session);

    replica->refused_ms = replica->refused_ms == 0 ? REST_MS : 2 * replica->refused_ms;
    if (replica->refused_ms > timeout_ms) {
        replica->refused_ms = timeout_ms;
    }
    rest_for(replica, replica->refused_ms);
}

/* It is asked again after a rest, or as soon as the connection is back. */
static void no_answer(struct uvzk__replica *replica, int status)
{
    replica->read_again = true;
    if (uvzk__is_passing(status)) {
        uvzk__replica_rest(replica);
    } else {
        rest_longer(replica);
        settle_without(replica, status);
    }
}

static const struct uvzk__state table[] = {
    [UVZK__REPLICA_IDLE] = {"IDLE", UVZK__BIT(UVZK__REPLICA_READING) |
                                        UVZK__BIT(UVZK__REPLICA_SEEDING) |
                                        UVZK__BIT(UVZK__REPLICA_LOOKING)},
    [UVZK__REPLICA_READING] = {"READING", UVZK__BIT(UVZK__REPLICA_IDLE)},
    [UVZK__REPLICA_SEEDING] = {"SEEDING", UVZK__BIT(UVZK__REPLICA_IDLE)},
    [UVZK__REPLICA_LOOKING] = {"LOOKING", UVZK__BIT(UVZK__REPLICA_IDLE)},
};

const struct uvzk__machine uvzk__replica_machine =
    UVZK__MACHINE("replica's request", table);

/* The only writer of doing. */
static void does(struct uvzk__replica *replica, enum uvzk__replica_doing doing)
{
    replica->doing =
        (uint8_t)uvzk__machine_move(&uvzk__replica_machine, replica->doing, doing);
    assert(sound(replica));
}

static void submit(struct uvzk__replica *replica, enum uvzk__replica_doing doing)
{
    uvzk__replica_pin(replica);
    does(replica, doing);
    uvzk__submit(replica->client, &replica->rpc);
}

/* First thing in every reply. NULL: nobody wants it any more. */
static struct uvzk__replica *reply_begins(struct uvzk__rpc *rpc, int status, bool armed)
{
    struct uvzk__replica *replica = UVZK__CONTAINER_OF(rpc, struct uvzk__replica, rpc);

    uvzk__answered(replica->client, rpc, status, rpc->kind == UVZK__RPC_CREATE);
    does(replica, UVZK__REPLICA_IDLE);
    if (replica->ended) {
        uvzk__replica_unpin(replica);
        return NULL;
    }
    replica->pins--;
    if (replica->watching == ARMING && armed) {
        move_watch(replica, ARMED);
        uvzk__second_look(replica->client, &replica->second_look);
    } else if (replica->watching == ARMING) {
        disarm(replica);
    }
    return replica;
}

static void looked(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    bool stands = reply->status == 0, missing = reply->status == UVZK_ENONODE;
    struct uvzk__replica *replica = reply_begins(rpc, reply->status, stands || missing);

    if (replica == NULL) {
        return;
    }
    if (stands) {
        replica->read_again = true; /* made, or readable, since the read before */
    } else if (missing) {
        replica->refused_ms = 0;
    } else {
        no_answer(replica, reply->status);
    }
    uvzk__replica_pump(replica);
}

/* Once a watch stood before the read, its answer needs no other. */
static void look(struct uvzk__replica *replica)
{
    if (replica->watching != UNWATCHED || !uvzk__may_send(replica->client)) {
        return;
    }
    uvzk__rpc_prepare(&replica->rpc, UVZK__RPC_EXISTS, replica->path, looked);
    if (arm(replica)) {
        submit(replica, UVZK__REPLICA_LOOKING);
    }
}

static void seed_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply);

/* Makes the first `length` bytes of the path: the znode itself, or an ancestor. */
static void make(struct uvzk__replica *replica, size_t length)
{
    struct uvzk__client *client = replica->client;
    bool ancestor = replica->path[length] != '\0';

    if (!uvzk__may_send(client)) {
        return; /* pump() begins anew */
    }
    memcpy(replica->making, replica->path, length);
    replica->making[length] = '\0';
    uvzk__rpc_prepare(&replica->rpc, UVZK__RPC_CREATE, replica->making, seed_replied);
    replica->rpc.mode =
        ancestor && client->containers ? UVZK__CONTAINER : UVZK__PERSISTENT;
    replica->rpc.data = ancestor ? "" : replica->seed;
    replica->rpc.data_length = ancestor ? 0 : replica->seed_length;
    replica->rpc.acl = uvzk__acl_of(client, replica->making, &replica->acl);
    submit(replica, UVZK__REPLICA_SEEDING);
}

static void seed_refused(struct uvzk__replica *replica, int status)
{
    if (uvzk__is_passing(status)) {
        no_answer(replica, status);
    } else {
        drop_seed(replica);
        replica->refusal = status;
        settle_without(replica, status);
        look(replica);
    }
}

static void seed_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__replica *replica = reply_begins(rpc, reply->status, false);
    int status = reply->status;

    if (replica == NULL) {
        return;
    }
    size_t length = strlen(replica->making);
    size_t above = uvzk__path_parent_length(replica->making);
    bool stands = status == 0 || status == UVZK_ENODEEXISTS;

    if (stands && replica->path[length] == '\0') {
        drop_seed(replica);
        replica->read_again = true;
    } else if (stands) {
        make(replica, uvzk__path_next_length(replica->path, length));
    } else if (status == UVZK_ENONODE && above > 1) {
        make(replica, above);
    } else if (status == UVZK_EUNIMPLEMENTED && rpc->mode == UVZK__CONTAINER) {
        uvzk__no_containers(replica->client);
        make(replica, length);
    } else {
        seed_refused(replica, status);
    }
    uvzk__replica_pump(replica);
}

static void take(struct uvzk__replica *replica, const struct uvzk__reply *reply)
{
    void *data = uvzk__memdup(reply->data, reply->data_length);

    if (data == NULL) {
        no_answer(replica, UV_ENOMEM);
        return;
    }
    replica->answered = true;
    replica->refusal = 0;
    replica->refused_ms = 0;
    drop_seed(replica);
    uvzk__replica_learn(replica, &reply->stat, data, reply->data_length);
}

static void read_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__replica *replica = reply_begins(rpc, reply->status, reply->status == 0);
    int status = reply->status;

    if (replica == NULL) {
        return;
    }
    if (status == 0) {
        take(replica, reply);
    } else if (status == UVZK_ENONODE && replica->seed != NULL) {
        make(replica, strlen(replica->path));
    } else if (status == UVZK_ENONODE || status == UVZK_ENOAUTH) {
        bool refused = status == UVZK_ENONODE && replica->refusal != 0;
        settle_without(replica, refused ? replica->refusal : status);
        look(replica);
    } else {
        no_answer(replica, status);
    }
    for_each_value(replica, uvzk__shared_value_was_read);
    uvzk__replica_pump(replica);
}

static void read_znode(struct uvzk__replica *replica)
{
    uvzk__rpc_prepare(&replica->rpc, UVZK__RPC_GET, replica->path, read_replied);
    if (replica->watching == UNWATCHED && !arm(replica)) {
        settle_without(replica, UVZK_ELIMIT);
        rest_for(replica, NO_ROOM_REST_MS);
        return;
    }
    replica->read_again = false;
    submit(replica, UVZK__REPLICA_READING);
    replica->read_stamp = uvzk__stamp(&replica->client->submissions);
}

static bool read_is_due(const struct uvzk__replica *replica)
{
    return replica->read_again || replica->watching == UNWATCHED ||
           replica->read_stamp <= replica->client->connected_stamp;
}

void uvzk__replica_pump(struct uvzk__replica *replica)
{
    if (replica->client->closing || !uvzk__may_send(replica->client)) {
        return;
    }
    if (replica->answered) { /* else the znode may still have to be made */
        for_each_value(replica, uvzk__shared_value_send_sets);
    }
    if (replica->doing == UVZK__REPLICA_IDLE && !replica->resting &&
        read_is_due(replica)) {
        read_znode(replica);
    }
}

void uvzk__replica_read_again(struct uvzk__replica *replica)
{
    /* Requests are answered in order: a read under way was submitted later. */
    if (replica->doing != UVZK__REPLICA_READING) {
        replica->read_again = true;
        uvzk__replica_pump(replica);
    }
}

/* ------------------------------------------------------------- all of a client */

void uvzk__replicas_watches_lost(struct uvzk__client *client)
{
    struct uvzk__replica *replica, *next;

    HASH_ITER(hh, client->replicas, replica, next)
    {
        unwatch(replica);
    }
}

void uvzk__replicas_resume(struct uvzk__client *client)
{
    struct uvzk__replica *replica, *next;

    HASH_ITER(hh, client->replicas, replica, next)
    {
        uvzk__timed_clear(client, &replica->rest);
        replica->resting = false;
        uvzk__replica_pump(replica);
    }
}

void uvzk__replicas_out_of_reach(struct uvzk__client *client, int code)
{
    struct uvzk__replica *replica, *next;

    HASH_ITER(hh, client->replicas, replica, next)
    {
        for (struct uvzk__link *link = replica->values.next; link != &replica->values;
             link = link->next) {
            uvzk__shared_value_end_sets(value_at(link), code);
        }
        set_status(replica, code);
    }
}
