/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's own structures, and the functions that its files share:
 *
 *   sim.c          events, time, the trace        sim_random.c   the generator
 *   sim_tree.c     znodes; knows neither watches nor sessions
 *   sim_txn.c      transactions: what has been committed
 *   sim_member.c   the servers: which transactions each of them has applied
 *   sim_election.c which server leads; an old leader that is cut off
 *   sim_diverged.c servers that show deleted znodes, or lack existing ones
 *   sim_watch.c, sim_session.c, sim_server.c      what a server does with each
 *                  request                        (knows trees and links)
 *   sim_inspect.c  a test's questions to the servers, and an operator's changes
 *   sim_link.c     a connection: two queues of messages, cuts   (knows both ends)
 *   sim_io.c       the client's I/O thread        (knows its link)
 *   sim_port.c     the client's loop: port.h      (knows its I/O)
 *   sim_clock.c    the client's clock
 *   sim_faults.c   faults, called by tests or at random
 *   sim_rights.c   permissions that are missing for a time
 *
 * A request is copied when it is submitted, because the server may execute it after the
 * caller has got the memory of its rpc back. An answer, with all that it points to,
 * exists from the server's decision until the client's callback has returned. */
#ifndef UVZK_SIM_INTERNAL_H
#define UVZK_SIM_INTERNAL_H

#include "base/list.h"
#include "sim.h"

#include <uthash.h>

struct sim__client;
struct sim__link;
struct sim__member;
struct sim__session;

/* ------------------------------------------------------------------- events */

/* Something that happens at a point in virtual time. It is a member of the struct that
 * waits for it. Events are ordered by (at, tie, order). */
struct sim__event {
    uint64_t at;    /* ms */
    uint64_t tie;   /* 0, or random if ties are shuffled */
    uint64_t order; /* of insertion */
    size_t place;   /* in the heap, from 1; 0: not set */
    void (*fire)(struct sim *sim, struct sim__event *event);
};

#define SIM__NEVER UINT64_MAX

/* Sets the event, or moves it if it is set. A time in the past means now; SIM__NEVER
 * clears the event. */
void sim__event_set(struct sim *sim, struct sim__event *event, uint64_t at);
/* Does nothing if the event is not set. */
void sim__event_clear(struct sim *sim, struct sim__event *event);

/* -------------------------------------------------------------------- znodes */

struct sim__node {
    char *path; /* owned */
    size_t length;
    const char *name;         /* the last part of path */
    struct sim__node *parent; /* NULL: the root */
    struct uvzk__link children, sibling;
    /* In the leader's tree: among its session's ephemerals, or among the containers. */
    struct uvzk__link group;
    struct uvzk__stat stat;
    int64_t pzxid;   /* of the last create or delete of a child; first the czxid */
    int32_t counter; /* suffix of the next sequential child */
    uint64_t made_at, set_at; /* the times of its create, and of the last set or create */
    bool has_no_data;         /* it has null, and not data of length 0 */
    bool container;
    bool unreadable;    /* no client has READ; sim_inspect.c can still read it */
    bool undeletable;   /* no client has DELETE, which is needed to delete a child */
    bool missed_delete; /* this server has missed its delete, see sim_diverged.c */
    bool resurrected;   /* in the leader's tree: it exists again after such a delete */
    void *data;         /* owned; NULL if data_length is 0 */
    size_t data_length;
    UT_hash_handle hh; /* by path */
};

/* The znodes of one server. */
struct sim__tree {
    struct sim__node *nodes; /* the hash table, which keeps the order of creation */
    struct sim__node *root;
    struct uvzk__link containers;
    size_t count; /* includes the root */
    int64_t zxid; /* of the last transaction */
};

/* Paths are passed with their length, because a parent's path is the beginning of its
 * child's. The functions that change a tree do not check whether the server would allow
 * the change; sim__tree_check does. */
void sim__tree_init(struct sim__tree *tree);
void sim__tree_free(struct sim__tree *tree);
/* Copies what a reader can see: neither counters nor containers nor the groups. */
void sim__tree_copy(struct sim__tree *to, const struct sim__tree *from);
/* Returns NULL if there is no such znode. */
struct sim__node *sim__tree_find(const struct sim__tree *tree, const char *path,
                                 size_t length);
/* owner: the session id; 0: not ephemeral. The parent must exist. */
struct sim__node *sim__tree_create(struct sim__tree *tree, const struct uvzk__op *op,
                                   int64_t owner);
void sim__tree_delete(struct sim__tree *tree, struct sim__node *node);
/* Adds a copy of another tree's znode. Its parent must exist in this tree. */
struct sim__node *sim__tree_put(struct sim__tree *tree, const struct sim__node *node);
void sim__tree_set(struct sim__tree *tree, struct sim__node *node, const void *data,
                   size_t length);
bool sim__acl_grants_read(const struct uvzk__acl *acl);
/* 0: the path is the root, or has no slash. */
size_t sim__parent_length(const char *path);
bool sim__path_valid(const char *path, bool sequential);
bool sim__mode_sequential(uint32_t mode);

/* A znode as the ops of a multi that have been checked so far would leave it. */
struct sim__change {
    const char *path; /* borrowed from the op */
    bool exists, unreadable;
    int32_t counter; /* see sim__tree_number */
    struct uvzk__stat stat;
    UT_hash_handle hh;
};
/* If op is a sequential create, replaces it by the plain create of the znode with the
 * number in its name, counted after the changes. Returns op's new path, which the caller
 * frees after the changes. Returns NULL if op is no sequential create, or if the parent
 * does not exist. */
char *sim__tree_number(const struct sim__tree *tree, struct uvzk__op *op,
                       struct sim__change *changes);
/* Returns 0 or the status with which the server would refuse op after the changes. If
 * changes is not NULL, op's own changes are added to *changes, which is NULL at first. If
 * changes is NULL, op stands alone. */
int sim__tree_check(const struct sim__tree *tree, const struct uvzk__op *op,
                    int64_t owner, struct sim__change **changes);
void sim__changes_free(struct sim__change **changes);

/* ------------------------------------------------------------------ messages */

/* The part that requests and answers have in common. */
struct sim__packet {
    struct uvzk__link link;
    uint64_t at; /* the earliest time of its arrival */
};

enum sim__request_kind {
    /* less than UVZK__RPC_KINDS: enum uvzk__rpc_kind */
    SIM__CONNECT = UVZK__RPC_KINDS, /* session_id or 0, timeout_ms, seen_zxid */
    SIM__PING,
    SIM__REMOVE_WATCH, /* watch_id */
    SIM__REWATCH,      /* one watch of a SetWatches; seen_zxid */
    SIM__END_SESSION
};

/* An EXIST watch waits for the create of a znode that did not exist. A PERSISTENT one is
 * on a directory and its children. */
enum sim__watch_kind {
    SIM__WATCH_DATA,
    SIM__WATCH_EXIST,
    SIM__WATCH_CHILD,
    SIM__WATCH_PERSISTENT
};

struct sim__request {
    struct sim__packet packet;
    uint32_t kind; /* enum sim__request_kind */
    uint32_t mode;
    int32_t version;
    uint32_t timeout_ms;
    /* path, data, ops and what they point to are in the same block of memory. */
    const char *path;
    const void *data;
    size_t data_length;
    bool has_acl;
    struct uvzk__op *ops; /* an rpc that is no multi has one */
    size_t op_count;
    size_t bytes;        /* on the wire; 0: it is never too long */
    uint64_t watch_id;   /* 0: none */
    uint32_t watch_kind; /* enum sim__watch_kind */
    int64_t session_id;
    int64_t seen_zxid; /* REWATCH, CONNECT: the last one that the client has read */
    /* The request had to wait, because its connection waited for a transaction. */
    bool held;
};

enum sim__answer_kind {
    SIM__CONNECTED,
    SIM__EXPIRED,
    SIM__AUTH_FAILED,
    SIM__PONG,
    SIM__REPLY,
    SIM__WATCH_EVENT,
    SIM__END, /* the server has closed the connection */
    /* Only the client's own I/O makes these two. */
    SIM__SUSPENDED,
    SIM__OPEN_FAILED
};

/* All that a server's reply tells of a znode, as a client outside hears it. */
struct sim__full_stat {
    struct uvzk__stat stat;
    int64_t pzxid;
    uint64_t made_at, set_at;
    int32_t child_changes; /* the protocol's cversion */
    int32_t data_length;
    bool has_no_data;
};

#define SIM__NO_ZXID (-1)

struct sim__answer {
    struct sim__packet packet;
    uint32_t kind;             /* enum sim__answer_kind */
    int64_t zxid;              /* of the server's last transaction; WATCH_EVENT: its own,
                                  or SIM__NO_ZXID */
    uint64_t watch_id;         /* WATCH_EVENT; REPLY: the watch to be armed, or 0 */
    uint32_t watch_event;      /* enum uvzk__watch_event */
    int64_t session_id;        /* CONNECTED */
    uint32_t timeout_ms;       /* CONNECTED: granted */
    uint64_t epoch;            /* CONNECTED: the number of the client's connection */
    bool watches_lost;         /* CONNECTED */
    struct uvzk__reply *reply; /* REPLY; NULL: another kind */
    /* What reply points to, each in a block of its own; NULL: not used. text has the
     * characters of the names. Of the WATCH_EVENT of a persistent watch, name is that of
     * the child. */
    char *name;
    void *data;
    char *text;
    const char **names; /* CHILDREN: names; MULTI: made, where some are NULL */
    size_t name_count;
    /* To a client outside: of the znode; of each op of a MULTI, where deletes and checks
     * have none. */
    struct sim__full_stat *full_stats;
};

void sim__full_stat_of(const struct sim__node *node, struct sim__full_stat *full_stat);
struct sim__answer *sim__answer_new(enum sim__answer_kind kind);
/* Overwrites the memory before it is freed, so that a later read is noticed. */
void sim__answer_free(struct sim__answer *answer);

/* --------------------------------------------------------------------- links */

struct sim__queue {
    struct uvzk__link packets;
    struct sim__event event; /* the arrival of the first packet */
    uint64_t extra_ms;       /* additional latency of the next packet */
};

/* One connection. Each end is closed by itself; the link is freed when both are. */
struct sim__link {
    struct uvzk__link all;        /* sim->links */
    struct sim__client *client;   /* NULL: this end is closed */
    struct sim__member *member;   /* the server to which it leads */
    struct sim__session *session; /* NULL: none is attached */
    /* The session that connected through this link; 0: none yet. It stays when that
     * session has ended, or is attached to another link. */
    int64_t session_id;
    /* struct sim__held: answers and requests that wait, in this order, until the member
     * has applied certain transactions. */
    struct uvzk__link held;
    bool sending_held; /* a request from `held` is being performed */
    bool server_open;
    bool told_end;              /* the server has closed its end and sent END */
    struct sim__queue up, down; /* requests, answers */
    uint64_t cut_until;         /* nothing arrives before */
    uint32_t latency_min_ms, latency_max_ms;
    struct uvzk__link watches; /* struct sim__server_watch */
    /* Not NULL: the follower has lost its leader, and shows these znodes. Owned. */
    struct sim__tree *follower;
    bool hangs; /* a request waits for the leader or a quorum, and so do all behind it */
    struct sim__event follower_end; /* the follower closes the connection */
    char *who;                      /* client's name, for the trace; owned */
};

struct sim__link *sim__link_new(struct sim *sim, struct sim__client *client,
                                struct sim__member *member);
/* These two take the message over. They drop it if the other end is closed. */
void sim__link_send_up(struct sim *sim, struct sim__link *link,
                       struct sim__request *request);
void sim__link_send_down(struct sim *sim, struct sim__link *link,
                         struct sim__answer *answer);
/* Closes the client's end. The first `keep` of the requests that are on their way still
 * arrive; SIZE_MAX: all of them. */
void sim__link_close_client(struct sim *sim, struct sim__link *link, size_t keep);
void sim__link_close_server(struct sim *sim, struct sim__link *link);
/* The server loses its leader for `ms` (sim_follower_cut). */
void sim__link_cut_follower(struct sim *sim, struct sim__link *link, uint64_t ms);
/* Requests that are on their way to the server take `ms` longer. */
void sim__link_slow_up(struct sim *sim, struct sim__link *link, uint64_t ms);
size_t sim__queue_length(const struct sim__queue *queue);
/* Frees the links that are closed at both ends. To be called between two events only. */
void sim__links_sweep(struct sim *sim);

/* ------------------------------------------------------------- transactions */

/* What a transaction does to one znode or to one session. */
struct sim__effect {
    struct uvzk__link link;
    /* CREATE, DELETE or SET, with path and data in the same block of memory. CHECK: the
     * znode's permissions become `unreadable` and `undeletable`. */
    struct uvzk__op op;
    int64_t owner;                /* CREATE: the session id; 0: not ephemeral */
    int64_t created_ms;           /* CREATE: by the wall clock of the leader */
    int64_t ended;                /* the session that has ended, without op; else 0 */
    bool unreadable, undeletable; /* CREATE, CHECK */
};

/* A transaction is in the log until every member has applied or skipped it. */
struct sim__txn {
    struct uvzk__link link, effects;
    uint64_t number, at; /* from 1; when it was committed */
    int64_t zxid;
    size_t awaited; /* how many members have neither applied nor skipped it */
};

/* A transaction consists of sim__txn_begin, any number of the changes below, and
 * sim__txn_commit. There is one transaction at a time. Each change is done at the leader
 * at once, and fires the watches there. */
void sim__txn_begin(struct sim *sim);
struct sim__node *sim__txn_create(struct sim *sim, const struct uvzk__op *op,
                                  int64_t owner);
void sim__txn_delete(struct sim *sim, struct sim__node *node);
void sim__txn_set(struct sim *sim, struct sim__node *node, const void *data,
                  size_t length);
void sim__txn_permit(struct sim *sim, struct sim__node *node, bool readable,
                     bool deletable);
void sim__txn_end_session(struct sim *sim, int64_t id);
void sim__txn_commit(struct sim *sim);
/* A member has applied the transaction, or will never apply it. The last member's call
 * frees the transaction. */
void sim__txn_done(struct sim__txn *txn);
/* Returns the transaction after this one; NULL: this is the last one. */
struct sim__txn *sim__txn_after(struct sim *sim, const struct sim__txn *txn);
/* Does at the member what the transaction has done at the leader. */
void sim__txn_apply(struct sim *sim, struct sim__member *member,
                    const struct sim__txn *txn);

/* ------------------------------------------------------------------- servers */

/* One server of the ensemble. The leader has all that has been committed. Each other
 * server has znodes of its own, some transactions behind. */
struct sim__member {
    size_t number;          /* from 0 */
    struct sim__tree *tree; /* &own; at the leader the ensemble's */
    struct sim__tree own;
    uint64_t applied;      /* number of the last transaction */
    struct sim__txn *next; /* to be applied; NULL: none */
    struct sim__event apply;
    uint64_t lags_until; /* it applies nothing before */
    uint32_t misses;     /* how many deletes of ephemerals it does not apply */
    uint32_t forgets;    /* how many creates of ephemerals it does not apply */
    char **lacking;      /* owned paths of znodes that it should show, but does not */
    size_t lacking_count;
    uint32_t limit_ms;      /* longest session timeout; 0: no limit */
    int64_t clock_ahead_ms; /* its wall clock; negative: behind */
    bool cut_behind_lag;    /* it is cut off from the leader when its lag has ended */
    bool deposed;           /* the old leader, or a follower cut off with it */
    struct sim__server_watch *watches;
    struct sim__watched_path *points;
};

/* Something that waits until its member has applied a transaction: an answer to be sent,
 * or a request to be performed. The other of the two is NULL. */
struct sim__held {
    struct uvzk__link link;
    uint64_t until; /* number of the transaction */
    struct sim__answer *answer;
    struct sim__request *request;
};

void sim__members_init(struct sim *sim);
void sim__members_free(struct sim *sim);
/* A transaction has been committed. Each follower will apply it after its lag. */
void sim__members_committed(struct sim *sim, struct sim__txn *txn);
/* Applies the member's next transaction now. There must be one. */
void sim__member_apply_next(struct sim *sim, struct sim__member *member);
/* The member will apply none of the transactions that are committed by now. */
void sim__member_skip(struct sim *sim, struct sim__member *member);
/* Chooses the server to which a client connects next. */
struct sim__member *sim__member_pick(struct sim *sim, struct sim__client *client);
/* Returns a random limit of session timeouts, in ms. */
uint32_t sim__limit(struct sim *sim);
/* Returns the session timeout that the server grants if this one is requested. */
uint32_t sim__member_allows(const struct sim__member *member, uint32_t timeout_ms);
bool sim__member_up(const struct sim *sim, const struct sim__member *member);
bool sim__member_leads(const struct sim *sim, const struct sim__member *member);
/* Sends the answer when the link's member has applied the transaction with the number
 * `until`, and after everything for which this connection waits already. until is 0 if
 * the answer itself needs no transaction. Takes the answer over. */
void sim__member_answer(struct sim *sim, struct sim__link *link,
                        struct sim__answer *answer, uint64_t until);
/* If the request must be performed after everything for which its connection waits, takes
 * it over and returns true. Returns false if it is to be performed now. */
bool sim__member_holds(struct sim *sim, struct sim__link *link,
                       struct sim__request *request);
/* Frees all answers and requests that wait on this link. */
void sim__link_drop_held(struct sim__link *link);

/* ------------------------------------------------------ servers that have diverged */

/* Returns whether the member misses this delete, and continues to show the znode. */
bool sim__diverged_misses(struct sim *sim, struct sim__member *member,
                          struct sim__node *node);
/* Returns whether the member misses this create, and does not show the znode. */
bool sim__diverged_forgets(struct sim *sim, struct sim__member *member, int64_t owner,
                           const char *path);
/* Returns whether the member should show this znode, but does not. A delete that a client
 * sends through this member is then answered with UVZK_ENONODE, although the leader has
 * deleted the znode. */
bool sim__diverged_lacks(const struct sim__member *member, const char *path);
/* Forgets which znodes the member lacks. */
void sim__diverged_lacks_nothing(struct sim__member *member);
/* A session has ended: the member deletes those of its znodes whose deletes it has
 * missed. */
void sim__diverged_session_ended(struct sim *sim, struct sim__member *member, int64_t id);
/* Deletes what would prevent a transaction: all children of the znode, and the znode
 * itself if its delete was missed. Fires no watches. */
void sim__diverged_remove_conflict(struct sim__tree *tree, struct sim__node *node);
/* Replaces the member's own znodes by a copy of another tree, but keeps the znodes whose
 * deletes it has missed. */
void sim__diverged_copy(struct sim *sim, struct sim__member *member,
                        const struct sim__tree *from);
/* An election: the new leader may have lost the last transactions. */
void sim__diverged_forgets_all(struct sim *sim);
/* The member becomes the leader: the znodes whose deletes it has missed exist again at
 * all servers. */
void sim__diverged_leads(struct sim *sim, struct sim__member *leader);

void sim__election_init(struct sim *sim);
void sim__election_free(struct sim *sim);
/* Closes every connection and makes one of all servers the leader. Does nothing if there
 * is only one server. */
void sim__election(struct sim *sim);
/* A server that is cut off with the old leader has received a CONNECT. */
void sim__deposed_connect(struct sim *sim, struct sim__link *link,
                          const struct sim__request *request);

/* -------------------------------------------------------------------- server */

/* A session as the servers know it. The fields up to touched_ms are session timeouts. */
struct sim__session {
    int64_t id;
    uint32_t timeout_ms; /* of the current connection */
    uint32_t created_ms; /* of its first connection; a new leader knows only this one */
    uint32_t told_ms;    /* the smallest one of which the client has read */
    uint32_t touched_ms; /* of the connection by which it was touched last */
    uint64_t touched;    /* when that was */
    /* When a follower will report the session to the leader, or when the last report
     * came; 0: no report. */
    uint64_t report_at;
    uint64_t next_report_at; /* two_hops: when the report after that one comes; 0: none */
    uint64_t stale_at; /* when a server that the session has left reports it; 0: never */
    uint32_t stale_ms; /* the timeout in that report */
    uint64_t report_phase;  /* decides when in each half tick it is reported */
    struct sim__link *link; /* NULL: not connected */
    struct uvzk__link ephemerals;
    struct sim__event expiry;
    UT_hash_handle hh; /* by id */
};

struct sim__server_watch {
    uint64_t id;
    struct sim__link *link;
    struct sim__watched_path *point;
    struct uvzk__link on_link, on_point;
    UT_hash_handle hh; /* by id */
};

/* A watched path, with its watches by kind: on its data or existence, on its children,
 * persistent ones. */
struct sim__watched_path {
    char *path;
    struct uvzk__link data, child, persistent;
    UT_hash_handle hh; /* by path */
};

/* A session that existed when the old leader was cut off. */
struct sim__known_session {
    int64_t id;
    uint32_t timeout_ms;
};

/* A znode on which a permission is missing for a time. */
struct sim__missing {
    char *path; /* owned; NULL: none */
    struct sim__event end;
};

/* A znode that could not be read when it was deleted, so that no watch reported it. */
struct sim__unread {
    char *path;
    bool counted;     /* it has had children */
    int64_t czxid;    /* its own */
    int64_t zxid;     /* of the transaction that deleted it */
    uint64_t last_ms; /* when the last server so far applied that transaction */
};

/* When a transaction was begun. */
struct sim__moment {
    int64_t zxid;
    uint64_t ms;
};

struct sim__forgotten {
    char *path;
    int64_t czxid;
};

/* The ensemble as a whole. */
struct sim__server {
    struct sim__tree tree; /* what has been committed: the leader's znodes */
    struct sim__member *members, *leader;
    size_t member_count;
    uint32_t forgets;                 /* how many transactions the next election loses */
    struct sim__forgotten *forgotten; /* the znodes that elections have lost */
    size_t forgotten_count;
    struct sim__event deposed_end; /* set: an old leader is cut off until then */
    struct sim__known_session *known;
    size_t known_count;
    uint64_t txn_count;
    struct sim__txn *txn;  /* begun; NULL: none, or there is only one server */
    struct uvzk__link log; /* transactions that not all members have applied */
    struct sim__session *sessions;
    struct sim__session operator_session; /* of sim_create_by_hand; it never ends */
    int64_t next_session;
    uint64_t up_at; /* no connection before, except to deposed servers */
    uint64_t throttles_until;
    uint64_t too_long;                              /* requests over jute.maxbuffer */
    struct sim__missing unreadable_path, forbidden; /* no READ on it; no DELETE in it */
    char **blinded; /* all paths of which sim_set_readable has taken READ */
    size_t blinded_count;
    struct sim__unread *unread;
    size_t unread_count;
    struct sim__moment *moments; /* of all transactions after the first unread removal */
    size_t moment_count, moment_room;
    struct sim__event container_check;
    struct {
        int status;
        uint32_t times;
    } refuse[UVZK__RPC_KINDS]; /* by kind: the next `times` get this status */
    size_t refused_op;         /* which op such a multi names as failed; SIZE_MAX: none */
};

void sim__server_init(struct sim *sim);
void sim__server_free(struct sim *sim);
/* A request has arrived. Takes it over. */
void sim__server_receive(struct sim *sim, struct sim__link *link,
                         struct sim__request *request);
/* Closes the server's end. The answers that were sent before still arrive, then END. */
void sim__server_hang_up(struct sim *sim, struct sim__link *link);
bool sim__is_read(const struct sim__request *request);
/* A follower answers it, or takes it, without its leader: reads, and messages about watches. A
 * ping, which it passes on with its report, is not counted here. */
bool sim__is_answered_alone(const struct sim__request *request);
/* Separates the link from its session, and drops its watches. */
void sim__server_detach(struct sim__link *link);
/* Performs one op as a transaction. Returns 0 or the server's refusal. *made becomes the
 * znode that was created or set; otherwise it stays as it is. Sequential creates are
 * numbered. */
int sim__server_write(struct sim *sim, struct uvzk__op op, struct sim__session *session,
                      struct sim__node **made);

/* kind: enum sim__watch_kind. Does nothing if id is 0, or if that watch exists. */
void sim__watch_add(struct sim__link *link, uint64_t id, const char *path, uint32_t kind);
void sim__watch_remove(struct sim__link *link, uint64_t id);
void sim__watch_drop_all(struct sim__link *link);
/* Sends a watch event to the client, unless a test makes it lose this event. zxid: that
 * the event has, or SIM__NO_ZXID. child: to a persistent watch; NULL: the event is about
 * the watched znode. */
void sim__watch_tell(struct sim *sim, struct sim__link *link, uint64_t id,
                     enum uvzk__watch_event event, int64_t zxid, const char *child);
/* The first function fires the member's watches on the znode itself, after a delete also
 * those on its children, and persistent ones on the znode and on its parent. The second
 * one fires the watches on the children of its parent. If the watched znode is unreadable,
 * the watches are removed without an event; persistent ones stay, and miss it. */
void sim__watch_fire_node(struct sim *sim, struct sim__member *member,
                          const struct sim__node *node, enum uvzk__watch_event event);
void sim__watch_fire_parent(struct sim *sim, struct sim__member *member,
                            const struct sim__node *node);

/* Creates a session, as a transaction. */
struct sim__session *sim__session_new(struct sim *sim, uint32_t timeout_ms);
/* A server has received a connect of the session: from now on the session has this
 * timeout, or the smallest one of which its client has read if that is greater. */
void sim__session_connected(struct sim *sim, struct sim__session *session,
                            uint32_t timeout_ms);
/* The client has read that this timeout was granted. If the client has not read of one so
 * small before, and its connection is still the session's, the session's timeout is not
 * greater than this from now on. */
void sim__session_told(struct sim *sim, const struct sim__client *client, int64_t id,
                       uint32_t timeout_ms);
/* A new leader takes the session over at this time, with the timeout of its creation. */
void sim__session_inherited(struct sim *sim, struct sim__session *session, uint64_t at);
/* The session's server applies nothing before `until`, so its report comes later. */
void sim__session_delayed(struct sim *sim, struct sim__session *session, uint64_t until);
/* Ends the session and deletes its ephemerals, in one transaction. Frees it. */
void sim__session_end(struct sim *sim, struct sim__session *session);
/* A server has received something from the session. */
void sim__session_heard(struct sim *sim, struct sim__session *session,
                        const struct sim__request *request);
/* The session's follower has died or was cut off: what it has not reported is lost. */
void sim__session_unreported(struct sim *sim, struct sim__session *session);
/* Returns NULL if no session has this id. */
struct sim__session *sim__session_find(const struct sim *sim, int64_t id);

/* -------------------------------------------------------------------- client */

/* sim_io.c draws this machine. */
enum sim__io {
    SIM__IO_DOWN,       /* no handle */
    SIM__IO_OPENING,    /* open() was called, addresses are resolved */
    SIM__IO_CONNECTING, /* waiting for the next attempt */
    SIM__IO_HANDSHAKE,  /* CONNECT is on its way */
    SIM__IO_UP,
    SIM__IO_DEAD /* the handle has ended, which is not reported yet */
};

/* A watch as the client keeps it, from submit() until it has fired or is dropped. */
struct sim__client_watch {
    uint64_t id;
    struct uvzk__watch *watch; /* the user's */
    struct uvzk__rpc *rpc;     /* while it is being armed; else NULL */
    char *path;
    uint32_t kind; /* enum sim__watch_kind */
    bool armed;    /* the I/O has read the reply */
    bool fired;    /* the I/O has read the event */
    UT_hash_handle hh_id, hh_path;
};

struct sim__client {
    struct uvzk__port port; /* first */
    struct sim *sim;
    /* A client outside the simulation, which has no I/O and no port here: it is given each
     * answer, and frees it. NULL: a client inside. */
    void (*outside)(struct sim__client *client, struct sim__answer *answer);
    struct uvzk__link all; /* sim->clients, or closed_clients */
    uint64_t process;      /* the same number for all ports of a process */
    char *name;
    enum sim__io io;
    struct sim__link *link; /* in HANDSHAKE and UP; else NULL */
    /* The session that the I/O knows, and the one of which CONNECTED was reported; 0:
     * none. */
    int64_t session_id, session_seen;
    int64_t last_zxid;    /* in the last reply or pong that the I/O has read */
    uint32_t timeout_ms;  /* requested, then granted */
    uint32_t asked_ms;    /* the timeout that new sessions request */
    uint64_t heard, sent; /* when the I/O last read and last wrote */
    size_t unanswered;   /* requests whose replies are not read yet; no pings meanwhile */
    uint64_t epoch;      /* how many connections the I/O has had */
    uint64_t told_epoch; /* the one of which the loop knows; 0: not connected */
    bool closing;        /* close() has been called */
    struct uvzk__rpc *first, *last; /* outstanding, in order of submission */
    size_t outstanding;
    uint64_t submitted;
    struct uvzk__link inbox; /* answers that the I/O has read, for the loop */
    struct sim__client_watch *by_id, *by_path;
    /* All events of the process. A pause delays all of them, a stall only the first
     * three. */
    struct sim__event deliver, alarm, wake, connect, ping, timeout;
    uint64_t paused_until, stalled_until;
    uint64_t clock_ms, clock_set_at; /* what the clock showed, and when that was */
    int64_t clock_rate;              /* how many ms the clock advances in a million ms */
    uint64_t alarm_ms;               /* by that clock; SIM__NEVER: none */
    bool auth_failed;                /* its credentials were refused at some time */
    uint64_t cut_until;              /* no connection before */
    uint32_t latency_min_ms, latency_max_ms;
    uint64_t extra_ms;
    bool lose_request, lose_reply, reply_enomem; /* for the next request that arrives */
    uint32_t lose_events; /* how many of the next watch events are lost */
    bool replace_handle;  /* at the next attempt after SUSPENDED was reported */
    bool leaves; /* it leaves a diverged server; reported after the next SUSPENDED */
    /* At the next reconnect after SUSPENDED was reported, the old handle connects
     * first. */
    bool connects_unreported;
    bool ends_session; /* when EXPIRED has been reported */
    bool keeps_handle; /* of another library: random faults do not replace its handle */
    bool watches_lost; /* the handle was replaced; reported with the next CONNECTED */
    int fail_open;     /* status of the next OPEN_FAILED; 0: open() succeeds */
    int end_status; /* of all replies until the end of the handle is reported; 0: none */
    struct sim__member *left; /* the next attempt avoids this server; NULL: none */
    int server;               /* to which it connects from now on; -1: any */
    uint32_t fail_random;     /* counts down to the call that fails; 0: none */
};

struct sim__client *sim__client_of(const struct uvzk__port *port);
static inline bool sim__client_is_outside(const struct sim__client *client)
{
    return client != NULL && client->outside != NULL;
}
/* Returns the virtual time at which the process's clock will show clock_ms; now if it
 * shows that already. */
uint64_t sim__client_when(const struct sim__client *client, uint64_t clock_ms);
void sim__client_set_clock(struct sim__client *client, uint64_t clock_ms, int64_t rate);
/* If the process is paused, or by_loop is true and its loop is stalled, moves the event
 * to the end of that and returns true. */
bool sim__client_held(struct sim__client *client, struct sim__event *event, bool by_loop);
/* Returns NULL if the client has no such watch. */
struct sim__client_watch *sim__client_watch_find(struct sim__client *client, uint64_t id);
/* Returns whether SUSPENDED has been reported, nothing has arrived since, and no rpc is
 * outstanding. Only then may the handle be replaced. */
bool sim__client_is_lost(const struct sim__client *client);
/* Drops all watches; none of them fires. */
void sim__client_drop_watches(struct sim__client *client);
/* An attempt to connect has failed. */
void sim__client_unreached(struct sim__client *client);
/* Puts an answer into the inbox of the loop. Takes it over. */
void sim__client_push(struct sim__client *client, struct sim__answer *answer);

struct sim__request *sim__request_new(uint32_t kind, const char *path);
/* Copies the rpc. */
struct sim__request *sim__request_of(const struct uvzk__rpc *rpc);
void sim__io_init(struct sim__client *client);
void sim__io_open(struct sim__client *client);
/* Takes the request over. */
void sim__io_send(struct sim__client *client, struct sim__request *request);
/* An answer has arrived. Takes it over. */
void sim__io_read(struct sim__client *client, struct sim__answer *answer);
/* Decides at random whether the connection is lost behind a watch event, which is the
 * worst moment: the other servers, to one of which the client now connects, have not
 * applied the change that the event reports. And no reply has given the client a zxid by
 * which such a server would refuse it. */
bool sim__io_loses_event(struct sim *sim, const struct sim__member *member);
/* Ends the handle without its session: EXPIRED will be reported. */
void sim__io_abandon(struct sim__client *client);
/* The connection has been lost. The first `keep` of the requests that are on their way
 * still arrive. */
void sim__io_lost(struct sim__client *client, size_t keep);
/* Closes the client's end of its link, if it has one. */
void sim__io_close_link(struct sim__client *client, size_t keep);

/* ----------------------------------------------------------------- the whole */

struct sim__trace {
    char (*lines)[200]; /* a ring; NULL: no trace */
    size_t room;        /* how many lines it holds */
    uint64_t count;     /* of all lines so far */
    uint64_t hash;      /* of all lines so far */
};

struct sim {
    struct sim_options options;
    struct sim_faults faults; /* all zero: no random faults */
    struct sim__event fault_clock;
    uint64_t now, order, steps; /* ms; the last event's order; performed so far */
    uint64_t fault_count;
    uint64_t random[4];       /* the generator's state */
    struct sim__event **heap; /* from index 1 */
    size_t heap_count, heap_room;
    struct sim__server server;
    struct uvzk__link clients, links;
    struct uvzk__link closed_clients; /* options.keeps_ports */
    uint64_t processes;               /* how many there have been */
    bool dead_links;    /* an end of a link was closed since the last sweep */
    uint64_t watch_ids; /* the last one given */
    struct sim__trace trace;
};

/* The simulator's memory never comes from the allocator under test. These functions never
 * return NULL. */
void *sim__alloc(size_t size); /* zeroed */
void *sim__copy(const void *bytes, size_t size);
/* Overwrites the memory before it is freed, so that a later read is noticed. */
void sim__free(void *memory, size_t size);

void sim__random_seed(struct sim *sim, uint64_t seed);
uint64_t sim__random_word(struct sim *sim);
/* Returns whether a fault of this probability (parts per million) happens, and counts it
 * if it does. */
bool sim__random_hit(struct sim *sim, uint32_t ppm);
/* Returns a number that is uniform in [low, high]; low if high is less. */
uint64_t sim__random_between(struct sim *sim, uint64_t low, uint64_t high);

void sim__trace_line(struct sim *sim, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Formats nothing if there is no trace. */
#define sim__trace(sim, ...)                     \
    do {                                         \
        if ((sim)->trace.lines != NULL) {        \
            sim__trace_line((sim), __VA_ARGS__); \
        }                                        \
    } while (0)
const char *sim__code(int status); /* "ok", "ENONODE", ... */
const char *sim__request_name(uint32_t kind);

/* A test has misused the port: prints the trace and the reason, and aborts. */
_Noreturn void sim__misuse(struct sim *sim, const char *who, const char *what);

/* Fires every 100 ms: decides which random faults happen now. */
void sim__fault_tick(struct sim *sim, struct sim__event *event);

/* ------------------------------------------------------------------- rights */

/* Each takes a permission on one random znode for `ms`: READ, or DELETE. Does nothing if
 * it has taken that permission on a znode already. */
void sim__blind_one(struct sim *sim, uint64_t ms);
void sim__forbid_one(struct sim *sim, uint64_t ms);
/* Gives back what these two have taken. */
void sim__rights_are_back(struct sim *sim);
/* Records that READ on this znode is taken. */
void sim__blinded(struct sim *sim, const struct sim__node *node);
/* Decides at random whether READ is missing at the moment at which a znode is deleted. */
bool sim__goes_unread(struct sim *sim);
/* Records that this member has deleted a znode that could not be read. */
void sim__went_unread(struct sim *sim, const struct sim__member *member,
                      const struct sim__node *node);
/* Records when a transaction begins. */
void sim__moment_passes(struct sim *sim);
void sim__rights_free(struct sim *sim);

#endif
