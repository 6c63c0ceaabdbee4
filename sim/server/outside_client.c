/* SPDX-License-Identifier: Apache-2.0 */
/* Translates between the frames of a client and the messages of the simulation
 * (outside_client.h).
 *
 * The one idea: the simulation answers in order, so a queue of what was asked (struct
 * asked) is enough to read each of its answers. What the simulation has no request for,
 * such as credentials, asks for an exists of "/", whose answer comes in its place.
 * Watches are in outside_watches.c. */
#include "outside_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outside_watches.h"
#include "sim_internal.h"
#include "wire_codes.h"

#include "native/wire_reply.h"
#include "native/wire_request.h"

#define PASSWORD_BYTES 16U

/* A multi with more ops closes the connection. */
#define OPS_MAX 10000U

enum { CODE_UNIMPLEMENTED = -6, CODE_RUNTIME_INCONSISTENCY = -2, CODE_NO_WATCHER = -121 };

/* What ADD_WATCH asks for; the answer to other modes, as from ZooKeeper 3.8. */
enum { PERSISTENT = 0, PERSISTENT_RECURSIVE = 1, CODE_MARSHALLING = -5 };

/* The watches that a path may have at once. */
static const char removable[] = {OUTSIDE_CHILD, OUTSIDE_DATA, OUTSIDE_PERSISTENT};
#define REMOVABLE (sizeof(removable) / sizeof(removable[0]))

/* A request that the simulation has not answered yet. */
struct asked {
    struct uvzk__link link;
    int32_t xid, opcode;
    bool carried; /* by an exists of "/" */
    size_t op_count;
    int32_t *op_kinds;   /* opcodes of a multi's ops; owned */
    uint64_t watch_id;   /* of the watch that it arms; 0: none */
    char watch_kind;     /* of that watch */
    int32_t err;         /* carried: what the server says */
    int32_t watch_kinds; /* that it removes or checks, see outside_watch_is_of */
    char *path;          /* of its watch; owned; NULL: none */
};

struct outside_client {
    struct sim__client client; /* first */
    const struct outside_settings *settings;
    const struct outside_client_user *user;
    void *context;
    struct sim__link *link; /* NULL: the server has closed the connection */
    bool greeted, has_read_only, closes;
    int64_t session_id; /* 0: none has been granted */
    int32_t close_xid;
    struct uvzk__link asked;
    struct outside_watches watches;
    struct uvzk__jute_writer out;
    int32_t lose_opcode; /* of the reply to lose; 0: any */
    unsigned lose_skips; /* so many before it */
    bool lose_armed;
};

static struct outside_client *client_of(struct sim__client *client)
{
    return (struct outside_client *)(void *)client;
}

/* ---------------------------------------------------------------------------- sending */

static void hang_up(struct outside_client *client)
{
    struct sim__link *link = client->link;

    client->link = NULL;
    if (link != NULL) {
        sim__link_close_client(client->client.sim, link, SIZE_MAX);
        client->user->hang_up(client->context);
    }
}

static void send_out(struct outside_client *client)
{
    client->user->send(client->context, client->out.bytes, client->out.length);
    uvzk__jute_writer_clear(&client->out);
}

static void send_reply(struct outside_client *client,
                       const struct uvzk__wire_reply *reply)
{
    if (uvzk__wire_reply_write(&client->out, SIZE_MAX, reply) != 0) {
        hang_up(client);
        return;
    }
    send_out(client);
}

static int64_t zxid_of(const struct outside_client *client)
{
    return client->link->member->tree->zxid;
}

/* ------------------------------------------------------------------------ the session */

static uint64_t mixed(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* The servers can compute it, so that they need not keep it. */
static void password_of(int64_t session_id, unsigned char password[PASSWORD_BYTES])
{
    uint64_t halves[] = {mixed((uint64_t)session_id + 1), mixed(~(uint64_t)session_id)};

    memcpy(password, halves, PASSWORD_BYTES);
}

static void send_connect_response(struct outside_client *client, int64_t session_id,
                                  uint32_t timeout_ms)
{
    unsigned char password[PASSWORD_BYTES] = {0};
    struct uvzk__connect_response response = {
        .timeout_ms = (int32_t)timeout_ms,
        .session_id = session_id,
        .password = uvzk__jute_bytes(password, sizeof(password)),
        .has_read_only = client->has_read_only};

    if (session_id != 0) {
        password_of(session_id, password);
    }
    if (uvzk__connect_response_write(&client->out, SIZE_MAX, &response) == 0) {
        send_out(client);
    }
}

static uint32_t granted_timeout(const struct outside_client *client, int32_t asked_ms)
{
    const struct outside_settings *settings = client->settings;
    uint32_t tick_ms = client->client.sim->options.tick_ms;
    uint32_t least =
        settings->min_session_ms != 0 ? settings->min_session_ms : 2 * tick_ms;
    uint32_t most =
        settings->max_session_ms != 0 ? settings->max_session_ms : 20 * tick_ms;
    uint32_t asked = asked_ms < 0 ? 0 : (uint32_t)asked_ms;

    return asked < least ? least : asked > most ? most : asked;
}

static bool password_is_right(const struct uvzk__connect_request *request)
{
    unsigned char password[PASSWORD_BYTES];

    password_of(request->session_id, password);
    return request->password.length == PASSWORD_BYTES &&
           memcmp(request->password.at, password, PASSWORD_BYTES) == 0;
}

static void receive_connect(struct outside_client *client, struct uvzk__jute_bytes frame)
{
    struct uvzk__connect_request wire;
    struct sim *sim = client->client.sim;

    if (uvzk__connect_request_read(frame, &wire) != 0) {
        hang_up(client);
        return;
    }
    client->greeted = true;
    client->has_read_only = wire.has_read_only;
    if (client->settings->dialect.forgets_sessions) {
        wire.session_id = 0;
    }
    if (wire.session_id != 0 && !password_is_right(&wire)) {
        send_connect_response(client, 0, 0);
        hang_up(client);
        return;
    }
    struct sim__request *request = sim__request_new(SIM__CONNECT, NULL);
    request->session_id = wire.session_id;
    request->timeout_ms = granted_timeout(client, wire.timeout_ms);
    request->seen_zxid = wire.last_zxid;
    sim__link_send_up(sim, client->link, request);
}

static void session_granted(struct outside_client *client,
                            const struct sim__answer *answer)
{
    client->session_id = answer->session_id;
    sim__session_told(client->client.sim, &client->client, answer->session_id,
                      answer->timeout_ms);
    send_connect_response(client, answer->session_id, answer->timeout_ms);
}

/* ------------------------------------------------------------------------ the watches */

/* The number of the watch that a request without an answer arms; 0: there is none. */
static uint64_t watch_asked_for(const struct outside_client *client, char kind,
                                const char *path)
{
    for (const struct uvzk__link *at = client->asked.next; at != &client->asked;
         at = at->next) {
        const struct asked *asked = UVZK__CONTAINER_OF((uintptr_t)at, struct asked, link);
        if (asked->watch_id != 0 && asked->watch_kind == kind && asked->path != NULL &&
            strcmp(asked->path, path) == 0) {
            return asked->watch_id;
        }
    }
    return 0;
}

/* The number of the watch of this kind on this path, a new one if there is none: a server
 * has one for all requests of a session that arm it. */
static uint64_t watch_id(struct outside_client *client, char kind, const char *path)
{
    const struct outside_watch *watch = outside_watch_armed(&client->watches, kind, path);
    uint64_t asked = watch_asked_for(client, kind, path);

    return watch != NULL ? watch->id
           : asked != 0  ? asked
                         : ++client->client.sim->watch_ids;
}

static void watch_armed(struct outside_client *client, uint64_t id, char kind,
                        const char *path)
{
    if (outside_watch_armed(&client->watches, kind, path) == NULL) {
        (void)outside_watch_add(&client->watches, id, kind, path);
    }
}

static void send_event(struct outside_client *client, int32_t event, int64_t zxid,
                       const char *path)
{
    send_reply(client, &(struct uvzk__wire_reply){.xid = UVZK__XID_EVENT,
                                                  .zxid = zxid,
                                                  .opcode = UVZK__OPCODE_EVENT,
                                                  .event = event,
                                                  .state = 3,
                                                  .path = uvzk__jute_text(path)});
}

static void send_persistent(struct outside_client *client, int32_t event, int64_t zxid,
                            const char *path, const char *child)
{
    char *whole;

    if (child == NULL) {
        send_event(client, event, zxid, path);
        return;
    }
    size_t size = strlen(path) + strlen(child) + 2;
    whole = sim__alloc(size);
    snprintf(whole, size, "%s/%s", path, child);
    send_event(client, event, zxid, whole);
    free(whole);
}

/* A connection is told of a change once, however many of its watches are on the znode. But
 * if the znode had changed before the watches were armed again, it is told of it for each of
 * them. */
static bool is_told(struct outside_client *client, struct outside_watch *watch,
                    enum uvzk__watch_event event)
{
    bool of_children = outside_watch_kind(watch) == OUTSIDE_CHILD;
    const char *path = outside_watch_path(watch);

    if (watch->rearming || watch->told) {
        return watch->told;
    }
    if (event == UVZK__WATCH_DELETED) {
        struct outside_watch *other = outside_watch_armed(
            &client->watches, of_children ? OUTSIDE_DATA : OUTSIDE_CHILD, path);
        if (other != NULL) {
            other->told = true;
        }
    }
    return event != UVZK__WATCH_CHILDREN && outside_watches_cover(&client->watches, path);
}

/* Behind an event, or behind an answer that makes watches armed again. */
static void may_lose(struct outside_client *client)
{
    if (client->link != NULL &&
        sim__io_loses_event(client->client.sim, client->link->member)) {
        hang_up(client);
    }
}

static void watch_fired(struct outside_client *client, const struct sim__answer *answer)
{
    static const int32_t events[] = {[UVZK__WATCH_CREATED] = 1,
                                     [UVZK__WATCH_DELETED] = 2,
                                     [UVZK__WATCH_CHANGED] = 3,
                                     [UVZK__WATCH_CHILDREN] = 4};
    struct outside_watch *watch = outside_watch_of(&client->watches, answer->watch_id);
    enum uvzk__watch_event event = (enum uvzk__watch_event)answer->watch_event;

    if (watch == NULL) {
        return;
    }
    if (outside_watch_kind(watch) == OUTSIDE_PERSISTENT) {
        send_persistent(client, events[event], answer->zxid, outside_watch_path(watch),
                        answer->name);
        return;
    }
    if (!is_told(client, watch, event)) {
        send_event(client, events[event], answer->zxid, outside_watch_path(watch));
    }
    outside_watch_remove(&client->watches, watch);
}

/* ------------------------------------------------------------------------ the requests */

static struct asked *ask_later(struct outside_client *client,
                               const struct uvzk__wire_request *wire)
{
    struct asked *asked = sim__alloc(sizeof(*asked));

    asked->xid = wire->xid;
    asked->opcode = wire->opcode;
    uvzk__list_append(&client->asked, &asked->link);
    return asked;
}

static void asked_free(struct asked *asked)
{
    free(asked->op_kinds);
    free(asked->path);
    free(asked);
}

static char *text_of(struct uvzk__jute_bytes bytes)
{
    char *text = sim__alloc(bytes.length + 1);

    if (bytes.length > 0) {
        memcpy(text, bytes.at, bytes.length);
    }
    return text;
}

static void submit(struct outside_client *client, const struct uvzk__rpc *rpc)
{
    sim__link_send_up(client->client.sim, client->link, sim__request_of(rpc));
}

/* The server's own answer to this request comes when the simulation has answered
 * everything before it. */
static struct asked *ask_carried(struct outside_client *client,
                                 const struct uvzk__wire_request *wire)
{
    const struct uvzk__rpc carrier = {.kind = UVZK__RPC_EXISTS, .path = "/"};
    struct asked *asked = ask_later(client, wire);

    asked->carried = true;
    submit(client, &carrier);
    return asked;
}

/* Returns false if the mode is none that the simulation has. */
static bool mode_of(int32_t flags, uint32_t *mode)
{
    static const uint32_t modes[] = {UVZK__PERSISTENT, UVZK__EPHEMERAL,
                                     UVZK__PERSISTENT_SEQUENTIAL,
                                     UVZK__EPHEMERAL_SEQUENTIAL, UVZK__CONTAINER};

    if (flags < 0 || (size_t)flags >= sizeof(modes) / sizeof(modes[0])) {
        return false;
    }
    *mode = modes[flags];
    return true;
}

/* The simulation does not distinguish users. */
static uint32_t permissions_of(struct uvzk__jute_list acl)
{
    struct uvzk__wire_acl entry;
    uint32_t permissions = 0;

    while (uvzk__wire_acl_next(&acl, &entry)) {
        permissions |= (uint32_t)entry.permissions;
    }
    return permissions;
}

/* One op, or one write. Its path is the caller's to free. */
struct write {
    struct uvzk__op op;
    struct uvzk__acl acl;
    uvzk_acl_t entry;
    char *path;
};

static bool is_create(int32_t opcode)
{
    return opcode == UVZK__OPCODE_CREATE || opcode == UVZK__OPCODE_CREATE2 ||
           opcode == UVZK__OPCODE_CREATE_CONTAINER;
}

/* Returns false if the simulation has no such write. */
static bool read_write(struct write *write, const struct uvzk__wire_request *wire)
{
    *write = (struct write){.path = text_of(wire->path)};
    write->op.path = write->path;
    write->op.version = wire->version;
    write->op.data = wire->data.at;
    write->op.data_length = wire->data.length;
    if (is_create(wire->opcode)) {
        write->op.kind = UVZK__OP_CREATE;
        write->entry = (uvzk_acl_t){permissions_of(wire->acl), "world", "anyone"};
        write->acl = (struct uvzk__acl){&write->entry, wire->acl.count > 0};
        write->op.acl = &write->acl;
        return mode_of(wire->mode, &write->op.mode);
    }
    write->op.kind = wire->opcode == UVZK__OPCODE_DELETE     ? UVZK__OP_DELETE
                     : wire->opcode == UVZK__OPCODE_SET_DATA ? UVZK__OP_SET
                                                             : UVZK__OP_CHECK;
    return wire->opcode != UVZK__OPCODE_CREATE_TTL;
}

static void unimplemented(struct outside_client *client, int32_t xid)
{
    send_reply(client, &(struct uvzk__wire_reply){.xid = xid,
                                                  .zxid = zxid_of(client),
                                                  .err = CODE_UNIMPLEMENTED,
                                                  .opcode = UVZK__OPCODE_PING});
}

static void receive_write(struct outside_client *client,
                          const struct uvzk__wire_request *wire)
{
    struct write write;

    if (read_write(&write, wire)) {
        const struct uvzk__rpc rpc = {.kind = is_create(wire->opcode) ? UVZK__RPC_CREATE
                                              : write.op.kind == UVZK__OP_DELETE
                                                  ? UVZK__RPC_DELETE
                                                  : UVZK__RPC_SET,
                                      .path = write.path,
                                      .data = write.op.data,
                                      .data_length = write.op.data_length,
                                      .acl = write.op.acl,
                                      .mode = (uint8_t)write.op.mode,
                                      .version = write.op.version};
        (void)ask_later(client, wire);
        submit(client, &rpc);
    } else {
        /* As a server without TTLs, on which the connection lives on. */
        ask_carried(client, wire)->err = CODE_UNIMPLEMENTED;
    }
    free(write.path);
}

static void submit_multi(struct outside_client *client, struct asked *asked,
                         struct write *writes)
{
    struct uvzk__op *ops = sim__alloc(asked->op_count * sizeof(*ops));
    struct uvzk__rpc rpc = {
        .kind = UVZK__RPC_MULTI, .ops = ops, .op_count = asked->op_count};

    for (size_t i = 0; i < asked->op_count; i++) {
        ops[i] = writes[i].op;
    }
    submit(client, &rpc);
    free(ops);
}

/* The simulation checks the path of a request, and leaves those of a multi's ops to its
 * clients. */
static bool has_valid_path(const struct write *write)
{
    bool sequential =
        write->op.kind == UVZK__OP_CREATE && sim__mode_sequential(write->op.mode);

    return sim__path_valid(write->path, sequential);
}

static void receive_multi(struct outside_client *client,
                          const struct uvzk__wire_request *wire)
{
    struct uvzk__jute_list left = wire->ops;
    struct uvzk__wire_request op;
    size_t count = left.count > 0 ? (size_t)left.count : 0, i = 0;
    struct write *writes = sim__alloc((count + 1) * sizeof(*writes));
    struct asked *asked = ask_later(client, wire);
    bool known = count <= OPS_MAX;

    asked->op_count = count;
    asked->op_kinds = sim__alloc((count + 1) * sizeof(*asked->op_kinds));
    while (known && i < count && uvzk__wire_op_next(&left, UVZK__OPCODE_MULTI, &op)) {
        asked->op_kinds[i] = op.opcode;
        known = read_write(&writes[i], &op) && has_valid_path(&writes[i]);
        i++;
    }
    known = known && i == count;
    if (known) {
        submit_multi(client, asked, writes);
    }
    for (size_t each = 0; each < i; each++) {
        free(writes[each].path);
    }
    free(writes);
    if (!known) {
        hang_up(client);
    }
}

static enum uvzk__rpc_kind read_kind(int32_t opcode)
{
    return opcode == UVZK__OPCODE_EXISTS     ? UVZK__RPC_EXISTS
           : opcode == UVZK__OPCODE_GET_DATA ? UVZK__RPC_GET
           : opcode == UVZK__OPCODE_SYNC     ? UVZK__RPC_SYNC
                                             : UVZK__RPC_CHILDREN;
}

static void receive_read(struct outside_client *client,
                         const struct uvzk__wire_request *wire)
{
    char *path = text_of(wire->path);
    struct sim__client_watch watch = {0};
    struct uvzk__rpc rpc = {.kind = (uint8_t)read_kind(wire->opcode), .path = path};
    struct asked *asked = ask_later(client, wire);

    bool of_children = rpc.kind == UVZK__RPC_CHILDREN;
    asked->watch_kind = of_children ? OUTSIDE_CHILD : OUTSIDE_DATA;
    asked->path = path;
    if (wire->watch) {
        watch.id = asked->watch_id = watch_id(client, asked->watch_kind, path);
        watch.kind = of_children ? SIM__WATCH_CHILD : SIM__WATCH_DATA;
        rpc.port.answer = &watch;
    }
    submit(client, &rpc);
}

/* ------------------------------------------------------ requests about watches, others */

static void rearm_one(struct outside_client *client, const char *path,
                      enum sim__watch_kind kind, int64_t seen_zxid)
{
    static const char kinds[] = {[SIM__WATCH_CHILD] = OUTSIDE_CHILD,
                                 [SIM__WATCH_DATA] = OUTSIDE_DATA,
                                 [SIM__WATCH_EXIST] = OUTSIDE_EXIST,
                                 [SIM__WATCH_PERSISTENT] = OUTSIDE_PERSISTENT};

    if (outside_watch_find(&client->watches, kinds[kind], path) == NULL) {
        struct sim__request *request = sim__request_new(SIM__REWATCH, path);
        request->watch_id = ++client->client.sim->watch_ids;
        request->watch_kind = kind;
        request->seen_zxid = seen_zxid;
        outside_watch_add(&client->watches, request->watch_id, kinds[kind], path)
            ->rearming = true;
        sim__link_send_up(client->client.sim, client->link, request);
    }
}

static void rearm(struct outside_client *client, struct uvzk__jute_list paths,
                  enum sim__watch_kind kind, int64_t seen_zxid)
{
    struct uvzk__jute_bytes bytes;

    while (uvzk__jute_strings_next(&paths, &bytes)) {
        char *path = text_of(bytes);
        rearm_one(client, path, kind, seen_zxid);
        free(path);
    }
}

static void receive_rearm(struct outside_client *client,
                          const struct uvzk__wire_request *wire)
{
    rearm(client, wire->watches[UVZK__WATCHES_DATA], SIM__WATCH_DATA, wire->zxid);
    rearm(client, wire->watches[UVZK__WATCHES_EXIST], SIM__WATCH_EXIST, wire->zxid);
    rearm(client, wire->watches[UVZK__WATCHES_CHILD], SIM__WATCH_CHILD, wire->zxid);
    rearm(client, wire->watches[UVZK__WATCHES_PERSISTENT_RECURSIVE],
          SIM__WATCH_PERSISTENT, wire->zxid);
    (void)ask_carried(client, wire);
}

/* Of the persistent watches the simulation has the recursive ones. */
static void receive_add_watch(struct outside_client *client,
                              const struct uvzk__wire_request *wire)
{
    if (wire->mode != PERSISTENT_RECURSIVE) {
        ask_carried(client, wire)->err =
            wire->mode == PERSISTENT ? CODE_UNIMPLEMENTED : CODE_MARSHALLING;
        return;
    }
    char *path = text_of(wire->path);
    struct sim__client_watch watch = {.id = watch_id(client, OUTSIDE_PERSISTENT, path),
                                      .kind = SIM__WATCH_PERSISTENT};
    const struct uvzk__rpc rpc = {
        .kind = UVZK__RPC_ADD_WATCH, .path = path, .port.answer = &watch};
    struct asked *asked = ask_later(client, wire);
    asked->watch_kind = OUTSIDE_PERSISTENT;
    asked->watch_id = watch.id;
    asked->path = path;
    submit(client, &rpc);
}

static void stop_watch(struct outside_client *client, uint64_t id)
{
    struct sim__request *request = sim__request_new(SIM__REMOVE_WATCH, NULL);

    request->watch_id = id;
    sim__link_send_up(client->client.sim, client->link, request);
}

/* Also those that are asked for and not yet answered. */
static void stop_watches(struct outside_client *client, const char *path, int32_t number)
{
    for (size_t i = 0; i < REMOVABLE; i++) {
        const struct outside_watch *watch =
            outside_watch_armed(&client->watches, removable[i], path);
        if (watch != NULL && outside_watch_is_of(removable[i], number)) {
            stop_watch(client, watch->id);
        }
    }
    for (struct uvzk__link *at = client->asked.next; at != &client->asked;
         at = at->next) {
        const struct asked *asked = UVZK__CONTAINER_OF(at, struct asked, link);
        if (asked->watch_id != 0 && strcmp(asked->path, path) == 0 &&
            outside_watch_is_of(asked->watch_kind, number)) {
            stop_watch(client, asked->watch_id);
        }
    }
}

static void receive_removal(struct outside_client *client,
                            const struct uvzk__wire_request *wire)
{
    char *path = text_of(wire->path);

    if (wire->opcode == UVZK__OPCODE_REMOVE_WATCHES) {
        stop_watches(client, path, wire->mode);
    }
    struct asked *asked = ask_carried(client, wire);
    asked->path = path;
    asked->watch_kinds = wire->mode;
}

static void receive_close(struct outside_client *client,
                          const struct uvzk__wire_request *wire)
{
    client->closes = true;
    client->close_xid = wire->xid;
    sim__link_send_up(client->client.sim, client->link,
                      sim__request_new(SIM__END_SESSION, NULL));
}

static bool is_unknown(const struct sim_dialect *dialect, int32_t opcode)
{
    switch (opcode) {
    case UVZK__OPCODE_CREATE2:
        return dialect->no_create2;
    case UVZK__OPCODE_CREATE_CONTAINER:
        return dialect->no_containers;
    case UVZK__OPCODE_REMOVE_WATCHES:
        return dialect->no_removal;
    case UVZK__OPCODE_ADD_WATCH:
        return dialect->no_persistent;
    case UVZK__OPCODE_MULTI_READ:
        return true;
    default:
        return false;
    }
}

static void receive_unknown(struct outside_client *client, int32_t xid)
{
    if (client->settings->dialect.answers) {
        unimplemented(client, xid);
    }
    hang_up(client);
}

static void receive_request(struct outside_client *client,
                            const struct uvzk__wire_request *wire)
{
    switch (wire->opcode) {
    case UVZK__OPCODE_MULTI:
        receive_multi(client, wire);
        break;
    case UVZK__OPCODE_EXISTS:
    case UVZK__OPCODE_GET_DATA:
    case UVZK__OPCODE_GET_CHILDREN:
    case UVZK__OPCODE_GET_CHILDREN2:
    case UVZK__OPCODE_SYNC:
        receive_read(client, wire);
        break;
    case UVZK__OPCODE_PING:
        sim__link_send_up(client->client.sim, client->link,
                          sim__request_new(SIM__PING, NULL));
        break;
    case UVZK__OPCODE_SET_WATCHES:
    case UVZK__OPCODE_SET_WATCHES2:
        receive_rearm(client, wire);
        break;
    case UVZK__OPCODE_ADD_WATCH:
        receive_add_watch(client, wire);
        break;
    case UVZK__OPCODE_REMOVE_WATCHES:
    case UVZK__OPCODE_CHECK_WATCHES:
        receive_removal(client, wire);
        break;
    case UVZK__OPCODE_AUTH:
        (void)ask_carried(client, wire);
        break;
    case UVZK__OPCODE_CLOSE_SESSION:
        receive_close(client, wire);
        break;
    default:
        receive_write(client, wire);
    }
}

void outside_client_receive(struct outside_client *client, struct uvzk__jute_bytes frame)
{
    struct uvzk__wire_request wire;

    if (client->link == NULL) {
        return;
    }
    if (!client->greeted) {
        receive_connect(client, frame);
        return;
    }
    int status = uvzk__wire_request_read(frame, &wire);
    if (status == UV_ENOTSUP ||
        (status == 0 && is_unknown(&client->settings->dialect, wire.opcode))) {
        receive_unknown(client, wire.xid);
    } else if (status < 0) {
        hang_up(client);
    } else {
        receive_request(client, &wire);
    }
}

/* -------------------------------------------------------------------------- the answers */

static struct uvzk__wire_stat wire_stat(const struct sim__full_stat *full)
{
    return (struct uvzk__wire_stat){.czxid = full->stat.czxid,
                                    .mzxid = full->stat.mzxid,
                                    .ctime_ms = (int64_t)full->made_at,
                                    .mtime_ms = (int64_t)full->set_at,
                                    .version = full->stat.version,
                                    .cversion = full->child_changes,
                                    .ephemeral_owner = full->stat.ephemeral_owner,
                                    .data_length = full->data_length,
                                    .child_count = full->stat.child_count,
                                    .pzxid = full->pzxid};
}

/* A server takes the kind of a create in a multi from its mode. Until ZooKeeper 3.8 it
 * always answers with CREATE. */
static int32_t result_kind(int32_t opcode, bool tells_stat)
{
    if (!is_create(opcode)) {
        return opcode;
    }
    return tells_stat && opcode != UVZK__OPCODE_CREATE ? UVZK__OPCODE_CREATE2
                                                       : UVZK__OPCODE_CREATE;
}

/* Of one op of a multi that has succeeded. */
static struct uvzk__wire_reply result_of(const struct asked *asked,
                                         const struct sim__answer *answer, size_t i,
                                         bool tells_stat)
{
    struct uvzk__wire_reply result = {.opcode =
                                          result_kind(asked->op_kinds[i], tells_stat)};

    if (is_create(result.opcode)) {
        result.path = uvzk__jute_text(answer->reply->made[i]);
    }
    if (result.opcode == UVZK__OPCODE_CREATE2 || result.opcode == UVZK__OPCODE_SET_DATA) {
        result.stat = wire_stat(&answer->full_stats[i]);
    }
    return result;
}

/* Of one op of a multi that has failed: the others were not tried, or taken back. */
static struct uvzk__wire_reply error_of(const struct sim__answer *answer, size_t i)
{
    size_t failed = answer->reply->failed_op;

    return (struct uvzk__wire_reply){.opcode = UVZK__OPCODE_ERROR,
                                     .body_err = i < failed ? 0
                                                 : i == failed
                                                     ? wire_code(answer->reply->status)
                                                     : CODE_RUNTIME_INCONSISTENCY};
}

static void answer_multi(struct outside_client *client, const struct asked *asked,
                         const struct sim__answer *answer, struct uvzk__wire_reply *reply)
{
    struct uvzk__jute_writer results;
    bool failed = answer->reply->failed_op < asked->op_count;

    uvzk__jute_writer_init(&results);
    for (size_t i = 0; i < asked->op_count && (failed || answer->reply->status == 0);
         i++) {
        struct uvzk__wire_reply result =
            failed ? error_of(answer, i)
                   : result_of(asked, answer, i,
                               client->client.sim->options.multis_tell_stats);
        uvzk__wire_result_add(&results, UVZK__OPCODE_MULTI, &result);
    }
    reply->err = failed ? 0 : reply->err;
    if (uvzk__jute_list_of(&results, asked->op_count, &reply->results) == 0 ||
        reply->err != 0) {
        send_reply(client, reply);
    } else {
        hang_up(client);
    }
    uvzk__jute_writer_end(&results);
}

static void answer_children(struct outside_client *client,
                            const struct sim__answer *answer,
                            struct uvzk__wire_reply *reply)
{
    struct uvzk__jute_writer names;

    uvzk__jute_writer_init(&names);
    for (size_t i = 0; i < answer->reply->name_count; i++) {
        uvzk__jute_put_bytes(&names, uvzk__jute_text(answer->reply->names[i]));
    }
    if (uvzk__jute_list_of(&names, answer->reply->name_count, &reply->children) == 0) {
        send_reply(client, reply);
    } else {
        hang_up(client);
    }
    uvzk__jute_writer_end(&names);
}

/* Removes these watches of the path, or only looks for them. Returns whether there is one. */
static bool end_watches(struct outside_client *client, const char *path, int32_t number,
                        bool removes)
{
    bool any = false;

    for (size_t i = 0; i < REMOVABLE; i++) {
        struct outside_watch *watch =
            outside_watch_armed(&client->watches, removable[i], path);
        if (watch != NULL && outside_watch_is_of(removable[i], number)) {
            any = true;
            if (removes) {
                outside_watch_remove(&client->watches, watch);
            }
        }
    }
    return any;
}

/* Answers for which the simulation has no request. */
static void answer_carried(struct outside_client *client, const struct asked *asked,
                           int64_t zxid)
{
    struct uvzk__wire_reply reply = {
        .xid = asked->xid, .zxid = zxid, .err = asked->err, .opcode = asked->opcode};
    bool removes = asked->opcode == UVZK__OPCODE_REMOVE_WATCHES;

    if (asked->opcode == UVZK__OPCODE_SET_WATCHES ||
        asked->opcode == UVZK__OPCODE_SET_WATCHES2) {
        outside_watches_rearmed(&client->watches);
    } else if (asked->path != NULL &&
               !end_watches(client, asked->path, asked->watch_kinds, removes)) {
        reply.err = CODE_NO_WATCHER;
    }
    send_reply(client, &reply);
    if (asked->opcode == UVZK__OPCODE_SET_WATCHES) {
        may_lose(client);
    }
}

static void answer_request(struct outside_client *client, const struct asked *asked,
                           const struct sim__answer *answer)
{
    const struct uvzk__reply *inside = answer->reply;
    struct uvzk__wire_reply reply = {.xid = asked->xid,
                                     .zxid = answer->zxid,
                                     .err = wire_code(inside->status),
                                     .opcode = asked->opcode};

    if (asked->opcode == UVZK__OPCODE_MULTI) {
        answer_multi(client, asked, answer, &reply);
        return;
    }
    if (answer->full_stats != NULL) {
        reply.stat = wire_stat(&answer->full_stats[0]);
    }
    reply.path =
        uvzk__jute_text(asked->opcode == UVZK__OPCODE_SYNC ? asked->path : inside->name);
    if (asked->opcode == UVZK__OPCODE_GET_DATA && inside->status == 0) {
        reply.data = answer->full_stats[0].has_no_data
                         ? uvzk__jute_bytes(NULL, 0)
                         : uvzk__jute_bytes(inside->data_length > 0 ? inside->data : "",
                                            inside->data_length);
    }
    if (inside->status == 0 && (asked->opcode == UVZK__OPCODE_GET_CHILDREN ||
                                asked->opcode == UVZK__OPCODE_GET_CHILDREN2)) {
        answer_children(client, answer, &reply);
    } else {
        send_reply(client, &reply);
    }
}

/* Returns true if the reply is the one that a fault loses, with the connection. */
static bool is_lost(struct outside_client *client, const struct asked *asked)
{
    if (!client->lose_armed ||
        (client->lose_opcode != 0 && client->lose_opcode != asked->opcode)) {
        return false;
    }
    if (client->lose_skips > 0) {
        client->lose_skips--;
        return false;
    }
    return true;
}

static void answered(struct outside_client *client, const struct sim__answer *answer)
{
    struct asked *asked =
        UVZK__CONTAINER_OF(uvzk__list_take(&client->asked), struct asked, link);

    if (is_lost(client, asked)) {
        hang_up(client);
    } else if (asked->carried) {
        answer_carried(client, asked, answer->zxid);
    } else {
        if (answer->watch_id != 0) {
            watch_armed(client, answer->watch_id, asked->watch_kind, asked->path);
        }
        answer_request(client, asked, answer);
    }
    asked_free(asked);
}

/* The server has closed the connection. */
static void ended(struct outside_client *client)
{
    if (client->closes) {
        send_reply(client,
                   &(struct uvzk__wire_reply){.xid = client->close_xid,
                                              .zxid = zxid_of(client),
                                              .opcode = UVZK__OPCODE_CLOSE_SESSION});
    }
    hang_up(client);
}

static void read_answer(struct sim__client *inside, struct sim__answer *answer)
{
    struct outside_client *client = client_of(inside);

    switch (answer->kind) {
    case SIM__CONNECTED:
        session_granted(client, answer);
        break;
    case SIM__EXPIRED:
        if (client->session_id == 0) {
            send_connect_response(client, 0, 0);
        }
        break;
    case SIM__PONG:
        send_reply(client, &(struct uvzk__wire_reply){.xid = UVZK__XID_PING,
                                                      .zxid = answer->zxid,
                                                      .opcode = UVZK__OPCODE_PING});
        break;
    case SIM__REPLY:
        answered(client, answer);
        break;
    case SIM__WATCH_EVENT:
        watch_fired(client, answer);
        may_lose(client);
        break;
    default:
        ended(client);
    }
    sim__answer_free(answer);
}

/* ------------------------------------------------------------------------- begin and end */

struct outside_client *outside_client_new(struct sim *sim, size_t server,
                                          const struct outside_settings *settings,
                                          const char *name,
                                          const struct outside_client_user *user,
                                          void *context)
{
    struct outside_client *client = sim__alloc(sizeof(*client));

    client->client.sim = sim;
    client->client.name = sim__copy(name, strlen(name) + 1);
    client->client.outside = read_answer;
    uvzk__list_init(&client->client.all);
    client->settings = settings;
    client->user = user;
    client->context = context;
    uvzk__list_init(&client->asked);
    uvzk__jute_writer_init(&client->out);
    client->link = sim__link_new(sim, &client->client, &sim->server.members[server]);
    return client;
}

void outside_client_free(struct outside_client *client)
{
    struct uvzk__link *link;

    outside_client_end(client);
    outside_watches_free(&client->watches);
    while ((link = uvzk__list_take(&client->asked)) != NULL) {
        asked_free(UVZK__CONTAINER_OF(link, struct asked, link));
    }
    uvzk__jute_writer_end(&client->out);
    free(client->client.name);
    free(client);
}

int64_t outside_client_session(const struct outside_client *client)
{
    return client->session_id;
}

/* ------------------------------------------------------------------------------- faults */

void outside_client_lose_reply(struct outside_client *client, int32_t opcode,
                               unsigned skipped)
{
    client->lose_armed = true;
    client->lose_opcode = opcode;
    client->lose_skips = skipped;
}

void outside_client_set_latency(struct outside_client *client, uint32_t min_ms,
                                uint32_t max_ms)
{
    if (client->link != NULL) {
        client->link->latency_min_ms = min_ms;
        client->link->latency_max_ms = max_ms;
    }
}

void outside_client_silence(struct outside_client *client, uint64_t ms)
{
    if (client->link != NULL) {
        client->link->cut_until = client->client.sim->now + ms;
    }
}

void outside_client_delay(struct outside_client *client, uint64_t ms)
{
    if (client->link != NULL) {
        sim__link_slow_up(client->client.sim, client->link, ms);
    }
}

void outside_client_cut_follower(struct outside_client *client, uint64_t ms)
{
    if (client->link != NULL && client->session_id != 0) {
        sim__link_cut_follower(client->client.sim, client->link, ms);
    }
}

static void end(struct outside_client *client, size_t keep)
{
    struct sim__link *link = client->link;

    client->link = NULL;
    if (link != NULL) {
        sim__link_close_client(client->client.sim, link, keep);
    }
}

void outside_client_end(struct outside_client *client)
{
    end(client, SIZE_MAX);
}

void outside_client_break(struct outside_client *client)
{
    struct sim *sim = client->client.sim;

    if (client->link != NULL) {
        size_t under_way = sim__queue_length(&client->link->up);
        end(client, (size_t)sim_random(sim, under_way + 1));
    }
}
