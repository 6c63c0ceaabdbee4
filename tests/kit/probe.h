/* SPDX-License-Identifier: Apache-2.0 */
/* A probe: a user of a port (engine/port.h) that sends requests and records all callbacks
 * as text:
 *
 *   "CONNECTED; create /a: ok; watch /a: deleted; get /a: ENONODE; ..."
 *
 * A persistent watch says of which child it heard: "watch /a b: created".
 *
 * The callbacks that are recorded are numbered, from 1.
 *
 * The probe asserts the port's contract at every callback. A callback comes on the loop's
 * thread and never inside a call of the port. A reply comes once, in the order of
 * submission, and before the event that requires it. A watch fires once, after its reply,
 * and no watch outlives its handle. After close() there are only replies with ECLOSED,
 * and closed() comes last. */
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

/* One request and its outcome. The probe owns it and frees it in probe_end. */
struct ask {
    struct uvzk__rpc rpc;
    struct uvzk__watch watch;
    struct probe *probe;
    struct ask *next; /* in probe->asks */
    uint64_t number;  /* in the order of submission, from 0 */
    bool submitted, unwatched;
    unsigned replied, fired;         /* how often, since the last submission */
    uint64_t replied_nth, fired_nth; /* the numbers of these callbacks; 0: none yet */
    int status;
    enum uvzk__watch_event event;
    char path[256];
    char name[256]; /* of the created znode */
    /* The data that a set writes or that a get has returned; the names of a getChildren,
     * sorted, with blanks between them. */
    char text[512];
    size_t count; /* bytes of data, or names */
    char **made;  /* of a multi: for each op the name, or "". NULL: no successful reply */
    struct uvzk__stat stat;
    size_t failed_op;
    /* Set these before it is submitted. */
    struct ask *again; /* is submitted inside this one's reply; or NULL */
    bool closes;       /* close() is called inside its reply */
};

/* Runs the loop, or the simulation, until the condition holds. Returns false if it does
 * not hold in time. */
typedef bool (*probe_run_until)(void *place, bool (*condition)(void *), void *context);

struct probe {
    struct uvzk__port_user user;
    struct uvzk__port *port; /* NULL: closed() has been called */
    union {                  /* the place in which it runs, depending on the kit */
        void *place;
        struct sim *sim;
        struct world *world;
    };
    probe_run_until run_until;
    pthread_t thread; /* the loop's */
    struct ask *asks; /* the last one first */
    uint64_t submitted, replies;
    uint64_t owed; /* how many replies must have come before the next CONNECTED */
    unsigned turns, log_lines, closed;
    unsigned troubles; /* how often no_connection() was called */
    int trouble_code;  /* the last code that it reported */
    char trouble_text[600];
    unsigned left;        /* how often that was UVZK_EDIVERGED, with an address */
    bool inside, closing; /* a function of the port is running; close() was called */
    bool reopens;         /* calls open() inside EXPIRED, AUTH_FAILED, OPEN_FAILED */
    bool connected;
    /* For each kind of session event: how many there have been, and the number of the
     * last callback; 0: none. */
    unsigned sessions[UVZK__SESSION_OPEN_FAILED + 1];
    uint64_t session_nth[UVZK__SESSION_OPEN_FAILED + 1];
    int64_t session_id;
    uint32_t timeout_ms; /* granted */
    bool watches_lost;   /* at the last CONNECTED */
    bool server_told;    /* likewise: its address was known */
    int open_status;     /* the status of the last event that ended the handle */
    /* The ACL of the asks that are made from now on. At first it gives everybody all
     * permissions. */
    const struct uvzk__acl *acl;
    uint64_t told;                /* how many callbacks are recorded */
    uint64_t session_ms, turn_ms; /* the port's clock at the last session event, turn */
    char said[8192];              /* the text since the last probe_said */
    void *data;                   /* the test's own */
};

/* Makes a probe over a port that is not open. The place must outlive the probe. */
struct probe *probe_over(struct uvzk__port *port, void *place, probe_run_until run_until);
/* Closes the port if close() has not been called, runs until closed() is called, and
 * frees the probe with its asks. */
void probe_end(struct probe *probe);

void probe_open(struct probe *probe);
void probe_close(struct probe *probe);

/* The functions below that wait fail the test if what they wait for does not come. This
 * one waits until the counter has reached the value. */
void probe_await(struct probe *probe, const unsigned *counter, unsigned value);
/* Waits until there have been `times` session events of this kind since the beginning. */
void probe_await_session(struct probe *probe, enum uvzk__session_event_kind kind,
                         unsigned times);
/* Returns what was recorded since the last call, and clears the record. The text is valid
 * until the next call. */
const char *probe_said(struct probe *probe);
/* Waits until the record contains `text`. */
void probe_until(struct probe *probe, const char *text);
/* Clears the record, waits until the new one contains `text`, and clears it again. */
void probe_hear(struct probe *probe, const char *text);

/* Makes a request, but does not submit it: it may still be changed. It is for any version
 * and has no watch. */
struct ask *ask_new(struct probe *probe, enum uvzk__rpc_kind kind, const char *path);
/* Submits the request. It may be submitted again after its reply. */
struct ask *ask_submit(struct ask *ask);
/* These make a request and submit it. */
struct ask *ask_create(struct probe *probe, const char *path, enum uvzk__mode mode);
struct ask *ask_delete(struct probe *probe, const char *path, int32_t version);
struct ask *ask_set(struct probe *probe, const char *path, const char *data,
                    int32_t version);
struct ask *ask_read(struct probe *probe, enum uvzk__rpc_kind kind, const char *path,
                     bool watched);
struct ask *ask_add_watch(struct probe *probe, const char *path);
struct ask *ask_sync(struct probe *probe, const char *path);
/* The caller keeps ops valid until the reply. */
struct ask *ask_multi(struct probe *probe, const struct uvzk__op *ops, size_t count);
/* Waits for the reply and returns its status. */
int ask_wait(struct ask *ask);
/* Waits for the reply, asserts that its status is 0, and returns the ask. */
struct ask *ask_done(struct ask *ask);
void ask_unwatch(struct ask *ask);
/* Waits until the watch has fired, and asserts that it reports this event. */
void ask_await_event(struct ask *ask, enum uvzk__watch_event event);
/* These submit a request and wait for its reply. The first two return the status.
 * watch_on() returns the ask, whose watch is armed if the server has accepted that. */
int create(struct probe *probe, const char *path, enum uvzk__mode mode);
int read_once(struct probe *probe, enum uvzk__rpc_kind kind, const char *path);
struct ask *watch_on(struct probe *probe, enum uvzk__rpc_kind kind, const char *path);

/* An op of a multi. A create gets the mode PERSISTENT. */
struct uvzk__op op_of(enum uvzk__op_kind kind, const char *path, int32_t version);
struct uvzk__op op_create(const char *path, enum uvzk__mode mode);

/* What follows is only in the simulator's kit (sim/kit/sim_probe.c). sim_plain makes a
 * simulation with the default options. In sim_exact each message takes exactly 1 ms, and
 * no alarm is late. */
struct sim *sim_plain(void);
struct sim *sim_exact(void);
/* Makes a port and a probe over it, which is not opened. */
struct probe *probe_new(struct sim *sim, const char *name);
/* The same in the process of another probe. */
struct probe *probe_beside(const struct probe *);
/* The same as probe_new, then opens the port and waits for CONNECTED. */
struct probe *probe_connected(struct sim *sim, const char *name);
/* A test whose state is the probe "a" in a simulation of its own. `setup` is one of the
 * functions below, and makes one probe or two, of which "b" is the data of "a". They are
 * connected, except in one_unopened. The teardown ends the probes and the simulation. */
#define PROBE_CASE(test, setup) \
    cmocka_unit_test_setup_teardown(test, setup, probes_end_with_their_sim)
int one_unopened(void **state);
int one_plain(void **state);
int one_exact(void **state);
int two_plain(void **state);
int two_exact(void **state);
int probes_end_with_their_sim(void **state);

#endif
