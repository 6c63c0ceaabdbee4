/* Whether an address is a ZooKeeper server: it is asked to continue a session
 * that nobody has. A server says no (all zeros) within milliseconds and makes no
 * session; the C client would take whatever answers for a server. */
#ifndef UVZK_SERVER_PROBE_H
#define UVZK_SERVER_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addresses.h"

enum uvzk__probe_result {
    UVZK__PROBE_PENDING,     /* not known yet */
    UVZK__PROBE_SERVER,      /* it answered as one */
    UVZK__PROBE_UNREACHABLE, /* no connection, see error */
    UVZK__PROBE_TIMEOUT,     /* in the time it was given */
    UVZK__PROBE_CLOSED,      /* without an answer: a server that has no quorum, or none */
    UVZK__PROBE_NOT_ZOOKEEPER /* it answers something else */
};

struct uvzk__server_probe {
    int fd; /* -1: none */
    bool asked;
    int error; /* of UNREACHABLE, libuv's */
    size_t received;
    unsigned char answer[41];
};

/* -1: none. */
static inline int uvzk__server_probe_socket(const struct uvzk__server_probe *probe)
{
    return probe->fd;
}

/* Of UNREACHABLE, libuv's. */
static inline int uvzk__server_probe_error(const struct uvzk__server_probe *probe)
{
    return probe->error;
}

/* It was not even begun, and why. */
static inline void uvzk__server_probe_failed(struct uvzk__server_probe *probe, int error)
{
    probe->error = error;
}

/* Begins to connect. UNDER_WAY: fd is to be watched for writing. */
enum uvzk__probe_result uvzk__server_probe_begin(struct uvzk__server_probe *probe,
                                                 const struct uvzk__address *address);
/* The socket is ready. UNDER_WAY: it is to be watched for reading. */
enum uvzk__probe_result uvzk__server_probe_step(struct uvzk__server_probe *probe);
/* Closes the socket, which must not be watched any more. */
void uvzk__server_probe_end(struct uvzk__server_probe *probe);

#endif
