/* SPDX-License-Identifier: Apache-2.0 */
/* One session's view of one lock directory, shared by all local contenders in it: the
 * foreign nodes that the last listing showed, merged with what the session knows of its
 * own contenders.
 *
 * At most one request of the directory is in flight, or a get and a listing. The state
 * says which:
 *
 *   IDLE --> CREATING_PARENTS --> IDLE   a create has failed because the directory is
 *                                        missing
 *   IDLE --> LISTING --> IDLE            the outcome of a create is unknown, or the
 *                                        predecessors of some contender are not known
 *   IDLE --> WATCHING --> IDLE           the first in line waits for a foreign node
 *   WATCHING --> PREPARING --> LISTING   the node before the nearest foreign node has gone:
 *                                        a listing follows the get, before its reply
 *
 * The settle function of the directory's kind (uvzk__directory_kind) decides which
 * request is sent and which contender is granted.
 *
 * A view stays usable: nodes with a number lower than a contender's can only disappear.
 * So a contender whose predecessors one listing has shown needs no other listing. Only
 * the first in line watches, and it watches only one foreign node: the second nearest
 * before it, and then the nearest (in_order.c). */
#ifndef UVZK_QUEUE_H
#define UVZK_QUEUE_H

#include "base/memory.h"
#include "base/path.h"
#include "directory/acl_retry.h"
#include "directory/contender.h"
#include "directory/foreign_nodes.h"
#include "directory/freshness.h"
#include "directory/other_kinds.h"
#include "directory/parents.h"
#include "directory/predecessor.h"
#include "directory/watermark.h"

/* The parts of a directory that are usually empty. A directory whose only contender holds
 * has none of them. The memory is allocated when one of them is first needed, and freed
 * when all are empty again. */
struct uvzk__queue_optional {
    struct uvzk__predecessor predecessor;
    struct uvzk__queue_backoff *backoff; /* NULL: no pause after a failed request */
    struct uvzk__parents parents;
    struct uvzk__foreign_nodes foreign_nodes;
    struct uvzk__watermark watermark;
    struct uvzk__other_kinds *other_kinds; /* NULL: none is known */
    struct uvzk__undeletables undeletables;
    struct uvzk__unsearchables unsearchables;
};

/* What creates.c keeps of a directory's creates. */
struct uvzk__creates {
    uint16_t in_batch : 11;    /* creates in multis in flight */
    bool batching : 1;         /* contenders may wait for a multi */
    bool batching_readers : 1; /* with batching: these contenders are readers */
    bool wanted : 1;           /* contenders have come that need their creates sent */
    bool postponed : 1;        /* contenders wait until those before them are created */
    /* Another session's contenders at this path wait for this directory's creates. */
    bool other_session_waits : 1;
};

struct uvzk__queue {
    struct uvzk__session *session;
    struct uvzk__catalogue_entry entry; /* in the session's catalogue */
    struct uvzk__shared_path *path;     /* of the lock directory, namespace included */
    const struct uvzk__directory_kind *kind;
    struct uvzk__ring holders;             /* contenders that hold */
    struct uvzk__ring waiters;             /* contenders that wait, by number */
    struct uvzk__ring deleting;            /* those that are being deleted, by number */
    struct uvzk__ring unplaced;            /* contenders whose place is not known */
    struct uvzk__link in_to_settle;        /* on directories->to_settle, after a change */
    struct uvzk__queue_optional *optional; /* owned; NULL: all of it is empty */
    struct uvzk__freshness freshness;
    struct uvzk__deletions deletions;
    /* A directory of tickets: since the request with this stamp, no other client can have
     * held (leases.h). */
    uint64_t held_stamp;
    struct uvzk__contender_counts counts;
    /* When a release was last seen, by a local contender or by a foreign node that went:
     * the low 32 bits of the time in ms. Kept only while an observer or a tracer watches
     * (claim/observed_steps.c). 0: none was seen. */
    uint32_t released_ms;
    struct uvzk__creates creates;
    uint8_t state; /* enum uvzk__queue_state */
    /* A watch on the directory's children is wanted: the ticket holder waits until leases
     * of other clients are deleted, or a ticket is kept until another contender
     * arrives. */
    bool wants_children_watch : 1;
    bool just_created : 1; /* by this session; no contender is in it yet */
    /* A check of a node in it got UVZK_ENOAUTH: its leases are not handed over. Never
     * reset. */
    bool unreadable : 1;
    /* The first in line has had to wait for a foreign node (mirror.h). */
    bool waits_for_others : 1;
    /* A contender has been blocked for a session timeout. The nodes that the next listing
     * shows in its way are checked (divergence.h). */
    bool blocked_long : 1;
};

/* The memory for the directory's kind (extra_size bytes), which follows the struct. */
static inline void *uvzk__queue_extra(const struct uvzk__queue *queue)
{
    return (void *)(uintptr_t)(queue + 1);
}

/* The contender of a link in one of the directory's lists. NULL: there is no link. */
static inline struct uvzk__contender *uvzk__contender_at(const struct uvzk__link *link)
{
    return link == NULL
               ? NULL
               : UVZK__CONTAINER_OF((uintptr_t)link, struct uvzk__contender, in_queue);
}

/* The first contender of a list, the one behind this one, and the one before it. NULL:
 * there is none. */
static inline struct uvzk__contender *uvzk__first_in(const struct uvzk__ring *ring)
{
    return uvzk__contender_at(uvzk__ring_first(ring));
}
static inline struct uvzk__contender *
uvzk__next_in(const struct uvzk__ring *ring, const struct uvzk__contender *contender)
{
    return uvzk__contender_at(uvzk__ring_next(ring, &contender->in_queue));
}
static inline struct uvzk__contender *
uvzk__prev_in(const struct uvzk__ring *ring, const struct uvzk__contender *contender)
{
    return uvzk__contender_at(uvzk__ring_prev(ring, &contender->in_queue));
}

/* The session of a contender. A contender that has ended may still be referenced by a
 * request in flight, when its directory is gone already; it then points to the session
 * itself. */
static inline struct uvzk__session *
uvzk__session_of(const struct uvzk__contender *contender)
{
    return contender->state == UVZK__CONTENDER_ENDED ? contender->session
                                                     : contender->queue->session;
}

/* A local contender releases, or a foreign node is seen to have gone. 0 means that
 * nothing is known, so a time whose low bits are 0 is kept as 1. */
static inline void uvzk__queue_set_released(struct uvzk__queue *queue, uint64_t now)
{
    queue->released_ms = (uint32_t)now == 0 ? 1 : (uint32_t)now;
}

/* How long ago that was, in ms; UINT64_MAX: not known. */
static inline uint64_t uvzk__queue_released_ago(const struct uvzk__queue *queue,
                                                uint64_t now)
{
    return queue->released_ms == 0 ? UINT64_MAX : (uint32_t)now - queue->released_ms;
}

/* The optional parts for reading: all empty if there is no memory for them. */
static inline const struct uvzk__queue_optional *
uvzk__queue_optional(const struct uvzk__queue *queue)
{
    static const struct uvzk__queue_optional nothing;

    return queue->optional == NULL ? &nothing : queue->optional;
}

/* Returns true if the directory pauses after a failed request. */
static inline bool uvzk__queue_is_backing_off(const struct uvzk__queue *queue)
{
    return uvzk__queue_optional(queue)->backoff != NULL;
}

/* ----------------------------------------------------- questions about a directory */

/* Returns true if a create that needs a listing was submitted after the view's
 * listing. */
static inline bool uvzk__has_newer_create(const struct uvzk__queue *queue)
{
    return queue->freshness.newest_create_stamp > queue->freshness.view_stamp;
}

/* Returns true if the last listing showed, or other sessions may have, contenders before
 * or behind the local ones (foreign_nodes.h). */
static inline bool uvzk__has_foreign_contenders(const struct uvzk__queue *queue)
{
    return uvzk__queue_optional(queue)->foreign_nodes.others_behind ||
           uvzk__queue_optional(queue)->foreign_nodes.count > 0;
}

/* Returns true if creates of contenders are in a multi in flight, or have to wait. */
static inline bool uvzk__creates_wait(const struct uvzk__queue *queue)
{
    return queue->creates.in_batch > 0 || queue->creates.postponed;
}

/* How kinds of directories differ. The recipes define them, and own the constants.
 * Every function except settle may be NULL. */
struct uvzk__directory_kind {
    /* The prefixes of its contenders' names. NULL: any child may be a contender; the lock
     * driver says which (uvzk__is_driver_defined). */
    const struct uvzk__name_prefix *name_prefixes;
    bool in_order;    /* contenders are granted in the order of their numbers */
    bool has_readers; /* with in_order: readers do not wait for readers */
    bool counted;     /* contenders are only counted, their numbers give no order */
    uint8_t kinds_elsewhere; /* enum uvzk__kinds_elsewhere */
    size_t extra_size;       /* bytes of uvzk__queue_extra, zeroed */
    /* In which directory of the same path its orphans are deleted (divergence.h); NULL:
     * in this one. */
    const struct uvzk__directory_kind *orphan_kind;
    void (*init)(struct uvzk__queue *);
    void (*freed)(struct uvzk__queue *); /* called just before it is freed */
    /* Something has changed: decides which request to send and which contenders to
     * grant. */
    void (*settle)(struct uvzk__queue *);
    /* Returns true if the directory is still needed although no contender is in it. */
    bool (*in_use)(const struct uvzk__queue *);
    /* The directory's watches are lost. The session may have ended. */
    void (*watches_lost)(struct uvzk__queue *);
    /* A listing has been answered. NULL: listing.c updates the view. */
    void (*listed)(struct uvzk__queue *, const struct uvzk__reply *);
    /* The directory cannot be listed, or its children cannot be watched: ends, with this
     * status, the claims that wait for that. */
    void (*refused)(struct uvzk__queue *, int status);
};

static inline bool uvzk__is_driver_defined(const struct uvzk__directory_kind *kind)
{
    return kind->name_prefixes == NULL;
}

/* At most this many contenders of a directory may be granted early at a time, while the
 * node of a local contender that has released still exists: each of them costs a check in
 * the multi that deletes the node (delete_batch.h). */
#define UVZK__EARLY_GRANTS_MAX 32U

enum uvzk__queue_state {
    UVZK__QUEUE_IDLE,
    UVZK__QUEUE_CREATING_PARENTS,
    UVZK__QUEUE_LISTING,
    UVZK__QUEUE_WATCHING,
    UVZK__QUEUE_PREPARING /* a get is in flight, and a listing after it */
};

/* The machine of the directory's request. */
extern const struct uvzk__machine uvzk__queue_machine;

/* Returns true if the directory may submit a request now: it is IDLE and does not pause,
 * and the session may send. */
bool uvzk__queue_may_ask(const struct uvzk__queue *);

/* Returns the session's directory of this kind and path, and creates it if it is missing.
 * A new directory takes a reference to the path. It is freed when it is settled and is
 * empty. NULL: out of memory. */
struct uvzk__queue *uvzk__queue_of(struct uvzk__session *,
                                   const struct uvzk__directory_kind *,
                                   struct uvzk__shared_path *);

/* Returns true if a local contender holds in the directory of this path, waits there, or
 * will wait when its create has been answered. writers_only: readers do not count. */
bool uvzk__queue_occupied(struct uvzk__session *, const struct uvzk__directory_kind *,
                          const char *path, bool writers_only);

/* Returns true if the node of an unplaced contender is in this state: PARENTS or
 * UNKNOWN. */
bool uvzk__queue_find_unplaced(const struct uvzk__queue *, enum uvzk__node_state);
static inline bool uvzk__queue_has_unplaced(const struct uvzk__queue *queue,
                                            enum uvzk__node_state state)
{
    return queue->counts.asking > 0 && uvzk__queue_find_unplaced(queue, state);
}

/* The recipes set these fields too. */
void uvzk__queue_set_just_created(struct uvzk__queue *, bool just_created);
void uvzk__queue_want_children_watch(struct uvzk__queue *, bool wanted);
void uvzk__queue_set_blocked_long(struct uvzk__queue *, bool);

/* Returns true if a request that failed with this status is worth repeating. After a lost
 * connection it is repeated as soon as requests may be sent again. After UVZK_ETHROTTLED
 * and UV_ENOMEM this function starts a pause, which ends by settling the directory. */
bool uvzk__queue_is_transient(struct uvzk__queue *, int status);

/* The directory sends no request for 100 ms, and is then settled. Without memory for the
 * timer, the whole session pauses instead. */
void uvzk__queue_back_off(struct uvzk__queue *);
void uvzk__queue_end_backoff(struct uvzk__queue *);

/* The claim wants to know how many contenders are before this one. Call it once. The
 * second function ends that, and does nothing if the claim does not want it. */
void uvzk__contender_want_position(struct uvzk__contender *);
void uvzk__contender_want_no_position(struct uvzk__contender *);

/* ------------------------------------------------------------ for this room alone */

/* Allocates the optional parts if they are missing. False: out of memory. */
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

/* Frees the optional parts if all of them are empty. */
void uvzk__queue_trim_optional(struct uvzk__queue *);

/* What a session remembers of a directory, also when it has freed it, for as long as it
 * remembers the numbers that are expected there (base/expected_sequences.h). No contender
 * has such a number. */
enum uvzk__remembered {
    /* Contenders have waited there. */
    UVZK__REMEMBERED_CONTENDED = -2,
    /* More sessions than a mirror is for have been seen there. */
    UVZK__REMEMBERED_CROWDED = -3,
    /* The path of the semaphore was read for other kinds of locks. */
    UVZK__REMEMBERED_KINDS = -4
};

static inline bool uvzk__queue_remembers(const struct uvzk__queue *queue,
                                         enum uvzk__remembered what)
{
    return uvzk__expected_sequences_has(&queue->session->directories->expected_sequences,
                                        queue->entry.hash, what);
}
static inline void uvzk__queue_remember(const struct uvzk__queue *queue,
                                        enum uvzk__remembered what)
{
    uvzk__expected_sequences_add(&queue->session->directories->expected_sequences,
                                 queue->entry.hash, what);
}

/* Returns true if a listing may be submitted after the get that is in flight, in
 * WATCHING. */
bool uvzk__queue_may_list_behind_get(const struct uvzk__queue *);

/* A listing is submitted next, alone or after a get; the get has been answered. Replies
 * come in the order of their requests (port.h), so the get is answered before the listing
 * that follows it. */
void uvzk__queue_listing_sent(struct uvzk__queue *);
void uvzk__queue_get_answered(struct uvzk__queue *);

/* Removes a contender from its list, or adds it to this one. Waiters and deleting are in
 * the order of their places; the others are appended. The next waiter behind one that
 * leaves inherits its delete stamps (freshness.h). Called by contender.c. */
void uvzk__queue_leave(struct uvzk__contender *);
void uvzk__queue_join(struct uvzk__contender *, enum uvzk__contender_list);

/* The request with this stamp, which is submitted next, deletes the contender's node. */
void uvzk__queue_delete_sent(struct uvzk__contender *, uint64_t stamp);

/* The multi that one of this directory's creates was in has been answered. */
void uvzk__queue_batch_create_done(struct uvzk__queue *);

/* How many children the view's listing had, contenders or not. */
static inline size_t uvzk__listed_children(const struct uvzk__queue *queue)
{
    return (size_t)queue->freshness.children_high << 12 | queue->freshness.children_low;
}

/* The callbacks by which the contender reports to its claim, and asks it. */
static inline const struct uvzk__contender_user *
uvzk__user_of(const struct uvzk__contender *contender)
{
    return uvzk__session_of(contender)->directories->contender_user;
}

#endif
