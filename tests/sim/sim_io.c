/* SPDX-License-Identifier: Apache-2.0 */
/* The client's I/O thread, as the C client has one: it connects, writes, pings and reads,
 * and puts into the loop's inbox what the loop has to know. sim_port.c calls it for
 * open() and to send requests, sim_link.c when an answer arrives, and sim_faults.c when a
 * connection is lost. Its state is client->io:
 *
 *   DOWN --open--> OPENING --> CONNECTING --attempt--> HANDSHAKE --CONNECTED--> UP
 *    ^                |          ^      ^                |  |                 |  |
 *    |                |          |      +-----lost-------+  |                 |  |
 *    |                |          +------lost: SUSPENDED-----|-----------------+  |
 *    |           OPEN_FAILED                                |                    |
 *    |                v                     EXPIRED,        v                    v
 *    +--reported--- DEAD <---------------- AUTH_FAILED ----+--------------------+ */
#include "sim_internal.h"

#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------- I/O: writing */

void sim__io_send(struct sim__client *client, struct sim__request *request)
{
    client->sent = client->sim->now;
    sim__link_send_up(client->sim, client->link, request);
}

struct sim__request *sim__request_new(uint32_t kind, const char *path)
{
    size_t length = path != NULL ? strlen(path) + 1 : 0;
    struct sim__request *request = sim__alloc(sizeof(*request) + length);
    uvzk__list_init(&request->packet.link);
    request->kind = kind;
    if (path != NULL) {
        request->path = memcpy(request + 1, path, length);
    }
    return request;
}

/* The size of one block for the request and all that it points to. */
static size_t rpc_size(const struct uvzk__rpc *rpc)
{
    size_t size = sizeof(struct sim__request);
    size_t ops = rpc->kind == UVZK__RPC_MULTI ? rpc->op_count : 1;
    size += ops * sizeof(struct uvzk__op);
    if (rpc->kind != UVZK__RPC_MULTI) {
        return size + strlen(rpc->path) + 1 + rpc->data_length;
    }
    for (size_t i = 0; i < ops; i++) {
        size += strlen(rpc->ops[i].path) + 1 + rpc->ops[i].data_length;
    }
    return size;
}

/* Copies path and data to *room. An ACL is replaced by a static one: for the simulator it
 * only matters whether the ACL gives READ. */
static void copy_op(struct uvzk__op *to, const struct uvzk__op *from, char **room)
{
    static const uvzk_acl_t entries[] = {{UVZK_PERM_ALL, "world", "anyone"},
                                         {UVZK_PERM_WRITE, "world", "anyone"}};
    static const struct uvzk__acl with_read = {&entries[0], 1};
    static const struct uvzk__acl without_read = {&entries[1], 1};
    static const struct uvzk__acl empty = {NULL, 0};
    size_t length = strlen(from->path) + 1;
    *to = *from;
    to->path = memcpy(*room, from->path, length);
    *room += length;
    if (from->data_length > 0) {
        to->data = memcpy(*room, from->data, from->data_length);
        *room += from->data_length;
    }
    if (to->acl != NULL) {
        to->acl = to->acl->count == 0             ? &empty
                  : sim__acl_grants_read(to->acl) ? &with_read
                                                  : &without_read;
    }
}

static size_t acl_bytes(const struct uvzk__acl *acl)
{
    size_t bytes = 4;
    for (size_t i = 0; acl != NULL && i < acl->count; i++) {
        bytes += 4 + 4 + strlen(acl->entries[i].scheme) + 4 + strlen(acl->entries[i].id);
    }
    return bytes;
}

/* A path, and what follows it in a request of this kind. */
static size_t body_bytes(bool creates, bool sets, const char *path, size_t data_length,
                         const struct uvzk__acl *acl)
{
    size_t bytes = 4 + strlen(path) + 4; /* a version or a mode */
    if (creates || sets) {
        bytes += 4 + data_length;
    }
    return creates ? bytes + acl_bytes(acl) : bytes;
}

/* The length of the rpc's frame, as a server compares it with jute.maxbuffer. */
static size_t frame_bytes(const struct uvzk__rpc *rpc)
{
    size_t bytes = 4 + 4; /* xid, opcode */
    if (rpc->kind != UVZK__RPC_MULTI) {
        bytes += body_bytes(rpc->kind == UVZK__RPC_CREATE, rpc->kind == UVZK__RPC_SET,
                            rpc->path, rpc->data_length, rpc->acl);
        return rpc->kind == UVZK__RPC_SYNC ? bytes - 4
               : rpc->kind == UVZK__RPC_GET || rpc->kind == UVZK__RPC_EXISTS ||
                       rpc->kind == UVZK__RPC_CHILDREN
                   ? bytes - 3 /* a boolean instead of a version */
                   : bytes;
    }
    for (size_t i = 0; i < rpc->op_count; i++) {
        const struct uvzk__op *op = &rpc->ops[i];
        bytes += 9 + body_bytes(op->kind == UVZK__OP_CREATE, op->kind == UVZK__OP_SET,
                                op->path, op->data_length, op->acl);
    }
    return bytes + 9;
}

struct sim__request *sim__request_of(const struct uvzk__rpc *rpc)
{
    static const uint8_t op_kinds[] = {[UVZK__RPC_CREATE] = UVZK__OP_CREATE,
                                       [UVZK__RPC_DELETE] = UVZK__OP_DELETE,
                                       [UVZK__RPC_SET] = UVZK__OP_SET};
    bool create = rpc->kind == UVZK__RPC_CREATE, set = rpc->kind == UVZK__RPC_SET;
    bool write = create || set || rpc->kind == UVZK__RPC_DELETE;
    struct uvzk__op single = {.kind = write ? op_kinds[rpc->kind] : UVZK__OP_CHECK,
                              .mode = rpc->mode,
                              .version = rpc->version,
                              .path = rpc->path,
                              .data = create || set ? rpc->data : NULL,
                              .data_length = create || set ? rpc->data_length : 0,
                              .acl = create ? rpc->acl : NULL};
    bool multi = rpc->kind == UVZK__RPC_MULTI;
    struct sim__request *request = sim__alloc(rpc_size(rpc));
    uvzk__list_init(&request->packet.link);
    request->kind = rpc->kind;
    request->mode = rpc->mode;
    request->ops = (struct uvzk__op *)(void *)(request + 1);
    request->op_count = multi ? rpc->op_count : 1;
    request->bytes = frame_bytes(rpc);
    char *room = (char *)(request->ops + request->op_count);
    for (size_t i = 0; i < request->op_count; i++) {
        copy_op(&request->ops[i], multi ? &rpc->ops[i] : &single, &room);
    }
    request->path = multi ? NULL : request->ops[0].path;
    const struct sim__client_watch *watch = rpc->port.answer;
    if (watch != NULL) {
        request->watch_id = watch->id;
        request->watch_kind = watch->kind;
    }
    return request;
}

static void send_ping(struct sim *sim, struct sim__event *event)
{
    struct sim__client *client = UVZK__CONTAINER_OF(event, struct sim__client, ping);
    if (sim__client_held(client, event, false)) {
        return;
    }
    uint64_t due = client->sent + client->timeout_ms / 3;
    if (sim->now >= due) {
        if (client->unanswered > 0) {
            return; /* read_reply() sets the event again */
        }
        sim__io_send(client, sim__request_new(SIM__PING, NULL));
        due = sim->now + client->timeout_ms / 3;
    }
    sim__event_set(sim, event, due);
}

/* Requests one watch again after a reconnect. */
static void send_watch(struct sim__client *client, const struct sim__client_watch *watch)
{
    struct sim__request *request = sim__request_new(SIM__REWATCH, watch->path);
    request->watch_id = watch->id;
    request->watch_kind = watch->kind;
    request->seen_zxid = client->last_zxid;
    sim__io_send(client, request);
}

/* The SetWatches of the C client, as one message for each watch. They are sent directly
 * after CONNECTED was read, so before any request of the user. */
static void send_watches(struct sim__client *client)
{
    size_t count = 0, room = HASH_CNT(hh_id, client->by_id);
    struct sim__client_watch **watches =
        sim__alloc(room * sizeof(struct sim__client_watch *));
    struct sim__client_watch *watch, *next;
    HASH_ITER(hh_id, client->by_id, watch, next)
    {
        if (watch->armed && !watch->fired && watch->kind != SIM__WATCH_PERSISTENT) {
            watches[count++] = watch;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (client->sim->options.shuffle_rewatches) {
            size_t other = i + (size_t)sim_random(client->sim, count - i);
            watch = watches[other];
            watches[other] = watches[i];
            watches[i] = watch;
        }
        send_watch(client, watches[i]);
    }
    free(watches);
}

/* ---------------------------------------------------------- I/O: connecting */

#define OPENING_MS 2      /* how long open() takes at most, to resolve addresses */
#define FIRST_RETRY_MS 20 /* the longest pause after the connection was lost */
#define RETRY_MS 100      /* after a failed attempt: between this and T/60 */

static void retry_within(struct sim__client *client, uint64_t low, uint64_t high)
{
    client->io = SIM__IO_CONNECTING;
    sim__event_set(client->sim, &client->connect,
                   client->sim->now + sim__random_between(client->sim, low, high));
}

static void retry_later(struct sim__client *client)
{
    uint64_t pause = client->timeout_ms / 60;
    retry_within(client, pause < RETRY_MS ? pause + 1 : RETRY_MS,
                 pause < RETRY_MS ? RETRY_MS : pause);
}

/* Replaces the handle if that is wanted and possible. Returns whether opening the new one
 * takes time, so that the attempt to connect comes later. */
static bool replace_handle(struct sim__client *client)
{
    uint64_t most = client->sim->options.late_open_max_ms;
    if (!client->replace_handle || !sim__client_is_lost(client)) {
        return false;
    }
    sim__trace(client->sim, client->name, "a new handle goes on with its session");
    client->replace_handle = false;
    client->watches_lost = true;
    client->last_zxid = 0; /* a new handle has read nothing */
    sim__client_drop_watches(client);
    if (most > 0) {
        retry_within(client, 0, most);
    }
    return most > 0;
}

/* Tries to connect to one server. */
static void attempt(struct sim *sim, struct sim__client *client)
{
    if (replace_handle(client)) {
        return;
    }
    struct sim__member *member = sim__member_pick(sim, client);
    if (sim->now < client->cut_until || !sim__member_up(sim, member)) {
        retry_later(client);
        sim__client_unreached(client);
        return;
    }
    struct sim__request *request = sim__request_new(SIM__CONNECT, NULL);
    request->session_id = client->session_id;
    request->timeout_ms = client->asked_ms;
    request->seen_zxid = client->last_zxid;
    client->io = SIM__IO_HANDSHAKE;
    client->link = sim__link_new(sim, client, member);
    client->heard = sim->now;
    sim__event_set(sim, &client->timeout,
                   sim->now + client->timeout_ms * UINT64_C(2) / 3);
    sim__io_send(client, request);
}

static void connect_fires(struct sim *sim, struct sim__event *event)
{
    struct sim__client *client = UVZK__CONTAINER_OF(event, struct sim__client, connect);
    if (sim__client_held(client, event, false)) {
        return;
    }
    if (client->io == SIM__IO_OPENING && client->fail_open != 0) {
        client->io = SIM__IO_DEAD;
        sim__client_push(client, sim__answer_new(SIM__OPEN_FAILED));
        return;
    }
    attempt(sim, client);
}

void sim__io_close_link(struct sim__client *client, size_t keep)
{
    struct sim__link *link = client->link;
    client->link = NULL;
    client->unanswered = 0;
    sim__event_clear(client->sim, &client->connect);
    sim__event_clear(client->sim, &client->ping);
    sim__event_clear(client->sim, &client->timeout);
    if (link != NULL) {
        sim__link_close_client(client->sim, link, keep);
    }
}

void sim__io_abandon(struct sim__client *client)
{
    sim__io_close_link(client, 0);
    client->io = SIM__IO_DEAD;
    sim__client_push(client, sim__answer_new(SIM__EXPIRED));
}

void sim__io_lost(struct sim__client *client, size_t keep)
{
    bool was_up = client->io == SIM__IO_UP;
    sim__io_close_link(client, keep);
    retry_within(client, 1, FIRST_RETRY_MS);
    if (was_up) {
        sim__trace(client->sim, client->name, "connection lost");
        sim__client_push(client, sim__answer_new(SIM__SUSPENDED));
    }
}

static void timeout_fires(struct sim *sim, struct sim__event *event)
{
    struct sim__client *client = UVZK__CONTAINER_OF(event, struct sim__client, timeout);
    /* The C client gives up a connection on which it has read nothing for 2T/3. */
    uint64_t due = client->heard + client->timeout_ms * UINT64_C(2) / 3;
    if (sim__client_held(client, event, false)) {
        return;
    }
    if (sim->now < due) {
        sim__event_set(sim, event, due);
        return;
    }
    /* Some of the requests on their way may still arrive. */
    size_t under_way = sim__queue_length(&client->link->up);
    sim__io_lost(client, (size_t)sim_random(sim, under_way + 1));
}

/* -------------------------------------------------------------- I/O: reading */

#define EVENT_LAG_MS 1000 /* at most, until other servers apply an event's change */

/* The old handle connects while it is being closed: the server knows of the connection,
 * but no event reports it. The next attempt uses a new handle. */
static void leave_unheard(struct sim__client *client, struct sim__answer *answer)
{
    sim__trace(client->sim, client->name, "is connected, and hangs up unheard");
    sim__answer_free(answer);
    client->connects_unreported = false;
    client->replace_handle = true;
    client->port.wake(&client->port); /* the granted timeout may be less: port.h, 12 */
    sim__io_close_link(client, 0);
    retry_within(client, 1, FIRST_RETRY_MS);
}

static void read_connected(struct sim__client *client, struct sim__answer *answer)
{
    /* Before CONNECTED is reported, and even if it never is (port.h, 12). */
    uvzk__port_timeout_granted(&client->port, answer->timeout_ms);
    sim__session_told(client->sim, client, answer->session_id, answer->timeout_ms);
    if (client->connects_unreported && sim__client_is_lost(client)) {
        leave_unheard(client, answer);
        return;
    }
    client->io = SIM__IO_UP;
    client->epoch++;
    client->session_id = answer->session_id;
    client->timeout_ms = answer->timeout_ms;
    answer->epoch = client->epoch;
    answer->watches_lost = client->watches_lost;
    client->watches_lost = false;
    send_watches(client);
    sim__event_set(client->sim, &client->ping, client->sent + client->timeout_ms / 3);
    sim__client_push(client, answer);
}

/* Returns true if the client does not read so long a reply. */
static bool is_too_long(const struct sim__client *client,
                        const struct sim__answer *answer)
{
    size_t bytes = answer->reply->data_length;
    for (size_t i = 0; i < answer->reply->name_count; i++) {
        bytes += 4 + strlen(answer->reply->names[i]);
    }
    return client->sim->options.client_maxbuffer != 0 &&
           bytes > client->sim->options.client_maxbuffer;
}

static void read_reply(struct sim__client *client, struct sim__answer *answer)
{
    if (is_too_long(client, answer)) {
        sim__trace(client->sim, client->name, "a reply is too long");
        sim__answer_free(answer);
        sim__io_lost(client, SIZE_MAX);
        return;
    }
    struct sim__client_watch *watch = sim__client_watch_find(client, answer->watch_id);
    client->last_zxid = answer->zxid;
    client->unanswered--;
    if (client->unanswered == 0 && client->ping.place == 0) {
        sim__event_set(client->sim, &client->ping, client->sent + client->timeout_ms / 3);
    }
    if (watch != NULL) {
        /* exists on a missing znode: after a reconnect it waits for the create. */
        bool missing = answer->reply->status == UVZK_ENONODE;
        watch->armed = true;
        watch->kind = missing ? (uint32_t)SIM__WATCH_EXIST : watch->kind;
    }
    sim__client_push(client, answer);
}

bool sim__io_loses_event(struct sim *sim, const struct sim__member *member)
{
    if (!sim__random_hit(sim, sim->faults.move_at_event)) {
        return false;
    }
    for (size_t i = 0; i < sim->server.member_count; i++) {
        if (&sim->server.members[i] != member) {
            sim_lag(sim, (int)i, sim_random(sim, EVENT_LAG_MS));
        }
    }
    return true;
}

static void read_event(struct sim__client *client, struct sim__answer *answer)
{
    struct sim__client_watch *watch = sim__client_watch_find(client, answer->watch_id);
    if (watch == NULL) { /* unwatch() was called meanwhile */
        sim__answer_free(answer);
        return;
    }
    watch->fired = watch->kind != SIM__WATCH_PERSISTENT;
    sim__client_push(client, answer);
    if (sim__io_loses_event(client->sim, client->link->member)) {
        sim_move(&client->port);
    }
}

void sim__io_read(struct sim__client *client, struct sim__answer *answer)
{
    if (sim__client_is_outside(client)) {
        client->outside(client, answer);
        return;
    }
    client->heard = client->sim->now;
    switch (answer->kind) {
    case SIM__CONNECTED:
        read_connected(client, answer);
        break;
    case SIM__REPLY:
        read_reply(client, answer);
        break;
    case SIM__WATCH_EVENT:
        read_event(client, answer);
        break;
    case SIM__EXPIRED:
    case SIM__AUTH_FAILED:
        sim__io_close_link(client, 0);
        client->io = SIM__IO_DEAD;
        sim__client_push(client, answer);
        break;
    case SIM__PONG:
        client->last_zxid = answer->zxid;
        sim__answer_free(answer);
        break;
    default: /* SIM__END */
        sim__answer_free(answer);
        sim__io_lost(client, 0);
        break;
    }
}

/* ---------------------------------------------------------------- beginning */

void sim__io_init(struct sim__client *client)
{
    client->connect.fire = connect_fires;
    client->ping.fire = send_ping;
    client->timeout.fire = timeout_fires;
}

void sim__io_open(struct sim__client *client)
{
    client->io = SIM__IO_OPENING;
    client->timeout_ms = client->asked_ms;
    sim__event_set(client->sim, &client->connect,
                   client->sim->now + sim_random(client->sim, OPENING_MS + 1));
}
