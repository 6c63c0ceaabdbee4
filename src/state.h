/* What lives behind the shells. One client owns everything below it:
 *
 *   client --- queues by path --- contenders in order
 *          |                          |
 *          \-- locks --- claims --- contenders
 *                          \------ acquisitions
 *
 * A claim is what one owner asks of one lock: the acquisitions (one, or several
 * of one owner) that are granted and lost together, and the contenders that this
 * takes. A contender is one znode of ours in a lock directory; it outlives its
 * acquisitions for as long as the znode may exist. A queue is the one view of a
 * lock directory that all its local contenders share. */
#ifndef UVZK_STATE_H
#define UVZK_STATE_H

#include "base/deadline.h"
#include "base/discipline.h"
#include "base/list.h"
#include "base/node_name.h"
#include "base/table.h"
#include "directory/node.h"
#include "engine/port.h"
#include "engine/session.h"
#include "engine/tuning.h"
#include "proof/proof.h"
#include "proof/witness.h"

struct uvzk__client;

/* Something to be done at a moment; due() runs inside a turn. */
struct uvzk__timed {
    struct uvzk__deadline deadline;
    void (*due)(struct uvzk__timed *);
};

/* Something to be told to the user at the end of a turn, and nowhere else.
 * deliver() may free what contains it. */
struct uvzk__telling {
    struct uvzk__link link;
    void (*deliver)(struct uvzk__telling *);
};

/* -------------------------------------------------------------- acquisition */

struct uvzk__acquisition {
    uvzk_acquire_t *shell;
    struct uvzk__claim *claim; /* NULL once it has nothing to do with it */
    struct uvzk__lock *lock;
    struct uvzk__link siblings; /* on claim->acquisitions */
    struct uvzk__link try_link; /* on client->tries, if tried once */
    struct uvzk__telling telling;
    struct uvzk__timed timeout;
    uvzk_acquire_cb acquire_cb;
    uvzk_lost_cb lost_cb;
    uvzk_queued_cb queued_cb; /* NULL once told or not wanted */
    uvzk_release_cb release_cb;
    uvzk_revoke_cb revoke_cb;
    uvzk_lost_cb losing; /* called at once, not told: the hold is over; or NULL */
    struct uvzk__telling revocation;
    uint32_t revocations; /* to be told */
    uint64_t ahead;       /* to be told with queued_cb; 0: nothing to tell */
    int status;           /* of the FINAL callback */
    uint8_t told;         /* enum uvzk__told, acquisition.h */
    bool try_once;
};

/* -------------------------------------------------------------------- claim */

struct uvzk__claim;
struct uvzk__contender;

/* What the contenders of a claim are to it; claim.c has the plain kind. */
struct uvzk__claim_kind {
    /* The contender holds its place in the directory, or no longer. */
    void (*granted)(struct uvzk__contender *);
    void (*ungranted)(struct uvzk__contender *);
    /* It is not wanted any more, whoever decided that. */
    void (*ended)(struct uvzk__contender *, int code);
    /* It wants its znode made. NULL: by a create of its own. */
    void (*create)(struct uvzk__contender *);
    /* Its znode is to be deleted: whether what stands at its path is certainly its own;
     * if not, the kind finds out, and pumps it. NULL: it is. */
    bool (*certain)(struct uvzk__contender *);
    /* Its node is gone for good, and this is how; it leaves the claim. May be NULL. */
    void (*retired)(struct uvzk__contender *, int status);
    /* Instead of contenders it has claims: the one of a member, NULL beyond the last or
     * if it does not hold. May be NULL. */
    const struct uvzk__claim *(*member)(const struct uvzk__claim *, uint32_t index);
    /* The claim is given up: whether the kind sees to what it has. May be NULL. */
    bool (*keep)(struct uvzk__claim *);
    /* The claim is freed: what the kind has put behind `extra`. May be NULL. */
    void (*freed)(struct uvzk__claim *);
};

struct uvzk__claim {
    const struct uvzk__claim_kind *kind;
    struct uvzk__client *client;
    struct uvzk__lock *lock; /* whose owner may re-enter; NULL if nobody may */
    const void *owner;
    UT_hash_handle by_owner;     /* in lock->owned */
    struct uvzk__link of_lock;   /* on lock->claims */
    struct uvzk__link unwinding; /* on client->unwinding */
    struct uvzk__link acquisitions;
    struct uvzk__link contenders;
    void *data; /* bytes of the znodes; NULL: the client's */
    size_t data_length;
    void *extra;              /* the kind's own */
    int64_t token;            /* of what is held */
    int release_status;       /* of the znodes that are gone: the first trouble */
    uint32_t pins;            /* it is not freed yet */
    uint32_t contender_count; /* not retired */
    uint32_t held_count;      /* of those, how many hold */
    bool held;                /* as a whole */
    bool given_up;            /* its acquisitions have been told, or wait for deletes */
    bool durable;             /* its znodes outlive the session, and so does its hold */
};

/* ---------------------------------------------------------------- contender */

struct uvzk__contender {
    struct uvzk__node node;
    struct uvzk__client *client;
    struct uvzk__queue *queue;
    struct uvzk__claim *claim;      /* NULL once it is over */
    struct uvzk__link in_claim;     /* on claim->contenders */
    struct uvzk__link everyone;     /* on client->contenders */
    struct uvzk__link in_queue;     /* on one of the queue's four lists */
    struct uvzk__witness witness;   /* of proofs, prover.h */
    struct uvzk__link doomed;       /* on client->doomed */
    struct uvzk__rpc rpc;           /* create, exists, the guard's get */
    struct uvzk__watch guard;       /* on its own node, guard.h */
    struct uvzk__timed second_look; /* at what the guard reads */
    struct uvzk__timed rest;        /* before a new node after a deletion by others,
 or a refused delete */
    const char *token;              /* of its name: "lock-", ... */
    char *path;                     /* prefix to create, then the node's full path */
    int64_t writer_czxid;   /* of its writer, whose number it has, downgrade.h; else 0 */
    uint64_t create_stamp;  /* client->stamp when the create was submitted */
    uint64_t seen_stamp;    /* of the last listing that shows the node */
    uint64_t vouched_stamp; /* of the request that has last shown it, guard.h */
    uint64_t departures;    /* queue->departures at that moment */
    uint64_t clear_stamp;   /* of the first listing that shows no foreigner before it
                               whom it has to wait for; 0: none has yet */
    uint64_t look_stamp;    /* of the last exists of the node, or guard's get */
    struct uvzk__acl acl;   /* of its create, acl.h */
    struct uvzk__queue *beside; /* a ticket's leases: they hear of it, and its delete
                                   checks what is on credit there; else NULL */
    uint64_t first_attempt_ms;  /* for the retry policy */
    uint32_t attempts;
    uint32_t pins;         /* requests under way that point here */
    uint32_t vouched;      /* client->settlings in which its node is known to stand */
    int64_t revoked_mzxid; /* of the last message that was told, revocation.h */
    uint8_t uuid[UVZK__UUID_BYTES];
    /* Our own last deletes of nodes before it, and of such as readers wait for, too, as
     * far as they matter to it, vouching.h. */
    uint64_t delete_stamp, exclusive_delete_stamp;
    uint8_t guarding; /* enum uvzk__guarding, guard.h */
    bool durable;     /* its node outlives the session */
    bool revocable;   /* its guard is always armed */
    bool ticket;      /* of a semaphore's claim: what it gets is not the hold */
    bool once;        /* never made anew: without its node the claim is over */
    bool shared;      /* a reader: it waits for nobody but writers */
    bool reigned;     /* it has held */
    bool covered;     /* everyone before it is in the queue's view */
    bool in_line;     /* it is on queue->members */
    bool held;
    bool on_credit;      /* granted while a writer of ours before it still stands */
    bool given_up;       /* its claim knows that it is not wanted */
    bool wants_position; /* counted in queue->positions_wanted */
    bool swept_alone;    /* its delete may not share a multi */
    bool ended;          /* freed as soon as nothing points here */
};

/* -------------------------------------------------------------------- queue */

/* A contender of another session, or of nobody we know. */
struct uvzk__foreigner {
    int32_t sequence;
    bool shared;
    char *name;
};

struct uvzk__queue {
    struct uvzk__client *client;
    UT_hash_handle hh; /* in client->queues, by key */
    char *key;         /* a letter for the discipline, then the path */
    const char *path;  /* of the lock directory, namespace included */
    const struct uvzk__directory_kind *kind; /* queue.h */
    void *extra;                             /* the kind's own */
    struct uvzk__link holders;               /* contenders that hold */
    struct uvzk__link members;      /* contenders that stand and wait, in order */
    struct uvzk__link leaving;      /* contenders to be deleted, in order */
    struct uvzk__link strangers;    /* contenders whose place is not known */
    struct uvzk__link dirty;        /* on client->dirty */
    struct uvzk__link behind_scout; /* on client->behind_scout, parents.c */
    struct uvzk__rpc rpc;           /* one request at a time, whatever it is */
    struct uvzk__watch watch;
    struct uvzk__timed rest;        /* before a failed request is repeated */
    struct uvzk__timed second_look; /* while the watch stands */
    char *watched;                  /* full path under watch, or being put under it */
    int32_t watched_sequence;
    bool watched_shared;
    char *parent;                       /* the path being made, while making parents */
    struct uvzk__acl parent_acl;        /* of that, acl.h */
    uint64_t newest_stamp;              /* of the latest create that asks for a listing */
    uint64_t asked_stamp;               /* client->stamp when the listing was submitted */
    uint64_t listed_stamp;              /* asked_stamp of the last listing that arrived */
    struct uvzk__foreigner *foreigners; /* up to the last member, in order */
    size_t foreigner_count;
    uint64_t foreign_children;       /* no contenders, in the last listing */
    size_t listed_count;             /* all children, in the last listing */
    uint64_t sweep_stamp;            /* the last sweep that guards this queue */
    uint64_t delete_stamp;           /* the last delete of a node of ours */
    uint64_t exclusive_delete_stamp; /* the last one that others had to wait for */
    uint64_t departures;             /* told of nodes that went by no delete of ours */
    uint64_t reign_stamp;            /* client->stamp when it came to be ours, leases.h */
    uint32_t contender_count;        /* not retired */
    uint32_t credits;                /* contenders on credit */
    uint32_t writers_held;           /* holders that are not shared */
    uint32_t positions_wanted;       /* contenders to be told their position */
    uint8_t doing;                   /* enum uvzk__queue_doing, queue.h */
    uint64_t foreign_leases;         /* in the last listing */
    bool crowded;                    /* the taker waits for others' leases to go */
    bool list_again;                 /* somebody in the view may have gone */
    bool fresh;      /* we have just made the directory: nobody is in it */
    bool unreadable; /* its nodes' ACL forbids to check that they stand */
    bool resting;    /* after a failed request */
};

/* --------------------------------------------------------------------- lock */

struct uvzk__lock {
    const struct uvzk__lock_kind *kind; /* lock.h */
    uvzk_lock_t *shell;
    struct uvzk__client *client;
    struct uvzk__link everyone;   /* on client->locks */
    struct uvzk__link claims;     /* not given up */
    struct uvzk__claim *owned;    /* uthash by owner */
    struct uvzk__telling telling; /* of its close */
    uvzk_lock_close_cb close_cb;
    char *path;          /* namespace included */
    void *extra;         /* the kind's own */
    uint64_t pins;       /* its close waits for them */
    uint64_t held_count; /* claims that hold */
    bool durable;        /* so are its claims */
    bool closing;
};

/* ------------------------------------------------------------------- client */

/* barrier.h; nobody else touches it. */
struct uvzk__barrier {
    struct uvzk__rpc rpc;
    uint64_t stamp; /* client->stamp of its submission */
    bool under_way;
    bool open;
};

struct uvzk__log { /* log.h */
    struct uvzk__telling telling;
    struct uvzk__link lines; /* that wait */
    size_t count, bytes;     /* of them */
    uint64_t dropped;        /* and not told of */
};

struct uvzk__client {
    uvzk_client_t *shell;
    struct uvzk__port *port;
    struct uvzk__port_user user;
    const struct uvzk__above *above; /* turn.h */
    unsigned tuning;

    uvzk_state_cb state_cb;
    uvzk_log_cb log_cb;
    uvzk_client_close_cb close_cb;
    uvzk_retry_policy_t retry;
    uint32_t close_wait_ms;
    char *ns; /* "" or "/ns" */
    void *default_data;
    size_t default_data_length;
    bool default_data_is_address;
    uvzk_acl_cb acl_cb;
    uvzk_acl_t *acl_entries;
    struct uvzk__acl acl;

    struct uvzk__log log;

    struct uvzk__session session;
    struct uvzk__barrier barrier;
    struct uvzk__proof proof;
    uint64_t opened_ms;
    uint32_t open_attempts;
    uint64_t open_since_ms;

    struct uvzk__queue *queues;     /* uthash by path */
    struct uvzk__replica *replicas; /* of shared values; uthash by path */
    struct uvzk__queue *scout;      /* goes ahead in a new place, parents.c */
    struct uvzk__link behind_scout;
    struct uvzk__link contenders, locks, dirty, tellings, tries;
    struct uvzk__link unwinding; /* claims whose contenders are to be withdrawn */
    const struct uvzk__witness_kind *witnesses;        /* prover.h */
    const struct uvzk__contender_user *contender_user; /* contender.h */
    struct uvzk__link held;       /* told or about to be told that they hold */
    struct uvzk__link candidates; /* first in line, waiting for a proof */
    struct uvzk__link doomed;     /* to be deleted */
    struct uvzk__deadlines deadlines;

    struct uvzk__timed reopen;      /* after a failed open */
    struct uvzk__timed lapse;       /* LOST by the clock */
    struct uvzk__timed expiry;      /* valid_until of what is held */
    struct uvzk__timed touch;       /* next proof, or touch of the session */
    struct uvzk__timed patience;    /* of close */
    struct uvzk__timed hold_back;   /* after the server refused by overload */
    struct uvzk__timed sweep_retry; /* after deletes found no memory */

    uint64_t stamp;           /* grows with each submission */
    uint64_t connected_stamp; /* stamp at the last CONNECTED */
    uint32_t settlings;       /* how often all touched queues have been settled */
    uint64_t node_bytes;
    uint64_t watch_bytes;
    uint64_t contender_count;
    uint64_t watch_count;
    uint64_t request_count, listing_count, proof_count;
    unsigned proofs_under_way;
    unsigned sweeps_under_way;
    bool containers; /* until a server says that it has none */
    bool started, auth_failed, holding_back;
    bool given_up; /* the session, without a word of the servers */
    bool closing, port_closing;
};

#endif
