/* SPDX-License-Identifier: Apache-2.0 */
/* In place of zk_port.c, if uvzk is built without the ZooKeeper C client. */
#include <stddef.h>

#include "base/refusal.h"
#include "session/c_client.h"

int uvzk__c_client_check(void)
{
    return uvzk__refuse(UV_ENOTSUP,
                        "options.transport: uvzk was built without the C client; set "
                        "UVZK_TRANSPORT_NATIVE, which is the default of this build");
}

struct uvzk__loop_port *uvzk__zk_port_new(uv_loop_t *loop,
                                          const uvzk_client_options_t *options)
{
    (void)loop;
    (void)options;
    return NULL;
}
