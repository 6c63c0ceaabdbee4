/* Copies and frees the options that a port needs (port_options.h). Credentials are
 * cleared before they are freed. */
#include "port/port_options.h"

#include <string.h>

#include "base/memory.h"

bool uvzk__port_options_copy(struct uvzk__port_options *into,
                             const uvzk_client_options_t *from)
{
    into->session_timeout_ms = from->session_timeout_ms;
    into->hosts = uvzk__strdup(from->hosts);
    if (from->auth_scheme == NULL) {
        return into->hosts != NULL;
    }
    size_t length = from->auth != NULL ? from->auth_length : 0;
    into->auth_scheme = uvzk__strdup(from->auth_scheme);
    into->auth = uvzk__memdup(length > 0 ? from->auth : "", length);
    into->auth_length = length;
    return into->hosts != NULL && into->auth_scheme != NULL && into->auth != NULL;
}

/* The credentials must not stay in freed memory. */
void uvzk__port_options_free(struct uvzk__port_options *options)
{
    if (options->auth != NULL) {
        explicit_bzero(options->auth, options->auth_length);
    }
    uvzk__free(options->auth);
    uvzk__free(options->auth_scheme);
    uvzk__free(options->hosts);
}
