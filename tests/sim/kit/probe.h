/* A client of the port that does nothing but ask and note what it is told:
 *
 *   "CONNECTED; create /a: ok; watch /a: deleted; get /a: ENONODE; ..."
 *
 * It asserts by itself what is always so: callbacks never come from inside a
 * call, replies come once and in order of submission, a watch comes once and
 * after its reply, nothing but ECLOSED comes after close(). */
#ifndef UVZK_SIM_PROBE_H
#define UVZK_SIM_PROBE_H

#include "sim.h"

/* The defaults; one millisecond each way and no chance in it. */
struct sim *sim_plain(void);
struct sim *sim_exact(void);

/* One request and its outcome, the probe's until it ends. */
struct ask {
    struct uvzk__rpc rpc;
    struct uvzk__watch watch;
    struct probe *probe;
    struct ask *next;
    uint64_t number; /* of submission */
    bool replied;
    unsigned fired;
    int status;
    char path[256];
    char name[256]; /* of a create */
    char data[64];  /* of a get, or what a create or set writes */
    size_t data_length;
    char names[512]; /* of a listing, sorted, with blanks between */
    size_t name_count;
    struct uvzk__stat stat;
    size_t failed_op;
};

struct probe {
    struct uvzk__port_user user;
    struct sim *sim;
    struct uvzk__port *port; /* NULL once closed */
    struct ask *asks;
    uint64_t submitted, replies;
    unsigned turns;
    bool inside, closing, closed;
    bool reopens; /* calls open() from inside EXPIRED, AUTH_FAILED, OPEN_FAILED */
    int64_t session_id;
    uint32_t timeout_ms;
    const struct uvzk__acl *acl; /* of what it creates; everybody may do all */
    int open_status;
    uint64_t said_at; /* when the last thing was told */
    char said[8192];
};

/* Makes a port; opens it and runs until CONNECTED is told. */
struct probe *probe_new(struct sim *sim, const char *name);
struct probe *probe_connected(struct sim *sim, const char *name);
/* Closes the port if it is not closed, runs until it is, frees everything. */
void probe_end(struct probe *probe);

void probe_open(struct probe *probe);
void probe_close(struct probe *probe);
/* What was told since the last call of this, which forgets it. */
const char *probe_said(struct probe *probe);
/* Runs until `text` stands in what was told; fails after a virtual hour. */
void probe_until(struct probe *probe, const char *text);
/* The same of what is told from now on; forgets it. */
void probe_hear(struct probe *probe, const char *text);

/* Submits. mode: enum uvzk__mode for a create. */
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
void ask_unwatch(struct ask *ask);
/* Ask and wait: the status; the ask, armed if it could be. */
int create(struct probe *probe, const char *path, enum uvzk__mode mode);
int read_once(struct probe *probe, enum uvzk__rpc_kind kind, const char *path);
struct ask *watch_on(struct probe *probe, enum uvzk__rpc_kind kind, const char *path);

struct uvzk__op op_of(enum uvzk__op_kind kind, const char *path, int32_t version);

#endif
