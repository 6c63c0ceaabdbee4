/* A pairing heap: a tree of any width in which no child is earlier than its
 * parent. Siblings are linked by next; prev of the eldest is the parent. */
#include "base/deadline.h"

/* Joins two trees; b becomes the eldest child of a, or a of b. */
static struct uvzk__deadline *meld(struct uvzk__deadline *a, struct uvzk__deadline *b)
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

/* Makes one tree of a row of siblings, or NULL of none: pairs from the eldest
 * on, then the pairs one to another from the youngest back. Both passes are
 * what the amortised bound rests on. */
static struct uvzk__deadline *meld_siblings(struct uvzk__deadline *eldest)
{
    struct uvzk__deadline *pairs = NULL; /* the youngest first */
    while (eldest != NULL) {
        struct uvzk__deadline *pair = eldest;
        struct uvzk__deadline *other = eldest->next;
        eldest = other == NULL ? NULL : other->next;
        if (other != NULL) {
            pair = meld(pair, other);
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
        tree = tree == NULL ? pair : meld(tree, pair);
    }
    return tree;
}

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
        deadlines->first == NULL ? deadline : meld(deadlines->first, deadline);
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
            deadlines->first = meld(deadlines->first, orphans);
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
