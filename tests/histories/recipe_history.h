/* SPDX-License-Identifier: Apache-2.0 */
/* What the histories of all recipes that are not locks have in common: a simulated ensemble
 * with its faults, and clients that are opened, closed and opened anew. A kind of history
 * says what its clients do and what must hold (value_history.h and the like). A seed decides
 * everything. */
#ifndef UVZK_RECIPE_HISTORY_H
#define UVZK_RECIPE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "history_ports.h"
#include "history_sim.h"
#include "history_strikes.h"
#include "sim.h"
#include "ticker.h"
#include "uvzk.h"

#define RECIPE_CLIENTS_MAX 5

struct recipe_history;
struct node_handle_kind;

/* A client, opened anew each time. */
struct recipe_client {
    struct recipe_history *history;
    int number;
    struct uvzk__port *ports[HISTORY_PORTS_MAX];
    uint32_t sessions;
    uvzk_client_t *client; /* NULL: closed */
    bool closing;
    uint64_t reopen_ms;
};

/* What a kind adds; those that say so may be NULL. */
struct recipe_history_kind {
    size_t size; /* of what it keeps of a history, its part */
    uint32_t active_ms, heal_ms;
    bool leaves_no_watch; /* it is checked that none is left in the end */
    const struct node_handle_kind *handles; /* node_handles.h; may be NULL */
    /* May be NULL: the servers. */
    void (*options)(struct sim_options *options);
    /* How many clients there are, and all that is the kind's own, before they are opened. */
    void (*begin)(struct recipe_history *history, uint64_t seed);
    /* May be NULL: other faults than usual. */
    void (*faults)(const struct recipe_history *history, struct sim_faults *faults);
    /* May be NULL: the options and the ports of a client that is about to be opened. */
    void (*client_options)(struct recipe_client *client, uvzk_client_options_t *options);
    void (*client_opens)(struct recipe_client *client);
    void (*client_opened)(struct recipe_client *client);
    void (*client_closed)(struct recipe_client *client); /* may be NULL */
    void (*client_closes)(struct recipe_client *client); /* may be NULL */
    /* What an open client does now. */
    void (*act)(struct recipe_client *client, uint64_t now);
    /* May be NULL: what somebody else does now. */
    void (*act_outside)(struct recipe_history *history);
    /* May be NULL: after each transaction, and after each event. */
    void (*transaction)(struct recipe_history *history);
    void (*event)(struct recipe_history *history);
    /* May be NULL: the time until end_ms, in its own way. */
    void (*live)(struct recipe_history *history);
    /* Whether all have come to rest; and, may be NULL, what is done until they have. */
    bool (*is_settled)(struct recipe_history *history);
    void (*unsettled)(struct recipe_history *history);
    /* Behind the faults: lets all come to rest, and checks that they have. May be NULL:
     * recipe_heal, and is_settled says whether they have. */
    void (*heal)(struct recipe_history *history);
    /* Closes all that the clients have, and checks the whole history. */
    void (*end)(struct recipe_history *history);
};

struct recipe_history {
    const struct recipe_history_kind *kind;
    void *part; /* of the kind */
    void *result;
    struct history_outcome *outcome;
    struct sim *sim;
    struct recipe_client clients[RECIPE_CLIENTS_MAX];
    int client_count;
    struct ticker ticker;
    struct strikes strikes;
    unsigned tuning; /* UVZK__TUNE_* */
    uint32_t timeout_ms;
    uint64_t end_ms;
    bool operator_kills, pauses, failed;
    unsigned kinds; /* enum history_kind */
};

/* Runs one history. On failure the trace's last lines have been printed to stderr. verbose:
 * every line of the trace goes there as it happens. result: the kind's. */
void recipe_history_run(const struct recipe_history_kind *kind, uint64_t seed,
                        bool verbose, void *result, struct history_outcome *outcome);

/* ---------------------------------------------------------------------- for the kinds */

void recipe_fail(struct recipe_history *history, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline uint64_t recipe_chance(struct recipe_history *history, uint64_t n)
{
    return sim_random(history->sim, n);
}

static inline uint64_t recipe_soon(struct recipe_history *history, uint64_t most_ms)
{
    return sim_now(history->sim) + 1 + recipe_chance(history, most_ms);
}

/* Whether a server has refused the client's credentials. */
static inline bool recipe_auth_failed(const struct recipe_client *client)
{
    return history_ports_auth_failed(client->ports, client->sessions);
}

/* Whether the client is there, and stays. */
static inline bool recipe_is_open(const struct recipe_client *client)
{
    return client->client != NULL && !client->closing;
}

void recipe_close_client(struct recipe_client *client);
/* Those whose credentials were refused: nothing can be done with them any more. */
void recipe_close_refused(struct recipe_history *history);
/* One turn of all clients. */
void recipe_act_all(struct recipe_history *history);
/* Lets time pass until then; or, unless active, until all have come to rest. */
void recipe_live(struct recipe_history *history, uint64_t until, bool active);
/* Stops the faults, closes the clients that can do nothing more, and lets time pass until
 * all have come to rest, for heal_ms. */
void recipe_heal(struct recipe_history *history);
/* Steps until `is_done`, or for heal_ms. Returns what is_done says. */
bool recipe_step_until(struct recipe_history *history,
                       bool (*is_done)(struct recipe_history *history));
/* All is closed: waits until first_left returns NULL, for heal_ms, and fails with the path
 * that it still returns then. */
void recipe_await_none_left(struct recipe_history *history,
                            const char *(*first_left)(const struct recipe_history *));

#endif
