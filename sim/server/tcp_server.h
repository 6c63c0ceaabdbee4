/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of simulated servers: one listening port for each server of the ensemble.
 * Virtual time follows the clock of the machine. Everything runs on the loop's thread. */
#ifndef UVZK_TCP_SERVER_H
#define UVZK_TCP_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"
#include "outside_client.h"

#define TCP_SERVERS_MAX 9U

struct tcp_connection;

struct tcp_server {
    uv_loop_t *loop;
    struct sim *sim;
    struct outside_settings settings; /* may be changed at any time */
    uv_tcp_t listeners[TCP_SERVERS_MAX];
    uint16_t ports[TCP_SERVERS_MAX];
    size_t servers;
    uv_timer_t timer; /* for the next event of the simulation */
    uint64_t began;   /* uv_hrtime() at virtual time start_ms */
    uint64_t start_ms;
    uint64_t refuses_until;        /* no connection is accepted before; virtual time */
    struct uvzk__link connections; /* struct tcp_connection */
    uint64_t accepted;             /* so far */
};

/* Listens for each server of the simulation on 127.0.0.1: on this port and those behind
 * it; 0: on free ones. Returns 0 or libuv's code. */
int tcp_server_open(uv_loop_t *loop, struct tcp_server *server, struct sim *sim,
                    uint16_t port);
/* Closes everything. The memory, and the simulation, must stay valid until the loop has
 * run down. */
void tcp_server_close(struct tcp_server *server);
/* Lets virtual time pass until now. To be called after each change of the simulation. */
void tcp_server_run(struct tcp_server *server);

/* Calls it for each connection. It may cut the connection. */
void tcp_server_each(struct tcp_server *server,
                     void (*visit)(struct tcp_connection *, void *context),
                     void *context);
struct outside_client *tcp_connection_client(struct tcp_connection *connection);
/* "address:port" of the client. */
const char *tcp_connection_name(const struct tcp_connection *connection);
/* Resets the connection. */
void tcp_connection_cut(struct tcp_connection *connection);

#endif
