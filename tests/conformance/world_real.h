/* SPDX-License-Identifier: Apache-2.0 */
/* The world of a real server. world_c_client.c and world_native.c have what differs
 * between the ports. */
#ifndef WORLD_REAL_H
#define WORLD_REAL_H

#include <uv.h>

#include "port/loop_port.h"
#include "proxy.h"
#include "world.h"

/* What ports are given from now on; all zero: a proxy in front of the server. */
struct world_settings {
    const char *more_hosts; /* put before it, with a comma at the end */
    const char *only_hosts; /* instead of it */
    bool no_proxy;          /* the server itself: the client gets on by itself */
    bool long_session;      /* 30 s */
    bool no_chroot;         /* after it: paths are the server's own */
    const char *auth_scheme;
    const char *auth;
};
extern struct world_settings world_settings;

#define WORLD_SESSION_MS 4000U /* unless it is long */

/* A port that has not been started. */
struct uvzk__loop_port *world_port_new(uv_loop_t *loop,
                                       const uvzk_client_options_t *options);
const char *world_server_hosts(void);
uv_loop_t *world_loop(struct world *world);
struct proxy *world_proxy(struct world *world);
/* As somebody else's session sees it, now. */
long world_children_count(struct world *world, const char *path);
/* Likewise; -1: it has no data. */
long world_data_length(struct world *world, const char *path);

#endif
