/* The connect string: "host:port,host:port/chroot". */
#ifndef UVZK_HOSTS_H
#define UVZK_HOSTS_H

#include <stdint.h>

#define UVZK__HOST_MAX 255 /* bytes of a host name, RFC 1035 */

struct uvzk__host {
    char name[UVZK__HOST_MAX + 1]; /* or a numeric address, without brackets */
    uint16_t port;
};

/* 0; UV_EINVAL: no hosts, or an entry that is not host:port with a port from 1
 * to 65535 (an IPv6 address stands in brackets); UVZK_EPATH: the chroot. */
int uvzk__hosts_validate(const char *hosts);

/* Takes the entry at *cursor, which begins as the string itself. 1: there it
 * is. 0: there is no other. UV_EINVAL. */
int uvzk__hosts_next(const char **cursor, struct uvzk__host *host);

/* "" or "/...". */
const char *uvzk__hosts_chroot(const char *hosts);

#endif
