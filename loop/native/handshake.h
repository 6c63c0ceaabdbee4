/* SPDX-License-Identifier: Apache-2.0 */
/* What is said first on a connection: the connect request and its response, then the
 * credentials, then the watches of the session, and on the first connection of a port the
 * questions (port/dialect.h). Also the two messages without content: the ping, and the
 * end of a session. */
#ifndef UVZK_HANDSHAKE_H
#define UVZK_HANDSHAKE_H

#include "native/jute.h"
#include "native/wire_reply.h"
#include "port/dialect.h"

struct uvzk__native_session;

enum uvzk__handshake_result {
    UVZK__HANDSHAKE_GRANTED,      /* the session, new or as before */
    UVZK__HANDSHAKE_EXPIRED,      /* the session to continue has ended */
    UVZK__HANDSHAKE_WRONG_SERVER, /* no ZooKeeper server */
    UVZK__HANDSHAKE_READ_ONLY     /* a server without a quorum */
};

/* All that write append one frame or nothing. They return 0, UV_ENOMEM or UV_EMSGSIZE. */
int uvzk__handshake_write_request(const struct uvzk__native_session *session,
                                  struct uvzk__jute_writer *out);
int uvzk__handshake_write_ping(struct uvzk__jute_writer *out);
int uvzk__handshake_write_end(struct uvzk__jute_writer *out);
int uvzk__handshake_write_question(struct uvzk__jute_writer *out,
                                   enum uvzk__feature feature);

/* Returns the feature that an answer with this xid is about; UVZK__FEATURES: none. */
enum uvzk__feature uvzk__handshake_asked_feature(int32_t xid);

/* Reads the response. *text: what is wrong with the server. A session that the server has
 * begun in place of the one that has ended is in *response. */
enum uvzk__handshake_result
uvzk__handshake_read(const struct uvzk__native_session *session,
                     struct uvzk__jute_bytes frame,
                     struct uvzk__connect_response *response, const char **text);
/* The response grants the session: keeps what is needed to continue it, and writes the
 * credentials and the watches before everything else. Returns 0, or UV_ENOMEM,
 * UV_EMSGSIZE: then this connection is unusable. */
int uvzk__handshake_take(struct uvzk__native_session *session,
                         const struct uvzk__connect_response *response);

#endif
