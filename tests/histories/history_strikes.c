/* SPDX-License-Identifier: Apache-2.0 */
#include "history_strikes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_sim.h"

#define CHILDREN_MAX 128
#define DIGITS 10
#define SELDOM_MS 1500U

/* ------------------------------------------------------------------ who may hold */

long strikes_number(const char *name)
{
    size_t length = strlen(name);

    return length < DIGITS ? 0 : strtol(name + length - DIGITS, NULL, 10);
}

static bool is_reader(const char *name)
{
    return strstr(name, "__READ__") != NULL;
}

bool strikes_may_hold(const char *const *names, size_t count, const char *name,
                      uint32_t most)
{
    uint32_t before = 0;

    for (size_t i = 0; i < count; i++) {
        if (strikes_number(names[i]) < strikes_number(name) &&
            !(is_reader(name) && is_reader(names[i])) && ++before >= most) {
            return false;
        }
        if (is_reader(name) && !is_reader(names[i]) &&
            strikes_number(names[i]) == strikes_number(name)) {
            return true; /* taken under a write hold */
        }
    }
    return true;
}

/* ------------------------------------------------------------------ its beginning, its end */

void strikes_begin(struct strikes *strikes, struct sim *sim, uint64_t seed,
                   uint32_t timeout_ms)
{
    /* About a round trip, twice: what a client asks about its znode behind the create. */
    static const uint32_t reaches_ms[] = {25, 25, 60};

    memset(strikes, 0, sizeof(*strikes));
    if ((history_sim_kinds(seed) & HISTORY_STRIKES) == 0) {
        return;
    }
    strikes->sim = sim;
    strikes->random.state = ~seed ^ HISTORY_STRIKES;
    uint32_t reach = seeded_below(&strikes->random, 4);
    strikes->reach_ms = reach < 3 ? reaches_ms[reach] : timeout_ms / 8;
    strikes->next_ms = sim_now(sim) + SELDOM_MS;
    strikes->holders = seeded_below(&strikes->random, 3) == 0;
}

static struct struck_directory *add(struct strikes *strikes, const char *directory)
{
    struct struck_directory *struck;

    if (strikes->sim == NULL || strikes->count == STRIKES_DIRECTORIES) {
        return NULL;
    }
    struck = &strikes->directories[strikes->count++];
    (void)snprintf(struck->path, sizeof(struck->path), "%s", directory);
    struck->counter = INT32_MAX;
    return struck;
}

void strikes_add(struct strikes *strikes, const char *directory, uint32_t in_order,
                 bool never_the_first)
{
    struct struck_directory *struck = add(strikes, directory);

    if (struck != NULL) {
        struck->in_order = in_order;
        struck->never_the_first = never_the_first;
        struck->holds = true;
    }
}

void strikes_add_named(struct strikes *strikes, const char *directory, bool holds)
{
    struct struck_directory *struck = add(strikes, directory);

    if (struck != NULL) {
        struck->named = true;
        struck->holds = holds;
    }
}

/* ------------------------------------------------------------------ one znode */

/* The znodes of clients that have gone, and persistent ones, are left to others. */
static bool end_hold(struct strikes *strikes, const struct struck_directory *directory,
                     const char *path)
{
    struct uvzk__stat stat;

    if (!strikes->holders || strikes->ends_hold == NULL || directory->never_the_first ||
        !sim_stat(strikes->sim, path, &stat) || stat.ephemeral_owner == 0) {
        return false;
    }
    strikes->ends_hold(strikes->context, (size_t)(directory - strikes->directories),
                       stat.ephemeral_owner);
    return true;
}

/* Who does both to one znode is outside the promise: one that could not be checked is
 * handed on without that, and left out of proofs. */
static void strike(struct strikes *strikes, const struct struck_directory *directory,
                   const char *name, bool may_hold)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", directory->path, name);
    if ((strikes->spares != NULL && strikes->spares(strikes->context, path)) ||
        sim_was_unreadable(strikes->sim, path) ||
        (may_hold && !end_hold(strikes, directory, path))) {
        return;
    }
    if (sim_delete_by_hand(strikes->sim, path) == 0) {
        strikes->deleted++;
        if (strikes->struck != NULL) {
            strikes->struck(strikes->context, path);
        }
    }
}

static bool stat_of(const struct strikes *strikes,
                    const struct struck_directory *directory, const char *name,
                    struct uvzk__stat *stat)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", directory->path, name);
    return sim_stat(strikes->sim, path, stat);
}

/* A reader that its client has taken under a write hold has the number of the write hold,
 * whose znode may have been deleted by hand before. Then it comes before writers that are
 * older than it, and the first of them may have been granted meanwhile. */
static bool was_overtaken(const struct strikes *strikes,
                          const struct struck_directory *directory,
                          const char *const *names, size_t count, const char *name)
{
    struct uvzk__stat own, other;

    if (!stat_of(strikes, directory, name, &own)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (strikes_number(names[i]) < strikes_number(name) &&
            stat_of(strikes, directory, names[i], &other) && other.czxid > own.czxid) {
            return true;
        }
    }
    return false;
}

static bool may_hold(const struct strikes *strikes,
                     const struct struck_directory *directory, const char *const *names,
                     size_t count, const char *name)
{
    return directory->holds &&
           (directory->in_order == 0 ||
            strikes_may_hold(names, count, name, directory->in_order) ||
            was_overtaken(strikes, directory, names, count, name));
}

static int64_t which(const struct strikes *strikes,
                     const struct struck_directory *directory, const char *name)
{
    struct uvzk__stat stat = {.czxid = 0};

    if (!directory->named) {
        return strikes_number(name);
    }
    (void)stat_of(strikes, directory, name, &stat);
    return stat.czxid;
}

/* Of those that do not hold: all, or this one. The names are read again for each, because
 * they go with their znodes. Begins with the last one. */
static void strike_waiters(struct strikes *strikes,
                           const struct struck_directory *directory, bool all,
                           int64_t chosen_one)
{
    const char *names[CHILDREN_MAX];
    size_t count = sim_children(strikes->sim, directory->path, names, CHILDREN_MAX);

    for (size_t i = count <= CHILDREN_MAX ? count : 0; i > 0; i--) {
        const char *name = names[i - 1];
        bool holds = may_hold(strikes, directory, names, count, name);
        bool meant = all ? !holds : which(strikes, directory, name) == chosen_one;
        /* One in eight of those that may hold. */
        if (meant && (!holds || seeded_below(&strikes->random, 8) == 0)) {
            char chosen[128];
            (void)snprintf(chosen, sizeof(chosen), "%s", name);
            strike(strikes, directory, chosen, holds);
            if (!all) {
                return;
            }
            count = sim_children(strikes->sim, directory->path, names, CHILDREN_MAX);
        }
    }
}

/* ------------------------------------------------------------------ when */

static void plan(struct strikes *strikes, size_t directory, int64_t chosen_one)
{
    uint64_t at_ms =
        sim_now(strikes->sim) + seeded_below(&strikes->random, strikes->reach_ms);

    if (strikes->planned_count < STRIKES_PLANNED) {
        strikes->planned[strikes->planned_count].directory = directory;
        strikes->planned[strikes->planned_count].which = chosen_one;
        strikes->planned[strikes->planned_count++].at_ms = at_ms;
    }
}

/* Some of those that have a name are struck soon after they were created, or set. */
static void see_writes(struct strikes *strikes, size_t directory)
{
    struct struck_directory *struck = &strikes->directories[directory];
    const char *names[CHILDREN_MAX];
    size_t count = sim_children(strikes->sim, struck->path, names, CHILDREN_MAX);
    int64_t newest = struck->mzxid;
    struct uvzk__stat stat;

    for (size_t i = 0; i < count && i < CHILDREN_MAX; i++) {
        if (stat_of(strikes, struck, names[i], &stat) && stat.mzxid > struck->mzxid) {
            uint32_t of = stat.czxid > struck->mzxid ? 4 : 16;
            newest = stat.mzxid > newest ? stat.mzxid : newest;
            if (seeded_below(&strikes->random, of) == 0) {
                plan(strikes, directory, stat.czxid);
            }
        }
    }
    struck->mzxid = newest;
}

/* Each second contender's znode that has been created is struck soon. */
static void see_creates(struct strikes *strikes)
{
    for (size_t i = 0; i < strikes->count; i++) {
        struct struck_directory *directory = &strikes->directories[i];
        int32_t counter = sim_counter(strikes->sim, directory->path);

        if (directory->named) {
            see_writes(strikes, i);
            continue;
        }
        for (int32_t number = directory->counter; number < counter && counter < INT32_MAX;
             number++) {
            if (seeded_below(&strikes->random, 2) == 0) {
                plan(strikes, i, number);
            }
            if (counter - number > CHILDREN_MAX) {
                break; /* the counter was set by hand */
            }
        }
        directory->counter = counter;
    }
}

static void strike_planned(struct strikes *strikes)
{
    for (size_t i = strikes->planned_count; i > 0; i--) {
        if (strikes->planned[i - 1].at_ms <= sim_now(strikes->sim)) {
            const struct struck_directory *directory =
                &strikes->directories[strikes->planned[i - 1].directory];
            int64_t chosen_one = strikes->planned[i - 1].which;
            strikes->planned[i - 1] = strikes->planned[--strikes->planned_count];
            strike_waiters(strikes, directory, seeded_below(&strikes->random, 8) == 0,
                           chosen_one);
        }
    }
}

/* A znode of any age; one time in four, all that do not hold anywhere. */
static void strike_any(struct strikes *strikes)
{
    const char *names[CHILDREN_MAX];
    bool everywhere = seeded_below(&strikes->random, 4) == 0;
    size_t chosen = seeded_below(&strikes->random, (uint32_t)strikes->count);

    for (size_t i = 0; i < strikes->count; i++) {
        const struct struck_directory *directory = &strikes->directories[i];
        size_t count = sim_children(strikes->sim, directory->path, names, CHILDREN_MAX);
        if (everywhere) {
            strike_waiters(strikes, directory, true, 0);
        } else if (i == chosen && count > 0 && count <= CHILDREN_MAX) {
            const char *name = names[seeded_below(&strikes->random, (uint32_t)count)];
            strike_waiters(strikes, directory, false, which(strikes, directory, name));
        }
    }
    strikes->next_ms =
        sim_now(strikes->sim) + 1 + seeded_below(&strikes->random, 2 * SELDOM_MS);
}

void strikes_step(struct strikes *strikes)
{
    if (strikes->sim == NULL || strikes->count == 0) {
        return;
    }
    see_creates(strikes);
    strike_planned(strikes);
    if (sim_now(strikes->sim) >= strikes->next_ms) {
        strike_any(strikes);
    }
}
