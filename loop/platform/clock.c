/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of all times in uvzk. It continues while the machine is suspended, because
 * the server's session timeout does too. */
#include <time.h>

#include "uvzk.h"

uint64_t uvzk_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
