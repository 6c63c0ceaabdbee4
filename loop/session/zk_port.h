/* SPDX-License-Identifier: Apache-2.0 */
/* The port (engine/port.h) over libzookeeper_mt and a libuv loop.
 *
 *   src/ -> submit -> request -> zoo_a* -> C client's threads -> to_loop -> reply
 *
 * Everything runs on the loop's thread, except pushing onto the to_loop queue, recording
 * the pending events of a handle, copying answers (answer.h), log lines (log_route.h),
 * the blocking calls (blocking_call.h) and the submit thread (submit_thread.h). */
#ifndef UVZK_ZK_PORT_H
#define UVZK_ZK_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include <zookeeper/zookeeper.h>

#include "log/log_route.h"
#include "port/loop_port.h"
#include "requests/outstanding.h"
#include "session/c_client.h"
#include "session/reconnect.h"

struct uvzk__handle;

struct uvzk__zk_port {
    struct uvzk__loop_port base; /* first: a struct uvzk__port * is cast to this struct */

    /* Defined in handle.h; the same for every port. */
    const struct uvzk__handle_user *handle_user;

    struct uvzk__outstanding outstanding;
    struct uvzk__reconnect reconnect;
    /* Id and password of the session that the next zhandle_t continues; client_id 0:
     * there is none. */
    clientid_t session;
    struct uvzk__handle *handle; /* NULL: down */
    /* The handle whose requests in flight are waited for before it is closed; NULL:
     * none. */
    struct uvzk__handle *draining;
    unsigned handles; /* not yet freed, including those that are being closed */
    struct uvzk__log_lines log_lines;

    /* Why open() failed before there was a handle; 0: nothing to report. */
    int open_failure;
    bool leave_wanted; /* to leave the connected server */
};

#endif
