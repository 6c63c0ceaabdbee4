/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the chroot to paths that are sent and removes it from paths that are received
 * (chroot.h). It has one buffer, which each uvzk__chroot_add overwrites. */
#include "native/chroot.h"

#include <string.h>
#include <uv.h>

#include "base/memory.h"

void uvzk__chroot_init(struct uvzk__chroot *chroot, const char *prefix)
{
    *chroot = (struct uvzk__chroot){.prefix = strcmp(prefix, "/") == 0 ? "" : prefix};
    chroot->length = strlen(chroot->prefix);
}

void uvzk__chroot_end(struct uvzk__chroot *chroot)
{
    uvzk__free(chroot->path);
}

static bool make_room(struct uvzk__chroot *chroot, size_t size)
{
    if (size <= chroot->capacity) {
        return true;
    }
    char *path = uvzk__realloc(chroot->path, size);
    if (path == NULL) {
        return false;
    }
    chroot->path = path;
    chroot->capacity = size;
    return true;
}

int uvzk__chroot_add(struct uvzk__chroot *chroot, const char *path,
                     struct uvzk__jute_bytes *full)
{
    size_t length = strlen(path);

    if (chroot->length == 0) {
        *full = uvzk__jute_bytes(path, length);
        return 0;
    }
    /* "/" below a chroot is the chroot itself. */
    if (length == 1) {
        length = 0;
    }
    if (!make_room(chroot, chroot->length + length)) {
        return UV_ENOMEM;
    }
    memcpy(chroot->path, chroot->prefix, chroot->length);
    memcpy(chroot->path + chroot->length, path, length);
    *full = uvzk__jute_bytes(chroot->path, chroot->length + length);
    return 0;
}

bool uvzk__chroot_strip(const struct uvzk__chroot *chroot, struct uvzk__jute_bytes full,
                        struct uvzk__jute_bytes *path)
{
    if (full.length < chroot->length ||
        (chroot->length > 0 && memcmp(full.at, chroot->prefix, chroot->length) != 0)) {
        return false;
    }
    *path = uvzk__jute_bytes(full.at + chroot->length, full.length - chroot->length);
    if (path->length == 0) {
        *path = uvzk__jute_text("/");
    }
    return path->at[0] == '/';
}
