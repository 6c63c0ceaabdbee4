#include "journal_of_holds.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NS_IN_MS 1000000U
#define LOOKS 5

static void add(struct holds *holds, enum holder holder, uint64_t from, uint64_t until)
{
    if (holds->count == holds->capacity) {
        size_t capacity = holds->capacity * 2 + 1024;
        struct tenure *more = realloc(holds->tenures, capacity * sizeof(*more));
        if (more == NULL) {
            fprintf(stderr, "holds: out of memory\n");
            abort();
        }
        holds->tenures = more;
        holds->capacity = capacity;
    }
    holds->tenures[holds->count++] = (struct tenure){holder, from, until};
}

/* A hold's moments are cut to ms: it began later than its first one by less than that. */
void holds_add(struct holds *holds, enum holder holder, uint64_t from_ms,
               uint64_t until_ms)
{
    add(holds, holder, (from_ms + 1) * NS_IN_MS, until_ms * NS_IN_MS);
}

static uint64_t ns_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 * NS_IN_MS + (uint64_t)now.tv_nsec;
}

/* What may come between two looks at clocks makes it look shorter. */
static uint64_t time_suspended(void)
{
    uint64_t longest = 0;
    for (int i = 0; i < LOOKS; i++) {
        uint64_t boottime = ns_of(CLOCK_BOOTTIME);
        uint64_t suspended = boottime - ns_of(CLOCK_MONOTONIC);
        if ((int64_t)suspended > (int64_t)longest) {
            longest = suspended;
        }
    }
    return longest;
}

void holds_add_monotonic(struct holds *holds, enum holder holder, uint64_t from_ns,
                         uint64_t until_ns)
{
    uint64_t suspended = time_suspended();
    add(holds, holder, from_ns + suspended, until_ns + suspended);
}

size_t holds_count(const struct holds *holds, enum holder holder)
{
    size_t count = 0;
    for (size_t i = 0; i < holds->count; i++) {
        count += holds->tenures[i].holder == holder;
    }
    return count;
}

static int by_begin(const void *left, const void *right)
{
    const struct tenure *a = left, *b = right;
    return (a->from > b->from) - (a->from < b->from);
}

static void print_overlap(const struct tenure *first, const struct tenure *second)
{
    uint64_t until = first->until < second->until ? first->until : second->until;
    printf("%s was granted it %.1f ms after %s, whose hold was still valid: both for "
           "%.1f ms\n",
           second->holder == HOLDER_OURS ? "one of ours" : "Curator",
           (double)(second->from - first->from) / NS_IN_MS,
           first->holder == HOLDER_OURS ? "one of ours" : "Curator",
           (double)(until - second->from) / NS_IN_MS);
}

int holds_print_overlaps(struct holds *holds)
{
    int overlaps = 0;
    qsort(holds->tenures, holds->count, sizeof(holds->tenures[0]), by_begin);
    const struct tenure *last[2] = {NULL, NULL}; /* that ends last, of each */
    for (size_t i = 0; i < holds->count; i++) {
        const struct tenure *tenure = &holds->tenures[i];
        const struct tenure *other =
            last[tenure->holder == HOLDER_OURS ? HOLDER_CURATOR : HOLDER_OURS];
        if (other != NULL && tenure->from < other->until &&
            tenure->from < tenure->until) {
            print_overlap(other, tenure);
            overlaps++;
        }
        if (last[tenure->holder] == NULL || last[tenure->holder]->until < tenure->until) {
            last[tenure->holder] = tenure;
        }
    }
    return overlaps;
}

void holds_free(struct holds *holds)
{
    free(holds->tenures);
    *holds = (struct holds){NULL, 0, 0};
}
