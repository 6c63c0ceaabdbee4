/* SPDX-License-Identifier: Apache-2.0 */
/* The chroot of a connect string. The paths that src/ uses do not include it, those on
 * the wire do. */
#ifndef UVZK_CHROOT_H
#define UVZK_CHROOT_H

#include <stdbool.h>
#include <stddef.h>

#include "native/jute.h"

struct uvzk__chroot {
    const char *prefix; /* "" or "/..."; borrowed */
    size_t length;      /* of the prefix */
    char *path;         /* memory of uvzk__chroot_add; owned */
    size_t capacity;
};

/* chroot: "", "/" or "/..."; borrowed. */
void uvzk__chroot_init(struct uvzk__chroot *chroot, const char *prefix);
void uvzk__chroot_end(struct uvzk__chroot *chroot);

/* Sets *full to the path as the server knows it, which is valid until the next call.
 * Returns 0 or UV_ENOMEM. */
int uvzk__chroot_add(struct uvzk__chroot *chroot, const char *path,
                     struct uvzk__jute_bytes *full);
/* Sets *path to the part of a server's path after the chroot, a view into it. False: the
 * path is not below the chroot. */
bool uvzk__chroot_strip(const struct uvzk__chroot *chroot, struct uvzk__jute_bytes full,
                        struct uvzk__jute_bytes *path);

#endif
