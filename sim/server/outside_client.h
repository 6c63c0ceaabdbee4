/* SPDX-License-Identifier: Apache-2.0 */
/* A client outside the simulation, which speaks ZooKeeper's protocol with one of the
 * simulated servers. It is one connection. Frames go in, bytes come out; sockets are the
 * caller's (tcp_server.h).
 *
 * The simulation goes on only while the caller runs it. The callbacks come during that,
 * so they must not close the client. */
#ifndef UVZK_OUTSIDE_CLIENT_H
#define UVZK_OUTSIDE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "native/jute.h"

struct outside_client;
struct sim;

/* What the servers do not know. They close the connection at a request that they do not
 * know. */
struct sim_dialect {
    bool no_create2, no_containers, no_removal, no_persistent;
    bool answers;          /* UNIMPLEMENTED, before they close the connection */
    bool forgets_sessions; /* each connection begins a new session */
};

/* Of all connections. Borrowed by each. */
struct outside_settings {
    struct sim_dialect dialect;
    /* The limits of session timeouts; 0: 2 and 20 ticks, as at ZooKeeper's servers. */
    uint32_t min_session_ms, max_session_ms;
};

struct outside_client_user {
    /* To be sent to the client. */
    void (*send)(void *context, const void *bytes, size_t length);
    /* The server closes the connection, when everything has been sent. */
    void (*hang_up)(void *context);
};

/* The connection is to this server, from 0. The pointers are borrowed. name: for the
 * trace; copied. */
struct outside_client *outside_client_new(struct sim *sim, size_t server,
                                          const struct outside_settings *settings,
                                          const char *name,
                                          const struct outside_client_user *user,
                                          void *context);
/* The connection is closed. No callback follows. */
void outside_client_free(struct outside_client *client);

/* The client has sent a frame, without its length. What is malformed closes the
 * connection. */
void outside_client_receive(struct outside_client *client, struct uvzk__jute_bytes frame);

/* The session of the connection; 0: none yet. */
int64_t outside_client_session(const struct outside_client *client);

/* Faults of this connection, as in sim.h. lose_reply: of the next request of this opcode
 * that follows `skipped` others of it; 0: of any opcode. */
void outside_client_lose_reply(struct outside_client *client, int32_t opcode,
                               unsigned skipped);
void outside_client_set_latency(struct outside_client *client, uint32_t min_ms,
                                uint32_t max_ms);
/* Nothing arrives for ms, in either direction. */
void outside_client_silence(struct outside_client *client, uint64_t ms);
/* The next request that is under way arrives so much later. */
void outside_client_delay(struct outside_client *client, uint64_t ms);
/* Its server loses the leader for ms, as in sim_follower_cut. */
void outside_client_cut_follower(struct outside_client *client, uint64_t ms);
/* The connection has ended. Requests that are under way arrive: all of them, or, after a
 * reset, a random number. No callback follows, and frames are ignored. */
void outside_client_end(struct outside_client *client);
void outside_client_break(struct outside_client *client);

#endif
