/* SPDX-License-Identifier: Apache-2.0 */
/* TLS, from OpenSSL. A context is what all TLS connections of a client have in common: whom
 * it trusts, and who it is. Its files are read when the context is made, and again before a
 * connection if they have changed.
 *
 * On one connection, TLS is between bytes in memory: nothing here reads or writes a
 * socket. */
#ifndef UVZK_TLS_H
#define UVZK_TLS_H

#include <stddef.h>

#include "native/jute.h"

/* Room for a sentence about a certificate. */
#define UVZK__TLS_TEXT 600

struct uvzk__tls_context;
struct uvzk__tls;

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

/* The most bytes of plain text in one record. A server cannot use a part of a record. */
#define UVZK__TLS_RECORD_MAX 16384U

/* host: the name in the connect string; NULL: it has an address. address: as text.
 * Returns NULL if out of memory. */
struct uvzk__tls *uvzk__tls_new(struct uvzk__tls_context *context, const char *host,
                                const char *address);
void uvzk__tls_free(struct uvzk__tls *tls); /* NULL is allowed */

/* These return 0, UV_EAGAIN: more must be received first, UV_ENOMEM, or UV_EPROTO: the
 * connection is unusable, see uvzk__tls_failure. */

/* Continues the handshake. 0: it is done. */
int uvzk__tls_handshake(struct uvzk__tls *tls);
/* Takes bytes that were received. */
int uvzk__tls_receive(struct uvzk__tls *tls, const void *bytes, size_t length);
/* Decrypts up to *length bytes, and sets *length. UV_EOF: the server sends no more. */
int uvzk__tls_read(struct uvzk__tls *tls, void *bytes, size_t *length);
/* Encrypts one record, at most UVZK__TLS_RECORD_MAX bytes. */
int uvzk__tls_write(struct uvzk__tls *tls, const void *bytes, size_t length);

/* What is to be sent. It stays until uvzk__tls_sent. */
struct uvzk__jute_bytes uvzk__tls_output(const struct uvzk__tls *tls);
void uvzk__tls_sent(struct uvzk__tls *tls, size_t length);

/* Returns why the connection is unusable: a sentence without the server's name. */
const char *uvzk__tls_failure(const struct uvzk__tls *tls);

#endif
