/* Why there is no connection, and for how long there has been none: the last reason is kept
 * for who asks (uvzk_client_last_error), and said again as the pause grows, so that an
 * operator who comes late finds it at the end of the log. It needs no moments of its own: as
 * long as a port has no connection it says why, again and again (port.h). */
#ifndef UVZK_UNREACHED_H
#define UVZK_UNREACHED_H

#include "engine/port.h"

struct uvzk__client;

#define UVZK__TROUBLE_ADDRESS 300 /* a host name of 255 bytes, or an address; its port */
#define UVZK__TROUBLE_TEXT 200

/* Of a client. */
struct uvzk__unreached {
    int code; /* of the last reason; 0: none yet */
    uint64_t at_ms;
    char address[UVZK__TROUBLE_ADDRESS]; /* "": of nobody in particular */
    char text[UVZK__TROUBLE_TEXT];
    uint64_t since_ms; /* without a connection; 0: not so */
    uint64_t say_at_ms;
    uint32_t pause_ms; /* before it is said again */
};

/* There is no connection, from now on if not since earlier. */
void uvzk__unreached_begin(struct uvzk__client *);

/* There is one. */
void uvzk__unreached_end(struct uvzk__client *);

/* Whose address was told with this code last, by the search for servers; "": nobody's. */
const char *uvzk__unreached_at(const struct uvzk__client *, int code);

/* A reason, which is kept; true: it is time to say that there is no connection still. */
bool uvzk__unreached_for(struct uvzk__client *, const struct uvzk__trouble *);

/* Says so. */
void uvzk__unreached_say(struct uvzk__client *);

#endif
