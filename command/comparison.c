/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the readings of several servers over three passes (comparison.h). Pure;
 * each_server.c makes the readings. */
#include "comparison.h"

#include <stdlib.h>
#include <string.h>

static uint64_t bit(size_t server)
{
    return (uint64_t)1 << server;
}

/* --------------------------------------------------------------- one reading */

static int by_name(const void *left, const void *right)
{
    const struct sighting *a = left, *b = right;
    int order = strcmp(a->node, b->node);

    return order != 0 ? order : (a->czxid > b->czxid) - (a->czxid < b->czxid);
}

bool reading_begin(struct reading *reading, size_t count)
{
    reading->nodes = calloc(count + 1, sizeof(struct sighting));
    return reading->nodes != NULL;
}

bool reading_add(struct reading *reading, const char *node, int64_t czxid,
                 int64_t session)
{
    char *copy = strdup(node);

    if (copy != NULL) {
        reading->nodes[reading->count++] = (struct sighting){copy, czxid, session};
    }
    return copy != NULL;
}

/* Sorts the znodes for find() and same(), and drops those that were added twice. */
void reading_end(struct reading *reading)
{
    size_t kept = 0;

    qsort(reading->nodes, reading->count, sizeof(struct sighting), by_name);
    for (size_t i = 0; i < reading->count; i++) {
        if (i > 0 && by_name(&reading->nodes[i], &reading->nodes[kept - 1]) == 0) {
            free(reading->nodes[i].node);
        } else {
            reading->nodes[kept++] = reading->nodes[i];
        }
    }
    reading->count = kept;
    reading->answered = true;
}

static const struct sighting *find(const struct reading *reading,
                                   const struct sighting *znode)
{
    return reading->count == 0 ? NULL
                               : bsearch(znode, reading->nodes, reading->count,
                                         sizeof(struct sighting), by_name);
}

static bool same(const struct reading *one, const struct reading *other)
{
    bool equal = one->count == other->count;

    for (size_t i = 0; equal && i < one->count; i++) {
        equal = by_name(&one->nodes[i], &other->nodes[i]) == 0;
    }
    return equal;
}

/* --------------------------------------------------------------- all servers */

bool comparison_is_equal(const struct comparison *comparison)
{
    const struct reading *first = NULL;

    for (size_t i = 0; i < comparison->servers; i++) {
        const struct reading *reading = &comparison->readings[0][i];
        if (!reading->answered) {
            continue;
        }
        if (first != NULL && !same(first, reading)) {
            return false;
        }
        first = reading;
    }
    return true;
}

/* Returns the servers that answered in pass `look`, counted from 0, and show the znode,
 * or do not show it. */
static uint64_t who(const struct comparison *comparison, size_t look,
                    const struct sighting *znode, bool shows)
{
    uint64_t servers = 0;

    for (size_t i = 0; i < comparison->servers; i++) {
        const struct reading *reading = &comparison->readings[look][i];
        if (reading->answered && (find(reading, znode) != NULL) == shows) {
            servers |= bit(i);
        }
    }
    return servers;
}

/* Several servers may show the znode in pass 3. It is one difference. */
static bool is_known(const struct comparison *comparison, const struct sighting *znode)
{
    for (size_t i = 0; i < comparison->count; i++) {
        if (by_name(comparison->differences[i].znode, znode) == 0) {
            return true;
        }
    }
    return false;
}

static bool add(struct comparison *comparison, const struct difference *difference)
{
    size_t size = (comparison->count + 1) * sizeof(*difference);
    struct difference *more = realloc(comparison->differences, size);

    if (more != NULL) {
        comparison->differences = more;
        more[comparison->count++] = *difference;
    }
    return more != NULL;
}

/* Adds a difference if the server also showed the znode in pass 1 and another server did
 * not show it in pass 2. znode: in the server's reading of pass 3. */
static bool compare_server(struct comparison *comparison, size_t server,
                           const struct sighting *znode)
{
    if (find(&comparison->readings[0][server], znode) == NULL ||
        is_known(comparison, znode)) {
        return true;
    }
    struct difference difference = {.znode = znode,
                                    .shown_by = who(comparison, 2, znode, true),
                                    .not_by = who(comparison, 1, znode, false)};
    return difference.not_by == 0 || add(comparison, &difference);
}

bool comparison_find(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->servers; i++) {
        const struct reading *last = &comparison->readings[2][i];
        for (size_t k = 0; last->answered && k < last->count; k++) {
            if (!compare_server(comparison, i, &last->nodes[k])) {
                return false;
            }
        }
    }
    return true;
}

/* Returns the bit of the server that alone shows the znode or alone does not show it. If
 * one server shows it and one does not, either may be the outlier: returns 0. */
static uint64_t outlier_in(const struct difference *difference)
{
    /* Neither is 0. x & (x - 1) is 0 if x has one bit. */
    uint64_t shown = difference->shown_by, not_shown = difference->not_by;
    bool shows_alone = (shown & (shown - 1)) == 0;
    bool lacks_alone = (not_shown & (not_shown - 1)) == 0;

    if (shows_alone == lacks_alone) {
        return 0;
    }
    return shows_alone ? shown : not_shown;
}

int comparison_outlier(const struct comparison *comparison)
{
    uint64_t odd = comparison->count == 0 ? 0 : outlier_in(&comparison->differences[0]);

    for (size_t i = 1; i < comparison->count; i++) {
        if (outlier_in(&comparison->differences[i]) != odd) {
            return -1;
        }
    }
    for (size_t i = 0; i < comparison->servers; i++) {
        if (odd == bit(i)) {
            return (int)i;
        }
    }
    return -1;
}

void comparison_free(struct comparison *comparison)
{
    for (size_t i = 0; i < COMPARISON_LOOKS * COMPARISON_SERVERS; i++) {
        struct reading *reading =
            &comparison->readings[i / COMPARISON_SERVERS][i % COMPARISON_SERVERS];
        for (size_t k = 0; k < reading->count; k++) {
            free(reading->nodes[k].node);
        }
        free(reading->nodes);
    }
    free(comparison->differences);
}
