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
 *    `------ a listing arrives ------- STALE
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
    UVZK__LISTING_CURRENT, /* next: WANTED STALE */
    UVZK__LISTING_WANTED,  /* next: CURRENT STALE */
    UVZK__LISTING_STALE    /* next: CURRENT WANTED */
};

extern const struct uvzk__machine uvzk__listing_machine;

/* Of a directory. */
struct uvzk__freshness {
    uint64_t newest_create_stamp : 56; /* of the latest create that asks for a listing */
    uint64_t state : 8;                /* enum uvzk__listing */
    uint64_t listing_stamp : 52;       /* when the last listing was submitted */
    uint64_t children_high : 12;
    uint64_t view_stamp : 52;   /* when the last one that has arrived was */
    uint64_t children_low : 12; /* both: in that one, of everybody */
};

static inline uint64_t uvzk__newest_create_stamp(const struct uvzk__freshness *freshness)
{
    return freshness->newest_create_stamp;
}

static inline uint64_t uvzk__listing_stamp(const struct uvzk__freshness *freshness)
{
    return freshness->listing_stamp;
}

static inline uint64_t uvzk__view_stamp(const struct uvzk__freshness *freshness)
{
    return freshness->view_stamp;
}

static inline size_t uvzk__listed_children(const struct uvzk__freshness *freshness)
{
    return (size_t)freshness->children_high << 12 | freshness->children_low;
}

/* Whether somebody in the view may have gone. */
static inline bool uvzk__is_stale(const struct uvzk__freshness *freshness)
{
    return freshness->state == UVZK__LISTING_STALE;
}

/* Whether a create is younger than the view. */
static inline bool uvzk__has_newer_create(const struct uvzk__freshness *freshness)
{
    return freshness->newest_create_stamp > freshness->view_stamp;
}

/* A create asks for a listing that is submitted after this; or nobody asks any more. */
void uvzk__freshness_want_listing(struct uvzk__queue *, uint64_t stamp);
void uvzk__freshness_want_no_listing(struct uvzk__queue *);

/* Somebody in the view may have gone. */
void uvzk__freshness_set_stale(struct uvzk__queue *);

/* A listing has just been submitted; it has been looked at; the view has taken it over. */
void uvzk__freshness_listing_sent(struct uvzk__queue *);
void uvzk__freshness_listing_answered(struct uvzk__queue *);
void uvzk__freshness_view_updated(struct uvzk__queue *, size_t children);

#endif
