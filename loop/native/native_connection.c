/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of a native session: handles what its server sends, and notices when the
 * server has been silent for too long. Everything runs on the loop's thread, called by
 * the sockets (sockets.h). A callback of the user may close the stream, so after each
 * callback the session's stream is compared. */
#include "native/native_connection.h"

#include "base/deadline.h"
#include "base/list.h"
#include "native/authentication.h"
#include "native/handshake.h"
#include "uvzk.h"

/* After this many connections in a row that ended while watches were re-armed, watches
 * are no longer re-armed. */
#define FAILED_REARMS_MAX 2U

/* ---------------------------------------------------------------------- what it says */

static void send_connect_request(struct uvzk__native_session *session)
{
    int status =
        uvzk__handshake_write_request(session, uvzk__stream_out(session->stream));

    uvzk__port_move(&session->port->port, &uvzk__native_session_machine, session,
                    UVZK__NATIVE_ESTABLISHING);
    uvzk__native_session_allow_step(session);
    if (status < 0) {
        uvzk__native_session_try_next(session, status, uv_strerror(status));
    } else {
        uvzk__stream_flush(session->stream);
    }
}

/* Rpcs that were submitted without a connection are replied first. That may close the
 * port. */
static bool announce_connection(struct uvzk__native_session *session)
{
    struct uvzk__stream *stream = session->stream;

    session->user->connects(session);
    return session->stream == stream;
}

static void become_connected(struct uvzk__native_session *session, bool watches_lost)
{
    const struct uvzk__session_event event = {.kind = UVZK__SESSION_CONNECTED,
                                              .session_id = session->id,
                                              .timeout_ms = session->timeout_ms,
                                              .watches_lost = watches_lost,
                                              .local_address = session->local_address,
                                              .server = session->server};

    session->received_at = session->sent_at = session->touched_at = uvzk_now();
    session->carries_touch = false;
    session->received = session->stream->received;
    uvzk__conduct_begin(&session->conduct, session->received_at);
    uvzk__search_rest(session->search);
    uvzk__port_move(&session->port->port, &uvzk__native_session_machine, session,
                    UVZK__NATIVE_CONNECTED);
    session->user->connected(session, &event);
}

static int send_questions(struct uvzk__native_session *session)
{
    enum uvzk__feature feature;
    int status = 0;

    while (status == 0 && uvzk__dialect_next(&session->port->dialect, &feature)) {
        status =
            uvzk__handshake_write_question(uvzk__stream_out(session->stream), feature);
    }
    uvzk__stream_flush(session->stream);
    return status;
}

static void begin_asking(struct uvzk__native_session *session)
{
    uvzk__port_move(&session->port->port, &uvzk__native_session_machine, session,
                    UVZK__NATIVE_ASKING);
    uvzk__native_session_allow_step(session);
    uvzk__dialect_begin(&session->port->dialect);
    int status = send_questions(session);
    if (status < 0) {
        uvzk__native_session_try_next(session, status, uv_strerror(status));
    }
}

/* An answer to a question. */
static int read_asked(struct uvzk__native_session *session,
                      const struct uvzk__wire_reply *header)
{
    struct uvzk__dialect *dialect = &session->port->dialect;
    enum uvzk__feature feature = uvzk__handshake_asked_feature(header->xid);

    if (feature == UVZK__FEATURES || !uvzk__dialect_awaits(dialect, feature)) {
        return UV_EPROTO;
    }
    if (!uvzk__dialect_answered(dialect, feature, header->err)) {
        return UV_ENOTSUP;
    }
    if (!uvzk__dialect_is_settled(dialect)) {
        return send_questions(session);
    }
    if (announce_connection(session)) {
        become_connected(session, false);
    }
    return 0;
}

/* The server has granted the session, and accepts the client. */
static void native_connection_take(struct uvzk__native_session *session,
                                   const struct uvzk__connect_response *response)
{
    bool watches_lost = session->failed_rearms >= FAILED_REARMS_MAX;

    if (watches_lost) {
        uvzk__watch_table_clear(session->watches);
    }
    int status = uvzk__handshake_take(session, response);
    if (status < 0) {
        uvzk__native_session_try_next(session, status, uv_strerror(status));
        return;
    }
    uvzk__port_timeout_granted(&session->port->port, session->timeout_ms);
    if (uvzk__dialect_is_settled(&session->port->dialect)) {
        become_connected(session, watches_lost);
    } else {
        begin_asking(session);
    }
}

static void native_connection_granted(struct uvzk__native_session *session,
                                      const struct uvzk__connect_response *response)
{
    if (session->sasl_context != NULL) {
        uvzk__authentication_begin(session, response);
    } else if (announce_connection(session)) {
        native_connection_take(session, response);
    }
}

/* The rpcs that were submitted meanwhile may close the port, and with it the exchange. */
void uvzk__native_connection_authenticated(struct uvzk__native_session *session)
{
    if (announce_connection(session)) {
        uvzk__native_session_end_exchange(session);
        native_connection_take(session, &session->granted);
    }
}

static void read_response(struct uvzk__native_session *session,
                          struct uvzk__jute_bytes frame)
{
    struct uvzk__connect_response response;
    const char *text;

    switch (uvzk__handshake_read(session, frame, &response, &text)) {
    case UVZK__HANDSHAKE_WRONG_SERVER:
        uvzk__search_distrust(session->search, session->server);
        uvzk__native_session_try_next(session, UV_EPROTO, text);
        break;
    case UVZK__HANDSHAKE_READ_ONLY:
        uvzk__native_session_try_next(session, UV_EROFS, text);
        break;
    case UVZK__HANDSHAKE_EXPIRED:
        uvzk__native_session_finish(session, UVZK__SESSION_EXPIRED, UVZK_EEXPIRED,
                                    response.session_id != 0);
        break;
    case UVZK__HANDSHAKE_GRANTED:
        native_connection_granted(session, &response);
        break;
    }
}

/* A reply follows the events of every change that the server had applied. So an armed
 * watch can have missed only changes after its zxid. This is not true before all watches
 * are armed again, nor for an event: its transaction may have others, which follow it. */
static void see_zxid(struct uvzk__native_session *session, int64_t zxid)
{
    if (session->unanswered_rearms == 0 && zxid > session->last_zxid) {
        session->last_zxid = zxid;
    }
}

static int read_rearmed(struct uvzk__native_session *session,
                        const struct uvzk__wire_reply *header)
{
    if (header->err != 0) {
        return UV_ENOTSUP;
    }
    session->unanswered_rearms -= session->unanswered_rearms > 0;
    session->failed_rearms = 0;
    uvzk__conduct_answered(&session->conduct, session->received_at);
    see_zxid(session, header->zxid);
    return 0;
}

/* A message of an ASKING or CONNECTED session. */
static int read_message(struct uvzk__native_session *session,
                        struct uvzk__jute_bytes frame)
{
    struct uvzk__wire_reply header;
    int status = uvzk__wire_reply_read_header(frame, &header);

    if (status < 0) {
        return status;
    }
    if (header.err == UVZK__ERR_AUTH_REQUIRED) {
        uvzk__authentication_is_required(session);
        return 0;
    }
    switch (header.xid) {
    case UVZK__XID_PING:
        return 0;
    case UVZK__XID_EVENT:
        return session->user->event(session, frame);
    case UVZK__XID_AUTH:
        if (header.err != 0) {
            uvzk__native_session_finish(session, UVZK__SESSION_AUTH_FAILED, UVZK_EAUTH,
                                        true);
        }
        return 0;
    case UVZK__XID_SET_WATCHES:
        return read_rearmed(session, &header);
    default:
        uvzk__conduct_answered(&session->conduct, session->received_at);
        see_zxid(session, header.zxid);
        return session->state == UVZK__NATIVE_ASKING
                   ? read_asked(session, &header)
                   : session->user->answered(session, frame, header.xid);
    }
}

/* Why the connection is unusable. The search has just had an answer from this server, by
 * a question that names no transaction. */
static const char *loss_text(const struct uvzk__native_session *session,
                             const struct uvzk__stream *stream, int status)
{
    const char *failure = uvzk__stream_failure(stream);

    if (failure != NULL) {
        return failure;
    }
    if (uvzk__stream_is_handshaking(stream)) {
        return status == UV_EOF ? "closed the connection in the TLS handshake"
                                : uv_strerror(status);
    }
    if (status == UV_EOF && session->state == UVZK__NATIVE_ESTABLISHING &&
        session->last_zxid > 0) {
        return UVZK__OLDER_DATA_TEXT;
    }
    if (status == UV_EOF && session->state == UVZK__NATIVE_AUTHENTICATING) {
        return "closed the connection while the client authenticated by SASL";
    }
    return status == UV_EOF        ? "closed the connection"
           : status == UV_EPROTO   ? "sent what ZooKeeper does not send"
           : status == UV_EMSGSIZE ? "sent a message that is too long"
           : status == UV_ENOTSUP  ? "does not know a request of newer servers"
                                   : uv_strerror(status);
}

static void read_frames(struct uvzk__native_session *session, int status)
{
    struct uvzk__stream *stream = session->stream;
    struct uvzk__jute_bytes frame;
    int rc = 0;

    while (session->stream == stream && rc == 0 &&
           (rc = uvzk__stream_next(stream, &frame)) == 0) {
        if (session->state == UVZK__NATIVE_ASKING ||
            session->state == UVZK__NATIVE_CONNECTED) {
            rc = read_message(session, frame);
        } else if (session->state == UVZK__NATIVE_AUTHENTICATING) {
            rc = uvzk__authentication_read(session, frame);
        } else {
            read_response(session, frame);
        }
    }
    if (session->stream == stream && (rc != UV_EAGAIN || status < 0)) {
        int code = rc != UV_EAGAIN ? rc : status;
        uvzk__native_session_lose(session, code, loss_text(session, stream, code));
    }
}

static void stream_ready(struct uvzk__native_session *session, bool readable,
                         bool writable)
{
    struct uvzk__stream *stream = session->stream;
    int status = uvzk__stream_ready(stream, readable, writable);

    if (session->state == UVZK__NATIVE_CONNECTING) {
        if (status < 0) {
            uvzk__native_session_try_next(session, status,
                                          loss_text(session, stream, status));
        } else if (uvzk__stream_is_open(stream)) {
            send_connect_request(session);
        }
        return;
    }
    if (stream->received != session->received) {
        session->received = stream->received;
        session->received_at = uvzk_now();
    }
    read_frames(session, status);
    if (session->stream == stream) {
        uvzk__conduct_receives(&session->conduct, stream->in_length,
                               session->received_at);
    }
}

void uvzk__native_connection_ready(struct uvzk__sockets *sockets, int fd, bool readable,
                                   bool writable)
{
    struct uvzk__native_session *session =
        UVZK__CONTAINER_OF(sockets, struct uvzk__native_session, sockets);

    session->user->enter(session);
    if (session->stream != NULL && session->stream->fd == fd) {
        stream_ready(session, readable, writable);
    } else {
        uvzk__ending_streams_ready(&session->endings, fd);
    }
    session->user->leave(session);
}

/* ---------------------------------------------------------------------------- its time */

/* The session must be touched within its timeout, whatever is read meanwhile, and a silent
 * server must be noticed while there is time to find another. */
static uint64_t ping_at(const struct uvzk__native_session *session)
{
    return session->touched_at + session->timeout_ms / 3;
}

/* A server that answers pings and no request is as good as a silent one. */
static uint64_t silent_at(const struct uvzk__native_session *session)
{
    return uvzk__deadline_earlier(session->received_at,
                                  uvzk__conduct_owed_at(&session->conduct)) +
           (uint64_t)session->timeout_ms * 2 / 3;
}

/* Mostly nothing has been sent for some time, and the stream is at rest. */
static void native_connection_ping(struct uvzk__native_session *session)
{
    uvzk__stream_trim(session->stream);
    (void)uvzk__handshake_write_ping(uvzk__stream_out(session->stream));
    session->sent_at = session->touched_at = uvzk_now();
}

/* This process may have been stopped while the server's answer waited in the socket. */
static void check_silence(struct uvzk__native_session *session, uint64_t now)
{
    if (silent_at(session) <= now) {
        stream_ready(session, true, false);
    }
    if (session->state == UVZK__NATIVE_CONNECTED && silent_at(session) <= now) {
        if (uvzk__conduct_owed_at(&session->conduct) < session->received_at) {
            uvzk__search_avoid(session->search, session->server);
        }
        uvzk__native_session_lose(session, UV_ETIMEDOUT,
                                  "has not answered for two thirds of the session "
                                  "timeout");
    }
}

/* What a server has had no time for. */
static const char *late_text(const struct uvzk__native_session *session)
{
    return session->state == UVZK__NATIVE_AUTHENTICATING
               ? uvzk__authentication_late_text(session)
           : uvzk__stream_is_handshaking(session->stream)
               ? "has not finished the TLS handshake yet"
               : "no answer yet";
}

/* Its kernel is still connecting. */
static bool is_unaccepted(const struct uvzk__native_session *session)
{
    return session->state == UVZK__NATIVE_CONNECTING && session->stream->connecting;
}

void uvzk__native_connection_due(struct uvzk__sockets *sockets)
{
    struct uvzk__native_session *session =
        UVZK__CONTAINER_OF(sockets, struct uvzk__native_session, sockets);
    uint64_t now = uvzk_now();

    session->user->enter(session);
    session->alarm_at = UINT64_MAX;
    uvzk__ending_streams_due(&session->endings, now);
    if (session->state == UVZK__NATIVE_CONNECTED) {
        check_silence(session, now);
    } else if (session->stream != NULL && session->deadline <= now) {
        uvzk__native_session_try_next(session, UV_ETIMEDOUT, late_text(session));
    } else if (is_unaccepted(session) && session->tries.again_at <= now) {
        uvzk__native_session_connect_again(session);
    }
    if (session->state == UVZK__NATIVE_CONNECTED && ping_at(session) <= now) {
        native_connection_ping(session);
    }
    session->user->leave(session);
}

/* Most events postpone the next deadline. An alarm that comes too early is set again, so
 * it need not be moved each time. */
static void native_connection_plan(struct uvzk__native_session *session)
{
    uint64_t next = uvzk__ending_streams_next(&session->endings);

    if (session->state == UVZK__NATIVE_CONNECTED) {
        next = uvzk__deadline_earlier(
            next, uvzk__deadline_earlier(ping_at(session), silent_at(session)));
    } else if (session->stream != NULL) {
        next = uvzk__deadline_earlier(next, session->deadline);
        if (is_unaccepted(session)) {
            next = uvzk__deadline_earlier(next, session->tries.again_at);
        }
    }
    if (next < session->alarm_at) {
        session->alarm_at = next;
        uvzk__sockets_alarm(&session->sockets, next);
    }
}

void uvzk__native_connection_pump(struct uvzk__native_session *session, bool waits)
{
    if (session->state == UVZK__NATIVE_CONNECTED &&
        uvzk__stream_waiting(session->stream) > 0) {
        uvzk__stream_flush(session->stream);
        session->sent_at = uvzk_now();
        if (session->carries_touch) {
            session->touched_at = session->sent_at;
            session->carries_touch = false;
        }
    }
    if (session->state == UVZK__NATIVE_CONNECTED) {
        uvzk__conduct_owes(&session->conduct, waits || session->unanswered_rearms > 0,
                           session->sent_at);
    }
    if (session->has_sockets) {
        native_connection_plan(session);
    }
}
