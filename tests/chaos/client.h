/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of chaos_uvzk_client share. All functions run on the loop's thread. */
#ifndef CHAOS_CLIENT_H
#define CHAOS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uvzk.h>

#define LOCKS_MAX 32
#define WORKERS_MAX 48
#define MEMBERS_MAX 8
#define WORD_MAX 96
#define PATH_MAX_TEXT 512
#define SESSIONS_MAX 32

/* How the tokens of a lock's holds are ordered. */
enum fencing {
    FENCING_NONE,     /* not compared: several may hold at once */
    FENCING_GROWS,    /* each is greater than all before */
    FENCING_OF_COHORT /* or equal, with a greater number in the cohort */
};

/* A lock, or an election: then leading is holding it. */
struct chaos_lock {
    char name[WORD_MAX], path[PATH_MAX_TEXT];
    uvzk_lock_t lock;
    uvzk_lock_t *used; /* &lock, or a half of a read-write lock's `halves` */
    uvzk_rwlock_t halves;
    enum fencing fencing;
    bool is_election;
    uint32_t election_kind; /* uvzk_election_kind_t */
};

struct worker {
    char id[WORD_MAX];
    struct chaos_lock *lock;
    uvzk_hold_t acquired;     /* of a lock */
    uvzk_election_t election; /* of an election: this participant */
    bool is_participant;      /* `election` has been initialised */
    int64_t leader;           /* the greatest token of a leader that was told to it */
    uvzk_hold_t *hold;        /* while it holds, or leads */
    uv_timer_t timer;
    /* The arguments of the command "work"; patience_ms is the acquire's timeout. */
    uint32_t hold_ms, pause_ms, leases, long_ms;
    int64_t patience_ms;
    bool busy; /* from the acquire to the end of the hold; of an election: while it stands
                  or leads */
    bool holds, releases, outlasts;
    /* Start of the hold, and its validity as last read (CLOCK_BOOTTIME). */
    uint64_t from_ns, valid_until_ms;
    int64_t token, session_id;
    uint32_t cohort, path_count;
    char paths[PATH_MAX_TEXT * 4]; /* of its znodes, each after a blank */
};

struct chaos_client {
    uv_loop_t loop;
    uv_pipe_t input;
    uv_timer_t sampling;
    uvzk_client_t client;
    struct chaos_lock locks[LOCKS_MAX];
    struct worker workers[WORKERS_MAX];
    size_t lock_count, worker_count;
    const char *fences; /* the directory of the fenced resources */
    bool resting, ready, closing;
    int64_t session_ids[SESSIONS_MAX]; /* by session number; 0: none */
    bool connected[SESSIONS_MAX];
};

extern struct chaos_client chaos;

uint64_t now_ns(void);
/* Prints a line on stdout. wrong() prints an error code with its refusal. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void wrong(const char *who, int status);
/* Prints "resting" if no worker and no value is busy. */
void tell_resting(void);

/* locks.c: make_lock() and make_multi() return 0 or an error code. find_lock() returns
 * NULL if there is no such lock. */
int make_lock(const char *name, const char *kind, const char *path, uint32_t number);
int make_multi(const char *name, unsigned flags, char *const *members, size_t count);
struct chaos_lock *find_lock(const char *name);

/* workers.c: the next four write down what has come of an acquire, of a hold or of a
 * reign, and let the worker pause. */
void worker_begin(struct worker *worker);
void worker_granted(struct worker *worker, uvzk_hold_t *hold);
void worker_refused(struct worker *worker, const char *what, int status);
void worker_over(struct worker *worker);
void worker_lost(struct worker *worker, int reason);
void workers_sample(void);
void workers_go(void);
bool workers_rest(void);

/* elections.c: election_stand() returns 0 or an error code. */
int election_stand(struct worker *worker);

/* values.c: begin_setting() returns false if there is no such value. */
int make_value(const char *name, bool counts, const char *path);
bool begin_setting(const char *id, const char *name, uint32_t pause_ms);
bool values_rest(void);
void values_go(void);
void values_close_timers(void);

/* introspection.c */
void tell_sessions(void);
void tell_known(const char *number);

#endif
