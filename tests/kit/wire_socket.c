/* SPDX-License-Identifier: Apache-2.0 */
#include "wire_socket.h"

#include "cmocka_test.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <uv.h>

#define PATIENCE_S 20

int wire_socket_open(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval patience = {PATIENCE_S, 0};

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)),
                     0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

void wire_socket_send(int fd, struct uvzk__jute_writer *writer)
{
    assert_int_equal(send(fd, writer->bytes, writer->length, MSG_NOSIGNAL),
                     writer->length);
    uvzk__jute_writer_end(writer);
}

/* Byte by byte after the length: jute_frame alone knows where a frame ends. */
bool wire_socket_receive(int fd, unsigned char *buffer, size_t size,
                         struct uvzk__jute_bytes *frame)
{
    size_t length = 4;
    int status;

    if (recv(fd, buffer, 4, MSG_WAITALL) != 4) {
        return false;
    }
    while ((status = uvzk__jute_frame(uvzk__jute_bytes(buffer, length), size - 4,
                                      frame)) == UV_EAGAIN) {
        if (recv(fd, buffer + length, 1, 0) != 1) {
            return false;
        }
        length++;
    }
    assert_int_equal(status, 0);
    return true;
}
