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

#include "engine/port.h"
#include "log/log_route.h"
#include "platform/to_loop.h"
#include "requests/outstanding.h"
#include "session/port_life.h"
#include "session/port_loop.h"
#include "session/reconnect.h"

struct uvzk__handle;

struct uvzk__zk_port {
    struct uvzk__port port; /* first: a struct uvzk__port * is cast to this struct */
    uv_loop_t *loop;

    /* Defined in handle.h; the same for every port. */
    const struct uvzk__handle_user *handle_user;

    char *hosts;                 /* the connect string as the user gave it; owned */
    uint32_t session_timeout_ms; /* as the user asked for it */
    char *auth_scheme;           /* NULL: no credentials */
    /* The credentials, auth_length bytes; cleared before they are freed. */
    void *auth;
    int auth_length;

    struct uvzk__to_loop to_loop;
    struct uvzk__port_loop port_loop;
    struct uvzk__port_life life;

    struct uvzk__outstanding outstanding;
    struct uvzk__reconnect reconnect;
    /* Id and password of the session that the next zhandle_t continues; client_id 0:
     * there is none. */
    clientid_t session;
    struct uvzk__handle *handle; /* NULL: down */
    /* The handle whose requests in flight the closed port waits for; NULL: none. */
    struct uvzk__handle *draining;
    unsigned handles; /* not yet freed, including those that are being closed */
    struct uvzk__log_lines log_lines;

    /* Why open() failed before there was a handle; 0: nothing to report. */
    int open_failure;
    bool leave_wanted; /* to leave the connected server */
};

/* Creates a port. The options must have been checked by uvzk__options_read
 * (client/create.h); they are copied. The port's functions may be called at once, but no
 * callback runs before uvzk__port_loop_start. Returns NULL if out of memory. */
struct uvzk__zk_port *uvzk__zk_port_new(uv_loop_t *loop,
                                        const uvzk_client_options_t *options);
/* Frees the port. Outside of zk_port.c this is allowed only for a port that was never
 * started. */
void uvzk__zk_port_free(struct uvzk__zk_port *port);

#endif
