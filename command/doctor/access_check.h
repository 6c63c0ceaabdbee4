/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this client may create and delete znodes at the path of a lock, for uvzk doctor. The
 * public interface of uvzk has no request that asks it without a change, so this file opens
 * a session of its own, in plain text, with the codec of loop/native.
 *
 * Two requests are refused in any case, and the reason tells. A multi creates a child and then
 * checks that it has a version that it has not: it fails as a whole. A delete names a child
 * that does not exist, with a version that no znode has. The servers look at the ACL first. */
#ifndef ACCESS_CHECK_H
#define ACCESS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "connection.h"
#include "doctor/server_exchange.h"

#define ACCESS_CHECK_BYTES 4096 /* of a reply */

struct access_check;
struct uvzk__wire_reply;

typedef void (*access_check_cb)(struct access_check *, const struct uvzk__wire_reply *);

struct access_check {
    char *node;       /* what exists of the path, owned: the path itself, or above it */
    bool is_path;     /* it is the path itself */
    bool known;       /* the servers have told */
    bool may_create;  /* below `node` */
    bool may_delete;  /* the same; not known of what is above the path */
    char reason[128]; /* if it is not known: why */

    /* Its own. */
    const struct connection_credentials *credentials;
    struct server_exchange exchange;
    unsigned char bytes[ACCESS_CHECK_BYTES];
    size_t length;            /* of them */
    int32_t asked;            /* the opcode of the request that was sent last */
    access_check_cb on_reply; /* to it; NULL: the server has not granted the session */
};

/* Asks the server at the address; it is over when the exchange is. path: with the chroot
 * and the namespace. The struct must be zeroed; access_check_free frees what it
 * owns. The credentials must outlive it. */
void access_check_begin(struct access_check *, uv_loop_t *,
                        const struct sockaddr *address, const char *path,
                        const struct connection_credentials *);
/* Ends it, unless it is over. */
void access_check_give_up(struct access_check *);
void access_check_free(struct access_check *);

#endif
