/* SPDX-License-Identifier: Apache-2.0 */
/* What every kind of history has of its simulation: the ensemble that the seed gives it,
 * and a trace that ends with what failed. */
#ifndef UVZK_HISTORY_SIM_H
#define UVZK_HISTORY_SIM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

#define HISTORY_FAILURE_SIZE 256

/* What has come of a history of any kind. */
struct history_outcome {
    uint64_t steps, faults; /* faults: sim_fault_count */
    uint64_t struck;        /* znodes, by hand (HISTORY_STRIKES) */
    uint64_t trace_hash;
    char failure[HISTORY_FAILURE_SIZE]; /* empty: all is well */
};

/* What ZooKeeper may do, and not all seeds let it do: each a bit. */
enum history_kind {
    HISTORY_BATCHES = 1, /* what has arrived comes in one batch before one turn */
    HISTORY_SERVERS = 2, /* several servers, each behind the leader in its own way */
    HISTORY_DEPOSED = 4, /* ... and old leaders that do not know they are; no seed has
                            them that is proved by UVZK_PROOF_SYNC */
    HISTORY_MOVES = 8,   /* clients go over to another server at any time */
    HISTORY_EVENT_ORDER = 16, /* missed events come in any order */
    HISTORY_CLOCKS = 32,      /* clocks drift, and jump forward */
    HISTORY_THROTTLE = 64,    /* servers are overloaded at times */
    HISTORY_AUTH = 128,       /* credentials are refused in the middle of a session */
    HISTORY_UNREADABLE = 256, /* a znode may not be read for a time; and newer servers */
    HISTORY_FUTURES = 512,    /* nothing of ZooKeeper's: some acquire by futures */
    HISTORY_SPARSE = 1024,    /* few come, and empty containers go at once */
    HISTORY_SESSIONS = 2048,  /* nor this: some clients have several sessions */
    HISTORY_DIVERGED =
        4096, /* several servers, which miss deletes of ephemerals: they go on
                                showing them, and bring them back when they lead */
    HISTORY_CLOSES = 16384,     /* handles that are replaced come through unheard, or end
                                their session; loops are late, and handles opened late */
    HISTORY_RENEGOTIATE = 8192, /* servers have unlike session timeouts, and other ones at
                                   times; pings are answered late, and by a server that a
                                   session has left */
    HISTORY_FORBID =
        32768, /* a directory's znodes may not be deleted for a time; and each
                               server may refuse that by itself */
    HISTORY_UNREAD = 65536, /* with BLIND: READ is missing at the instant in which a znode
                               goes, so that watches are used up in silence; what comes of
                               that is outside the promise (A8), and known */
    HISTORY_DURABLE = 131072, /* nothing of ZooKeeper's: multi locks in turn have members
                                   with persistent znodes, or mutexes in several sessions */
    HISTORY_HIGH_COUNTERS = 262144, /* directories' counters come near their end */
    HISTORY_REVOKES = 524288,       /* nothing of ZooKeeper's: holds are asked for */
    HISTORY_SMALL_BUFFER = 8388608, /* the servers' jute.maxbuffer is so small that the
                                       longer batches exceed it */
    HISTORY_STRIKES = 16777216,     /* znodes are deleted by hand (history_strikes.h); not
                                       with UNREAD: what its client hands on by a znode that
                                       went unread is outside the promise, too */
    HISTORY_SLOW_LINKS =
        4194304, /* round trips of several ticks; or what servers hear of sessions
                             comes to the leader in two hops, by way of an ObserverMaster. Not with
                             RENEGOTIATE, which has sessions of few ticks, and late pings
                             (docs/promise.md, A6). A lease of a semaphore takes six round trips
                             or so, one after the other: those who wait at the end are answered
                             in turn, and need minutes */
};

/* Those that any seed may have: with UVZK_WORLD in the environment only those among its
 * bits. None of them: an ensemble that does nothing but what is in `struct sim_faults` by
 * name. */
unsigned history_sim_allowed(void);
/* Of this seed. */
unsigned history_sim_kinds(uint64_t seed);

/* Of these UVZK__TUNE_* bits, those that the clients of this seed have: some of those with
 * HISTORY_STRIKES have no mirror, or do not prepare. */
unsigned history_sim_tuning(uint64_t seed, unsigned tuning);

/* Returns true if round trips take several ticks, an eighth of a session at most. */
bool history_sim_has_slow_links(uint64_t seed);
/* For the clients' tick_ms. */
uint32_t history_sim_tick(uint64_t seed);

/* verbose: every line of the trace to stderr, as it happens. */
void history_sim_options(struct sim_options *options, uint64_t seed, bool verbose);

/* A simulation that the clients' ports can reach (history_transport.h), and its end. */
struct sim *history_sim_new(uint64_t seed, const struct sim_options *options);
void history_sim_free(struct sim *sim);

/* The faults that histories of one znode begin with, or of a few: for one in four hardly
 * any. expires: sessions, by an operator. pauses: of processes and of their loops. */
void history_sim_usual_faults(struct sim *sim, struct sim_faults *faults, bool expires,
                              bool pauses, uint32_t timeout_ms);

/* Adds those of the seed's kinds, and takes away what the transport cannot have. */
void history_sim_faults(struct sim_faults *faults, uint64_t seed, uint32_t timeout_ms);

/* As many times as the environment's UVZK_FAULTS says, 1. */
void history_sim_more_faults(struct sim_faults *faults);

/* Writes down what failed, for the result and in the trace; unless something has
 * failed before. */
void history_sim_failed(struct sim *sim, char failure[HISTORY_FAILURE_SIZE],
                        const char *format, va_list arguments);

/* Sets all but the failure and `struck`. */
void history_sim_outcome(const struct sim *, struct history_outcome *);

#endif
