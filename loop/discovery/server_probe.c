/* One probe of one address (server_probe.h). The caller watches the socket and limits the
 * time. The first step sends a connect request of ZooKeeper's protocol, the next steps
 * read the answer. */
#include "discovery/server_probe.h"

#include <string.h>
#include <uv.h>

#include "discovery/sockets.h"
#include "platform/entropy.h"

/* The request: its length, protocol version 0, last zxid 0, the timeout in ms, the
 * session id, the length of the password, 16 bytes of password, read-only: 0. */
#define REQUEST_BYTES 49
#define TIMEOUT_AT 16
#define SESSION_AT 20
#define PASSWORD_LENGTH_AT 28
#define PASSWORD_AT 32

/* The answer: its length, protocol version 0, the timeout, the session id, and a password
 * of 16 bytes. The timeout and the id are 0 if the session is refused. A last byte says
 * whether the server is read-only; old servers do not send it. */
#define ANSWER_BYTES 41
#define OLD_ANSWER_BYTES 40
#define ANSWER_TIMEOUT_AT 8
#define ANSWER_SESSION_AT 12
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

/* Whatever the bytes are, no session has this id and password (write_request). */
static void write_random(unsigned char *at, size_t length)
{
    if (uvzk__entropy(at, length) < 0) {
        memset(at, 0x5a, length);
    }
}

/* A server puts its own number, 1 to 254, into the first byte of the session ids that it
 * creates. The byte 0xff makes an id that no server has created. */
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
    probe->error = error;
    return UVZK__PROBE_UNREACHABLE;
}

enum uvzk__probe_result uvzk__server_probe_begin(struct uvzk__server_probe *probe,
                                                 const struct uvzk__address *address,
                                                 bool connects)
{
    memset(probe, 0, sizeof(*probe));
    probe->connects = connects;
    int error = uvzk__socket_connect(address, &probe->fd);
    return error < 0 ? out_of_reach(probe, error) : UVZK__PROBE_PENDING;
}

/* The request fits into the send buffer of a new connection, so a partial send is a
 * failure. */
static enum uvzk__probe_result server_probe_ask(struct uvzk__server_probe *probe)
{
    unsigned char request[REQUEST_BYTES];
    int error = uvzk__socket_error(probe->fd);

    if (error < 0) {
        return out_of_reach(probe, error);
    }
    if (probe->connects) {
        return UVZK__PROBE_SERVER;
    }
    write_request(request);
    probe->asked = true;
    if (uvzk__socket_send(probe->fd, request, sizeof(request)) != sizeof(request)) {
        return UVZK__PROBE_CLOSED;
    }
    return UVZK__PROBE_PENDING;
}

static bool is_zero(const unsigned char *bytes, size_t length)
{
    static const unsigned char zeros[ANSWER_PASSWORD_AT];

    return memcmp(bytes, zeros, length) == 0;
}

/* Asks the server to end the session that it has granted: the length, xid 0, the opcode
 * -11. If that is lost, the session ends by its timeout. */
static enum uvzk__probe_result end_granted_session(struct uvzk__server_probe *probe)
{
    static const unsigned char request[] = {0, 0, 0,    8,    0,    0,
                                            0, 0, 0xff, 0xff, 0xff, 0xf5};

    probe->ending = true;
    probe->received = 0;
    return uvzk__socket_send(probe->fd, request, sizeof(request)) == sizeof(request)
               ? UVZK__PROBE_PENDING
               : UVZK__PROBE_CLOSED;
}

static enum uvzk__probe_result read_answer(struct uvzk__server_probe *probe)
{
    const unsigned char *answer = probe->answer;

    /* The first 4 bytes are the length of the rest. */
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
    bool no_timeout = is_zero(answer + ANSWER_TIMEOUT_AT, 4);
    bool no_session = is_zero(answer + ANSWER_SESSION_AT, 8);
    if (!is_zero(answer + 4, 4) || no_timeout != no_session ||
        read_u32(answer + ANSWER_PASSWORD_AT) != PASSWORD_BYTES) {
        return UVZK__PROBE_NOT_ZOOKEEPER;
    }
    return no_session ? UVZK__PROBE_SERVER : end_granted_session(probe);
}

static enum uvzk__probe_result server_probe_receive(struct uvzk__server_probe *probe)
{
    ssize_t got = uvzk__socket_receive(probe->fd, probe->answer + probe->received,
                                       sizeof(probe->answer) - probe->received);
    if (got == 0) {
        return UVZK__PROBE_PENDING;
    }
    if (probe->ending) { /* with any content: a reply, or the end of the connection */
        return UVZK__PROBE_SERVER;
    }
    if (got < 0) {
        /* A server without a quorum closes the connection without an answer, and so does
         * one that wants TLS. */
        return probe->received > 0 ? UVZK__PROBE_NOT_ZOOKEEPER : UVZK__PROBE_CLOSED;
    }
    probe->received += (size_t)got;
    return read_answer(probe);
}

enum uvzk__probe_result uvzk__server_probe_step(struct uvzk__server_probe *probe)
{
    return probe->asked ? server_probe_receive(probe) : server_probe_ask(probe);
}

void uvzk__server_probe_end(struct uvzk__server_probe *probe)
{
    if (probe->fd >= 0) {
        uvzk__socket_close(probe->fd);
        probe->fd = -1;
    }
}
