/* SPDX-License-Identifier: Apache-2.0 */
/* What a server does with each request. sim_link.c calls sim__server_receive() when a
 * request arrives, and sim_member.c calls it for a request that had to wait. A request
 * passes through receive(), receive_rpc() and serve(); random faults are applied on the
 * way.
 *
 * The requests of a link are received in order. A write takes the next zxid, then fires
 * watches, then is answered. So on the writer's own link, too, an event comes before the
 * reply of the write that caused it. */
#include "sim_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HAND_ID INT64_C(0x7a00000000000001) /* the operator's session */

/* ------------------------------------------------------------------ changes */

/* The op has been checked. session: a client's that lives, or the operator's. */
static struct sim__node *apply_create(struct sim *sim, const struct uvzk__op *op,
                                      struct sim__session *session)
{
    bool ephemeral = op->mode == UVZK__EPHEMERAL;
    struct sim__node *node = sim__txn_create(sim, op, ephemeral ? session->id : 0);
    if (ephemeral) {
        uvzk__list_append(&session->ephemerals, &node->group);
    }
    return node;
}

/* Performs an op that has been checked. Returns the znode; NULL after a delete. */
static struct sim__node *apply(struct sim *sim, const struct uvzk__op *op,
                               struct sim__session *session)
{
    struct sim__tree *tree = &sim->server.tree;
    if (op->kind == UVZK__OP_CREATE) {
        return apply_create(sim, op, session);
    }
    struct sim__node *node = sim__tree_find(tree, op->path, strlen(op->path));
    if (op->kind == UVZK__OP_DELETE) {
        sim__txn_delete(sim, node);
        return NULL;
    }
    if (op->kind == UVZK__OP_SET) {
        sim__txn_set(sim, node, op->data, op->data_length);
    }
    return node;
}

/* A container is deleted if it has had children and has none now. */
void sim_check_containers(struct sim *sim)
{
    struct sim__tree *tree = &sim->server.tree;
    struct uvzk__link *at = tree->containers.next;
    while (at != &tree->containers) {
        struct sim__node *node = UVZK__CONTAINER_OF(at, struct sim__node, group);
        at = at->next;
        if (node->stat.child_count == 0 && node->counter != 0) {
            sim__trace(sim, "server", "removes container %s", node->path);
            sim__txn_begin(sim);
            sim__txn_delete(sim, node);
            sim__txn_commit(sim);
        }
    }
}

static void container_check(struct sim *sim, struct sim__event *event)
{
    uint64_t interval = sim->options.container_check_ms;
    if (sim->options.container_check_random) {
        interval = sim__random_between(sim, 1, 2 * interval);
    }
    sim__event_set(sim, event, sim->now + interval);
    /* Until then there is no leader that could delete them. */
    if (sim->now >= sim->server.up_at) {
        sim_check_containers(sim);
    }
}

/* ---------------------------------------------------------------- hanging up */

void sim__server_detach(struct sim__link *link)
{
    if (link->session != NULL) {
        link->session->link = NULL;
        link->session = NULL;
    }
    sim__watch_drop_all(link);
}

void sim__server_hang_up(struct sim *sim, struct sim__link *link)
{
    if (!link->server_open) {
        return;
    }
    /* Answers on their way stay, and END arrives after them. */
    sim__link_close_server(sim, link);
    sim__link_send_down(sim, link, sim__answer_new(SIM__END));
    link->told_end = true;
}

/* --------------------------------------------------------- session requests */

/* A server grants what its own limit leaves of the timeout with which the session was
 * created. */
static void answer_connect(struct sim *sim, struct sim__link *link,
                           const struct sim__session *session, uint64_t until)
{
    struct sim__answer *answer = sim__answer_new(SIM__CONNECTED);
    answer->session_id = session->id;
    answer->timeout_ms = sim__member_allows(link->member, session->created_ms);
    link->session_id = session->id;
    sim__member_answer(sim, link, answer, until);
}

/* A server refuses a client that has read a zxid which the server has not applied yet:
 * that client would see an older state than before. */
static bool refuses_connect(struct sim *sim, const struct sim__link *link,
                            const struct sim__request *request)
{
    bool behind = request->seen_zxid > link->member->tree->zxid;
    if (sim->server.member_count > 1) {
        sim__trace(sim, link->who, "comes to server %zu%s", link->member->number,
                   behind ? ", which is behind" : "");
    }
    return behind || !sim__member_up(sim, link->member);
}

static void receive_connect(struct sim *sim, struct sim__link *link,
                            const struct sim__request *request)
{
    struct sim__session *session = NULL;
    if (refuses_connect(sim, link, request)) {
        sim__server_hang_up(sim, link);
        return;
    }
    if (link->member->deposed) {
        sim__deposed_connect(sim, link, request);
        return;
    }
    if (request->session_id == 0) {
        session =
            sim__session_new(sim, sim__member_allows(link->member, request->timeout_ms));
    } else if (!sim->options.forgets_sessions) {
        session = sim__session_find(sim, request->session_id);
    }
    if (session == NULL) {
        sim__trace(sim, link->who, "server: no session %" PRIx64,
                   (uint64_t)request->session_id);
        sim__link_send_down(sim, link, sim__answer_new(SIM__EXPIRED));
        sim__server_hang_up(sim, link);
        return;
    }
    /* Requests that still arrive on the session's old connection are not executed. */
    if (session->link != NULL) {
        sim__server_hang_up(sim, session->link);
    }
    session->link = link;
    link->session = session;
    sim__session_connected(sim, session,
                           sim__member_allows(link->member, session->created_ms));
    /* A new session is a transaction, which this server must have applied. */
    answer_connect(sim, link, session,
                   request->session_id == 0 ? sim->server.txn_count : 0);
}

/* The znodes that this link's client sees: its server's, or those of the moment at which
 * its follower lost the leader. */
static struct sim__tree *tree_seen(const struct sim__link *link)
{
    return link->follower != NULL ? link->follower : link->member->tree;
}

static void receive_ping(struct sim *sim, struct sim__link *link)
{
    struct sim__answer *answer = sim__answer_new(SIM__PONG);
    answer->zxid = tree_seen(link)->zxid;
    sim__member_answer(sim, link, answer, 0);
}

/* One watch of a SetWatches. If the client has missed a change since seen_zxid, the event
 * is sent at once. Otherwise the watch is set again. */
static void receive_rewatch(struct sim *sim, struct sim__link *link,
                            const struct sim__request *request)
{
    struct sim__node *node =
        sim__tree_find(link->member->tree, request->path, strlen(request->path));
    bool child = request->watch_kind == SIM__WATCH_CHILD;
    if (link->follower != NULL) { /* it sees no change any more */
        return;
    }
    if (request->watch_kind == SIM__WATCH_PERSISTENT) {
        sim__watch_add(link, request->watch_id, request->path, request->watch_kind);
        return;
    }
    if (request->watch_kind == SIM__WATCH_EXIST) {
        if (node != NULL) {
            sim__watch_tell(sim, link, request->watch_id, UVZK__WATCH_CREATED,
                            SIM__NO_ZXID, NULL);
            return;
        }
    } else if (node == NULL) {
        sim__watch_tell(sim, link, request->watch_id, UVZK__WATCH_DELETED, SIM__NO_ZXID,
                        NULL);
        return;
    } else if ((child ? node->pzxid : node->stat.mzxid) > request->seen_zxid) {
        sim__watch_tell(sim, link, request->watch_id,
                        child ? UVZK__WATCH_CHILDREN : UVZK__WATCH_CHANGED, SIM__NO_ZXID,
                        NULL);
        return;
    }
    sim__watch_add(link, request->watch_id, request->path, request->watch_kind);
}

/* -------------------------------------------------------------------- reads */

/* Copies the names into memory of the answer. A name that is NULL stays NULL. */
static void keep_names(struct sim__answer *answer)
{
    size_t bytes = 0;
    for (size_t i = 0; i < answer->name_count; i++) {
        bytes += answer->names[i] != NULL ? strlen(answer->names[i]) + 1 : 0;
    }
    char *text = sim__alloc(bytes);
    answer->text = text;
    for (size_t i = 0; i < answer->name_count; i++) {
        if (answer->names[i] != NULL) {
            size_t length = strlen(answer->names[i]) + 1;
            answer->names[i] = memcpy(text, answer->names[i], length);
            text += length;
        }
    }
}

static void put_names(struct sim *sim, struct sim__answer *answer,
                      const struct sim__node *node)
{
    size_t count = (size_t)node->stat.child_count, i = 0;
    answer->names = sim__alloc(count * sizeof(*answer->names));
    answer->name_count = count;
    for (struct uvzk__link *at = node->children.next; at != &node->children;
         at = at->next) {
        const struct sim__node *child = UVZK__CONTAINER_OF(at, struct sim__node, sibling);
        answer->names[i++] = child->name;
    }
    for (i = count; i > 1; i--) { /* ZooKeeper returns the names in no defined order */
        size_t other = (size_t)sim_random(sim, i);
        const char *name = answer->names[i - 1];
        answer->names[i - 1] = answer->names[other];
        answer->names[other] = name;
    }
    keep_names(answer);
    answer->reply->names = answer->names;
    answer->reply->name_count = count;
}

/* Room for what a client outside hears of this many znodes. */
static void make_full_stats(const struct sim__link *link, struct sim__answer *answer,
                            size_t count)
{
    if (sim__client_is_outside(link->client)) {
        answer->full_stats = sim__alloc(count * sizeof(*answer->full_stats));
    }
}

static void put_full_stat(struct sim__answer *answer, size_t i,
                          const struct sim__node *node)
{
    if (answer->full_stats != NULL && node != NULL) {
        sim__full_stat_of(node, &answer->full_stats[i]);
    }
}

/* The znode need not exist, nor be readable. */
static int serve_add_watch(const struct sim *sim, struct sim__link *link,
                           const struct sim__request *request, struct sim__answer *answer)
{
    if (sim->options.no_persistent_watches) {
        return UVZK_EUNIMPLEMENTED;
    }
    answer->watch_id = request->watch_id;
    if (link->follower == NULL) { /* without its leader a follower sees no change */
        sim__watch_add(link, request->watch_id, request->path, request->watch_kind);
    }
    return 0;
}

static int serve_read(struct sim *sim, struct sim__link *link,
                      const struct sim__request *request, struct sim__answer *answer)
{
    struct sim__node *node =
        sim__tree_find(tree_seen(link), request->path, strlen(request->path));
    bool exists = request->kind == UVZK__RPC_EXISTS;
    /* Only exists sets a watch on a znode that does not exist. */
    bool arms = node != NULL || exists;
    if (node != NULL && node->unreadable && (!exists || sim->options.exists_needs_read)) {
        return UVZK_ENOAUTH;
    }
    if (arms && request->watch_id != 0) {
        answer->watch_id = request->watch_id;
        if (link->follower == NULL) { /* without its leader a follower sees no change */
            sim__watch_add(link, request->watch_id, request->path, request->watch_kind);
        }
    }
    if (node == NULL) {
        return UVZK_ENONODE;
    }
    answer->reply->stat = node->stat;
    make_full_stats(link, answer, 1);
    put_full_stat(answer, 0, node);
    if (request->kind == UVZK__RPC_GET) {
        answer->data = sim__copy(node->data, node->data_length);
        answer->reply->data = answer->data;
        answer->reply->data_length = node->data_length;
    } else if (request->kind == UVZK__RPC_CHILDREN) {
        answer->reply->stat = (struct uvzk__stat){0}; /* port.h: names only */
        put_names(sim, answer, node);
    }
    return 0;
}

/* ------------------------------------------------------------------- writes */

/* Returns true if DELETE is missing on the parent. As in ZooKeeper, this is checked
 * before the znode itself, so it is refused even if there is no such znode. */
static bool may_not_delete(const struct sim__tree *tree, const char *path)
{
    size_t length = sim__parent_length(path);
    const struct sim__node *parent =
        length == 0 ? NULL : sim__tree_find(tree, path, length);
    return parent != NULL && parent->undeletable;
}

/* Returns 0 or the status with which the server refuses op after the changes (NULL: op
 * stands alone). *path: see sim__tree_number. */
static int check(struct sim *sim, struct uvzk__op *op, struct sim__session *session,
                 struct sim__change **changes, char **path)
{
    *path = sim__tree_number(&sim->server.tree, op, changes != NULL ? *changes : NULL);
    if (op->kind == UVZK__OP_DELETE && session != &sim->server.operator_session &&
        may_not_delete(&sim->server.tree, op->path)) {
        return UVZK_ENOAUTH;
    }
    bool ephemeral = op->kind == UVZK__OP_CREATE && op->mode == UVZK__EPHEMERAL;
    return sim__tree_check(&sim->server.tree, op, ephemeral ? session->id : 0, changes);
}

int sim__server_write(struct sim *sim, struct uvzk__op op, struct sim__session *session,
                      struct sim__node **made)
{
    char *path;
    sim__txn_begin(sim); /* a write that is refused takes a zxid, too */
    int status = check(sim, &op, session, NULL, &path);
    if (status == 0) {
        *made = apply(sim, &op, session);
    }
    sim__txn_commit(sim);
    free(path);
    return status;
}

static int serve_write(struct sim *sim, struct sim__link *link,
                       const struct sim__request *request, struct sim__answer *answer)
{
    struct sim__session *session = link->session;
    struct sim__node *made = NULL;
    if (request->kind == UVZK__RPC_CREATE && request->mode == UVZK__CONTAINER &&
        sim->options.no_containers) {
        return UVZK_EUNIMPLEMENTED;
    }
    int status = sim__server_write(sim, request->ops[0], session, &made);
    if (status == 0 && made != NULL) {
        make_full_stats(link, answer, 1);
        put_full_stat(answer, 0, made);
        bool creates = request->kind == UVZK__RPC_CREATE;
        if (!creates || !sim->options.no_create2) {
            answer->reply->stat = made->stat;
        }
        if (creates) {
            answer->name = sim__copy(made->path, made->length + 1);
            answer->reply->name = answer->name;
        }
    }
    return status;
}

/* Performs the ops of a multi, and keeps the names of the created znodes. */
static void apply_all(struct sim *sim, struct sim__link *link, const struct uvzk__op *ops,
                      size_t count, struct sim__answer *answer)
{
    answer->names = sim__alloc(count * sizeof(*answer->names));
    answer->name_count = count;
    make_full_stats(link, answer, count);
    for (size_t i = 0; i < count; i++) {
        put_full_stat(answer, i, apply(sim, &ops[i], link->session));
        if (ops[i].kind == UVZK__OP_CREATE) {
            sim__trace(sim, "server", "multi makes %s", ops[i].path);
            answer->names[i] = ops[i].path;
        }
    }
    keep_names(answer);
    answer->reply->made = answer->names;
}

/* All ops are one transaction with one zxid. All of them are checked, and sequential
 * creates numbered, before the first op is performed. If one check fails, the counters of
 * the directories stay as they are. */
static int serve_multi(struct sim *sim, struct sim__link *link,
                       const struct sim__request *request, struct sim__answer *answer)
{
    struct sim__session *session = link->session;
    struct sim__change *changes = NULL;
    size_t count = request->op_count, i;
    struct uvzk__op *ops = sim__copy(request->ops, count * sizeof(*ops));
    char **paths = sim__alloc(count * sizeof(*paths));
    int status = 0;
    sim__txn_begin(sim); /* even without a write: a multi needs a quorum */
    for (i = 0; i < count && status == 0; i++) {
        status = check(sim, &ops[i], session, &changes, &paths[i]);
    }
    if (status != 0) {
        answer->reply->failed_op = i - 1;
    } else {
        apply_all(sim, link, ops, count, answer);
    }
    sim__txn_commit(sim);
    sim__changes_free(&changes);
    for (i = 0; i < count; i++) {
        free(paths[i]);
    }
    free(paths);
    free(ops);
    return status;
}

/* ----------------------------------------------------------------- requests */

/* Executes the request, fills in the answer and returns its status. */
static int serve(struct sim *sim, struct sim__link *link,
                 const struct sim__request *request, struct sim__answer *answer)
{
    if (sim->server.refuse[request->kind].times > 0) {
        sim->server.refuse[request->kind].times--;
        if (sim->server.refused_op < request->op_count) {
            answer->reply->failed_op = sim->server.refused_op;
        }
        return sim->server.refuse[request->kind].status;
    }
    if (sim->now < sim->server.throttles_until && sim_random(sim, 2) == 0) {
        return UVZK_ETHROTTLED;
    }
    bool sequential =
        request->kind == UVZK__RPC_CREATE && sim__mode_sequential(request->mode);
    if (request->kind != UVZK__RPC_MULTI && !sim__path_valid(request->path, sequential)) {
        return UVZK_EREJECTED;
    }
    switch (request->kind) {
    case UVZK__RPC_CREATE:
    case UVZK__RPC_DELETE:
    case UVZK__RPC_SET:
        return serve_write(sim, link, request, answer);
    case UVZK__RPC_MULTI:
        return serve_multi(sim, link, request, answer);
    case UVZK__RPC_SYNC:
        return 0;
    case UVZK__RPC_ADD_WATCH:
        return serve_add_watch(sim, link, request, answer);
    default:
        return serve_read(sim, link, request, answer);
    }
}

/* Returns whether this fault happens now: at random, or because a test has set *once,
 * which is then reset. once is NULL if the client has closed its end. */
static bool lost(struct sim *sim, bool *once, uint32_t ppm)
{
    bool asked = once != NULL && *once;
    if (asked) {
        *once = false;
    }
    return sim__random_hit(sim, ppm) || asked;
}

bool sim__is_read(const struct sim__request *request)
{
    return request->kind == UVZK__RPC_GET || request->kind == UVZK__RPC_EXISTS ||
           request->kind == UVZK__RPC_CHILDREN || request->kind == UVZK__RPC_ADD_WATCH;
}

bool sim__is_answered_alone(const struct sim__request *request)
{
    return sim__is_read(request) || request->kind == SIM__REMOVE_WATCH ||
           request->kind == SIM__REWATCH;
}

/* Returns true if this server refuses the request itself, by the permissions that it has
 * applied (the option eager_acl_checks). It does not check the ops of a multi. ZooKeeper
 * checks creates and sets, too; in the simulator every client has CREATE and WRITE. */
static bool refuses_alone(const struct sim *sim, const struct sim__link *link,
                          const struct sim__request *request)
{
    return sim->options.eager_acl_checks && request->kind == UVZK__RPC_DELETE &&
           sim__path_valid(request->path, false) &&
           may_not_delete(tree_seen(link), request->path);
}

/* Returns true if a refusal by the server itself would come before the replies of earlier
 * requests. It does not wait for them, and a client closes a connection on which replies
 * come out of order. */
static bool overtakes(const struct sim__link *link)
{
    return link->hangs || !uvzk__list_empty(&link->held);
}

static void receive_rpc(struct sim *sim, struct sim__link *link,
                        const struct sim__request *request)
{
    struct sim__client *client = link->client;
    bool refused = refuses_alone(sim, link, request);
    /* The leader knows that the session has ended or is connected elsewhere. */
    if (link->session == NULL && !sim__is_read(request) && !refused &&
        !link->member->deposed) {
        sim__server_hang_up(sim, link);
        return;
    }
    if (refused && overtakes(link)) {
        sim__trace(sim, link->who, "server: a refusal overtakes what was asked before");
        sim__server_hang_up(sim, link);
        return;
    }
    struct sim__answer *answer = sim__answer_new(SIM__REPLY);
    answer->reply = sim__alloc(sizeof(*answer->reply));
    answer->reply->failed_op = SIZE_MAX;
    int status = refused ? UVZK_ENOAUTH : serve(sim, link, request, answer);
    /* The leader has deleted the znode. But the reply is the result of this server's own
     * attempt to apply the delete. */
    if (status == 0 && request->kind == UVZK__RPC_DELETE &&
        sim__diverged_lacks(link->member, request->path)) {
        status = UVZK_ENONODE;
    }
    answer->reply->status = status;
    answer->zxid = tree_seen(link)->zxid;
    sim__trace(sim, link->who, "server: %s %s -> %s%s%s",
               sim__request_name(request->kind),
               request->path != NULL ? request->path : "", sim__code(status),
               answer->name != NULL ? " " : "", answer->name != NULL ? answer->name : "");
    bool deposed = sim->server.deposed_end.place != 0;
    uint32_t ppm = deposed ? sim->faults.lose_reply_deposed : sim->faults.lose_reply;
    if (lost(sim, client != NULL ? &client->lose_reply : NULL, ppm)) {
        sim__trace(sim, link->who, "loses the reply of %s",
                   sim__request_name(request->kind));
        sim__answer_free(answer);
        sim__server_hang_up(sim, link);
        return;
    }
    /* The request was executed, but the client does not learn the result. */
    if (lost(sim, client != NULL ? &client->reply_enomem : NULL,
             sim->faults.reply_enomem)) {
        *answer->reply = (struct uvzk__reply){.status = UV_ENOMEM, .failed_op = SIZE_MAX};
        sim__watch_remove(link, request->watch_id);
        answer->watch_id = 0;
    }
    /* The server answers these without a transaction of its own. */
    bool alone = sim__is_read(request) || refused || link->member->deposed;
    sim__member_answer(sim, link, answer, alone ? 0 : sim->server.txn_count);
}

/* Returns true if the request gets no answer on this connection. A follower without its
 * leader answers what it can alone, and so does an old leader without a quorum, which
 * also answers sync. As soon as one request needs the leader or a quorum, that request
 * waits, and so do all requests behind it. */
static bool hangs(const struct sim *sim, struct sim__link *link,
                  const struct sim__request *request)
{
    bool alone = sim__is_answered_alone(request) || refuses_alone(sim, link, request) ||
                 request->kind == SIM__PING;
    bool deposed = link->member->deposed && request->kind != UVZK__RPC_SYNC;
    if ((link->follower != NULL || deposed) && !alone) {
        link->hangs = true;
    }
    return link->hangs && !refuses_alone(sim, link, request);
}

/* Pings and messages about watches are lost only together with the connection. */
static bool loses_request(struct sim *sim, struct sim__link *link,
                          const struct sim__request *request)
{
    bool counts = request->kind < UVZK__RPC_KINDS || request->kind == SIM__END_SESSION;
    struct sim__client *client = link->client;
    return counts && lost(sim, client != NULL ? &client->lose_request : NULL,
                          sim->faults.lose_request);
}

/* A request that had to wait was counted when it arrived (sim__member_holds). */
static void heard(struct sim *sim, struct sim__link *link,
                  const struct sim__request *request)
{
    if (link->session != NULL && link->follower == NULL && !request->held) {
        sim__session_heard(sim, link->session, request);
    }
}

void sim_set_jute_maxbuffer(struct sim *sim, uint32_t bytes)
{
    sim->options.jute_maxbuffer = bytes;
}

/* Returns true if the request is longer than jute.maxbuffer. A server does not read such
 * a request, and closes the connection. */
static bool is_too_long(const struct sim *sim, const struct sim__request *request)
{
    return request->bytes > sim->options.jute_maxbuffer;
}

/* Performs a request that need not wait. */
static void receive(struct sim *sim, struct sim__link *link,
                    const struct sim__request *request)
{
    if (request->kind == SIM__CONNECT) {
        receive_connect(sim, link, request);
        return;
    }
    if (is_too_long(sim, request)) {
        sim__trace(sim, link->who, "server: %s of %zu bytes is too long",
                   sim__request_name(request->kind), request->bytes);
        sim->server.too_long++;
        sim__server_hang_up(sim, link);
        return;
    }
    if (hangs(sim, link, request)) {
        return;
    }
    if (loses_request(sim, link, request)) { /* before the session is heard of */
        sim__trace(sim, link->who, "loses the request %s",
                   sim__request_name(request->kind));
        sim__server_hang_up(sim, link);
        return;
    }
    heard(sim, link, request);
    if (request->kind == SIM__PING) {
        receive_ping(sim, link);
    } else if (request->kind == SIM__REMOVE_WATCH) {
        sim__watch_remove(link, request->watch_id);
    } else if (request->kind == SIM__REWATCH) {
        receive_rewatch(sim, link, request);
    } else if (request->kind == SIM__END_SESSION && link->session == NULL) {
        sim__server_hang_up(sim, link);
    } else if (request->kind == SIM__END_SESSION) {
        sim__trace(sim, link->who, "server: session %" PRIx64 " is closed",
                   (uint64_t)link->session->id);
        sim__session_end(sim, link->session);
    } else {
        receive_rpc(sim, link, request);
    }
}

void sim__server_receive(struct sim *sim, struct sim__link *link,
                         struct sim__request *request)
{
    if (sim__member_holds(sim, link, request)) {
        return;
    }
    receive(sim, link, request);
    free(request);
}

/* ------------------------------------------------------------ beginning, end */

void sim__server_init(struct sim *sim)
{
    struct sim__server *server = &sim->server;
    sim__tree_init(&server->tree);
    sim__members_init(sim);
    sim__election_init(sim);
    server->next_session = INT64_C(0x100000000);
    server->operator_session.id = HAND_ID;
    server->refused_op = SIZE_MAX;
    uvzk__list_init(&server->operator_session.ephemerals);
    server->container_check.fire = container_check;
    sim__event_set(sim, &server->container_check,
                   sim->now + sim->options.container_check_ms);
}

void sim__server_free(struct sim *sim)
{
    struct sim__server *server = &sim->server;
    struct sim__session *session, *next;
    HASH_ITER(hh, server->sessions, session, next)
    {
        sim__session_end(sim, session);
    }
    /* The members come after all that may still append transactions to their log. */
    sim__event_clear(sim, &server->container_check);
    sim__rights_free(sim);
    sim__election_free(sim);
    sim__members_free(sim);
    sim__tree_free(&server->tree);
}
