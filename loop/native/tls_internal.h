/* What tls.c and tls_context.c share. */
#ifndef UVZK_TLS_INTERNAL_H
#define UVZK_TLS_INTERNAL_H

#include <stdbool.h>

#include <openssl/ssl.h>

#include "discovery/addresses.h"
#include "native/tls_context.h"

struct uvzk__tls;

/* "address:port" of its server. The app data of an SSL is its struct uvzk__tls. */
const char *uvzk__tls_server(const struct uvzk__tls *tls);

/* A new connection's SSL, which resumes the session with this server if there is one.
 * NULL: out of memory. */
SSL *uvzk__tls_context_connection(struct uvzk__tls_context *context, const char *server);
/* The name that every certificate must have; NULL: that of each server. */
const char *uvzk__tls_context_name(const struct uvzk__tls_context *context);
/* Whether it has a certificate of its own. */
bool uvzk__tls_context_has_certificate(const struct uvzk__tls_context *context);
/* The CAs, for a sentence: a file's name, or "the system". */
const char *uvzk__tls_context_authority(const struct uvzk__tls_context *context);

#endif
