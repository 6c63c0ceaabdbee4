/* SPDX-License-Identifier: Apache-2.0 */
/* What the servers of a port know: its dialect.
 *
 * Four requests came late to the protocol, and some servers do not know them: ZooKeeper
 * before 3.5 or 3.6, and other programs that speak its protocol. A server that does not know a
 * request closes the connection, and if it is a ZooKeeper server, it answers
 * UNIMPLEMENTED before. So a port asks once in its life, on its first connection, before
 * its user is told of that connection. Each question is a request of the kind that is
 * asked about, and it changes nothing at a server that knows it, because it is about a
 * znode that does not exist, below a parent that does not exist. Where a persistent watch
 * can be set, one is set on that path, and the question about removal removes it. (A
 * question for a kind of watch that does not exist would leave nothing to remove, but a
 * ZooKeeper server logs it as an error, with a stack trace.)
 *
 *   UNASKED <---> ASKED ---> KNOWN
 *      |                `--> MISSING
 *      `-------------------> MISSING   the transport does not have it
 *
 * The first connection asks everything at once, which costs one round trip. If it is lost
 * before all answers have come, it is not known which question caused that. From then on
 * each connection asks one question at a time; if the connection is lost, the server
 * counts as not knowing that question. If the network loses the connection at these
 * moments, twice, the port does not use a feature that the server has. That only costs
 * requests. */
#ifndef UVZK_DIALECT_H
#define UVZK_DIALECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"
#include "engine/port.h"

enum uvzk__feature {
    UVZK__FEATURE_CREATE2,    /* the reply to a create has the stat of the znode */
    UVZK__FEATURE_CONTAINERS, /* znodes that the server deletes when they are empty */
    UVZK__FEATURE_PERSISTENT, /* persistent watches */
    UVZK__FEATURE_REMOVAL,    /* the server forgets a watch on request. Asked last: the
                                 question removes the watch that the one before has set */
    UVZK__FEATURES
};

enum uvzk__feature_state {
    UVZK__FEATURE_UNASKED, /* next: ASKED MISSING */
    UVZK__FEATURE_ASKED,   /* on the present connection; next: UNASKED KNOWN MISSING */
    UVZK__FEATURE_KNOWN,   /* final */
    UVZK__FEATURE_MISSING  /* final */
};

extern const struct uvzk__machine uvzk__feature_machine;

struct uvzk__dialect_feature {
    uint8_t number; /* its index in the dialect */
    uint8_t state;  /* enum uvzk__feature_state */
};

struct uvzk__dialect {
    struct uvzk__port *port; /* to which illegal moves are reported; borrowed */
    struct uvzk__dialect_feature features[UVZK__FEATURES];
    bool one_by_one;
};

/* What the questions name. Nothing has this path. */
#define UVZK__DIALECT_PATH "/uvzk-asks/what-is-known"

/* In memory of zeros. */
void uvzk__dialect_init(struct uvzk__dialect *dialect, struct uvzk__port *port);
/* The transport does not have this feature, so the servers are not asked. Call it before
 * the first question. */
void uvzk__dialect_lacks(struct uvzk__dialect *dialect, enum uvzk__feature feature);

/* Returns true if all questions have been answered. Until then the port's user is told of
 * no connection. */
bool uvzk__dialect_is_settled(const struct uvzk__dialect *dialect);
/* Returns true if the servers have it. The dialect must be settled. */
bool uvzk__dialect_has(const struct uvzk__dialect *dialect, enum uvzk__feature feature);
/* Returns true if the servers can carry out the request. If not, its status is
 * UVZK_EUNIMPLEMENTED. */
bool uvzk__dialect_allows(const struct uvzk__dialect *dialect,
                          const struct uvzk__rpc *rpc);

/* A connection begins that is used for questions. Those that earlier connections have
 * left open are asked again. */
void uvzk__dialect_begin(struct uvzk__dialect *dialect);
/* Returns true if the next answer on the present connection is to this question. Servers
 * answer in order. If the question about removal could be answered first, it would not be
 * asked again after a later question that sets a watch. */
bool uvzk__dialect_awaits(const struct uvzk__dialect *dialect,
                          enum uvzk__feature feature);
/* Sets the next question to send. Returns false if there is none now. */
bool uvzk__dialect_next(struct uvzk__dialect *dialect, enum uvzk__feature *feature);
/* A server has answered, by ZooKeeper's error code. Returns false if it does not know the
 * request: it will close the connection, which is no longer usable. */
bool uvzk__dialect_answered(struct uvzk__dialect *dialect, enum uvzk__feature feature,
                            int32_t code);
/* The connection is lost, and questions may be open. */
void uvzk__dialect_lost(struct uvzk__dialect *dialect);

#endif
