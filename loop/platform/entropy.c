/* SPDX-License-Identifier: Apache-2.0 */
/* Calls getrandom() without blocking (entropy.h). */
#include "platform/entropy.h"

#include <errno.h>
#include <sys/random.h>
#include <uv.h>

int uvzk__entropy(void *bytes, size_t length)
{
    unsigned char *at = bytes;

    while (length > 0) {
        ssize_t got = getrandom(at, length, GRND_NONBLOCK);
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            return uv_translate_sys_error(errno);
        }
        at += got;
        length -= (size_t)got;
    }
    return 0;
}
