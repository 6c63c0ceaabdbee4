/* SPDX-License-Identifier: Apache-2.0 */
/* In place of tls.c, if uvzk is built without OpenSSL: there is no
 * context, and so there is no connection. */
#include <uv.h>

#include "base/refusal.h"
#include "native/tls.h"

int uvzk__tls_context_new(const char *options, struct uvzk__tls_context **context)
{
    (void)options;
    (void)context;
    return uvzk__refuse(UV_ENOTSUP, "options.tls: uvzk was built without TLS");
}

struct uvzk__tls_context *uvzk__tls_context_share(struct uvzk__tls_context *context)
{
    return context;
}

void uvzk__tls_context_free(struct uvzk__tls_context *context)
{
    (void)context;
}

const char *uvzk__tls_context_renew(struct uvzk__tls_context *context)
{
    (void)context;
    return NULL;
}

struct uvzk__tls *uvzk__tls_new(struct uvzk__tls_context *context, const char *host,
                                const char *address)
{
    (void)context;
    (void)host;
    (void)address;
    return NULL;
}

void uvzk__tls_free(struct uvzk__tls *tls)
{
    (void)tls;
}

int uvzk__tls_handshake(struct uvzk__tls *tls)
{
    (void)tls;
    return UV_ENOTSUP;
}

int uvzk__tls_receive(struct uvzk__tls *tls, const void *bytes, size_t length)
{
    (void)tls;
    (void)bytes;
    (void)length;
    return UV_ENOTSUP;
}

int uvzk__tls_read(struct uvzk__tls *tls, void *bytes, size_t *length)
{
    (void)tls;
    (void)bytes;
    (void)length;
    return UV_ENOTSUP;
}

int uvzk__tls_write(struct uvzk__tls *tls, const void *bytes, size_t length)
{
    (void)tls;
    (void)bytes;
    (void)length;
    return UV_ENOTSUP;
}

struct uvzk__jute_bytes uvzk__tls_output(const struct uvzk__tls *tls)
{
    (void)tls;
    return uvzk__jute_bytes(NULL, 0);
}

void uvzk__tls_sent(struct uvzk__tls *tls, size_t length)
{
    (void)tls;
    (void)length;
}

const char *uvzk__tls_failure(const struct uvzk__tls *tls)
{
    (void)tls;
    return NULL;
}
