/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a client over any port. loop/ uses it for the real port (uvzk_client_init), tests
 * use it for the simulator. */
#ifndef UVZK_CREATE_H
#define UVZK_CREATE_H

#include "engine/port.h"
#include "engine/tuning.h"

/* Copies the caller's options, replaces zeros by the defaults and checks the result.
 * Returns 0, UV_EINVAL, or UV_ENOTSUP for TLS. The memory that the options point to still
 * belongs to the caller. */
int uvzk__options_read(uvzk_client_options_t *into, const uvzk_client_options_t *from);

/* Makes a client with one session over each port. `count`, which is not 0, is
 * options.sessions. If 0 is returned, the client owns the ports and has set port->user;
 * after a failure the caller still owns them. Returns the codes of uvzk_client_init. */
int uvzk__client_create_over(uvzk_client_t *client, struct uvzk__port *const *ports,
                             uint32_t count, const uvzk_client_options_t *options,
                             unsigned tuning);

/* The same with one session over one port, whatever options.sessions is. */
int uvzk__client_create(uvzk_client_t *client, struct uvzk__port *port,
                        const uvzk_client_options_t *options, unsigned tuning);

/* The port of the index-th session; NULL beyond the last session, before the client is
 * made and after it has ended. */
struct uvzk__port *uvzk__client_port_of(const uvzk_client_t *client, uint32_t index);
/* Of the first session. */
struct uvzk__port *uvzk__client_port(const uvzk_client_t *client);

#endif
