/* SPDX-License-Identifier: Apache-2.0 */
/* Kerberos tickets, and the contexts of GSSAPI that they are used for. Every call but the
 * frees may block: they run on the thread of gssapi.c. */
#ifndef UVZK_TICKETS_H
#define UVZK_TICKETS_H

#include <stdbool.h>
#include <stddef.h>

#include <gssapi/gssapi.h>

#include "discovery/addresses.h"
#include "discovery/hosts.h"
#include "native/gssapi.h"
#include "native/sasl_options.h"

#define UVZK__SERVICES_MAX 16

/* Of one client: nothing here is shared with another client, nor with the rest of the
 * process. */
struct uvzk__tickets {
    struct uvzk__sasl_options options;
    char cache[64];      /* the name of a cache in memory; "": another one is used */
    uint32_t lifetime_s; /* of the ticket that was acquired last */
    char *services[UVZK__SERVICES_MAX]; /* owned: whose tickets are renewed */
    size_t service_count;
};

/* Reads the options. 0 or UV_ENOMEM; then there is nothing to end. */
int uvzk__tickets_init(struct uvzk__tickets *tickets, const char *list);
void uvzk__tickets_end(struct uvzk__tickets *tickets);

/* Returns true if the tickets come from a keytab, and so can be renewed. */
bool uvzk__tickets_are_renewable(const struct uvzk__tickets *tickets);
/* Renews the client's ticket if half of its life is over, and then the services'. */
void uvzk__tickets_renew(struct uvzk__tickets *tickets);

/* One exchange, by its steps. In memory of zeros. */
struct uvzk__ticket_use {
    struct uvzk__address address;
    char host[UVZK__HOST_MAX + 1]; /* of the connect string; "": it has the address */
    char service[800];             /* the server's principal */
    gss_cred_id_t credentials;
    gss_ctx_id_t context;
    gss_buffer_desc token;
    bool begun, established, negotiated;
};

/* Makes the next token, and stores what follows. challenge: at first nothing. */
void uvzk__ticket_use_step(struct uvzk__tickets *tickets, struct uvzk__ticket_use *use,
                           gss_buffer_t challenge, struct uvzk__gssapi_result *result);
/* Does not block. */
void uvzk__ticket_use_end(struct uvzk__ticket_use *use);

#endif
