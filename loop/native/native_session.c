/* SPDX-License-Identifier: Apache-2.0 */
/* The session of a native port (native_session.h): its machine, the search, and the
 * connection from one server to the next. native_connection.c has the events of a
 * connection, handshake.c its first messages. Everything runs on the loop's thread, and
 * reports only between user->enter and user->leave. */
#include "native/native_session.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "discovery/pause.h"
#include "native/native_connection.h"
#include "uvzk.h"

/* In ms. The pause after an unsuccessful search doubles up to this. */
#define PAUSE_LAST_MS 4000U

/* A server has a third of the session timeout for each step of the connection, but not
 * less than this. */
#define STEP_MIN_MS 200U

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__NATIVE_, DOWN, SEEKING),
    UVZK__STATE(UVZK__NATIVE_, SEEKING, CONNECTING, DOWN),
    UVZK__STATE(UVZK__NATIVE_, CONNECTING, ESTABLISHING, SEEKING, DOWN),
    UVZK__STATE(UVZK__NATIVE_, ESTABLISHING, AUTHENTICATING, ASKING, CONNECTED, SEEKING,
                DOWN),
    UVZK__STATE(UVZK__NATIVE_, AUTHENTICATING, ASKING, CONNECTED, SEEKING, DOWN),
    UVZK__STATE(UVZK__NATIVE_, ASKING, CONNECTED, SEEKING, DOWN),
    UVZK__STATE(UVZK__NATIVE_, CONNECTED, SEEKING, DOWN),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__native_session *session = object;

    if ((session->state == UVZK__NATIVE_AUTHENTICATING) != (session->sasl != NULL)) {
        return false;
    }
    switch (session->state) {
    case UVZK__NATIVE_DOWN:
    case UVZK__NATIVE_SEEKING:
        return session->stream == NULL;
    case UVZK__NATIVE_ASKING:
    case UVZK__NATIVE_CONNECTED:
        return session->stream != NULL && session->id != 0;
    default:
        return session->stream != NULL;
    }
}

const struct uvzk__machine uvzk__native_session_machine = UVZK__MACHINE(
    "native session", table, struct uvzk__native_session, state, invariant_holds);

/* ------------------------------------------------------------------------- the reports */

static bool may_report(const struct uvzk__native_session *session)
{
    return !uvzk__loop_port_is_closing(session->port) &&
           session->state != UVZK__NATIVE_DOWN &&
           session->state != UVZK__NATIVE_CONNECTED;
}

static void native_session_report(struct uvzk__native_session *session,
                                  const struct uvzk__connect_error *error)
{
    struct uvzk__port_user *user = session->port->port.user;

    if (may_report(session)) {
        user->no_connection(user, error);
    }
}

static void log_line(struct uvzk__native_session *session, const char *line)
{
    struct uvzk__port_user *user = session->port->port.user;

    if (may_report(session)) {
        user->log(user, UVZK_LOG_WARN, "session", line);
    }
}

void uvzk__native_session_blame(struct uvzk__native_session *session, int code,
                                const char *text)
{
    char line[UVZK__SERVER_TEXT + UVZK__TLS_TEXT];

    snprintf(line, sizeof(line), "%s: %s", session->server, text);
    log_line(session, line);
    native_session_report(session,
                          &(struct uvzk__connect_error){code, session->server, text});
}

/* The session no longer uses the stream. ends: the session of this connection is ended at
 * the server. stream: NULL is allowed. */
static void retire_stream(struct uvzk__native_session *session,
                          struct uvzk__stream *stream, bool ends)
{
    if (stream != NULL && ends && !uvzk__sockets_are_inherited(&session->sockets)) {
        uvzk__ending_streams_add(&session->endings, stream);
    } else if (stream != NULL) {
        uvzk__ending_streams_close(&session->endings, stream);
    }
}

void uvzk__native_session_end_exchange(struct uvzk__native_session *session)
{
    uvzk__sasl_free(session->sasl);
    session->sasl = NULL;
}

static void drop_stream(struct uvzk__native_session *session)
{
    uvzk__native_session_end_exchange(session);
    retire_stream(session, session->stream, false);
    session->stream = NULL;
}

/* ----------------------------------------------------------------- one server, the next */

static void forget_servers(struct uvzk__native_session *session)
{
    uvzk__free(session->servers);
    session->servers = NULL;
    session->server_count = session->next_server = 0;
}

static void native_session_seek(struct uvzk__native_session *session, uint32_t pause_ms)
{
    if (session->state != UVZK__NATIVE_SEEKING) {
        uvzk__port_move(&session->port->port, &uvzk__native_session_machine, session,
                        UVZK__NATIVE_SEEKING);
    }
    forget_servers(session);
    uvzk__search_begin(session->search, pause_ms);
}

/* The search found no server, or none of its servers can be used. */
static void seek_later(struct uvzk__native_session *session)
{
    native_session_seek(session, session->pause_ms);
    session->pause_ms = uvzk__pause_doubled(session->pause_ms, PAUSE_LAST_MS);
}

void uvzk__native_session_allow_step(struct uvzk__native_session *session)
{
    uint32_t ms = session->timeout_ms / 3;

    session->deadline = uvzk_now() + (ms > STEP_MIN_MS ? ms : STEP_MIN_MS);
}

/* The TLS of a connection to this address, whose certificate must be for the host of the
 * connect string. *tls is NULL if there is none. */
static int make_tls(struct uvzk__native_session *session,
                    const struct uvzk__named_address *server, struct uvzk__tls **tls)
{
    char text[UVZK__ADDRESS_TEXT];

    *tls = NULL;
    if (session->tls == NULL) {
        return 0;
    }
    const char *complaint = uvzk__tls_context_renew(session->tls);
    if (complaint != NULL) {
        log_line(session, complaint);
    }
    uvzk__address_text(&server->address, text);
    *tls = uvzk__tls_new(session->tls, server->host, text);
    return *tls == NULL ? UV_ENOMEM : 0;
}

static int open_stream(struct uvzk__native_session *session,
                       const struct uvzk__named_address *server)
{
    struct uvzk__tls *tls;
    int status = make_tls(session, server, &tls);

    if (status == 0) {
        session->stream =
            uvzk__stream_new(&session->sockets, &server->address, tls, &status);
    }
    return status;
}

/* Connects to the next server. The session is SEEKING. */
static void connect_next(struct uvzk__native_session *session)
{
    while (session->next_server < session->server_count) {
        const struct uvzk__named_address *server =
            &session->servers[session->next_server++];
        uvzk__address_server_text(&server->address, session->server);
        int status = open_stream(session, server);
        if (session->stream != NULL) {
            uvzk__native_session_allow_step(session);
            uvzk__connect_tries_begin(&session->tries, uvzk_now());
            uvzk__port_move(&session->port->port, &uvzk__native_session_machine, session,
                            UVZK__NATIVE_CONNECTING);
            return;
        }
        uvzk__native_session_blame(session, status, uv_strerror(status));
        if (session->state != UVZK__NATIVE_SEEKING) {
            return;
        }
    }
    seek_later(session);
}

void uvzk__native_session_connect_again(struct uvzk__native_session *session)
{
    struct uvzk__stream *stalled = session->stream;

    session->stream = NULL;
    (void)open_stream(session, &session->servers[session->next_server - 1]);
    if (session->stream != NULL) {
        retire_stream(session, stalled, false);
    } else {
        session->stream = stalled;
    }
    uvzk__connect_tries_next(&session->tries, uvzk_now());
}

/* There is no session to continue. */
static void forget_session(struct uvzk__native_session *session)
{
    session->id = 0;
    session->last_zxid = 0;
    session->timeout_ms = session->port->options.session_timeout_ms;
    explicit_bzero(session->password, sizeof(session->password));
    session->password_length = 0;
}

/* The connection is lost while the server is asked what it knows. The user was not told
 * of the session, which ends by its timeout. A server that has closed the connection is
 * asked again first. */
static void lose_asked(struct uvzk__native_session *session, int code)
{
    if (code != UV_ETIMEDOUT && code != UV_ENOMEM) {
        uvzk__dialect_lost(&session->port->dialect);
        session->next_server--;
    }
    forget_session(session);
    uvzk__port_timeout_reset(&session->port->port);
}

/* The server of the stream cannot be used. The session is not CONNECTED. */
void uvzk__native_session_try_next(struct uvzk__native_session *session, int code,
                                   const char *text)
{
    if (session->state == UVZK__NATIVE_ASKING) {
        lose_asked(session, code);
    }
    drop_stream(session);
    uvzk__port_move(&session->port->port, &uvzk__native_session_machine, session,
                    UVZK__NATIVE_SEEKING);
    uvzk__native_session_blame(session, code, text);
    if (session->state == UVZK__NATIVE_SEEKING) {
        connect_next(session);
    }
}

/* The connection of the CONNECTED session is lost. Its watches stay for the next one. */
static void native_session_disconnect(struct uvzk__native_session *session, int code)
{
    uint64_t taken = uvzk__stream_taken(session->stream);

    drop_stream(session);
    uvzk__port_move(&session->port->port, &uvzk__native_session_machine, session,
                    UVZK__NATIVE_SEEKING);
    uvzk__watch_table_lose_connection(session->watches);
    session->pause_ms = uvzk__pause_first(session->timeout_ms);
    uvzk__search_begin(session->search,
                       uvzk__conduct_lost(&session->conduct, code, session->timeout_ms));
    session->user->lost(session, taken);
}

/* Some servers do not know the request that re-arms watches, and close the connection. */
static void count_failed_rearm(struct uvzk__native_session *session, int code)
{
    bool failed =
        session->unanswered_rearms > 0 && (code == UV_EOF || code == UV_ENOTSUP);

    session->failed_rearms = failed ? session->failed_rearms + 1 : 0;
    session->unanswered_rearms = 0;
}

void uvzk__native_session_lose(struct uvzk__native_session *session, int code,
                               const char *text)
{
    if (session->state != UVZK__NATIVE_CONNECTED) {
        uvzk__native_session_try_next(session, code, text);
        return;
    }
    count_failed_rearm(session, code);
    if (uvzk__conduct_is_breach(code)) {
        uvzk__search_avoid(session->search, session->server);
    }
    native_session_disconnect(session, code);
    uvzk__native_session_blame(session, code, text);
}

void uvzk__native_session_leave(struct uvzk__native_session *session)
{
    if (session->state == UVZK__NATIVE_CONNECTED) {
        uvzk__search_avoid(session->search, session->server);
        native_session_disconnect(session, UVZK_EDIVERGED);
        uvzk__native_session_blame(session, UVZK_EDIVERGED, UVZK__DIVERGED_TEXT);
    }
}

/* ------------------------------------------------------------------------- its end */

/* A new session starts without any data of this one. Returns its stream, which the user's
 * callbacks may still read from. */
static struct uvzk__stream *native_session_forget(struct uvzk__native_session *session)
{
    struct uvzk__stream *stream = session->stream;

    session->stream = NULL;
    uvzk__native_session_end_exchange(session);
    forget_servers(session);
    forget_session(session);
    session->unanswered_rearms = session->failed_rearms = 0;
    uvzk__watch_table_clear(session->watches);
    if (session->search != NULL) {
        uvzk__search_rest(session->search);
    }
    return stream;
}

/* The event comes first, because the end at the server ends the ephemeral znodes. By then
 * no hold is still valid. */
void uvzk__native_session_finish(struct uvzk__native_session *session,
                                 enum uvzk__session_event_kind kind, int status,
                                 bool at_server)
{
    struct uvzk__stream *stream = native_session_forget(session);

    uvzk__port_move(&session->port->port, &uvzk__native_session_machine, session,
                    UVZK__NATIVE_DOWN);
    uvzk__port_timeout_reset(&session->port->port);
    session->user->ended(session, kind, status);
    retire_stream(session, stream, at_server);
}

/* Returns true if the session lives at the server of the stream. */
static bool is_granted(const struct uvzk__native_session *session)
{
    return session->state == UVZK__NATIVE_AUTHENTICATING ||
           session->state == UVZK__NATIVE_ASKING ||
           session->state == UVZK__NATIVE_CONNECTED;
}

void uvzk__native_session_expire(struct uvzk__native_session *session)
{
    if (session->state != UVZK__NATIVE_DOWN) {
        uvzk__native_session_finish(session, UVZK__SESSION_EXPIRED, UVZK_EEXPIRED,
                                    is_granted(session));
    }
}

/* --------------------------------------------------------------------------- the search */

static struct uvzk__native_session *session_of(struct uvzk__search_user *user)
{
    return UVZK__CONTAINER_OF(user, struct uvzk__native_session, search_user);
}

static void search_done(struct uvzk__search_user *user, int status)
{
    struct uvzk__native_session *session = session_of(user);

    session->user->enter(session);
    if (session->state == UVZK__NATIVE_SEEKING && status < 0 && session->id == 0) {
        uvzk__native_session_finish(session, UVZK__SESSION_OPEN_FAILED, status, false);
    } else if (session->state == UVZK__NATIVE_SEEKING) {
        forget_servers(session);
        session->server_count = uvzk__search_take_addresses(
            session->search, &session->servers, session->local_address);
        connect_next(session);
    }
    session->user->leave(session);
}

static void search_log(struct uvzk__search_user *user, const char *line)
{
    struct uvzk__native_session *session = session_of(user);
    struct uvzk__port_user *port_user = session->port->port.user;

    if (!uvzk__loop_port_is_closing(session->port)) {
        session->user->enter(session);
        port_user->log(port_user, UVZK_LOG_WARN, "search", line);
        session->user->leave(session);
    }
}

static void search_error(struct uvzk__search_user *user,
                         const struct uvzk__connect_error *error)
{
    struct uvzk__native_session *session = session_of(user);

    session->user->enter(session);
    native_session_report(session, error);
    session->user->leave(session);
}

static void search_broken(struct uvzk__search_user *user, const char *what)
{
    (void)uvzk__port_expect(&session_of(user)->port->port, false, what);
}

static void search_closed(struct uvzk__search_user *user)
{
    struct uvzk__native_session *session = session_of(user);

    session->user->enter(session);
    session->search = NULL;
    session->user->leave(session);
}

/* ------------------------------------------------------------------------ begin and end */

void uvzk__native_session_init(struct uvzk__native_session *session,
                               struct uvzk__loop_port *port,
                               struct uvzk__watch_table *watches,
                               struct uvzk__chroot *chroot, struct uvzk__tls_context *tls,
                               struct uvzk__sasl_context *sasl,
                               const struct uvzk__native_session_user *user)
{
    session->port = port;
    session->watches = watches;
    session->chroot = chroot;
    session->tls = uvzk__tls_context_share(tls);
    session->sasl_context = uvzk__sasl_context_share(sasl);
    session->user = user;
    session->timeout_ms = port->options.session_timeout_ms;
    session->search_user = (struct uvzk__search_user){.done = search_done,
                                                      .log = search_log,
                                                      .connect_error = search_error,
                                                      .closed = search_closed,
                                                      .broken = search_broken};
}

static void sockets_closed(struct uvzk__sockets *sockets)
{
    struct uvzk__native_session *session =
        UVZK__CONTAINER_OF(sockets, struct uvzk__native_session, sockets);

    session->user->enter(session);
    session->has_sockets = false;
    session->user->leave(session);
}

static int open_sockets(struct uvzk__native_session *session)
{
    if (session->has_sockets) {
        return 0;
    }
    session->sockets.ready = uvzk__native_connection_ready;
    session->sockets.due = uvzk__native_connection_due;
    session->sockets.closed = sockets_closed;
    int status = uvzk__sockets_open(&session->sockets, session->port->port_loop.loop);
    session->has_sockets = status == 0;
    session->alarm_at = UINT64_MAX;
    return status;
}

int uvzk__native_session_open(struct uvzk__native_session *session)
{
    int status = open_sockets(session);

    if (status == 0 && session->search == NULL) {
        session->search =
            uvzk__search_new(session->port->port_loop.loop, session->port->options.hosts,
                             session->timeout_ms, &session->search_user, &status);
    }
    if (status == 0 && session->tls != NULL) {
        uvzk__search_only_connect(session->search);
    }
    if (status == 0) {
        session->pause_ms = uvzk__pause_first(session->timeout_ms);
        native_session_seek(session, 0);
    }
    return status;
}

void uvzk__native_session_stop_ending(struct uvzk__native_session *session)
{
    uvzk__ending_streams_due(&session->endings, UINT64_MAX);
}

void uvzk__native_session_close(struct uvzk__native_session *session)
{
    bool granted = is_granted(session);
    struct uvzk__stream *stream = native_session_forget(session);

    if (session->state != UVZK__NATIVE_DOWN) {
        uvzk__port_move(&session->port->port, &uvzk__native_session_machine, session,
                        UVZK__NATIVE_DOWN);
    }
    retire_stream(session, stream, granted);
    if (session->search != NULL) {
        uvzk__search_close(session->search);
    }
}

bool uvzk__native_session_is_gone(struct uvzk__native_session *session)
{
    if (session->has_sockets && session->endings.lingering == NULL &&
        !session->sockets.closing) {
        uvzk__sockets_close(&session->sockets);
    }
    return session->search == NULL && !session->has_sockets;
}

void uvzk__native_session_end(struct uvzk__native_session *session)
{
    uvzk__ending_streams_free(&session->endings);
    uvzk__tls_context_free(session->tls);
    uvzk__sasl_context_free(session->sasl_context);
    explicit_bzero(session->granted_password, sizeof(session->granted_password));
    explicit_bzero(session->password, sizeof(session->password));
}
