/* SPDX-License-Identifier: Apache-2.0 */
/* How the clients of a history reach the simulated servers: by the simulation's own ports,
 * or by those of the native transport, over streams of bytes. Each program of histories has
 * one of the two. */
#ifndef UVZK_HISTORY_TRANSPORT_H
#define UVZK_HISTORY_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/port.h"
#include "sim.h"

struct history_transport {
    unsigned
        histories;    /* so many of each recipe, unless the environment says otherwise */
    unsigned without; /* enum history_kind: no seed has these with it */
    bool by_bytes;    /* in ZooKeeper's protocol */
    uint32_t tamper;  /* of a million replies so many are tampered with, */
    uint64_t (*tampered)(void);     /* ... and so many have been; NULL if tamper is 0 */
    void (*begin)(struct sim *sim); /* may be NULL, as end() */
    void (*end)(void);
    /* In a new process, or in that of the port `beside`. */
    struct uvzk__port *(*port_new)(struct sim *sim, const char *name,
                                   const struct uvzk__port *beside, uint32_t timeout_ms);
    void (*set_latency)(struct uvzk__port *port, uint32_t min_ms, uint32_t max_ms);
    bool (*auth_failed)(const struct uvzk__port *port);
    int64_t (*session_id)(const struct uvzk__port *port); /* 0: none */
    uint64_t (*clock)(const struct uvzk__port *port);
    uint64_t (*submitted)(const struct uvzk__port *port);
    size_t (*watches)(const struct uvzk__port *port); /* that it has */
    /* Returns true if the port removes watches that are no longer wanted from the
     * servers. */
    bool (*removes_watches)(const struct uvzk__port *port);
};

extern const struct history_transport history_transport;

/* How many replies have been tampered with. */
static inline uint64_t history_tampered(void)
{
    return history_transport.tamper > 0 ? history_transport.tampered() : 0;
}

#endif
