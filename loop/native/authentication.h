/* SPDX-License-Identifier: Apache-2.0 */
/* What a native session does in the state AUTHENTICATING: its exchange of SASL (sasl.h), on
 * a connection for which the server has granted the session. Nothing else is sent before
 * the server has accepted the client.
 *
 * A failure ends the session if a server has refused the client, and if there was no session
 * to continue. A session that lives is not given up for what this side lacks, or for what one
 * server lacks: its other servers are tried, until it expires. A KDC that does not answer
 * never ends the search. */
#ifndef UVZK_AUTHENTICATION_H
#define UVZK_AUTHENTICATION_H

#include "native/native_session.h"

/* ZooKeeper's codes: the credentials were refused; the server serves only clients whom it has
 * authenticated. */
#define UVZK__ERR_AUTH_FAILED (-115)
#define UVZK__ERR_AUTH_REQUIRED (-124)

/* The session is ESTABLISHING, and the server has granted it. */
void uvzk__authentication_begin(struct uvzk__native_session *session,
                                const struct uvzk__connect_response *response);
/* A frame of an AUTHENTICATING session. Returns 0, or a code if the connection is
 * unusable. */
int uvzk__authentication_read(struct uvzk__native_session *session,
                              struct uvzk__jute_bytes frame);
/* What has taken too long. */
const char *uvzk__authentication_late_text(const struct uvzk__native_session *session);
/* A server answers a request with UVZK__ERR_AUTH_REQUIRED, and closes the connection: ends
 * the session. */
void uvzk__authentication_is_required(struct uvzk__native_session *session);

#endif
