/* SPDX-License-Identifier: Apache-2.0 */
/* uvzk_client_init, uvzk_client_ref and uvzk_client_unref over a libuv loop, and the
 * choice of the transport. */
#include "base/refusal.h"
#include "client/create.h"
#include "engine/client.h"

#include <string.h>

#include "discovery/hosts.h"
#include "native/native_port.h"
#include "native/sasl.h"
#include "native/tls.h"
#include "port/loop_port.h"
#include "session/c_client.h"

/* What the native ports of a client have in common; NULL: there is none. */
struct contexts {
    struct uvzk__tls_context *tls;
    struct uvzk__sasl_context *sasl;
};

/* Every port of such a client is a loop_port. */
static struct uvzk__loop_port *loop_port(struct uvzk__port *port)
{
    return (struct uvzk__loop_port *)(void *)port;
}

static struct uvzk__loop_port *new_port(uv_loop_t *loop,
                                        const uvzk_client_options_t *options,
                                        const struct contexts *contexts)
{
    return options->transport == UVZK_TRANSPORT_NATIVE
               ? uvzk__native_port_new(loop, options, contexts->tls, contexts->sasl)
               : uvzk__zk_port_new(loop, options);
}

/* Creates a client over one port for each session. No port is started before the client
 * exists, so that nothing has to be undone on the loop after a failure. */
static int create_with(const struct contexts *contexts, uv_loop_t *loop,
                       uvzk_client_t *client, const uvzk_client_options_t *options)
{
    struct uvzk__port *ports[UVZK__SESSIONS_MAX];
    uint32_t count = 0;
    int rc = 0;

    while (rc == 0 && count < options->sessions) {
        struct uvzk__loop_port *port = new_port(loop, options, contexts);
        rc = port == NULL ? UV_ENOMEM : 0;
        if (port != NULL) {
            ports[count++] = &port->port;
        }
    }
    if (rc == 0) {
        rc = uvzk__client_create_over(client, ports, count, options, UVZK__TUNE_ALL);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (rc == 0) {
            uvzk__port_loop_start(&loop_port(ports[i])->port_loop);
        } else {
            loop_port(ports[i])->transport->free(loop_port(ports[i]));
        }
    }
    return rc;
}

/* The files of TLS are read once for all sessions, which share what was read. */
static int client_init_create(uv_loop_t *loop, uvzk_client_t *client,
                              const uvzk_client_options_t *options)
{
    struct contexts contexts = {.tls = NULL};
    int rc =
        options->tls == NULL ? 0 : uvzk__tls_context_new(options->tls, &contexts.tls);

    if (rc == 0 && options->sasl != NULL) {
        rc = uvzk__sasl_context_new(options->sasl, &contexts.sasl);
    }
    if (rc == 0) {
        rc = create_with(&contexts, loop, client, options);
    }
    uvzk__sasl_context_free(contexts.sasl);
    uvzk__tls_context_free(contexts.tls);
    return rc;
}

int uvzk_client_init(uv_loop_t *loop, uvzk_client_t *client,
                     const uvzk_client_options_t *options)
{
    /* A caller that was compiled against another version of uvzk.h has a struct that
     * differs at its end. */
    uvzk_client_options_t given, known;
    if (loop == NULL || client == NULL || options == NULL ||
        options->size < offsetof(uvzk_client_options_t, hosts) + sizeof(options->hosts)) {
        return uvzk__refuse(UV_EINVAL, loop == NULL      ? "loop is NULL"
                                       : client == NULL  ? "client is NULL"
                                       : options == NULL ? "options is NULL"
                                                         : "options.size: begin with "
                                                           "uvzk_client_options_init");
    }
    /* Fields that the caller's struct does not have keep their defaults. */
    uvzk_client_options_init(&given);
    memcpy(&given, options,
           options->size < sizeof(given) ? options->size : sizeof(given));
    given.size = sizeof(given);
    int rc = uvzk__hosts_validate(given.hosts);
    if (rc == 0) {
        rc = uvzk__options_read(&known, &given);
    }
    if (rc == 0 && known.transport == UVZK_TRANSPORT_C_CLIENT) {
        rc = uvzk__c_client_check();
    }
    if (rc < 0) {
        return rc;
    }
    return client_init_create(loop, client, &known);
}

static void client_init_keep(uvzk_client_t *client, bool alive)
{
    struct uvzk__port *port;

    for (uint32_t i = 0; (port = uvzk__client_port_of(client, i)) != NULL; i++) {
        uvzk__port_loop_set_ref(&loop_port(port)->port_loop, alive);
    }
}

void uvzk_client_ref(uvzk_client_t *client)
{
    client_init_keep(client, true);
}

void uvzk_client_unref(uvzk_client_t *client)
{
    client_init_keep(client, false);
}
