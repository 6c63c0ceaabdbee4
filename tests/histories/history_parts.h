/* SPDX-License-Identifier: Apache-2.0 */
/* What a history consists of:
 *
 *   history --- seats: processes, each a client
 *               |--- places: the locks of one path, as this client has them
 *               \--- actors, each an owner
 *                      \--- tickets: one acquire each, from the wish to the end
 *
 * A recipe says which locks a place has, who asks for what, and who may hold
 * together. */
#ifndef UVZK_HISTORY_PARTS_H
#define UVZK_HISTORY_PARTS_H

#include "history.h"
#include "history_foreign_clients.h"
#include "history_strikes.h"
#include "request_rate.h"
#include "seeded.h"
#include "sim.h"
#include "uvzk.h"

#define CLIENTS_MAX 6
#define WORKERS_MAX 5
#define ACQUISITIONS_MAX 3
#define PATHS_MAX 3
#define MULTIS_MAX 6
#define SESSIONS_MAX 3
#define LOCKS_MAX (2 + MULTIS_MAX)
#define LEASES_MOST 6U /* of a semaphore */

/* Of a history with cohorts: so often, and so long. */
#define COHORT_HANDOVERS 3U
#define COHORT_MS 6000U

struct history;
struct client_slot;
struct actor;

enum ticket_state { IDLE, ASKING, HOLDING, RELEASING };

/* What a ticket is about on one path. */
enum kind {
    EXCLUSIVE, /* nobody else holds beside it */
    SHARED,    /* others of this kind do */
    LEASES     /* some of a number of leases */
};

struct share {
    struct acquisition *acquisition;
    int path;
    enum kind kind;
    uint32_t leases;
    int64_t token;   /* of the hold; 0: not to be compared */
    uint32_t cohort; /* which of those with this token it is, of one znode; 0: no other */
    int64_t joined;  /* of a hold of the same owner that it may be one with; else 0 */
    int64_t before;  /* the greatest token granted before it was asked for */
};

struct acquisition {
    struct actor *worker;
    uvzk_hold_t *request;        /* freed and made anew for each acquire */
    struct by_future *by_future; /* it acquires so, and the hold is there; or NULL */
    enum ticket_state state;
    int path, lock; /* which lock of which place */
    void *owner;    /* the actor, or NULL */
    struct share shares[PATHS_MAX];
    int share_count;
    uint64_t ended_ms; /* when it was no longer valid; UINT64_MAX: it is */
    uint64_t seen_ms;  /* when it was last seen to be valid */
    uint64_t next_ms;  /* when to do the next thing */
    bool in_turn;      /* what it has of several locks may be lost before it has all */
    bool cancelled;
    bool limited;   /* it does not wait for ever */
    bool must_fail; /* it must end without a grant, or as lost */
    bool revocable;
    bool told_early;   /* it has been told that others want its znode, while it waited */
    int64_t wanted;    /* the czxid of the znode that others want, as it was told */
    int32_t revoked;   /* ... so often */
    uint64_t asked_ms; /* others were first seen to want it; 0: they do not */
    uint64_t max_hold_ms; /* 0: none */
    uint64_t granted_ms;  /* by its client's clock */
    bool warned;          /* that the end of its time is near */
};

struct actor {
    struct history *history;
    struct client_slot *slot;
    struct acquisition
        acquisitions[ACQUISITIONS_MAX]; /* the others on top of the first */
};

struct path_locks {
    struct client_slot *slot;
    union {
        uvzk_mutex_t mutex;
        uvzk_rwlock_t rwlock;
        uvzk_semaphore_t semaphore;
        struct {
            uvzk_mutex_t mutex;
            uvzk_rwlock_t rwlock;
            uvzk_semaphore_mutex_t semaphore;
        } mixed;
    } as;
    bool closing[LOCKS_MAX]; /* or closed */
    int open_count;          /* 0: made anew at open_ms */
    uint64_t open_ms;
};

/* The shared count of a semaphore, as one client knows it. */
struct known_count {
    uvzk_shared_count_t count;
    struct client_slot *slot;
    int path;
    int32_t value;        /* 0: not known yet */
    uint64_t excess_most; /* so many leases, once: granted while it was lowered */
};

/* Closed and opened anew at times. */
struct client_slot {
    struct history *history;
    int number;
    struct uvzk__port *port; /* of its first session; NULL once closed */
    struct uvzk__port *ports[SESSIONS_MAX];
    int sessions;
    uvzk_client_t *client;
    struct path_locks path_locks[PATHS_MAX];
    struct known_count counts[PATHS_MAX];
    uvzk_multilock_t multis[MULTIS_MAX];
    struct actor workers[WORKERS_MAX];
    uint64_t reopen_ms;   /* when closed */
    uint64_t together_ms; /* when its actors ask together; where there are `several` */
    unsigned openings;
    uint64_t struck_until_ms[PATHS_MAX]; /* node_deleter_has_struck */
    /* A hold may be handed on behind one whose znode no watch told of (A8). */
    uint64_t untold_until_ms[PATHS_MAX];
    struct request_rate request_rates[SESSIONS_MAX];
    bool closing;
};

/* Who holds validly on a path at one instant. */
struct tally {
    const struct share *exclusive;
    const struct share *shared[2]; /* one, and one that is another hold */
    uint64_t leases, untold;       /* of these, by who may not know of others */
};

struct history {
    struct sim *sim;
    const struct history_options *options;
    const struct recipe *recipe;
    struct history_result *result;
    struct client_slot slots[CLIENTS_MAX];
    struct foreign_clients *foreign_clients; /* NULL: none */
    struct tally tallies[PATHS_MAX];
    int slot_count, worker_count, path_count;
    int64_t last_token[PATHS_MAX];                   /* the greatest granted */
    int64_t last_leases[PATHS_MAX][LEASES_MOST + 1]; /* to who asked for so many */
    int64_t last_exclusive[PATHS_MAX]; /* of those that nobody holds beside */
    uint32_t last_cohort[PATHS_MAX];   /* of the one with the greatest token */
    uint32_t timeout_ms, tick_ms;
    bool slow_links;
    bool watches_stay; /* at the servers, although no client wants them any more */
    /* A create of a session that the client has given up may still be carried out. A
     * persistent znode is then nobody's, and blocks its lock: no path has any. */
    bool creates_come_late;
    uint64_t next_delete_ms[PATHS_MAX]; /* when the node deleter strikes next */
    uint64_t readers;                   /* of a hundred wishes, where there are any */
    uint32_t max_leases[PATHS_MAX];     /* 0: a shared count says it */
    bool in_turn;                       /* all multi locks are acquired in turn */
    bool mutexes;                       /* ... and all their members are mutexes */
    unsigned persistent; /* ... and on these paths they have persistent znodes: bits */
    bool leaders_lose_nothing; /* no leader forgets anything */
    bool deletes_first_waiter; /* vandals delete the first in line, too */
    uint64_t end_ms;           /* no new acquires from here on */
    uint64_t told_within_ms;
    bool pauses;         /* processes and loops stop at times */
    uint32_t proof;      /* uvzk_proof_t; without any, nobody is safe */
    bool deletes_nodes;  /* somebody deletes the nodes of waiters by hand */
    bool operator_kills; /* an operator ends sessions before their time */
    bool lock_closings;  /* locks are closed at times */
    bool cohorts;        /* clients with an even number hand a mutex's znode on */
    unsigned kinds;      /* enum history_kind */
    bool near_servers;   /* the servers are near: what spins, spins fast */
    bool hold_limits;    /* some holds are given back by themselves */
    bool several;        /* each actor has a path of its own */
    struct seeded several_random;
    struct strikes strikes;
    struct seeded limit_random;
    bool failed;
};

struct recipe {
    const char *name;
    uint32_t active_ms; /* how long actors begin new acquires */
    bool unnumbered;    /* its znodes have no sequence numbers */
    bool revocable;     /* its holds may be asked for */
    bool struck;        /* znodes are deleted by hand at any moment (history_strikes.h) */
    bool struck_holders; /* ... also those of holders */
    bool mixed_kinds;    /* of locks, and its clients refuse the later one */
    bool many_hold;      /* as many of the first in order as there are leases */
    int lock_count;      /* of a place, to be closed at times */
    int acquisition_count;
    /* Returns true if its locks have room in other sessions than their path's home. NULL:
     * no. */
    bool (*overflows)(const struct history *);
    /* Directories of znodes below this path, "" for itself; waiters queue in the
     * first. Ends with NULL. */
    const char *const *(*directories)(const struct history *, int path);
    /* What other libraries' clients ask for on a path: BIT_OF(enum foreign_lock), 0:
     * nothing. NULL: there are none. */
    unsigned (*foreign_locks)(const struct history *, int path);
    /* Of a new history, before it has seats. May be NULL. */
    void (*prepare)(struct history *);
    /* Makes the locks of a place, and of the seat when all its places have theirs
     * (may be NULL); 0 or an error. */
    int (*open)(struct path_locks *, int path);
    int (*open_seat)(struct client_slot *);
    uvzk_lock_t *(*handle)(struct path_locks *, int lock);
    /* What the first ticket of an actor without any asks for: path, lock, shares;
     * options: owner, leases. */
    void (*choose_acquire)(struct acquisition *, uvzk_acquire_options_t *);
    /* What one more ticket asks for, where another one waits or holds; false: not
     * now. */
    bool (*choose_another)(struct acquisition *, uvzk_acquire_options_t *);
    /* Now and then, all may be NULL: an actor asks for what must be refused at once; a
     * holder does something else than to release, and has (true); a seat; the
     * history, when nobody asks any more. */
    void (*try_refused)(struct actor *);
    bool (*while_held)(struct acquisition *);
    void (*client_slot_step)(struct client_slot *);
    void (*ending)(struct history *);
    /* The ticket was granted: its shares' tokens, if they are not all the hold's, and
     * what else there is to check. May be NULL. */
    void (*granted)(struct acquisition *);
    void (*released)(struct acquisition *); /* may be NULL */
    const char *(*unseen)(const struct history_result *);
};

extern const char *const history_paths[PATHS_MAX];

/* The history has failed; only the first failure is kept. */
void history_fail(struct history *history, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline uint64_t chance(struct history *history, uint64_t n)
{
    return sim_random(history->sim, n);
}

static inline int some_path(struct history *history)
{
    return (int)chance(history, (uint64_t)history->path_count);
}

/* Which path a ticket is to be about. */
static inline int some_path_for(const struct acquisition *acquisition)
{
    const struct actor *worker = acquisition->worker;

    return worker->history->several
               ? (int)(worker - worker->slot->workers) % worker->history->path_count
               : some_path(worker->history);
}

static inline const char *path_of(const struct acquisition *acquisition)
{
    return history_paths[acquisition->path];
}

uvzk_lock_t *lock_of(struct acquisition *acquisition);

/* The ticket is about this path, too. */
void acquisition_add(struct acquisition *acquisition, int path, enum kind kind,
                     uint32_t leases);
/* ... and about nothing else: a lock of that place. */
void acquisition_set(struct acquisition *acquisition, int path, int lock, enum kind kind,
                     uint32_t leases);

/* The tokens of its holds are not compared: for recipe.granted. */
void acquisition_without_token(struct acquisition *acquisition);

/* Of recipes with one lock at a place. */
uvzk_lock_t *only_lock(struct path_locks *, int lock);
/* Of recipes whose znodes stand below the path itself. */
/* Of recipes whose locks are mutexes. */
bool mutexes_overflow(const struct history *);
const char *const *no_directory_below(const struct history *, int path);
unsigned foreign_mutexes(const struct history *, int path);
extern const char *const semaphore_directories[];

/* ------------------------------------------------------------ history_client_slot.c */

void client_slot_open(struct client_slot *slot);
void client_slot_close(struct client_slot *slot);
/* Credentials were refused to one of its sessions; all of them live, as the servers see
 * it. */
bool client_slot_auth_failed(const struct client_slot *slot);
bool client_slot_is_alive(const struct client_slot *slot);
/* Returns true if what it holds lives in another session than the lock's home. */
bool client_slot_has_remote_hold(const uvzk_hold_t *hold);
/* Nothing ever did, though it might have. */
bool client_slot_no_remote_hold(const struct history_result *sum);
/* One of the locks, at random, while the client goes on. */
void client_slot_close_a_lock(struct client_slot *slot);
/* Makes the locks anew that have been closed. */
void client_slot_reopen_locks(struct client_slot *slot);

/* ----------------------------------------------------------- history_worker.c */

void worker_begin(struct actor *worker, struct client_slot *slot);
/* Does what is due. */
void worker_act(struct actor *worker);
/* Its client closes: it does nothing more. */
void worker_stop(struct actor *worker);
bool worker_idle(const struct actor *worker);
/* What a ticket is told of its acquire, by whatever way. */
void acquisition_answered(struct acquisition *acquisition, int status);
void acquisition_lost(struct acquisition *acquisition, int reason);
void acquisition_released(struct acquisition *acquisition, int status);
/* Nothing more is told of it. */
void acquisition_over(struct acquisition *acquisition);

/* Another ticket of the actor, and owned by it, in one of these states (BIT_OF); or
 * NULL. */
#define BIT_OF(state) (1U << (state))
struct acquisition *worker_other(struct acquisition *acquisition, unsigned states);
/* The token of a hold of its owner that the share may be one with: of any, or with
 * this very token. 0: there is none. */
int64_t worker_joins(const struct share *share, int64_t token);

/* ---------------------------------------------------------- history_future.c */

/* What uvzk_lock_acquire says. The ticket's by_future is there if that is 0. */
int by_future_acquire(struct acquisition *acquisition,
                      const uvzk_acquire_options_t *options);
/* Gives up: the ticket will be answered, or it is over. False: it is done already, and will
 * be answered so: its session's turn was before that of the future's. */
bool by_future_give_up(struct acquisition *acquisition);
/* Releases: the ticket will be told, or it is over. */
void by_future_release(struct acquisition *acquisition);
void by_future_free(struct acquisition *acquisition);

/* ---------------------------------------------------------- history_checks.c */

/* In histories where an operator ends sessions early a hold ends with its session,
 * told or not: nothing can protect it. */
bool acquisition_killed(const struct acquisition *acquisition);

/* After every event. */
void check_holds(struct history *history);
/* Counts in what somebody holds validly. */
void check_share(struct history *history, const struct share *share);

/* At a grant. Of what is shared the token is greater than every exclusive one granted
 * before, else than every one; but either may be one with a hold of its own owner that
 * nobody has come behind. */
void check_token(const struct share *share);

/* Valid leases on a path now, but not those of this ticket. */
uint64_t count_leases(const struct history *history, int path,
                      const struct acquisition *but);

/* What may end an acquire in these histories, and nothing else. */
void check_refusal(const struct acquisition *acquisition, int status);

/* At the end. */
void check_residue(struct history *history);

/* ------------------------------------------------------ history_counters.c */

/* Brings a directory's counter near its end, at times. */
void counters_step(struct history *history);

/* ------------------------------------------------------ history_operator.c */

/* What the client's persistent znodes say, so that the operator knows them. */
#define TAG_SIZE 32
void operator_tag(const struct client_slot *slot, char tag[TAG_SIZE]);
/* Deletes the persistent znodes of clients that are closed. */
void operator_step(struct history *history);

/* ---------------------------------------------------- history_revocation.c */

/* The ticket is about to ask; it may be that it is to be told who wants it. */
void revocation_choose(struct acquisition *acquisition, uvzk_acquire_options_t *options);
/* Somebody asks for a znode in a lock's directory, at times. */
void revocation_step(struct client_slot *slot);
/* Who holds and is asked for has been told. */
void check_revocations(struct client_slot *slot);

/* -------------------------------------------------------- history_hold_limit.c */

void hold_limits_begin(struct history *history, uint64_t seed);
/* The ticket is about to ask; it was granted; it is lost. */
void hold_limit_choose(struct acquisition *acquisition, uvzk_acquire_options_t *options);
void hold_limit_granted(struct acquisition *acquisition);
void hold_limit_lost(const struct acquisition *acquisition, int reason);
/* Returns true if an acquire may end with UVZK_EMAXHOLD. */
bool hold_limit_may_refuse(const struct acquisition *acquisition);

/* -------------------------------------------------------- history_requests.c */

/* Of a client that has just been made; and now and then. */
void requests_begin(struct client_slot *slot);
void requests_check(struct client_slot *slot);

/* ---------------------------------------------------------- history_node_deleter.c */

/* Deletes the znode of somebody who waits, at times. */
void node_deleter_step(struct history *history);
/* Somebody lets go of a hold on this path. */
void node_deleter_sees_release(struct history *history, int path);
/* Of a new history, whose paths are known: strikes where its seed does. And: whether the
 * znode of a holder of this client has been deleted on this path lately. */
void node_deleter_begin(struct history *history, uint64_t seed);
bool node_deleter_has_struck(const struct share *share);

#endif
