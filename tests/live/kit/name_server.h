/* SPDX-License-Identifier: Apache-2.0 */
/* A DNS server on the test's own loop. Every name has the same addresses: at most one of
 * each family. The server can hold its answers back. */
#ifndef NAME_SERVER_H
#define NAME_SERVER_H

#include <stdbool.h>
#include <uv.h>

#define NAME_SERVER_HELD 64

struct name_server {
    uv_udp_t socket;
    char servers[32];  /* "127.0.0.1:port" */
    char address[16];  /* the test may change it; "": none */
    char address6[40]; /* the same for IPv6; if both are "", no name exists */
    bool hold;         /* keep questions without answering them */
    int asked;         /* questions so far */
    int answered;
    struct {
        unsigned char bytes[512];
        size_t length;
        struct sockaddr_in from;
    } held[NAME_SERVER_HELD];
    int held_count;
};

/* Listens on a free port. Returns 0 or libuv's code. */
int name_server_open(uv_loop_t *loop, struct name_server *server);
/* The memory must stay valid until the loop has run down. */
void name_server_close(struct name_server *server);
/* Answers the questions that were kept, and all further ones at once. */
void name_server_go_on(struct name_server *server);

#endif
