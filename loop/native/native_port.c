/* SPDX-License-Identifier: Apache-2.0 */
/* The port over ZooKeeper's own protocol: the functions that src/ calls through
 * engine/port.h, and the callbacks of the port's session (native_session.h).
 *
 * A call of the port may send requests, but it reports nothing: it wakes the loop. Each
 * callback of the loop runs between native_port_enter and native_port_leave. The latter
 * sends what the callback has submitted, all in one write, and ends the port when nothing
 * is left of it.
 *
 * Replies are delivered in the order of submission. The answer of a server is delivered
 * from the frame in which it came, after all that had been settled before it. */
#include "native/native_port.h"

#include <string.h>

#include "base/list.h"
#include "discovery/hosts.h"
#include "native/native_connection.h"

/* At most this many bytes wait in the stream: the rest waits in the queue, where it is
 * known to be unsent. */
#define STREAM_MAX (256U << 10)

/* base is the first member. */
static struct uvzk__native_port *self_of(struct uvzk__port *port)
{
    return (struct uvzk__native_port *)(void *)port;
}

static struct uvzk__native_port *port_of(struct uvzk__port_loop *port_loop)
{
    return UVZK__CONTAINER_OF(port_loop, struct uvzk__native_port, base.port_loop);
}

static struct uvzk__native_port *owner_of(struct uvzk__native_session *session)
{
    return UVZK__CONTAINER_OF(session, struct uvzk__native_port, session);
}

static bool is_closing(const struct uvzk__native_port *port)
{
    return uvzk__loop_port_is_closing(&port->base);
}

/* ---------------------------------------------------------------------------- sending */

static void settle_later(struct uvzk__native_port *port, struct uvzk__rpc *rpc,
                         int status)
{
    uvzk__request_queue_settle(&port->queue, rpc, status);
    uvzk__to_loop_wake(&port->base.to_loop);
}

static void watch_removal_removed(struct uvzk__rpc *removal,
                                  const struct uvzk__reply *reply)
{
    struct uvzk__native_port *port =
        UVZK__CONTAINER_OF(removal->port.port, struct uvzk__native_port, base.port);

    (void)reply;
    uvzk__native_watch_free(&port->watches, uvzk__native_watch_of(removal));
}

/* Adds the request by which the server forgets the watch to the port's queue. native:
 * REMOVING; NULL: there is none. Without a connection the server has forgotten it anyway. A
 * server that does not know the request reports the next change, which then meets no
 * watch. */
static void watch_removal_add(struct uvzk__native_port *port,
                              struct uvzk__native_watch *native)
{
    bool known = uvzk__native_session_is_connected(&port->session) &&
                 uvzk__dialect_has(&port->base.dialect, UVZK__FEATURE_REMOVAL);

    if (native != NULL && known) {
        native->removal.reply_cb = watch_removal_removed;
        uvzk__request_queue_add(&port->queue, &native->removal, &port->base.port);
    } else if (native != NULL) {
        uvzk__native_watch_free(&port->watches, native);
    }
}

/* A follower answers the others alone. */
static bool is_for_the_leader(const struct uvzk__rpc *rpc)
{
    return rpc->kind == UVZK__RPC_CREATE || rpc->kind == UVZK__RPC_DELETE ||
           rpc->kind == UVZK__RPC_SET || rpc->kind == UVZK__RPC_MULTI ||
           rpc->kind == UVZK__RPC_SYNC;
}

/* Writes the first waiting rpc into the stream. */
static void write_request(struct uvzk__native_port *port, struct uvzk__rpc *rpc)
{
    struct uvzk__stream *stream = uvzk__native_session_stream(&port->session);
    int32_t opcode = 0;
    int status = uvzk__request_queue_reserve(&port->queue);

    if (status == 0) {
        status = uvzk__rpc_message_write(
            uvzk__stream_out(stream), &port->chroot, port->queue.next_xid, rpc,
            uvzk__dialect_has(&port->base.dialect, UVZK__FEATURE_CREATE2), &opcode);
    }
    if (status == 0) {
        uvzk__request_queue_sent(&port->queue, uvzk__stream_end(stream), opcode);
        port->session.carries_touch |= is_for_the_leader(rpc);
    } else {
        watch_removal_add(port, uvzk__watch_table_answered(&port->watches, rpc, status));
        settle_later(port, rpc, status);
    }
}

/* Writes what waits, as long as fewer than `most` bytes wait in the stream. */
static void write_waiting(struct uvzk__native_port *port, size_t most)
{
    struct uvzk__stream *stream = uvzk__native_session_stream(&port->session);
    struct uvzk__rpc *rpc;

    while (uvzk__stream_waiting(stream) < most &&
           (rpc = uvzk__request_queue_waiting(&port->queue)) != NULL) {
        write_request(port, rpc);
    }
}

/* The kernel may take everything that was written, and then it takes more. */
static void send_queue(struct uvzk__native_port *port)
{
    struct uvzk__stream *stream = uvzk__native_session_stream(&port->session);

    do {
        write_waiting(port, STREAM_MAX);
        uvzk__native_connection_pump(&port->session,
                                     uvzk__request_queue_is_unanswered(&port->queue));
    } while (uvzk__stream_waiting(stream) == 0 &&
             uvzk__request_queue_waiting(&port->queue) != NULL);
}

/* ------------------------------------------------------------- callbacks of the loop */

/* The port is closing: its session ends at the server within some time. The timer of the
 * loop's handles, because the program may have closed those of the session. */
static void native_port_drain(struct uvzk__native_port *port)
{
    if (uvzk__native_session_is_ending(&port->session) &&
        !port->base.port_loop.draining) {
        uvzk__port_loop_drain(&port->base.port_loop);
    }
}

/* Begins the end of the closing port if nothing is left. */
static void native_port_finish(struct uvzk__native_port *port)
{
    if (!uvzk__port_is_finishing(&port->base.life) &&
        uvzk__native_session_is_gone(&port->session) &&
        uvzk__request_queue_is_empty(&port->queue)) {
        uvzk__loop_port_finish(&port->base);
    }
}

static void enter_port(struct uvzk__native_port *port)
{
    port->inside = true;
    uvzk__port_loop_enter(&port->base.port_loop);
}

/* Takes the turn that has become due. */
static void take_turn(struct uvzk__native_port *port)
{
    if (uvzk__port_loop_take_turn(&port->base.port_loop)) {
        port->base.port.user->turn(port->base.port.user);
    }
}

static void leave_port(struct uvzk__native_port *port)
{
    port->inside = false;
    uvzk__reply_memory_trim(&port->memory);
    if (uvzk__native_session_is_connected(&port->session)) {
        send_queue(port);
    } else {
        uvzk__native_connection_pump(&port->session, false);
    }
    uvzk__ending_streams_free(&port->session.endings);
    uvzk__port_loop_leave(&port->base.port_loop);
    if (is_closing(port)) {
        native_port_drain(port);
        native_port_finish(port);
    }
}

static void native_port_enter(struct uvzk__native_session *session)
{
    enter_port(owner_of(session));
}

/* The turn sees everything that has come by now. */
static void native_port_leave(struct uvzk__native_session *session)
{
    take_turn(owner_of(session));
    leave_port(owner_of(session));
}

static void tell_open_failure(struct uvzk__native_port *port)
{
    int status = port->open_failure;

    port->open_failure = 0;
    if (!is_closing(port)) {
        uvzk__loop_port_tell(&port->base, UVZK__SESSION_OPEN_FAILED, status);
    }
}

/* Does what calls of the port have requested. */
static void do_wanted(struct uvzk__native_port *port)
{
    bool connected = uvzk__native_session_is_connected(&port->session);
    bool end = port->end_wanted || (port->abandon_wanted && !connected);
    bool leave_server = port->leave_wanted;

    port->end_wanted = port->abandon_wanted = port->leave_wanted = false;
    if (end) {
        uvzk__native_session_expire(&port->session);
    } else if (leave_server) {
        uvzk__native_session_leave(&port->session);
    }
}

/* The replies first, then the turn, which sees all of them. */
static void native_port_woken(struct uvzk__port_loop *port_loop)
{
    struct uvzk__native_port *port = port_of(port_loop);

    enter_port(port);
    uvzk__request_queue_deliver(&port->queue);
    if (!is_closing(port)) {
        do_wanted(port);
    }
    if (port->open_failure != 0) {
        tell_open_failure(port);
    }
    take_turn(port);
    leave_port(port);
}

static void alarm_due(struct uvzk__port_loop *port_loop)
{
    struct uvzk__native_port *port = port_of(port_loop);

    enter_port(port);
    port->base.port.user->turn(port->base.port.user);
    leave_port(port);
}

static void drain_timeout(struct uvzk__port_loop *port_loop)
{
    struct uvzk__native_port *port = port_of(port_loop);

    enter_port(port);
    uvzk__native_session_stop_ending(&port->session);
    leave_port(port);
}

static void native_port_closed(struct uvzk__port_loop *port_loop)
{
    struct uvzk__native_port *port = port_of(port_loop);
    struct uvzk__port_user *user = port->base.port.user;

    /* Rpcs that were submitted after native_port_finish; they are UVZK_ECLOSED. */
    while (!uvzk__request_queue_is_empty(&port->queue)) {
        uvzk__request_queue_deliver(&port->queue);
    }
    port->base.transport->free(&port->base);
    user->closed(user);
}

/* ------------------------------------------------------------- callbacks of the session */

/* Rpcs that were submitted without a connection are replied before the user is told of
 * one. */
static void native_port_connects(struct uvzk__native_session *session)
{
    uvzk__request_queue_deliver(&owner_of(session)->queue);
}

static void native_port_connected(struct uvzk__native_session *session,
                                  const struct uvzk__session_event *event)
{
    struct uvzk__port_user *user = owner_of(session)->base.port.user;

    user->session(user, event);
}

/* The user is told of the loss before the replies. */
static void native_port_lost(struct uvzk__native_session *session, uint64_t taken)
{
    struct uvzk__native_port *port = owner_of(session);

    port->leave_wanted = false;
    uvzk__request_queue_fail(&port->queue, taken, UVZK_ECONNLOSS, UVZK_ENOTSENT);
    uvzk__loop_port_tell(&port->base, UVZK__SESSION_SUSPENDED, 0);
    uvzk__request_queue_deliver(&port->queue);
}

/* The user may submit further rpcs in these replies. Those are also replied with the same
 * status, before the event. */
static void native_port_ended(struct uvzk__native_session *session,
                              enum uvzk__session_event_kind kind, int status)
{
    struct uvzk__native_port *port = owner_of(session);

    port->end_status = status;
    port->end_wanted = port->abandon_wanted = port->leave_wanted = false;
    uvzk__request_queue_fail(&port->queue, 0, status, status);
    while (!is_closing(port) && !uvzk__request_queue_is_empty(&port->queue)) {
        uvzk__request_queue_deliver(&port->queue);
    }
    port->end_status = 0;
    if (!is_closing(port)) {
        uvzk__loop_port_tell(&port->base, kind, status);
    }
}

static int native_port_event(struct uvzk__native_session *session,
                             struct uvzk__jute_bytes frame)
{
    struct uvzk__native_port *port = owner_of(session);
    struct uvzk__wire_reply wire;
    struct uvzk__jute_bytes path;
    int status = uvzk__wire_reply_read(frame, UVZK__OPCODE_EVENT, &wire);

    if (status < 0) {
        return status;
    }
    return uvzk__chroot_strip(&port->chroot, wire.path, &path)
               ? uvzk__watch_table_tell(&port->watches, path, wire.event, &port->memory)
               : 0;
}

/* A frame that does not answer the request ends the connection, and its loss settles the
 * rpc, which is still SENT: the server may have executed the request. Rpcs before this one
 * have been settled without an answer, and are replied first. Their callbacks may close the
 * port. Later rpcs may have been settled, too, and no other event may deliver them. */
static int native_port_answered(struct uvzk__native_session *session,
                                struct uvzk__jute_bytes frame, int32_t xid)
{
    struct uvzk__native_port *port = owner_of(session);
    struct uvzk__stream *stream = uvzk__native_session_stream(session);
    const struct uvzk__sent *sent = uvzk__request_queue_answered(&port->queue, xid);
    struct uvzk__reply reply;

    if (sent == NULL) {
        return UV_EPROTO;
    }
    struct uvzk__rpc *rpc = sent->rpc;
    int status = uvzk__rpc_message_read(frame, sent->opcode, rpc, &port->chroot,
                                        &port->memory, &reply);
    if (status < 0) {
        return status;
    }
    uvzk__request_queue_deliver(&port->queue);
    if (uvzk__native_session_stream(session) != stream) {
        return 0;
    }
    uvzk__request_queue_take(&port->queue);
    watch_removal_add(port,
                      uvzk__watch_table_answered(&port->watches, rpc, reply.status));
    rpc->reply_cb(rpc, &reply);
    uvzk__request_queue_deliver(&port->queue);
    return 0;
}

static const struct uvzk__native_session_user session_user = {
    .enter = native_port_enter,
    .leave = native_port_leave,
    .connects = native_port_connects,
    .connected = native_port_connected,
    .answered = native_port_answered,
    .event = native_port_event,
    .lost = native_port_lost,
    .ended = native_port_ended};

/* ---------------------------------------------------------------------- the calls */

static void open_port(struct uvzk__port *public_port)
{
    struct uvzk__native_port *port = self_of(public_port);

    if (!uvzk__port_expect(public_port,
                           uvzk__native_session_is_down(&port->session) &&
                               !is_closing(port),
                           "port: opened twice, or after its close")) {
        return;
    }
    /* open() must not call back, so native_port_woken reports the failure. */
    port->open_failure = uvzk__native_session_open(&port->session);
    if (port->open_failure != 0) {
        uvzk__to_loop_wake(&port->base.to_loop);
    }
}

/* native_port_woken does it. */
static void native_port_want(struct uvzk__native_port *port, bool *wanted)
{
    if (!uvzk__native_session_is_down(&port->session)) {
        *wanted = true;
        uvzk__to_loop_wake(&port->base.to_loop);
    }
}

static void native_port_abandon(struct uvzk__port *public_port)
{
    native_port_want(self_of(public_port), &self_of(public_port)->abandon_wanted);
}

static void end_session(struct uvzk__port *public_port)
{
    native_port_want(self_of(public_port), &self_of(public_port)->end_wanted);
}

static void leave_server(struct uvzk__port *public_port)
{
    native_port_want(self_of(public_port), &self_of(public_port)->leave_wanted);
}

static void close_port(struct uvzk__port *public_port)
{
    struct uvzk__native_port *port = self_of(public_port);

    if (!uvzk__loop_port_begin_close(&port->base)) {
        return;
    }
    /* Requests that were submitted are still executed, among them deletes. Their rpcs
     * belong to the user again after their replies, so all of them are written now. */
    if (uvzk__native_session_is_connected(&port->session)) {
        write_waiting(port, SIZE_MAX);
    }
    uvzk__native_session_close(&port->session);
    uvzk__request_queue_override(&port->queue, UVZK_ECLOSED);
    uvzk__to_loop_wake(&port->base.to_loop);
}

static void native_port_submit(struct uvzk__port *public_port, struct uvzk__rpc *rpc)
{
    struct uvzk__native_port *port = self_of(public_port);

    uvzk__request_queue_add(&port->queue, rpc, public_port);
    if (is_closing(port)) {
        settle_later(port, rpc, UVZK_ECLOSED);
    } else if (!uvzk__native_session_is_connected(&port->session)) {
        settle_later(port, rpc, port->end_status != 0 ? port->end_status : UVZK_ENOTSENT);
    } else if (!uvzk__dialect_allows(&port->base.dialect, rpc)) {
        settle_later(port, rpc, UVZK_EUNIMPLEMENTED);
    } else if (rpc->refused != 0) {
        settle_later(port, rpc, rpc->refused);
    } else if (rpc->watch != NULL && uvzk__watch_table_add(&port->watches, rpc) < 0) {
        settle_later(port, rpc, UV_ENOMEM);
    } else if (!port->inside) {
        send_queue(port);
    }
}

static void native_port_unwatch(struct uvzk__port *public_port, struct uvzk__watch *watch)
{
    struct uvzk__native_port *port = self_of(public_port);

    if (watch->armed != NULL) {
        watch_removal_add(port, uvzk__watch_table_remove(&port->watches, watch));
    }
    if (!port->inside && uvzk__native_session_is_connected(&port->session)) {
        send_queue(port);
    }
}

/* ------------------------------------------------------------------------- creation */

static bool is_empty(const struct uvzk__loop_port *base)
{
    const struct uvzk__native_port *port = (const void *)base;

    return port->session.stream == NULL && port->session.search == NULL &&
           uvzk__request_queue_is_empty(&port->queue);
}

static void free_port(struct uvzk__loop_port *base)
{
    struct uvzk__native_port *port = self_of(&base->port);

    uvzk__native_session_end(&port->session);
    uvzk__request_queue_end(&port->queue);
    uvzk__watch_table_clear(&port->watches);
    uvzk__chroot_end(&port->chroot);
    uvzk__reply_memory_end(&port->memory);
    uvzk__loop_port_free(base);
}

static const struct uvzk__transport transport = {
    .open = open_port,
    .abandon = native_port_abandon,
    .leave_server = leave_server,
    .end_session = end_session,
    .close = close_port,
    .submit = native_port_submit,
    .unwatch = native_port_unwatch,
    .loop_user = {.woken = native_port_woken,
                  .alarm = alarm_due,
                  .drain_timeout = drain_timeout,
                  .closed = native_port_closed},
    .is_empty = is_empty,
    .free = free_port};

struct uvzk__loop_port *uvzk__native_port_new(uv_loop_t *loop,
                                              const uvzk_client_options_t *options,
                                              struct uvzk__tls_context *tls,
                                              struct uvzk__sasl_context *sasl)
{
    struct uvzk__native_port *port =
        (void *)uvzk__loop_port_new(sizeof(*port), loop, options, &transport);

    if (port == NULL) {
        return NULL;
    }
    uvzk__request_queue_init(&port->queue);
    uvzk__chroot_init(&port->chroot, uvzk__hosts_chroot(port->base.options.hosts));
    port->base.port.chroot_length = strlen(uvzk__hosts_chroot(port->base.options.hosts));
    uvzk__native_session_init(&port->session, &port->base, &port->watches, &port->chroot,
                              tls, sasl, &session_user);
    return &port->base;
}
