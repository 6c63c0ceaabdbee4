/* SPDX-License-Identifier: Apache-2.0 */
/* How long a hold is valid, counted from the moment at which the program sent its
 * request. Pure: the times are arguments.
 *
 * A program without CLOCK_BOOTTIME reads its CLOCK_MONOTONIC before it sends a request,
 * and adds valid_for_ms of the answer to that reading. That is safe because the daemon
 * counts from a later moment, at which it has read the request:
 *
 *     sent <= received <= answered,    sent + valid_for <= valid_until
 *
 * The later the daemon reads the request, the earlier the program stops. So neither bytes
 * that wait in the kernel nor a stopped daemon can make the result too late. An answer
 * that is read late is still correct: it counts from the request. */
#ifndef SERVED_VALIDITY_H
#define SERVED_VALIDITY_H

#include <stdint.h>

/* Readings of the clocks, in ns. `monotonic` is read before `boottime`. */
struct served_now {
    uint64_t monotonic; /* CLOCK_MONOTONIC: stands still while the machine is suspended */
    uint64_t boottime;  /* CLOCK_BOOTTIME */
};

/* Reads both clocks. */
struct served_now served_validity_now(void);

/* Returns the time in ms, rounded down, from `received` (CLOCK_MONOTONIC, ns) to
 * valid_until (CLOCK_BOOTTIME, ms); 0 if valid_until has passed. A time for which the
 * machine was suspended in between is not counted, because the program's clock stood
 * still too. */
uint64_t served_validity_for(uint64_t valid_until, uint64_t received,
                             const struct served_now *now);

#endif
