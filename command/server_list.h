/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a connect string apart into single servers: every address of every host name in
 * it. */
#ifndef SERVER_LIST_H
#define SERVER_LIST_H

#include <stddef.h>

#define SERVER_LIST_MAX 64

struct server_list {
    /* "10.0.0.1:2181" or "[fd00::1]:2181", owned. Each address is in the list once. */
    char *addresses[SERVER_LIST_MAX];
    char *names[SERVER_LIST_MAX]; /* the hosts that these are addresses of, owned */
    size_t count;
    const char *chroot; /* "" or "/..."; points into `hosts` */
};

/* What the look-up of one host name has found. */
struct server_list_name {
    const char *name;
    const char *why;   /* why there is no address; NULL: there is one */
    const char *found; /* "10.0.0.1, 10.0.0.2"; cut where it is too long */
    double took_ms;
};
typedef void (*server_list_cb)(void *data, const struct server_list_name *);

/* Looks the host names up; this blocks. Returns 0 or an exit code; prints what is wrong,
 * unless there is no memory. Call server_list_free in both cases. `hosts` must outlive
 * the list. */
int server_list_make(struct server_list *, const char *hosts);
/* The same; but cb is called for each name, and a name without an address is left out. */
int server_list_look_up(struct server_list *, const char *hosts, server_list_cb cb,
                        void *data);
void server_list_free(struct server_list *);

#endif
