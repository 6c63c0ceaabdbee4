/* Lines that come again and again: the first one is told, then how often it came, after
 * 5 s, 10 s more, 20 s, and so on, every 5 minutes in the end. One that was not heard for
 * as long as its last pause is new. Texts are the same if they differ in nothing but what
 * stands before "ZOO_" (moment, process, thread) and in how many ms something took.
 *
 * A value: the moments are the caller's, and so is the order in which it is called. */
#ifndef UVZK_LOG_REPEATS_H
#define UVZK_LOG_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

#define UVZK__LOG_REPEATS_MAX \
    16 /* texts that are remembered; of more the one heard longest ago
                            is forgotten */

struct uvzk__repeated_line {
    uint64_t hash; /* of the text; 0: none */
    uint64_t heard_ms, told_ms;
    uint32_t pause_ms;   /* since told_ms nothing is said for so long */
    uint32_t suppressed; /* times since then */
};

struct uvzk__log_repeats {
    struct uvzk__repeated_line texts[UVZK__LOG_REPEATS_MAX];
};

/* Whether a line that comes now is to be told; and how often it came since it was last
 * told, before this time, and when that was. */
bool uvzk__log_repeats_check(struct uvzk__log_repeats *, const char *line,
                             uint64_t now_ms, uint32_t *untold, uint64_t *told_ms);

#endif
