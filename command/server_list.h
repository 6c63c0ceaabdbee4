/* A list of servers taken apart: each address of each name that it has. */
#ifndef SERVER_LIST_H
#define SERVER_LIST_H

#include <stddef.h>

#include <uv.h>

#define SERVER_LIST_MAX 64

struct server_list {
    char *addresses[SERVER_LIST_MAX]; /* "10.0.0.1:2181", "[fd00::1]:2181"; each once */
    size_t count;
    const char *chroot; /* "" or "/...", borrowed */
};

/* Looks the names up, and waits for that. 0, or an exit code: what is wrong has been
 * said. */
int server_list_make(struct server_list *, uv_loop_t *, const char *hosts);
void server_list_free(struct server_list *);

#endif
