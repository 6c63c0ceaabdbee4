/* Resolves host names by c-ares on the loop. It uses the names of /etc/hosts and the name
 * servers of /etc/resolv.conf, and no plugins of nsswitch.conf. A resolver reads both
 * files when it is used, and is meant for the look-ups of one round: create it, look
 * names up, free it. */
#ifndef UVZK_RESOLVER_H
#define UVZK_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "discovery/addresses.h"
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
     * may run inside uvzk__resolver_look_up. status: 0, UV_EAI_* or UV_ENOMEM. found is
     * valid only during the callback, and empty unless status is 0. */
    void (*answered)(struct uvzk__look_up *, int status, const struct uvzk__found *found);
};

struct uvzk__resolver;

/* Creates a resolver that watches its sockets in `sockets`. The owner of `sockets` must
 * pass readiness of sockets that are not its own to uvzk__resolver_ready. Returns NULL
 * and sets *status: UV_ENOMEM, UV_EAI_FAIL. */
struct uvzk__resolver *uvzk__resolver_new(struct uvzk__sockets *sockets, int *status);
/* Frees the resolver and cancels its look-ups. Must not be called inside answered(). NULL
 * is allowed. */
void uvzk__resolver_free(struct uvzk__resolver *resolver);

/* Looks up the addresses of one family, AF_INET or AF_INET6. The caller owns `look_up`,
 * which must stay valid until it is answered or cancelled. */
void uvzk__resolver_look_up(struct uvzk__resolver *resolver,
                            struct uvzk__look_up *look_up, const char *name, int family);

/* A socket that is watched for the resolver is ready. */
void uvzk__resolver_ready(struct uvzk__resolver *resolver, int fd, bool readable,
                          bool writable);
/* Ends the look-ups whose time is over; to be called when the time of uvzk__resolver_next
 * has come. */
void uvzk__resolver_process(struct uvzk__resolver *resolver);
/* Returns when to call uvzk__resolver_process, in the time of uvzk_now(). UINT64_MAX: no
 * look-up is under way. */
uint64_t uvzk__resolver_next(struct uvzk__resolver *resolver);

/* For tests: resolvers that are created from now on ask these name servers
 * ("127.0.0.1:5300,...") instead of those of resolv.conf. The text is borrowed. NULL
 * restores the default. */
void uvzk__resolver_ask(const char *servers);

#endif
