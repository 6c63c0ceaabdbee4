/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe_history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/create.h"
#include "failing_allocator.h"
#include "history_transport.h"

#define EACH(client_, history)                               \
    for (struct recipe_client *client_ = (history)->clients; \
         client_ < &(history)->clients[(history)->client_count]; client_++)

void recipe_fail(struct recipe_history *history, const char *format, ...)
{
    va_list arguments;

    history->failed = true;
    va_start(arguments, format);
    history_sim_failed(history->sim, history->outcome->failure, format, arguments);
    va_end(arguments);
}

/* ------------------------------------------------------------------------ the clients */

static void on_closed(uvzk_client_t *uvzk)
{
    struct recipe_client *client = uvzk->data;

    if (client->history->kind->client_closed != NULL) {
        client->history->kind->client_closed(client);
    }
    free(uvzk);
    client->client = NULL;
    client->sessions = 0;
    client->reopen_ms = recipe_soon(client->history, 1500);
}

static void open_client(struct recipe_client *client)
{
    struct recipe_history *history = client->history;
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = history->timeout_ms;
    options.retry.kind = UVZK_RETRY_FOREVER;
    options.retry.base_ms = 50;
    if (history->kind->client_options != NULL) {
        history->kind->client_options(client, &options);
    }
    client->sessions = history_ports_open(client->ports, history->sim, client->number,
                                          history->kinds, history->timeout_ms);
    if (history->kind->client_opens != NULL) {
        history->kind->client_opens(client);
    }
    client->client = calloc(1, sizeof(*client->client));
    client->client->data = client;
    client->closing = false;
    if (uvzk__client_create_over(client->client, client->ports, client->sessions,
                                 &options, history->tuning) != 0 ||
        uvzk_client_start(client->client) != 0) {
        recipe_fail(history, "a client cannot be made");
    }
    history->kind->client_opened(client);
}

void recipe_close_client(struct recipe_client *client)
{
    client->closing = true;
    if (client->history->kind->client_closes != NULL) {
        client->history->kind->client_closes(client);
    }
    if (uvzk_client_close(client->client, on_closed) != 0) {
        recipe_fail(client->history, "a client cannot be closed");
    }
}

void recipe_close_refused(struct recipe_history *history)
{
    EACH(client, history)
    {
        if (recipe_is_open(client) && recipe_auth_failed(client)) {
            recipe_close_client(client);
        }
    }
}

/* -------------------------------------------------------------------------- the time */

void recipe_act_all(struct recipe_history *history)
{
    uint64_t now = sim_now(history->sim);

    recipe_close_refused(history);
    EACH(client, history)
    {
        if (client->client == NULL && now >= client->reopen_ms) {
            open_client(client);
        }
        if (recipe_is_open(client)) {
            history->kind->act(client, now);
        }
    }
    if (history->kind->act_outside != NULL) {
        history->kind->act_outside(history);
    }
}

static void call(void (*may_be_null)(struct recipe_history *),
                 struct recipe_history *history)
{
    if (may_be_null != NULL) {
        may_be_null(history);
    }
}

void recipe_live(struct recipe_history *history, uint64_t until, bool active)
{
    while (sim_now(history->sim) < until && !history->failed) {
        if (ticker_step(&history->ticker)) {
            call(history->kind->transaction, history);
            if (active) {
                strikes_step(&history->strikes);
                call(history->kind->transaction, history);
            }
            call(history->kind->event, history);
        } else if (active) {
            recipe_act_all(history);
        } else if (history->kind->is_settled(history)) {
            break;
        } else {
            call(history->kind->unsettled, history);
        }
    }
}

void recipe_heal(struct recipe_history *history)
{
    sim_set_faults(history->sim, NULL);
    /* A server that shows what has been deleted shows it for ever. */
    sim_converge(history->sim);
    recipe_close_refused(history);
    recipe_live(history, sim_now(history->sim) + history->kind->heal_ms, false);
}

static void heal(struct recipe_history *history)
{
    if (history->kind->heal != NULL) {
        history->kind->heal(history);
        return;
    }
    recipe_heal(history);
    if (!history->failed && !history->kind->is_settled(history)) {
        recipe_fail(history, "somebody waits for ever");
    }
}

bool recipe_step_until(struct recipe_history *history,
                       bool (*is_done)(struct recipe_history *history))
{
    for (uint64_t until = sim_now(history->sim) + history->kind->heal_ms;
         !is_done(history) && sim_now(history->sim) < until && sim_step(history->sim);) {
    }
    return is_done(history);
}

/* Servers that were away give sessions that were left their whole timeout. */
void recipe_await_none_left(struct recipe_history *history,
                            const char *(*first_left)(const struct recipe_history *))
{
    uint64_t until = sim_now(history->sim) + history->kind->heal_ms;

    while (first_left(history) != NULL && sim_now(history->sim) < until) {
        sim_run_for(history->sim, history->timeout_ms);
    }
    if (first_left(history) != NULL) {
        recipe_fail(history, "%s is there after the close", first_left(history));
    }
}

/* ------------------------------------------------------------- the beginning and the end */

static void begin_faults(struct recipe_history *history, uint64_t seed)
{
    struct sim_faults faults;

    history_sim_usual_faults(history->sim, &faults, history->operator_kills,
                             history->pauses, history->timeout_ms);
    history_sim_faults(&faults, seed, history->timeout_ms);
    if (history->kind->faults != NULL) {
        history->kind->faults(history, &faults);
    }
    history_sim_more_faults(&faults);
    sim_set_faults(history->sim, &faults);
}

static void begin(struct recipe_history *history, uint64_t seed, bool verbose)
{
    struct sim_options options;

    history_sim_options(&options, seed, verbose);
    if (history->kind->options != NULL) {
        history->kind->options(&options);
    }
    history->sim = history_sim_new(seed, &options);
    history->kinds = history_sim_kinds(seed);
    history->tuning = history_sim_tuning(seed, UVZK__TUNE_ALL);
    history->operator_kills = seed % 4 == 3;
    history->pauses = seed % 5 != 0;
    history->timeout_ms = seed % 7 == 0 ? 10000 : 4000;
    history->end_ms = sim_now(history->sim) + history->kind->active_ms;
    for (int i = 0; i < RECIPE_CLIENTS_MAX; i++) {
        history->clients[i].history = history;
        history->clients[i].number = i;
    }
    history->kind->begin(history, seed);
    EACH(client, history)
    {
        open_client(client);
    }
    ticker_begin(&history->ticker, history->sim, 5);
    begin_faults(history, seed);
}

static bool all_closed(struct recipe_history *history)
{
    EACH(client, history)
    {
        if (client->client != NULL) {
            return false;
        }
    }
    return true;
}

static void check_watches(const struct recipe_client *client)
{
    uvzk_client_metrics_t stats;

    uvzk_client_metrics_init(&stats);
    uvzk_client_metrics(client->client, &stats);
    for (uint32_t i = 0; i < client->sessions; i++) {
        if (stats.watches != 0 || history_transport.watches(client->ports[i]) != 0) {
            recipe_fail(client->history, "client %d has watches left", client->number);
        }
    }
}

/* Of what is to be gone. */
static size_t watch_count(const struct recipe_history *history)
{
    return history->kind->leaves_no_watch ? sim_watch_count(history->sim) : 0;
}

static void close_clients(struct recipe_history *history)
{
    EACH(client, history)
    {
        if (!recipe_is_open(client)) {
            continue;
        }
        if (history->kind->leaves_no_watch) {
            check_watches(client);
        }
        recipe_close_client(client);
    }
    bool closed = recipe_step_until(history, all_closed);
    /* The servers may be down, or a deposed one may keep a connection that has gone. */
    for (uint64_t until = sim_now(history->sim) + history->kind->heal_ms;
         sim_session_count(history->sim) + watch_count(history) > 0 &&
         sim_now(history->sim) < until;) {
        sim_run_for(history->sim, 1000);
    }
    if (!closed || watch_count(history) != 0 || sim_session_count(history->sim) != 0) {
        recipe_fail(history, "left: %s, %zu watches, %zu sessions",
                    closed ? "no client" : "clients", watch_count(history),
                    sim_session_count(history->sim));
    }
}

static void run(struct recipe_history *history, uint64_t seed, bool verbose)
{
    begin(history, seed, verbose);
    if (history->kind->live != NULL) {
        history->kind->live(history);
    } else {
        recipe_live(history, history->end_ms, true);
    }
    if (!history->failed) {
        heal(history);
    }
    if (!history->failed) {
        history->kind->end(history);
    }
    if (!history->failed) {
        ticker_end(&history->ticker);
        close_clients(history);
    }
}

void recipe_history_run(const struct recipe_history_kind *kind, uint64_t seed,
                        bool verbose, void *result, struct history_outcome *outcome)
{
    struct recipe_history *history = calloc(1, sizeof(*history));

    memset(outcome, 0, sizeof(*outcome));
    history->kind = kind;
    history->part = calloc(1, kind->size);
    history->result = result;
    history->outcome = outcome;
    run(history, seed, verbose);
    if (!history->failed && failing_allocator_live_blocks() != 0) {
        recipe_fail(history, "%" PRId64 " blocks of memory are left",
                    failing_allocator_live_blocks());
    }
    history_sim_outcome(history->sim, outcome);
    outcome->struck = history->strikes.deleted;
    if (history->failed) {
        sim_trace_print(history->sim, stderr);
        return; /* what is broken is not taken to pieces */
    }
    history_sim_free(history->sim);
    free(history->part);
    free(history);
}
