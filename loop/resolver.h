/* Host names to addresses, by c-ares on the loop: the name servers of
 * /etc/resolv.conf and the names of /etc/hosts, no plugins of nsswitch.conf. A
 * resolver reads both files when it is made and is for the look-ups of one
 * round. */
#ifndef UVZK_RESOLVER_H
#define UVZK_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addresses.h"
#include "sockets.h"

#define UVZK__FOUND_MAX 64 /* addresses of one name and family; others are left out */

struct uvzk__found {
    struct uvzk__address addresses[UVZK__FOUND_MAX];
    size_t count;
    uint32_t ttl_s; /* 0: of /etc/hosts, or as the name server says */
};

struct uvzk__look_up {
    bool under_way;
    uint16_t port; /* for the addresses found */
    /* Not called when it is cancelled. May come from inside
     * uvzk__resolver_look_up. status: 0, UV_EAI_* or UV_ENOMEM; found is
     * borrowed, and empty unless status is 0. */
    void (*answered)(struct uvzk__look_up *, int status, const struct uvzk__found *found);
};

struct uvzk__resolver;

/* Its sockets are watched here: what is ready and none of the owner's goes to
 * uvzk__resolver_ready. NULL and *status: UV_ENOMEM, UV_EAI_FAIL. */
struct uvzk__resolver *uvzk__resolver_new(struct uvzk__sockets *sockets, int *status);
/* Cancels what is under way. Not from inside answered(). NULL is fine. */
void uvzk__resolver_free(struct uvzk__resolver *resolver);

/* The addresses of one family (AF_INET, AF_INET6); the look-up stays the
 * caller's and must stay valid until it is answered or cancelled. */
void uvzk__resolver_look_up(struct uvzk__resolver *resolver,
                            struct uvzk__look_up *look_up, const char *name, int family);

void uvzk__resolver_ready(struct uvzk__resolver *resolver, int fd, bool readable,
                          bool writable);
/* Time has passed: ends what has taken too long. */
void uvzk__resolver_process(struct uvzk__resolver *resolver);
/* When to process it, a moment of uvzk_now(); UINT64_MAX: nothing is under way. */
uint64_t uvzk__resolver_next(struct uvzk__resolver *resolver);

/* For tests: resolvers made from now on ask these ("127.0.0.1:5300,...", borrowed)
 * and not those of resolv.conf. NULL: as usual. */
void uvzk__resolver_ask(const char *servers);

#endif
