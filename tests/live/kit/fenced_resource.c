/* SPDX-License-Identifier: Apache-2.0 */
#include "fenced_resource.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

/* An empty file has seen no token yet. A file of any other length is not the
 * resource's. */
static bool advance(int fd, int64_t token)
{
    int64_t largest = INT64_MIN;
    ssize_t got = pread(fd, &largest, sizeof(largest), 0);
    if (got != 0 && got != (ssize_t)sizeof(largest)) {
        return false;
    }
    return token > largest &&
           pwrite(fd, &token, sizeof(token), 0) == (ssize_t)sizeof(token);
}

bool fenced_resource_accept(const char *path, int64_t token)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    bool accepted = flock(fd, LOCK_EX) == 0 && advance(fd, token);
    close(fd);
    return accepted;
}
