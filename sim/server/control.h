/* SPDX-License-Identifier: Apache-2.0 */
/* The control channel: a test tells the servers what to do, in lines of text. Each line is
 * a command; its answer is any number of lines, and then "ok" or "error" with a reason.
 * docs/guide/sim-server.md lists the commands. */
#ifndef UVZK_SIM_CONTROL_H
#define UVZK_SIM_CONTROL_H

#include <stdint.h>
#include <uv.h>

#include "base/list.h"

struct tcp_server;

struct control {
    struct tcp_server *server;
    uv_tcp_t listener;
    uint16_t port;
    struct uvzk__link connections;  /* struct control_connection */
    void (*quit)(struct control *); /* the command "quit" */
};

/* Listens on this port of 127.0.0.1; 0: on a free one. Returns 0 or libuv's code. */
int control_open(uv_loop_t *loop, struct control *control, struct tcp_server *server,
                 uint16_t port, void (*quit)(struct control *));
/* The memory must stay valid until the loop has run down. */
void control_close(struct control *control);

#endif
