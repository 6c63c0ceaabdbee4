/* SPDX-License-Identifier: Apache-2.0 */
/* Numeric IPv4 and IPv6 addresses with a port, as values. These functions look up no
 * names and do not wait for a network. */
#ifndef UVZK_ADDRESSES_H
#define UVZK_ADDRESSES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* A numeric address with its scope, e.g. "fe80::1%eth0". */
#define UVZK__ADDRESS_TEXT 80
/* "address:port" */
#define UVZK__SERVER_TEXT (UVZK__ADDRESS_TEXT + 8)

struct uvzk__address {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } socket;
    socklen_t length;
};

/* An address, and the host of the connect string in whose name it was found; NULL: the
 * connect string has the address itself. The text is borrowed. */
struct uvzk__named_address {
    struct uvzk__address address;
    const char *host;
};

/* Parses a numeric address. Returns false if host is a name. */
bool uvzk__address_read(const char *host, uint16_t port, struct uvzk__address *address);
/* Compares family, port, address and, for IPv6, scope. */
bool uvzk__address_equal(const struct uvzk__address *a, const struct uvzk__address *b);
/* Writes the address without its port; "" if the address cannot be formatted. */
void uvzk__address_text(const struct uvzk__address *address,
                        char text[UVZK__ADDRESS_TEXT]);
/* Writes "address:port" for the C client. The C client splits the text at the last colon
 * and passes the first part to getaddrinfo, so an IPv6 address has no brackets. */
void uvzk__address_server_text(const struct uvzk__address *address,
                               char text[UVZK__SERVER_TEXT]);

/* ------------------------------------------------------------ for this room alone */

/* Writes the local address from which this machine would send to the server; "" if there
 * is none. The function connects a UDP socket and reads that socket's name. Nothing is
 * sent. */
void uvzk__address_local(const struct uvzk__address *server,
                         char text[UVZK__ADDRESS_TEXT]);

/* Returns the text that zookeeper_init expects: the addresses as a list separated by
 * commas, then the chroot ("" or "/..."). count is greater than 0. If count is even, the
 * first address is repeated at the end, so the list has an odd length. The caller frees
 * the text with uvzk__free. Returns NULL if out of memory. */
char *uvzk__addresses_join(const struct uvzk__named_address *addresses, size_t count,
                           const char *chroot);
/* Puts the addresses into a random order, so that clients spread over the servers. */
void uvzk__addresses_shuffle(struct uvzk__named_address *addresses, size_t count);

/* Copies a socket address and sets its port. Returns false if the family is neither
 * AF_INET nor AF_INET6. */
bool uvzk__address_of(const struct sockaddr *socket, uint16_t port,
                      struct uvzk__address *address);

#endif
