/* SPDX-License-Identifier: Apache-2.0 */
/* The host names of a connect string, and their look-ups by c-ares on the loop. Each host
 * has two names, one for each family of addresses. A name is looked up again when the TTL of
 * its addresses has expired or, after a failed look-up, after a growing pause.
 *
 * c-ares uses the names of /etc/hosts and the name servers of /etc/resolv.conf, and no
 * plugins of nsswitch.conf. */
#ifndef UVZK_HOST_NAMES_H
#define UVZK_HOST_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "discovery/addresses.h"
#include "discovery/hosts.h"
#include "discovery/sockets.h"

/* Addresses per name and family. Further addresses are ignored. */
#define UVZK__FOUND_MAX 64

struct uvzk__found {
    struct uvzk__address addresses[UVZK__FOUND_MAX];
    size_t count;
    /* The smallest TTL of the answer in seconds; 0: the answer is from /etc/hosts, or the
     * name server says 0. */
    uint32_t ttl_s;
};

struct uvzk__look_up {
    bool under_way; /* set by the resolver */
    uint16_t port;  /* for the addresses found; set by the caller */
    /* Called once with the result; not called if the look-up is cancelled. The callback
     * may run inside resolver_look_up. status: 0, UV_EAI_* or UV_ENOMEM. found is
     * valid only during the callback, and empty unless status is 0. */
    void (*answered)(struct uvzk__look_up *, int status, const struct uvzk__found *found);
};

struct uvzk__resolver;
struct uvzk__host_names;

/* One host name in one address family. A numeric address has no name. */
struct uvzk__host_name {
    struct uvzk__look_up look_up;
    struct uvzk__host_names *names;
    struct uvzk__host host;
    int family;
    uint64_t fresh_until; /* the name is looked up again after this time */
    uint32_t pause_ms;    /* before the next look-up, after a failure */
    bool asked;           /* a look-up has been answered since the search began */
    int status;           /* of the last answer */
    /* The status that was reported last; used only in the name of the IPv4 family, for
     * both. */
    int told;
};

struct uvzk__host_names {
    struct uvzk__sockets *sockets;
    struct uvzk__resolver *resolver; /* NULL: no look-up under way */
    /* IPv4 and IPv6 of the first host, then of the second one, and so on. */
    struct uvzk__host_name *array;
    size_t count;
    /* A look-up has found addresses. The host identifies the name, one for each family,
     * and lives as long as the names. Returns 0, or UV_ENOMEM if there is no memory for
     * the addresses: then the look-up counts as failed. */
    int (*found)(struct uvzk__host_names *, const struct uvzk__host *,
                 const struct uvzk__found *);
    /* A look-up is over. Called after `found`. If both look-ups of the host have failed,
     * failed is its name, with the status, else NULL. `news`: that status has not been
     * reported since a look-up of the host succeeded last. */
    void (*answered)(struct uvzk__host_names *, const struct uvzk__host_name *failed,
                     bool news);
};

/* Prepares names for at most `hosts` hosts. The callbacks must have been set. Returns 0 or
 * UV_ENOMEM. */
int uvzk__host_names_init(struct uvzk__host_names *names, struct uvzk__sockets *sockets,
                          size_t hosts);
/* Adds the two names of a host. */
void uvzk__host_names_add(struct uvzk__host_names *names, const struct uvzk__host *host);
/* Cancels the look-ups, without a callback, and frees the resolver. Must not be called in
 * a callback. */
void uvzk__host_names_cancel(struct uvzk__host_names *names);
/* Frees the names. No look-up may be under way. */
void uvzk__host_names_free(struct uvzk__host_names *names);

/* Makes all names due for a look-up now. */
void uvzk__host_names_expire(struct uvzk__host_names *names, uint64_t now);
/* Looks up the names that are due. */
void uvzk__host_names_look_up(struct uvzk__host_names *names, uint64_t now);
/* Processes the time-outs of the look-ups. After the last look-up of a round the caller
 * must cancel, which frees the resolver. */
void uvzk__host_names_process(struct uvzk__host_names *names);
/* A socket of the resolver may be ready. Returns false if there is no resolver. */
bool uvzk__host_names_ready(struct uvzk__host_names *names, int fd, bool readable,
                            bool writable);

/* Returns when to call uvzk__host_names_process: UINT64_MAX for never, 0 for at once, to
 * free the resolver. */
uint64_t uvzk__host_names_next_step(const struct uvzk__host_names *names);
/* Returns when the next name has to be looked up; UINT64_MAX: none. */
uint64_t uvzk__host_names_next_look_up(const struct uvzk__host_names *names);
/* Returns a name whose look-up is under way; NULL: there is none. */
const struct uvzk__host_name *
uvzk__host_names_looked_up(const struct uvzk__host_names *names);
/* Returns true if every name has been answered since it last expired. */
bool uvzk__host_names_all_asked(const struct uvzk__host_names *names);

/* For tests: resolvers that are created from now on ask these name servers
 * ("127.0.0.1:5300,...") instead of those of resolv.conf. The text is borrowed. NULL
 * restores the default. */
void uvzk__resolver_ask(const char *servers);

#endif
