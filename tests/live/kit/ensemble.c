/* SPDX-License-Identifier: Apache-2.0 */
/* Three ZooKeeper servers as child processes, for the live tests. Tests and servers.c
 * call it; zk_process.c starts and ends each server.
 *
 * The one idea: each member's configuration names relays instead of the other members'
 * quorum ports. The relays can hold bytes back in each direction. So a member can be cut
 * off from the others without any privilege, while its clients still reach it. The
 * election ports are not relayed. */
#include "ensemble.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "relay.h"
#include "scratch.h"
#include "stall.h"
#include "zk_process.h"

#define SERVING_DEADLINE_MS 60000
/* Short, like MODE_ANSWER_MS: a member that is about to serve may not answer at all. */
#define ANSWER_MS 300
#define START_ATTEMPTS 3
#define REST_MS 10000 /* the longest search for a thread at rest */

/* How many ticks a member may take to join. Much more than it needs, so that only a test
 * that hangs reaches it. */
#define INIT_LIMIT 30

struct member {
    struct zk_process process;
    bool paused;
    pid_t stalled; /* its stopped thread; 0: none */
    uint16_t quorum_port, election_port;
    uint32_t max_session_ms;
    struct relay *to[ENSEMBLE_SIZE]; /* the relays to the other members */
    char hosts[32];
    char config[160], data[160], log[160];
};

struct ensemble {
    struct ensemble_options options;
    struct scratch directory;
    struct member members[ENSEMBLE_SIZE];
    char hosts[32 * ENSEMBLE_SIZE];
};

/* Each member has an address of its own, so its ports cannot collide with another
 * member's. The C client distinguishes servers by their addresses too. */
static const char *const addresses[ENSEMBLE_SIZE] = {"127.0.0.1", "127.0.0.2",
                                                     "127.0.0.3"};

static const struct zk_settings settings = {
    .heap_mb = 256, .container_check_ms = 300, .netty = false};

/* ------------------------------------------------------------------- files */

/* The id of a member is its index + 1. */
static void write_members(const struct ensemble *e, int self, FILE *file)
{
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        const struct member *member = &e->members[i];
        uint16_t quorum =
            i == self ? member->quorum_port : relay_port(e->members[self].to[i]);
        fprintf(file, "server.%d=%s:%u:%u\n", i + 1, member->process.host, quorum,
                member->election_port);
    }
}

static bool write_config(const struct ensemble *e, int self)
{
    const struct member *member = &e->members[self];
    const struct zk_limits limits = {e->options.tick_ms, e->options.min_session_ms,
                                     member->max_session_ms};
    FILE *file = zk_config_open(member->config, &member->process, member->data, &limits);
    if (file == NULL) {
        return false;
    }
    fprintf(file,
            "initLimit=%u\n"
            "syncLimit=%u\n"
            "quorumListenOnAllIPs=false\n",
            INIT_LIMIT, e->options.sync_limit);
    write_members(e, self, file);
    return fclose(file) == 0;
}

/* Writes the file `myid`, which a member without data needs to start. */
static bool write_identity(const struct ensemble *e, int self)
{
    char path[200];
    const char *data = e->members[self].data;
    snprintf(path, sizeof(path), "%s/myid", data);
    FILE *file = mkdir(data, 0700) == 0 || errno == EEXIST ? fopen(path, "w") : NULL;
    if (file == NULL) {
        fprintf(stderr, "ensemble: %s: %s\n", path, strerror(errno));
        return false;
    }
    fprintf(file, "%d\n", self + 1);
    return fclose(file) == 0;
}

static void print_logs(const struct ensemble *e)
{
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        char whose[16];
        snprintf(whose, sizeof(whose), "member %d", i);
        zk_print_log(e->members[i].log, whose);
    }
}

/* ------------------------------------------------------------ start, stop */

static void set_defaults(struct ensemble_options *options)
{
    if (options->tick_ms == 0) {
        options->tick_ms = 200;
    }
    if (options->sync_limit == 0) {
        options->sync_limit = 10;
    }
    if (options->min_session_ms == 0) {
        options->min_session_ms = 2 * options->tick_ms;
    }
    if (options->max_session_ms == 0) {
        options->max_session_ms = 60000;
    }
}

static bool place_member(struct ensemble *e, int i)
{
    struct member *member = &e->members[i];
    struct zk_process *process = &member->process;
    process->host = addresses[i];
    member->max_session_ms = e->options.max_session_ms;
    process->port = zk_free_port(process->host);
    member->quorum_port = zk_free_port(process->host);
    member->election_port = zk_free_port(process->host);
    snprintf(member->hosts, sizeof(member->hosts), "%s:%u", addresses[i], process->port);
    snprintf(member->config, sizeof(member->config), "%s/%d.cfg", e->directory.path, i);
    snprintf(member->data, sizeof(member->data), "%s/data%d", e->directory.path, i);
    snprintf(member->log, sizeof(member->log), "%s/log%d", e->directory.path, i);
    strcat(strcat(e->hosts, i == 0 ? "" : ","), member->hosts);
    return process->port != 0 && member->quorum_port != 0 && member->election_port != 0;
}

static bool open_relays(struct ensemble *e)
{
    for (int from = 0; from < ENSEMBLE_SIZE; from++) {
        for (int to = 0; to < ENSEMBLE_SIZE; to++) {
            const struct member *target = &e->members[to];
            if (from == to) {
                continue;
            }
            struct relay *relay = relay_open(target->process.host, target->quorum_port);
            e->members[from].to[to] = relay;
            if (relay == NULL) {
                return false;
            }
        }
    }
    return true;
}

static bool bring_up(struct ensemble *e)
{
    bool ready = true;
    for (int i = 0; i < ENSEMBLE_SIZE && ready; i++) {
        ready = place_member(e, i);
    }
    ready = ready && open_relays(e);
    for (int i = 0; i < ENSEMBLE_SIZE && ready; i++) {
        ready = write_config(e, i) && ensemble_revive(e, i);
    }
    return ready && ensemble_wait_serving(e);
}

static struct ensemble *start_once(const struct ensemble_options *options)
{
    struct ensemble *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        return NULL;
    }
    if (options != NULL) {
        e->options = *options;
    }
    set_defaults(&e->options);
    if (!scratch_make(&e->directory)) {
        free(e);
        return NULL;
    }
    if (!bring_up(e)) {
        ensemble_stop(e);
        return NULL;
    }
    return e;
}

/* Tries again with other ports, because another process may have taken a port between the
 * choice and the server's bind. */
struct ensemble *ensemble_start(const struct ensemble_options *options)
{
    struct ensemble *e = NULL;
    for (int attempt = 0; attempt < START_ATTEMPTS && e == NULL; attempt++) {
        e = start_once(options);
    }
    return e;
}

void ensemble_stop(struct ensemble *e)
{
    if (e == NULL) {
        return;
    }
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        ensemble_kill(e, i);
    }
    /* On the diagonal, and after a failed start, a relay is NULL. */
    for (int i = 0; i < ENSEMBLE_SIZE * ENSEMBLE_SIZE; i++) {
        relay_close(e->members[i / ENSEMBLE_SIZE].to[i % ENSEMBLE_SIZE]);
    }
    scratch_remove(&e->directory);
    free(e);
}

const char *ensemble_hosts(const struct ensemble *e)
{
    return e->hosts;
}

const char *ensemble_hosts_of(const struct ensemble *e, int member)
{
    return e->members[member].hosts;
}

uint32_t ensemble_tick_ms(const struct ensemble *e)
{
    return e->options.tick_ms;
}

const char *ensemble_data_of(const struct ensemble *e, int member)
{
    return e->members[member].data;
}

/* ----------------------------------------------------------------- members */

void ensemble_kill(struct ensemble *e, int member)
{
    zk_process_kill(&e->members[member].process);
    e->members[member].paused = false;
}

bool ensemble_revive(struct ensemble *e, int member)
{
    struct member *m = &e->members[member];
    if (!zk_process_is_dead(&m->process)) {
        return true;
    }
    return write_identity(e, member) &&
           zk_process_start(&m->process, &settings, m->config, m->log);
}

bool ensemble_limit_sessions(struct ensemble *e, int member, uint32_t max_session_ms)
{
    ensemble_kill(e, member);
    e->members[member].max_session_ms = max_session_ms;
    return write_config(e, member) && ensemble_revive(e, member);
}

void ensemble_wipe(struct ensemble *e)
{
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        ensemble_kill(e, i);
        scratch_remove_tree(e->members[i].data);
    }
}

void ensemble_pause(struct ensemble *e, int member)
{
    zk_process_signal(&e->members[member].process, SIGSTOP);
    e->members[member].paused = true;
}

void ensemble_resume(struct ensemble *e, int member)
{
    e->members[member].paused = false;
    zk_process_signal(&e->members[member].process, SIGCONT);
}

bool ensemble_stall(struct ensemble *e, int member, const char *thread_name)
{
    struct member *m = &e->members[member];
    m->stalled = stall_begin(m->process.pid, thread_name, REST_MS);
    return m->stalled != 0;
}

void ensemble_unstall(struct ensemble *e, int member)
{
    stall_end(e->members[member].stalled);
    e->members[member].stalled = 0;
}

/* said: hold back what the member sends to the others. heard: what they send to the
 * member. */
static void hold(struct ensemble *e, int member, bool said, bool heard)
{
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (i != member) {
            relay_hold(e->members[member].to[i], said, heard);
            relay_hold(e->members[i].to[member], heard, said);
        }
    }
}

void ensemble_cut(struct ensemble *e, int member, enum ensemble_cut cut)
{
    hold(e, member, (cut & ENSEMBLE_MUTE) != 0, (cut & ENSEMBLE_DEAF) != 0);
}

void ensemble_depose(struct ensemble *e, int leader)
{
    ensemble_cut(e, leader, ENSEMBLE_APART);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (i != leader) {
            relay_hang_up(e->members[i].to[leader]);
        }
    }
}

void ensemble_mend(struct ensemble *e, int member)
{
    hold(e, member, false, false);
}

/* --------------------------------------------------------------- questions */

static bool can_answer(const struct member *member)
{
    return member->process.pid != 0 && !member->paused;
}

static bool ask(const struct ensemble *e, int member, const char *word, char *answer,
                size_t size)
{
    const struct member *m = &e->members[member];
    return can_answer(m) &&
           zk_process_ask(&m->process, word, answer, size, ANSWER_MS) >= 0;
}

/* Returns true if the answer to `srvr` contains this mode: "Mode: leader" or "Mode:
 * follower". A member that does not serve answers without a mode. */
static bool has_mode(const struct ensemble *e, int member, const char *mode)
{
    const struct member *m = &e->members[member];
    return can_answer(m) && zk_process_has_mode(&m->process, mode);
}

bool ensemble_serves(const struct ensemble *e, int member)
{
    return has_mode(e, member, "Mode: ");
}

bool ensemble_leads(const struct ensemble *e, int member)
{
    return has_mode(e, member, "Mode: leader");
}

int ensemble_leader(const struct ensemble *e)
{
    int leader = -1;
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (ensemble_leads(e, i)) {
            /* During a change of leaders two members may claim to lead. */
            if (leader >= 0) {
                return -1;
            }
            leader = i;
        }
    }
    return leader;
}

int ensemble_follower(const struct ensemble *e)
{
    int leader = ensemble_leader(e);
    for (int i = 0; i < ENSEMBLE_SIZE && leader >= 0; i++) {
        if (i != leader && ensemble_serves(e, i)) {
            return i;
        }
    }
    return -1;
}

int ensemble_member_of(const struct ensemble *e, int64_t session_id)
{
    char answer[65536], wanted[32];
    snprintf(wanted, sizeof(wanted), "sid=0x%" PRIx64 ",", (uint64_t)session_id);
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (ask(e, i, "cons", answer, sizeof(answer)) && strstr(answer, wanted) != NULL) {
            return i;
        }
    }
    return -1;
}

static long number_after(const struct ensemble *e, int member, const char *word,
                         const char *label)
{
    char answer[65536];
    return ask(e, member, word, answer, sizeof(answer)) ? zk_number_after(answer, label)
                                                        : -1;
}

long ensemble_watch_count(const struct ensemble *e, int member)
{
    return number_after(e, member, "wchs", "Total watches:");
}

long ensemble_ephemeral_count(const struct ensemble *e, int member)
{
    return number_after(e, member, "mntr", "zk_ephemerals_count\t");
}

long ensemble_outstanding_count(const struct ensemble *e, int member)
{
    return number_after(e, member, "mntr", "zk_outstanding_requests\t");
}

int64_t ensemble_last_zxid(const struct ensemble *e)
{
    char answer[4096];
    int64_t last = -1;
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if (ask(e, i, "srvr", answer, sizeof(answer))) {
            const char *found = strstr(answer, "Zxid: ");
            int64_t zxid =
                found == NULL ? -1 : strtoll(found + strlen("Zxid: "), NULL, 16);
            last = zxid > last ? zxid : last;
        }
    }
    return last;
}

static bool serve(struct ensemble *e, bool all)
{
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        if ((all || can_answer(&e->members[i])) && !ensemble_serves(e, i)) {
            return false;
        }
    }
    return ensemble_leader(e) >= 0;
}

bool ensemble_all_serve(void *e)
{
    return serve(e, true);
}

static bool one_has_died(struct ensemble *e)
{
    bool died = false;
    for (int i = 0; i < ENSEMBLE_SIZE; i++) {
        struct zk_process *process = &e->members[i].process;
        died = died || (process->pid != 0 && zk_process_is_dead(process));
    }
    return died;
}

/* A member that has died ends the wait at once; waiting longer would not help. */
struct serving_wait {
    struct ensemble *e;
    bool one_died;
};

static bool serves_or_one_has_died(void *context)
{
    struct serving_wait *wait = context;
    wait->one_died = one_has_died(wait->e);
    return wait->one_died || serve(wait->e, false);
}

bool ensemble_wait_serving(struct ensemble *e)
{
    struct serving_wait wait = {e, false};
    if (zk_wait_until(serves_or_one_has_died, &wait, SERVING_DEADLINE_MS) &&
        !wait.one_died) {
        return true;
    }
    fprintf(stderr, "ensemble: does not serve\n");
    print_logs(e);
    return false;
}
