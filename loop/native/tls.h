/* TLS on one connection, from OpenSSL, between bytes in memory: nothing here reads or
 * writes a socket. */
#ifndef UVZK_TLS_H
#define UVZK_TLS_H

#include <stddef.h>

#include "native/jute_reader.h"
#include "native/tls_context.h"

/* The most bytes of plain text in one record. A server cannot use a part of a record. */
#define UVZK__TLS_RECORD_MAX 16384U

struct uvzk__tls;

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
