/* The options of a client that its ports need, copied. */
#ifndef UVZK_PORT_OPTIONS_H
#define UVZK_PORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uvzk.h"

struct uvzk__port_options {
    char *hosts;                 /* the connect string as the user gave it */
    uint32_t session_timeout_ms; /* as the user asked for it */
    char *auth_scheme;           /* NULL: no credentials */
    /* The credentials, auth_length bytes; cleared before they are freed. */
    void *auth;
    size_t auth_length;
};

/* Copies what a port needs, into memory of zeros. Returns false if out of memory;
 * uvzk__port_options_free must be called in both cases. */
bool uvzk__port_options_copy(struct uvzk__port_options *into,
                             const uvzk_client_options_t *from);
void uvzk__port_options_free(struct uvzk__port_options *options);

#endif
