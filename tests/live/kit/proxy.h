/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP proxy in front of one ZooKeeper server, on the test's own loop. It knows the
 * frames of the protocol, and can lose requests and replies as a network can. */
#ifndef PROXY_H
#define PROXY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct proxy_link;

/* The request types of ZooKeeper's protocol. */
enum {
    PROXY_CREATE = 1,
    PROXY_CHILDREN = 8,
    PROXY_MULTI = 14,
    PROXY_CREATE2 = 15,
    PROXY_REMOVE_WATCHES = 18,
    PROXY_CREATE_CONTAINER = 19,
    PROXY_TYPES = 32, /* those below are counted */
    PROXY_ADD_WATCH = 106
};

/* What the server behind a proxy cannot do, as far as its clients can tell. It closes the
 * connection at a request that it does not know. */
struct proxy_dialect {
    /* 1 << the type of each request that it does not know. If there is any, it does not
     * know ADD_WATCH either. */
    uint32_t unknown;
    bool answers;          /* UNIMPLEMENTED, before it closes the connection */
    bool forgets_sessions; /* begins a new one instead of resuming one */
};

struct proxy {
    uv_loop_t *loop;
    uv_tcp_t *listener; /* NULL while connections are refused */
    char host[16];      /* "127.0.0.1", unless proxy_open_at was called */
    uint16_t port;
    struct sockaddr_in server;
    char hosts[32]; /* "host:port" */
    struct proxy_link *links;

    bool hold_requests; /* hold back what the client sends */
    bool hold_replies;  /* hold back what the server sends */
    bool hold_answers;  /* the same, except the connect answers */
    bool pings_alone;   /* drop what the server sends, except these and connect answers */
    bool breaks;        /* send a wrong frame behind each answer that grants a session */
    bool drop_armed;    /* drop the reply to the next contender's create */
    bool refuse_after_drop;
    bool lose_listing; /* lose the next listing with its connection */
    int dropped;       /* replies dropped by proxy_drop_reply */
    int lost_listings;
    int32_t cut_behind; /* see proxy_cut_behind; 0: none */
    int cuts;           /* connections closed by it */
    int64_t event_zxid; /* that this event gets, as in ZooKeeper 3.9; 0: the server's */
    struct proxy_dialect dialect; /* the test may set it */
    int hang_ups;                 /* so far, at unknown requests */
    int requests[PROXY_TYPES];    /* passed to the server so far, by type */
    int accepted;                 /* connections so far */

    /* The latest session that the server has granted through the proxy. */
    int64_t session_id;
    char session_password[16];
    int resumptions; /* later connect requests with this session id */
};

/* Listens on a free port of 127.0.0.1, in front of the server at 127.0.0.1:server_port.
 * Returns 0 or libuv's code. */
int proxy_open(uv_loop_t *loop, struct proxy *proxy, uint16_t server_port);
/* The same in front of a server at "127.0.0.2:port" and the like. */
int proxy_open_to(uv_loop_t *loop, struct proxy *proxy, const char *server);
/* The same, listening on this port of `host`, a numeric address that begins with 127. */
int proxy_open_at(uv_loop_t *loop, struct proxy *proxy, const char *host, uint16_t port,
                  uint16_t server_port);
/* Resets all connections and stops listening. The memory must stay valid until the loop
 * has run down, or has run one more iteration. */
void proxy_close(struct proxy *proxy);

/* Ends all faults: passes on what is held back, then everything else, and accepts
 * connections. */
void proxy_pass(struct proxy *proxy);
/* Resets every connection. What is held back is lost. New connections are accepted. */
void proxy_cut(struct proxy *proxy);
/* Like proxy_cut, and refuses new connections until proxy_pass. */
void proxy_refuse(struct proxy *proxy);
/* Holds requests back until proxy_pass. */
void proxy_hold_requests(struct proxy *proxy);
/* Holds replies back until proxy_pass. The server still executes requests. */
void proxy_hold_replies(struct proxy *proxy);
/* Holds replies back until proxy_pass, except answers to connect requests. So the client
 * can connect, but receives nothing. */
void proxy_hold_answers(struct proxy *proxy);
/* Lets the server execute the next create of an ephemeral sequential znode, drops its
 * reply and resets the connection. then_refuse: also refuses connections until
 * proxy_pass. */
void proxy_drop_reply(struct proxy *proxy, bool then_refuse);
/* Does not pass on the next getChildren request. Resets the connections instead, and
 * refuses new ones until proxy_pass. */
void proxy_lose_listing(struct proxy *proxy);
/* Closes the connection behind the next frame from the server with this xid: -1 is an
 * event, -8 the answer to SET_WATCHES. */
void proxy_cut_behind(struct proxy *proxy, int32_t xid);

#endif
