/* What a session may have under watch. After each reconnect the C client names
 * all watched paths in one request, which must fit a server's jute.maxbuffer of
 * 1 MB, or it can never reconnect (ZOOKEEPER-706 is not solved there). Whoever gets no
 * room ends with UVZK_ELIMIT, long after its call: what to do about that says the log. */
#ifndef UVZK_WATCH_BUDGET_H
#define UVZK_WATCH_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define UVZK__WATCH_BYTES_MAX 900000U

struct uvzk__session;
struct uvzk__watch;

/* Of a client. */
struct uvzk__watch_budget {
    uint64_t bytes, count; /* of what is under watch */
    bool warned;           /* the log, that there is no room */
};

/* How many watches there are. */
static inline uint64_t uvzk__watch_count(const struct uvzk__watch_budget *budget)
{
    return budget->count;
}

static inline uint64_t uvzk__watch_bytes(const struct uvzk__watch_budget *budget)
{
    return budget->bytes;
}

/* Whether there is room for a znode in the directory with this path, or for the
 * directory. */
bool uvzk__watch_budget_has_room(const struct uvzk__session *, const char *path);
/* false: there is no room for this path, which the log is told. */
bool uvzk__watch_budget_take(struct uvzk__session *, const char *path);
/* Whether there is room enough for a watch that can be done without. */
bool uvzk__watch_budget_is_ample(const struct uvzk__session *);
void uvzk__watch_budget_give(struct uvzk__session *, const char *path);

/* Takes the port's watch off; a port that closes has dropped it. */
void uvzk__unwatch(struct uvzk__session *, struct uvzk__watch *);

#endif
