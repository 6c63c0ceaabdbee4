/* The view of one lock directory that all its local contenders share: what the
 * last listing showed of others, merged with what we know of ourselves.
 *
 * At most one request is under way:
 *
 *   IDLE --> MAKING_PARENTS --> IDLE     some node needs its directory
 *   IDLE --> LISTING --> IDLE            some create's outcome is unknown, or somebody
 *                                        in line is not covered yet
 *   IDLE --> WATCHING --> IDLE           the first in line waits for a foreigner
 *
 * What settles it (uvzk__directory_kind) decides which, and who is granted. The
 * view stays valid from above: contenders with a lower number can only disappear,
 * so a contender that one listing has covered needs no other; only the first in
 * line watches, and only its nearest foreign predecessor. */
#ifndef UVZK_QUEUE_H
#define UVZK_QUEUE_H

#include "base/discipline.h"
#include "base/memory.h"
#include "base/shared_path.h"
#include "directory/contender.h"
#include "directory/foreigners.h"
#include "directory/freshness.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/undeletable.h"
#include "directory/unsearchable.h"
#include "directory/watermark.h"

/* What a directory of one contender at rest has nothing of: the memory is there with the
 * first of these that is. */
struct uvzk__aside {
    struct uvzk__predecessor predecessor;
    struct uvzk__rest *rest; /* before a failed request is repeated; or NULL */
    struct uvzk__parents parents;
    struct uvzk__foreigners foreigners;
    struct uvzk__watermark watermark;
    struct uvzk__undeletables undeletables;
    struct uvzk__unsearchables unsearchables;
};

struct uvzk__queue {
    struct uvzk__client *client;
    struct uvzk__entry entry;       /* in client->directories->catalogue */
    struct uvzk__shared_path *path; /* of the lock directory, namespace included */
    const struct uvzk__directory_kind *kind;
    struct uvzk__ring holders;   /* contenders that hold */
    struct uvzk__ring members;   /* contenders that stand and wait, in order */
    struct uvzk__ring leaving;   /* contenders to be deleted, in order */
    struct uvzk__ring strangers; /* contenders whose place is not known */
    struct uvzk__link dirty;     /* of those in which something has changed */
    struct uvzk__aside *aside;   /* NULL: there is nothing in it */
    struct uvzk__freshness freshness;
    struct uvzk__departures departures;
    uint64_t reign_stamp; /* of submissions, when it came to be ours, leases.h */
    struct uvzk__tallies tallies;
    uint32_t
        let_go_ms;   /* the moment when somebody was last seen to let go, its low bits, if
                               anybody counts (claim/handover.h); 0: not known */
    uint16_t making; /* so many are in multis under way, making.h */
    uint8_t doing;   /* enum uvzk__queue_doing, queue.h */
    bool crowded : 1;    /* its children are wanted under watch: the taker waits for
                            others' leases to go, or keeps its ticket for as long as nobody
                            comes */
    bool just_made : 1;  /* we have just made the directory: nobody is in it */
    bool unreadable : 1; /* a check that one of its nodes stands was refused */
    bool gathering : 1;  /* some of its contenders may wait to be made, making.h */
    bool in_a_row : 1;   /* these are readers */
    bool behind : 1;     /* some wait until those before them are made, making.h */
    bool followed : 1;   /* by another session's, which waits for it, ranks.h */
    bool waits_long : 1; /* whoever the next listing shows has been in the way for long,
                            orphans.h */
};

/* What its kind keeps of it. */
static inline void *uvzk__queue_extra(const struct uvzk__queue *queue)
{
    return (void *)(uintptr_t)(queue + 1);
}

/* A contender's, in whose request it may be for longer than in its directory. */
static inline struct uvzk__client *
uvzk__client_of(const struct uvzk__contender *contender)
{
    return contender->ended ? contender->client : contender->queue->client;
}

/* Somebody lets go: one of ours, or it is seen of another one. */
static inline void uvzk__queue_let_go(struct uvzk__queue *queue, uint64_t now)
{
    queue->let_go_ms = (uint32_t)now == 0 ? 1 : (uint32_t)now;
}

/* How long ago; UINT64_MAX: not known. */
static inline uint64_t uvzk__queue_let_go_ago(const struct uvzk__queue *queue,
                                              uint64_t now)
{
    return queue->let_go_ms == 0 ? UINT64_MAX : (uint32_t)now - queue->let_go_ms;
}

/* To be looked at. */
static inline const struct uvzk__aside *uvzk__aside(const struct uvzk__queue *queue)
{
    static const struct uvzk__aside nothing;

    return queue->aside == NULL ? &nothing : queue->aside;
}

/* There is memory to put something into it; false: there is none. */
static inline bool uvzk__aside_needed(struct uvzk__queue *queue)
{
    if (queue->aside == NULL) {
        queue->aside = uvzk__calloc(1, sizeof(*queue->aside));
        if (queue->aside == NULL) {
            return false;
        }
        uvzk__list_init(&queue->aside->parents.behind_scout);
    }
    return true;
}

/* What has nothing in it goes. */
static inline void uvzk__aside_tidied(struct uvzk__queue *queue)
{
    const struct uvzk__aside *aside = uvzk__aside(queue);

    if (uvzk__predecessor_is_over(&aside->predecessor) && aside->rest == NULL &&
        !uvzk__parents_are_made(&aside->parents) &&
        !uvzk__foreigners_matter(&aside->foreigners) &&
        uvzk__watermark_mark(&aside->watermark) == NULL &&
        !uvzk__undeletables_any(&aside->undeletables) &&
        !uvzk__unsearchables_any(&aside->unsearchables)) {
        uvzk__free(queue->aside);
        queue->aside = NULL;
    }
}

/* After a failed request nothing is asked for a while. */
static inline bool uvzk__queue_is_resting(const struct uvzk__queue *queue)
{
    return uvzk__aside(queue)->rest != NULL;
}

/* The nearest foreigner that this contender has to wait for, or NULL. */
static inline const struct uvzk__foreigner *
uvzk__blocker(const struct uvzk__queue *queue, const struct uvzk__contender *contender)
{
    return uvzk__foreigners_any(&uvzk__aside(queue)->foreigners)
               ? uvzk__foreigners_blocker(queue, contender)
               : NULL;
}

/* What a directory is to the rooms above that look after it. */
struct uvzk__directory_kind {
    enum uvzk__discipline discipline;
    bool in_order;     /* its contenders are granted by their numbers */
    size_t extra_size; /* bytes of uvzk__queue_extra, zeroed */
    /* In which of the same path its orphans leave (orphans.h); NULL: in itself. */
    const struct uvzk__directory_kind *leave;
    void (*init)(struct uvzk__queue *);  /* may be NULL, as all but settle */
    void (*freed)(struct uvzk__queue *); /* it is about to be */
    /* Something has changed: decides what to ask, whom to grant. */
    void (*settle)(struct uvzk__queue *);
    /* Whether it is needed, though no contender is in it. */
    bool (*in_use)(const struct uvzk__queue *);
    /* Its watches are lost; the session may have ended. */
    void (*watches_lost)(struct uvzk__queue *);
    /* A listing has been answered. NULL: the view takes it over. */
    void (*listed)(struct uvzk__queue *, const struct uvzk__reply *);
    /* It cannot be listed, or not be watched: who waits for that ends with the status. */
    void (*refused)(struct uvzk__queue *, int status);
};

/* So many of a directory may be granted while what our own release left behind still
 * stands: each of them costs a check in its delete (sweep.h). */
#define UVZK__CREDITS_MAX 32U

enum uvzk__queue_doing {
    UVZK__QUEUE_IDLE,
    UVZK__QUEUE_MAKING_PARENTS,
    UVZK__QUEUE_LISTING,
    UVZK__QUEUE_WATCHING
};

/* Of its request. */
extern const struct uvzk__machine uvzk__queue_machine;

/* The only writer of doing. */
void uvzk__queue_does(struct uvzk__queue *, enum uvzk__queue_doing);

/* Whether it may submit a request now. */
bool uvzk__queue_may_ask(const struct uvzk__queue *);

/* The queue of this path, which it keeps; made if need be. NULL when out of memory. */
struct uvzk__queue *uvzk__queue_of(struct uvzk__client *,
                                   const struct uvzk__directory_kind *,
                                   struct uvzk__shared_path *);

/* The queue of this path if there is one, else NULL. */
struct uvzk__queue *uvzk__queue_find(struct uvzk__client *, enum uvzk__discipline,
                                     const char *path);

/* Whether a local contender holds in the directory of this path, stands in line, or is
 * about to. */
bool uvzk__queue_occupied(struct uvzk__client *, enum uvzk__discipline, const char *path,
                          bool writers_only);

/* Something changed: it is settled in the next round of the turn. */
void uvzk__queue_touch(struct uvzk__queue *);
void uvzk__queues_touch(struct uvzk__client *);

/* Puts a contender whose node has a place among the members, in order; the
 * others among the strangers. */
void uvzk__queue_place(struct uvzk__queue *, struct uvzk__contender *);

/* Takes it off the list on which it is. Those who wait behind it have waited for the same
 * deletes. */
void uvzk__queue_leave(struct uvzk__contender *);

/* The request with this stamp is going to delete its node. */
void uvzk__queue_deletes(struct uvzk__contender *, uint64_t stamp);

/* Whether one of the strangers is in this state, PARENTS or UNKNOWN. */
bool uvzk__queue_finds_stranger(const struct uvzk__queue *, enum uvzk__node_state);
static inline bool uvzk__queue_has_stranger(const struct uvzk__queue *queue,
                                            enum uvzk__node_state state)
{
    return uvzk__strangers_asking(&queue->tallies) > 0 &&
           uvzk__queue_finds_stranger(queue, state); /* mostly there are none */
}
/* Whether it is to be listed now for the sake of those whose create got lost. */
static inline bool uvzk__queue_wants_search(const struct uvzk__queue *queue)
{
    return uvzk__queue_has_stranger(queue, UVZK__NODE_UNKNOWN) &&
           uvzk__unsearchable_may(queue);
}

/* We have just made the directory, nobody is in it; or nobody knows. */
void uvzk__queue_set_just_made(struct uvzk__queue *, bool just_made);
/* Its children are wanted under watch. */
void uvzk__queue_set_crowded(struct uvzk__queue *, bool crowded);
/* A check that one of its nodes stands was refused. Of leases none is tried again. */
void uvzk__queue_unreadable(struct uvzk__queue *);
/* It came to be ours at this stamp. */
void uvzk__queue_reigns(struct uvzk__queue *, uint64_t stamp);
/* One of its contenders waits to be made with others; waits for those before it; is being
 * made with others, or has been; another session's wait for it. */
void uvzk__queue_gathers(struct uvzk__queue *, bool gathering, bool in_a_row);
void uvzk__queue_keeps(struct uvzk__queue *, bool behind);
void uvzk__queue_followed(struct uvzk__queue *, bool followed);
/* Others have been in the way for long; or they are being looked at. */
void uvzk__queue_waits_long(struct uvzk__queue *, bool);
void uvzk__queue_makes(struct uvzk__queue *);
void uvzk__queue_made(struct uvzk__queue *);

/* Whether a request that failed like this is worth repeating: at once when the
 * connection is back, after a rest when the trouble is the server's. */
bool uvzk__queue_passing(struct uvzk__queue *, int status);
void uvzk__queue_rest(struct uvzk__queue *);
void uvzk__queue_rest_no_more(struct uvzk__queue *);

#endif
