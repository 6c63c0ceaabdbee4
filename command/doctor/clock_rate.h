/* SPDX-License-Identifier: Apache-2.0 */
/* How fast this machine's clock runs, as its kernel corrects it (adjtimex). uvzk assumes that
 * the rates of the client's and the servers' clocks differ by less than 1 %
 * (docs/promise.md, A2). */
#ifndef CLOCK_RATE_H
#define CLOCK_RATE_H

#include "doctor/findings.h"

/* Adds the finding "clock". */
void clock_rate_check(struct findings *);

#endif
