/* The calls of a port that do not depend on the transport (loop_port.h). native_port.c
 * and zk_port.c embed the struct and add their own calls. */
#include "port/loop_port.h"

#include "base/memory.h"
#include "platform/entropy.h"
#include "platform/forks.h"

/* port is the first member. */
static struct uvzk__loop_port *self_of(struct uvzk__port *port)
{
    return (struct uvzk__loop_port *)(void *)port;
}

/* ---------------------------------------------------------------------- the calls */

static void close_soon(struct uvzk__port *public_port)
{
    struct uvzk__loop_port *port = self_of(public_port);

    if (!uvzk__port_is_ending(&port->life)) {
        uvzk__port_move(&port->port, &uvzk__port_machine, port, UVZK__PORT_ENDING);
        uvzk__port_loop_detect_close(&port->port_loop);
    }
}

static void set_alarm(struct uvzk__port *public_port, uint64_t at_ms)
{
    uvzk__port_loop_set_alarm(&self_of(public_port)->port_loop, at_ms);
}

static void loop_port_wake(struct uvzk__port *public_port)
{
    uvzk__port_loop_want_turn(&self_of(public_port)->port_loop);
}

static uint64_t loop_port_now(struct uvzk__port *public_port)
{
    (void)public_port;
    return uvzk_now();
}

static int random_bytes(struct uvzk__port *public_port, void *bytes, size_t length)
{
    (void)public_port;
    return uvzk__entropy(bytes, length);
}

bool uvzk__loop_port_is_inherited(const struct uvzk__loop_port *port)
{
    return port->forks != uvzk__forks();
}

void uvzk__loop_port_tell(struct uvzk__loop_port *port,
                          enum uvzk__session_event_kind kind, int status)
{
    const struct uvzk__session_event event = {
        .kind = kind, .status = status, .local_address = "", .server = ""};

    port->port.user->session(port->port.user, &event);
}

/* ------------------------------------------------------------------- begin and end */

static void set_calls(struct uvzk__port *port, const struct uvzk__transport *transport)
{
    port->open = transport->open;
    port->abandon = transport->abandon;
    port->leave_server = transport->leave_server;
    port->end_session = transport->end_session;
    port->close_soon = close_soon;
    port->close = transport->close;
    port->submit = transport->submit;
    port->unwatch = transport->unwatch;
    port->alarm = set_alarm;
    port->wake = loop_port_wake;
    port->now = loop_port_now;
    port->random = random_bytes;
}

struct uvzk__loop_port *uvzk__loop_port_new(size_t size, uv_loop_t *loop,
                                            const uvzk_client_options_t *options,
                                            const struct uvzk__transport *transport)
{
    struct uvzk__loop_port *port = uvzk__calloc(1, size);

    if (port == NULL || uvzk__forks_begin() < 0 ||
        uvzk__to_loop_init(&port->to_loop) < 0) {
        uvzk__free(port);
        return NULL;
    }
    port->transport = transport;
    port->forks = uvzk__forks();
    set_calls(&port->port, transport);
    uvzk__dialect_init(&port->dialect, &port->port);
    if (uvzk__port_loop_init(&port->port_loop, loop, &port->to_loop, &port->life,
                             &transport->loop_user) < 0 ||
        !uvzk__port_options_copy(&port->options, options)) {
        uvzk__loop_port_free(port);
        return NULL;
    }
    return port;
}

void uvzk__loop_port_free(struct uvzk__loop_port *port)
{
    uvzk__to_loop_destroy(&port->to_loop);
    uvzk__port_loop_free(&port->port_loop);
    uvzk__port_options_free(&port->options);
    uvzk__free(port);
}

bool uvzk__loop_port_begin_close(struct uvzk__loop_port *port)
{
    if (!uvzk__port_expect(&port->port, !uvzk__loop_port_is_closing(port),
                           "port: closed twice")) {
        return false;
    }
    /* Also for a port whose close_soon was not called. */
    close_soon(&port->port);
    uvzk__port_loop_silence(&port->port_loop);
    uvzk__port_move(&port->port, &uvzk__port_machine, port, UVZK__PORT_CLOSING);
    return true;
}

void uvzk__loop_port_finish(struct uvzk__loop_port *port)
{
    uvzk__port_move(&port->port, &uvzk__port_machine, port, UVZK__PORT_FINISHING);
    uvzk__port_loop_close(&port->port_loop);
}
