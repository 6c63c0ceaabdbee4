/* The connect string: "host:port,host:port/chroot". */
#ifndef UVZK_HOSTS_H
#define UVZK_HOSTS_H

#include <netdb.h>
#include <netinet/in.h>

/* A numeric address with its scope, e.g. "fe80::1%eth0". */
#define UVZK__ADDRESS_TEXT 80

/* 0; UV_EINVAL: no hosts, or an entry that is not host:port with a port from 1
 * to 65535 (an IPv6 address stands in brackets); UVZK_EPATH: the chroot. */
int uvzk__hosts_validate(const char *hosts);

/* Blocks, for a worker's thread: resolves every name of a valid string into
 * numeric addresses, which are shuffled. Names that do not resolve are left
 * out as long as one does. The answer is what zookeeper_init wants, to be freed
 * with uvzk__free; or NULL and *status is UV_EAI_* or UV_ENOMEM. */
char *uvzk__hosts_resolve(const char *hosts, int *status);

/* Blocks: this machine's address as Java's InetAddress.getLocalHost() tells it,
 * which is what Curator writes into its znodes; "" if it has none. */
void uvzk__hosts_local_address(char text[UVZK__ADDRESS_TEXT]);

#endif
