/* What several servers show of one path, compared. A server may lag, and a lock changes
 * hands while it is looked at: one look through each server proves nothing. Three in turn
 * do, each on a new connection, whose first request a quorum has to agree to (what is read
 * behind it has all that was committed before), and each begun when the one before was over:
 *
 *     a znode is shown by one server at the first look: it was made before the second one
 *     and by the same server at the third:              it was not deleted before that
 *     so at the second one each server that has kept its place in history shows it
 */
#ifndef COMPARISON_H
#define COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPARISON_LOOKS 3
#define COMPARISON_SERVERS 64 /* at most */

struct sighting {
    char *node;
    int64_t czxid; /* of two of one name one was deleted */
    int64_t session;
};

/* All that a server shows at one look. */
struct reading {
    struct sighting *nodes;
    size_t count;
    bool answered; /* false: it did not answer, and is not compared */
};

struct difference {
    const struct sighting *znode; /* of the third look */
    uint64_t shown_by, not_by;    /* servers, one bit each */
};

struct comparison {
    struct reading readings[COMPARISON_LOOKS][COMPARISON_SERVERS];
    size_t servers;
    struct difference *differences;
    size_t count;
};

/* Room for so many sightings. false: there is no memory. */
bool reading_begin(struct reading *, size_t count);
bool reading_add(struct reading *, const char *node, int64_t czxid, int64_t session);
/* Told, all of them. */
void reading_end(struct reading *);

/* Whether all that answered the first look show the same: then no other is needed. */
bool comparison_is_equal(const struct comparison *);
/* After the third. false: there is no memory. */
bool comparison_find(struct comparison *);
/* The one server that differs from all others in all of it; -1: it cannot be told. */
int comparison_outlier(const struct comparison *);
void comparison_free(struct comparison *);

#endif
