/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a server, so that its wall clock can be stepped: it is as many seconds ahead
 * as the file in $TORTURE_CLOCK says, an int64_t, which may change at any time. Clocks that
 * cannot be set stay as they are. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))
#define NS_IN_US 1000

static const volatile int64_t *ahead_s;

static void __attribute__((constructor)) map_file(void)
{
    const char *path = getenv("TORTURE_CLOCK");
    int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (file >= 0) {
        void *mapped = mmap(NULL, sizeof(*ahead_s), PROT_READ, MAP_SHARED, file, 0);
        ahead_s = mapped != MAP_FAILED ? mapped : NULL;
        close(file);
    }
}

VISIBLE int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);

    if (status == 0 && ahead_s != NULL &&
        (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += (time_t)*ahead_s;
    }
    return status;
}

VISIBLE int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / NS_IN_US;
    return 0;
}

VISIBLE time_t time(time_t *stored)
{
    struct timespec exact;

    clock_gettime(CLOCK_REALTIME, &exact);
    if (stored != NULL) {
        *stored = exact.tv_sec;
    }
    return exact.tv_sec;
}
