/* SPDX-License-Identifier: Apache-2.0 */
/* A pairing heap: a tree in which a node may have any number of children, and no child is
 * earlier than its parent. Siblings are linked by next, the eldest first. prev of the
 * eldest sibling is the parent. */
#include "base/deadline.h"

/* Joins two trees and returns the root, which is the earlier of a and b. The other one
 * becomes the root's eldest child. */
static struct uvzk__deadline *deadline_meld(struct uvzk__deadline *a,
                                            struct uvzk__deadline *b)
{
    if (b->at_ms < a->at_ms) {
        struct uvzk__deadline *earlier = b;
        b = a;
        a = earlier;
    }
    b->prev = a;
    b->next = a->child;
    if (b->next != NULL) {
        b->next->prev = b;
    }
    a->child = b;
    a->next = NULL;
    a->prev = a;
    return a;
}

/* Joins a list of siblings into one tree. Returns NULL if there are none. The first pass
 * joins pairs, from the eldest to the youngest. The second pass joins the pairs, from the
 * youngest to the eldest. The amortized bound needs both passes. */
static struct uvzk__deadline *meld_siblings(struct uvzk__deadline *eldest)
{
    struct uvzk__deadline *pairs = NULL; /* linked by next, the youngest first */
    while (eldest != NULL) {
        struct uvzk__deadline *pair = eldest;
        struct uvzk__deadline *other = eldest->next;
        eldest = other == NULL ? NULL : other->next;
        if (other != NULL) {
            pair = deadline_meld(pair, other);
        }
        pair->next = pairs;
        pairs = pair;
    }
    struct uvzk__deadline *tree = NULL;
    while (pairs != NULL) {
        struct uvzk__deadline *pair = pairs;
        pairs = pairs->next;
        pair->next = NULL;
        pair->prev = pair;
        tree = tree == NULL ? pair : deadline_meld(tree, pair);
    }
    return tree;
}

/* The deadline is not the root, so prev is its parent or an elder sibling. */
static void cut_from_siblings(struct uvzk__deadline *deadline)
{
    if (deadline->prev->child == deadline) {
        deadline->prev->child = deadline->next;
    } else {
        deadline->prev->next = deadline->next;
    }
    if (deadline->next != NULL) {
        deadline->next->prev = deadline->prev;
    }
}

void uvzk__deadline_set(struct uvzk__deadlines *deadlines,
                        struct uvzk__deadline *deadline, uint64_t at_ms)
{
    uvzk__deadline_clear(deadlines, deadline);
    *deadline = (struct uvzk__deadline){.at_ms = at_ms, .prev = deadline};
    deadlines->first =
        deadlines->first == NULL ? deadline : deadline_meld(deadlines->first, deadline);
}

void uvzk__deadline_clear(struct uvzk__deadlines *deadlines,
                          struct uvzk__deadline *deadline)
{
    if (deadline->prev == NULL) {
        return;
    }
    struct uvzk__deadline *orphans = meld_siblings(deadline->child);
    if (deadlines->first == deadline) {
        deadlines->first = orphans;
    } else {
        cut_from_siblings(deadline);
        if (orphans != NULL) {
            /* No child is earlier than the root, so the root stays the same. */
            deadlines->first = deadline_meld(deadlines->first, orphans);
        }
    }
    deadline->child = NULL;
    deadline->next = NULL;
    deadline->prev = NULL;
}

uint64_t uvzk__deadline_next(const struct uvzk__deadlines *deadlines)
{
    return deadlines->first == NULL ? UINT64_MAX : deadlines->first->at_ms;
}

struct uvzk__deadline *uvzk__deadline_pop(struct uvzk__deadlines *deadlines,
                                          uint64_t now_ms)
{
    struct uvzk__deadline *earliest = deadlines->first;
    if (earliest == NULL || earliest->at_ms > now_ms) {
        return NULL;
    }
    uvzk__deadline_clear(deadlines, earliest);
    return earliest;
}
