/* The limit of what a session may watch. After each reconnect the C client sends all
 * watched paths in one request. If that request exceeds the servers' jute.maxbuffer of 1
 * MB, the session can never reconnect (ZOOKEEPER-706 is not solved in the C client). An
 * acquire for which there is no room ends with UVZK_ELIMIT, perhaps long after its call.
 * A log line then says what the user can do. */
#ifndef UVZK_WATCH_BUDGET_H
#define UVZK_WATCH_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In bytes of a request: each path with its length of 4 bytes. */
#define UVZK__WATCH_BYTES_MAX 900000U
/* Of these, how many the members of groups may take, however many there are. */
#define UVZK__WATCH_BYTES_SHARE_MAX (UVZK__WATCH_BYTES_MAX / 3 * 2)

struct uvzk__session;
struct uvzk__watch;

/* One for each session. */
struct uvzk__watch_budget {
    uint64_t bytes, count; /* of all watches of the session */
    uint64_t shared_bytes; /* reserved for the members of groups */
    bool warned;           /* the log line that there is no room has been written */
};

/* Return the number of watches, and the bytes that they take in the request. */
static inline uint64_t uvzk__watch_count(const struct uvzk__watch_budget *budget)
{
    return budget->count;
}

static inline uint64_t uvzk__watch_bytes(const struct uvzk__watch_budget *budget)
{
    return budget->bytes;
}

/* Returns true if there is room for a watch on a znode in the directory with this path,
 * or on the directory itself. Reserves nothing. */
bool uvzk__watch_budget_has_room(const struct uvzk__session *, const char *path);
/* Returns true if less than a third is used, so that a watch that is not essential may be
 * set. */
bool uvzk__watch_budget_is_ample(const struct uvzk__session *);
/* Others decide how many members a group has. So a part of the budget is left to the rest of
 * the session: for as long as a member is watched, it also reserves a path of this length in
 * the share of all groups. Returns false if there is no room. */
bool uvzk__watch_budget_take_share(struct uvzk__session *, size_t path_length);
void uvzk__watch_budget_give_share(struct uvzk__session *, size_t path_length);

/* ------------------------------------------------------------ for this room alone */

/* Reserves room for a watch on this path. Returns false if there is no room. Then it logs a
 * warning, once until a tenth of the budget is free. Each path takes room once for
 * all watches of a kind on it (watch.h). */
bool uvzk__watch_budget_take(struct uvzk__session *, const char *path);
/* Gives back the room of a watch that has fired, was not armed or was removed. */
void uvzk__watch_budget_give(struct uvzk__session *, const char *path);

/* Removes the watch from the port. Does nothing if the port is closing, because a closing
 * port has dropped all watches. */
void uvzk__unwatch(struct uvzk__session *, struct uvzk__watch *);

#endif
