/* The listing of a directory: how fresh the view is that the last one gave, and whether
 * another is asked for. Moments are stamps of submissions.
 *
 *               a create is younger
 *   CURRENT ------------------------> WANTED
 *    ^   | ^                           |  | ^
 *    |   | `---- a listing shows it ---'  | | a listing that is
 *    |   |                                | | older than a create
 *    |   `-- somebody may have gone --.   | |
 *    |                                v   v |
 *    `------ a listing arrives ------- DOUBTED
 *
 * While one is under way the directory's request is LISTING (queue.h). */
#ifndef UVZK_FRESHNESS_H
#define UVZK_FRESHNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/machine.h"

struct uvzk__queue;

enum uvzk__listing {
    UVZK__LISTING_CURRENT, /* next: WANTED DOUBTED */
    UVZK__LISTING_WANTED,  /* next: CURRENT DOUBTED */
    UVZK__LISTING_DOUBTED  /* next: CURRENT WANTED */
};

extern const struct uvzk__machine uvzk__listing_machine;

/* Of a directory. */
struct uvzk__freshness {
    uint64_t newest : 56; /* of the latest create that asks for a listing */
    uint64_t state : 8;   /* enum uvzk__listing */
    uint64_t asked : 52;  /* when the last listing was submitted */
    uint64_t children_high : 12;
    uint64_t listed : 52;       /* when the last one that has arrived was */
    uint64_t children_low : 12; /* both: in that one, of everybody */
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
    return (size_t)freshness->children_high << 12 | freshness->children_low;
}

/* Whether somebody in the view may have gone. */
static inline bool uvzk__is_doubted(const struct uvzk__freshness *freshness)
{
    return freshness->state == UVZK__LISTING_DOUBTED;
}

/* Whether a create is younger than the view. */
static inline bool uvzk__has_news(const struct uvzk__freshness *freshness)
{
    return freshness->newest > freshness->listed;
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
