/* How fresh a directory's view is, and whether another listing is wanted. Points in time
 * are stamps of requests, which grow in the order of submission.
 *
 *               a create is newer
 *   CURRENT ------------------------> WANTED
 *    ^   | ^                           |  | ^
 *    |   | `---- a listing shows it ---'  | | a listing that is
 *    |   |                                | | older than a create
 *    |   `-- a node may have gone ----.   | |
 *    |                                v   v |
 *    `------ a listing arrives ------- STALE
 *
 * The state does not say whether a listing is in flight. While one is, the state of the
 * directory's request is LISTING (queue.h). */
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

/* The part of a directory that freshness.c keeps, in 24 bytes. */
struct uvzk__freshness {
    uint64_t newest_create_stamp : 56; /* of the latest create that needs a listing */
    uint64_t state : 8;                /* enum uvzk__listing */
    uint64_t listing_stamp : 52;       /* of the last listing that was submitted */
    uint64_t children_high : 12;       /* how many children the view's listing had */
    uint64_t view_stamp : 52;          /* of the last listing that the view contains */
    uint64_t children_low : 12;        /* the low bits of children_high */
};

/* These return the fields above. */
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

/* How many children the view's listing had, contenders or not. */
static inline size_t uvzk__listed_children(const struct uvzk__freshness *freshness)
{
    return (size_t)freshness->children_high << 12 | freshness->children_low;
}

/* Whether a node of the view may have gone. */
static inline bool uvzk__is_stale(const struct uvzk__freshness *freshness)
{
    return freshness->state == UVZK__LISTING_STALE;
}

/* Whether a create that needs a listing was submitted after the view's listing. */
static inline bool uvzk__has_newer_create(const struct uvzk__freshness *freshness)
{
    return freshness->newest_create_stamp > freshness->view_stamp;
}

/* The create with this stamp needs a listing that is submitted after it. And: no create
 * needs one any more. */
void uvzk__freshness_want_listing(struct uvzk__queue *, uint64_t stamp);
void uvzk__freshness_want_no_listing(struct uvzk__queue *);

/* A node of the view may have gone: the next listing shows which nodes are left. */
void uvzk__freshness_set_stale(struct uvzk__queue *);

/* A listing has just been submitted. It has been answered, in a directory without a view
 * (driver_directory.c). The view has been updated from it; children: how many it had. */
void uvzk__freshness_listing_sent(struct uvzk__queue *);
void uvzk__freshness_listing_answered(struct uvzk__queue *);
void uvzk__freshness_view_updated(struct uvzk__queue *, size_t children);

#endif
