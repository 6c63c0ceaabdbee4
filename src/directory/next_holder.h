/* Who is next in a directory whose contenders are granted in their order, and whether it may
 * be granted:
 *
 *   the next in line
 *     waits for one of ours that holds, or a foreign node   nothing; the own watch is armed
 *     the session is not proved                          a proof
 *     one of ours that held still stands before it       granted early (delete_batch.h)
 *     its node is known to exist (last_seen.h)               granted
 *     it is not                                          the own watch, or a proof, will tell */
#ifndef UVZK_NEXT_HOLDER_H
#define UVZK_NEXT_HOLDER_H

#include "directory/queue.h"

/* The first of those that stand and wait, or NULL. */
static inline struct uvzk__contender *uvzk__next_in_line(const struct uvzk__queue *queue)
{
    struct uvzk__link *link = uvzk__ring_first(&queue->waiters);

    return link == NULL ? NULL
                        : UVZK__CONTAINER_OF(link, struct uvzk__contender, in_queue);
}

/* The same, if it waits for nobody of ours; else NULL. */
struct uvzk__contender *uvzk__front_of(struct uvzk__queue *);

/* Grants the next in line if it may be; false if not, and then what it lacks is asked
 * for. */
bool uvzk__grant_front(struct uvzk__queue *);

/* Who is next once the nodes that our released ones left behind are gone: it waits
 * for nobody else. NULL if there is none. */
struct uvzk__contender *uvzk__next_holder(struct uvzk__queue *);

/* Whether nobody but ours stands before the next one of ours that waits there. */
bool uvzk__next_is_ours(struct uvzk__session *, enum uvzk__directory_order,
                        const char *path);

#endif
