/* SPDX-License-Identifier: Apache-2.0 */
/* One TCP connection on which `uvzk doctor` asks a server something without a session of the
 * library: it connects, sends, hands over what it receives, and ends once. */
#ifndef SERVER_EXCHANGE_H
#define SERVER_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#define SERVER_EXCHANGE_BYTES 4096 /* that are handed over at once, at most */

/* What the asker does. Each may end the exchange; then none is called any more. */
struct server_exchange_calls {
    void (*connected)(void *asker);
    void (*received)(void *asker, const char *bytes, size_t length);
    /* Nothing more will come. status: an error code of libuv; UV_EOF: the server has closed
     * the connection. The asker ends the exchange. */
    void (*failed)(void *asker, int status);
};

struct server_exchange {
    const struct server_exchange_calls *calls;
    void *asker;
    uv_tcp_t socket;
    uv_connect_t connect;
    char bytes[SERVER_EXCHANGE_BYTES];
};

/* The exchange is over when the loop has closed the socket. The struct must be zeroed. */
void server_exchange_begin(struct server_exchange *, uv_loop_t *,
                           const struct sockaddr *address,
                           const struct server_exchange_calls *, void *asker);
/* Copies and sends the bytes. */
void server_exchange_send(struct server_exchange *, const void *bytes, size_t length);
/* Returns false if it has ended before. */
bool server_exchange_end(struct server_exchange *);
bool server_exchange_has_ended(const struct server_exchange *);
/* Returns the sentence of a status that `failed` was called with. */
const char *server_exchange_reason(int status);

#endif
