/* Contenders of other sessions, or of nobody we know: those that stand before the last of
 * ours, as the last listing showed them. */
#ifndef UVZK_FOREIGNERS_H
#define UVZK_FOREIGNERS_H

#include "directory/queue.h"

/* A contender of another session, or of nobody we know. */
struct uvzk__foreigner {
    int32_t sequence;
    bool shared;
    char *name;
};

void uvzk__foreigners_free(struct uvzk__foreigner *, size_t count);

/* How many of them stand before this contender. */
size_t uvzk__foreigners_before(const struct uvzk__queue *,
                               const struct uvzk__contender *);

/* The nearest foreigner that this contender has to wait for, or NULL. */
const struct uvzk__foreigner *uvzk__foreigners_blocker(const struct uvzk__queue *,
                                                       const struct uvzk__contender *);

/* The number of the first foreigner for whom readers behind it wait; INT32_MAX if there
 * is none. */
int32_t uvzk__foreigners_first_writer(const struct uvzk__queue *);

/* One of them has gone. */
void uvzk__foreigners_forget(struct uvzk__queue *, const char *name);

/* So many children are no contenders': counted, and reported when it changes. */
void uvzk__foreign_children(struct uvzk__queue *, uint64_t count);

void uvzk__foreigners_clear(struct uvzk__queue *);

#endif
