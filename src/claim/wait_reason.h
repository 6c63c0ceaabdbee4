/* SPDX-License-Identifier: Apache-2.0 */
/* What a contender waits for at this moment. The answer is computed from what the session
 * knows already: no request is sent and nothing is stored. It may be as old as the last
 * reply about the directory. */
#ifndef UVZK_WAIT_REASON_H
#define UVZK_WAIT_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uvzk__contender;

struct uvzk__wait_reason {
    uint32_t kind;  /* uvzk_wait_kind_t */
    uint64_t ahead; /* how many contenders are known to be before this one */
    /* The path of the foreign predecessor: its directory and its name there. Both are
     * borrowed and valid until the loop's next turn. NULL: no foreign predecessor is
     * known. */
    const char *directory;
    const char *name;
    const char
        *traceparent;  /* in the data of that znode, borrowed too; NULL: none known */
    uint64_t since_ms; /* when the wait began; 0: not known */
    /* Of the contender's own znode, borrowed likewise; NULL: it has no place yet. */
    const char *node_path;
};

/* At most this many local contenders are counted when an acquire times out, and for
 * uvzk_client_each_hold. If many waiters of a long queue are reported together, counting
 * the whole queue for each of them would cost the square of its length. */
#define UVZK__WAIT_REASON_COUNTED_MAX 1000U

/* The reason for a contender that does not hold, in a directory whose contenders are
 * granted in order. most: how many local contenders are counted at most. */
void uvzk__contender_wait_reason(const struct uvzk__contender *, size_t most,
                                 struct uvzk__wait_reason *);

/* The part of the answer that is the same in all directories. True if the session has no
 * connection or the contender has no place yet: then the answer is complete. */
bool uvzk__contender_place_wait_reason(const struct uvzk__contender *,
                                       struct uvzk__wait_reason *);

#endif
