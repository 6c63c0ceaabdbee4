/* SPDX-License-Identifier: Apache-2.0 */
#include "name_server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define HEADER_BYTES 12U
#define TYPE_A 1
#define TYPE_AAAA 28
#define NO_SUCH_NAME 3

/* Where the only question ends: after its labels, the zero byte, its type and its class.
 * The result may be greater than `length` if the question is cut off. */
static size_t question_end(const unsigned char *bytes, size_t length)
{
    size_t at = HEADER_BYTES;
    while (at < length && bytes[at] != 0) {
        at += bytes[at] + 1U;
    }
    return at + 5;
}

static size_t add_address(unsigned char *at, const char *address, bool four)
{
    unsigned char type = four ? TYPE_A : TYPE_AAAA;
    unsigned char length = four ? 4 : 16;
    /* A pointer to the name in the question, the type, the class IN, a TTL of 0, the
     * length. */
    const unsigned char record[] = {0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 0, 0, length};
    memcpy(at, record, sizeof(record));
    inet_pton(four ? AF_INET : AF_INET6, address, at + sizeof(record));
    return sizeof(record) + length;
}

static void answer(struct name_server *server, const unsigned char *question,
                   size_t length, const struct sockaddr_in *to)
{
    unsigned char bytes[600] = {0};
    size_t end = question_end(question, length);
    if (end > length) {
        return;
    }
    bool exists = server->address[0] != '\0' || server->address6[0] != '\0';
    bool four = question[end - 3] == TYPE_A;
    const char *address = four ? server->address : server->address6;
    memcpy(bytes, question, end);
    bytes[2] |= 0x80; /* QR: a response */
    /* RA, and the response code. */
    bytes[3] = exists ? 0x80 : 0x80 | NO_SUCH_NAME;
    /* No answer, authority or additional record so far. */
    memset(bytes + 6, 0, 6);
    if (address[0] != '\0') {
        bytes[7] = 1;
        end += add_address(bytes + end, address, four);
    }
    uv_buf_t buffer = uv_buf_init((char *)bytes, (unsigned)end);
    uv_udp_try_send(&server->socket, &buffer, 1, (const struct sockaddr *)to);
    server->answered++;
}

static void asked(uv_udp_t *socket, ssize_t length, const uv_buf_t *buffer,
                  const struct sockaddr *from, unsigned flags)
{
    struct name_server *server = socket->data;
    (void)flags;
    if (length <= (ssize_t)HEADER_BYTES || from == NULL) {
        return;
    }
    server->asked++;
    if (!server->hold) {
        answer(server, (const unsigned char *)buffer->base, (size_t)length,
               (const struct sockaddr_in *)(const void *)from);
    } else if (server->held_count < NAME_SERVER_HELD) {
        int at = server->held_count++;
        memcpy(server->held[at].bytes, buffer->base, (size_t)length);
        memcpy(&server->held[at].from, from, sizeof(server->held[at].from));
        server->held[at].length = (size_t)length;
    }
}

static void allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char bytes[512];
    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof(bytes));
}

int name_server_open(uv_loop_t *loop, struct name_server *server)
{
    struct sockaddr_in address;
    int length = sizeof(address);
    memset(server, 0, sizeof(*server));
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_udp_init(loop, &server->socket);
    server->socket.data = server;
    int status = uv_udp_bind(&server->socket, (const struct sockaddr *)&address, 0);
    if (status == 0) {
        status = uv_udp_recv_start(&server->socket, allocate, asked);
    }
    uv_udp_getsockname(&server->socket, (struct sockaddr *)&address, &length);
    snprintf(server->servers, sizeof(server->servers), "127.0.0.1:%u",
             (unsigned)ntohs(address.sin_port));
    return status;
}

void name_server_close(struct name_server *server)
{
    uv_close((uv_handle_t *)&server->socket, NULL);
}

void name_server_go_on(struct name_server *server)
{
    server->hold = false;
    for (int i = 0; i < server->held_count; i++) {
        answer(server, server->held[i].bytes, server->held[i].length,
               &server->held[i].from);
    }
    server->held_count = 0;
}
