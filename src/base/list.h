/* SPDX-License-Identifier: Apache-2.0 */
/* Intrusive doubly linked lists. A link that is on no list points to itself.
 *
 * A list has a link as its head. A ring has no head: it takes one pointer instead of two
 * in the struct that keeps it, but the caller must know from which ring it removes a
 * link. */
#ifndef UVZK_LIST_H
#define UVZK_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct uvzk__link {
    struct uvzk__link *next, *prev;
};

/* The struct of this type whose member the pointer points to. */
#define UVZK__CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)(((char *)(pointer)) - offsetof(type, member)))

/* Makes a head of an empty list, or a link that is on no list. */
static inline void uvzk__list_init(struct uvzk__link *link)
{
    link->next = link;
    link->prev = link;
}

static inline bool uvzk__list_empty(const struct uvzk__link *head)
{
    return head->next == head;
}

/* Inserts link before `at`. If `at` is the head of a list, link becomes the last one. */
static inline void uvzk__list_insert_before(struct uvzk__link *at,
                                            struct uvzk__link *link)
{
    link->prev = at->prev;
    link->next = at;
    at->prev->next = link;
    at->prev = link;
}

static inline void uvzk__list_append(struct uvzk__link *head, struct uvzk__link *link)
{
    uvzk__list_insert_before(head, link);
}

static inline void uvzk__list_prepend(struct uvzk__link *head, struct uvzk__link *link)
{
    uvzk__list_insert_before(head->next, link);
}

/* Returns the number of links, or `most` if there are more. Takes O(most). */
static inline size_t uvzk__list_length(const struct uvzk__link *head, size_t most)
{
    size_t length = 0;
    for (const struct uvzk__link *at = head->next; at != head && length < most;
         at = at->next) {
        length++;
    }
    return length;
}

/* Removes link from its list. Does nothing if link is on no list. */
static inline void uvzk__list_remove(struct uvzk__link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    uvzk__list_init(link);
}

/* Removes the first link and returns it; NULL: the list is empty. */
static inline struct uvzk__link *uvzk__list_take(struct uvzk__link *head)
{
    struct uvzk__link *first = head->next;
    if (first == head) {
        return NULL;
    }
    uvzk__list_remove(first);
    return first;
}

/* Moves all links to the list `to`, which need not be initialized. A caller that runs
 * callbacks over the links does so, because the callbacks may add links to `from`. */
static inline void uvzk__list_move(struct uvzk__link *from, struct uvzk__link *to)
{
    uvzk__list_init(to);
    if (!uvzk__list_empty(from)) {
        to->next = from->next;
        to->prev = from->prev;
        to->next->prev = to;
        to->prev->next = to;
        uvzk__list_init(from);
    }
}

/* Moves all links to the beginning of the list `to`. */
static inline void uvzk__list_put_back(struct uvzk__link *from, struct uvzk__link *to)
{
    while (!uvzk__list_empty(from)) {
        struct uvzk__link *last = from->prev;
        uvzk__list_remove(last);
        uvzk__list_prepend(to, last);
    }
}

/* --------------------------------------------------------------------- rings */

struct uvzk__ring {
    struct uvzk__link *first; /* NULL: the ring is empty */
};

static inline bool uvzk__ring_empty(const struct uvzk__ring *ring)
{
    return ring->first == NULL;
}

/* The next four functions return NULL if the ring is empty, or if there is no next or
 * previous link. The links do not wrap around for the caller. */
static inline struct uvzk__link *uvzk__ring_first(const struct uvzk__ring *ring)
{
    return ring->first;
}

static inline struct uvzk__link *uvzk__ring_last(const struct uvzk__ring *ring)
{
    return ring->first == NULL ? NULL : ring->first->prev;
}

static inline struct uvzk__link *uvzk__ring_next(const struct uvzk__ring *ring,
                                                 const struct uvzk__link *link)
{
    return link->next == ring->first ? NULL : link->next;
}

static inline struct uvzk__link *uvzk__ring_prev(const struct uvzk__ring *ring,
                                                 const struct uvzk__link *link)
{
    return link == ring->first ? NULL : link->prev;
}

/* Returns the number of links. */
static inline size_t uvzk__ring_length(const struct uvzk__ring *ring)
{
    size_t length = 0;
    for (const struct uvzk__link *at = ring->first; at != NULL;
         at = uvzk__ring_next(ring, at)) {
        length++;
    }
    return length;
}

/* Inserts link before `at`; NULL: at the end. */
static inline void uvzk__ring_insert_before(struct uvzk__ring *ring,
                                            struct uvzk__link *at,
                                            struct uvzk__link *link)
{
    if (ring->first == NULL) {
        uvzk__list_init(link);
        ring->first = link;
        return;
    }
    uvzk__list_insert_before(at == NULL ? ring->first : at, link);
    if (at == ring->first) {
        ring->first = link;
    }
}

static inline void uvzk__ring_append(struct uvzk__ring *ring, struct uvzk__link *link)
{
    uvzk__ring_insert_before(ring, NULL, link);
}

/* Returns the first link of an ordered ring that is not before that place; NULL: all are
 * before it. The search starts at both ends at once, because a ring may have thousands of
 * links and the place is usually near one of the ends. */
static inline struct uvzk__link *
uvzk__ring_lower_bound(const struct uvzk__ring *ring,
                       bool (*is_before)(struct uvzk__link *, const void *place),
                       const void *place)
{
    struct uvzk__link *early = uvzk__ring_first(ring), *late = uvzk__ring_last(ring);

    if (early == NULL) {
        return NULL;
    }
    /* Neither pointer becomes NULL here: when the two have passed each other, one of the
     * two conditions is false. */
    while (is_before(early, place) && !is_before(late, place)) {
        early = uvzk__ring_next(ring, early);
        late = uvzk__ring_prev(ring, late);
    }
    return is_before(early, place) ? uvzk__ring_next(ring, late) : early;
}

/* Removes link, which must be on this ring. */
static inline void uvzk__ring_remove(struct uvzk__ring *ring, struct uvzk__link *link)
{
    if (ring->first == link) {
        ring->first = uvzk__ring_next(ring, link);
    }
    uvzk__list_remove(link);
}

#endif
