/* A contender: one znode of this client in a lock directory, from the request to acquire
 * until the znode is known to be gone. A contender drives the machine of its znode
 * (node.h), keeps its place in its directory (queue.h), and reports to its claim through
 * uvzk__contender_user. Contenders are created for claims by the rooms above, and for
 * orphans by orphans.c. */
#ifndef UVZK_CONTENDER_H
#define UVZK_CONTENDER_H

#include "base/node_name.h"
#include "directory/directories.h"
#include "directory/last_seen.h"
#include "directory/node.h"
#include "directory/own_watch.h"
#include "proof/proof_subject.h"

struct uvzk__claim;
struct uvzk__queue;

/* On which list of its directory a contender is (queue.h). docs/machines.md draws the
 * machine. */
enum uvzk__contender_state {
    UVZK__CONTENDER_UNPLACED, /* the place of its znode is not known */
    UVZK__CONTENDER_WAITING,  /* its znode exists, and it waits */
    UVZK__CONTENDER_HOLDING,  /* it is granted */
    UVZK__CONTENDER_DELETING, /* its znode is being deleted */
    UVZK__CONTENDER_GONE      /* it is on no list */
};

/* How many contenders of a directory are in certain conditions. contender.c keeps these
 * counts, so that no code has to walk over the lists. */
struct uvzk__contender_counts {
    uint32_t contenders;   /* all that are not GONE */
    uint32_t early_grants; /* holders that were granted early and are not checked yet */
    uint32_t writers_held; /* holders that are not shared */
    uint32_t positions_wanted; /* contenders that want to know their position */
    /* Unplaced contenders whose nodes are in PARENTS or UNKNOWN: the directory must be
     * created, or listed. */
    uint32_t asking;
};

/* These return the counts above. */
static inline uint32_t uvzk__contenders_in(const struct uvzk__contender_counts *counts)
{
    return counts->contenders;
}
static inline uint32_t uvzk__early_grants(const struct uvzk__contender_counts *counts)
{
    return counts->early_grants;
}
static inline uint32_t uvzk__writers_held(const struct uvzk__contender_counts *counts)
{
    return counts->writers_held;
}
static inline uint32_t uvzk__positions_wanted(const struct uvzk__contender_counts *counts)
{
    return counts->positions_wanted;
}
static inline uint32_t uvzk__unplaced_asking(const struct uvzk__contender_counts *counts)
{
    return counts->asking;
}

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
    struct uvzk__link in_queue;   /* on one of the queue's four lists */
    union {
        /* While its znode exists and is wanted: what proofs check (prover.h). */
        struct uvzk__proof_subject proof_subject;
        /* Before that on directories->to_create (create_batch.h), after that on
         * directories->to_delete or ->delete_later (delete_batch.h). */
        struct uvzk__link in_batch;
    };
    struct uvzk__own_watch own_watch; /* a watch on its own node */
    /* Owned. NULL: it never paused and is not revocable (contender.c). */
    struct uvzk__contender_timer *timer;
    const char *name_prefix; /* of its name, for example "lock-"; not owned */
    union {
        /* Of a reader: the czxid of its writer's node, whose number it has
         * (downgrade.h). 0: it is an ordinary reader. */
        int64_t writer_czxid;
        /* Of a ticket: the lease directory. It is settled when the ticket changes, and
         * the ticket's delete checks the leases that are granted early there. */
        struct uvzk__queue *leases;
    };
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
    bool ticket : 1;             /* of a semaphore's claim: its grant is not the hold */
    bool no_recreate : 1;        /* if its node is deleted, the claim ends */
    bool shared : 1;             /* a reader: it waits for writers only */
    bool has_held : 1;           /* this node was granted in order (next_holder.c) */
    bool predecessors_known : 1; /* every contender before it is in the queue's view */
    bool held : 1;               /* it is granted now */
    /* It was granted before the released znode of this client ahead of it, or the ticket
     * of its leases, was deleted. No delete has checked its node since. */
    bool granted_early : 1;
    bool given_up : 1;       /* its claim knows that it is not wanted any more */
    bool wants_position : 1; /* counted in queue->counts.positions_wanted */
    bool counted_asking : 1; /* counted in queue->counts.asking */
    bool create_alone : 1;   /* its create may not share a multi */
    /* Its create was in a multi that failed because another create's directory was
     * missing; its own directory may be missing too. */
    bool suspect_no_directory : 1;
    bool delete_alone : 1; /* its delete may not share a multi */
    bool unchecked : 1;    /* the ACL does not allow checks of its node */
    bool fixed_name : 1;   /* another client's node may have the same name */
    bool undeletable : 1;  /* its delete was refused, and its claim has ended */
    bool orphan : 1;       /* it never had a claim (orphans.h) */
    bool ended : 1;        /* it is freed when refs is 0 */
    bool not_shown : 1;    /* an orphan that its own server does not show (orphans.h) */
    /* The prefix that is sent in the create, then the node's full path. */
    char path[];
};

extern const struct uvzk__machine uvzk__contender_machine;

/* The callbacks by which contenders report to their claims and ask them. claim/claim.c
 * implements them. A contender without a claim calls only those that say so. */
struct uvzk__contender_user {
    /* The contender is new, and contender->claim is set. */
    void (*added)(struct uvzk__contender *);
    /* The contender is granted. hold_ended: it is not granted any more, for any
     * reason. */
    void (*granted)(struct uvzk__contender *);
    void (*hold_ended)(struct uvzk__contender *);
    /* The grant has been taken back before the user was told of it, and the contender
     * waits again. hold_ended was called first. */
    void (*ungranted)(struct uvzk__contender *);
    /* The contender is not wanted any more. code: the reason, as an error code; 0 after a
     * release. Called once. */
    void (*ended)(struct uvzk__contender *, int code);
    /* The delete of its node was refused. The contender leaves its claim and goes on
     * without one. */
    void (*undeletable)(struct uvzk__contender *);
    /* The contender is over: its node is gone, or its session has ended. Also called for
     * contenders without a claim. */
    void (*over)(struct uvzk__contender *);
    /* The contender needs its node created. The callee submits the create now or
     * later. */
    void (*create)(struct uvzk__contender *);
    /* The node is to be deleted. True: the node at the contender's path is certainly its
     * own and may be deleted now. False: not now; the contender is pumped when that may
     * have changed. Also called for contenders without a claim. */
    bool (*may_delete)(struct uvzk__contender *);
    /* Whether a callback has told the user that the claim holds. */
    bool (*grant_notified)(const struct uvzk__contender *);
    /* ahead contenders, more than 0, are before this one. */
    void (*queued)(struct uvzk__contender *, uint64_t ahead);
    /* Whether the session has an acquire with UVZK_TRY_ONCE that has no result yet. */
    bool (*any_try_once)(const struct uvzk__session *);
    /* The contender has to wait: its acquires with UVZK_TRY_ONCE fail. */
    void (*has_to_wait)(struct uvzk__contender *);
    /* The own watch has read the contender's node. */
    void (*own_node_read)(struct uvzk__contender *, const struct uvzk__reply *);
    /* The data for the contender's node, borrowed. *data NULL: the acquire brought
     * none. */
    void (*data)(const struct uvzk__contender *, const void **data, size_t *length);
};

/* Makes a contender of the claim, with a new name that has this prefix. name_prefix is
 * not copied. Pump the contender when the claim is ready. Returns 0 and sets *out, or
 * returns UV_ENOMEM, UVZK_ELIMIT (the session's budget of paths is used up) or UV_EIO
 * (no random bytes). */
int uvzk__contender_new(struct uvzk__claim *, struct uvzk__queue *,
                        const char *name_prefix, struct uvzk__contender **out);

/* Makes a contender for an orphan (orphans.h): a znode of this client that belongs to
 * none of its contenders. Its node starts in DELETING. NULL: out of memory. */
struct uvzk__contender *uvzk__contender_new_orphan(struct uvzk__queue *, const char *name,
                                                   struct uvzk__place, bool shared);
static inline bool uvzk__contender_is_orphan(const struct uvzk__contender *contender)
{
    return contender->orphan;
}

/* The claim wants to know how many contenders are before this one. Call it once. The
 * second function ends that, and does nothing if the claim does not want it. */
void uvzk__contender_want_position(struct uvzk__contender *);
void uvzk__contender_want_no_position(struct uvzk__contender *);

/* The data with which its node is created, borrowed from the claim or from the session. A
 * revocable contender's node has no data. */
void uvzk__contender_data(const struct uvzk__contender *, const void **data,
                          size_t *length);

/* The ACL with which its node is created. The result is storage or the session's own ACL,
 * and storage must stay valid until the reply (uvzk__acl_of). */
const struct uvzk__acl *uvzk__contender_acl(struct uvzk__contender *,
                                            struct uvzk__acl *storage);

/* The UUID in its name: a pointer to the 36 characters in its path, which are not
 * terminated. Not for a contender with a fixed name. */
const char *uvzk__contender_uuid(const struct uvzk__contender *);

/* Writes a new name, without a number, into its path. Returns 0, or UV_EIO if there
 * are no random bytes. */
int uvzk__contender_new_name(struct uvzk__contender *);
/* Writes the sequence number behind the name in its path. */
void uvzk__contender_set_sequence(struct uvzk__contender *, int32_t sequence);
/* Submits the create of its node in a request of its own. If there is no memory, the
 * session pauses, and the contender is pumped again afterwards. */
void uvzk__contender_create(struct uvzk__contender *);

/* Fills in the create of its node as an op of a multi. storage: room for its ACL, which
 * must stay valid until the reply. */
void uvzk__contender_create_op(struct uvzk__contender *, struct uvzk__op *,
                               struct uvzk__acl *storage);

/* Fills in an op that checks its node: the multi fails unless the node exists. The
 * path is borrowed from the contender. */
void uvzk__contender_check_op(const struct uvzk__contender *, struct uvzk__op *);

/* A request that creates its node has just been submitted: requests a listing behind
 * it, unless the create will probably need none. And: the reply has arrived. path: of
 * the new node; czxid: 0 if it is not known yet. Both are read at status 0 only. The
 * contender may be freed when the second function returns. */
void uvzk__contender_create_sent(struct uvzk__contender *);
void uvzk__contender_create_answered(struct uvzk__contender *, int status,
                                     const char *path, int64_t czxid);

/* Like uvzk__contender_create_sent, but no listing is requested before the reply has
 * arrived: the number in the reply shows whether a listing is needed. */
void uvzk__contender_create_sent_unlisted(struct uvzk__contender *);

/* A create batch has created its node; the batch asks for the czxid of one of its nodes.
 * And: the answer to that (uvzk__node_identified). shown: the stamp of a request that has
 * shown the node; 0: none has. The contender may be freed when these return. */
void uvzk__contender_create_batch_answered(struct uvzk__contender *, const char *path);
void uvzk__contender_identified(struct uvzk__contender *, int status, int64_t czxid,
                                bool ours, uint64_t shown);

/* Like uvzk__contender_create_answered, for op i of a multi of `count` ops. czxid: of all
 * nodes that the multi created; 0 if it is not known yet. */
void uvzk__contender_create_op_answered(struct uvzk__contender *,
                                        const struct uvzk__reply *, size_t i,
                                        size_t count, int64_t czxid);

/* Whether it is a reader with the number of its own writer (downgrade.h). Such a reader
 * waits for nobody. */
static inline bool uvzk__contender_downgraded(const struct uvzk__contender *contender)
{
    return contender->shared && contender->writer_czxid != 0;
}

/* The lease directory of a ticket; NULL if the contender is not a ticket. */
static inline struct uvzk__queue *
uvzk__contender_leases(const struct uvzk__contender *contender)
{
    return contender->ticket ? contender->leases : NULL;
}

/* ------------------------------------------------------------ set when it is created */

/* NULL: the contender has left its claim. */
static inline void uvzk__contender_set_claim(struct uvzk__contender *contender,
                                             struct uvzk__claim *claim)
{
    contender->claim = claim;
}

static inline void uvzk__contender_set_persistent(struct uvzk__contender *contender,
                                                  bool persistent)
{
    contender->persistent = persistent;
}

/* Makes it a reader. writer_czxid: of the node of its own writer, whose number it gets
 * (downgrade.h); 0: it is an ordinary reader. */
static inline void uvzk__contender_set_reader(struct uvzk__contender *contender,
                                              int64_t writer_czxid)
{
    contender->shared = true;
    contender->writer_czxid = writer_czxid;
}

/* Makes it a ticket. leases: the semaphore's lease directory, not owned. */
static inline void uvzk__contender_set_ticket(struct uvzk__contender *contender,
                                              struct uvzk__queue *leases)
{
    contender->ticket = true;
    contender->leases = leases;
}

static inline void uvzk__contender_set_fixed_name(struct uvzk__contender *contender,
                                                  bool fixed)
{
    contender->fixed_name = fixed;
}

/* After the first function the claim ends if another client deletes the node. The second
 * one allows a new node again, as the retry policy permits. */
static inline void uvzk__contender_forbid_recreate(struct uvzk__contender *contender)
{
    contender->no_recreate = true;
}
static inline void uvzk__contender_allow_recreate(struct uvzk__contender *contender)
{
    contender->no_recreate = false;
}

/* Makes it revocable: its own watch is always armed from now on. Returns 0 or
 * UV_ENOMEM. */
int uvzk__contender_make_revocable(struct uvzk__contender *);

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

/* The view may lack a contender before it. */
static inline void
uvzk__contender_clear_predecessors_known(struct uvzk__contender *contender)
{
    contender->predecessors_known = false;
}

/* The listing with this stamp shows its node, and every contender before it. */
static inline void uvzk__contender_set_listed(struct uvzk__contender *contender,
                                              uint64_t stamp)
{
    contender->predecessors_known = true;
    contender->listed_stamp = stamp;
}

/* The request with this stamp shows that it has to wait for no foreign node. Only the
 * first such stamp is kept. */
static inline void uvzk__contender_set_unblocked(struct uvzk__contender *contender,
                                                 uint64_t stamp)
{
    if (contender->unblocked_stamp == 0) {
        contender->unblocked_stamp = stamp;
    }
}

/* A request that reads its node has been submitted with this stamp. */
static inline void uvzk__contender_set_read_stamp(struct uvzk__contender *contender,
                                                  uint64_t stamp)
{
    contender->read_stamp = stamp;
}

/* Only for a revocable contender: whether the revocation with this mzxid is a new one.
 * Remembers the mzxid, so the next call with it returns false. */
bool uvzk__contender_is_new_revocation(struct uvzk__contender *, int64_t mzxid);

/* It is granted, and no other client can have been granted past its node
 * (next_holder.c). */
static inline void uvzk__contender_set_has_held(struct uvzk__contender *contender)
{
    contender->has_held = true;
}

/* From now on its create does not share a multi. */
static inline void uvzk__contender_set_create_alone(struct uvzk__contender *contender)
{
    contender->create_alone = true;
}

/* Its directory may be missing, but no server has said so. The directory is created on
 * suspicion once only. */
static inline void uvzk__contender_suspect_no_directory(struct uvzk__contender *contender)
{
    contender->suspect_no_directory = true;
}

/* alone: its delete does not share a multi. */
static inline void uvzk__contender_set_delete_alone(struct uvzk__contender *contender,
                                                    bool alone)
{
    contender->delete_alone = alone;
}

/* A check of its node was refused because the ACL does not give this client READ. */
static inline void uvzk__contender_is_unchecked(struct uvzk__contender *contender)
{
    contender->unchecked = true;
}

/* Its delete was refused because the ACL does not give this client DELETE, and is tried
 * again (undeletable.h). False: the node is gone. */
static inline void uvzk__contender_set_undeletable(struct uvzk__contender *contender,
                                                   bool undeletable)
{
    contender->undeletable = undeletable;
}

/* It moves to this list of its queue. Also updates counts.asking. */
void uvzk__contender_set_state(struct uvzk__contender *, enum uvzk__contender_state);

/* Sends the request that its node needs, or puts the contender on the list from which
 * that request is sent, unless nothing may be sent now. If the node needs no request,
 * arms the own watch of a revocable contender. The second function does this for all
 * contenders of the session. */
void uvzk__contender_pump(struct uvzk__contender *);
void uvzk__contenders_pump(struct uvzk__session *);

/* Calls act for each contender of the session. act may free the contender that it gets,
 * but no other. */
void uvzk__for_each_contender(struct uvzk__session *,
                              void (*act)(struct uvzk__contender *, int), int code);

/* Grants it. The caller has checked that no contender before it blocks it and that the
 * session is proved. */
void uvzk__contender_grant(struct uvzk__contender *);

/* Takes back a grant of which the user was not told yet. The contender waits again. */
void uvzk__contender_ungrant(struct uvzk__contender *);

/* It is granted early: a znode of this client that was not deleted yet keeps others out.
 * The delete of that znode checks this contender's node (delete_batch.h). The second
 * function: that check has passed, or the hold has ended. */
void uvzk__contender_set_granted_early(struct uvzk__contender *);
void uvzk__contender_clear_granted_early(struct uvzk__contender *);

/* Ends the claim with this code, and withdraws the node. The contender may be freed when
 * this returns. */
void uvzk__contender_end(struct uvzk__contender *, int code);

/* The claim does not want the node any more: deletes it, or prevents its creation. The
 * contender may be freed when this returns. */
void uvzk__contender_withdraw(struct uvzk__contender *);

/* Its node, which is in BACKING_OFF or DELETING, sends no request for `ms` milliseconds.
 * Without memory for the timer the whole session pauses for 100 ms. */
void uvzk__contender_back_off(struct uvzk__contender *, uint64_t ms);

/* Sets its own watch anew in about a session timeout (watch_renewal.h). It must not be
 * backing off; if it backs off later, the renewal is dropped, because both share one
 * timer. False: out of memory, which cannot happen for a revocable contender. The
 * second function cancels the renewal. */
bool uvzk__contender_renew_watch_later(struct uvzk__contender *);
void uvzk__contender_cancel_watch_renewal(struct uvzk__contender *);

/* Another client deleted its node, according to the quorum: a hold is lost. A waiter or a
 * ticket creates a new node if the retry policy allows it.
 *
 * not_shown: only this session's server says so, by a reading that does not show the
 * node, or by a watch. Usually the node is gone. But if the server has diverged, the
 * node still exists on the other servers, and no contender would want it. So it is
 * also deleted as an orphan: the delete finds nothing, or shows that this server has
 * diverged (orphans.h). */
void uvzk__contender_missing(struct uvzk__contender *);
void uvzk__contender_not_shown(struct uvzk__contender *);

/* Call it after each event of its node: moves it to the right list of its queue,
 * reports to its claim, and sends what the node needs next. If the node is GONE, the
 * contender ends and may be freed. */
void uvzk__contender_update(struct uvzk__contender *);

/* The outcome of its create was UNKNOWN, and a listing shows the node, or shows that it
 * does not exist. */
void uvzk__contender_found(struct uvzk__contender *, int32_t sequence);
void uvzk__contender_absent(struct uvzk__contender *);

/* Ends with this code the wanted contenders of the directory that are unplaced and whose
 * nodes are in this state, or all its waiters. A contender whose node is UNKNOWN stays
 * until a search has decided whether the node exists, but its claim has ended. */
void uvzk__end_unplaced(struct uvzk__queue *, enum uvzk__node_state, int code);
void uvzk__end_waiters(struct uvzk__queue *, int code);

/* The session has ended, with this code. A persistent node outlives the session,
 * unless the code is UVZK_ECLOSED. */
void uvzk__contender_session_ended(struct uvzk__contender *, int code);

/* Requests a proof of its session and of its node (prover.h). False: no proof is
 * possible, because the session timeout is too short for the servers' tick. The
 * contender has then ended with UVZK_EPROOF, and may be freed. */
bool uvzk__contender_request_proof(struct uvzk__contender *);

/* The callbacks by which proof requests check contenders (proof_subject.h). */
extern const struct uvzk__proof_subject_kind uvzk__contender_proof_subjects;

/* Keeps the memory of an ended contender until the last reference is returned. */
void uvzk__contender_ref(struct uvzk__contender *);
void uvzk__contender_unref(struct uvzk__contender *);

#endif
