/* Whether an address is a ZooKeeper server: it is asked to continue a session
 * that nobody has. A server says no (all zeros) within milliseconds and makes no
 * session; the C client would take whatever answers for a server. */
#ifndef UVZK_PROBE_H
#define UVZK_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addresses.h"

enum uvzk__verdict {
    UVZK__UNDER_WAY,    /* not known yet */
    UVZK__SERVER,       /* it answered as one */
    UVZK__OUT_OF_REACH, /* no connection, see error */
    UVZK__NO_ANSWER,    /* in the time it was given */
    UVZK__HUNG_UP,      /* without an answer: a server that has no quorum, or none */
    UVZK__NO_ZOOKEEPER  /* it answers something else */
};

struct uvzk__probe {
    int fd; /* -1: none */
    bool asked;
    int error; /* of OUT_OF_REACH, libuv's */
    size_t received;
    unsigned char answer[41];
};

/* -1: none. */
static inline int uvzk__probe_socket(const struct uvzk__probe *probe)
{
    return probe->fd;
}

/* Of OUT_OF_REACH, libuv's. */
static inline int uvzk__probe_error(const struct uvzk__probe *probe)
{
    return probe->error;
}

/* It was not even begun, and why. */
static inline void uvzk__probe_failed(struct uvzk__probe *probe, int error)
{
    probe->error = error;
}

/* Begins to connect. UNDER_WAY: fd is to be watched for writing. */
enum uvzk__verdict uvzk__probe_begin(struct uvzk__probe *probe,
                                     const struct uvzk__address *address);
/* The socket is ready. UNDER_WAY: it is to be watched for reading. */
enum uvzk__verdict uvzk__probe_step(struct uvzk__probe *probe);
/* Closes the socket, which must not be watched any more. */
void uvzk__probe_end(struct uvzk__probe *probe);

#endif
