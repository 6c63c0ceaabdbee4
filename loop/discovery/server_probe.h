/* Finds out whether an address is a ZooKeeper server. The probe asks the address to
 * resume a session that does not exist. A server refuses this with an answer of zeros
 * within milliseconds and creates no session. Other programs that speak the protocol
 * cannot resume sessions and grant a new one; the probe asks to end it, and only a
 * program that answers is a server. The C client itself would accept any answer as a
 * server's. */
#ifndef UVZK_SERVER_PROBE_H
#define UVZK_SERVER_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "discovery/addresses.h"

enum uvzk__probe_result {
    UVZK__PROBE_PENDING,     /* not known yet */
    UVZK__PROBE_SERVER,      /* it answered as a server does */
    UVZK__PROBE_UNREACHABLE, /* no connection; see error */
    UVZK__PROBE_TIMEOUT,     /* no answer in time; set by the caller of the probe */
    /* The connection was closed without an answer: by a server without a quorum, by one
     * that speaks TLS on this port, or by another program. */
    UVZK__PROBE_CLOSED,
    UVZK__PROBE_NOT_ZOOKEEPER /* it sent something else */
};

struct uvzk__server_probe {
    int fd;          /* the socket; -1: none */
    bool connects;   /* a connection is enough: nothing is asked */
    bool asked;      /* the request has been sent */
    bool ending;     /* the end of a granted session has been asked for */
    int error;       /* for UNREACHABLE, a code of libuv */
    size_t received; /* bytes of answer */
    unsigned char answer[41];
};

/* Returns the socket, for watching; -1: none. */
static inline int uvzk__server_probe_socket(const struct uvzk__server_probe *probe)
{
    return probe->fd;
}

/* For UNREACHABLE, a code of libuv. */
static inline int uvzk__server_probe_error(const struct uvzk__server_probe *probe)
{
    return probe->error;
}

/* Begins to connect. connects: an address that accepts a connection counts as a server,
 * because the port speaks TLS, and the probe does not. UVZK__PROBE_PENDING: the socket
 * must be watched for writing. In every case the probe must be ended with
 * uvzk__server_probe_end. */
enum uvzk__probe_result uvzk__server_probe_begin(struct uvzk__server_probe *probe,
                                                 const struct uvzk__address *address,
                                                 bool connects);
/* The socket is ready. UVZK__PROBE_PENDING: the socket must be watched for reading. */
enum uvzk__probe_result uvzk__server_probe_step(struct uvzk__server_probe *probe);
/* Closes the socket. The socket must no longer be watched. */
void uvzk__server_probe_end(struct uvzk__server_probe *probe);

#endif
