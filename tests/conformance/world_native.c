/* SPDX-License-Identifier: Apache-2.0 */
/* What the world of a real server has for the native port. */
#include "native/native_port.h"
#include "raw.h"
#include "world_real.h"

struct uvzk__loop_port *world_port_new(uv_loop_t *loop,
                                       const uvzk_client_options_t *options)
{
    return uvzk__native_port_new(loop, options, NULL, NULL);
}

bool world_has_persistent_watches(void)
{
    return true;
}

bool world_rearms_any_number(void)
{
    return true;
}

bool world_moves_by_a_new_handle(void)
{
    return false;
}

/* There is no handle that must be closed before the next one is connected. */
void world_move_late(struct world *world)
{
    world_move(world);
    proxy_pass(world_proxy(world));
}

/* The port reads only while its loop runs. */
bool world_expire_unheard(struct world *world)
{
    const struct uvzk__native_session *session =
        &((struct uvzk__native_port *)(void *)world_port(world))->session;

    return raw_expire_session(world_server_hosts(), session->id,
                              (const char *)session->password) == 0;
}
