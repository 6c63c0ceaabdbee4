/* A real ZooKeeper ensemble of the test's own: three servers as child processes,
 * on loopback addresses of their own, 127.0.0.1 to 127.0.0.3, with free ports
 * and directories that go away with them.
 *
 *     member 0 ----relay----> member 1      what a follower and its leader tell
 *         \----relay----> member 2          each other goes through a relay for
 *     ... and so on from each to each       each ordered pair, so that a member
 *                                           can be cut off while its clients
 *                                           still reach it.
 *
 * Elections go on past the relays: a cut member that looks for a leader hears
 * who leads, and does not get through to it.
 *
 * The functions block the caller for as long as the servers need to answer,
 * those named wait_ until something has happened; the others can be asked
 * between two turns of a loop. Start members from a thread that outlives them:
 * they die with it. */
#ifndef ENSEMBLE_H
#define ENSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#define ENSEMBLE_SIZE 3

/* Zero in any field means the default. */
struct ensemble_options {
    uint32_t tick_ms;        /* tickTime; 200 */
    uint32_t sync_limit;     /* ticks that a follower and its leader wait for a
                                word of each other; 10 */
    uint32_t min_session_ms; /* 2 ticks */
    uint32_t max_session_ms; /* 60000 */
};

struct ensemble;

/* Starts all members and waits until they serve. NULL after 60 s or on an
 * error, which is told on stderr together with the logs. options may be NULL. */
struct ensemble *ensemble_start(const struct ensemble_options *options);
/* Ends the processes, removes their directories, frees e. NULL is fine. */
void ensemble_stop(struct ensemble *e);

/* "host:port" of every member, or of one; valid until ensemble_stop. */
const char *ensemble_hosts(const struct ensemble *e);
const char *ensemble_hosts_of(const struct ensemble *e, int member);
uint32_t ensemble_tick_ms(const struct ensemble *e);
/* Where it keeps its data. */
const char *ensemble_data_of(const struct ensemble *e, int member);

/* SIGKILL, and waits until it is dead. The data stays. */
void ensemble_kill(struct ensemble *e, int member);
/* Starts a killed member again on its ports and its data, not waiting. Nothing
 * if it runs. false: told on stderr. */
bool ensemble_revive(struct ensemble *e, int member);
/* Restarts a member with this as its longest session timeout, as a rolling change of the
 * configuration does, not waiting until it serves. false: told on stderr. */
bool ensemble_limit_sessions(struct ensemble *e, int member, uint32_t max_session_ms);
/* Kills every member and removes all data: once revived they are another, new
 * ensemble on the same ports. */
void ensemble_wipe(struct ensemble *e);

void ensemble_pause(struct ensemble *e, int member);  /* SIGSTOP */
void ensemble_resume(struct ensemble *e, int member); /* SIGCONT */

/* Stops one thread of a running member, as if the system had no time for it, until
 * ensemble_unstall, which the same thread of the test must call before the member is
 * killed. The name is cut to 15 bytes, as the system does. false: told on stderr. */
bool ensemble_stall(struct ensemble *e, int member, const char *thread_name);
void ensemble_unstall(struct ensemble *e, int member);

/* What is cut between a member and the other two. Nobody is told of a cut: each
 * end waits for the other as long as sync_limit says. */
enum ensemble_cut {
    ENSEMBLE_MUTE = 1, /* what it says is not heard */
    ENSEMBLE_DEAF = 2, /* it hears nothing */
    ENSEMBLE_APART = 3 /* both */
};
void ensemble_cut(struct ensemble *e, int member, enum ensemble_cut cut);
/* As ENSEMBLE_APART of the leader; the other two are told that it is gone, and it is not
 * told that they are: they elect another one, and it goes on leading, alone, for as long
 * as sync_limit says. */
void ensemble_depose(struct ensemble *e, int leader);
/* Lets everything through again, what was backing off first. */
void ensemble_mend(struct ensemble *e, int member);

/* Whether it serves clients as a part of a quorum, by its own word. A member
 * that is dead or paused does not. */
bool ensemble_serves(const struct ensemble *e, int member);
/* Whether it says that it leads. */
bool ensemble_leads(const struct ensemble *e, int member);
/* The member that says it leads; -1: none, or more than one says so. */
int ensemble_leader(const struct ensemble *e);
/* Some member that does not lead; -1 if there is no leader. */
int ensemble_follower(const struct ensemble *e);
/* The member to which that session is connected; -1: none. */
int ensemble_member_of(const struct ensemble *e, int64_t session_id);
/* Watches, or ephemeral znodes, kept by that member; -1 if it does not answer.
 * Each keeps the watches of its own clients, and all ephemeral znodes. */
long ensemble_watch_count(const struct ensemble *e, int member);
long ensemble_ephemeral_count(const struct ensemble *e, int member);
/* Requests that it has received and not answered, its clients' pings included; -1 if it
 * does not answer this one. */
long ensemble_outstanding_count(const struct ensemble *e, int member);
/* The last transaction that one of them has carried out; -1: nobody answers. */
int64_t ensemble_last_zxid(const struct ensemble *e);

/* Whether every member serves, one of them as the leader. A condition to be waited for:
 * the argument is the ensemble. */
bool ensemble_all_serve(void *e);
/* Until all that run and are not paused serve, one of them as the leader. false:
 * not within 60 s, told on stderr with the logs. */
bool ensemble_wait_serving(struct ensemble *e);

#endif
