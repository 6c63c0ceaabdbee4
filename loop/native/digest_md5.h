/* SPDX-License-Identifier: Apache-2.0 */
/* The mechanism DIGEST-MD5 of SASL (RFC 2831), as ZooKeeper's servers want it: quality of
 * protection "auth", and a digest-uri that is the same for every server. A password is
 * never sent, but who records an exchange can try passwords.
 *
 * Everything here computes; nothing reads a file or a socket. */
#ifndef UVZK_DIGEST_MD5_H
#define UVZK_DIGEST_MD5_H

#include <stdbool.h>
#include <stddef.h>

#include "native/jute.h"

/* The hash as hexadecimal digits, and a NUL. */
#define UVZK__MD5_TEXT 33

/* What the server sends first, RFC 2831 2.1.1. Quoted strings are without their quotes and
 * backslashes. */
struct uvzk__digest_challenge {
    char realm[256];
    char nonce[256];
    bool utf8; /* the server expects names in UTF-8 */
};

/* Returns NULL, or what is wrong with the challenge: a sentence about the server. */
const char *uvzk__digest_challenge_read(struct uvzk__jute_bytes bytes,
                                        struct uvzk__digest_challenge *challenge);

/* Who the client is. */
struct uvzk__digest_client {
    const char *user, *password;
    const char *cnonce; /* random text of letters and digits */
};

/* Appends the response to the challenge to `response`, without a frame, and stores in
 * `expected` what the server then has to answer, without "rspauth=". Returns 0; UV_ENOMEM;
 * UV_ENOTSUP: OpenSSL has no MD5. */
int uvzk__digest_respond(const struct uvzk__digest_challenge *challenge,
                         const struct uvzk__digest_client *client,
                         struct uvzk__jute_writer *response,
                         char expected[UVZK__MD5_TEXT]);

/* Returns true if the server's last answer proves that it knows the password. */
bool uvzk__digest_is_proof(struct uvzk__jute_bytes answer,
                           const char expected[UVZK__MD5_TEXT]);

/* Returns true if OpenSSL has MD5, which it has not in its FIPS mode. */
bool uvzk__digest_is_possible(void);

#endif
