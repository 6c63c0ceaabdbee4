/* A DNS server on the test's own loop: it knows one address of each family, which
 * every name has, and can keep its answers back. */
#ifndef NAME_SERVER_H
#define NAME_SERVER_H

#include <stdbool.h>
#include <uv.h>

#define NAME_SERVER_HELD 64

struct name_server {
    uv_udp_t socket;
    char servers[32];  /* "127.0.0.1:port" */
    char address[16];  /* yours to change; "": none of IPv4 */
    char address6[40]; /* likewise of IPv6; without either no name exists */
    bool hold;         /* questions are kept, unanswered */
    int asked;         /* questions so far */
    int answered;
    struct {
        unsigned char bytes[512];
        size_t length;
        struct sockaddr_in from;
    } held[NAME_SERVER_HELD];
    int held_count;
};

/* On a free port. 0 or libuv's code. */
int name_server_open(uv_loop_t *loop, struct name_server *server);
/* The memory is the caller's once the loop is run down. */
void name_server_close(struct name_server *server);
/* Answers what it has kept, and from now on at once. */
void name_server_go_on(struct name_server *server);

#endif
