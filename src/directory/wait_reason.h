/* What a contender waits for, as things stand: nothing is asked of the server for it, and
 * nothing kept. A report, of what the directory has been told last. */
#ifndef UVZK_WAIT_REASON_H
#define UVZK_WAIT_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uvzk__contender;

struct uvzk__wait_reason {
    uint32_t kind; /* uvzk_wait_kind_t */
    uint64_t ahead;
    const char *directory; /* of the predecessor; NULL: no foreign one is known */
    const char *name;      /* of it, in there; lent until the loop's next turn */
    uint64_t since_ms;     /* 0: not known */
};

/* At most so many of ours are counted: a queue's length each, for all that wait in it, is
 * too much for one who only wants to be told why his wait ran out. */
#define UVZK__WAIT_REASON_COUNTED_MAX 1000U

/* Of one that does not hold, in a directory whose contenders are granted in their order.
 * most: of ours that are counted. */
void uvzk__contender_wait_reason(const struct uvzk__contender *, size_t most,
                                 struct uvzk__wait_reason *);

/* The same as far as it goes for contenders of all directories: true if it has no
 * place yet, or no connection, which says it all. */
bool uvzk__contender_place_wait_reason(const struct uvzk__contender *,
                                       struct uvzk__wait_reason *);

#endif
