/* How fresh the view of a directory is: what its last listing had to show, and who wants a
 * newer one. Moments are stamps of submissions. */
#ifndef UVZK_FRESHNESS_H
#define UVZK_FRESHNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uvzk__queue;

/* Of a directory. */
struct uvzk__freshness {
    uint64_t newest;   /* of the latest create that asks for a listing */
    uint64_t asked;    /* when the last listing was submitted */
    uint64_t listed;   /* when the last one that has arrived was */
    uint32_t children; /* in that one, of everybody */
    bool again;        /* somebody in the view may have gone */
};

static inline uint64_t uvzk__newest_at(const struct uvzk__freshness *freshness)
{
    return freshness->newest;
}

static inline uint64_t uvzk__asked_at(const struct uvzk__freshness *freshness)
{
    return freshness->asked;
}

static inline uint64_t uvzk__listed_at(const struct uvzk__freshness *freshness)
{
    return freshness->listed;
}

static inline size_t uvzk__listed_children(const struct uvzk__freshness *freshness)
{
    return freshness->children;
}

/* Whether somebody in the view may have gone. */
static inline bool uvzk__is_doubted(const struct uvzk__freshness *freshness)
{
    return freshness->again;
}

/* A create asks for a listing that is submitted after this; or nobody asks any more. */
void uvzk__freshness_wanted(struct uvzk__queue *, uint64_t stamp);
void uvzk__freshness_waived(struct uvzk__queue *);

/* Somebody in the view may have gone. */
void uvzk__freshness_doubted(struct uvzk__queue *);

/* A listing has just been submitted; it has been looked at; the view has taken it over. */
void uvzk__freshness_asked(struct uvzk__queue *);
void uvzk__freshness_seen(struct uvzk__queue *);
void uvzk__freshness_taken(struct uvzk__queue *, size_t children);

#endif
