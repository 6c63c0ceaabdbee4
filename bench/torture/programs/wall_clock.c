/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a server, so that its wall clock can be stepped: it is as many ms ahead as the
 * file in $TORTURE_CLOCK says, an int64_t, which may change at any time. The functions that read
 * the clock are those of tests/chaos/wall_clock.c. */
#include "wall_clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void __attribute__((constructor)) map_file(void)
{
    const char *path = getenv("TORTURE_CLOCK");
    int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (file >= 0) {
        void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
        if (mapped != MAP_FAILED) {
            wall_clock_follow(mapped);
        }
        close(file);
    }
}
