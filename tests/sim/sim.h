/* A ZooKeeper in memory, with virtual time: the other world behind port.h.
 *
 *   test ── uvzk client ── port ═══ link ═══ server ── znodes
 *                            │    latency,     sessions, watches
 *                            │    cuts
 *                            └─ one process: may stall or be stopped
 *
 * Everything that happens is an event at a virtual millisecond; sim_step()
 * performs exactly one, the earliest. Nothing here reads a clock, starts a
 * thread or depends on an address: one seed, one history, to the last byte of
 * the trace.
 *
 * Misuse of the port (a watch on a path that is watched already, an rpc
 * submitted twice or changed while it is outstanding, a container in a multi,
 * ...) prints the trace and aborts.
 *
 * The functions below may be called between steps and from any callback. Those
 * that take a port take one made by sim_port_new and not closed yet. */
#ifndef UVZK_SIM_H
#define UVZK_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/port.h"

struct sim;

/* ------------------------------------------------------------------ options */

struct sim_options {
    uint64_t start_ms;           /* the first moment; 1000 */
    uint32_t tick_ms;            /* sessions end at multiples of it; 2000 */
    uint32_t session_timeout_ms; /* asked for by every session; 10000 */
    uint32_t latency_min_ms;     /* one way, each message; 1 */
    uint32_t latency_max_ms;     /* 20 */
    uint32_t to_loop_max_ms;     /* from the client's I/O to its loop; 0 */
    bool batches;                /* what has arrived is delivered in one event, and
                                    the turn comes after all of it, as in loop/ */
    uint32_t alarm_late_max_ms;  /* how late an alarm may come; 2 */
    uint32_t servers;            /* 1; with more each lags behind the leader, 0, and
                                    a connection may come to any of them */
    uint32_t lag_max_ms;         /* what a transaction takes to each; 20 */
    uint32_t container_check_ms; /* how often empty containers go; 60000 */
    bool container_check_random; /* at random moments, that often on average */
    uint32_t clock_drift_ppm;    /* each process's clock runs faster or slower than
                                    the servers' by up to so much; 0 */
    bool no_containers;          /* a server before 3.5.1: EUNIMPLEMENTED */
    bool followers;              /* between clients and leader: sessions count as
                                    heard of every half tick only, and what was
                                    not reported dies with the follower */
    bool two_hops;               /* all of these are observers, each fed by a follower's
                                    ObserverMaster; not with late_pings */
    bool exists_needs_read;      /* servers from 3.8.4 and 3.9.2 on */
    bool eager_acl_checks;       /* each server refuses a lone create, delete or set by
                                    itself for which rights are missing, as far as it
                                    knows, before what it was asked for before is done:
                                    zookeeper.enableEagerACLCheck */
    bool different_limits;       /* each server has its own longest session timeout, of
                                    two to six ticks */
    bool late_pings;           /* what lags behind the leader answers its pings late, too,
                                    and what a session has left names it once more */
    bool shuffle_rewatches;    /* a client that is back asks for its watches in any
                                    order, and hears of them in that */
    bool late_loop;            /* of what is due when a loop goes on its alarm comes
                                    first, as libuv's timers do */
    uint32_t late_open_max_ms; /* what a new handle takes to be opened; 0 */
    bool shuffle_ties;         /* events of one moment come in random order */
    bool trace;                /* keep a trace; on by default, but costly */
    size_t trace_lines;        /* how many lines are kept; 2000 */
    void (*trace_cb)(void *arg, const char *line); /* told every line */
    void *trace_arg;
};
void sim_options_init(struct sim_options *options);

/* ------------------------------------------------------------- running it */

/* options may be NULL: the defaults. */
struct sim *sim_new(uint64_t seed, const struct sim_options *options);
/* Aborts when a port has not been closed. */
void sim_free(struct sim *sim);

/* A port of a new process called `name` (copied; it appears in the trace). It
 * frees itself when closed. */
struct uvzk__port *sim_port_new(struct sim *sim, const char *name);
/* Another one of the same process: what stops it or keeps its loop busy does so to all. */
struct uvzk__port *sim_port_beside(const struct uvzk__port *port);
/* Some have not been closed yet. */
bool sim_has_ports(const struct sim *sim);

/* Performs the earliest event; false if there is none. */
bool sim_step(struct sim *sim);
/* Performs all events up to and at t, and leaves the time at t. */
void sim_run_until(struct sim *sim, uint64_t t);
void sim_run_for(struct sim *sim, uint64_t ms);

uint64_t sim_now(const struct sim *sim);
uint64_t sim_steps(const struct sim *sim); /* performed so far */
/* Of `struct sim_faults`, so far: those that could change nothing count, too. */
uint64_t sim_fault_count(const struct sim *sim);
/* When the servers are, or were, back from the last restart. */
uint64_t sim_back_at(const struct sim *sim);
/* Uniform in [0, n), from the one generator of this simulation; n >= 1. */
uint64_t sim_random(struct sim *sim, uint64_t n);

/* ---------------------------------------------------------------- the trace */

/* A line of the test's own. */
void sim_note(struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sim_trace_print(const struct sim *sim, FILE *file);
/* A trace_cb of the options; it needs no trace_arg. */
void sim_trace_to_stderr(void *trace_arg, const char *line);
/* Of every line so far, also those no longer kept. */
uint64_t sim_trace_hash(const struct sim *sim);

/* -------------------------------------------------- what the server has now */

bool sim_exists(const struct sim *sim, const char *path);
bool sim_stat(const struct sim *sim, const char *path, struct uvzk__stat *stat);
/* NULL if there is no such znode; borrowed until the znode changes. */
const void *sim_data(const struct sim *sim, const char *path, size_t *length);
/* How many children; the first `max` names, in order of creation, borrowed
 * until the znodes go. names may be NULL if max is 0. */
size_t sim_children(const struct sim *sim, const char *path, const char **names,
                    size_t max);
size_t sim_node_count(const struct sim *sim); /* the root included */
size_t sim_ephemeral_count(const struct sim *sim, int64_t session_id);
bool sim_session_alive(const struct sim *sim, int64_t session_id);
size_t sim_session_count(const struct sim *sim);
size_t sim_watch_count(const struct sim *sim);
int64_t sim_zxid(const struct sim *sim);

/* ------------------------------------------------------- another one's hand */

/* A znode made by somebody else, in a session that never ends. Returns its full
 * path, borrowed until it is deleted; NULL if the server refused. */
const char *sim_create_by_hand(struct sim *sim, const char *path, enum uvzk__mode mode);
/* The same in a session of a client's, which knows nothing of it. */
const char *sim_create_in_session(struct sim *sim, int64_t session_id, const char *path,
                                  enum uvzk__mode mode);
/* 0 or UVZK_ENONODE, UVZK_ENOTEMPTY. */
int sim_delete_by_hand(struct sim *sim, const char *path);
int sim_set_by_hand(struct sim *sim, const char *path, const void *data, size_t length);
/* Nobody has READ on it any more, as on what was made with an ACL that gives it to
 * nobody; or all have: 0 or UVZK_ENONODE. Without it get, getChildren and a multi's check
 * are UVZK_ENOAUTH, and watches are used up by what happens and not told of it. */
int sim_set_readable(struct sim *sim, const char *path, bool readable);
bool sim_is_readable(const struct sim *sim, const char *path);
/* At this path, or below it, there has been one that nobody could READ for a time. */
bool sim_was_unreadable(const struct sim *sim, const char *path);
/* Nobody but the hand has DELETE on it any more: to delete one of its children, be it there
 * or not, is UVZK_ENOAUTH; or all have: 0 or UVZK_ENONODE. */
int sim_set_deletable(struct sim *sim, const char *path, bool deletable);
/* Of what nobody could READ as it went, so that watches on it were used up in silence (A8
 * of docs/promise.md). Whether a znode with this czxid went so, ms ago at most, as the last
 * server has it. */
bool sim_went_unread(const struct sim *sim, int64_t czxid, uint64_t ms);
/* Whether a directory at this path, or below it, went so before the first of two
 * transactions, and ms before the second at most: its maker may not have known of that. */
bool sim_made_behind_unread(const struct sim *sim, const char *path, int64_t first,
                            int64_t second, uint64_t ms);
/* The number the next sequential child gets. At 2147483647 it stays there. */
int sim_set_counter(struct sim *sim, const char *path, int32_t value);
/* The same; INT32_MAX if there is no such znode. */
int32_t sim_counter(const struct sim *sim, const char *path);
/* Removes the empty containers now. */
void sim_check_containers(struct sim *sim);

/* ---------------------------------------------------------------- the client */

int64_t sim_session_id(const struct uvzk__port *port); /* 0: none yet */
/* The session timeout asked for by the next session of this port. */
void sim_set_timeout(struct uvzk__port *port, uint32_t timeout_ms);
void sim_set_latency(struct uvzk__port *port, uint32_t min_ms, uint32_t max_ms);
size_t sim_outstanding(const struct uvzk__port *port); /* rpcs not replied yet */
size_t sim_armed(const struct uvzk__port *port);       /* watches, or being armed */
uint64_t sim_submitted(const struct uvzk__port *port); /* rpcs, ever */

/* ------------------------------------------------------------------- faults */

enum sim_cut {
    SIM_RESET, /* the client learns at once */
    SIM_SILENT /* it learns 2T/3 after the last byte; shorter cuts only delay */
};

/* The connection is lost, and none is possible for ms. What was on its way may
 * have arrived or not. */
void sim_disconnect(struct uvzk__port *port, enum sim_cut cut, uint64_t ms);
/* The client's next request to arrive (not its pings) reaches nobody, or is
 * applied without its reply reaching the client; then the connection is lost.
 * Replies sent before still arrive. */
void sim_lose_request(struct uvzk__port *port);
void sim_lose_reply(struct uvzk__port *port);
/* The client's next `times` watch events are never told, and their watches are used up:
 * so does a server with those of whoever may not READ the znode. */
void sim_lose_events(struct uvzk__port *port, uint32_t times);
/* Executed, but replied UV_ENOMEM: the answer did not fit into memory. */
void sim_reply_enomem(struct uvzk__port *port);
/* The next message of each direction takes ms longer. */
void sim_delay(struct uvzk__port *port, uint64_t ms);
/* The server ends the client's session and hangs up. false: it has none. */
bool sim_expire(struct uvzk__port *port);
/* The same, and the client is told EXPIRED at once, without SUSPENDED. */
bool sim_expire_connected(struct uvzk__port *port);
/* The process is stopped (SIGSTOP): it gets nothing, sends nothing, and its
 * clock goes on. UINT64_MAX: until sim_resume. */
void sim_pause(struct uvzk__port *port, uint64_t ms);
void sim_resume(struct uvzk__port *port);
/* Its loop is busy: no callback for ms, but its I/O thread goes on. */
void sim_stall(struct uvzk__port *port, uint64_t ms);
/* The follower it is connected to loses its leader for ms: pings and reads are
 * answered from the znodes of that moment, everything else hangs, the leader
 * hears nothing of the session; then the follower hangs up. */
void sim_follower_cut(struct uvzk__port *port, uint64_t ms);
/* The process's clock: the simulation's time until one of these is used. It runs at a
 * rate that differs from the servers' by so many parts per million, from now on; it jumps
 * forward, as after a suspension, which alarms learn within a second. */
uint64_t sim_clock(const struct uvzk__port *port);
void sim_set_clock_drift(struct uvzk__port *port, int32_t ppm);
void sim_jump_clock(struct uvzk__port *port, uint64_t ms);
/* CONNECTED is told once more, without a disconnection. */
void sim_repeat_connected(struct uvzk__port *port);
/* The next time that it comes back, once it has heard that its connection is lost, it
 * does so on a new handle: its session goes on, its watches are lost. */
void sim_replace_handle(struct uvzk__port *port);
/* The same, and by then it has come through by the handle that is closed, which the server
 * knows and its user never hears of. */
void sim_reconnect_unreported(struct uvzk__port *port);
/* Its handle cannot be closed without ending the session: the user is told EXPIRED, and
 * then it ends at once. Nothing, but while he has been told that the connection is lost,
 * and has nothing outstanding. */
void sim_close_handle(struct uvzk__port *port);
/* Another library's client: the faults at random never do that to it. */
void sim_keep_handle(struct uvzk__port *port);
/* The credentials are refused. The session lives on at the server. And whether that has
 * come to the client, ever. */
void sim_fail_auth(struct uvzk__port *port);
bool sim_auth_failed(const struct uvzk__port *port);
/* The next open() comes to OPEN_FAILED with this status. */
void sim_fail_open(struct uvzk__port *port, int status);
/* The n-th call of random() from now on fails with UV_EIO; 1 is the next. */
void sim_fail_random(struct uvzk__port *port, uint32_t n);

/* All connections are lost, and none is possible for ms. Sessions survive and
 * get their whole timeout again, as after the election of a leader. */
void sim_restart(struct sim *sim, uint64_t ms);
/* Of a port that is connected, else -1; and who leads. */
int sim_server_of(const struct uvzk__port *port);
int sim_leader(const struct sim *sim);
/* Where the client's next connections go; -1: anywhere. */
void sim_connect_to(struct uvzk__port *port, int server);
/* The connection is lost, and the client comes back at once, to another server if there
 * is one. What was on its way by the old one may be slow, and is not executed when it
 * arrives after that: the session has moved. */
void sim_move(struct uvzk__port *port);
/* The server's longest session timeout, as of the next connection to it; 0: any. */
void sim_set_limit(struct sim *sim, int server, uint32_t timeout_ms);
/* The server applies nothing for ms, unless it leads: it goes on to answer reads from
 * what it has, and replies of writes, which are committed, wait. */
void sim_lag(struct sim *sim, int server, uint64_t ms);
/* And is cut off from the leader, for up to twice a session timeout, when it has
 * applied all that; what it answers to pings is lost if they are late. */
void sim_lag_and_cut(struct sim *sim, int server, uint64_t ms);
/* The leader is cut off, and so many followers with it, for ms, and they do not know it:
 * they answer what needs no quorum, sync and known sessions' connections too, as if
 * nobody wrote any more. The others elect another leader meanwhile, which takes so long;
 * then sessions have their whole timeout again. false: so few would be no majority, or
 * there is an old leader already. */
bool sim_depose(struct sim *sim, uint32_t followers, uint64_t election_ms, uint64_t ms);
/* Of what is deleted from now on this follower goes on showing the next so many ephemerals,
 * for as long as their sessions live; once it leads they are back for all. Whether it shows
 * a znode. And all are of one mind again. */
void sim_miss_deletes(struct sim *sim, int server, uint32_t count);
/* Of what is made from now on it never shows the next so many ephemerals. */
void sim_miss_creates(struct sim *sim, int server, uint32_t count);
/* What it has shown until now, as a server that comes back without it. */
void sim_lose_node(struct sim *sim, int server, const char *path);
bool sim_shows(const struct sim *sim, int server, const char *path);
/* The next leader has lost what ephemerals were made by the last so many transactions, and
 * gives their numbers once more. Whether one with this czxid was lost so; 0: any at all. */
void sim_lose_transactions(struct sim *sim, uint32_t transactions);
bool sim_lost_transaction(const struct sim *sim, int64_t czxid);
void sim_converge(struct sim *sim);
/* An operator deletes one that is back, if he finds that it may go: the first of those. */
void sim_delete_resurrected(struct sim *sim,
                            bool (*may_go)(void *, int64_t owner, const char *path),
                            void *context);
/* For ms every other request, on average, is refused with UVZK_ETHROTTLED. */
void sim_throttle(struct sim *sim, uint64_t ms);
/* The next `times` requests of this kind, whoever sends them, are answered with
 * this status and not executed. */
void sim_refuse(struct sim *sim, enum uvzk__rpc_kind kind, int status, uint32_t times);
/* Multis that are refused so name this operation as the one that failed, if they have
 * it. SIZE_MAX, as in the beginning: none. */
void sim_set_failed_op(struct sim *sim, size_t index);

/* Faults at random. Probabilities are parts per million: of each request, of
 * each client and virtual second, of each virtual second. */
struct sim_faults {
    uint32_t lose_request, lose_reply, reply_enomem; /* of a request */
    uint32_t lose_reply_deposed; /* ... instead, while there is an old leader */
    uint32_t move_at_event;      /* of a watch's event, which no other server has
                                    heard of for up to a second */
    uint32_t delay;              /* of a message */
    uint32_t random_fails;       /* of a call of random() */
    uint32_t reset, silence, expire, pause, stall; /* of a client's second */
    uint32_t follower_cut, repeat_connected;       /* of a client's second */
    uint32_t move, clock_jump, fail_auth;          /* of a client's second */
    uint32_t replace_handle;                       /* of a client's second */
    uint32_t reconnect_unreported, close_handle;   /* of a client's second */
    uint32_t restart, lag, depose, throttle;       /* of a second */
    uint32_t unreadable, forbid;                   /* of a second */
    uint32_t blind_removal;  /* of a znode's removal: READ is missing at that instant */
    uint32_t miss_delete;    /* of an ephemeral's delete, at the follower that diverges */
    uint32_t diverges;       /* which one: its number */
    uint32_t forget;         /* of an election: who leads has lost a few transactions */
    uint32_t limit;          /* of a second: another one's limit */
    uint32_t cut_behind_lag; /* of a lag: cut off behind it, before a ping is answered */
    uint32_t delay_max_ms;   /* 0 in these: session timeout / 2 */
    uint32_t down_max_ms;    /* cuts and restarts */
    uint32_t pause_max_ms;   /* pauses and stalls */
    uint32_t cut_max_ms;     /* follower cuts */
    uint32_t lag_max_ms;
    uint32_t depose_max_ms;
    uint32_t jump_max_ms;
    uint32_t throttle_max_ms;
    uint32_t unreadable_max_ms; /* one znode at a time has no READ */
    uint32_t forbid_max_ms;     /* one directory at a time has no DELETE */
};
/* Copied. NULL: no random faults from now on. */
void sim_set_faults(struct sim *sim, const struct sim_faults *faults);

#endif
