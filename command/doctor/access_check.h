/* Whether this client may create and delete znodes at the path of a lock, for uvzk doctor. The
 * public interface of uvzk has no request that asks it without a change, so this file speaks
 * ZooKeeper's protocol itself, in plain text.
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

#define ACCESS_CHECK_BYTES 4096 /* of a reply */

struct access_check {
    char *node;       /* what exists of the path, owned: the path itself, or above it */
    bool is_path;     /* it is the path itself */
    bool known;       /* the servers have told */
    bool may_create;  /* below `node` */
    bool may_delete;  /* the same; not known of what is above the path */
    char reason[128]; /* if it is not known: why */

    /* Its own. */
    const struct connection_credentials *credentials;
    uv_tcp_t socket;
    uv_connect_t connect;
    unsigned char bytes[ACCESS_CHECK_BYTES];
    size_t length; /* of them */
    void (*on_reply)(struct access_check *, const unsigned char *, size_t);
};

/* Asks the server at the address; it is over when the loop has closed the socket. path: with
 * the chroot and the namespace. The struct must be zeroed; access_check_free frees what it
 * owns. The credentials must outlive it. */
void access_check_begin(struct access_check *, uv_loop_t *,
                        const struct sockaddr *address, const char *path,
                        const struct connection_credentials *);
/* Ends it, unless it is over. */
void access_check_give_up(struct access_check *);
void access_check_free(struct access_check *);

#endif
