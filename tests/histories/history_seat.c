#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim/acquisition.h"
#include "claim/lock.h"
#include "client/client.h"
#include "history_parts.h"

static void open_place(struct seat *seat, int path)
{
    const struct recipe *recipe = seat->history->recipe;
    struct place *place = &seat->places[path];

    memset(place, 0, sizeof(*place));
    place->seat = seat;
    place->open_count = recipe->lock_count;
    if (recipe->open(place, path) != 0) {
        history_fail(seat->history, "lock refused");
    }
    for (int i = 0; i < recipe->lock_count; i++) {
        recipe->shell(place, i)->data = place;
    }
}

static int create_client(struct seat *seat)
{
    const struct history *history = seat->history;
    uvzk_client_options_t options;
    char tag[TAG_SIZE];

    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = history->timeout_ms;
    options.tick_ms = history->tick_ms;
    options.proof = history->proof;
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = 50;
    options.retry.max_retries = 3;
    if (history->durable != 0) {
        operator_tag(seat, tag);
        options.default_data = tag;
        options.default_data_length = strlen(tag);
    }
    return uvzk__client_create_over(seat->client, seat->ports, (uint32_t)seat->sessions,
                                    &options, history->options->tuning);
}

/* Every other client has several, where any has. */
static void open_ports(struct seat *seat, const char *name)
{
    struct history *history = seat->history;
    bool several = (history->kinds & HISTORY_SESSIONS) != 0 && seat->number % 2 == 0;

    seat->sessions = several ? 2 + (int)chance(history, SESSIONS_MAX - 1) : 1;
    for (int i = 0; i < seat->sessions; i++) {
        seat->ports[i] =
            i == 0 ? sim_port_new(history->sim, name) : sim_port_beside(seat->ports[0]);
        sim_set_timeout(seat->ports[i], history->timeout_ms);
        if (history->swift) {
            sim_set_latency(seat->ports[i], 1, 2);
        } else if (history->slow_wires) {
            sim_set_latency(seat->ports[i], history->timeout_ms / 24,
                            history->timeout_ms / 16);
        }
    }
    seat->port = seat->ports[0];
}

/* All but one have room for a few contenders alone. */
static void make_small(struct seat *seat)
{
    const struct uvzk__client *client = seat->client->impl;
    const struct recipe *recipe = seat->history->recipe;

    if (recipe->overflows == NULL || !recipe->overflows(seat->history)) {
        return;
    }
    for (int i = 1; i < seat->sessions; i++) {
        client->sessions->each[i]->directories->node_bytes_most =
            100 * (1 + chance(seat->history, 3));
    }
}

bool seat_auth_failed(const struct seat *seat)
{
    for (int i = 0; i < seat->sessions; i++) {
        if (sim_auth_failed(seat->ports[i])) {
            return true;
        }
    }
    return false;
}

bool seat_is_alive(const struct seat *seat)
{
    for (int i = 0; i < seat->sessions; i++) {
        if (!sim_session_alive(seat->history->sim, sim_session_id(seat->ports[i]))) {
            return false;
        }
    }
    return true;
}

bool seat_has_away(const uvzk_hold_t *hold)
{
    const struct uvzk__acquisition *acquisition = hold->impl;

    return acquisition->claim->client != acquisition->lock->client;
}

bool seat_nobody_was_away(const struct history_result *sum)
{
    return sum->away == 0 && (history_sim_allowed() & HISTORY_SESSIONS) != 0;
}

static void open_locks(struct seat *seat)
{
    const struct recipe *recipe = seat->history->recipe;

    memset(seat->counts, 0, sizeof(seat->counts));
    memset(seat->multis, 0, sizeof(seat->multis));
    for (int i = 0; i < seat->history->path_count; i++) {
        open_place(seat, i);
    }
    if (recipe->open_seat != NULL && recipe->open_seat(seat) != 0) {
        history_fail(seat->history, "lock of several places refused");
    }
}

void seat_open(struct seat *seat)
{
    struct history *history = seat->history;
    char name[16];

    (void)snprintf(name, sizeof(name), "c%d", seat->number);
    open_ports(seat, name);
    requests_begin(seat);
    seat->client = calloc(1, sizeof(*seat->client));
    seat->client->data = seat;
    seat->closing = false;
    seat->openings++;
    if (create_client(seat) != 0) {
        history_fail(history, "client refused");
    }
    make_small(seat);
    open_locks(seat);
    for (int i = 0; i < history->actor_count; i++) {
        actor_begin(&seat->actors[i], seat);
    }
    if (uvzk_client_start(seat->client) != 0) {
        history_fail(history, "start refused");
    }
}

static void on_closed(uvzk_client_t *client)
{
    struct seat *seat = client->data;

    for (int i = 0; i < seat->history->actor_count; i++) {
        if (!actor_idle(&seat->actors[i])) {
            history_fail(seat->history, "client closed before a request was answered");
        }
    }
    free(client);
    seat->client = NULL;
    seat->port = NULL;
    seat->reopen_ms = sim_now(seat->history->sim) + 1 + chance(seat->history, 3000);
}

void seat_close(struct seat *seat)
{
    seat->closing = true;
    for (int i = 0; i < seat->history->actor_count; i++) {
        actor_stop(&seat->actors[i]);
    }
    if (uvzk_client_close(seat->client, on_closed) != 0) {
        history_fail(seat->history, "close refused");
    }
}

/* -------------------------------------------------------------------- its locks */

static void on_lock_closed(uvzk_lock_t *lock)
{
    struct place *place = lock->data;

    place->open_count--;
    place->open_ms =
        sim_now(place->seat->history->sim) + chance(place->seat->history, 1000);
}

void seat_close_a_lock(struct seat *seat)
{
    struct history *history = seat->history;
    struct place *place = &seat->places[some_path(history)];
    int lock = (int)chance(history, (uint64_t)history->recipe->lock_count);

    if (!place->closing[lock]) {
        place->closing[lock] = true;
        if (uvzk_lock_close(history->recipe->shell(place, lock), on_lock_closed) != 0) {
            history_fail(history, "close of a lock refused");
        }
    }
}

/* A lock that stays open alone follows the others. */
void seat_reopen_locks(struct seat *seat)
{
    const struct recipe *recipe = seat->history->recipe;

    for (int i = 0; i < seat->history->path_count; i++) {
        struct place *place = &seat->places[i];
        if (place->open_count == recipe->lock_count ||
            place->open_ms > sim_now(seat->history->sim)) {
            continue;
        }
        if (place->open_count == 0) {
            open_place(seat, i);
            continue;
        }
        for (int j = 0; j < recipe->lock_count; j++) {
            if (!place->closing[j]) {
                place->closing[j] = true;
                (void)uvzk_lock_close(recipe->shell(place, j), on_lock_closed);
            }
        }
    }
}
