/* The simulator's own structures. Who knows whom:
 *
 *   sim.c          events, time, the trace        sim_random.c   the generator
 *   sim_tree.c     znodes: values, no watches, no sessions
 *   sim_txn.c      what has been committed
 *   sim_member.c   the servers: what each has applied of it
 *   sim_election.c who leads, and who no longer does
 *   sim_diverged.c what a server goes on showing that was deleted
 *   sim_watch.c, sim_session.c, sim_server.c      what a server does with each
 *                  request                        (knows trees and links)
 *   sim_inspect.c     a test's eyes and hands at the server
 *   sim_link.c     two queues of messages, cuts   (knows both ends)
 *   sim_io.c       the client's I/O thread        (knows its link)
 *   sim_port.c     the client's loop: port.h      (knows its I/O)
 *   sim_clock.c    the client's clock
 *   sim_faults.c   what goes wrong, by hand or at random
 *   sim_rights.c   rights that are missing for a time
 *
 * A request is copied when it is submitted: the server may apply it after the
 * caller has taken its memory back. An answer is one block of memory from the
 * server's decision until the callback has returned. */
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

/* Part of whoever waits for it. Ordered by (at, tie, order). */
struct sim__event {
    uint64_t at;
    uint64_t tie;   /* 0, or random when ties are shuffled */
    uint64_t order; /* of insertion */
    size_t place;   /* in the heap, from 1; 0: not set */
    void (*fire)(struct sim *sim, struct sim__event *event);
};

#define SIM__NEVER UINT64_MAX

/* Sets or moves it; a moment in the past means now, NEVER takes it off. */
void sim__event_set(struct sim *sim, struct sim__event *event, uint64_t at);
void sim__event_clear(struct sim *sim, struct sim__event *event);

/* -------------------------------------------------------------------- znodes */

struct sim__node {
    char *path;
    size_t length;
    const char *name;         /* within path */
    struct sim__node *parent; /* NULL: the root */
    struct uvzk__link children, sibling;
    struct uvzk__link group; /* its session's ephemerals, or the containers */
    struct uvzk__stat stat;
    int64_t pzxid;   /* of the last create or delete of a child */
    int32_t counter; /* suffix of the next sequential child */
    bool container;
    bool unreadable;    /* nobody has READ, but the tests' own eyes */
    bool undeletable;   /* nobody has DELETE, which its children need, but the hand */
    bool missed_delete; /* its delete was missed here, sim_diverged.c */
    bool resurrected;   /* ... and this is the leader's tree, where it is back */
    void *data;         /* or NULL */
    size_t data_length;
    UT_hash_handle hh; /* by path */
};

struct sim__tree {
    struct sim__node *nodes;
    struct sim__node *root;
    struct uvzk__link containers;
    size_t count;
    int64_t zxid; /* of the last transaction */
};

/* Paths are given with their length: a parent's is the beginning of its
 * child's. The functions that change something do not check: see
 * sim__tree_check. */
void sim__tree_init(struct sim__tree *tree);
void sim__tree_free(struct sim__tree *tree);
void sim__tree_copy(struct sim__tree *to, const struct sim__tree *from);
struct sim__node *sim__tree_find(const struct sim__tree *tree, const char *path,
                                 size_t length);
struct sim__node *sim__tree_create(struct sim__tree *tree, const struct uvzk__op *op,
                                   int64_t owner);
void sim__tree_delete(struct sim__tree *tree, struct sim__node *node);
/* One that another tree has, below the same parent, which there is. */
struct sim__node *sim__tree_put(struct sim__tree *tree, const struct sim__node *node);
void sim__tree_set(struct sim__tree *tree, struct sim__node *node, const void *data,
                   size_t length);
bool sim__acl_grants_read(const struct uvzk__acl *acl);
size_t sim__parent_length(const char *path);
bool sim__path_valid(const char *path, bool sequential);
bool sim__mode_sequential(uint32_t mode);

/* What the ops checked so far would have changed. */
struct sim__change {
    const char *path;
    bool exists, unreadable;
    int32_t counter; /* see sim__tree_number */
    struct uvzk__stat stat;
    UT_hash_handle hh;
};
/* Makes a sequential create, as it is after the changes, the plain one of the
 * znode with the number in its name: op's new path, to be freed after the
 * changes. NULL: op is no sequential create, or there is no parent. */
char *sim__tree_number(const struct sim__tree *tree, struct uvzk__op *op,
                       struct sim__change *changes);
/* 0 or what the server would say to op after the changes, which op's own are
 * added to; *changes is NULL at first. NULL for changes: op stands alone. */
int sim__tree_check(const struct sim__tree *tree, const struct uvzk__op *op,
                    int64_t owner, struct sim__change **changes);
void sim__changes_free(struct sim__change **changes);

/* ------------------------------------------------------------------ messages */

struct sim__packet {
    struct uvzk__link link;
    uint64_t at; /* of arrival */
};

enum sim__request_kind {
    /* 0..UVZK__RPC_MULTI: enum uvzk__rpc_kind */
    SIM__CONNECT = UVZK__RPC_MULTI + 1, /* session_id or 0, timeout_ms */
    SIM__PING,
    SIM__REMOVE_WATCH, /* watch_id */
    SIM__REWATCH,      /* one watch of SetWatches; seen_zxid */
    SIM__END_SESSION
};

enum sim__watch_kind { SIM__WATCH_DATA, SIM__WATCH_EXIST, SIM__WATCH_CHILD };

struct sim__request {
    struct sim__packet packet;
    uint32_t kind;
    uint32_t mode;
    int32_t version;
    uint32_t timeout_ms;
    const char *path; /* path, data, ops and what they point to: this block */
    const void *data;
    size_t data_length;
    bool has_acl;
    struct uvzk__op *ops;
    size_t op_count;
    uint64_t watch_id; /* 0: none */
    uint32_t watch_kind;
    int64_t session_id;
    int64_t seen_zxid; /* REWATCH, CONNECT */
    bool held;         /* it came before what its connection waits for was applied */
};

enum sim__answer_kind {
    SIM__CONNECTED,
    SIM__EXPIRED,
    SIM__AUTH_FAILED,
    SIM__PONG,
    SIM__REPLY,
    SIM__WATCH_EVENT,
    SIM__END,       /* the server has hung up */
    SIM__SUSPENDED, /* these two are made by the client's I/O */
    SIM__OPEN_FAILED
};

struct sim__answer {
    struct sim__packet packet;
    uint32_t kind;
    int64_t zxid;         /* the server's last one */
    uint64_t watch_id;    /* WATCH_EVENT; REPLY: to be armed, or 0 */
    uint32_t watch_event; /* enum uvzk__watch_event */
    int64_t session_id;   /* CONNECTED */
    uint32_t timeout_ms;
    uint64_t epoch;            /* CONNECTED: of which connection */
    bool watches_lost;         /* CONNECTED */
    struct uvzk__reply *reply; /* REPLY */
    char *name;                /* what reply points to, each its own block */
    void *data;
    char *text;
    const char **names; /* names or made: so many, some of them NULL */
    size_t name_count;
};

struct sim__answer *sim__answer_new(enum sim__answer_kind kind);
/* Overwrites the memory before it frees it. */
void sim__answer_free(struct sim__answer *answer);

/* --------------------------------------------------------------------- links */

struct sim__queue {
    struct uvzk__link packets;
    struct sim__event event; /* the first packet's arrival */
    uint64_t extra_ms;       /* of the next packet */
};

/* One connection. Each end closes by itself; it is gone when both have. */
struct sim__link {
    struct uvzk__link all;        /* sim->links */
    struct sim__client *client;   /* NULL: closed at this end */
    struct sim__member *member;   /* the server it leads to */
    struct sim__session *session; /* NULL: none attached */
    int64_t session_id;           /* also when the session has ended, or another one's
                                     link is attached to it by now; 0: none yet */
    struct uvzk__link held;       /* struct sim__held: not before the member has applied
                                     what they wait for, and in this order */
    bool sending_held;            /* what was held is being performed */
    bool server_open;
    bool told_end;              /* the server has hung up, END is on its way */
    struct sim__queue up, down; /* requests, answers */
    uint64_t cut_until;
    uint32_t latency_min_ms, latency_max_ms;
    struct uvzk__link watches;  /* struct sim__server_watch */
    struct sim__tree *follower; /* its leader is lost: what it last saw */
    bool hangs;                 /* ... and a request waits for the leader */
    struct sim__event follower_end;
    char *who; /* client's name, for the trace */
};

struct sim__link *sim__link_new(struct sim *sim, struct sim__client *client,
                                struct sim__member *member);
void sim__link_send_up(struct sim *sim, struct sim__link *link,
                       struct sim__request *request);
void sim__link_send_down(struct sim *sim, struct sim__link *link,
                         struct sim__answer *answer);
/* keep: how many of the requests on their way still arrive; SIZE_MAX: all. */
void sim__link_close_client(struct sim *sim, struct sim__link *link, size_t keep);
void sim__link_close_server(struct sim *sim, struct sim__link *link);
/* What is on its way to the server takes ms longer. */
void sim__link_slow_up(struct sim *sim, struct sim__link *link, uint64_t ms);
size_t sim__queue_length(const struct sim__queue *queue);
/* Frees the links both ends of which are closed; between two events only. */
void sim__links_sweep(struct sim *sim);

/* ------------------------------------------------------------- transactions */

/* What one does to one znode, or to a session. */
struct sim__effect {
    struct uvzk__link link;
    struct uvzk__op op; /* CREATE, DELETE, SET, with its path and data in this block;
                           CHECK: the znode's rights become these */
    int64_t owner;
    int64_t ended;                /* this session has, and there is no op; else 0 */
    bool unreadable, undeletable; /* CREATE, CHECK */
};

/* In the log until every member has applied it. */
struct sim__txn {
    struct uvzk__link link, effects;
    uint64_t number, at;
    int64_t zxid;
    size_t awaited; /* members that are yet to apply it */
};

/* One transaction: begin, what it does (which is done at the leader at once, and told
 * there to who watches), commit. One after the other. */
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
/* A member has applied the transaction, or will never come to it. */
void sim__txn_done(struct sim__txn *txn);
/* NULL: the member has applied all. */
struct sim__txn *sim__txn_after(struct sim *sim, const struct sim__txn *txn);
void sim__txn_apply(struct sim *sim, struct sim__member *member,
                    const struct sim__txn *txn);

/* ------------------------------------------------------------------- servers */

/* One of the ensemble. The leader has what has been committed, each other one its own
 * znodes, some transactions behind. */
struct sim__member {
    size_t number;          /* from 0 */
    struct sim__tree *tree; /* &own, or the ensemble's */
    struct sim__tree own;
    uint64_t applied;      /* number of the last transaction */
    struct sim__txn *next; /* NULL: none */
    struct sim__event apply;
    uint64_t lags_until; /* it applies nothing before */
    uint32_t misses;     /* so many deletes of ephemerals, from now on */
    uint32_t forgets;    /* so many creates of ephemerals */
    char **lacking;      /* what it should show, and does not: paths */
    size_t lacking_count;
    uint32_t limit_ms;   /* longest session timeout; 0: any */
    bool cut_behind_lag; /* from the leader, when it has applied what it lagged behind */
    bool deposed;        /* cut off with the old leader, or that itself */
    struct sim__server_watch *watches;
    struct sim__watched_path *points;
};

/* What waits until its member has applied a transaction: an answer to be sent, or a
 * request to be performed. */
struct sim__held {
    struct uvzk__link link;
    uint64_t until; /* number of the transaction */
    struct sim__answer *answer;
    struct sim__request *request;
};

void sim__members_init(struct sim *sim);
void sim__members_free(struct sim *sim);
/* A transaction has been committed: each will apply it. */
void sim__members_committed(struct sim *sim, struct sim__txn *txn);
/* The transaction that comes next, which there is: at once. */
void sim__member_apply_next(struct sim *sim, struct sim__member *member);
/* It comes to none of those committed by now. */
void sim__member_skip(struct sim *sim, struct sim__member *member);
/* Which one a client is to try next. */
struct sim__member *sim__member_pick(struct sim *sim, struct sim__client *client);
/* What it makes of this session timeout. */
uint32_t sim__limit(struct sim *sim); /* one at random */
uint32_t sim__member_allows(const struct sim__member *member, uint32_t timeout_ms);
bool sim__member_up(const struct sim *sim, const struct sim__member *member);
bool sim__member_leads(const struct sim *sim, const struct sim__member *member);
/* The answer leaves when what was committed up to now (0: when nothing that this
 * connection waits for) is applied at its member. Taken over. */
void sim__member_answer(struct sim *sim, struct sim__link *link,
                        struct sim__answer *answer, uint64_t until);
/* The request is performed after everything that the connection waits for: true, and
 * taken over; false: now. */
bool sim__member_holds(struct sim *sim, struct sim__link *link,
                       struct sim__request *request);
void sim__link_drop_held(struct sim__link *link);

/* ------------------------------------------------------ servers that have diverged */

/* Whether the member misses this delete, and goes on showing the znode. */
bool sim__diverged_misses(struct sim *sim, struct sim__member *member,
                          struct sim__node *node);
/* Whether the member misses this create, and never shows the znode. */
bool sim__diverged_forgets(struct sim *sim, struct sim__member *member, int64_t owner,
                           const char *path);
/* Whether it should show it, and does not: it answers a delete of its own as if there
 * had been nothing to be deleted, whatever the leader has done. */
bool sim__diverged_lacks(const struct sim__member *member, const char *path);
/* It lacks nothing any more, as far as is known. */
void sim__diverged_lacks_nothing(struct sim__member *member);
/* A session has ended: what the member still shows of it goes. */
void sim__diverged_session_ended(struct sim *sim, struct sim__member *member, int64_t id);
/* The znode, or all below it, is in the way of what the others have agreed to. */
void sim__diverged_remove_conflict(struct sim__tree *tree, struct sim__node *node);
/* The member's own znodes are those of another tree from now on, but for what it has
 * missed. */
void sim__diverged_copy(struct sim *sim, struct sim__member *member,
                        const struct sim__tree *from);
/* The new leader has lost the end of what was committed. */
void sim__diverged_forgets_all(struct sim *sim);
/* It leads: what it has missed is what all agree to. */
void sim__diverged_leads(struct sim *sim, struct sim__member *leader);

void sim__election_init(struct sim *sim);
void sim__election_free(struct sim *sim);
/* Every connection is hung up, and one of all leads. Nothing if there is one server. */
void sim__election(struct sim *sim);
/* CONNECT, received by one that is cut off. */
void sim__deposed_connect(struct sim *sim, struct sim__link *link,
                          const struct sim__request *request);

/* -------------------------------------------------------------------- server */

struct sim__session {
    int64_t id;
    uint32_t timeout_ms; /* as its last connect was told */
    uint32_t created_ms; /* its timeout of the beginning: a new leader knows no other */
    uint32_t told_ms;    /* the least that its client has been told */
    uint32_t touched_ms; /* its timeout by what was last heard of it */
    uint64_t touched;    /* when that was */
    uint64_t report_at;  /* when a follower will, or did, report it once more; 0 */
    uint64_t next_report_at; /* two hops: and when again; 0 */
    uint64_t stale_at;       /* when one that it has left will; 0: none */
    uint32_t stale_ms;       /* with this timeout */
    uint64_t report_phase;
    struct sim__link *link;
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

/* A path that is watched. */
struct sim__watched_path {
    char *path;
    struct uvzk__link data, child;
    UT_hash_handle hh; /* by path */
};

/* Of those cut off. */
struct sim__known_session {
    int64_t id;
    uint32_t timeout_ms;
};

/* A znode on which a right is missing for a time. */
struct sim__missing {
    char *path; /* NULL: none */
    struct sim__event end;
};

/* One that nobody could READ as it went: of its end no watch has told. */
struct sim__unread {
    char *path;
    bool counted;     /* it has had children */
    int64_t czxid;    /* its own */
    int64_t zxid;     /* of the transaction by which it went */
    uint64_t last_ms; /* when the last server carried that out, of those that have */
};

struct sim__moment {
    int64_t zxid;
    uint64_t ms;
};

/* All of them: what has been committed. */
struct sim__server {
    struct sim__tree tree;
    struct sim__member *members, *leader;
    size_t member_count;
    uint32_t forgets;   /* so many transactions, at the next election */
    int64_t *forgotten; /* czxids of what was lost so */
    size_t forgotten_count;
    struct sim__event deposed_end; /* set: an old leader is cut off */
    struct sim__known_session *known;
    size_t known_count;
    uint64_t txn_count;
    struct sim__txn *txn;  /* begun */
    struct uvzk__link log; /* what not all members have applied */
    struct sim__session *sessions;
    struct sim__session operator_session; /* of sim_create_by_hand; it never ends */
    int64_t next_session;
    uint64_t up_at; /* no connection before */
    uint64_t throttles_until;
    struct sim__missing unreadable_path, forbidden; /* READ on it; DELETE in it */
    char **blinded;                                 /* which have been */
    size_t blinded_count;
    struct sim__unread *unread;
    size_t unread_count;
    struct sim__moment *moments; /* of all transactions behind the first of these */
    size_t moment_count, moment_room;
    struct sim__event container_check;
    struct {
        int status;
        uint32_t times;
    } refuse[UVZK__RPC_MULTI + 1];
    size_t refused_op; /* the one to blame in a multi; SIZE_MAX: none is named */
};

void sim__server_init(struct sim *sim);
void sim__server_free(struct sim *sim);
/* Takes the request over. */
void sim__server_receive(struct sim *sim, struct sim__link *link,
                         struct sim__request *request);
/* What was sent before still arrives, then END. */
void sim__server_hang_up(struct sim *sim, struct sim__link *link);
void sim__server_detach(struct sim__link *link);
/* One op, with the next zxid: 0 or the server's refusal. *made: the znode
 * created or set, else untouched. Sequential creates are understood too. */
int sim__server_write(struct sim *sim, struct uvzk__op op, struct sim__session *session,
                      struct sim__node **made);

/* kind: enum sim__watch_kind. Nothing if the id is 0 or stands already. */
void sim__watch_add(struct sim__link *link, uint64_t id, const char *path, uint32_t kind);
void sim__watch_remove(struct sim__link *link, uint64_t id);
void sim__watch_drop_all(struct sim__link *link);
void sim__watch_tell(struct sim *sim, struct sim__link *link, uint64_t id,
                     enum uvzk__watch_event event);
/* Tells who watches the znode itself at this member, and of its end also who watches
 * its children; who watches the children of its parent. Of what nobody may read the
 * watches go, and nothing is told. */
void sim__watch_fire_node(struct sim *sim, struct sim__member *member,
                          const struct sim__node *node, enum uvzk__watch_event event);
void sim__watch_fire_parent(struct sim *sim, struct sim__member *member,
                            const struct sim__node *node);

struct sim__session *sim__session_new(struct sim *sim, uint32_t timeout_ms);
/* A connect that has come to a server: from now on it lasts so long. */
void sim__session_connected(struct sim *sim, struct sim__session *session,
                            uint32_t timeout_ms);
/* Its client has read of it: the session lasts no longer than that, from now on. */
void sim__session_told(struct sim *sim, const struct sim__client *client, int64_t id,
                       uint32_t timeout_ms);
/* A leader that has begun, or will then. */
void sim__session_inherited(struct sim *sim, struct sim__session *session, uint64_t at);
/* Its server hears nothing of the leader's until then. */
void sim__session_delayed(struct sim *sim, struct sim__session *session, uint64_t until);
void sim__session_end(struct sim *sim, struct sim__session *session);
/* It has sent something. */
void sim__session_heard(struct sim *sim, struct sim__session *session);
/* What its follower has not reported yet is lost. */
void sim__session_unreported(struct sim *sim, struct sim__session *session);
struct sim__session *sim__session_find(const struct sim *sim, int64_t id);

/* -------------------------------------------------------------------- client */

enum sim__io {
    SIM__IO_DOWN,       /* no handle */
    SIM__IO_OPENING,    /* open() was called, addresses are resolved */
    SIM__IO_CONNECTING, /* waiting for the next attempt */
    SIM__IO_HANDSHAKE,  /* CONNECT is on its way */
    SIM__IO_UP,
    SIM__IO_DEAD /* expired or refused; the user has not heard yet */
};

/* A watch as the client keeps it, from submit() to its end. */
struct sim__client_watch {
    uint64_t id;
    struct uvzk__watch *watch;
    struct uvzk__rpc *rpc; /* while it is being armed */
    char *path;
    uint32_t kind; /* enum sim__watch_kind */
    bool armed;    /* the I/O has read the reply */
    bool fired;    /* the I/O has read the event */
    UT_hash_handle hh_id, hh_path;
};

struct sim__client {
    struct uvzk__port port; /* first */
    struct sim *sim;
    struct uvzk__link all; /* sim->clients */
    uint64_t process;      /* those of one process have one number */
    char *name;
    enum sim__io io;
    struct sim__link *link;           /* HANDSHAKE, UP */
    int64_t session_id, session_seen; /* I/O's; the user's, 0 when down */
    int64_t last_zxid;
    uint32_t timeout_ms; /* asked for, then granted */
    uint32_t asked_ms;
    uint64_t heard, sent; /* last byte read, written */
    size_t unanswered;    /* requests read by nobody yet: no pings meanwhile */
    uint64_t epoch;       /* of the I/O's connection */
    uint64_t told_epoch;  /* what the user was told; 0: not connected */
    bool closing;
    struct uvzk__rpc *first, *last; /* outstanding, in order of submission */
    size_t outstanding;
    uint64_t submitted;
    struct uvzk__link inbox; /* answers read, not delivered */
    struct sim__client_watch *by_id, *by_path;
    /* Everything that runs in the process: what a pause holds up. */
    struct sim__event deliver, alarm, wake, connect, ping, timeout;
    uint64_t paused_until, stalled_until;
    uint64_t clock_ms, clock_set_at; /* the process's clock, and when that was so */
    int64_t clock_rate; /* of a million; what it gains is what it is beyond */
    uint64_t alarm_ms;  /* by that clock; NEVER: none */
    bool auth_failed;
    uint64_t cut_until;
    uint32_t latency_min_ms, latency_max_ms;
    uint64_t extra_ms;
    bool lose_request, lose_reply, reply_enomem; /* the next one to arrive */
    uint32_t lose_events;                        /* watch events that are never told */
    bool replace_handle;                         /* at the next attempt that may */
    bool leaves; /* a server that has diverged; told behind the next SUSPENDED */
    bool connects_unreported; /* likewise, which comes through first */
    bool ends_session;        /* when EXPIRED has been told */
    bool keeps_handle;        /* another library's: never replaced at random */
    bool watches_lost;        /* by that; told with the next CONNECTED */
    int fail_open;
    struct sim__member *left; /* not to be tried next; NULL: none */
    int server;               /* where it connects to from now on; -1: anywhere */
    uint32_t fail_random;     /* counts down to the call that fails */
};

struct sim__client *sim__client_of(const struct uvzk__port *port);
/* When the process's clock shows this, or now. */
uint64_t sim__client_when(const struct sim__client *client, uint64_t clock_ms);
void sim__client_set_clock(struct sim__client *client, uint64_t clock_ms, int64_t rate);
/* Whether the event has to wait until the process, or its loop, goes on: it has
 * been put off then. */
bool sim__client_held(struct sim__client *client, struct sim__event *event, bool by_loop);
struct sim__client_watch *sim__client_watch_find(struct sim__client *client, uint64_t id);
/* Its user has heard that the connection is lost, and of nothing since; nor is anything
 * outstanding. */
bool sim__client_is_lost(const struct sim__client *client);
/* None fires any more. */
void sim__client_drop_watches(struct sim__client *client);
/* An attempt to connect has failed. */
void sim__client_unreached(struct sim__client *client);
/* Hands an answer to the loop. */
void sim__client_push(struct sim__client *client, struct sim__answer *answer);

struct sim__request *sim__request_new(uint32_t kind, const char *path);
struct sim__request *sim__request_of(const struct uvzk__rpc *rpc);
void sim__io_init(struct sim__client *client);
void sim__io_open(struct sim__client *client);
void sim__io_send(struct sim__client *client, struct sim__request *request);
/* An answer has arrived (taken over). */
void sim__io_read(struct sim__client *client, struct sim__answer *answer);
/* The connection has been lost; of the requests on their way, `keep` arrive. */
/* The handle is given up: the loop will hear EXPIRED. */
void sim__io_abandon(struct sim__client *client);
void sim__io_lost(struct sim__client *client, size_t keep);
/* Closes this end for good or until the next attempt. */
void sim__io_close_link(struct sim__client *client, size_t keep);

/* ----------------------------------------------------------------- the whole */

struct sim__trace {
    char (*lines)[200]; /* a ring; NULL: no trace */
    size_t room;
    uint64_t count;
    uint64_t hash;
};

struct sim {
    struct sim_options options;
    struct sim_faults faults;
    struct sim__event fault_clock;
    uint64_t now, order, steps;
    uint64_t fault_count;
    uint64_t random[4];
    struct sim__event **heap;
    size_t heap_count, heap_room;
    struct sim__server server;
    struct uvzk__link clients, links;
    uint64_t processes; /* there have been */
    bool dead_links;
    uint64_t watch_ids;
    struct sim__trace trace;
};

/* Memory of the simulator: never of the allocator under test, never NULL. */
void *sim__alloc(size_t size); /* zeroed */
void *sim__copy(const void *bytes, size_t size);
/* Overwritten first, so that who still reads it sees it. */
void sim__free(void *memory, size_t size);

void sim__random_seed(struct sim *sim, uint64_t seed);
uint64_t sim__random_word(struct sim *sim);
/* Whether a fault of this probability (parts per million) happens; it is counted. */
bool sim__random_hit(struct sim *sim, uint32_t ppm);
uint64_t sim__random_between(struct sim *sim, uint64_t low, uint64_t high);

void sim__trace_line(struct sim *sim, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define sim__trace(sim, ...)                     \
    do {                                         \
        if ((sim)->trace.lines != NULL) {        \
            sim__trace_line((sim), __VA_ARGS__); \
        }                                        \
    } while (0)
const char *sim__code(int status); /* "ok", "ENONODE", ... */
const char *sim__request_name(uint32_t kind);

/* The port was misused: says how, prints the trace, aborts. */
_Noreturn void sim__misuse(struct sim *sim, const char *who, const char *what);

void sim__fault_tick(struct sim *sim, struct sim__event *event);

/* ------------------------------------------------------------------- rights */

/* One at random; unless one is without the right already. */
void sim__blind_one(struct sim *sim, uint64_t ms);
void sim__forbid_one(struct sim *sim, uint64_t ms);
void sim__rights_are_back(struct sim *sim);
/* Nobody may read it from now on. */
void sim__blinded(struct sim *sim, const struct sim__node *node);
/* Whether READ is missing at the instant in which a znode goes. */
bool sim__goes_unread(struct sim *sim);
/* It was, and this member has carried that out. */
void sim__went_unread(struct sim *sim, const struct sim__member *member,
                      const struct sim__node *node);
/* A transaction begins. */
void sim__moment_passes(struct sim *sim);
void sim__rights_free(struct sim *sim);

#endif
