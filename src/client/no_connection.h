/* SPDX-License-Identifier: Apache-2.0 */
/* Why a session has no connection, and since when. The last reason is kept for
 * uvzk_client_last_error. It is also logged again, with growing pauses, so that an
 * operator who looks at the log later finds it near the end. No timer is needed: a port
 * without a connection reports the reason every few seconds (port.h, 8). */
#ifndef UVZK_NO_CONNECTION_H
#define UVZK_NO_CONNECTION_H

#include "engine/port.h"

struct uvzk__session;

#define UVZK__CONNECT_ERROR_ADDRESS \
    300 /* room for a host name of 255 bytes, or an address, and the port */
#define UVZK__CONNECT_ERROR_TEXT 400

/* One for each session. */
struct uvzk__no_connection {
    int code; /* of the last reason; 0: there has been none */
    /* When the last reason was reported. */
    uint64_t at_ms;
    /* The server or host name that the reason is about; "": none. */
    char address[UVZK__CONNECT_ERROR_ADDRESS];
    char text[UVZK__CONNECT_ERROR_TEXT];
    /* Since when there is no connection; 0: there is one, or none is wanted yet. */
    uint64_t since_ms;
    /* The earliest time at which the reason is logged again. */
    uint64_t say_at_ms;
    uint32_t pause_ms; /* between the last log line and the next one */
};

/* There is no connection from now on. Does nothing if there has been none before. */
void uvzk__no_connection_begin(struct uvzk__session *);

/* There is a connection. */
void uvzk__no_connection_end(struct uvzk__session *);

/* The address that was last reported with this code, by the search for servers; "" if the
 * last reason had another code. */
const char *uvzk__no_connection_address(const struct uvzk__session *, int code);

/* What was last reported with this code, such as what a server lacks; what the code means if
 * the last reason had another code. */
const char *uvzk__no_connection_text(const struct uvzk__session *, int code);

/* Records a reason. Returns true if it is time to log it. */
bool uvzk__no_connection_because(struct uvzk__session *,
                                 const struct uvzk__connect_error *);

/* A fault of uvzk has closed the client (engine/invariant.h): the last reason. */
void uvzk__no_connection_broken(struct uvzk__session *);

/* Logs the last reason and how long there has been no connection, and doubles the
 * pause. */
void uvzk__no_connection_log(struct uvzk__session *);

#endif
