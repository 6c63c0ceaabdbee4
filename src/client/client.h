/* The client as src/ knows it: made over any port. loop/ makes the real one
 * (uvzk_client_init), tests make it over the simulator. */
#ifndef UVZK_CLIENT_H
#define UVZK_CLIENT_H

#include "engine/port.h"
#include "engine/tuning.h"

/* The caller's options with the defaults for what is zero, checked:
 * UV_EINVAL. What they point to is still the caller's. */
int uvzk__options_read(uvzk_client_options_t *into, const uvzk_client_options_t *from);

/* Makes a client over the port, which is the client's from now on if 0 is
 * returned; on failure it is still the caller's. Takes over port->user.
 * Errors as uvzk_client_init. */
int uvzk__client_create(uvzk_client_t *client, struct uvzk__port *port,
                        const uvzk_client_options_t *options, unsigned tuning);

/* NULL before the client is made and after its end. */
struct uvzk__port *uvzk__client_port(const uvzk_client_t *client);

#endif
