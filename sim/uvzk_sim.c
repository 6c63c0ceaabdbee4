/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator as a library (uvzk_sim.h): the public client over simulated ports, and
 * functions by which a user's test injects faults. It takes the place of
 * loop/session/client_init.c and loop/platform/clock.c. There is one simulation at a
 * time, because uvzk_client_init has no argument that could name one.
 *
 * Each function here checks its arguments and calls sim.h. Nothing happens inside these
 * calls, except in the functions that let time pass. */
#include "uvzk_sim.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/struct_size.h"
#include "client/create.h"
#include "engine/client.h"
#include "sim.h"

/* In ms; a ZooKeeper ensemble takes about as long to elect a leader. */
#define ELECTION_MS 500
/* The longest random fault, in ms. */
#define TROUBLE_MAX_MS 30000
/* Bytes of a port's name in the printed trace. */
#define NAME_ROOM 48

static struct {
    struct sim *sim; /* NULL: there is no simulation */
    unsigned clients, servers;
    uint64_t now; /* the time at which the last simulation ended */
} world;

/* ------------------------------------------------------------------------ world */

void uvzk_sim_options_init_size(uvzk_sim_options_t *options, size_t size)
{
    if (options != NULL) {
        memset(options, 0, size);
        options->size = size;
    }
}

int uvzk_sim_begin(const uvzk_sim_options_t *options)
{
    uvzk_sim_options_t known = {0};
    struct sim_options inside;

    if (options != NULL && options->size < sizeof(options->size)) {
        return UV_EINVAL;
    }
    if (options != NULL) {
        uvzk__settings_from(&known, options, sizeof(known));
    }
    if (world.sim != NULL) {
        return UV_EBUSY;
    }
    sim_options_init(&inside);
    /* As in loop/: replies that have arrived are delivered together, then the turn. */
    inside.batches = true;
    /* An exists needs the READ right, as on servers from 3.8.4 and 3.9.2 on. */
    inside.exists_needs_read = true;
    inside.servers = known.servers > 0 ? known.servers : inside.servers;
    inside.tick_ms = known.tick_ms > 0 ? known.tick_ms : inside.tick_ms;
    if (known.latency_max_ms > 0) {
        inside.latency_max_ms = known.latency_max_ms;
    }
    world.servers = inside.servers;
    world.clients = 0;
    world.sim = sim_new(known.seed, &inside);
    return 0;
}

int uvzk_sim_end(void)
{
    if (world.sim == NULL) {
        return UVZK_ESTATE;
    }
    if (sim_has_ports(world.sim)) {
        return UV_EBUSY;
    }
    /* uvzk_now() must not go back after the end of a simulation. */
    world.now = sim_now(world.sim);
    sim_free(world.sim);
    world.sim = NULL;
    return 0;
}

uint64_t uvzk_now(void)
{
    return world.sim == NULL ? world.now : sim_now(world.sim);
}

/* ---------------------------------------------------------------------- clients */

static void nobody_closed(struct uvzk__port_user *user)
{
    (void)user;
}

/* The user of the ports of a client that could not be created. Such a port calls only
 * `closed`. */
static struct uvzk__port_user nobody = {.closed = nobody_closed};

/* Creates the port for the session with this number, from 0, of the next client. */
static struct uvzk__port *new_port(uint32_t number, uint32_t timeout_ms)
{
    char name[NAME_ROOM];

    int length = snprintf(name, sizeof(name), "client %u", world.clients + 1);
    if (number > 0) {
        snprintf(name + length, sizeof(name) - (size_t)length, ", session %" PRIu32,
                 number);
    }
    struct uvzk__port *port = sim_port_new(world.sim, name);
    sim_set_timeout(port, timeout_ms);
    return port;
}

int uvzk_client_init(uv_loop_t *loop, uvzk_client_t *client,
                     const uvzk_client_options_t *options)
{
    uvzk_client_options_t given, known;

    (void)loop;
    /* The hosts and the loop are ignored. */
    if (world.sim == NULL || client == NULL || options == NULL ||
        options->size < offsetof(uvzk_client_options_t, hosts) + sizeof(options->hosts)) {
        return UV_EINVAL;
    }
    uvzk_client_options_init(&given);
    uvzk__settings_from(&given, options, sizeof(given));
    int status = uvzk__options_read(&known, &given);
    if (status != 0) {
        return status;
    }
    struct uvzk__port *ports[UVZK__SESSIONS_MAX];
    for (uint32_t i = 0; i < known.sessions; i++) {
        ports[i] = new_port(i, known.session_timeout_ms);
    }
    status =
        uvzk__client_create_over(client, ports, known.sessions, &known, UVZK__TUNE_ALL);
    /* After a failure the ports still belong to this function. */
    for (uint32_t i = 0; status != 0 && i < known.sessions; i++) {
        ports[i]->user = &nobody;
        ports[i]->close(ports[i]);
    }
    world.clients += status == 0;
    return status;
}

/* There is no loop that a client could keep alive. */
void uvzk_client_ref(uvzk_client_t *client)
{
    (void)client;
}

void uvzk_client_unref(uvzk_client_t *client)
{
    (void)client;
}

/* ------------------------------------------------------------------ time passes */

void uvzk_sim_run_for(uint64_t ms)
{
    if (world.sim != NULL) {
        sim_run_for(world.sim, ms);
    }
}

int uvzk_sim_await_that(int (*condition)(void *context), void *context, uint64_t ms)
{
    if (world.sim == NULL) {
        return UV_ETIMEDOUT;
    }
    uint64_t end = sim_now(world.sim) + ms;

    while (!condition(context)) {
        if (sim_now(world.sim) >= end) {
            return UV_ETIMEDOUT;
        }
        /* The condition is checked at every millisecond. */
        sim_run_for(world.sim, 1);
    }
    return 0;
}

static int is_set(void *flag)
{
    return *(const int *)flag != 0;
}

int uvzk_sim_await(const int *flag, uint64_t ms)
{
    return uvzk_sim_await_that(is_set, (void *)(uintptr_t)flag, ms);
}

/* --------------------------------------------------------------- faults of a client */

/* Applies `call` to the port of each session of the client, in the variable `port`, and
 * returns 0 from the function. Returns UVZK_ESTATE if the client has no session. */
#define BEFALLS(client, call)                                                     \
    struct uvzk__port *port = uvzk__client_port(client);                          \
    if (port == NULL) {                                                           \
        return UVZK_ESTATE;                                                       \
    }                                                                             \
    for (uint32_t i = 0; (port = uvzk__client_port_of(client, i)) != NULL; i++) { \
        call;                                                                     \
    }                                                                             \
    return 0

int uvzk_sim_disconnect(uvzk_client_t *client, uvzk_sim_cut_t cut, uint64_t ms)
{
    BEFALLS(client,
            sim_disconnect(port, cut == UVZK_SIM_SILENT ? SIM_SILENT : SIM_RESET, ms));
}

int uvzk_sim_expire(uvzk_client_t *client)
{
    struct uvzk__port *port;
    bool any = false;

    for (uint32_t i = 0; (port = uvzk__client_port_of(client, i)) != NULL; i++) {
        any |= sim_expire(port);
    }
    return any ? 0 : UVZK_ESTATE;
}

int uvzk_sim_pause(uvzk_client_t *client, uint64_t ms)
{
    BEFALLS(client, sim_pause(port, ms));
}

int uvzk_sim_stall(uvzk_client_t *client, uint64_t ms)
{
    BEFALLS(client, sim_stall(port, ms));
}

int uvzk_sim_lose_reply(uvzk_client_t *client)
{
    BEFALLS(client, sim_lose_reply(port));
}

int uvzk_sim_move(uvzk_client_t *client)
{
    BEFALLS(client, sim_move(port));
}

static bool is_server(int server)
{
    return server >= 0 && (unsigned)server < world.servers;
}

int uvzk_sim_connect_to(uvzk_client_t *client, int server)
{
    if (server != -1 && !is_server(server)) {
        return UV_EINVAL;
    }
    BEFALLS(client, sim_connect_to(port, server));
}

int uvzk_sim_server_of(const uvzk_client_t *client)
{
    const struct uvzk__port *port = uvzk__client_port(client);

    return port == NULL ? -1 : sim_server_of(port);
}

/* ------------------------------------------------------------ faults of the servers */

int uvzk_sim_restart(uint64_t ms)
{
    if (world.sim == NULL) {
        return UVZK_ESTATE;
    }
    sim_restart(world.sim, ms);
    return 0;
}

int uvzk_sim_lag(int server, uint64_t ms)
{
    if (world.sim == NULL) {
        return UVZK_ESTATE;
    }
    if (!is_server(server)) {
        return UV_EINVAL;
    }
    sim_lag(world.sim, server, ms);
    return 0;
}

int uvzk_sim_depose(uint32_t followers, uint64_t ms)
{
    if (world.sim == NULL) {
        return UVZK_ESTATE;
    }
    return sim_depose(world.sim, followers, ELECTION_MS, ms) ? 0 : UV_EINVAL;
}

int uvzk_sim_leader(void)
{
    return world.sim == NULL ? UVZK_ESTATE : sim_leader(world.sim);
}

int uvzk_sim_trouble(uint32_t ppm)
{
    const struct sim_faults faults = {.reset = ppm,
                                      .silence = ppm,
                                      .pause = ppm,
                                      .stall = ppm,
                                      .move = ppm,
                                      .restart = ppm,
                                      .lag = ppm,
                                      .depose = world.servers >= 3 ? ppm : 0,
                                      .down_max_ms = TROUBLE_MAX_MS,
                                      .pause_max_ms = TROUBLE_MAX_MS,
                                      .lag_max_ms = TROUBLE_MAX_MS,
                                      .depose_max_ms = TROUBLE_MAX_MS};

    if (world.sim == NULL) {
        return UVZK_ESTATE;
    }
    sim_set_faults(world.sim, ppm == 0 ? NULL : &faults);
    return 0;
}

/* ------------------------------------------------------------ the servers' view */

int uvzk_sim_exists(const char *path)
{
    return world.sim != NULL && sim_exists(world.sim, path);
}

size_t uvzk_sim_children(const char *path)
{
    return world.sim == NULL ? 0 : sim_children(world.sim, path, NULL, 0);
}

size_t uvzk_sim_sessions(void)
{
    return world.sim == NULL ? 0 : sim_session_count(world.sim);
}

int uvzk_sim_delete(const char *path)
{
    return world.sim == NULL ? UVZK_ESTATE : sim_delete_by_hand(world.sim, path);
}

void uvzk_sim_print(FILE *file)
{
    if (world.sim != NULL) {
        sim_trace_print(world.sim, file);
    }
}
