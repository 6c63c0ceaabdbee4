/* A user of a port (engine/port.h) that does nothing but ask, and writes down all that it
 * is told, as text:
 *
 *   "CONNECTED; create /a: ok; watch /a: deleted; get /a: ENONODE; ..."
 *
 * and of each thing which one it was of all: 1 for the first.
 *
 * Asserted at every callback: it comes on the loop's thread and never from inside a call;
 * replies come once, in the order of submission, and are all there when they are due; a
 * watch comes once, after its reply, and none outlives its handle; after close() comes
 * nothing but ECLOSED and, last, the end. */
#ifndef UVZK_KIT_PROBE_H
#define UVZK_KIT_PROBE_H

#include "cmocka_test.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/port.h"

struct sim;
struct world;

/* One request and its outcome, the probe's until it ends. */
struct ask {
    struct uvzk__rpc rpc;
    struct uvzk__watch watch;
    struct probe *probe;
    struct ask *next;
    uint64_t number; /* of submission */
    bool submitted, unwatched;
    unsigned replied, fired; /* how often */
    uint64_t replied_nth, fired_nth;
    int status;
    enum uvzk__watch_event event;
    char path[256];
    char name[256]; /* of a create */
    char text[512]; /* what a set writes; the data of a get; names, sorted, with blanks
                          between */
    size_t count;   /* bytes of data, or names */
    char **made;    /* of a multi: for each op the name, or "". NULL: not told */
    struct uvzk__stat stat;
    size_t failed_op;
    /* To be set before it is submitted: */
    struct ask *again; /* submitted inside this one's reply */
    bool closes;       /* close() inside its reply */
};

/* Time passes where the probe is; false: the condition does not come to hold. */
typedef bool (*probe_run_until)(void *place, bool (*condition)(void *), void *context);

struct probe {
    struct uvzk__port_user user;
    struct uvzk__port *port; /* NULL once closed */
    union {                  /* where it is, by the kit that made it */
        void *place;
        struct sim *sim;
        struct world *world;
    };
    probe_run_until run_until;
    pthread_t thread; /* the loop's */
    struct ask *asks; /* the last one first */
    uint64_t submitted, replies;
    uint64_t owed; /* replies that are due before the next CONNECTED */
    unsigned turns, log_lines, closed;
    unsigned troubles; /* how often it was told why there is no connection */
    int trouble_code;  /* of the last */
    unsigned left;     /* how often that was UVZK_EDIVERGED */
    bool inside, closing;
    bool reopens; /* calls open() from inside EXPIRED, AUTH_FAILED, OPEN_FAILED */
    bool connected;
    unsigned sessions[UVZK__SESSION_OPEN_FAILED + 1];    /* events told so far, by kind */
    uint64_t session_nth[UVZK__SESSION_OPEN_FAILED + 1]; /* ... the last of them */
    int64_t session_id;
    uint32_t timeout_ms;
    bool watches_lost; /* at the last CONNECTED */
    int open_status;
    const struct uvzk__acl *acl;  /* of what it creates; everybody may do all */
    uint64_t told;                /* how many things */
    uint64_t session_ms, turn_ms; /* the port's clock at the last event, and turn */
    char said[8192];
    void *data; /* the test's own */
};

/* Over a port that is not open; it stays the place's, which has to outlive it. */
struct probe *probe_over(struct uvzk__port *port, void *place, probe_run_until run_until);
/* Closes the port if it is not closed, runs until it is, frees everything. */
void probe_end(struct probe *probe);

void probe_open(struct probe *probe);
void probe_close(struct probe *probe);

/* All that is waited for comes, or the test fails. This: until the counter has reached the
 * value. */
void probe_await(struct probe *probe, const unsigned *counter, unsigned value);
/* Until so many events of this kind have been told since the beginning. */
void probe_await_session(struct probe *probe, enum uvzk__session_event_kind kind,
                         unsigned times);
/* What was told since the last call of this, which forgets it. */
const char *probe_said(struct probe *probe);
/* Runs until `text` stands in what was told. */
void probe_until(struct probe *probe, const char *text);
/* The same of what is told from now on; forgets it. */
void probe_hear(struct probe *probe, const char *text);

/* A request that may still be changed; any version, no watch. */
struct ask *ask_new(struct probe *probe, enum uvzk__rpc_kind kind, const char *path);
/* May be done again, when it has been replied. */
struct ask *ask_submit(struct ask *ask);
/* Both. mode: enum uvzk__mode for a create. */
struct ask *ask_create(struct probe *probe, const char *path, enum uvzk__mode mode);
struct ask *ask_delete(struct probe *probe, const char *path, int32_t version);
struct ask *ask_set(struct probe *probe, const char *path, const char *data,
                    int32_t version);
struct ask *ask_read(struct probe *probe, enum uvzk__rpc_kind kind, const char *path,
                     bool watched);
struct ask *ask_sync(struct probe *probe, const char *path);
/* ops stay the caller's until the reply. */
struct ask *ask_multi(struct probe *probe, const struct uvzk__op *ops, size_t count);
/* Runs until it is replied; returns its status. */
int ask_wait(struct ask *ask);
/* The same; asserts 0. Returns the ask. */
struct ask *ask_done(struct ask *ask);
void ask_unwatch(struct ask *ask);
/* Runs until its watch has fired, which asserts that it says this. */
void ask_await_event(struct ask *ask, enum uvzk__watch_event event);
/* Ask and wait: the status; the ask, armed if it could be. */
int create(struct probe *probe, const char *path, enum uvzk__mode mode);
int read_once(struct probe *probe, enum uvzk__rpc_kind kind, const char *path);
struct ask *watch_on(struct probe *probe, enum uvzk__rpc_kind kind, const char *path);

struct uvzk__op op_of(enum uvzk__op_kind kind, const char *path, int32_t version);
/* A create of it. */
struct uvzk__op op_create(const char *path, enum uvzk__mode mode);

/* The simulator's kit alone (sim/kit/sim_probe.c). The defaults; one millisecond each way
 * and no chance in it. */
struct sim *sim_plain(void);
struct sim *sim_exact(void);
/* Makes a port; opens it and runs until CONNECTED is told. */
struct probe *probe_new(struct sim *sim, const char *name);
/* Another one of the same process, which is not opened either. */
struct probe *probe_beside(const struct probe *);
struct probe *probe_connected(struct sim *sim, const char *name);
/* A case whose state is a probe "a", connected, of a simulation of its own; or "a" and,
 * as its data, "b". Both are ended behind it. */
#define PROBE_CASE(test, setup) \
    cmocka_unit_test_setup_teardown(test, setup, probes_end_with_their_sim)
int one_unopened(void **state); /* which is not even connected */
int one_plain(void **state);
int one_exact(void **state);
int two_plain(void **state);
int two_exact(void **state);
int probes_end_with_their_sim(void **state);

#endif
