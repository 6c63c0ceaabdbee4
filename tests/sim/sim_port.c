/* The client's loop: port.h over a simulated connection.
 *
 *   the I/O thread (sim_io.c) ── inbox ──► one delivery an event: a reply, a
 *                                          watch, a session event; or, with
 *                                          options.batches, all of them
 *
 * The user's view (told_epoch) lags behind the I/O's (io, epoch). A request is
 * sent only when both mean the same connection; so what is outstanding when
 * SUSPENDED is told can be replied at once, before the next CONNECTED. What has
 * failed is at the head of the outstanding, and is delivered before the inbox. */
#include "sim_internal.h"

#include <stdlib.h>
#include <string.h>

/* rpc->port.state: what becomes of it, and a fingerprint of what it points to. */
enum {
    RPC_SENT = 1,
    RPC_UNSENT = 2, /* the connection was lost, which the user is yet to hear */
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

static void watch_new(struct sim__client *client, struct uvzk__rpc *rpc)
{
    static const uint8_t kinds[] = {[UVZK__RPC_GET] = SIM__WATCH_DATA + 1,
                                    [UVZK__RPC_EXISTS] = SIM__WATCH_DATA + 1,
                                    [UVZK__RPC_CHILDREN] = SIM__WATCH_CHILD + 1};
    struct sim__client_watch *watch = NULL;
    size_t length = strlen(rpc->path);
    if (rpc->kind >= sizeof(kinds) || kinds[rpc->kind] == 0) {
        sim__misuse(client->sim, client->name, "this kind of rpc arms no watch");
    }
    if (rpc->watch->armed != NULL) {
        sim__misuse(client->sim, client->name, "the watch is armed already");
    }
    HASH_FIND(hh_path, client->by_path, rpc->path, (unsigned)length, watch);
    if (watch != NULL) {
        sim__misuse(client->sim, client->name, "two watches on one path");
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

/* The user's watch is not touched afterwards. */
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

/* --------------------------------------------------- the loop: outstanding */

/* FNV-1a of the bytes the caller must keep; reading them lets the address
 * sanitizer see it if they were freed. The low bits are left for the state. */
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

/* The first one, off the list, and what was being armed with it. */
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

/* What has failed already keeps its status. */
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
    if (watch == NULL) {
        return;
    }
    struct uvzk__watch *user = watch->watch;
    sim__trace(client->sim, client->name, "watch %s: %s", watch->path,
               names[answer->watch_event]);
    watch_free(client, watch);
    user->watch_cb(user, (enum uvzk__watch_event)answer->watch_event);
}

static void tell_session(struct sim__client *client, enum uvzk__session_event_kind kind,
                         const struct sim__answer *answer, int status)
{
    static const char *const names[] = {"CONNECTED", "SUSPENDED", "EXPIRED",
                                        "AUTH_FAILED", "OPEN_FAILED"};
    struct uvzk__session_event *event = sim__alloc(sizeof(*event));
    size_t length = strlen(client->name) + 1;
    char *address = sim__copy(client->name, length);
    event->kind = kind;
    event->status = status;
    event->session_id = answer->session_id;
    event->timeout_ms = answer->timeout_ms;
    event->watches_lost = answer->watches_lost;
    event->local_address = address;
    sim__trace(client->sim, client->name, "%s", names[kind]);
    client->port.user->session(client->port.user, event);
    sim__free(address, length);
    sim__free(event, sizeof(*event));
}

/* The user is told nothing while he is stopped, and not before he has been told that the
 * connection is lost. */
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

static void tell_left(struct sim__client *client)
{
    static const struct uvzk__connect_error trouble = {
        UVZK_EDIVERGED, "sim:2181",
        "shows a znode that was deleted: left for another server"};
    if (client->leaves && !client->closing) {
        client->leaves = false;
        client->port.user->no_connection(client->port.user, &trouble);
    }
}

/* The request to end it leaves when the user has been told. */
static void end_told_session(struct sim__client *client, int64_t id)
{
    struct sim__session *session = sim__session_find(client->sim, id);
    if (session != NULL) {
        sim__trace(client->sim, client->name, "ends its session");
        sim__session_end(client->sim, session);
    }
}

static void deliver_down(struct sim__client *client, const struct sim__answer *answer)
{
    int status = client->fail_open;
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
    if (client->first != NULL && ends_handle(answer)) { /* these are replied first */
        client->told_epoch = 0;
        fail_all(client, answer->kind == SIM__AUTH_FAILED ? UVZK_EAUTH : UVZK_EEXPIRED);
        deliver_failure(client);
        return;
    }
    uvzk__list_remove(&answer->packet.link);
    deliver_answer(client, answer);
}

/* The last event of a port; the first time it only lets the close take time. */
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
    sim__free(client, sizeof(*client));
    user->closed(user);
}

static bool first_has_failed(const struct sim__client *client)
{
    return client->first != NULL && (client->first->port.state & RPC_MASK) == RPC_FAILED;
}

/* One reply, watch or session event; false: there is none. */
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

/* As loop/ does: all that has arrived by now, then the turn that the replies have asked
 * for. What fails while it is delivered waits for the next time. */
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

/* Before what has arrived, and what it makes of the world. */
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
        deliver_closed(client); /* may have freed it */
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

/* -------------------------------------------------------- what port.h offers */

static void port_open(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    if (client->io != SIM__IO_DOWN || client->closing) {
        sim__misuse(client->sim, client->name, "open() while there is a handle");
    }
    sim__io_open(client);
}

/* This loop lives as long as the simulation. */
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
    sim__io_close_link(client, client->io == SIM__IO_UP ? SIZE_MAX : 0);
    drop_inbox(client);
    fail_all(client, UVZK_ECLOSED);
    sim__client_drop_watches(client);
    sim__event_clear(sim, &client->alarm);
    sim__event_clear(sim, &client->wake);
    sim__event_set(sim, &client->deliver, sim->now);
}

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
    bool down = client->told_epoch == 0;
    bool reachable =
        !down && client->io == SIM__IO_UP && client->told_epoch == client->epoch;
    uint32_t state = down ? RPC_FAILED : reachable ? RPC_SENT : RPC_UNSENT;
    if (rpc->port.port != NULL && rpc->port.port == port) {
        sim__misuse(client->sim, client->name, "an rpc submitted while outstanding");
    }
    if (rpc->kind == UVZK__RPC_MULTI) {
        check_multi(client, rpc);
    }
    rpc->port.answer = NULL;
    rpc->port.state = fingerprint(rpc) | state;
    rpc->port.status = client->closing ? UVZK_ECLOSED : UVZK_ENOTSENT;
    append(client, rpc);
    if (rpc->watch != NULL && !client->closing) {
        watch_new(client, rpc);
    }
    sim__trace(client->sim, client->name, "%s %s%s%s", sim__request_name(rpc->kind),
               rpc->kind == UVZK__RPC_MULTI ? "" : rpc->path,
               rpc->watch != NULL ? ", watched" : "", reachable ? "" : " (not sent)");
    if (reachable) {
        client->unanswered++;
        sim__io_send(client, sim__request_of(rpc));
    } else if (down) {
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
    if (client->io == SIM__IO_UP && !watch->fired) {
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

/* In loop/ it is the same wake-up as that of the answers: those come first. */
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

static void port_abandon(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    if (client->io == SIM__IO_CONNECTING || client->io == SIM__IO_HANDSHAKE) {
        sim__trace(client->sim, client->name, "abandoned");
        sim__io_abandon(client);
    }
}

/* Its successor on the session is a new handle, which has no watches. */
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

static void port_wake(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    if (!client->closing) {
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
