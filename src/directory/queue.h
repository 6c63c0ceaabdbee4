/* The view of one lock directory that all its local contenders share: what the
 * last listing showed of others, merged with what we know of ourselves.
 *
 * At most one request is under way:
 *
 *   IDLE --> CREATING_PARENTS --> IDLE     some node needs its directory
 *   IDLE --> LISTING --> IDLE            some create's outcome is unknown, or somebody
 *                                        in line is not covered yet
 *   IDLE --> WATCHING --> IDLE           the first in line waits for a foreign node
 *
 * What settles it (uvzk__directory_kind) decides which, and who is granted. The
 * view stays valid from above: contenders with a lower number can only disappear,
 * so a contender that one listing has covered needs no other; only the first in
 * line watches, and only its nearest foreign predecessor. */
#ifndef UVZK_QUEUE_H
#define UVZK_QUEUE_H

#include "base/directory_order.h"
#include "base/memory.h"
#include "base/shared_path.h"
#include "directory/contender.h"
#include "directory/foreign_nodes.h"
#include "directory/freshness.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/undeletable.h"
#include "directory/unsearchable.h"
#include "directory/watermark.h"

/* What a directory of one contender at rest has nothing of: the memory is there with the
 * first of these that is. */
struct uvzk__queue_optional {
    struct uvzk__predecessor predecessor;
    struct uvzk__queue_backoff
        *backoff; /* before a failed request is repeated; or NULL */
    struct uvzk__parents parents;
    struct uvzk__foreign_nodes foreign_nodes;
    struct uvzk__watermark watermark;
    struct uvzk__undeletables undeletables;
    struct uvzk__unsearchables unsearchables;
};

struct uvzk__queue {
    struct uvzk__session *session;
    struct uvzk__catalogue_entry entry; /* in session->directories->catalogue */
    struct uvzk__shared_path *path;     /* of the lock directory, namespace included */
    const struct uvzk__directory_kind *kind;
    struct uvzk__ring holders;             /* contenders that hold */
    struct uvzk__ring waiters;             /* contenders that stand and wait, in order */
    struct uvzk__ring deleting;            /* contenders to be deleted, in order */
    struct uvzk__ring unplaced;            /* contenders whose place is not known */
    struct uvzk__link in_to_settle;        /* of those in which something has changed */
    struct uvzk__queue_optional *optional; /* NULL: there is nothing in it */
    struct uvzk__freshness freshness;
    struct uvzk__deletions deletions;
    uint64_t held_stamp; /* of submissions, when it came to be ours, leases.h */
    struct uvzk__contender_counts counts;
    uint32_t
        released_ms; /* the moment when somebody was last seen to let go, its low bits, if
                               anybody counts (claim/handover.h); 0: not known */
    uint16_t creates_in_batch; /* so many are in multis under way, create_batch.h */
    uint8_t state;             /* enum uvzk__queue_state, queue.h */
    bool
        wants_children_watch : 1; /* its children are wanted under watch: the ticket holder waits for
                            others' leases to go, or keeps its ticket for as long as nobody
                            comes */
    bool just_created : 1; /* we have just made the directory: nobody is in it */
    bool unreadable : 1;   /* a check that one of its nodes stands was refused */
    bool batching : 1; /* some of its contenders may wait to be made, create_batch.h */
    bool batching_readers : 1; /* these are readers */
    bool
        creates_postponed : 1; /* some wait until those before them are made, create_batch.h */
    bool
        other_session_waits : 1; /* by another session's, which waits for it, create_order.h */
    bool blocked_long : 1; /* whoever the next listing shows has been in the way for long,
                            orphans.h */
};

/* What its kind keeps of it. */
static inline void *uvzk__queue_extra(const struct uvzk__queue *queue)
{
    return (void *)(uintptr_t)(queue + 1);
}

/* A contender's, in whose request it may be for longer than in its directory. */
static inline struct uvzk__session *
uvzk__session_of(const struct uvzk__contender *contender)
{
    return contender->ended ? contender->session : contender->queue->session;
}

/* Somebody lets go: one of ours, or it is seen of another one. */
static inline void uvzk__queue_set_released(struct uvzk__queue *queue, uint64_t now)
{
    queue->released_ms = (uint32_t)now == 0 ? 1 : (uint32_t)now;
}

/* How long ago; UINT64_MAX: not known. */
static inline uint64_t uvzk__queue_released_ago(const struct uvzk__queue *queue,
                                                uint64_t now)
{
    return queue->released_ms == 0 ? UINT64_MAX : (uint32_t)now - queue->released_ms;
}

/* To be looked at. */
static inline const struct uvzk__queue_optional *
uvzk__queue_optional(const struct uvzk__queue *queue)
{
    static const struct uvzk__queue_optional nothing;

    return queue->optional == NULL ? &nothing : queue->optional;
}

/* There is memory to put something into it; false: there is none. */
static inline bool uvzk__queue_need_optional(struct uvzk__queue *queue)
{
    if (queue->optional == NULL) {
        queue->optional = uvzk__calloc(1, sizeof(*queue->optional));
        if (queue->optional == NULL) {
            return false;
        }
        uvzk__list_init(&queue->optional->parents.behind_creator);
    }
    return true;
}

/* What has nothing in it goes. */
static inline void uvzk__queue_trim_optional(struct uvzk__queue *queue)
{
    const struct uvzk__queue_optional *optional = uvzk__queue_optional(queue);

    if (uvzk__predecessor_is_empty(&optional->predecessor) && optional->backoff == NULL &&
        !uvzk__parents_are_made(&optional->parents) &&
        !uvzk__foreign_nodes_known(&optional->foreign_nodes) &&
        uvzk__watermark_mark(&optional->watermark) == NULL &&
        !uvzk__undeletables_any(&optional->undeletables) &&
        !uvzk__unsearchables_any(&optional->unsearchables)) {
        uvzk__free(queue->optional);
        queue->optional = NULL;
    }
}

/* After a failed request nothing is asked for a while. */
static inline bool uvzk__queue_is_backing_off(const struct uvzk__queue *queue)
{
    return uvzk__queue_optional(queue)->backoff != NULL;
}

/* The nearest foreign node that this contender has to wait for, or NULL. */
static inline const struct uvzk__foreign_node *
uvzk__blocker(const struct uvzk__queue *queue, const struct uvzk__contender *contender)
{
    return uvzk__foreign_nodes_any(&uvzk__queue_optional(queue)->foreign_nodes)
               ? uvzk__foreign_nodes_blocker(queue, contender)
               : NULL;
}

/* What a directory is to the rooms above that look after it. */
struct uvzk__directory_kind {
    enum uvzk__directory_order directory_order;
    bool in_order;     /* its contenders are granted by their numbers */
    size_t extra_size; /* bytes of uvzk__queue_extra, zeroed */
    /* In which of the same path its orphans leave (orphans.h); NULL: in itself. */
    const struct uvzk__directory_kind *orphan_kind;
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
 * stands: each of them costs a check in its delete (delete_batch.h). */
#define UVZK__EARLY_GRANTS_MAX 32U

enum uvzk__queue_state {
    UVZK__QUEUE_IDLE,
    UVZK__QUEUE_CREATING_PARENTS,
    UVZK__QUEUE_LISTING,
    UVZK__QUEUE_WATCHING
};

/* Of its request. */
extern const struct uvzk__machine uvzk__queue_machine;

/* The only writer of doing. */
void uvzk__queue_set_state(struct uvzk__queue *, enum uvzk__queue_state);

/* Whether it may submit a request now. */
bool uvzk__queue_may_ask(const struct uvzk__queue *);

/* The queue of this path, which it keeps; made if need be. NULL when out of memory. */
struct uvzk__queue *uvzk__queue_of(struct uvzk__session *,
                                   const struct uvzk__directory_kind *,
                                   struct uvzk__shared_path *);

/* The queue of this path if there is one, else NULL. */
struct uvzk__queue *uvzk__queue_find(struct uvzk__session *, enum uvzk__directory_order,
                                     const char *path);

/* Whether a local contender holds in the directory of this path, stands in line, or is
 * about to. */
bool uvzk__queue_occupied(struct uvzk__session *, enum uvzk__directory_order,
                          const char *path, bool writers_only);

/* Something changed: it is settled in the next round of the turn. */
void uvzk__queue_settle_later(struct uvzk__queue *);
void uvzk__queues_settle_later(struct uvzk__session *);

/* Puts a contender whose node has a place among the members, in order; the
 * others among the unplaced contenders. */
void uvzk__queue_place(struct uvzk__queue *, struct uvzk__contender *);

/* Takes it off the list on which it is. Those who wait behind it have waited for the same
 * deletes. */
void uvzk__queue_remove(struct uvzk__contender *);

/* The request with this stamp is going to delete its node. */
void uvzk__queue_delete_sent(struct uvzk__contender *, uint64_t stamp);

/* Whether one of the unplaced contenders is in this state, PARENTS or UNKNOWN. */
bool uvzk__queue_find_unplaced(const struct uvzk__queue *, enum uvzk__node_state);
static inline bool uvzk__queue_has_unplaced(const struct uvzk__queue *queue,
                                            enum uvzk__node_state state)
{
    return uvzk__unplaced_asking(&queue->counts) > 0 &&
           uvzk__queue_find_unplaced(queue, state); /* mostly there are none */
}
/* Whether it is to be listed now for the sake of those whose create got lost. */
static inline bool uvzk__queue_wants_search(const struct uvzk__queue *queue)
{
    return uvzk__queue_has_unplaced(queue, UVZK__NODE_UNKNOWN) &&
           uvzk__unsearchable_may(queue);
}

/* We have just made the directory, nobody is in it; or nobody knows. */
void uvzk__queue_set_just_created(struct uvzk__queue *, bool just_created);
/* Its children are wanted under watch. */
void uvzk__queue_want_children_watch(struct uvzk__queue *, bool wanted);
/* A check that one of its nodes stands was refused. Of leases none is tried again. */
void uvzk__queue_set_unreadable(struct uvzk__queue *);
/* It came to be ours at this stamp. */
void uvzk__queue_set_held_stamp(struct uvzk__queue *, uint64_t stamp);
/* One of its contenders waits to be made with others; waits for those before it; is being
 * made with others, or has been; another session's wait for it. */
void uvzk__queue_set_batching(struct uvzk__queue *, bool batching, bool readers);
void uvzk__queue_set_creates_postponed(struct uvzk__queue *, bool postponed);
void uvzk__queue_set_other_session_waits(struct uvzk__queue *, bool waits);
/* Others have been in the way for long; or they are being looked at. */
void uvzk__queue_set_blocked_long(struct uvzk__queue *, bool);
void uvzk__queue_batch_create_added(struct uvzk__queue *);
void uvzk__queue_batch_create_done(struct uvzk__queue *);

/* Whether a request that failed like this is worth repeating: at once when the
 * connection is back, after a rest when the trouble is the server's. */
bool uvzk__queue_is_transient(struct uvzk__queue *, int status);
void uvzk__queue_back_off(struct uvzk__queue *);
void uvzk__queue_end_backoff(struct uvzk__queue *);

#endif
