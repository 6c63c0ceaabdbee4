#include "server_probe.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <uv.h>

/* Of the request: its length, protocol version 0, last zxid 0, the timeout, the
 * session, the password's length and 16 bytes of it, read-only: no. */
#define REQUEST_BYTES 49
#define TIMEOUT_AT 16
#define SESSION_AT 20
#define PASSWORD_LENGTH_AT 28
#define PASSWORD_AT 32

/* Of the answer: its length, protocol version 0, timeout 0, session 0, and a
 * password of 16 bytes; old servers do not say whether they are read-only. */
#define ANSWER_BYTES 41
#define OLD_ANSWER_BYTES 40
#define ANSWER_PASSWORD_AT 20

#define PASSWORD_BYTES 16
#define ASKED_TIMEOUT_MS 10000U

static void write_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (unsigned char)(value >> (24 - 8 * i));
    }
}

static uint32_t read_u32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Nobody has such a session, whatever the bytes are. */
static void write_random(unsigned char *at, size_t length)
{
    if (getrandom(at, length, GRND_NONBLOCK) < 0) {
        memset(at, 0x5a, length);
    }
}

/* A session id begins with the number of the server that made it, 1 to 254. */
static void write_request(unsigned char request[REQUEST_BYTES])
{
    memset(request, 0, REQUEST_BYTES);
    write_u32(request, REQUEST_BYTES - 4);
    write_u32(request + TIMEOUT_AT, ASKED_TIMEOUT_MS);
    write_random(request + SESSION_AT, 8);
    request[SESSION_AT] = 0xff;
    write_u32(request + PASSWORD_LENGTH_AT, PASSWORD_BYTES);
    write_random(request + PASSWORD_AT, PASSWORD_BYTES);
}

static enum uvzk__probe_result out_of_reach(struct uvzk__server_probe *probe, int error)
{
    probe->error = uv_translate_sys_error(error);
    return UVZK__PROBE_UNREACHABLE;
}

enum uvzk__probe_result uvzk__server_probe_begin(struct uvzk__server_probe *probe,
                                                 const struct uvzk__address *address)
{
    memset(probe, 0, sizeof(*probe));
    probe->fd = socket(address->socket.any.sa_family,
                       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe->fd < 0) {
        return out_of_reach(probe, errno);
    }
    if (connect(probe->fd, &address->socket.any, address->length) < 0 &&
        errno != EINPROGRESS) {
        return out_of_reach(probe, errno);
    }
    return UVZK__PROBE_PENDING;
}

/* So few bytes fit into the buffer of a new connection. */
static enum uvzk__probe_result ask(struct uvzk__server_probe *probe)
{
    unsigned char request[REQUEST_BYTES];
    int error = 0;
    socklen_t size = sizeof(error);

    (void)getsockopt(probe->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        return out_of_reach(probe, error);
    }
    write_request(request);
    probe->asked = true;
    if (send(probe->fd, request, sizeof(request), MSG_NOSIGNAL) != sizeof(request)) {
        return UVZK__PROBE_CLOSED;
    }
    return UVZK__PROBE_PENDING;
}

static enum uvzk__probe_result read_answer(const struct uvzk__server_probe *probe)
{
    static const unsigned char zeros[ANSWER_PASSWORD_AT - 4];
    const unsigned char *answer = probe->answer;

    if (probe->received < 4) {
        return UVZK__PROBE_PENDING;
    }
    uint32_t whole = read_u32(answer) + 4;
    if (whole != ANSWER_BYTES && whole != OLD_ANSWER_BYTES) {
        return UVZK__PROBE_NOT_ZOOKEEPER;
    }
    if (probe->received < whole) {
        return UVZK__PROBE_PENDING;
    }
    bool refusal = memcmp(answer + 4, zeros, sizeof(zeros)) == 0 &&
                   read_u32(answer + ANSWER_PASSWORD_AT) == PASSWORD_BYTES;
    return refusal ? UVZK__PROBE_SERVER : UVZK__PROBE_NOT_ZOOKEEPER;
}

static enum uvzk__probe_result receive(struct uvzk__server_probe *probe)
{
    ssize_t got = recv(probe->fd, probe->answer + probe->received,
                       sizeof(probe->answer) - probe->received, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return UVZK__PROBE_PENDING;
    }
    if (got <= 0) {
        return probe->received > 0 ? UVZK__PROBE_NOT_ZOOKEEPER : UVZK__PROBE_CLOSED;
    }
    probe->received += (size_t)got;
    return read_answer(probe);
}

enum uvzk__probe_result uvzk__server_probe_step(struct uvzk__server_probe *probe)
{
    return probe->asked ? receive(probe) : ask(probe);
}

void uvzk__server_probe_end(struct uvzk__server_probe *probe)
{
    if (probe->fd >= 0) {
        close(probe->fd);
        probe->fd = -1;
    }
}
