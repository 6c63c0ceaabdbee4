/* SPDX-License-Identifier: Apache-2.0 */
/* A ZooKeeper ensemble in memory, with virtual time: the second implementation of
 * engine/port.h. The tests of whole clients run on it, and uvzk_sim.h offers it to users.
 *
 *   test ── uvzk client ── port ═══ link ═══ server ── znodes
 *                            │    latency,     sessions, watches
 *                            │    cuts
 *                            └─ one process: may stall or be stopped
 *
 * Everything that happens is an event at a virtual millisecond. sim_step() performs
 * exactly one event, the earliest. The simulator reads no clock, starts no thread and
 * does not depend on addresses. So the same seed always gives the same history, to the
 * last byte of the trace.
 *
 * When a test misuses the port, the simulator prints the trace and aborts. Examples of
 * misuse: a persistent watch and another one on a path; an rpc that is submitted
 * twice, or changed while it is outstanding; a container in a multi.
 *
 * The functions below may be called between steps and from any callback. A port that is
 * passed to them must have been made by sim_port_new or sim_port_beside, and must not be
 * closed yet. `server` is the number of a server, from 0. */
#ifndef UVZK_SIM_H
#define UVZK_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/port.h"

struct sim;

/* ------------------------------------------------------------------ options */

/* The number at the end of a comment is the default. The default of a bool is false,
 * except for `trace`. */
struct sim_options {
    uint64_t start_ms;           /* the virtual time at the beginning; 1000 */
    uint32_t tick_ms;            /* sessions expire at multiples of a tick; 2000 */
    uint32_t session_timeout_ms; /* what every session requests; 10000 */
    uint32_t latency_min_ms;     /* of each message, one way; 1 */
    uint32_t latency_max_ms;     /* 20 */
    uint32_t to_loop_max_ms;     /* from the client's I/O thread to its loop; 0 */
    /* All that has arrived is delivered in one event, and the turn comes after all of it,
     * as in loop/. Otherwise each event delivers one reply, watch event or session
     * event. */
    bool batches;
    uint32_t alarm_late_max_ms; /* how late an alarm may come; 2 */
    /* 1. With more than one, each server except the leader applies transactions later
     * than the leader, and a connection may come to any server. */
    uint32_t servers;
    uint32_t lag_max_ms; /* until a server has applied a transaction; 20 */
    /* How often the servers delete empty containers; 60000. */
    uint32_t container_check_ms;
    bool container_check_random; /* at random times, with that interval on average */
    /* The clock of each process runs faster or slower than the servers' clock, by a
     * random rate of at most this many parts per million; 0. */
    uint32_t clock_drift_ppm;
    /* The wall clock of each server, which dates what is created while that server leads,
     * is ahead or behind by a random time of at most this much; 0. */
    uint32_t server_clocks_max_ms;
    bool no_containers; /* as a server before 3.5.1: UVZK_EUNIMPLEMENTED */
    /* As a server before 3.5.0: the reply to a create has no stat, and a watch is not
     * removed at the server. */
    bool no_create2, no_removal;
    /* As a server before 3.6, and as the C client: UVZK_EUNIMPLEMENTED. */
    bool no_persistent_watches;
    /* As other programs that speak the protocol: no session is resumed. Each reconnect
     * ends the client's session, which lives on at the server until its timeout. */
    bool forgets_sessions;
    /* As a follower of ClickHouse Keeper: what it answers without the leader does not keep a
     * session alive. A ping, a write and a sync do, and the leader hears of them at once. */
    bool reads_keep_no_session;
    /* As ZooKeeper from 3.9 on: a watch event has the zxid of its transaction. */
    bool event_zxids;
    /* As ZooKeeper from 3.9.0 on: a persistent watch and another one of the session on
     * the same path stay as they are. Before, the later one replaced the mode of the
     * earlier one (ZOOKEEPER-4466). */
    bool mixes_watches;
    /* To clients outside, as from ZooKeeper 3.9.0 on: the result of a create in a multi has
     * the znode's stat, unless the request is the oldest one (ZOOKEEPER-4026). */
    bool multis_tell_stats;
    /* The servers' jute.maxbuffer: a longer request costs its connection; 1048575. */
    uint32_t jute_maxbuffer;
    /* The same of the clients: a longer reply costs its connection; 0: no limit. */
    uint32_t client_maxbuffer;
    /* Every client counts as connected to a follower. The follower reports to the leader
     * every half tick which sessions it has heard of. What it has not reported is lost
     * when the follower dies. */
    bool followers;
    /* With `followers`: every server is an observer that gets its data from the
     * ObserverMaster of a follower. Not to be combined with late_pings. */
    bool two_hops;
    /* exists needs the READ permission, as in servers from 3.8.4 and 3.9.2 on. */
    bool exists_needs_read;
    /* zookeeper.enableEagerACLCheck: a server refuses a delete itself if the permission
     * for it is missing in what that server has applied. It does so before it has
     * answered earlier requests of the connection. */
    bool eager_acl_checks;
    /* Each server has a longest session timeout of its own, of 2 to 6 ticks. */
    bool different_limits;
    /* A server that lags behind the leader also answers the leader's pings late, and a
     * server that a session has left reports the session once more. */
    bool late_pings;
    /* A client that has reconnected requests its watches again in random order, and gets
     * the missed events in that order. */
    bool shuffle_rewatches;
    /* When a late loop continues, an alarm that is due comes before everything else that
     * is due, as libuv's timers do. */
    bool late_loop;
    uint32_t late_open_max_ms; /* how long it takes to open a replaced handle; 0 */
    bool shuffle_ties;         /* events of the same millisecond come in random order */
    /* sim_session_id and sim_auth_failed may be asked about a port that has closed, until the
     * simulation is freed. Otherwise a port is freed when it has closed. */
    bool keeps_ports;
    bool trace;         /* keep a trace; true. It costs time. */
    size_t trace_lines; /* how many lines are kept; 2000 */
    /* Called with each line of the trace; NULL: none. */
    void (*trace_cb)(void *arg, const char *line);
    void *trace_arg;
};
/* Sets all options to their defaults. */
void sim_options_init(struct sim_options *options);

/* ------------------------------------------------------------- running it */

/* options: copied; NULL: the defaults. */
struct sim *sim_new(uint64_t seed, const struct sim_options *options);
/* Aborts if a port has not been closed. */
void sim_free(struct sim *sim);

/* Makes a port in a new process called `name`, which is copied and appears in the trace.
 * The port frees itself when it is closed. */
struct uvzk__port *sim_port_new(struct sim *sim, const char *name);
/* Makes another port in the same process. The ports of a process share its clock, and
 * sim_pause, sim_resume and sim_stall affect all of them. */
struct uvzk__port *sim_port_beside(const struct uvzk__port *port);
/* Returns whether any port has not been closed yet. */
bool sim_has_ports(const struct sim *sim);

/* Performs the earliest event; returns false if there is none. */
bool sim_step(struct sim *sim);
/* Performs all events up to and including time t, and leaves the time at t. */
void sim_run_until(struct sim *sim, uint64_t t);
void sim_run_for(struct sim *sim, uint64_t ms);

/* The virtual time, in ms. */
uint64_t sim_now(const struct sim *sim);
/* The number of steps performed so far. */
uint64_t sim_steps(const struct sim *sim);
/* The number of random faults (struct sim_faults) so far. A fault that could not change
 * anything counts, too. */
uint64_t sim_fault_count(const struct sim *sim);
/* When the last restart or election ends, or has ended; 0: there has been none. */
uint64_t sim_back_at(const struct sim *sim);
/* Returns a number that is uniform in [0, n), from the only generator of this simulation.
 * n is at least 1. */
uint64_t sim_random(struct sim *sim, uint64_t n);

/* ---------------------------------------------------------------- the trace */

/* Adds a line of the test's own to the trace. */
void sim_note(struct sim *sim, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints the lines that are kept. */
void sim_trace_print(const struct sim *sim, FILE *file);
/* A trace_cb for the options; it does not use trace_arg. */
void sim_trace_to_stderr(void *trace_arg, const char *line);
/* A hash of all lines so far, including those that are no longer kept. */
uint64_t sim_trace_hash(const struct sim *sim);

/* ----------------------------------------------- what has been committed so far */

/* These functions read the leader's znodes, which are what the servers have committed. */
bool sim_exists(const struct sim *sim, const char *path);
/* Returns false, and leaves *stat as it is, if there is no such znode. */
bool sim_stat(const struct sim *sim, const char *path, struct uvzk__stat *stat);
/* Returns NULL if there is no such znode. The data is borrowed until the znode
 * changes. */
const void *sim_data(const struct sim *sim, const char *path, size_t *length);
/* Returns the number of children, and stores the first `max` names in the order of their
 * creation. The names are borrowed until the znodes are deleted. names may be NULL if max
 * is 0. */
size_t sim_children(const struct sim *sim, const char *path, const char **names,
                    size_t max);
size_t sim_node_count(const struct sim *sim); /* includes the root */
size_t sim_ephemeral_count(const struct sim *sim, int64_t session_id);
bool sim_session_alive(const struct sim *sim, int64_t session_id);
size_t sim_session_count(const struct sim *sim);
size_t sim_watch_count(const struct sim *sim); /* at all servers */
int64_t sim_zxid(const struct sim *sim);       /* of the last transaction */
/* How many requests were longer than jute.maxbuffer. */
uint64_t sim_too_long(const struct sim *sim);

/* ------------------------------------------------------- an operator's changes */

/* Creates a znode as another user would, in a session that never ends. Returns its full
 * path, which is borrowed until the znode is deleted; NULL if the server refused it. */
const char *sim_create_by_hand(struct sim *sim, const char *path, enum uvzk__mode mode);
/* The same, in the session of a client that does not know of the znode. */
const char *sim_create_in_session(struct sim *sim, int64_t session_id, const char *path,
                                  enum uvzk__mode mode);
/* These return 0 or the server's refusal, for example UVZK_ENONODE or UVZK_ENOTEMPTY. */
int sim_delete_by_hand(struct sim *sim, const char *path);
int sim_set_by_hand(struct sim *sim, const char *path, const void *data, size_t length);
/* Takes READ on this znode from all clients, as if its ACL gave READ to nobody, or gives
 * it back to all. Returns 0 or UVZK_ENONODE. Without READ, get, getChildren and the check
 * of a multi return UVZK_ENOAUTH, and so does exists with the option exists_needs_read. A
 * change then uses up the watches on the znode without any event. */
int sim_set_readable(struct sim *sim, const char *path, bool readable);
bool sim_is_readable(const struct sim *sim, const char *path);
/* Returns whether READ has been taken, at some time so far, from a znode at this path or
 * below it. */
bool sim_was_unreadable(const struct sim *sim, const char *path);
/* Takes DELETE on this znode from all clients but not from the operator, or gives it back
 * to all. Returns 0 or UVZK_ENONODE. Without it, the delete of a child returns
 * UVZK_ENOAUTH, even if there is no such child. */
int sim_set_deletable(struct sim *sim, const char *path, bool deletable);
/* The next three functions are about unread removals: a znode was deleted while it could
 * not be read, so the watches on it were used up without an event (A8 of
 * docs/promise.md).
 *
 * Returns the czxid of the last znode of this path that was removed unread; 0: there was
 * none. */
int64_t sim_unread_removal(const struct sim *sim, const char *path);
/* Returns whether the znode with this czxid was removed unread, and the last server
 * applied the removal at most `ms` ago. */
bool sim_went_unread(const struct sim *sim, int64_t czxid, uint64_t ms);
/* Returns whether a directory at this path, or below it, was removed unread before the
 * transaction `first`, and the transaction `second` came at most `ms` after the last
 * server applied that removal. `first` must come before `second`. A client that made a
 * znode there in such a transaction may not have known of the removal. */
bool sim_made_behind_unread(const struct sim *sim, const char *path, int64_t first,
                            int64_t second, uint64_t ms);
/* Sets the number that the next sequential child gets, at the leader. The counter stays
 * at 2147483647 when it gets there. Returns 0 or UVZK_ENONODE. */
int sim_set_counter(struct sim *sim, const char *path, int32_t value);
/* Returns that number; INT32_MAX if there is no such znode. */
int32_t sim_counter(const struct sim *sim, const char *path);
/* Deletes the empty containers now. */
void sim_check_containers(struct sim *sim);

/* ---------------------------------------------------------------- the client */

/* The session of which CONNECTED has been reported; 0: none. */
int64_t sim_session_id(const struct uvzk__port *port);
/* Sets the session timeout that the next session of this port requests. */
void sim_set_timeout(struct uvzk__port *port, uint32_t timeout_ms);
/* Sets the servers' jute.maxbuffer from now on. */
void sim_set_jute_maxbuffer(struct sim *sim, uint32_t bytes);
/* Sets the latency of this port's messages from now on, one way. */
void sim_set_latency(struct uvzk__port *port, uint32_t min_ms, uint32_t max_ms);
/* How many rpcs have no reply yet. */
size_t sim_outstanding(const struct uvzk__port *port);
/* How many watches are armed or being armed. */
size_t sim_armed(const struct uvzk__port *port);
/* How many rpcs have been submitted so far. */
uint64_t sim_submitted(const struct uvzk__port *port);

/* ------------------------------------------------------------------- faults */

enum sim_cut {
    SIM_RESET, /* the client learns of it at once */
    /* The client learns of it when it has read nothing for 2/3 of the session timeout. A
     * shorter cut only delays the messages. */
    SIM_SILENT
};

/* The connection is lost, and no new one is possible for `ms`. Messages that were on
 * their way to the server may or may not arrive. */
void sim_disconnect(struct uvzk__port *port, enum sim_cut cut, uint64_t ms);
/* The client's next request that arrives (pings do not count) is lost before the server
 * executes it, or it is executed and its reply is lost. Then the connection is lost.
 * Replies that were sent before still arrive. */
void sim_lose_request(struct uvzk__port *port);
void sim_lose_reply(struct uvzk__port *port);
/* The client's next `times` watch events are lost, and their watches are used up. A
 * server does the same with a watch on a znode that the client may not READ. */
void sim_lose_events(struct uvzk__port *port, uint32_t times);
/* The next request is executed, but its reply is UV_ENOMEM, as if there had been no
 * memory for the reply. */
void sim_reply_enomem(struct uvzk__port *port);
/* The next message in each direction takes `ms` longer. */
void sim_delay(struct uvzk__port *port, uint64_t ms);
/* The servers end the client's session and close the connection. Returns false if the
 * client has no session. */
bool sim_expire(struct uvzk__port *port);
/* The same, and EXPIRED is reported at once, without SUSPENDED before it. Returns false
 * and does nothing if the session is not connected. */
bool sim_expire_connected(struct uvzk__port *port);
/* The process is stopped (SIGSTOP) for `ms`. It reads nothing and sends nothing, and its
 * clock continues. UINT64_MAX: until sim_resume. */
void sim_pause(struct uvzk__port *port, uint64_t ms);
/* Ends both sim_pause and sim_stall. */
void sim_resume(struct uvzk__port *port);
/* The loop of the process is busy for `ms`: no callback runs, but the I/O thread
 * continues. */
void sim_stall(struct uvzk__port *port, uint64_t ms);
/* The follower to which the client is connected loses its leader for `ms`. Meanwhile it
 * answers pings and reads from the znodes of that moment, all other requests wait, and
 * the leader hears nothing of the session. Then the follower closes the connection. */
void sim_follower_cut(struct uvzk__port *port, uint64_t ms);
/* The time by the clock of the process. It is the simulation's time, unless the clock
 * drifts or has jumped. */
uint64_t sim_clock(const struct uvzk__port *port);
/* From now on the clock runs faster than the servers' clock by this many parts per
 * million; negative: slower. */
void sim_set_clock_drift(struct uvzk__port *port, int32_t ppm);
/* The clock jumps forward, as after a suspension of the machine. An alarm that is due by
 * then comes within a second. */
void sim_jump_clock(struct uvzk__port *port, uint64_t ms);
/* CONNECTED is reported once more, without a disconnection. */
void sim_repeat_connected(struct uvzk__port *port);
/* The next reconnect after SUSPENDED uses a new handle: the session continues, but its
 * watches are lost. */
void sim_replace_handle(struct uvzk__port *port);
/* The same, but before that the old handle reconnects once while it is being closed. The
 * server knows of that connection, but no event reports it. */
void sim_reconnect_unreported(struct uvzk__port *port);
/* The handle cannot be closed without ending the session: EXPIRED is reported, and the
 * session ends directly after that. Does nothing unless SUSPENDED has been reported, the
 * client is not connected again, and nothing is outstanding. */
void sim_close_handle(struct uvzk__port *port);
/* For a client of another library: random faults never replace or close its handle. */
void sim_keep_handle(struct uvzk__port *port);
/* The server refuses the client's credentials; the session continues at the servers. Does
 * nothing without a connection. */
void sim_fail_auth(struct uvzk__port *port);
/* Returns whether sim_fail_auth has ever affected this client. */
bool sim_auth_failed(const struct uvzk__port *port);
/* The next open() ends with OPEN_FAILED and this status. */
void sim_fail_open(struct uvzk__port *port, int status);
/* The n-th call of random() from now on fails with UV_EIO; 1 is the next call. */
void sim_fail_random(struct uvzk__port *port, uint32_t n);

/* All connections are lost, and no new one is possible for `ms`. Sessions survive and get
 * their whole timeout again, as after the election of a leader. */
void sim_restart(struct sim *sim, uint64_t ms);
/* The server to which the port is connected; -1: none. */
int sim_server_of(const struct uvzk__port *port);
int sim_leader(const struct sim *sim);
/* To which server the client's next connections go; -1: to any server. */
void sim_connect_to(struct uvzk__port *port, int server);
/* The connection is lost, and the client reconnects at once, to another server if there
 * is one. Requests that are still on their way to the old server may be slow. When they
 * arrive after the session has moved, the server does not execute them. */
void sim_move(struct uvzk__port *port);
/* Sets the server's longest session timeout for the connections from now on; 0: no
 * limit. */
void sim_set_limit(struct sim *sim, int server, uint32_t timeout_ms);
/* The server applies nothing for `ms`, unless it leads. It continues to answer reads from
 * what it has applied. Writes are committed, but their replies wait. */
void sim_lag(struct sim *sim, int server, uint64_t ms);
/* The same. When the server has applied everything, it is cut off from the leader, for up
 * to twice the session timeout. If its answers to pings are late, they are lost. */
void sim_lag_and_cut(struct sim *sim, int server, uint64_t ms);
/* The leader and this many followers are cut off from the other servers for `ms`, without
 * knowing it. They answer as if there were no more writes, unless a quorum is needed.
 * sync and the reconnect of a session that they know need none. Meanwhile the other
 * servers elect a leader, which takes `election_ms`; then sessions have their whole
 * timeout again. Returns false and does nothing if the other servers would be no
 * majority, or if an old leader is cut off already. */
bool sim_depose(struct sim *sim, uint32_t followers, uint64_t election_ms, uint64_t ms);
/* This follower does not apply the next `count` deletes of ephemerals. It shows these
 * znodes for as long as their sessions live. If it becomes the leader, the znodes exist
 * again at all servers. */
void sim_miss_deletes(struct sim *sim, int server, uint32_t count);
/* This follower does not apply the next `count` creates of ephemerals. It does not show
 * these znodes until the next election. */
void sim_miss_creates(struct sim *sim, int server, uint32_t count);
/* The follower loses a znode that it has shown until now, as after a restart without it.
 * The znode must exist there. */
void sim_lose_node(struct sim *sim, int server, const char *path);
/* Returns whether this server shows the znode. */
bool sim_shows(const struct sim *sim, int server, const char *path);
/* The next leader has lost the ephemerals that were created by the last `transactions`
 * transactions, and gives their sequence numbers again. */
void sim_lose_transactions(struct sim *sim, uint32_t transactions);
/* Returns whether the znode with this czxid was lost in that way; 0: whether any was. */
bool sim_lost_transaction(const struct sim *sim, int64_t czxid);
/* Returns the czxid of the last znode of this path that was lost in that way; 0: there was
 * none. */
int64_t sim_lost_znode(const struct sim *sim, const char *path);
/* Deletes the znodes that exist again, and those that a follower shows because it has
 * missed their deletes. Missing znodes stay missing. */
void sim_converge(struct sim *sim);
/* An operator deletes one znode that exists again: the first one for which may_go returns
 * true. */
void sim_delete_resurrected(struct sim *sim,
                            bool (*may_go)(void *, int64_t owner, const char *path),
                            void *context);
/* For `ms`, half of the requests, at random, are refused with UVZK_ETHROTTLED. */
void sim_throttle(struct sim *sim, uint64_t ms);
/* The next `times` requests of this kind, of any client, are answered with this status
 * and not executed. */
void sim_refuse(struct sim *sim, enum uvzk__rpc_kind kind, int status, uint32_t times);
/* A multi that sim_refuse refuses names this operation as the one that failed, if it has
 * an operation with this index. SIZE_MAX, the initial value: it names none. */
void sim_set_failed_op(struct sim *sim, size_t index);

/* Random faults. Each probability is in parts per million, and applies to what its
 * comment names. "A client's second" is each virtual second of each client. */
struct sim_faults {
    uint32_t lose_request, lose_reply, reply_enomem; /* a request */
    /* A request; used instead of lose_reply while an old leader is cut off. */
    uint32_t lose_reply_deposed;
    /* A watch event: the client then loses its connection, and no other server applies
     * the change for up to a second. */
    uint32_t move_at_event;
    uint32_t delay;        /* a message */
    uint32_t tamper;       /* a reply, over bytes alone (tests/virtual/tampering.h) */
    uint32_t random_fails; /* a call of random() */
    uint32_t reset, silence, expire, pause, stall; /* a client's second */
    uint32_t follower_cut, repeat_connected;       /* a client's second */
    uint32_t move, clock_jump, fail_auth;          /* a client's second */
    uint32_t replace_handle;                       /* a client's second */
    uint32_t reconnect_unreported, close_handle;   /* a client's second */
    uint32_t restart, lag, depose, throttle;       /* a second */
    uint32_t unreadable, forbid;                   /* a second */
    uint32_t blind_removal; /* the delete of a znode: READ is missing at that moment */
    uint32_t miss_delete;   /* the delete of an ephemeral, at the server `diverges` */
    uint32_t diverges;      /* no probability: the number of that server */
    uint32_t forget;        /* an election: the leader has lost 1 to 12 transactions */
    uint32_t limit;         /* a second: the limit of one server changes */
    /* A lag: the server is cut off at its end, before it has answered a ping. */
    uint32_t cut_behind_lag;
    /* The longest durations; 0: half a session timeout. */
    uint32_t delay_max_ms;
    uint32_t down_max_ms;  /* cuts and restarts */
    uint32_t pause_max_ms; /* pauses and stalls */
    uint32_t cut_max_ms;   /* follower cuts */
    uint32_t lag_max_ms;
    uint32_t depose_max_ms;
    uint32_t jump_max_ms;
    uint32_t throttle_max_ms;
    uint32_t unreadable_max_ms; /* one znode at a time has no READ */
    uint32_t forbid_max_ms;     /* one directory at a time has no DELETE */
};
/* Random faults happen from now on. faults: copied; NULL: no random faults from now on,
 * and the missing permissions are given back. */
void sim_set_faults(struct sim *sim, const struct sim_faults *faults);

#endif
