/* SPDX-License-Identifier: Apache-2.0 */
/* The port over the ZooKeeper C client, as client_init.c makes it. A build without the C
 * client has c_client_absent.c in place of zk_port.c. */
#ifndef UVZK_C_CLIENT_H
#define UVZK_C_CLIENT_H

#include <uv.h>

#include "port/loop_port.h"

/* Returns 0, or UV_ENOTSUP: this build has no C client. */
int uvzk__c_client_check(void);

/* Creates a port. The options must have been checked by uvzk__options_read
 * (client/create.h); they are copied. The port's functions may be called at once, but no
 * callback runs before uvzk__port_loop_start. Returns NULL if out of memory. To be called
 * only if uvzk__c_client_check returns 0. */
struct uvzk__loop_port *uvzk__zk_port_new(uv_loop_t *loop,
                                          const uvzk_client_options_t *options);

#endif
