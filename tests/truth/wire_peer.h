/* SPDX-License-Identifier: Apache-2.0 */
/* A session with a server, over a blocking socket, one request at a time. What the server
 * says is told as lines of text, in which ids and times are replaced by what does not
 * depend on the server: zxids count from the beginning, sessions have the numbers of their
 * peers, and times are left out. */
#ifndef WIRE_PEER_H
#define WIRE_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "native/wire_reply.h"
#include "native/wire_request.h"

#define WIRE_PEERS_MAX 8
#define WIRE_TEXT 65536

/* One server, as its peers see it. */
struct wire_side {
    const char *name; /* for messages */
    uint16_t port;
    int64_t first_zxid;               /* of which the others are told relative */
    int64_t sessions[WIRE_PEERS_MAX]; /* of its peers, by their numbers */
    char text[WIRE_TEXT];             /* what it has said since wire_side_clear */
    size_t length;
};

struct wire_peer {
    struct wire_side *side;
    int number; /* of the peer, below WIRE_PEERS_MAX */
    int fd;     /* -1: none */
    int32_t xid;
    int64_t session_id, last_zxid;
    unsigned char password[16];
};

void wire_side_clear(struct wire_side *side);
/* Sorts the lines. */
void wire_side_sort(struct wire_side *side);

/* Begins a session, or continues the peer's own. Tells whether it was granted. The
 * connection is open then. */
bool wire_peer_connect(struct wire_peer *peer, bool resumes);
/* Closes the socket without a word. */
void wire_peer_drop(struct wire_peer *peer);

/* Sends a request, and tells all that comes until its reply. xid 0: the next one. Returns
 * false if the server has closed the connection, which is told too. */
bool wire_peer_call(struct wire_peer *peer, struct uvzk__wire_request request);
/* Pings, so that everything is told that the server has sent before. */
void wire_peer_hear(struct wire_peer *peer);

#endif
