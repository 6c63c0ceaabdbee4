/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of a native session (native_session.h) on the loop. */
#ifndef UVZK_NATIVE_CONNECTION_H
#define UVZK_NATIVE_CONNECTION_H

#include "native/native_session.h"

/* The callbacks of the session's sockets. */
void uvzk__native_connection_ready(struct uvzk__sockets *sockets, int fd, bool readable,
                                   bool writable);
void uvzk__native_connection_due(struct uvzk__sockets *sockets);

/* The server accepts the client of an AUTHENTICATING session. */
void uvzk__native_connection_authenticated(struct uvzk__native_session *session);

/* To be called when what was written is to be sent: flushes the stream and sets the
 * alarm. waits: a request that was written has no answer yet. */
void uvzk__native_connection_pump(struct uvzk__native_session *session, bool waits);

#endif
