/* Contenders of other sessions, or of nobody we know: those that stand before the last of
 * ours, as the last listing showed them. */
#ifndef UVZK_FOREIGNERS_H
#define UVZK_FOREIGNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uvzk__contender;
struct uvzk__queue;

/* A contender of another session, or of nobody we know. */
struct uvzk__foreigner {
    int32_t sequence;
    bool shared;
    char *name;
};

/* Of a directory, as the last listing has shown it. */
struct uvzk__foreigners {
    struct uvzk__foreigner *list; /* up to the last member of ours, in order; or NULL */
    uint32_t count;
    uint32_t children; /* that are no contenders */
    uint32_t leases;   /* others' */
    bool behind;       /* somebody stands behind the last of ours, or may */
};

/* What a listing has shown; the list is the queue's from now on. There is memory for what
 * it shows of others (uvzk__aside_needed). */
void uvzk__foreigners_seen(struct uvzk__queue *, struct uvzk__foreigner *list,
                           size_t count, uint64_t leases);
/* Whether it has shown somebody behind the last of ours; or somebody may be there, which
 * nobody has looked for. */
void uvzk__foreigners_behind(struct uvzk__queue *, bool behind);

void uvzk__foreigners_free(struct uvzk__foreigner *, size_t count);

/* How many of them stand before this contender. */
size_t uvzk__foreigners_before(const struct uvzk__queue *,
                               const struct uvzk__contender *);

/* Whether there is anything to be kept of others. */
static inline bool uvzk__foreigners_matter(const struct uvzk__foreigners *foreigners)
{
    return foreigners->list != NULL || foreigners->children > 0 ||
           foreigners->leases > 0 || foreigners->behind;
}

static inline bool uvzk__foreigners_any(const struct uvzk__foreigners *foreigners)
{
    return foreigners->count > 0;
}

/* The nearest foreigner that this contender has to wait for, or NULL; uvzk__blocker
 * (queue.h) is quicker where there are none, as mostly. */
const struct uvzk__foreigner *uvzk__foreigners_blocker(const struct uvzk__queue *,
                                                       const struct uvzk__contender *);

/* Whether the blocker is the only one that it has to wait for. */
bool uvzk__foreigners_block_once(const struct uvzk__queue *,
                                 const struct uvzk__contender *);

/* The number of the first foreigner for whom readers behind it wait; INT32_MAX if there
 * is none. */
int32_t uvzk__foreigners_first_writer(const struct uvzk__queue *);

/* One of them has gone. */
void uvzk__foreigners_forget(struct uvzk__queue *, const char *name);
/* A lease that was counted as another's is ours. */
void uvzk__foreigners_less(struct uvzk__queue *);

/* So many children are no contenders': counted, and reported when it changes. */
void uvzk__foreign_children(struct uvzk__queue *, uint64_t count);

void uvzk__foreigners_clear(struct uvzk__queue *);

#endif
