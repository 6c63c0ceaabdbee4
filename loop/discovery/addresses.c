/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, compares and formats numeric addresses, and shuffles lists of them
 * (addresses.h). Pure functions, except that the local address is asked of the kernel. */
#include "discovery/addresses.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "platform/entropy.h"

bool uvzk__address_of(const struct sockaddr *socket, uint16_t port,
                      struct uvzk__address *address)
{
    memset(address, 0, sizeof(*address));
    if (socket->sa_family == AF_INET) {
        address->length = sizeof(address->socket.in);
        memcpy(&address->socket.in, socket, address->length);
        address->socket.in.sin_port = htons(port);
    } else if (socket->sa_family == AF_INET6) {
        address->length = sizeof(address->socket.in6);
        memcpy(&address->socket.in6, socket, address->length);
        address->socket.in6.sin6_port = htons(port);
    } else {
        return false;
    }
    return true;
}

bool uvzk__address_read(const char *host, uint16_t port, struct uvzk__address *address)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *list = NULL;
    /* AI_NUMERICHOST: getaddrinfo reads no file and asks no name server. */
    if (getaddrinfo(host, NULL, &hints, &list) != 0) {
        return false;
    }
    bool known = uvzk__address_of(list->ai_addr, port, address);
    freeaddrinfo(list);
    return known;
}

bool uvzk__address_equal(const struct uvzk__address *a, const struct uvzk__address *b)
{
    if (a->socket.any.sa_family != b->socket.any.sa_family) {
        return false;
    }
    if (a->socket.any.sa_family == AF_INET) {
        return a->socket.in.sin_port == b->socket.in.sin_port &&
               a->socket.in.sin_addr.s_addr == b->socket.in.sin_addr.s_addr;
    }
    return a->socket.in6.sin6_port == b->socket.in6.sin6_port &&
           a->socket.in6.sin6_scope_id == b->socket.in6.sin6_scope_id &&
           memcmp(&a->socket.in6.sin6_addr, &b->socket.in6.sin6_addr,
                  sizeof(a->socket.in6.sin6_addr)) == 0;
}

void uvzk__address_text(const struct uvzk__address *address,
                        char text[UVZK__ADDRESS_TEXT])
{
    if (getnameinfo(&address->socket.any, address->length, text, UVZK__ADDRESS_TEXT, NULL,
                    0, NI_NUMERICHOST) != 0) {
        text[0] = '\0';
    }
}

void uvzk__address_server_text(const struct uvzk__address *address,
                               char text[UVZK__SERVER_TEXT])
{
    char host[UVZK__ADDRESS_TEXT];
    bool four = address->socket.any.sa_family == AF_INET;
    uvzk__address_text(address, host);
    snprintf(text, UVZK__SERVER_TEXT, "%s:%u", host,
             ntohs(four ? address->socket.in.sin_port : address->socket.in6.sin6_port));
}

void uvzk__address_local(const struct uvzk__address *server,
                         char text[UVZK__ADDRESS_TEXT])
{
    struct uvzk__address local = {.length = sizeof(local.socket)};
    int fd = socket(server->socket.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    text[0] = '\0';
    if (fd < 0) {
        return;
    }
    /* Connecting a UDP socket selects the route and the local address, and sends
     * nothing. */
    if (connect(fd, &server->socket.any, server->length) == 0 &&
        getsockname(fd, &local.socket.any, &local.length) == 0) {
        uvzk__address_text(&local, text);
    }
    close(fd);
}

void uvzk__addresses_shuffle(struct uvzk__named_address *addresses, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        uint32_t random = 0;
        if (uvzk__entropy(&random, sizeof(random)) < 0) {
            return; /* a random order only spreads the load */
        }
        size_t j = random % i;
        struct uvzk__named_address swap = addresses[i - 1];
        addresses[i - 1] = addresses[j];
        addresses[j] = swap;
    }
}

/* After a failure the C client advances by two servers (ZOOKEEPER-2466). With an even
 * number of servers it would try only every second one again. */
char *uvzk__addresses_join(const struct uvzk__named_address *addresses, size_t count,
                           const char *chroot)
{
    size_t odd = count | 1;
    size_t size = odd * (UVZK__SERVER_TEXT + 1) + strlen(chroot) + 1;
    size_t length = 0;
    char *text = uvzk__malloc(size);
    if (text == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < odd; i++) {
        char server[UVZK__SERVER_TEXT];
        uvzk__address_server_text(&addresses[i % count].address, server);
        int n = snprintf(text + length, size - length, "%s%s", i == 0 ? "" : ",", server);
        length += (size_t)n;
    }
    snprintf(text + length, size - length, "%s", strcmp(chroot, "/") == 0 ? "" : chroot);
    return text;
}
