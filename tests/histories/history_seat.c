#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "history_world.h"

static void open_place(struct seat *seat, int path)
{
    const struct recipe *recipe = seat->world->recipe;
    struct place *place = &seat->places[path];

    memset(place, 0, sizeof(*place));
    place->seat = seat;
    place->open_count = recipe->lock_count;
    if (recipe->open(place, path) != 0) {
        history_fail(seat->world, "lock refused");
    }
    for (int i = 0; i < recipe->lock_count; i++) {
        recipe->shell(place, i)->data = place;
    }
}

static int create_client(struct seat *seat)
{
    const struct world *world = seat->world;
    uvzk_client_options_t options;

    uvzk_client_options_init(&options);
    options.hosts = "simulated:1";
    options.session_timeout_ms = world->timeout_ms;
    options.proof = world->proof;
    options.retry.kind = UVZK_RETRY_N_TIMES;
    options.retry.base_ms = 50;
    options.retry.max_retries = 3;
    return uvzk__client_create(seat->client, seat->port, &options,
                               world->options->tuning);
}

static void open_locks(struct seat *seat)
{
    const struct recipe *recipe = seat->world->recipe;

    memset(seat->counts, 0, sizeof(seat->counts));
    memset(seat->multis, 0, sizeof(seat->multis));
    for (int i = 0; i < seat->world->path_count; i++) {
        open_place(seat, i);
    }
    if (recipe->open_seat != NULL && recipe->open_seat(seat) != 0) {
        history_fail(seat->world, "lock of several places refused");
    }
}

void seat_open(struct seat *seat)
{
    struct world *world = seat->world;
    char name[16];

    (void)snprintf(name, sizeof(name), "c%d", seat->number);
    seat->port = sim_port_new(world->sim, name);
    sim_set_timeout(seat->port, world->timeout_ms);
    requests_begin(seat);
    if (world->swift) {
        sim_set_latency(seat->port, 1, 2);
    }
    seat->client = calloc(1, sizeof(*seat->client));
    seat->client->data = seat;
    seat->closing = false;
    if (create_client(seat) != 0) {
        history_fail(world, "client refused");
    }
    open_locks(seat);
    for (int i = 0; i < world->actor_count; i++) {
        actor_begin(&seat->actors[i], seat);
    }
    if (uvzk_client_start(seat->client) != 0) {
        history_fail(world, "start refused");
    }
}

static void on_closed(uvzk_client_t *client)
{
    struct seat *seat = client->data;

    for (int i = 0; i < seat->world->actor_count; i++) {
        if (!actor_idle(&seat->actors[i])) {
            history_fail(seat->world, "client closed before a request was answered");
        }
    }
    free(client);
    seat->client = NULL;
    seat->port = NULL;
    seat->reopen_ms = sim_now(seat->world->sim) + 1 + chance(seat->world, 3000);
}

void seat_close(struct seat *seat)
{
    seat->closing = true;
    for (int i = 0; i < seat->world->actor_count; i++) {
        actor_stop(&seat->actors[i]);
    }
    if (uvzk_client_close(seat->client, on_closed) != 0) {
        history_fail(seat->world, "close refused");
    }
}

/* -------------------------------------------------------------------- its locks */

static void on_lock_closed(uvzk_lock_t *lock)
{
    struct place *place = lock->data;

    place->open_count--;
    place->open_ms = sim_now(place->seat->world->sim) + chance(place->seat->world, 1000);
}

void seat_close_a_lock(struct seat *seat)
{
    struct world *world = seat->world;
    struct place *place = &seat->places[chance(world, (uint64_t)world->path_count)];
    int lock = (int)chance(world, (uint64_t)world->recipe->lock_count);

    if (!place->closing[lock]) {
        place->closing[lock] = true;
        if (uvzk_lock_close(world->recipe->shell(place, lock), on_lock_closed) != 0) {
            history_fail(world, "close of a lock refused");
        }
    }
}

/* A lock that stays open alone follows the others. */
void seat_reopen_locks(struct seat *seat)
{
    const struct recipe *recipe = seat->world->recipe;

    for (int i = 0; i < seat->world->path_count; i++) {
        struct place *place = &seat->places[i];
        if (place->open_count == recipe->lock_count ||
            place->open_ms > sim_now(seat->world->sim)) {
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
