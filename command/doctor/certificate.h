/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate that a server presents in a TLS handshake: until when it is valid, and for
 * which names. Whether its CA is trusted is what a session of the library tells. A build
 * without TLS has certificate_absent.c. */
#ifndef CERTIFICATE_H
#define CERTIFICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "doctor/server_exchange.h"

#define CERTIFICATE_DATE_SIZE 16
#define CERTIFICATE_NAMES_SIZE 256

struct certificate {
    bool seen;
    char reason[256]; /* if it was not seen: why */
    bool is_early;    /* it is not valid yet */
    bool has_expired;
    int days_left; /* until it expires; negative: since it has expired */
    char expires[CERTIFICATE_DATE_SIZE]; /* "2026-12-31", in UTC */
    bool has_name;                       /* it is for the name */
    char names[CERTIFICATE_NAMES_SIZE];  /* those that it is for, or some of them */

    /* Its own. */
    const char *name;
    struct server_exchange exchange;
    struct tls_exchange *tls; /* owned */
};

/* Connects to the address and begins a handshake; it is over when the exchange is.
 * name: a name, or an address. The struct must be zeroed; certificate_free frees what it
 * owns. */
void certificate_look(struct certificate *, uv_loop_t *, const struct sockaddr *address,
                      const char *name);
/* Ends it, unless it is over. */
void certificate_give_up(struct certificate *);
void certificate_free(struct certificate *);

#endif
