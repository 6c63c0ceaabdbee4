/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses that a search probes, and what it knows of the server at each. An address
 * that does not answer is probed again after growing pauses.
 *
 * A probe finds out whether an address is a ZooKeeper server. It asks the address to
 * resume a session that does not exist. A server refuses this with an answer of zeros
 * within milliseconds and creates no session. Other programs that speak the protocol
 * cannot resume sessions and grant a new one; the probe asks to end it, and only a
 * program that answers is a server. The C client itself would accept any answer as a
 * server's. */
#ifndef UVZK_TARGETS_H
#define UVZK_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "discovery/addresses.h"
#include "discovery/host_names.h"
#include "discovery/hosts.h"
#include "discovery/pause.h"
#include "discovery/sockets.h"

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

/* One address to probe. If two names have the same address, there are two targets. */
struct uvzk__target {
    struct uvzk__address address;
    /* The host in whose name the address was found; NULL: it is numeric in the connect
     * string. */
    const struct uvzk__host *host;
    struct uvzk__server_probe probe;
    /* Since the search began; PENDING: not known yet. */
    enum uvzk__probe_result result;
    enum uvzk__probe_result told; /* the result that was reported last */
    /* While it is being probed: the time at which the probe ends without an answer.
     * Otherwise: the time of the next probe; UINT64_MAX: none. */
    uint64_t moment;
    struct uvzk__connect_tries
        tries;                      /* of the probe's connection, until it is accepted */
    uint32_t pause_ms, patience_ms; /* before the next probe; for an answer */
    bool probed;                    /* a probe is under way */
    bool in_use;                    /* the handle was opened with this server */
    bool distrusted;                /* its answer to a probe was wrong once */
    /* Until this time it is used only if no other server answers. */
    uint64_t avoided_until;
    uint32_t avoid_ms; /* the length of that time in ms; 0: never avoided */
};

struct uvzk__targets {
    struct uvzk__sockets *sockets;
    struct uvzk__target *array; /* moved when addresses are added or removed */
    size_t count, capacity;
    bool searching;       /* probes are begun */
    bool only_connects;   /* a probe asks nothing */
    uint32_t patience_ms; /* how long the first probe of an address waits */
    /* A probe has ended, at the time `now`. `news`: it was no server, and the reason was
     * not the last one that was reported. */
    void (*settled)(struct uvzk__targets *, const struct uvzk__target *, uint64_t now,
                    bool news);
};

/* Initialises without addresses, in memory of zeros. `settled` must have been set. A
 * probe waits for a third of timeout_ms, the session timeout, at first. */
void uvzk__targets_init(struct uvzk__targets *targets, struct uvzk__sockets *sockets,
                        uint32_t timeout_ms);
/* Ends all probes, without a callback. */
void uvzk__targets_end_probes(struct uvzk__targets *targets);
void uvzk__targets_free(struct uvzk__targets *targets);

/* Adds the address unless the host has it already. `host` identifies the name and is
 * borrowed. Returns 0 or UV_ENOMEM. */
int uvzk__targets_add(struct uvzk__targets *targets, const struct uvzk__host *host,
                      const struct uvzk__address *address);
/* Removes the addresses that the host no longer has. */
void uvzk__targets_remove_old(struct uvzk__targets *targets,
                              const struct uvzk__host *host,
                              const struct uvzk__found *found);

/* Forgets the results of the probes. */
void uvzk__targets_forget(struct uvzk__targets *targets);
/* A search begins: all addresses are probed from now on. A probe that is still under way
 * counts for this search. */
void uvzk__targets_begin(struct uvzk__targets *targets, uint64_t now);
/* Ends the probes that take too long and, while searching, begins those whose time has
 * come. */
void uvzk__targets_step(struct uvzk__targets *targets, uint64_t now);
/* Continues the probe that has this socket. Returns false if none has it. */
bool uvzk__targets_ready(struct uvzk__targets *targets, int fd);
/* Returns when to call uvzk__targets_step; UINT64_MAX for never. */
uint64_t uvzk__targets_next(const struct uvzk__targets *targets);

/* Returns true if every address has a result. */
bool uvzk__targets_are_settled(const struct uvzk__targets *targets);
/* Returns an address that is being probed; NULL: there is none. */
const struct uvzk__target *uvzk__targets_probed(const struct uvzk__targets *targets);
/* Returns why the address is unusable, in words, and sets *code to its code. The result
 * must not be SERVER or PENDING. */
const char *uvzk__target_reason(const struct uvzk__target *target, int *code);

/* A server that is not trusted is used only if no other server answers: it is distrusted,
 * or avoided for a time. */
bool uvzk__target_is_trusted(const struct uvzk__target *target);
/* These do what the functions of search.h do. */
void uvzk__targets_distrust(struct uvzk__targets *targets, const char *server);
void uvzk__targets_avoid(struct uvzk__targets *targets, const char *server);
bool uvzk__targets_find_known(const struct uvzk__targets *targets);
size_t uvzk__targets_take_addresses(struct uvzk__targets *targets,
                                    struct uvzk__named_address **addresses,
                                    char local[UVZK__ADDRESS_TEXT]);
char *uvzk__targets_take(struct uvzk__targets *targets, const char *chroot,
                         char local[UVZK__ADDRESS_TEXT]);

#endif
