/* What tls.c and tls_context.c share. */
#ifndef UVZK_TLS_INTERNAL_H
#define UVZK_TLS_INTERNAL_H

#include <stdbool.h>

#include <openssl/ssl.h>

#include "native/tls_context.h"

/* A new connection's SSL. NULL: out of memory. */
SSL *uvzk__tls_context_connection(const struct uvzk__tls_context *context);
/* The name that every certificate must have; NULL: that of each server. */
const char *uvzk__tls_context_name(const struct uvzk__tls_context *context);
/* Returns true if it has a certificate of its own. */
bool uvzk__tls_context_has_certificate(const struct uvzk__tls_context *context);
/* The CAs, for a sentence: a file's name, or "the system". */
const char *uvzk__tls_context_authority(const struct uvzk__tls_context *context);

#endif
