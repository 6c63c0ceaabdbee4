/* SPDX-License-Identifier: Apache-2.0 */
/* Connect strings: whatever is taken for one has a host in each entry, and a sound port if
 * it has any. */
#include "base/path.h"
#include "discovery/hosts.h"
#include "fuzz.h"
#include "uvzk.h"

static void check_entry(const char *entry, size_t length)
{
    size_t blanks = strspn(entry, " ");

    PROMISE(blanks < length);
    entry += blanks;
    length -= blanks;
    const char *end = memchr(entry, entry[0] == '[' ? ']' : ':', length);
    PROMISE(end != entry && (entry[0] != '[' || end > entry + 1));
    const char *colon = end == NULL || *end == ':' ? end : end[1] == ':' ? end + 1 : NULL;
    if (colon != NULL) {
        long port = strtol(colon + 1, NULL, 10);
        PROMISE(port >= 1 && port <= 65535);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    char *hosts = take_line(&input);
    int status = uvzk__hosts_validate(hosts);

    PROMISE(status == 0 || status == UV_EINVAL || status == UVZK_EPATH);
    if (status == 0) {
        const char *chroot = strchr(hosts, '/');
        const char *end = chroot == NULL ? hosts + strlen(hosts) : chroot;
        for (const char *at = hosts; at <= end;) {
            size_t length = strcspn(at, ",/");
            check_entry(at, length);
            at += length + 1;
        }
        PROMISE(chroot == NULL || uvzk__path_validate(chroot) == 0);
    }
    free(hosts);
    return 0;
}
