/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the connect string: "host:port,host:port/chroot". A port that is left out is
 * 2181. */
#ifndef UVZK_HOSTS_H
#define UVZK_HOSTS_H

#include <stdint.h>

#define UVZK__HOST_MAX 255 /* in bytes, RFC 1035 */

struct uvzk__host {
    char name[UVZK__HOST_MAX + 1]; /* or a numeric address, without brackets */
    uint16_t port;
};

/* Returns 0 if the connect string is valid. UV_EINVAL: it names no host, or an entry is
 * neither a host nor host:port with a port from 1 to 65535. An IPv6 address must be in
 * brackets. UVZK_EPATH: the chroot is malformed, or has a comma. A failure also sets the
 * refusal text (base/refusal.h), which names the entry. */
int uvzk__hosts_validate(const char *hosts);

/* Returns the chroot within the connect string: "" or "/...". */
const char *uvzk__hosts_chroot(const char *hosts);

/* ------------------------------------------------------------ for this room alone */

/* Parses the entry at *cursor and advances the cursor. *cursor must first point to the
 * connect string. Returns 1 if *host is set, 0 after the last entry, UV_EINVAL if the
 * entry is malformed. */
int uvzk__hosts_next(const char **cursor, struct uvzk__host *host);

#endif
