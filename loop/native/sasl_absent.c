/* SPDX-License-Identifier: Apache-2.0 */
/* In place of sasl.c, if uvzk is built without SASL: there is no context, and so there is no
 * exchange. */
#include <uv.h>

#include "base/refusal.h"
#include "native/sasl.h"

int uvzk__sasl_context_new(const char *options, struct uvzk__sasl_context **context)
{
    (void)options;
    (void)context;
    return uvzk__refuse(UV_ENOTSUP, "options.sasl: uvzk was built without SASL");
}

struct uvzk__sasl_context *uvzk__sasl_context_share(struct uvzk__sasl_context *context)
{
    return context;
}

void uvzk__sasl_context_free(struct uvzk__sasl_context *context)
{
    (void)context;
}

struct uvzk__sasl *uvzk__sasl_new(struct uvzk__sasl_context *context,
                                  struct uvzk__port *port, struct uvzk__to_loop *to_loop,
                                  const struct uvzk__named_address *server,
                                  void (*made)(struct uvzk__sasl *), void *user)
{
    (void)context;
    (void)port;
    (void)to_loop;
    (void)server;
    (void)made;
    (void)user;
    return NULL;
}

void uvzk__sasl_step(struct uvzk__sasl *sasl, struct uvzk__jute_bytes challenge)
{
    (void)sasl;
    (void)challenge;
}

void uvzk__sasl_free(struct uvzk__sasl *sasl)
{
    (void)sasl;
}
