/* Takes a connect string apart into single servers: every address of every host name in
 * it. */
#ifndef SERVER_LIST_H
#define SERVER_LIST_H

#include <stddef.h>

#define SERVER_LIST_MAX 64

struct server_list {
    /* "10.0.0.1:2181" or "[fd00::1]:2181", owned. Each address is in the list once. */
    char *addresses[SERVER_LIST_MAX];
    size_t count;
    const char *chroot; /* "" or "/..."; points into `hosts` */
};

/* Looks the host names up; this blocks. Returns 0 or an exit code; prints what is wrong,
 * unless there is no memory. Call server_list_free in both cases. `hosts` must outlive
 * the list. */
int server_list_make(struct server_list *, const char *hosts);
void server_list_free(struct server_list *);

#endif
