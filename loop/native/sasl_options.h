/* SPDX-License-Identifier: Apache-2.0 */
/* The value of options.sasl: "mechanism=GSSAPI,key=value,key=value". */
#ifndef UVZK_SASL_OPTIONS_H
#define UVZK_SASL_OPTIONS_H

#include <stdbool.h>

struct uvzk__sasl_options {
    char *text;     /* owned; the others point into it, or are literals */
    bool is_gssapi; /* the mechanism; false: DIGEST-MD5 */
    bool
        canonical; /* the servers' principals have the canonical names of their addresses */
    const char *user; /* of DIGEST-MD5 */
    const char *password_file;
    const char *principal; /* of GSSAPI; NULL: the first one of the keytab or the cache */
    const char *keytab;    /* NULL: the tickets of the cache are used */
    const char *ccache;    /* NULL: the user's; with a keytab: one in memory */
    const char *service;   /* the first part of the servers' principals */
    const char *realm;     /* of the servers' principals; NULL: the client's */
    const char *host;      /* in every server's principal; NULL: each server's own */
};

/* Returns 0, UV_ENOMEM, or UV_EINVAL: an entry is unknown, empty, given twice, missing, or
 * of the other mechanism. A failure sets the refusal text (base/refusal.h), and there is
 * nothing to free. */
int uvzk__sasl_options_read(struct uvzk__sasl_options *options, const char *text);
void uvzk__sasl_options_free(struct uvzk__sasl_options *options);

#endif
