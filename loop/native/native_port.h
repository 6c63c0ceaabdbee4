/* SPDX-License-Identifier: Apache-2.0 */
/* The port (engine/port.h) over ZooKeeper's own protocol.
 *
 *   src/ -> submit -> request_queue -> rpc_message -> stream -> the server
 *   src/ <- reply  <- request_queue <- rpc_message <- stream <-'
 *
 * Everything runs on the loop's thread, and there is no other. */
#ifndef UVZK_NATIVE_PORT_H
#define UVZK_NATIVE_PORT_H

#include <stdbool.h>

#include "native/chroot.h"
#include "native/native_session.h"
#include "native/request_queue.h"
#include "native/rpc_message.h"
#include "native/tls.h"
#include "native/watch_table.h"
#include "port/loop_port.h"

struct uvzk__native_port {
    struct uvzk__loop_port base; /* first: a struct uvzk__port * is cast to this struct */
    struct uvzk__native_session session;
    struct uvzk__request_queue queue;
    struct uvzk__watch_table watches;
    struct uvzk__chroot chroot;
    struct uvzk__reply_memory memory; /* of the reply that is being delivered */

    bool inside;       /* a callback of the loop runs */
    int open_failure;  /* why open() failed at once; 0: nothing to report */
    bool leave_wanted; /* to leave the connected server */
    /* To end the session: whatever its state is, or only if it is not connected. */
    bool end_wanted, abandon_wanted;
    /* While the end of the session is being reported: the status of rpcs that are
     * submitted; 0: it is not. */
    int end_status;
};

/* Creates a port. The options must have been checked by uvzk__options_read
 * (client/create.h); they are copied. tls: NULL for plain text; sasl: NULL for none; they are
 * shared. The port's functions may be called at once, but no callback runs before
 * uvzk__port_loop_start. Returns NULL if out of memory. */
struct uvzk__loop_port *uvzk__native_port_new(uv_loop_t *loop,
                                              const uvzk_client_options_t *options,
                                              struct uvzk__tls_context *tls,
                                              struct uvzk__sasl_context *sasl);

#endif
