#include "comparison.h"

#include <stdlib.h>
#include <string.h>

static uint64_t bit(size_t server)
{
    return (uint64_t)1 << server;
}

/* ------------------------------------------------------------------ one look */

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

/* Who is granted leases at that very moment may have been listed twice. */
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

/* ------------------------------------------------------------------ all of them */

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

/* It alone shows a znode, or it alone does not; of two servers nobody can tell. */
static uint64_t outlier_in(const struct difference *difference)
{
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
