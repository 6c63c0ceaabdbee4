/* Intrusive doubly linked lists. A link that is on no list points to itself.
 *
 * A list has a link for its head. A ring has none: it costs one pointer where it is kept,
 * and whoever takes a link off has to know of which ring. */
#ifndef UVZK_LIST_H
#define UVZK_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct uvzk__link {
    struct uvzk__link *next, *prev;
};

#define UVZK__CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)(((char *)(pointer)) - offsetof(type, member)))

static inline void uvzk__list_init(struct uvzk__link *link)
{
    link->next = link;
    link->prev = link;
}

static inline bool uvzk__list_empty(const struct uvzk__link *head)
{
    return head->next == head;
}

/* Puts link before `at`: with a list's head that is its tail. */
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

/* How many there are, counted up to `most`. */
static inline size_t uvzk__list_length(const struct uvzk__link *head, size_t most)
{
    size_t length = 0;
    for (const struct uvzk__link *at = head->next; at != head && length < most;
         at = at->next) {
        length++;
    }
    return length;
}

/* Takes link off its list; harmless when it is on none. */
static inline void uvzk__list_remove(struct uvzk__link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    uvzk__list_init(link);
}

/* Takes the first link off, or NULL. */
static inline struct uvzk__link *uvzk__list_take(struct uvzk__link *head)
{
    struct uvzk__link *first = head->next;
    if (first == head) {
        return NULL;
    }
    uvzk__list_remove(first);
    return first;
}

/* Moves the whole list to `to`, which is initialised by it: what callbacks add
 * meanwhile is not swept up. */
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

/* --------------------------------------------------------------------- rings */

struct uvzk__ring {
    struct uvzk__link *first; /* NULL: it is empty */
};

static inline bool uvzk__ring_empty(const struct uvzk__ring *ring)
{
    return ring->first == NULL;
}

/* NULL: it is empty; there is no next one, or previous one. */
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

/* How many there are. */
static inline size_t uvzk__ring_length(const struct uvzk__ring *ring)
{
    size_t length = 0;
    for (const struct uvzk__link *at = ring->first; at != NULL;
         at = uvzk__ring_next(ring, at)) {
        length++;
    }
    return length;
}

/* Puts link before `at`; NULL: at its end. */
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

/* Of a ring in order the first that is not before that place; NULL: all are. Looked
 * for from both ends: there may be thousands, of which hardly anybody is behind, or
 * before. */
static inline struct uvzk__link *
uvzk__ring_lower_bound(const struct uvzk__ring *ring,
                       bool (*is_before)(struct uvzk__link *, const void *place),
                       const void *place)
{
    struct uvzk__link *early = uvzk__ring_first(ring), *late = uvzk__ring_last(ring);

    if (early == NULL) {
        return NULL;
    }
    while (is_before(early, place) && !is_before(late, place)) {
        early = uvzk__ring_next(ring, early);
        late = uvzk__ring_prev(ring, late);
    }
    return is_before(early, place) ? uvzk__ring_next(ring, late) : early;
}

/* Takes link off; it is on this ring. */
static inline void uvzk__ring_remove(struct uvzk__ring *ring, struct uvzk__link *link)
{
    if (ring->first == link) {
        ring->first = uvzk__ring_next(ring, link);
    }
    uvzk__list_remove(link);
}

#endif
