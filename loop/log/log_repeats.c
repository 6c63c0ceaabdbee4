/* SPDX-License-Identifier: Apache-2.0 */
/* A small table of the latest log texts (log_repeats.h). A text is remembered by a hash
 * that ignores times and durations, so repeated lines with different numbers count as
 * one. Called by log_route.c. */
#include "log/log_repeats.h"

#include <ctype.h>
#include <string.h>

#define PAUSE_FIRST_MS 5000U
#define PAUSE_MOST_MS 300000U

/* Returns the text after its leading digits. */
static const char *behind_digits(const char *text)
{
    while (isdigit((unsigned char)*text)) {
        text++;
    }
    return text;
}

/* FNV-1a of the text from "ZOO_" on, without the digits directly before "ms". Never 0,
 * which marks a free entry. */
static uint64_t hash_of(const char *line)
{
    const char *at = strstr(line, "ZOO_");
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (at = at == NULL ? line : at; *at != '\0'; at++) {
        if (strncmp(behind_digits(at), "ms", 2) == 0) {
            at = behind_digits(at);
        }
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    }
    return hash == 0 ? 1 : hash;
}

/* Returns the entry of this text, or else the entry that was last seen longest ago,
 * cleared. */
static struct uvzk__repeated_line *place_of(struct uvzk__log_repeats *repeats,
                                            uint64_t hash)
{
    struct uvzk__repeated_line *oldest = &repeats->texts[0];

    for (size_t i = 0; i < UVZK__LOG_REPEATS_MAX; i++) {
        struct uvzk__repeated_line *text = &repeats->texts[i];
        if (text->hash == hash) {
            return text;
        }
        if (text->heard_ms < oldest->heard_ms) {
            oldest = text;
        }
    }
    memset(oldest, 0, sizeof(*oldest));
    return oldest;
}

bool uvzk__log_repeats_check(struct uvzk__log_repeats *repeats, const char *line,
                             uint64_t now_ms, uint32_t *untold, uint64_t *told_ms)
{
    uint64_t hash = hash_of(line);
    struct uvzk__repeated_line *text = place_of(repeats, hash);
    /* A text that was silent for its whole pause starts again with the first pause. */
    bool is_new = text->hash == 0 || now_ms - text->heard_ms >= text->pause_ms;

    *untold = text->suppressed;
    *told_ms = text->told_ms;
    text->hash = hash;
    text->heard_ms = now_ms;
    if (!is_new && now_ms - text->told_ms < text->pause_ms) {
        text->suppressed++;
        return false;
    }
    text->pause_ms = is_new                               ? PAUSE_FIRST_MS
                     : text->pause_ms > PAUSE_MOST_MS / 2 ? PAUSE_MOST_MS
                                                          : 2 * text->pause_ms;
    text->told_ms = now_ms;
    text->suppressed = 0;
    return true;
}
