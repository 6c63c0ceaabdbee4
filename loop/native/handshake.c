/* SPDX-License-Identifier: Apache-2.0 */
/* The messages around a connection's start and end (handshake.h). These functions write
 * frames and read the response; native_connection.c decides when each is sent. The
 * credentials and the watches are written before any request, so the server handles them
 * first. */
#include "native/handshake.h"

#include <string.h>
#include <uv.h>

#include "native/native_session.h"
#include "native/wire_request.h"

int uvzk__handshake_write_request(const struct uvzk__native_session *session,
                                  struct uvzk__jute_writer *out)
{
    static const unsigned char no_password[16];
    bool continues = session->id != 0;
    /* A server that lags behind last_zxid refuses the session, so it never goes back in
     * time. has_read_only with read_only 0: a server without a quorum refuses too. */
    const struct uvzk__connect_request request = {
        .last_zxid = session->last_zxid,
        .timeout_ms = (int32_t)session->port->options.session_timeout_ms,
        .session_id = session->id,
        .password = continues
                        ? uvzk__jute_bytes(session->password, session->password_length)
                        : uvzk__jute_bytes(no_password, sizeof(no_password)),
        .has_read_only = true,
    };

    return uvzk__connect_request_write(out, UVZK__JUTE_MAXBUFFER, &request);
}

static int write_bare(struct uvzk__jute_writer *out, int32_t xid, int32_t opcode)
{
    const struct uvzk__wire_request request = {.xid = xid, .opcode = opcode};

    return uvzk__wire_request_write(out, UVZK__JUTE_MAXBUFFER, &request);
}

int uvzk__handshake_write_ping(struct uvzk__jute_writer *out)
{
    return write_bare(out, UVZK__XID_PING, UVZK__OPCODE_PING);
}

/* Its answer is ignored, so its xid differs from those of answers that are read. */
int uvzk__handshake_write_end(struct uvzk__jute_writer *out)
{
    return write_bare(out, 0, UVZK__OPCODE_CLOSE_SESSION);
}

/* The xids of the questions, from this one on. */
#define FIRST_QUESTION 1

/* WatcherType.Any, and AddWatchMode.PERSISTENT_RECURSIVE: the mode that the port uses. */
#define ANY_WATCHES 3
#define PERSISTENT_RECURSIVE 1

/* CreateMode, as flags: if a server did create it, it would not last. */
#define EPHEMERAL 1
#define CONTAINER 4

int uvzk__handshake_write_question(struct uvzk__jute_writer *out,
                                   enum uvzk__feature feature)
{
    static const struct {
        int32_t opcode, mode;
    } questions[] = {
        [UVZK__FEATURE_CREATE2] = {UVZK__OPCODE_CREATE2, EPHEMERAL},
        [UVZK__FEATURE_CONTAINERS] = {UVZK__OPCODE_CREATE_CONTAINER, CONTAINER},
        [UVZK__FEATURE_PERSISTENT] = {UVZK__OPCODE_ADD_WATCH, PERSISTENT_RECURSIVE},
        [UVZK__FEATURE_REMOVAL] = {UVZK__OPCODE_REMOVE_WATCHES, ANY_WATCHES},
    };
    const struct uvzk__wire_acl anyone = {.permissions = UVZK_PERM_ALL,
                                          .scheme = uvzk__jute_text("world"),
                                          .id = uvzk__jute_text("anyone")};
    struct uvzk__wire_request request = {.xid = FIRST_QUESTION + (int32_t)feature,
                                         .opcode = questions[feature].opcode,
                                         .mode = questions[feature].mode,
                                         .path = uvzk__jute_text(UVZK__DIALECT_PATH)};
    struct uvzk__jute_writer acl;

    uvzk__jute_writer_init(&acl);
    uvzk__wire_acl_add(&acl, &anyone);
    int status = uvzk__jute_list_of(&acl, 1, &request.acl);
    if (status == 0) {
        status = uvzk__wire_request_write(out, UVZK__JUTE_MAXBUFFER, &request);
    }
    uvzk__jute_writer_end(&acl);
    return status;
}

enum uvzk__feature uvzk__handshake_asked_feature(int32_t xid)
{
    bool asked = xid >= FIRST_QUESTION && xid < FIRST_QUESTION + (int32_t)UVZK__FEATURES;

    return asked ? (enum uvzk__feature)(xid - FIRST_QUESTION) : UVZK__FEATURES;
}

enum uvzk__handshake_result
uvzk__handshake_read(const struct uvzk__native_session *session,
                     struct uvzk__jute_bytes frame,
                     struct uvzk__connect_response *response, const char **text)
{
    *text = "sent what ZooKeeper does not send";
    if (uvzk__connect_response_read(frame, response) < 0 ||
        response->password.length > UVZK__PASSWORD_MAX) {
        return UVZK__HANDSHAKE_WRONG_SERVER;
    }
    bool granted = response->timeout_ms > 0 && response->session_id != 0;
    if (session->id != 0 && (!granted || response->session_id != session->id)) {
        /* A server that begins another session says with it that ours has ended. */
        response->session_id = granted ? response->session_id : 0;
        return UVZK__HANDSHAKE_EXPIRED;
    }
    if (!granted) {
        *text = UVZK__NO_SESSION_TEXT;
        return UVZK__HANDSHAKE_WRONG_SERVER;
    }
    if (response->read_only) {
        *text = "has no quorum: it is read-only";
        return UVZK__HANDSHAKE_READ_ONLY;
    }
    return UVZK__HANDSHAKE_GRANTED;
}

static int write_credentials(const struct uvzk__native_session *session,
                             struct uvzk__jute_writer *out)
{
    const struct uvzk__port_options *options = &session->port->options;
    const struct uvzk__wire_request request = {
        .xid = UVZK__XID_AUTH,
        .opcode = UVZK__OPCODE_AUTH,
        .scheme = uvzk__jute_text(options->auth_scheme),
        .data = uvzk__jute_bytes(options->auth, options->auth_length)};

    return options->auth_scheme == NULL
               ? 0
               : uvzk__wire_request_write(out, UVZK__JUTE_MAXBUFFER, &request);
}

int uvzk__handshake_take(struct uvzk__native_session *session,
                         const struct uvzk__connect_response *response)
{
    struct uvzk__jute_writer *out = uvzk__stream_out(session->stream);
    int status = write_credentials(session, out);
    int rearms = status < 0 ? status
                            : uvzk__watch_table_rearm(session->watches, session->chroot,
                                                      session->last_zxid, out);
    if (rearms < 0) {
        return rearms;
    }
    session->unanswered_rearms = (unsigned)rearms;
    session->id = response->session_id;
    session->timeout_ms = (uint32_t)response->timeout_ms;
    session->password_length = response->password.length;
    if (response->password.length > 0) {
        memcpy(session->password, response->password.at, response->password.length);
    }
    return 0;
}
