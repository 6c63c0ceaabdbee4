/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the C library's functions that read the wall clock, for all libraries of this
 * process, so that the wall clock can be set for this process alone, as an operator sets
 * that of a machine. Clocks that cannot be set are not changed. */
#include "wall_clock.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))
#define MS_IN_S 1000
#define NS_IN_US 1000
#define NS_IN_MS 1000000L
#define NS_IN_S 1000000000L

static _Atomic int64_t own_ms;
static const _Atomic int64_t *ahead_ms = &own_ms;

void wall_clock_set_ahead(int64_t ms)
{
    atomic_store(&own_ms, ms);
}

void wall_clock_follow(const _Atomic int64_t *ms)
{
    ahead_ms = ms;
}

static struct timespec ahead_of(struct timespec now)
{
    int64_t ms = atomic_load(ahead_ms);
    now.tv_sec += (time_t)(ms / MS_IN_S);
    now.tv_nsec += (long)(ms % MS_IN_S) * NS_IN_MS;
    if (now.tv_nsec >= NS_IN_S) {
        now.tv_nsec -= NS_IN_S;
        now.tv_sec++;
    } else if (now.tv_nsec < 0) {
        now.tv_nsec += NS_IN_S;
        now.tv_sec--;
    }
    return now;
}

VISIBLE int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        *now = ahead_of(*now);
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
