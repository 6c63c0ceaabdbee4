/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim/acquisition.h"
#include "claim/lock.h"
#include "client/create.h"
#include "history_parts.h"

static void open_place(struct client_slot *slot, int path)
{
    const struct recipe *recipe = slot->history->recipe;
    struct path_locks *path_locks = &slot->path_locks[path];

    memset(path_locks, 0, sizeof(*path_locks));
    path_locks->slot = slot;
    path_locks->open_count = recipe->lock_count;
    if (recipe->open(path_locks, path) != 0) {
        history_fail(slot->history, "lock refused");
    }
    for (int i = 0; i < recipe->lock_count; i++) {
        recipe->handle(path_locks, i)->data = path_locks;
    }
}

static int create_client(struct client_slot *slot)
{
    const struct history *history = slot->history;
    uvzk_client_options_t options;
    char tag[TAG_SIZE];

    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = history->timeout_ms;
    options.tick_ms = history->tick_ms;
    options.proof = history->proof;
    options.mixed_kinds =
        history->recipe->mixed_kinds ? UVZK_MIXED_KINDS_REFUSE : UVZK_MIXED_KINDS_WARN;
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = 50;
    options.retry.max_retries = 3;
    if (history->persistent != 0) {
        operator_tag(slot, tag);
        options.default_data = tag;
        options.default_data_length = strlen(tag);
    }
    return uvzk__client_create_over(slot->client, slot->ports, (uint32_t)slot->sessions,
                                    &options, history->options->tuning);
}

/* Every other client has several, where any has. */
static void open_ports(struct client_slot *slot, const char *name)
{
    struct history *history = slot->history;
    bool several = (history->kinds & HISTORY_SESSIONS) != 0 && slot->number % 2 == 0;

    slot->sessions = several ? 2 + (int)chance(history, SESSIONS_MAX - 1) : 1;
    for (int i = 0; i < slot->sessions; i++) {
        slot->ports[i] = history_transport.port_new(
            history->sim, name, i == 0 ? NULL : slot->ports[0], history->timeout_ms);
        if (history->near_servers) {
            history_transport.set_latency(slot->ports[i], 1, 2);
        } else if (history->slow_links) {
            history_transport.set_latency(slot->ports[i], history->timeout_ms / 24,
                                          history->timeout_ms / 16);
        }
    }
    slot->port = slot->ports[0];
}

/* All but one have room for a few contenders alone. */
static void make_small(struct client_slot *slot)
{
    const struct uvzk__session *session = slot->client->impl;
    const struct recipe *recipe = slot->history->recipe;

    if (recipe->overflows == NULL || !recipe->overflows(slot->history)) {
        return;
    }
    for (int i = 1; i < slot->sessions; i++) {
        session->client->sessions[i]->directories->node_bytes_max =
            100 * (1 + chance(slot->history, 3));
    }
}

bool client_slot_auth_failed(const struct client_slot *slot)
{
    for (int i = 0; i < slot->sessions; i++) {
        if (history_transport.auth_failed(slot->ports[i])) {
            return true;
        }
    }
    return false;
}

bool client_slot_is_alive(const struct client_slot *slot)
{
    for (int i = 0; i < slot->sessions; i++) {
        int64_t id = history_transport.session_id(slot->ports[i]);
        if (!sim_session_alive(slot->history->sim, id)) {
            return false;
        }
    }
    return true;
}

bool client_slot_has_remote_hold(const uvzk_hold_t *hold)
{
    const struct uvzk__acquisition *acquisition = hold->impl;

    return acquisition->claim->session != acquisition->lock->session;
}

bool client_slot_no_remote_hold(const struct history_result *sum)
{
    return sum->remote_grants == 0 && (history_sim_allowed() & HISTORY_SESSIONS) != 0;
}

static void open_locks(struct client_slot *slot)
{
    const struct recipe *recipe = slot->history->recipe;

    memset(slot->counts, 0, sizeof(slot->counts));
    memset(slot->multis, 0, sizeof(slot->multis));
    for (int i = 0; i < slot->history->path_count; i++) {
        open_place(slot, i);
    }
    if (recipe->open_seat != NULL && recipe->open_seat(slot) != 0) {
        history_fail(slot->history, "lock of several places refused");
    }
}

void client_slot_open(struct client_slot *slot)
{
    struct history *history = slot->history;
    char name[16];

    (void)snprintf(name, sizeof(name), "c%d", slot->number);
    open_ports(slot, name);
    requests_begin(slot);
    slot->client = calloc(1, sizeof(*slot->client));
    slot->client->data = slot;
    slot->closing = false;
    slot->openings++;
    if (create_client(slot) != 0) {
        history_fail(history, "client refused");
    }
    make_small(slot);
    open_locks(slot);
    for (int i = 0; i < history->worker_count; i++) {
        worker_begin(&slot->workers[i], slot);
    }
    if (uvzk_client_start(slot->client) != 0) {
        history_fail(history, "start refused");
    }
}

static void on_closed(uvzk_client_t *client)
{
    struct client_slot *slot = client->data;

    for (int i = 0; i < slot->history->worker_count; i++) {
        if (!worker_idle(&slot->workers[i])) {
            history_fail(slot->history, "client closed before a request was answered");
        }
    }
    free(client);
    slot->client = NULL;
    slot->port = NULL;
    slot->reopen_ms = sim_now(slot->history->sim) + 1 + chance(slot->history, 3000);
}

void client_slot_close(struct client_slot *slot)
{
    slot->closing = true;
    for (int i = 0; i < slot->history->worker_count; i++) {
        worker_stop(&slot->workers[i]);
    }
    if (uvzk_client_close(slot->client, on_closed) != 0) {
        history_fail(slot->history, "close refused");
    }
}

/* -------------------------------------------------------------------- its locks */

static void on_lock_closed(uvzk_lock_t *lock)
{
    struct path_locks *path_locks = lock->data;

    path_locks->open_count--;
    path_locks->open_ms =
        sim_now(path_locks->slot->history->sim) + chance(path_locks->slot->history, 1000);
}

void client_slot_close_a_lock(struct client_slot *slot)
{
    struct history *history = slot->history;
    struct path_locks *path_locks = &slot->path_locks[some_path(history)];
    int lock = (int)chance(history, (uint64_t)history->recipe->lock_count);

    if (!path_locks->closing[lock]) {
        path_locks->closing[lock] = true;
        if (uvzk_lock_close(history->recipe->handle(path_locks, lock), on_lock_closed) !=
            0) {
            history_fail(history, "close of a lock refused");
        }
    }
}

/* A lock that stays open alone follows the others. */
void client_slot_reopen_locks(struct client_slot *slot)
{
    const struct recipe *recipe = slot->history->recipe;

    for (int i = 0; i < slot->history->path_count; i++) {
        struct path_locks *path_locks = &slot->path_locks[i];
        if (path_locks->open_count == recipe->lock_count ||
            path_locks->open_ms > sim_now(slot->history->sim)) {
            continue;
        }
        if (path_locks->open_count == 0) {
            open_place(slot, i);
            continue;
        }
        for (int j = 0; j < recipe->lock_count; j++) {
            if (!path_locks->closing[j]) {
                path_locks->closing[j] = true;
                (void)uvzk_lock_close(recipe->handle(path_locks, j), on_lock_closed);
            }
        }
    }
}
