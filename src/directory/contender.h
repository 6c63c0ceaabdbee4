/* SPDX-License-Identifier: Apache-2.0 */
/* A contender: one znode of this client in a lock directory, from the request to acquire
 * until the znode is known to be gone. Contenders are created for claims by the rooms
 * above, and for orphans by divergence.c.
 *
 *                   granted
 *    WAITING -----------------------------> HOLDING
 *     |  ^ ^                                 |   ^
 *     |  | +------- grant taken back --------+   | a delete checked its znode
 *     |  |                                       |
 *     |  +------ grant taken back -----+         |
 *     +---------- granted early ----> GRANTED_EARLY
 *
 * From each of these three states, when it is no longer wanted:
 *
 *    GIVEN_UP -------- its delete is refused -------> UNDELETABLE
 *       |                                                  |
 *       | no znode of it exists                            | its znode is gone
 *       v                                                  |
 *     ENDED <----------------------------------------------+
 *
 * A hold is HOLDING or GRANTED_EARLY. This machine says only what the contender is for its
 * claim. Whether its znode exists, and which request is next, the machine of its znode
 * says (node.h). One state follows from the znode: once that is no longer wanted, the
 * contender is given up, and its claim is told.
 *
 * On which list of its directory (queue.h) the contender belongs is a function of both
 * (list_of in contender.c). These pairs occur ("-": not this one):
 *
 *                 CREATING  PARENTS      IDENTIFYING  STANDING  DELETING  GONE
 *                 UNKNOWN   BACKING_OFF
 *    WAITING      unplaced  unplaced     waiters      waiters   -         -
 *    (a hold)     -         -            -            holders   -         -
 *    GIVEN_UP     unplaced  -            -            -         deleting  it ends next
 *    UNDELETABLE  -         -            -            -         deleting  it ends next
 *    ENDED        -         -            -            -         -         none
 *
 * A contender reports to its claim through uvzk__contender_user. */
#ifndef UVZK_CONTENDER_H
#define UVZK_CONTENDER_H

#include "base/node_name.h"
#include "directory/contender.h"
#include "directory/directories.h"
#include "directory/freshness.h"
#include "directory/node.h"
#include "directory/own_watch.h"
#include "proof/proof_subject.h"

struct uvzk__claim;
struct uvzk__queue;

enum uvzk__contender_state {
    UVZK__CONTENDER_WAITING, /* next: GRANTED_EARLY HOLDING GIVEN_UP */
    /* Granted before the released znode of this client ahead of it, or the ticket of its
     * leases, was deleted, and no delete has checked its node since. */
    UVZK__CONTENDER_GRANTED_EARLY, /* next: HOLDING WAITING GIVEN_UP */
    UVZK__CONTENDER_HOLDING,       /* next: WAITING GIVEN_UP */
    UVZK__CONTENDER_GIVEN_UP,      /* next: UNDELETABLE ENDED */
    UVZK__CONTENDER_UNDELETABLE,   /* next: ENDED */
    UVZK__CONTENDER_ENDED          /* final: freed when nothing points to it */
};

/* The lists of a directory. */
enum uvzk__contender_list {
    UVZK__ON_UNPLACED,
    UVZK__ON_WAITERS,
    UVZK__ON_HOLDERS,
    UVZK__ON_DELETING
};

/* How many contenders of a directory are in certain conditions, so that no code has to
 * walk over the lists. queue.c keeps positions_wanted, contender.c keeps the others. */
struct uvzk__contender_counts {
    uint32_t contenders;   /* all that have not ENDED */
    uint32_t early_grants; /* holders that were granted early and are not checked yet */
    uint32_t writers_held; /* holders that are not shared */
    uint32_t positions_wanted; /* contenders that want to know their position */
    /* Unplaced contenders whose nodes are in PARENTS or UNKNOWN: the directory must be
     * created, or listed. */
    uint32_t asking;
};

/* How the contenders of a recipe differ. The recipe owns the constants. */
struct uvzk__contender_kind {
    /* The prefix of its name, for example "lock-". NULL: `extra` of the contender is the
     * prefix, which is not copied. */
    const char *name_prefix;
    bool shared; /* a reader: it waits for writers only */
    /* It is a reader with the number of its own writer (locks/rwlock.c), so it does not
     * wait. */
    bool has_writers_place;
    /* Its grant is not the hold: it lets its claim into another directory, which is
     * `extra` of the contender (struct uvzk__queue; NULL: it no longer does). That
     * directory is settled when the contender changes, and the delete of the contender's
     * node checks the contenders that are granted early there. */
    bool admits;
    bool fixed_name; /* another client's node may have the same name */
    bool once;       /* if its node is deleted, the claim ends */
    bool orphan;     /* it never had a claim (divergence.h) */
    bool not_shown;  /* an orphan that its own server does not show (divergence.h) */
    /* The contender needs its node created. Submits the create now or later. NULL: its
     * create is sent in the order of its directory (creates.h). */
    void (*create)(struct uvzk__contender *);
    /* Returns the czxid of the place that it has. NULL: that of its own node. */
    int64_t (*place_czxid)(const struct uvzk__contender *);
};

/* What the contender's requests may not do, because a server refused it. */
struct uvzk__batch_limits {
    bool create_alone : 1; /* its create may not share a multi */
    /* Its create was in a multi that failed because another create's directory was
     * missing; its own directory may be missing too. */
    bool suspect_no_directory : 1;
    bool delete_alone : 1; /* its delete may not share a multi */
    bool unchecked : 1;    /* the ACL forbids checks of its node */
};

struct uvzk__contender {
    struct uvzk__node node;
    union {
        struct uvzk__queue *queue;     /* its directory, until it has ended */
        struct uvzk__session *session; /* once it has ended (uvzk__session_of) */
    };
    /* NULL: it is an orphan or undeletable, or it is over. */
    struct uvzk__claim *claim;
    struct uvzk__link in_claim;   /* on claim->contenders */
    struct uvzk__link in_session; /* on directories->contenders */
    struct uvzk__link in_queue;   /* on the queue's list that `list` names */
    union {
        /* While its znode exists and is wanted: what proofs check (prover.h). */
        struct uvzk__proof_subject proof_subject;
        /* Before that on directories->to_create (creates.h), after that on
         * directories->to_delete or ->delete_later (delete_batch.h). */
        struct uvzk__link in_batch;
    };
    struct uvzk__own_watch own_watch; /* a watch on its own node */
    /* Owned. NULL: it never paused and is not revocable (contender_request.c). */
    struct uvzk__contender_timer *timer;
    const struct uvzk__contender_kind *kind;
    void *extra;           /* used by the kind */
    uint64_t create_stamp; /* of its create; 0: no create was submitted yet */
    uint64_t listed_stamp; /* of the last listing that showed the node */
    /* Of the first listing, or the create, that showed that no foreign node that it has
     * to wait for is before it. 0: there was none yet. */
    uint64_t unblocked_stamp;
    uint64_t read_stamp;       /* of the last exists of the node, or own watch's get */
    uint64_t first_attempt_ms; /* when it was added, for the retry policy */
    uint32_t attempts;         /* how often the retry policy was asked for another node */
    uint32_t refs;             /* what still points here, such as requests in flight */
    struct uvzk__last_seen last_seen;
    uint8_t state;               /* enum uvzk__contender_state */
    bool persistent : 1;         /* its node outlives the session */
    bool revocable : 1;          /* its own watch is always armed */
    bool has_held : 1;           /* this node was granted in order (in_order.c) */
    bool predecessors_known : 1; /* every contender before it is in the queue's view */
    bool wants_position : 1;     /* counted in queue->counts.positions_wanted */
    bool counted_asking : 1;     /* counted in queue->counts.asking */
    bool kind_checked : 1;       /* a lease: none of another kind came first */
    uint8_t list : 2;            /* enum uvzk__contender_list: where it was put last */
    struct uvzk__batch_limits limits;
    /* The prefix that is sent in the create, then the node's full path. */
    char path[];
};

extern const struct uvzk__machine uvzk__contender_machine;

/* Returns true if it is granted, early or not. */
static inline bool uvzk__contender_holds(const struct uvzk__contender *contender)
{
    return contender->state == UVZK__CONTENDER_GRANTED_EARLY ||
           contender->state == UVZK__CONTENDER_HOLDING;
}

/* Returns true if it is no longer wanted, and its claim has been told. */
static inline bool uvzk__contender_is_given_up(const struct uvzk__contender *contender)
{
    return contender->state >= UVZK__CONTENDER_GIVEN_UP;
}

/* The callbacks by which contenders report to their claims and ask them.
 * claim/claim.c implements them. A contender without a claim calls only those
 * that say so. */
struct uvzk__contender_user {
    /* The contender is granted. hold_ended: it is no longer granted, for any reason. */
    void (*granted)(struct uvzk__contender *);
    void (*hold_ended)(struct uvzk__contender *);
    /* The grant has been taken back before the user was told of it, and the contender
     * waits again. hold_ended was called first. */
    void (*ungranted)(struct uvzk__contender *);
    /* The contender is no longer wanted. code: the reason, as an error code; 0 after a
     * release. Called once. */
    void (*ended)(struct uvzk__contender *, int code);
    /* The delete of its node was refused. The contender leaves its claim and continues
     * without one. */
    void (*undeletable)(struct uvzk__contender *);
    /* The contender is over: its node is gone, or its session has ended. Also called for
     * contenders without a claim. */
    void (*over)(struct uvzk__contender *);
    /* The node is to be deleted. True: the node at the contender's path is certainly its
     * own and may be deleted now. False: not now; the contender is pumped when that may
     * have changed. Also called for contenders without a claim. */
    bool (*may_delete)(struct uvzk__contender *);
    /* Returns true if a callback has told the user that the claim holds. */
    bool (*grant_notified)(const struct uvzk__contender *);
    /* ahead contenders, more than 0, are before this one. */
    void (*queued)(struct uvzk__contender *, uint64_t ahead);
    /* Returns true if the session has an acquire with UVZK_TRY_ONCE that has no result
     * yet. */
    bool (*any_try_once)(const struct uvzk__session *);
    /* The contender has to wait: its acquires with UVZK_TRY_ONCE fail. */
    void (*has_to_wait)(struct uvzk__contender *);
    /* The own watch has read the contender's node. */
    void (*own_node_read)(struct uvzk__contender *, const struct uvzk__reply *);
    /* The data for the contender's node, borrowed. *data NULL: the acquire has none. */
    void (*data)(const struct uvzk__contender *, const void **data, size_t *length);
};

/* Makes a contender, with a new name, for the claim that it is then attached to
 * (uvzk__claim_new_contender). extra: for the kind. Pump the contender when the claim is
 * ready. Returns 0 and sets *out, or returns UV_ENOMEM, UVZK_ELIMIT (the session's budget
 * of paths is used up) or UV_EIO (no random bytes). */
int uvzk__contender_new(struct uvzk__queue *, const struct uvzk__contender_kind *,
                        void *extra, struct uvzk__contender **out);

/* Makes a contender for an orphan (divergence.h): a znode of this client that belongs to
 * none of its contenders. Its node starts in DELETING. shown: the session's own server
 * shows it. NULL: out of memory. */
struct uvzk__contender *uvzk__contender_new_orphan(struct uvzk__queue *, const char *name,
                                                   struct uvzk__place, bool shared,
                                                   bool shown);

/* ------------------------------------------------------ questions about a contender */

/* The contender of a link in the claim's list of contenders. NULL for NULL. */
static inline struct uvzk__contender *
uvzk__contender_of_link(const struct uvzk__link *link)
{
    return link == NULL
               ? NULL
               : UVZK__CONTAINER_OF((uintptr_t)link, struct uvzk__contender, in_claim);
}

/* Returns true if it is in one of the lists for the next multi (creates.h,
 * delete_batch.h). */
static inline bool uvzk__contender_is_in_batch(const struct uvzk__contender *contender)
{
    return !uvzk__list_empty(&contender->in_batch);
}

/* The directory that its grant lets its claim into; NULL: its grant is the hold. */
static inline struct uvzk__queue *
uvzk__contender_admits_to(const struct uvzk__contender *contender)
{
    return contender->kind->admits ? contender->extra : NULL;
}

/* The prefix of its name. */
static inline const char *
uvzk__contender_name_prefix(const struct uvzk__contender *contender)
{
    return contender->kind->name_prefix != NULL ? contender->kind->name_prefix
                                                : contender->extra;
}

/* ----------------------------------------------------- what the recipes change of it */

/* It becomes another kind of its recipe. `extra` stays. */
static inline void uvzk__contender_set_kind(struct uvzk__contender *contender,
                                            const struct uvzk__contender_kind *kind)
{
    contender->kind = kind;
}

/* The directory that it admits to is freed. */
static inline void uvzk__contender_admit_nowhere(struct uvzk__contender *contender)
{
    contender->extra = NULL;
}

/* -------------------------------------------------------------------------- events */

/* The request that creates its node has this stamp. */
static inline void uvzk__contender_set_create_stamp(struct uvzk__contender *contender,
                                                    uint64_t stamp)
{
    contender->create_stamp = stamp;
}

/* Every contender before it is in the queue's view. */
static inline void
uvzk__contender_set_predecessors_known(struct uvzk__contender *contender)
{
    contender->predecessors_known = true;
}

/* From now on its create does not share a multi. */
static inline void uvzk__contender_set_create_alone(struct uvzk__contender *contender)
{
    contender->limits.create_alone = true;
}

/* Grants it. The caller has checked that no contender before it blocks it and that the
 * session is proved. early: a znode of this client that was not deleted yet keeps others
 * out, and the delete of that znode checks this contender's node (delete_batch.h). The
 * second function: that check has passed. */
void uvzk__contender_grant(struct uvzk__contender *, bool early);
void uvzk__contender_checked(struct uvzk__contender *);

/* Takes back a grant before the user has been told of it. The contender waits again. */
void uvzk__contender_ungrant(struct uvzk__contender *);

/* Ends the claim with this code, and withdraws the node. The contender may be freed when
 * this returns. */
void uvzk__contender_end(struct uvzk__contender *, int code);

/* The claim no longer wants the node: deletes it, or prevents its creation. The contender
 * may be freed when this returns. */
void uvzk__contender_withdraw(struct uvzk__contender *);

/* Another client deleted its node, according to the quorum: a hold is lost. A waiter or a
 * ticket creates a new node if the retry policy allows it.
 *
 * not_shown: only this session's server says so, by a reading that does not show the
 * node, or by a watch. Usually the node is gone. But if the server has diverged, the
 * node still exists on the other servers, and no contender would want it. So it is
 * also deleted as an orphan: the delete finds nothing, or shows that this server has
 * diverged (divergence.h). In IDENTIFYING the node remembers it (node.h). */
void uvzk__contender_missing(struct uvzk__contender *);
void uvzk__contender_not_shown(struct uvzk__contender *);

/* Call it after each event of its node: moves it to the right list of its queue,
 * reports to its claim, and sends what the node needs next. If the node is GONE, the
 * contender ends and may be freed. */
void uvzk__contender_update(struct uvzk__contender *);

/* Keeps the memory of an ended contender until the last reference is returned. */
void uvzk__contender_ref(struct uvzk__contender *);
void uvzk__contender_unref(struct uvzk__contender *);

/* ------------------------------ in proofs, and at the end of its session or its directory */

/* Requests a proof of its session and of its node. False: no proof is possible, because
 * the session timeout is too short for the servers' tick. The contender has then ended
 * with UVZK_EPROOF, and may be freed. */
bool uvzk__contender_request_proof(struct uvzk__contender *);

/* The callbacks by which proof requests check contenders (proof_subject.h). */
extern const struct uvzk__proof_subject_kind uvzk__contender_proof_subjects;

/* Ends with this code the wanted contenders of the directory that are unplaced and whose
 * nodes are in this state, or all its waiters. A contender whose node is UNKNOWN stays
 * until a search has decided whether the node exists, but its claim has ended. */
void uvzk__end_unplaced(struct uvzk__queue *, enum uvzk__node_state, int code);
void uvzk__end_waiters(struct uvzk__queue *, int code);

/* The session has ended, with this code. A persistent node outlives the session,
 * unless the code is UVZK_ECLOSED. */
void uvzk__contender_session_ended(struct uvzk__contender *, int code);

/* ------------------------------------------------------------ for this room alone */

/* The request with this stamp shows that it has to wait for no foreign node. Only the
 * first such stamp is kept. */
static inline void uvzk__contender_set_unblocked(struct uvzk__contender *contender,
                                                 uint64_t stamp)
{
    if (contender->unblocked_stamp == 0) {
        contender->unblocked_stamp = stamp;
    }
}

/* The delete of its znode was refused because the ACL does not give this client DELETE,
 * and is tried again (acl_retry.h). */
void uvzk__contender_set_undeletable(struct uvzk__contender *);

#endif
