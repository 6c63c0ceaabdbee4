/* SPDX-License-Identifier: Apache-2.0 */
/* The state AUTHENTICATING of a native session (authentication.h). native_connection.c calls
 * it for what comes from the server, and goes on when the server has accepted the client. */
#include "native/authentication.h"

#include <stdio.h>
#include <string.h>

#include "native/native_connection.h"
#include "native/sasl.h"
#include "native/wire_request.h"
#include "uvzk.h"

/* ------------------------------------------------------------------------------ the end */

/* No other server is tried. */
static void give_up(struct uvzk__native_session *session, const char *text)
{
    struct uvzk__stream *stream = session->stream;

    uvzk__native_session_blame(session, UVZK_EAUTH, text);
    if (session->stream == stream) {
        uvzk__native_session_finish(session, UVZK__SESSION_AUTH_FAILED, UVZK_EAUTH, true);
    }
}

static void authentication_fail(struct uvzk__native_session *session)
{
    char text[UVZK__SASL_TEXT];
    int code = session->sasl->code;

    memcpy(text, session->sasl->failure, sizeof(text));
    if (code == UVZK_EAUTH && session->id == 0) {
        give_up(session, text);
    } else {
        uvzk__native_session_try_next(session, code, text);
    }
}

void uvzk__authentication_is_required(struct uvzk__native_session *session)
{
    const char *text = session->sasl_context == NULL
                           ? "serves only clients that authenticate, and options.sasl is "
                             "not set"
                           : "serves only clients that authenticate otherwise (its "
                             "enforce.auth.schemes)";

    if (session->state != UVZK__NATIVE_CONNECTED) {
        give_up(session, text);
        return;
    }
    uvzk__native_session_lose(session, UVZK_EAUTH, text);
    if (session->state == UVZK__NATIVE_SEEKING) {
        uvzk__native_session_finish(session, UVZK__SESSION_AUTH_FAILED, UVZK_EAUTH,
                                    false);
    }
}

const char *uvzk__authentication_late_text(const struct uvzk__native_session *session)
{
    return session->sasl->state == UVZK__SASL_MAKING
               ? "waits for a ticket: the KDC has not answered yet"
               : "has not answered to SASL yet";
}

/* ------------------------------------------------------------------------ the exchange */

static int send_token(struct uvzk__native_session *session)
{
    /* A token of no bytes is not null, which a Java server could not read. */
    const struct uvzk__jute_writer *token = &session->sasl->token;
    const struct uvzk__wire_request request = {
        .xid = UVZK__XID_SASL,
        .opcode = UVZK__OPCODE_SASL,
        .data = token->length > 0 ? uvzk__jute_bytes(token->bytes, token->length)
                                  : uvzk__jute_text("")};
    int status = uvzk__wire_request_write(uvzk__stream_out(session->stream),
                                          UVZK__JUTE_MAXBUFFER, &request);

    uvzk__stream_flush(session->stream);
    uvzk__native_session_allow_step(session);
    return status;
}

/* A step of the exchange has ended, or has not. */
static int heed_exchange(struct uvzk__native_session *session)
{
    switch (session->sasl->state) {
    case UVZK__SASL_ASKED:
        return send_token(session);
    case UVZK__SASL_ACCEPTED:
        uvzk__native_connection_authenticated(session);
        return 0;
    case UVZK__SASL_FAILED:
        authentication_fail(session);
        return 0;
    default:
        return 0;
    }
}

static void token_made(struct uvzk__sasl *sasl)
{
    struct uvzk__native_session *session = sasl->user;

    session->user->enter(session);
    int status = heed_exchange(session);
    if (status < 0) {
        uvzk__native_session_try_next(session, status, uv_strerror(status));
    }
    session->user->leave(session);
}

static void keep_granted(struct uvzk__native_session *session,
                         const struct uvzk__connect_response *response)
{
    session->granted = *response;
    memcpy(session->granted_password, response->password.at, response->password.length);
    session->granted.password.at = session->granted_password;
}

void uvzk__authentication_begin(struct uvzk__native_session *session,
                                const struct uvzk__connect_response *response)
{
    struct uvzk__port *port = &session->port->port;
    struct uvzk__sasl *sasl =
        uvzk__sasl_new(session->sasl_context, port, &session->port->to_loop,
                       &session->servers[session->next_server - 1], token_made, session);

    if (sasl == NULL) {
        uvzk__native_session_try_next(session, UV_ENOMEM, uv_strerror(UV_ENOMEM));
        return;
    }
    keep_granted(session, response);
    session->sasl = sasl;
    uvzk__port_move(port, &uvzk__native_session_machine, session,
                    UVZK__NATIVE_AUTHENTICATING);
    uvzk__native_session_allow_step(session);
    uvzk__sasl_step(sasl, uvzk__jute_bytes(NULL, 0));
    int status = heed_exchange(session);
    if (status < 0) {
        uvzk__native_session_try_next(session, status, uv_strerror(status));
    }
}

int uvzk__authentication_read(struct uvzk__native_session *session,
                              struct uvzk__jute_bytes frame)
{
    struct uvzk__wire_reply reply;
    int status = uvzk__wire_reply_read(frame, UVZK__OPCODE_SASL, &reply);

    if (status < 0) {
        return status;
    }
    if (reply.xid != UVZK__XID_SASL || session->sasl->state != UVZK__SASL_ASKED) {
        return UV_EPROTO;
    }
    if (reply.err == UVZK__ERR_AUTH_FAILED || reply.err == UVZK__ERR_AUTH_REQUIRED) {
        give_up(session, "refused the client by SASL; the server's log says why");
        return 0;
    }
    if (reply.err != 0) {
        return UV_EPROTO;
    }
    uvzk__sasl_step(session->sasl, reply.data);
    return heed_exchange(session);
}
