/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the end of a hold's validity to a duration on the program's clock
 * (served_validity.h). */
#include "served_validity.h"

#include <time.h>

#define NS_PER_MS 1000000U

static uint64_t read_clock(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000 * NS_PER_MS + (uint64_t)time.tv_nsec;
}

struct served_now served_validity_now(void)
{
    struct served_now now = {.monotonic = read_clock(CLOCK_MONOTONIC)};

    /* Read after the other clock: the time between the two makes the result smaller. */
    now.boottime = read_clock(CLOCK_BOOTTIME);
    return now;
}

uint64_t served_validity_for(uint64_t valid_until, uint64_t received,
                             const struct served_now *now)
{
    /* Not in ns: UINT64_MAX ms has no limit. */
    uint64_t now_ms = now->boottime / NS_PER_MS + 1;
    uint64_t passed_ms =
        now->monotonic > received ? (now->monotonic - received) / NS_PER_MS : 0;

    return valid_until <= now_ms ? 0 : valid_until - now_ms + passed_ms;
}
