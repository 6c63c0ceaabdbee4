/* SPDX-License-Identifier: Apache-2.0 */
/* The client's loop: implements engine/port.h over a simulated connection. src/ calls the
 * port's functions at the end of this file; the events of the loop call the user back.
 *
 *   the I/O thread (sim_io.c) ── inbox ──► one delivery an event: a reply, a
 *                                          watch, a session event; or, with
 *                                          options.batches, all of them
 *
 * The loop learns of a connection (told_epoch) later than the I/O (io, epoch). A request
 * is sent only when both mean the same connection. So all rpcs that are outstanding when
 * SUSPENDED is reported can get their replies at once, before the next CONNECTED. Failed
 * rpcs are at the head of the outstanding ones, and are delivered before the inbox. */
#include "sim_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* rpc->port.state: one of these states, and in the other bits a fingerprint of the rpc's
 * paths. */
enum {
    RPC_SENT = 1,
    RPC_UNSENT = 2, /* the connection was lost, but SUSPENDED is not reported yet */
    RPC_FAILED = 3, /* rpc->port.status is its reply */
    RPC_MASK = 3
};

struct sim__client *sim__client_of(const struct uvzk__port *port)
{
    return UVZK__CONTAINER_OF((uintptr_t)port, struct sim__client, port);
}

bool sim__client_is_lost(const struct sim__client *client)
{
    return client->told_epoch == 0 && client->session_id != 0 && !client->closing &&
           client->first == NULL && uvzk__list_empty(&client->inbox);
}

bool sim__client_held(struct sim__client *client, struct sim__event *event, bool by_loop)
{
    uint64_t until = client->paused_until;
    if (by_loop && client->stalled_until > until) {
        until = client->stalled_until;
    }
    if (client->sim->now >= until) {
        return false;
    }
    sim__event_set(client->sim, event, until);
    return true;
}

/* -------------------------------------------------------------------- inbox */

/* Sets the event of the next delivery, unless it is set already. */
static void deliver_soon(struct sim__client *client)
{
    struct sim *sim = client->sim;
    if (client->deliver.place == 0) {
        uint64_t to_loop = sim__random_between(sim, 0, sim->options.to_loop_max_ms);
        sim__event_set(sim, &client->deliver, sim->now + to_loop);
    }
}

void sim__client_push(struct sim__client *client, struct sim__answer *answer)
{
    uvzk__list_append(&client->inbox, &answer->packet.link);
    deliver_soon(client);
}

static void drop_inbox(struct sim__client *client)
{
    struct uvzk__link *taken;
    while ((taken = uvzk__list_take(&client->inbox)) != NULL) {
        sim__answer_free(UVZK__CONTAINER_OF(taken, struct sim__answer, packet.link));
    }
}

/* ------------------------------------------------------------------ watches */

struct sim__client_watch *sim__client_watch_find(struct sim__client *client, uint64_t id)
{
    struct sim__client_watch *watch = NULL;
    HASH_FIND(hh_id, client->by_id, &id, sizeof(id), watch);
    return watch;
}

/* Registers the rpc's watch, and checks that the caller may set it. */
static void watch_new(struct sim__client *client, struct uvzk__rpc *rpc)
{
    static const uint8_t kinds[] = {[UVZK__RPC_GET] = SIM__WATCH_DATA + 1,
                                    [UVZK__RPC_EXISTS] = SIM__WATCH_DATA + 1,
                                    [UVZK__RPC_CHILDREN] = SIM__WATCH_CHILD + 1,
                                    [UVZK__RPC_ADD_WATCH] = SIM__WATCH_PERSISTENT + 1};
    struct sim__client_watch *watch = NULL;
    size_t length = strlen(rpc->path);
    if (rpc->kind >= sizeof(kinds) || kinds[rpc->kind] == 0) {
        sim__misuse(client->sim, client->name, "this kind of rpc arms no watch");
    }
    if (rpc->watch->armed != NULL) {
        sim__misuse(client->sim, client->name, "the watch is armed already");
    }
    HASH_FIND(hh_path, client->by_path, rpc->path, (unsigned)length, watch);
    if (watch != NULL &&
        (watch->kind == SIM__WATCH_PERSISTENT || rpc->kind == UVZK__RPC_ADD_WATCH)) {
        sim__misuse(client->sim, client->name, "a persistent watch beside another one");
    }
    watch = sim__alloc(sizeof(*watch));
    watch->id = ++client->sim->watch_ids;
    watch->watch = rpc->watch;
    watch->rpc = rpc;
    watch->path = sim__copy(rpc->path, length + 1);
    watch->kind = kinds[rpc->kind] - 1U;
    HASH_ADD(hh_id, client->by_id, id, sizeof(watch->id), watch);
    HASH_ADD_KEYPTR(hh_path, client->by_path, watch->path, (unsigned)length, watch);
    rpc->watch->armed = watch;
    rpc->port.answer = watch;
}

/* Afterwards the port does not access the user's watch any more. */
static void watch_free(struct sim__client *client, struct sim__client_watch *watch)
{
    HASH_DELETE(hh_id, client->by_id, watch);
    HASH_DELETE(hh_path, client->by_path, watch);
    if (watch->rpc != NULL) {
        watch->rpc->port.answer = NULL;
    }
    watch->watch->armed = NULL;
    free(watch->path);
    sim__free(watch, sizeof(*watch));
}

void sim__client_drop_watches(struct sim__client *client)
{
    struct sim__client_watch *watch, *next;
    HASH_ITER(hh_id, client->by_id, watch, next)
    {
        watch_free(client, watch);
    }
}

/* The connection is lost. Those that are being armed end with their rpcs. */
static void drop_persistent_watches(struct sim__client *client)
{
    struct sim__client_watch *watch, *next;
    HASH_ITER(hh_id, client->by_id, watch, next)
    {
        if (watch->kind == SIM__WATCH_PERSISTENT && watch->rpc == NULL) {
            watch_free(client, watch);
        }
    }
}

/* --------------------------------------------------- the loop: outstanding */

/* FNV-1a of the paths, which the caller must keep unchanged until the reply. If the
 * caller has freed them, the address sanitizer reports that they are read here. The two
 * low bits are left for the state. */
static uint32_t fingerprint_text(uint32_t print, const char *text)
{
    for (; *text != '\0'; text++) {
        print = (print ^ (unsigned char)*text) * 16777619U;
    }
    return print;
}

static uint32_t fingerprint(const struct uvzk__rpc *rpc)
{
    uint32_t print = 2166136261U;
    if (rpc->kind != UVZK__RPC_MULTI) {
        print = fingerprint_text(print, rpc->path);
    }
    for (size_t i = 0; rpc->kind == UVZK__RPC_MULTI && i < rpc->op_count; i++) {
        print = fingerprint_text(print, rpc->ops[i].path);
    }
    return print & ~(uint32_t)RPC_MASK;
}

static void append(struct sim__client *client, struct uvzk__rpc *rpc)
{
    rpc->port.port = &client->port;
    rpc->port.next = NULL;
    rpc->port.prev = client->last;
    if (client->last != NULL) {
        client->last->port.next = rpc;
    } else {
        client->first = rpc;
    }
    client->last = rpc;
    client->outstanding++;
    client->submitted++;
}

/* Takes the first rpc off the list. If its reply has armed its watch, the watch stays;
 * otherwise the watch is dropped. */
static struct uvzk__rpc *take_first(struct sim__client *client, bool armed)
{
    struct uvzk__rpc *rpc = client->first;
    struct sim__client_watch *watch = rpc->port.answer;
    if ((rpc->port.state & ~(uint32_t)RPC_MASK) != fingerprint(rpc)) {
        sim__misuse(client->sim, client->name, "an rpc was changed while outstanding");
    }
    client->first = rpc->port.next;
    if (client->first != NULL) {
        client->first->port.prev = NULL;
    } else {
        client->last = NULL;
    }
    client->outstanding--;
    if (watch != NULL && armed) {
        watch->rpc = NULL;
    } else if (watch != NULL) {
        watch_free(client, watch);
    }
    memset(&rpc->port, 0, sizeof(rpc->port));
    return rpc;
}

static void fail(struct uvzk__rpc *rpc, int status)
{
    rpc->port.state = (rpc->port.state & ~(uint32_t)RPC_MASK) | RPC_FAILED;
    rpc->port.status = status;
}

/* Gives all outstanding rpcs this status. Those that have failed already keep theirs,
 * except that ECLOSED replaces every status. An rpc that was certainly not sent may also
 * get ENOTSENT. */
static void fail_all(struct sim__client *client, int status)
{
    struct sim *sim = client->sim;
    for (struct uvzk__rpc *rpc = client->first; rpc != NULL; rpc = rpc->port.next) {
        uint32_t state = rpc->port.state & RPC_MASK;
        if (state == RPC_UNSENT && status == UVZK_ECONNLOSS && sim_random(sim, 2) == 0) {
            fail(rpc, UVZK_ENOTSENT);
        } else if (state != RPC_FAILED || status == UVZK_ECLOSED) {
            fail(rpc, status);
        }
    }
}

/* ----------------------------------------------------- the loop: deliveries */

/* Replies to the first rpc, which has failed. */
static void deliver_failure(struct sim__client *client)
{
    int status = client->first->port.status;
    struct uvzk__rpc *rpc = take_first(client, false);
    struct uvzk__reply *reply = sim__alloc(sizeof(*reply));
    reply->status = status;
    reply->failed_op = SIZE_MAX;
    sim__trace(client->sim, client->name, "%s -> %s", sim__request_name(rpc->kind),
               sim__code(status));
    rpc->reply_cb(rpc, reply);
    sim__free(reply, sizeof(*reply));
}

/* Replies come in the order of the requests, so this one is the first rpc's. */
static void deliver_reply(struct sim__client *client, struct sim__answer *answer)
{
    struct uvzk__rpc *rpc = take_first(client, answer->watch_id != 0);
    sim__trace(client->sim, client->name, "%s -> %s", sim__request_name(rpc->kind),
               sim__code(answer->reply->status));
    rpc->reply_cb(rpc, answer->reply);
}

static void deliver_event(struct sim__client *client, const struct sim__answer *answer)
{
    static const char *const names[] = {"created", "deleted", "changed", "children"};
    struct sim__client_watch *watch = sim__client_watch_find(client, answer->watch_id);
    if (watch == NULL) { /* unwatch() was called after the I/O had read the event */
        return;
    }
    struct uvzk__watch *user = watch->watch;
    sim__trace(client->sim, client->name, "watch %s%s%s: %s", watch->path,
               answer->name == NULL ? "" : ", child ",
               answer->name == NULL ? "" : answer->name, names[answer->watch_event]);
    if (watch->kind == SIM__WATCH_PERSISTENT) {
        user->child_cb(user, (enum uvzk__watch_event)answer->watch_event, answer->name);
        return;
    }
    watch_free(client, watch);
    user->watch_cb(user, (enum uvzk__watch_event)answer->watch_event);
}

/* Room for "sim-", a number and ":2181". */
#define SERVER_TEXT 24

/* The event and its texts are freed directly afterwards, so that the address sanitizer
 * reports a user that keeps them. */
static void tell_session(struct sim__client *client, enum uvzk__session_event_kind kind,
                         const struct sim__answer *answer, int status)
{
    static const char *const names[] = {"CONNECTED", "SUSPENDED", "EXPIRED",
                                        "AUTH_FAILED", "OPEN_FAILED"};
    struct uvzk__session_event *event = sim__alloc(sizeof(*event));
    size_t length = strlen(client->name) + 1;
    char *address = sim__copy(client->name, length);
    char *server = sim__alloc(SERVER_TEXT);
    int number = sim_server_of(&client->port);
    server[0] = '\0';
    if (number >= 0) {
        (void)snprintf(server, SERVER_TEXT, "sim-%d:2181", number);
    }
    event->kind = kind;
    event->status = status;
    event->session_id = answer->session_id;
    event->timeout_ms = answer->timeout_ms;
    event->watches_lost = answer->watches_lost;
    event->local_address = address;
    event->server = server;
    sim__trace(client->sim, client->name, "%s", names[kind]);
    client->port.user->session(client->port.user, event);
    sim__free(server, SERVER_TEXT);
    sim__free(address, length);
    sim__free(event, sizeof(*event));
}

/* Reports why there is no connection. Reports nothing while the process is stopped or its
 * loop is busy, nor before SUSPENDED has been reported (port.h, 8). */
void sim__client_unreached(struct sim__client *client)
{
    static const struct uvzk__connect_error trouble = {UV_ECONNREFUSED, "sim:2181",
                                                       "connection refused"};
    bool awake = client->sim->now >= client->paused_until &&
                 client->sim->now >= client->stalled_until;
    if (awake && !client->closing && client->told_epoch == 0) {
        client->port.user->no_connection(client->port.user, &trouble);
    }
}

/* Reports that the client has left a diverged server (port.h, 10). */
static void tell_left(struct sim__client *client)
{
    static const struct uvzk__connect_error trouble = {
        UVZK_EDIVERGED, "sim:2181",
        "shows a znode that was deleted; the client has left it for another server"};
    if (client->leaves && !client->closing) {
        client->leaves = false;
        client->port.user->no_connection(client->port.user, &trouble);
    }
}

/* The port may end a session only after it has reported the session's end (port.h, 6). */
static void end_told_session(struct sim__client *client, int64_t id)
{
    struct sim__session *session = sim__session_find(client->sim, id);
    if (session != NULL) {
        sim__trace(client->sim, client->name, "ends its session");
        sim__session_end(client->sim, session);
    }
}

/* Reports that the handle has ended: EXPIRED, AUTH_FAILED or OPEN_FAILED. The state is
 * reset first, because the user may call open() inside the event. */
static void deliver_down(struct sim__client *client, const struct sim__answer *answer)
{
    int status = client->fail_open;
    client->end_status = 0;
    int64_t ends = client->ends_session ? client->session_id : 0;
    client->ends_session = false;
    client->io = SIM__IO_DOWN;
    client->told_epoch = 0;
    client->session_id = client->session_seen = 0;
    uvzk__port_timeout_reset(&client->port);
    client->last_zxid = 0;
    client->watches_lost = false;
    sim__client_drop_watches(client);
    if (answer->kind == SIM__OPEN_FAILED) {
        client->fail_open = 0;
        tell_session(client, UVZK__SESSION_OPEN_FAILED, answer, status);
    } else if (answer->kind == SIM__EXPIRED) {
        tell_session(client, UVZK__SESSION_EXPIRED, answer, UVZK_EEXPIRED);
    } else {
        tell_session(client, UVZK__SESSION_AUTH_FAILED, answer, UVZK_EAUTH);
    }
    if (ends != 0) {
        end_told_session(client, ends);
    }
}

static void deliver_answer(struct sim__client *client, struct sim__answer *answer)
{
    switch (answer->kind) {
    case SIM__REPLY:
        deliver_reply(client, answer);
        break;
    case SIM__WATCH_EVENT:
        deliver_event(client, answer);
        break;
    case SIM__CONNECTED:
        client->told_epoch = answer->epoch;
        client->session_seen = answer->session_id;
        tell_session(client, UVZK__SESSION_CONNECTED, answer, 0);
        break;
    case SIM__SUSPENDED:
        client->told_epoch = 0;
        fail_all(client, UVZK_ECONNLOSS);
        drop_persistent_watches(client);
        client->port.user->log(client->port.user, UVZK_LOG_WARN, "zookeeper",
                               "connection lost");
        tell_session(client, UVZK__SESSION_SUSPENDED, answer, 0);
        tell_left(client);
        break;
    default:
        deliver_down(client, answer);
        break;
    }
    sim__answer_free(answer);
}

static bool ends_handle(const struct sim__answer *answer)
{
    return answer->kind == SIM__EXPIRED || answer->kind == SIM__AUTH_FAILED ||
           answer->kind == SIM__OPEN_FAILED;
}

static void deliver_next(struct sim__client *client)
{
    struct sim__answer *answer =
        UVZK__CONTAINER_OF(client->inbox.next, struct sim__answer, packet.link);
    /* All outstanding rpcs get their replies first. The answer stays in the inbox until
     * none is left, including those that are submitted inside these replies. */
    if (client->first != NULL && ends_handle(answer)) {
        client->told_epoch = 0;
        client->end_status =
            answer->kind == SIM__AUTH_FAILED ? UVZK_EAUTH : UVZK_EEXPIRED;
        fail_all(client, client->end_status);
        deliver_failure(client);
        return;
    }
    uvzk__list_remove(&answer->packet.link);
    deliver_answer(client, answer);
}

/* The last event of a port: frees it and calls closed(). If the handle is not down yet,
 * the first call only waits for a random time, because a close takes time. */
static void deliver_closed(struct sim__client *client)
{
    struct sim *sim = client->sim;
    struct uvzk__port_user *user = client->port.user;
    if (client->io != SIM__IO_DOWN) {
        client->io = SIM__IO_DOWN;
        sim__event_set(sim, &client->deliver,
                       sim->now +
                           sim__random_between(sim, 0, 2 * client->latency_max_ms));
        return;
    }
    sim__trace(sim, client->name, "closed");
    uvzk__list_remove(&client->all);
    free(client->name);
    client->name = NULL;
    memset(&client->port, 0, sizeof(client->port)); /* whoever calls it crashes */
    if (sim->options.keeps_ports) {
        uvzk__list_append(&sim->closed_clients, &client->all);
    } else {
        sim__free(client, sizeof(*client));
    }
    user->closed(user);
}

static bool first_has_failed(const struct sim__client *client)
{
    return client->first != NULL && (client->first->port.state & RPC_MASK) == RPC_FAILED;
}

/* Delivers one reply, watch event or session event. Returns false if there is none. */
static bool deliver_one(struct sim__client *client)
{
    if (first_has_failed(client)) {
        deliver_failure(client);
    } else if (!client->closing && !uvzk__list_empty(&client->inbox)) {
        deliver_next(client);
    } else {
        return false;
    }
    return true;
}

/* As loop/ does: delivers all that has arrived by now, then runs the turn for which the
 * replies have asked. The budget ends the batch even if the callbacks go on submitting
 * rpcs that fail at once. The rest waits for the next delivery. */
static void deliver_batch(struct sim__client *client)
{
    size_t budget = client->outstanding;
    for (struct uvzk__link *at = client->inbox.next; at != &client->inbox;
         at = at->next) {
        budget++;
    }
    while (budget > 0 && deliver_one(client)) {
        budget--;
    }
    if (client->wake.place != 0) {
        sim__event_clear(client->sim, &client->wake);
        client->port.user->turn(client->port.user);
    }
}

/* With the option late_loop, an alarm that is due comes before all that has arrived. */
static void fire_late_alarm(struct sim__client *client)
{
    if (client->sim->options.late_loop && !client->closing && client->alarm.place != 0 &&
        client->alarm.at <= client->sim->now) {
        sim__event_clear(client->sim, &client->alarm);
        client->port.user->turn(client->port.user);
    }
}

static void deliver_fires(struct sim *sim, struct sim__event *event)
{
    struct sim__client *client = UVZK__CONTAINER_OF(event, struct sim__client, deliver);
    if (sim__client_held(client, event, true)) {
        return;
    }
    fire_late_alarm(client);
    if (client->closing && !first_has_failed(client)) {
        deliver_closed(client); /* may have freed the client */
        return;
    }
    if (sim->options.batches) {
        deliver_batch(client);
    } else {
        (void)deliver_one(client);
    }
    if (client->closing || !uvzk__list_empty(&client->inbox) ||
        first_has_failed(client)) {
        deliver_soon(client);
    }
}

/* ------------------------------------------------------- functions of port.h */

static void port_open(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    if (client->io != SIM__IO_DOWN || client->closing) {
        sim__misuse(client->sim, client->name, "open() while there is a handle");
    }
    sim__io_open(client);
}

/* close_soon(): nothing to do, because this loop lives as long as the simulation. */
static void port_ending(struct uvzk__port *port)
{
    (void)port;
}

static void port_close(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    struct sim *sim = client->sim;
    if (client->closing) {
        sim__misuse(sim, client->name, "close() twice");
    }
    sim__trace(sim, client->name, "close");
    client->closing = true;
    client->told_epoch = 0;
    if (client->io == SIM__IO_UP) {
        sim__io_send(client, sim__request_new(SIM__END_SESSION, NULL));
    }
    /* Requests that were sent still arrive, and after them the end of the session. */
    sim__io_close_link(client, client->io == SIM__IO_UP ? SIZE_MAX : 0);
    drop_inbox(client);
    fail_all(client, UVZK_ECLOSED);
    sim__client_drop_watches(client);
    sim__event_clear(sim, &client->alarm);
    sim__event_clear(sim, &client->wake);
    sim__event_set(sim, &client->deliver, sim->now);
}

/* The C client takes no more in a multi than this. */
static void check_multi(struct sim__client *client, const struct uvzk__rpc *rpc)
{
    for (size_t i = 0; i < rpc->op_count; i++) {
        const struct uvzk__op *op = &rpc->ops[i];
        if (!sim__path_valid(op->path, false)) {
            sim__misuse(client->sim, client->name, "a malformed path in a multi");
        }
        if (op->kind == UVZK__OP_CREATE &&
            (op->mode == UVZK__CONTAINER || op->mode > UVZK__PERSISTENT_SEQUENTIAL)) {
            sim__misuse(client->sim, client->name, "a mode that a multi does not take");
        }
    }
}

static void port_submit(struct uvzk__port *port, struct uvzk__rpc *rpc)
{
    struct sim__client *client = sim__client_of(port);
    /* down: the loop knows of no connection. Neither down nor reachable: the connection
     * is lost, but the loop does not know that yet. */
    bool down = client->told_epoch == 0;
    bool reachable =
        !down && client->io == SIM__IO_UP && client->told_epoch == client->epoch;
    bool refused = rpc->refused != 0; /* port.h, 17 */
    uint32_t state = down || refused ? RPC_FAILED : reachable ? RPC_SENT : RPC_UNSENT;
    if (rpc->port.port != NULL && rpc->port.port == port) {
        sim__misuse(client->sim, client->name, "an rpc submitted while outstanding");
    }
    if (rpc->kind == UVZK__RPC_MULTI) {
        check_multi(client, rpc);
    }
    rpc->port.answer = NULL;
    rpc->port.state = fingerprint(rpc) | state;
    rpc->port.status = client->closing           ? UVZK_ECLOSED
                       : client->end_status != 0 ? client->end_status
                       : refused && !down        ? rpc->refused
                                                 : UVZK_ENOTSENT;
    append(client, rpc);
    if (rpc->watch != NULL && !client->closing) {
        watch_new(client, rpc);
    }
    sim__trace(client->sim, client->name, "%s %s%s%s", sim__request_name(rpc->kind),
               rpc->kind == UVZK__RPC_MULTI ? "" : rpc->path,
               rpc->watch != NULL ? ", watched" : "",
               reachable && !refused ? "" : " (not sent)");
    if (reachable && !refused) {
        client->unanswered++;
        sim__io_send(client, sim__request_of(rpc));
    } else if (down || refused) {
        deliver_soon(client);
    }
}

static void port_unwatch(struct uvzk__port *port, struct uvzk__watch *user)
{
    struct sim__client *client = sim__client_of(port);
    struct sim__client_watch *watch = user->armed;
    if (watch == NULL) {
        return;
    }
    if (client->io == SIM__IO_UP && !watch->fired && !client->sim->options.no_removal) {
        struct sim__request *request = sim__request_new(SIM__REMOVE_WATCH, NULL);
        request->watch_id = watch->id;
        sim__io_send(client, request);
    }
    watch_free(client, watch);
}

static void alarm_fires(struct sim *sim, struct sim__event *event)
{
    struct sim__client *client = UVZK__CONTAINER_OF(event, struct sim__client, alarm);
    (void)sim;
    if (!sim__client_held(client, event, true)) {
        client->port.user->turn(client->port.user);
    }
}

/* In loop/ one wake-up serves turns and answers, and the answers come first. So if
 * answers are due, the event is set again, and deliver_batch() runs the turn. */
static void wake_fires(struct sim *sim, struct sim__event *event)
{
    struct sim__client *client = UVZK__CONTAINER_OF(event, struct sim__client, wake);
    if (sim__client_held(client, event, true)) {
        return;
    }
    if (sim->options.batches && client->deliver.place != 0) {
        sim__event_set(sim, event, sim->now);
        deliver_batch(client);
    } else {
        client->port.user->turn(client->port.user);
    }
}

/* There is one alarm; a new one replaces it. */
static void port_alarm(struct uvzk__port *port, uint64_t at_ms)
{
    struct sim__client *client = sim__client_of(port);
    struct sim *sim = client->sim;
    if (client->closing) {
        return;
    }
    client->alarm_ms = at_ms;
    if (at_ms != SIM__NEVER) {
        uint64_t late = sim__random_between(sim, 0, sim->options.alarm_late_max_ms);
        at_ms = sim__client_when(client, at_ms) + late;
    }
    sim__event_set(sim, &client->alarm, at_ms);
}

/* Has no effect if the session is connected by now (port.h, 6). */
static void port_abandon(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    if (client->io == SIM__IO_CONNECTING || client->io == SIM__IO_HANDSHAKE) {
        sim__trace(client->sim, client->name, "abandoned");
        sim__io_abandon(client);
    }
}

/* What was submitted is replied to with EEXPIRED before the event. The server ends the
 * session after the event (deliver_down). */
static void port_end_session(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    if (client->io != SIM__IO_DOWN && client->io != SIM__IO_DEAD) {
        sim__trace(client->sim, client->name, "ends the session");
        client->ends_session = client->io == SIM__IO_UP;
        sim__io_abandon(client);
    }
}

/* The session continues on a new handle, which has no watches. */
static void port_leave(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    if (client->io == SIM__IO_UP && client->told_epoch == client->epoch) {
        sim__trace(client->sim, client->name, "leaves server %zu",
                   client->link->member->number);
        client->leaves = true;
        client->replace_handle = true;
        client->left = client->link->member;
        sim__io_lost(client, SIZE_MAX);
    }
}

/* A wake-up that is due stays where it is among the events of this moment, as in loop/. */
static void port_wake(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    bool is_due = client->wake.place != 0 && client->wake.at <= client->sim->now;

    if (!client->closing && !is_due) {
        sim__event_set(client->sim, &client->wake, client->sim->now);
    }
}

static uint64_t port_now(struct uvzk__port *port)
{
    return sim_clock(port);
}

static int port_random(struct uvzk__port *port, void *bytes, size_t length)
{
    struct sim__client *client = sim__client_of(port);
    unsigned char *out = bytes;
    bool fails = sim__random_hit(client->sim, client->sim->faults.random_fails);
    if (client->fail_random > 0 && --client->fail_random == 0) {
        fails = true;
    }
    if (fails) {
        return UV_EIO;
    }
    while (length > 0) {
        uint64_t word = sim__random_word(client->sim);
        size_t part = length < sizeof(word) ? length : sizeof(word);
        memcpy(out, &word, part);
        out += part;
        length -= part;
    }
    return 0;
}

struct uvzk__port *sim_port_new(struct sim *sim, const char *name)
{
    struct sim__client *client = sim__alloc(sizeof(*client));
    client->port = (struct uvzk__port){.open = port_open,
                                       .abandon = port_abandon,
                                       .leave_server = port_leave,
                                       .end_session = port_end_session,
                                       .close_soon = port_ending,
                                       .close = port_close,
                                       .submit = port_submit,
                                       .unwatch = port_unwatch,
                                       .alarm = port_alarm,
                                       .wake = port_wake,
                                       .now = port_now,
                                       .random = port_random};
    client->sim = sim;
    client->process = ++sim->processes;
    client->name = sim__copy(name, strlen(name) + 1);
    client->server = -1;
    client->asked_ms = sim->options.session_timeout_ms;
    client->latency_min_ms = sim->options.latency_min_ms;
    client->latency_max_ms = sim->options.latency_max_ms;
    client->clock_ms = client->clock_set_at = sim->now;
    client->clock_rate = 1000000;
    if (sim->options.clock_drift_ppm > 0) {
        uint64_t most = sim->options.clock_drift_ppm;
        client->clock_rate += (int64_t)sim_random(sim, 2 * most + 1) - (int64_t)most;
    }
    client->deliver.fire = deliver_fires;
    client->alarm.fire = alarm_fires;
    client->wake.fire = wake_fires;
    sim__io_init(client);
    uvzk__list_init(&client->inbox);
    uvzk__list_init(&client->all);
    uvzk__list_append(&sim->clients, &client->all);
    return &client->port;
}

struct uvzk__port *sim_port_beside(const struct uvzk__port *port)
{
    const struct sim__client *client =
        sim__client_of((struct uvzk__port *)(uintptr_t)port);
    struct uvzk__port *other = sim_port_new(client->sim, client->name);
    sim__client_of(other)->process = client->process;
    sim__client_set_clock(sim__client_of(other), sim_clock(port), client->clock_rate);
    return other;
}

bool sim_has_ports(const struct sim *sim)
{
    return !uvzk__list_empty(&sim->clients);
}
