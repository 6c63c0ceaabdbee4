/* The public client over the real port. */
#include "client/client.h"
#include "base/refusal.h"

#include <string.h>

#include "hosts.h"
#include "zk_port.h"

int uvzk_client_init(uv_loop_t *loop, uvzk_client_t *client,
                     const uvzk_client_options_t *options)
{
    uvzk_client_options_t given,
        known; /* a caller built against another version has other
                                    fields at the end */
    if (loop == NULL || client == NULL || options == NULL ||
        options->size < offsetof(uvzk_client_options_t, hosts) + sizeof(options->hosts)) {
        return uvzk__refuse(UV_EINVAL, loop == NULL      ? "loop is NULL"
                                       : client == NULL  ? "client is NULL"
                                       : options == NULL ? "options is NULL"
                                                         : "options.size: begin with "
                                                           "uvzk_client_options_init");
    }
    uvzk_client_options_init(&given);
    memcpy(&given, options,
           options->size < sizeof(given) ? options->size : sizeof(given));
    given.size = sizeof(given);
    int rc = uvzk__hosts_validate(given.hosts);
    if (rc == 0) {
        rc = uvzk__options_read(&known, &given);
    }
    if (rc < 0) {
        return rc;
    }
    struct uvzk__zk_port *port = uvzk__zk_port_new(loop, &known);
    if (port == NULL) {
        return UV_ENOMEM;
    }
    rc = uvzk__client_create(client, &port->port, &known, UVZK__TUNE_ALL);
    if (rc < 0) {
        uvzk__zk_port_free(port);
        return rc;
    }
    uvzk__zk_port_start(port);
    return 0;
}

static void keep(uvzk_client_t *client, bool alive)
{
    struct uvzk__port *port = uvzk__client_port(client);
    if (port != NULL) {
        uvzk__zk_port_keep((struct uvzk__zk_port *)(void *)port, alive);
    }
}

void uvzk_client_ref(uvzk_client_t *client)
{
    keep(client, true);
}

void uvzk_client_unref(uvzk_client_t *client)
{
    keep(client, false);
}
