/* SPDX-License-Identifier: Apache-2.0 */
/* Suppresses log lines that repeat. The first line is logged. Later lines with the same
 * text are counted, and one of them is logged with the count after 5 s, then after a
 * pause of 10 s, then 20 s, and so on up to 5 minutes. A text that the C client has not
 * logged for as long as its last pause counts as new.
 *
 * Two lines have the same text if they differ only before "ZOO_" (time, process, thread)
 * and in numbers directly before "ms" (durations).
 *
 * The struct is a value without a lock or a clock: the caller passes the time and must
 * serialise the calls. */
#ifndef UVZK_LOG_REPEATS_H
#define UVZK_LOG_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

#define UVZK__LOG_REPEATS_MAX \
    16 /* texts remembered; a new text replaces the one that was last seen longest ago */

struct uvzk__repeated_line {
    uint64_t hash; /* of the text; 0: the entry is free */
    /* When the text was last seen, and when it was last logged. */
    uint64_t heard_ms, told_ms;
    uint32_t pause_ms;   /* from told_ms on, in ms: lines are suppressed */
    uint32_t suppressed; /* lines suppressed since told_ms */
};

struct uvzk__log_repeats {
    struct uvzk__repeated_line texts[UVZK__LOG_REPEATS_MAX];
};

/* Records a line that arrives at now_ms, and returns whether to log it. *untold becomes
 * the number of lines with this text that were suppressed since the text was last logged,
 * without this one. *told_ms becomes the time when the text was last logged; 0 if it is
 * not remembered. */
bool uvzk__log_repeats_check(struct uvzk__log_repeats *, const char *line,
                             uint64_t now_ms, uint32_t *untold, uint64_t *told_ms);

#endif
