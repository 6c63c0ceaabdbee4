/* What all TLS connections of a client have in common: whom it trusts, and who it is. The
 * files are read when the context is made, and again before a connection if they have
 * changed. */
#ifndef UVZK_TLS_CONTEXT_H
#define UVZK_TLS_CONTEXT_H

#include <stddef.h>

/* Room for a sentence about a certificate. */
#define UVZK__TLS_TEXT 600

struct uvzk__tls_context;

/* options: as in options.tls. Returns 0; UV_ENOMEM; UV_EINVAL: a malformed list; a file
 * cannot be read or used; UV_ENOTSUP: uvzk was built without TLS. A failure sets the
 * refusal text (base/refusal.h). */
int uvzk__tls_context_new(const char *options, struct uvzk__tls_context **context);
void uvzk__tls_context_free(struct uvzk__tls_context *context); /* NULL is allowed */

/* ------------------------------------------------------------ for this room alone */

/* One more user, who calls uvzk__tls_context_free too. Returns the context; NULL is
 * allowed. */
struct uvzk__tls_context *uvzk__tls_context_share(struct uvzk__tls_context *context);

/* Reads the files again if they have changed. Returns NULL, or a sentence that says why
 * the new ones cannot be used; then the old ones stay in use. */
const char *uvzk__tls_context_renew(struct uvzk__tls_context *context);

#endif
