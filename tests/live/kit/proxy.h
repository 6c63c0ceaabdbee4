/* A TCP proxy in front of one ZooKeeper server, on the test's own loop. It
 * knows the frames of the protocol and can lose what a network can lose. */
#ifndef PROXY_H
#define PROXY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct proxy_link;

/* Types of requests, as the protocol numbers them. */
enum {
    PROXY_CREATE = 1,
    PROXY_CHILDREN = 8,
    PROXY_MULTI = 14,
    PROXY_CREATE2 = 15,
    PROXY_TYPES = 32
};

struct proxy {
    uv_loop_t *loop;
    uv_tcp_t *listener; /* NULL while connections are refused */
    char host[16];      /* "127.0.0.1" */
    uint16_t port;
    struct sockaddr_in server;
    char hosts[32]; /* "host:port" */
    struct proxy_link *links;

    bool hold_requests; /* client to server: kept back */
    bool hold_replies;  /* server to client: kept back */
    bool hold_answers;  /* likewise, but the connection opens */
    bool drop_armed;    /* the next contender's create loses its reply */
    bool refuse_after_drop;
    bool lose_listing; /* the next listing is lost with its connection */
    int dropped;       /* replies lost so far by proxy_drop_reply */
    int lost_listings;
    int requests[PROXY_TYPES]; /* passed to the server so far, of each type */
    int accepted;              /* connections so far */

    /* Of the last session a server has granted through it. */
    int64_t session_id;
    char session_password[16];
    int resumptions; /* connect requests that have named it since */
};

/* Listens on a free port. 0 or libuv's code. */
int proxy_open(uv_loop_t *loop, struct proxy *proxy, uint16_t server_port);
/* In front of a server at "127.0.0.2:port" and the like. */
int proxy_open_to(uv_loop_t *loop, struct proxy *proxy, const char *server);
/* Listens on this numeric address, which begins with 127, and port. */
int proxy_open_at(uv_loop_t *loop, struct proxy *proxy, const char *host, uint16_t port,
                  uint16_t server_port);
/* Resets everything. The memory is the caller's once the loop is run down, or
 * has been run once more. */
void proxy_close(struct proxy *proxy);

/* Forwards everything again, what is held first. Accepts again. */
void proxy_pass(struct proxy *proxy);
/* Resets every connection; what is held is lost. New ones are accepted. */
void proxy_cut(struct proxy *proxy);
/* As cut, and new connections are refused until proxy_pass. */
void proxy_refuse(struct proxy *proxy);
void proxy_hold_requests(struct proxy *proxy);
/* The server works on, the client does not hear of it. */
void proxy_hold_replies(struct proxy *proxy);
/* Likewise, but for the answer to the opening of a connection: the client is connected,
 * and hears nothing. */
void proxy_hold_answers(struct proxy *proxy);
/* Lets the server carry out the next create of an ephemeral sequential znode,
 * then swallows its reply and resets the connection; refuses further ones until
 * proxy_pass if `then_refuse`. */
void proxy_drop_reply(struct proxy *proxy, bool then_refuse);
/* Does not pass the next getChildren on: resets the connection, and refuses further
 * ones until proxy_pass. */
void proxy_lose_listing(struct proxy *proxy);

#endif
