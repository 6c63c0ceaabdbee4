/* SPDX-License-Identifier: Apache-2.0 */
/* A real ZooKeeper ensemble for one test program: three servers as child processes on the
 * loopback addresses 127.0.0.1 to 127.0.0.3, with free ports and temporary directories.
 *
 *     member 0 ----relay----> member 1      What a follower and its leader send to
 *         \----relay----> member 2          each other passes through a relay, one for
 *     ... and so on from each to each       each ordered pair. So a member can be cut
 *                                           off while its clients still reach it.
 *
 * Elections do not pass through the relays: a cut member that looks for a leader learns
 * who leads, but cannot connect to that leader.
 *
 * The functions block the caller until the servers have answered. Those with `wait` in
 * their names block until something has happened; the others may be called between two
 * iterations of a loop. Start the ensemble from a thread that outlives it: when that
 * thread ends, the members are killed. */
#ifndef ENSEMBLE_H
#define ENSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#define ENSEMBLE_SIZE 3

/* Zero in any field means the default. */
struct ensemble_options {
    uint32_t tick_ms; /* tickTime; 200 */
    /* How many ticks a follower and its leader wait for a message of each other; 10. */
    uint32_t sync_limit;
    uint32_t min_session_ms; /* 2 ticks */
    uint32_t max_session_ms; /* 60000 */
};

struct ensemble;

/* Starts all members and waits until they serve. Returns NULL, with the error and the
 * logs on stderr, if they do not serve within 60 s. options may be NULL. */
struct ensemble *ensemble_start(const struct ensemble_options *options);
/* Kills the members, removes their directories and frees e. e may be NULL. */
void ensemble_stop(struct ensemble *e);

/* "host:port" of each member, separated by commas; valid until ensemble_stop. */
const char *ensemble_hosts(const struct ensemble *e);
/* "host:port" of one member; valid until ensemble_stop. */
const char *ensemble_hosts_of(const struct ensemble *e, int member);
uint32_t ensemble_tick_ms(const struct ensemble *e);
/* The data directory of a member. */
const char *ensemble_data_of(const struct ensemble *e, int member);

/* Sends SIGKILL and waits until the member is dead. Its data stays. */
void ensemble_kill(struct ensemble *e, int member);
/* Starts a killed member with its ports and its data, without waiting until it serves.
 * Does nothing if it runs. Returns false, with a message on stderr, if that fails. */
bool ensemble_revive(struct ensemble *e, int member);
/* Restarts a member with this maximum session timeout, as a rolling change of the
 * configuration does, without waiting until it serves. Returns false, with a message on
 * stderr, if that fails. */
bool ensemble_limit_sessions(struct ensemble *e, int member, uint32_t max_session_ms);
/* Kills every member and removes all data. When the members are revived, they are a new
 * ensemble on the same ports. */
void ensemble_wipe(struct ensemble *e);

void ensemble_pause(struct ensemble *e, int member);  /* SIGSTOP */
void ensemble_resume(struct ensemble *e, int member); /* SIGCONT */

/* Stops one thread of a running member, as if the thread got no processor time, until
 * ensemble_unstall. The same thread of the test must call ensemble_unstall before the
 * member is killed. The name is that of the thread, cut to 15 bytes as the kernel does.
 * Returns false, with a message on stderr, if that fails. */
bool ensemble_stall(struct ensemble *e, int member, const char *thread_name);
void ensemble_unstall(struct ensemble *e, int member);

/* What is cut between a member and the other two. No connection is closed: each end waits
 * for the other for sync_limit ticks. */
enum ensemble_cut {
    ENSEMBLE_MUTE = 1, /* the others receive nothing from it */
    ENSEMBLE_DEAF = 2, /* it receives nothing */
    ENSEMBLE_APART = 3 /* both */
};
void ensemble_cut(struct ensemble *e, int member, enum ensemble_cut cut);
/* Cuts the leader off as ENSEMBLE_APART does, and closes the other members' ends of the
 * connections. So the other two notice it and elect another leader. The old leader does
 * not notice it, and goes on to lead alone for sync_limit ticks. */
void ensemble_depose(struct ensemble *e, int leader);
/* Ends the cut of a member. What was held back arrives first. */
void ensemble_mend(struct ensemble *e, int member);

/* Returns true if the member says that it serves clients as a part of a quorum. A member
 * that is dead or paused does not. */
bool ensemble_serves(const struct ensemble *e, int member);
/* Whether the member says that it leads. */
bool ensemble_leads(const struct ensemble *e, int member);
/* The member that says that it leads; -1: none, or more than one. */
int ensemble_leader(const struct ensemble *e);
/* A member that serves and does not lead; -1: none, or there is no leader. */
int ensemble_follower(const struct ensemble *e);
/* The member to which this session is connected; -1: none. */
int ensemble_member_of(const struct ensemble *e, int64_t session_id);
/* The watches on this member, which are only those of its own clients; -1 if it does not
 * answer. */
long ensemble_watch_count(const struct ensemble *e, int member);
/* The ephemeral znodes that this member knows, of all sessions; -1 if it does not
 * answer. */
long ensemble_ephemeral_count(const struct ensemble *e, int member);
/* The requests that the member has received and not answered, including its clients'
 * pings; -1 if it does not answer this question. */
long ensemble_outstanding_count(const struct ensemble *e, int member);
/* The greatest zxid that a member has executed; -1 if no member answers. */
int64_t ensemble_last_zxid(const struct ensemble *e);

/* Returns true if every member serves and there is one leader. The argument is the
 * ensemble, so that this function can be a condition of run_until. */
bool ensemble_all_serve(void *e);
/* Waits until all members that run and are not paused serve, and there is one leader.
 * Returns false, with a message and the logs on stderr, after 60 s or when a member has
 * died. */
bool ensemble_wait_serving(struct ensemble *e);

#endif
