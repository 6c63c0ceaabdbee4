/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives the messages between holder and supervisor (channel.h). Each message
 * is one packet of the socket pair, so none is read in part. */
#include "channel.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

int channel_open(int ends[2])
{
    /* SOCK_SEQPACKET keeps messages apart, and reports the end as an empty read. */
    int kind = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;

    return socketpair(AF_UNIX, kind, 0, ends) == 0 ? 0 : -errno;
}

bool channel_send(int end, const struct message *message)
{
    size_t length = offsetof(struct message, text) + strlen(message->text) + 1;
    ssize_t sent;

    do {
        sent = send(end, message, length, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)length;
}

bool channel_send_number(int end, enum message_kind kind, int64_t number)
{
    struct message message = {.kind = kind, .number = number, .text = ""};

    return channel_send(end, &message);
}

static ssize_t receive_once(int end, struct message *message)
{
    ssize_t length;

    do {
        length = recv(end, message, sizeof(*message), 0);
    } while (length < 0 && errno == EINTR);
    return length;
}

/* If the other process has ended and had not read everything, the first recv() reports a
 * reset, and what it had sent before comes after that. */
static ssize_t receive(int end, struct message *message)
{
    ssize_t length = receive_once(end, message);

    return length < 0 && errno == ECONNRESET ? receive_once(end, message) : length;
}

int channel_receive(int end, struct message *message)
{
    ssize_t length = receive(end, message);

    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return 0;
    }
    /* 0 is the end of the channel. A message has at least the NUL of its text. */
    if (length <= (ssize_t)offsetof(struct message, text)) {
        return -1;
    }
    message->text[MESSAGE_TEXT_MAX - 1] = '\0';
    return 1;
}
