/* Numeric addresses: values, no names, nothing that waits. */
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

/* False if host is no numeric address but a name. */
bool uvzk__address_read(const char *host, uint16_t port, struct uvzk__address *address);
/* Of a socket address of either family; false for other ones. */
bool uvzk__address_of(const struct sockaddr *socket, uint16_t port,
                      struct uvzk__address *address);
bool uvzk__address_equal(const struct uvzk__address *a, const struct uvzk__address *b);
void uvzk__address_text(const struct uvzk__address *address,
                        char text[UVZK__ADDRESS_TEXT]);
/* The C client cuts at the last colon and hands the rest to getaddrinfo, so an
 * IPv6 address comes without brackets. */
void uvzk__address_server_text(const struct uvzk__address *address,
                               char text[UVZK__SERVER_TEXT]);

/* The address that this machine would talk to the server from, "" if none: of
 * a connected UDP socket, to which nothing is sent. */
void uvzk__address_local(const struct uvzk__address *server,
                         char text[UVZK__ADDRESS_TEXT]);

/* What zookeeper_init wants of these, count > 0: shuffled, of an odd number, with
 * the chroot behind ("" or "/..."). To be freed with uvzk__free; NULL: out of
 * memory. */
char *uvzk__addresses_join(struct uvzk__address *addresses, size_t count,
                           const char *chroot);

#endif
