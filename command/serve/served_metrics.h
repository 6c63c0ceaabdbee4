/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a daemon (`uvzk serve`): what the programs have now, what was counted
 * since the daemon began, and the metrics of its ZooKeeper client, as text for
 * Prometheus. */
#ifndef SERVED_METRICS_H
#define SERVED_METRICS_H

#include <stddef.h>
#include <stdint.h>

struct daemon;
struct served_connection;
struct served_request;

/* Why the daemon has cut a connection off. */
enum served_cut {
    SERVED_CUT_LINE,        /* a line was too long */
    SERVED_CUT_UNREAD,      /* answers were not read */
    SERVED_CUT_CONNECTIONS, /* there were too many connections */
    SERVED_CUT_OTHERWISE,   /* no memory, a failed accept, the end of the daemon */
    SERVED_CUTS
};

/* Since the daemon began. */
struct served_counts {
    uint64_t accepted; /* connections */
    uint64_t requests; /* lines that were read */
    uint64_t wrong;    /* of those, the ones that were answered with SERVE_EREQUEST
                          because they are not requests */
    uint64_t cut_off[SERVED_CUTS]; /* connections */
};

/* Counts a connection that was cut off with this error of the protocol. */
void served_counts_cut_off(struct served_counts *, const char *error);

/* Returns the metrics in Prometheus' text format 0.0.4, which the caller frees, and sets
 * *length; NULL: no memory. */
char *served_metrics_text(const struct daemon *, size_t *length);

/* Carries out "metrics". */
void served_metrics_send(struct served_connection *, const struct served_request *);

#endif
