/* The client as src/ knows it: made over any port. loop/ makes the real one
 * (uvzk_client_init), tests make it over the simulator. */
#ifndef UVZK_CREATE_H
#define UVZK_CREATE_H

#include "engine/port.h"
#include "engine/tuning.h"

/* The caller's options with the defaults for what is zero, checked:
 * UV_EINVAL. What they point to is still the caller's. */
int uvzk__options_read(uvzk_client_options_t *into, const uvzk_client_options_t *from);

/* Makes a client with a session over each of the ports, which are the client's from
 * now on if 0 is returned; on failure they are still the caller's. Takes over
 * port->user. count: options.sessions, and not 0. Errors as uvzk_client_init. */
int uvzk__client_create_over(uvzk_client_t *client, struct uvzk__port *const *ports,
                             uint32_t count, const uvzk_client_options_t *options,
                             unsigned tuning);

/* The same over one port, whatever options.sessions says. */
int uvzk__client_create(uvzk_client_t *client, struct uvzk__port *port,
                        const uvzk_client_options_t *options, unsigned tuning);

/* Of its index-th session; NULL beyond the last, before the client is made and after its
 * end. */
struct uvzk__port *uvzk__client_port_of(const uvzk_client_t *client, uint32_t index);
struct uvzk__port *uvzk__client_port(const uvzk_client_t *client); /* of the first */

#endif
