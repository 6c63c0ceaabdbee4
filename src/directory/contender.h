/* One znode of ours in a lock directory: drives its node machine, keeps its place
 * in the queue, and tells its claim what becomes of it. */
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

/* Where it stands, which is on one of its queue's lists (queue.h); drawn in
 * docs/machines.md. */
enum uvzk__contender_state {
    UVZK__CONTENDER_UNPLACED, /* its place is not known */
    UVZK__CONTENDER_WAITING,  /* it stands and waits */
    UVZK__CONTENDER_HOLDING,
    UVZK__CONTENDER_DELETING, /* it is being deleted */
    UVZK__CONTENDER_GONE
};

/* Of a directory, which keeps them for its contenders. */
struct uvzk__contender_counts {
    uint32_t contenders;       /* not retired */
    uint32_t early_grants;     /* contenders granted early */
    uint32_t writers_held;     /* holders that are not shared */
    uint32_t positions_wanted; /* contenders to be told their position */
    uint32_t asking; /* unplaced contenders whose directory has to be made, or listed */
};

/* How many there are. */
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
        struct uvzk__queue *queue;
        struct uvzk__session *session; /* once it has ended, queue.h */
    };
    struct uvzk__claim *claim;    /* NULL once it is over, of an orphan (orphans.h)
                                 * and of one that may not be deleted */
    struct uvzk__link in_claim;   /* on claim->contenders */
    struct uvzk__link in_session; /* of the client's contenders */
    struct uvzk__link in_queue;   /* on one of the queue's four lists */
    union {
        struct uvzk__proof_subject
            proof_subject;          /* while it stands: of proofs, prover.h */
        struct uvzk__link in_batch; /* before and after that: of those to be made,
                                         create_batch.h; or deleted, delete_batch.h */
    };
    struct uvzk__own_watch own_watch; /* a watch on its own node */
    struct uvzk__contender_timer
        *timer;              /* what those who rest need, contender.c; or NULL */
    const char *name_prefix; /* of its name: "lock-", ... */
    union {
        int64_t
            writer_czxid; /* a reader's: of its writer, whose number it has, downgrade.h;
                                 else 0 */
        struct uvzk__queue *leases; /* a ticket's: they hear of it, and its delete checks
                                       what is granted early there */
    };
    uint64_t create_stamp;    /* the stamp when the create was submitted */
    uint64_t listed_stamp;    /* of the last listing that shows the node */
    uint64_t unblocked_stamp; /* of the first listing that shows no foreign node before it
                               whom it has to wait for; 0: none has yet */
    uint64_t read_stamp;      /* of the last exists of the node, or guard's get */
    uint64_t first_attempt_ms; /* for the retry policy */
    uint32_t attempts;
    uint32_t refs; /* requests under way that point here */
    struct uvzk__last_seen last_seen;
    uint8_t state;        /* enum uvzk__contender_state */
    bool persistent : 1;  /* its node outlives the session */
    bool revocable : 1;   /* its own watch is always armed */
    bool ticket : 1;      /* of a semaphore's claim: what it gets is not the hold */
    bool no_recreate : 1; /* never made anew: without its node the claim is over */
    bool shared : 1;      /* a reader: it waits for nobody but writers */
    bool has_held : 1;    /* it has held */
    bool predecessors_known : 1; /* everyone before it is in the queue's view */
    bool held : 1;
    bool granted_early : 1;  /* granted while a writer of ours before it still stands */
    bool given_up : 1;       /* its claim knows that it is not wanted */
    bool wants_position : 1; /* counted in queue->counts.positions_wanted */
    bool counted_asking : 1; /* counted in queue->counts.asking */
    bool create_alone : 1;   /* its create may not share a multi */
    bool
        suspect_no_directory : 1; /* it was in a multi of which a directory was missing */
    bool delete_alone : 1;        /* its delete may not share a multi */
    bool unchecked : 1;           /* its ACL forbids to check that it stands */
    bool fixed_name : 1;          /* others' znodes may have its name */
    bool undeletable : 1; /* its delete was refused: it has no claim, undeletable.h */
    bool orphan : 1;      /* an orphan: it has none either, orphans.h */
    bool ended : 1;       /* freed as soon as nothing points here */
    bool not_shown : 1;   /* an orphan that its own server does not show, orphans.h */
    char path[];          /* prefix to create, then the node's full path */
};

extern const struct uvzk__machine uvzk__contender_machine;

/* What contenders are for: each is its claim's, which is told, and asked. */
struct uvzk__contender_user {
    /* It is new. */
    void (*added)(struct uvzk__contender *);
    /* It holds its place in the directory; or does not any more, for whatever reason. */
    void (*granted)(struct uvzk__contender *);
    void (*hold_ended)(struct uvzk__contender *);
    /* It waits again, for it has lost that before anybody was told. */
    void (*ungranted)(struct uvzk__contender *);
    /* It is not wanted any more, whoever decided that. */
    void (*ended)(struct uvzk__contender *, int code);
    /* It is undeletable, and goes on without a claim. */
    void (*undeletable)(struct uvzk__contender *);
    /* It is over: its node is gone for good, or will never be heard of. */
    void (*over)(struct uvzk__contender *);
    /* It wants its znode made: now, or soon. */
    void (*create)(struct uvzk__contender *);
    /* Its znode is to be deleted: whether what stands at its path is certainly its own;
     * and may be deleted now; if not, that is found out, and it is pumped. */
    bool (*may_delete)(struct uvzk__contender *);
    /* Whether anybody has been told that it holds. */
    bool (*grant_notified)(const struct uvzk__contender *);
    /* So many stand before it. */
    void (*queued)(struct uvzk__contender *, uint64_t ahead);
    /* Whether anybody has tried once, and has not had his answer. */
    bool (*any_try_once)(const struct uvzk__session *);
    /* It has to wait: whoever has tried once has had his answer. */
    void (*has_to_wait)(struct uvzk__contender *);
    /* The own watch has read its znode. */
    void (*own_node_read)(struct uvzk__contender *, const struct uvzk__reply *);
    /* What its znode is to say; NULL: nothing of its own. */
    void (*data)(const struct uvzk__contender *, const void **data, size_t *length);
};

/* A new contender of the claim, with a name of this token, which is not copied;
 * pump it when the claim is ready. *out is set only at 0. UV_ENOMEM, UVZK_ELIMIT,
 * UV_EIO (no random bytes). */
int uvzk__contender_new(struct uvzk__claim *, struct uvzk__queue *,
                        const char *name_prefix, struct uvzk__contender **out);

/* A znode of ours that nobody wants, and none of ours has: it leaves, and is deleted. NULL:
 * out of memory. */
struct uvzk__contender *uvzk__contender_new_orphan(struct uvzk__queue *, const char *name,
                                                   struct uvzk__place, bool shared);
static inline bool uvzk__contender_is_orphan(const struct uvzk__contender *contender)
{
    return contender->orphan;
}

/* Its claim wants to be told how many stand before it; or no longer, whether or not it
 * did. */
void uvzk__contender_want_position(struct uvzk__contender *);
void uvzk__contender_want_no_position(struct uvzk__contender *);

/* The bytes of its node. */
void uvzk__contender_data(const struct uvzk__contender *, const void **data,
                          size_t *length);

/* The ACL of its node, as uvzk__acl_of says. */
const struct uvzk__acl *uvzk__contender_acl(struct uvzk__contender *,
                                            struct uvzk__acl *storage);

/* The UUID in its name, as text; not of one with a fixed name. */
const char *uvzk__contender_uuid(const struct uvzk__contender *);

/* The parts of a create: a fresh name (UV_EIO: no random bytes), the number in it,
 * the request. */
int uvzk__contender_new_name(struct uvzk__contender *);
void uvzk__contender_set_sequence(struct uvzk__contender *, int32_t sequence);
void uvzk__contender_create(struct uvzk__contender *);

/* The same as an op of a multi; storage: of its ACL. */
void uvzk__contender_create_op(struct uvzk__contender *, struct uvzk__op *,
                               struct uvzk__acl *storage);

/* An op that fails unless its node stands. Its path is borrowed. */
void uvzk__contender_check_op(const struct uvzk__contender *, struct uvzk__op *);

/* A request that makes its node has just been submitted, and: its reply has come.
 * path: of the node made; czxid: 0 if it is not known yet. Both for status 0 only. */
void uvzk__contender_create_sent(struct uvzk__contender *);
void uvzk__contender_create_answered(struct uvzk__contender *, int status,
                                     const char *path, int64_t czxid);

/* The same of a request behind which no listing leaves in the pipeline: its reply says
 * whether one is needed. */
void uvzk__contender_create_sent_unlisted(struct uvzk__contender *);

/* It has been made together with others, and of one of them the czxid is asked for; and
 * the answer (uvzk__node_identified). shown: the stamp of a request that has shown its
 * node, 0: none has. */
void uvzk__contender_create_batch_answered(struct uvzk__contender *, const char *path);
void uvzk__contender_identified(struct uvzk__contender *, int status, int64_t czxid,
                                bool ours, uint64_t shown);

/* The second of a multi's op i of so many; czxid: of all that it made, 0 if it is not
 * known yet. */
void uvzk__contender_create_op_answered(struct uvzk__contender *,
                                        const struct uvzk__reply *, size_t i,
                                        size_t count, int64_t czxid);

/* Whether it has its writer's number: it waits for nobody. */
static inline bool uvzk__contender_downgraded(const struct uvzk__contender *contender)
{
    return contender->shared && contender->writer_czxid != 0;
}

/* The leases' directory of a ticket; NULL: it is none. */
static inline struct uvzk__queue *
uvzk__contender_leases(const struct uvzk__contender *contender)
{
    return contender->ticket ? contender->leases : NULL;
}

/* ------------------------------------------------------ what it is, from its birth on */

/* Its claim; NULL once it is over. */
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

/* writer_czxid: of its writer's znode; 0 if it has none, or no longer. */
static inline void uvzk__contender_set_reader(struct uvzk__contender *contender,
                                              int64_t writer_czxid)
{
    contender->shared = true;
    contender->writer_czxid = writer_czxid;
}

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

/* From now on; or it may be again. */
static inline void uvzk__contender_forbid_recreate(struct uvzk__contender *contender)
{
    contender->no_recreate = true;
}
static inline void uvzk__contender_allow_recreate(struct uvzk__contender *contender)
{
    contender->no_recreate = false;
}

/* 0 or UV_ENOMEM. */
int uvzk__contender_make_revocable(struct uvzk__contender *);

/* ---------------------------------------------------------------- what befalls it */

/* A request that makes its node has this stamp. */
static inline void uvzk__contender_set_create_stamp(struct uvzk__contender *contender,
                                                    uint64_t stamp)
{
    contender->create_stamp = stamp;
}

/* Everyone before it is in the view. */
static inline void
uvzk__contender_set_predecessors_known(struct uvzk__contender *contender)
{
    contender->predecessors_known = true;
}

/* Not any more. */
static inline void
uvzk__contender_clear_predecessors_known(struct uvzk__contender *contender)
{
    contender->predecessors_known = false;
}

/* A listing of this stamp shows it, and everyone before it. */
static inline void uvzk__contender_set_listed(struct uvzk__contender *contender,
                                              uint64_t stamp)
{
    contender->predecessors_known = true;
    contender->listed_stamp = stamp;
}

/* What has this stamp shows no foreign node before it; only the first one counts. */
static inline void uvzk__contender_set_unblocked(struct uvzk__contender *contender,
                                                 uint64_t stamp)
{
    if (contender->unblocked_stamp == 0) {
        contender->unblocked_stamp = stamp;
    }
}

/* A reading of its node leaves with this stamp. */
static inline void uvzk__contender_set_read_stamp(struct uvzk__contender *contender,
                                                  uint64_t stamp)
{
    contender->read_stamp = stamp;
}

/* One that is revocable: whether it has not been told yet of the revocation with this
 * mzxid. It is now. */
bool uvzk__contender_is_new_revocation(struct uvzk__contender *, int64_t mzxid);

/* It is granted what nobody else can have held meanwhile (next_holder.h). */
static inline void uvzk__contender_set_has_held(struct uvzk__contender *contender)
{
    contender->has_held = true;
}

/* Its create may not share a multi, from now on. */
static inline void uvzk__contender_set_create_alone(struct uvzk__contender *contender)
{
    contender->create_alone = true;
}

/* Its directory may be missing, but nobody has said so. Believed once. */
static inline void uvzk__contender_suspect_no_directory(struct uvzk__contender *contender)
{
    contender->suspect_no_directory = true;
}

/* Whether its delete may share a multi. */
static inline void uvzk__contender_set_delete_alone(struct uvzk__contender *contender,
                                                    bool alone)
{
    contender->delete_alone = alone;
}

/* A check that it stands was refused for lack of READ. */
static inline void uvzk__contender_is_unchecked(struct uvzk__contender *contender)
{
    contender->unchecked = true;
}

/* Its delete was refused for lack of DELETE, and is tried again; or not any more. */
static inline void uvzk__contender_set_undeletable(struct uvzk__contender *contender,
                                                   bool undeletable)
{
    contender->undeletable = undeletable;
}

/* It is on this list of its queue now. */
void uvzk__contender_set_state(struct uvzk__contender *, enum uvzk__contender_state);

/* Submits what its node needs, if it can be submitted now. */
void uvzk__contender_pump(struct uvzk__contender *);
void uvzk__contenders_pump(struct uvzk__session *);

/* For each of the client's; the one at hand may be freed by it. */
void uvzk__for_each_contender(struct uvzk__session *,
                              void (*act)(struct uvzk__contender *, int), int code);

/* Nobody is before it that it has to wait for, and the session is proved. */
void uvzk__contender_grant(struct uvzk__contender *);

/* The grant came too late to be told: it is a waiter again. */
void uvzk__contender_ungrant(struct uvzk__contender *);

/* It holds, but only for as long as what our own writer before it left behind still
 * stands; delete_batch.h deletes that together with a check of this one. */
void uvzk__contender_set_granted_early(struct uvzk__contender *);
void uvzk__contender_clear_granted_early(struct uvzk__contender *);

/* Withdraws the node; the claim ends with this code. */
void uvzk__contender_end(struct uvzk__contender *, int code);

/* The claim has let go: withdraws the node. */
void uvzk__contender_withdraw(struct uvzk__contender *);

/* Nothing is asked of the server about its node, which is BACKING_OFF or DELETING, for
 * so long. */
void uvzk__contender_back_off(struct uvzk__contender *, uint64_t ms);

/* It does not rest: its own watch looks again in about a session timeout (watch_renewal.h),
 * unless it comes to rest before; or not any more. False: out of memory, and that it does
 * not; not of one that is revocable. */
bool uvzk__contender_renew_watch_later(struct uvzk__contender *);
void uvzk__contender_cancel_watch_renewal(struct uvzk__contender *);

/* Somebody deleted its node, as the quorum knows. And: a reading does not show it, or
 * its server tells a watch of that. Most likely that is the same; but it may stand
 * where the others are, and nobody would want it any more. So it is deleted besides:
 * nothing is found, or this server has diverged (orphans.h). */
void uvzk__contender_missing(struct uvzk__contender *);
void uvzk__contender_not_shown(struct uvzk__contender *);

/* After each step of its node: moves it in its queue, tells its claim,
 * and frees it when it is over. The contender may be gone afterwards. */
void uvzk__contender_update(struct uvzk__contender *);

/* A listing shows the node of its lost create, or proves that there is none. */
void uvzk__contender_found(struct uvzk__contender *, int32_t sequence);
void uvzk__contender_absent(struct uvzk__contender *);

/* Ends the unplaced contenders in this state, or the members, which all wait, with
 * this code. An UNKNOWN one stays until it has been searched for, but nobody waits for
 * it any more. */
void uvzk__end_unplaced(struct uvzk__queue *, enum uvzk__node_state, int code);
void uvzk__end_waiters(struct uvzk__queue *, int code);

/* The session has ended. */
void uvzk__contender_session_ended(struct uvzk__contender *, int code);

/* It needs a proof, of its session or of its znode (prover.h). False: none can ever come,
 * the session being too short for the servers' tick; it has ended with UVZK_EPROOF, and may
 * be gone. */
bool uvzk__contender_request_proof(struct uvzk__contender *);

/* What proofs do with a client's contenders. */
extern const struct uvzk__proof_subject_kind uvzk__contender_proof_subjects;

void uvzk__contender_ref(struct uvzk__contender *);
void uvzk__contender_unref(struct uvzk__contender *);

#endif
