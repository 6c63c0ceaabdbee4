/* Why there is no connection, and for how long there has been none: the last reason is
 * kept for who asks (uvzk_client_last_error), and said again as the pause grows, so
 * that an operator who comes late finds it at the end of the log. It needs no moments
 * of its own: as long as a port has no connection it says why, again and again
 * (port.h). */
#ifndef UVZK_NO_CONNECTION_H
#define UVZK_NO_CONNECTION_H

#include "engine/port.h"

struct uvzk__session;

#define UVZK__CONNECT_ERROR_ADDRESS \
    300 /* a host name of 255 bytes, or an address; its port */
#define UVZK__CONNECT_ERROR_TEXT 200

/* Of a client. */
struct uvzk__no_connection {
    int code; /* of the last reason; 0: none yet */
    uint64_t at_ms;
    char address[UVZK__CONNECT_ERROR_ADDRESS]; /* "": of nobody in particular */
    char text[UVZK__CONNECT_ERROR_TEXT];
    uint64_t since_ms; /* without a connection; 0: not so */
    uint64_t say_at_ms;
    uint32_t pause_ms; /* before it is said again */
};

/* There is no connection, from now on if not since earlier. */
void uvzk__no_connection_begin(struct uvzk__session *);

/* There is one. */
void uvzk__no_connection_end(struct uvzk__session *);

/* Whose address was told with this code last, by the search for servers; "": nobody's. */
const char *uvzk__no_connection_address(const struct uvzk__session *, int code);

/* A reason, which is kept; true: it is time to say that there is no connection still. */
bool uvzk__no_connection_because(struct uvzk__session *,
                                 const struct uvzk__connect_error *);

/* Says so. */
void uvzk__no_connection_log(struct uvzk__session *);

#endif
