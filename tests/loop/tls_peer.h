/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates, and a server of OpenSSL in the same process: what TLS is tried against. */
#ifndef TLS_PEER_H
#define TLS_PEER_H

#include <stdbool.h>

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "native/tls.h"

struct issuer {
    EVP_PKEY *key;
    X509 *certificate;
};

/* Valid from so many days from now to so many; by: NULL: by itself. names: the
 * subjectAltName; NULL: none. */
struct issuer certify(const char *name, const struct issuer *by, long from_days,
                      long to_days, const char *names);
void discard(struct issuer *issuer);

/* Between bytes in memory. */
void listen_in_memory(SSL *server);
SSL *serve(const struct issuer *as);

/* What the client has to say goes to the server, and what the server answers to the client.
 * Returns whether the server has said anything. */
bool carry(struct uvzk__tls *tls, SSL *server);
/* The outcome of a handshake. */
int shake_hands(struct uvzk__tls *tls, SSL *server);

#endif
