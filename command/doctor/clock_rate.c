/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the kernel's correction of the clocks (clock_rate.h). CLOCK_BOOTTIME, by which holds
 * are timed, runs at the corrected rate. */
#include "doctor/clock_rate.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#define PPM_WARNING 1000.0      /* NTP corrects by 500 at most */
#define PPM_WRONG 10000.0       /* the whole tolerance of 1 % */
#define FREQUENCY_UNITS 65536.0 /* of timex.freq, to a ppm */

/* How much faster the clock runs than its oscillator, in parts per million. */
static double correction_ppm(const struct timex *clock)
{
    double nominal = 1e6 / (double)sysconf(_SC_CLK_TCK); /* of timex.tick, in us */

    return ((double)clock->tick - nominal) / nominal * 1e6 +
           (double)clock->freq / FREQUENCY_UNITS;
}

void clock_rate_check(struct findings *findings)
{
    struct timex clock;

    memset(&clock, 0, sizeof(clock));
    if (adjtimex(&clock) < 0) {
        findings_add(findings, GRADE_OK, "clock", NULL, NO_FIGURES,
                     "its rate is not known: %s", strerror(errno));
        return;
    }
    double ppm = correction_ppm(&clock), size = fabs(ppm);
    findings_add(findings,
                 size >= PPM_WRONG     ? GRADE_WRONG
                 : size >= PPM_WARNING ? GRADE_WARNING
                                       : GRADE_OK,
                 "clock", NULL, FIGURES({"ppm", ppm}),
                 "the kernel corrects the rate of this machine's clock by %.0f ppm (uvzk "
                 "allows 10000); %s",
                 ppm,
                 (clock.status & STA_UNSYNC) != 0 ? "no time server is in use"
                                                  : "it follows a time server");
}
