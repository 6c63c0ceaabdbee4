/* The real port: port.h on libzookeeper_mt and a libuv loop.
 *
 *   src/ -> submit -> request -> zoo_a* -> client's threads -> to_loop -> reply
 *
 * Everything but the queue to the loop, the news of a handle and the copying of answers
 * happens on the loop's thread. */
#ifndef UVZK_ZK_PORT_H
#define UVZK_ZK_PORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include <zookeeper/zookeeper.h>

#include "engine/port.h"
#include "log_repeats.h"
#include "outstanding.h"
#include "reconnect.h"
#include "to_loop.h"

struct uvzk__handle;
struct uvzk__loop_handles;

struct uvzk__zk_port {
    struct uvzk__port port; /* first: a port is a pointer to it */
    uv_loop_t *loop;

    const struct uvzk__handle_user *handle_user; /* handle.h */

    char *hosts; /* as the user gave them */
    uint32_t session_timeout_ms;
    char *auth_scheme; /* NULL: none */
    void *auth;
    int auth_length;

    struct uvzk__to_loop to_loop;
    struct uvzk__loop_handles *loop_handles;
    uv_timer_t last_timer; /* closed after all else, twice */
    uint64_t alarm_at;     /* UINT64_MAX: off */

    struct uvzk__outstanding outstanding;
    struct uvzk__reconnect reconnect;
    clientid_t session;                   /* to go on with; client_id 0: none */
    struct uvzk__handle *handle;          /* NULL: down */
    struct uvzk__handle *draining;        /* closed port: still to come back */
    unsigned handles;                     /* alive, those being closed included */
    atomic_uint log_lines;                /* on the to_loop queue */
    atomic_uint log_dropped;              /* and not told of */
    struct uvzk__log_repeats log_repeats; /* log_route.h, whose mutex guards it */

    int open_failure; /* of an open() that did not get as far as a handle */
    bool turn_wanted;
    bool leave_wanted;               /* its server */
    bool unreferenced;               /* does not keep its loop alive */
    bool ending, closing, finishing; /* one after the other */
};

/* One handle more is alive, or one less. */
static inline void uvzk__zk_port_pin(struct uvzk__zk_port *port)
{
    port->handles++;
}
static inline void uvzk__zk_port_unpin(struct uvzk__zk_port *port)
{
    port->handles--;
}

/* Closed, it waits for what this one has in flight; NULL: for nothing more. */
static inline void uvzk__zk_port_drains(struct uvzk__zk_port *port,
                                        struct uvzk__handle *handle)
{
    port->draining = handle;
}

/* NULL when out of memory. The options have been read (client.h). Its functions may be
 * called, but nothing calls back before uvzk__zk_port_start. */
struct uvzk__zk_port *uvzk__zk_port_new(uv_loop_t *loop,
                                        const uvzk_client_options_t *options);
/* Puts it onto its loop, which it keeps alive until it is closed. */
void uvzk__zk_port_start(struct uvzk__zk_port *port);
/* Whether it does keep its loop alive. Once it is ending it does. */
void uvzk__zk_port_set_ref(struct uvzk__zk_port *port, bool keep);
/* Only of one that was never started. */
void uvzk__zk_port_free(struct uvzk__zk_port *port);

#endif
