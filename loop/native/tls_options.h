/* SPDX-License-Identifier: Apache-2.0 */
/* The value of options.tls: "key=value,key=value". */
#ifndef UVZK_TLS_OPTIONS_H
#define UVZK_TLS_OPTIONS_H

struct uvzk__tls_options {
    char *text;              /* owned; the others point into it */
    const char *ca;          /* a PEM file; NULL: the system's CAs */
    const char *certificate; /* a PEM file with the chain; NULL: none */
    const char *key;         /* a PEM file; NULL: the certificate's file has it */
    const char *name;        /* that every server's certificate must have; NULL: the host
                                name or the address of the connect string */
};

/* Returns 0, UV_ENOMEM, or UV_EINVAL: an entry is unknown, empty, too long or given
 * twice. A failure sets the refusal text (base/refusal.h), and there is nothing to
 * free. */
int uvzk__tls_options_read(struct uvzk__tls_options *options, const char *text);
void uvzk__tls_options_free(struct uvzk__tls_options *options);

#endif
