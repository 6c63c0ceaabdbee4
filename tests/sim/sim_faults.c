/* SPDX-License-Identifier: Apache-2.0 */
/* The faults, and some settings of clients and servers. Each fault is a public function
 * (sim.h) that a test may call. sim_set_faults() starts a scheduler, which calls the same
 * functions at random: sim__fault_tick() fires every 100 ms and decides for each client
 * and for the servers. Faults of single requests and messages are decided where these
 * are handled (sim_server.c, sim_link.c, sim_io.c). */
#include "sim_internal.h"

#include <stdlib.h>

/* How often the scheduler decides which faults happen. */
#define FAULT_PERIOD_MS 100

#define ELECTION_MAX_MS 1000 /* of a random sim_depose */
#define MOVE_SLOW_MS 100     /* how late requests may arrive at a server after sim_move */

/* "Until sim_resume": the last point in time. SIM__NEVER itself would clear an event. */
#define FOR_GOOD (SIM__NEVER - 1)

/* The time in `ms` from now; FOR_GOOD if that is too far ahead. */
static uint64_t after(const struct sim *sim, uint64_t ms)
{
    return ms >= FOR_GOOD - sim->now ? FOR_GOOD : sim->now + ms;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ------------------------------------------------------ faults of one client */

void sim_disconnect(struct uvzk__port *port, enum sim_cut cut, uint64_t ms)
{
    struct sim__client *client = sim__client_of(port);
    struct sim *sim = client->sim;
    sim__trace(sim, client->name, "is cut off for %llu ms, %s", (unsigned long long)ms,
               cut == SIM_RESET ? "reset" : "silently");
    client->cut_until = later(client->cut_until, after(sim, ms));
    if (client->link == NULL) {
        return;
    }
    client->link->cut_until = client->cut_until;
    if (cut == SIM_RESET) {
        /* Half of the resets happen because the follower has died. */
        if (client->link->session != NULL && sim_random(sim, 2) == 0) {
            sim__session_unreported(sim, client->link->session);
        }
        size_t under_way = sim__queue_length(&client->link->up);
        client->link->cut_until = sim->now; /* the requests that are kept arrive */
        sim__io_lost(client, (size_t)sim_random(sim, under_way + 1));
    }
}

void sim_lose_request(struct uvzk__port *port)
{
    sim__client_of(port)->lose_request = true;
}

void sim_lose_reply(struct uvzk__port *port)
{
    sim__client_of(port)->lose_reply = true;
}

void sim_lose_events(struct uvzk__port *port, uint32_t times)
{
    sim__client_of(port)->lose_events = times;
}

void sim_reply_enomem(struct uvzk__port *port)
{
    sim__client_of(port)->reply_enomem = true;
}

void sim_delay(struct uvzk__port *port, uint64_t ms)
{
    struct sim__client *client = sim__client_of(port);
    if (client->link != NULL) {
        client->link->up.extra_ms = ms;
        client->link->down.extra_ms = ms;
    }
}

bool sim_expire(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    struct sim__session *session = sim__session_find(client->sim, client->session_id);
    if (session == NULL) {
        return false;
    }
    sim__trace(client->sim, client->name, "its session is ended by the server");
    sim__session_end(client->sim, session);
    return true;
}

bool sim_expire_connected(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    struct sim__session *session = sim__session_find(client->sim, client->session_id);
    if (session == NULL || session->link == NULL || session->link->client != client) {
        return false;
    }
    /* EXPIRED is sent before sim_expire() closes the connection. */
    sim__link_send_down(client->sim, session->link, sim__answer_new(SIM__EXPIRED));
    return sim_expire(port);
}

void sim_fail_auth(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    if (client->link != NULL) {
        sim__trace(client->sim, client->name, "its credentials are refused");
        client->auth_failed = true;
        sim__io_read(client, sim__answer_new(SIM__AUTH_FAILED));
    }
}

bool sim_auth_failed(const struct uvzk__port *port)
{
    return sim__client_of(port)->auth_failed;
}

static void stop(struct sim__client *client, uint64_t ms)
{
    client->paused_until = later(client->paused_until, after(client->sim, ms));
}

static void stall(struct sim__client *client, uint64_t ms)
{
    client->stalled_until = later(client->stalled_until, after(client->sim, ms));
}

/* Events that were delayed until the end of the pause or stall fire now. */
static void resume(struct sim__client *client, uint64_t ms)
{
    struct sim__event *held[] = {client->link != NULL ? &client->link->down.event : NULL,
                                 &client->deliver,
                                 &client->alarm,
                                 &client->wake,
                                 &client->connect,
                                 &client->ping,
                                 &client->timeout};
    uint64_t until = later(client->paused_until, client->stalled_until);
    (void)ms;
    for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
        if (held[i] != NULL && held[i]->place != 0 &&
            (held[i]->at == client->paused_until || held[i]->at == until)) {
            sim__event_set(client->sim, held[i], client->sim->now);
        }
    }
    client->paused_until = client->stalled_until = client->sim->now;
}

/* Calls happens() for all ports of the client's process. */
static void each_of_its_process(struct sim__client *client, uint64_t ms,
                                void (*happens)(struct sim__client *, uint64_t ms))
{
    struct uvzk__link *clients = &client->sim->clients;
    for (struct uvzk__link *at = clients->next; at != clients; at = at->next) {
        struct sim__client *one = UVZK__CONTAINER_OF(at, struct sim__client, all);
        if (one->process == client->process) {
            happens(one, ms);
        }
    }
}

void sim_pause(struct uvzk__port *port, uint64_t ms)
{
    struct sim__client *client = sim__client_of(port);
    sim__trace(client->sim, client->name, "is stopped for %llu ms",
               (unsigned long long)ms);
    each_of_its_process(client, ms, stop);
}

void sim_resume(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    sim__trace(client->sim, client->name, "goes on");
    each_of_its_process(client, 0, resume);
}

void sim_stall(struct uvzk__port *port, uint64_t ms)
{
    struct sim__client *client = sim__client_of(port);
    sim__trace(client->sim, client->name, "its loop is busy for %llu ms",
               (unsigned long long)ms);
    each_of_its_process(client, ms, stall);
}

/* Nothing to do if the server is cut off already. */
void sim__link_cut_follower(struct sim *sim, struct sim__link *link, uint64_t ms)
{
    if (!link->server_open || link->follower != NULL || link->member->deposed) {
        return;
    }
    sim__trace(sim, link->who, "its follower loses the leader for %llu ms",
               (unsigned long long)ms);
    link->follower = sim__alloc(sizeof(*link->follower));
    sim__tree_copy(link->follower, link->member->tree);
    sim__watch_drop_all(link);
    if (link->session != NULL) {
        sim__session_unreported(sim, link->session);
    }
    sim__event_set(sim, &link->follower_end, after(sim, ms));
}

void sim_follower_cut(struct uvzk__port *port, uint64_t ms)
{
    struct sim__client *client = sim__client_of(port);

    if (client->io == SIM__IO_UP) {
        sim__link_cut_follower(client->sim, client->link, ms);
    }
}

void sim_repeat_connected(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    if (client->io != SIM__IO_UP) {
        return;
    }
    struct sim__answer *answer = sim__answer_new(SIM__CONNECTED);
    answer->session_id = client->session_id;
    answer->timeout_ms = client->timeout_ms;
    answer->epoch = client->epoch;
    sim__client_push(client, answer);
}

void sim_keep_handle(struct uvzk__port *port)
{
    sim__client_of(port)->keeps_handle = true;
}

void sim_replace_handle(struct uvzk__port *port)
{
    sim__client_of(port)->replace_handle = true;
}

void sim_reconnect_unreported(struct uvzk__port *port)
{
    sim__client_of(port)->connects_unreported = true;
}

void sim_close_handle(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    if (sim__client_is_lost(client) &&
        (client->io == SIM__IO_CONNECTING || client->io == SIM__IO_HANDSHAKE)) {
        sim__trace(client->sim, client->name, "its handle is closed, and its session");
        client->ends_session = true;
        sim__io_abandon(client);
    }
}

void sim_fail_open(struct uvzk__port *port, int status)
{
    sim__client_of(port)->fail_open = status;
}

void sim_fail_random(struct uvzk__port *port, uint32_t n)
{
    sim__client_of(port)->fail_random = n;
}

/* ------------------------------------------------------- settings, questions */

int64_t sim_session_id(const struct uvzk__port *port)
{
    return sim__client_of(port)->session_seen;
}

void sim_set_timeout(struct uvzk__port *port, uint32_t timeout_ms)
{
    sim__client_of(port)->asked_ms = timeout_ms;
}

void sim_set_latency(struct uvzk__port *port, uint32_t min_ms, uint32_t max_ms)
{
    struct sim__client *client = sim__client_of(port);
    client->latency_min_ms = min_ms;
    client->latency_max_ms = max_ms;
    if (client->link != NULL) {
        client->link->latency_min_ms = min_ms;
        client->link->latency_max_ms = max_ms;
    }
}

size_t sim_outstanding(const struct uvzk__port *port)
{
    return sim__client_of(port)->outstanding;
}

size_t sim_armed(const struct uvzk__port *port)
{
    return HASH_CNT(hh_id, sim__client_of(port)->by_id);
}

uint64_t sim_submitted(const struct uvzk__port *port)
{
    return sim__client_of(port)->submitted;
}

/* ------------------------------------------------------------ faults of servers */

/* Each session gets the whole timeout of its creation again, counted from when the
 * servers are up. */
void sim_restart(struct sim *sim, uint64_t ms)
{
    struct sim__session *session, *next;
    sim__trace(sim, "server", "is down for %llu ms", (unsigned long long)ms);
    sim->server.up_at = later(sim->server.up_at, after(sim, ms));
    HASH_ITER(hh, sim->server.sessions, session, next)
    {
        sim__session_inherited(sim, session, sim->server.up_at);
        if (session->link != NULL) {
            sim__server_hang_up(sim, session->link);
        }
    }
    sim__election(sim);
}

int sim_server_of(const struct uvzk__port *port)
{
    const struct sim__client *client = sim__client_of(port);
    return client->io == SIM__IO_UP ? (int)client->link->member->number : -1;
}

int sim_leader(const struct sim *sim)
{
    return (int)sim->server.leader->number;
}

void sim_connect_to(struct uvzk__port *port, int server)
{
    sim__client_of(port)->server = server;
}

void sim_move(struct uvzk__port *port)
{
    struct sim__client *client = sim__client_of(port);
    struct sim *sim = client->sim;
    if (client->link == NULL) {
        return;
    }
    sim__trace(sim, client->name, "goes over to another server");
    /* All requests on their way arrive, some of them late. */
    client->left = client->link->member;
    sim__link_slow_up(sim, client->link, sim_random(sim, MOVE_SLOW_MS));
    sim__io_lost(client, SIZE_MAX);
}

void sim_lag(struct sim *sim, int server, uint64_t ms)
{
    struct sim__member *member = &sim->server.members[server];
    /* The leader has what it commits, and hears of its sessions by itself. */
    if (sim__member_leads(sim, member)) {
        return;
    }
    sim__trace(sim, "server", "%d applies nothing for %llu ms", server,
               (unsigned long long)ms);
    member->lags_until = later(member->lags_until, after(sim, ms));
    for (struct uvzk__link *at = sim->links.next; at != &sim->links; at = at->next) {
        struct sim__link *link = UVZK__CONTAINER_OF(at, struct sim__link, all);
        if (link->member == member && link->session != NULL) {
            sim__session_delayed(sim, link->session, member->lags_until);
        }
    }
}

void sim_lag_and_cut(struct sim *sim, int server, uint64_t ms)
{
    sim_lag(sim, server, ms);
    sim->server.members[server].cut_behind_lag = true;
}

void sim_set_limit(struct sim *sim, int server, uint32_t timeout_ms)
{
    sim__trace(sim, "server", "%d allows sessions of %u ms", server, timeout_ms);
    sim->server.members[server].limit_ms = timeout_ms;
}

/* A random server gets a random limit; in one of three cases no limit. */
static void change_limit(struct sim *sim)
{
    int server = (int)sim_random(sim, sim->server.member_count);
    sim_set_limit(sim, server, sim_random(sim, 3) == 0 ? 0 : sim__limit(sim));
}

/* Returns true if a fault happens in this period. Unlike sim__random_hit, takes a random
 * number even if the probability is 0. */
static bool dice(struct sim *sim, uint32_t ppm_per_second)
{
    bool hit =
        sim_random(sim, UINT64_C(1000000) * 1000 / FAULT_PERIOD_MS) < ppm_per_second;
    sim->fault_count += hit;
    return hit;
}

static void client_faults(struct sim *sim, struct sim__client *client)
{
    const struct sim_faults *faults = &sim->faults;
    struct uvzk__port *port = &client->port;
    if (client->closing) {
        return;
    }
    /* The faults that test for 0 first take no random number when they are switched off,
     * so histories without them do not depend on them. */
    if (dice(sim, faults->reset)) {
        sim_disconnect(port, SIM_RESET, sim_random(sim, faults->down_max_ms));
    }
    if (dice(sim, faults->silence)) {
        sim_disconnect(port, SIM_SILENT, sim_random(sim, faults->down_max_ms));
    }
    if (dice(sim, faults->expire)) {
        if (sim_random(sim, 4) == 0) {
            sim_expire_connected(port);
        } else {
            sim_expire(port);
        }
    }
    if (dice(sim, faults->pause)) {
        sim_pause(port, sim_random(sim, faults->pause_max_ms));
    }
    if (dice(sim, faults->stall)) {
        sim_stall(port, sim_random(sim, faults->pause_max_ms));
    }
    if (dice(sim, faults->follower_cut)) {
        sim_follower_cut(port, sim_random(sim, faults->cut_max_ms));
    }
    if (dice(sim, faults->repeat_connected)) {
        sim_repeat_connected(port);
    }
    if (faults->replace_handle > 0 && dice(sim, faults->replace_handle) &&
        !client->keeps_handle) {
        sim_replace_handle(port);
    }
    if (faults->reconnect_unreported > 0 && dice(sim, faults->reconnect_unreported) &&
        !client->keeps_handle) {
        sim_reconnect_unreported(port);
    }
    if (faults->close_handle > 0 && dice(sim, faults->close_handle) &&
        !client->keeps_handle) {
        sim_close_handle(port);
    }
    if (faults->move > 0 && dice(sim, faults->move)) {
        sim_move(port);
    }
    if (faults->clock_jump > 0 && dice(sim, faults->clock_jump)) {
        sim_jump_clock(port, sim_random(sim, faults->jump_max_ms));
    }
    if (faults->fail_auth > 0 && dice(sim, faults->fail_auth)) {
        sim_fail_auth(port);
    }
}

/* -------------------------------------------------------------- random faults */

void sim_throttle(struct sim *sim, uint64_t ms)
{
    sim__trace(sim, "server", "is overloaded for %llu ms", (unsigned long long)ms);
    sim->server.throttles_until = later(sim->server.throttles_until, after(sim, ms));
}

/* Cuts the leader off with a random number of followers, so few that the other servers
 * are a majority. */
static void depose(struct sim *sim)
{
    uint64_t most = (sim->server.member_count - 1) / 2;
    uint64_t election_ms = sim_random(sim, ELECTION_MAX_MS);
    sim_depose(sim, (uint32_t)sim_random(sim, most), election_ms,
               sim_random(sim, sim->faults.depose_max_ms));
}

void sim__fault_tick(struct sim *sim, struct sim__event *event)
{
    sim__event_set(sim, event, sim->now + FAULT_PERIOD_MS);
    for (struct uvzk__link *at = sim->clients.next; at != &sim->clients; at = at->next) {
        client_faults(sim, UVZK__CONTAINER_OF(at, struct sim__client, all));
    }
    if (dice(sim, sim->faults.restart)) {
        sim_restart(sim, sim_random(sim, sim->faults.down_max_ms));
    }
    if (sim->faults.lag > 0 && dice(sim, sim->faults.lag)) {
        int server = (int)sim_random(sim, sim->server.member_count);
        uint64_t ms = sim_random(sim, sim->faults.lag_max_ms);
        if (sim__random_hit(sim, sim->faults.cut_behind_lag)) {
            sim_lag_and_cut(sim, server, ms);
        } else {
            sim_lag(sim, server, ms);
        }
    }
    if (sim->faults.limit > 0 && dice(sim, sim->faults.limit)) {
        change_limit(sim);
    }
    if (sim->faults.throttle > 0 && dice(sim, sim->faults.throttle)) {
        sim_throttle(sim, sim_random(sim, sim->faults.throttle_max_ms));
    }
    if (sim->faults.unreadable > 0 && dice(sim, sim->faults.unreadable)) {
        sim__blind_one(sim, sim_random(sim, sim->faults.unreadable_max_ms));
    }
    if (sim->faults.forbid > 0 && dice(sim, sim->faults.forbid)) {
        sim__forbid_one(sim, sim_random(sim, sim->faults.forbid_max_ms));
    }
    if (sim->faults.depose > 0 && dice(sim, sim->faults.depose)) {
        depose(sim);
    }
}

void sim_set_faults(struct sim *sim, const struct sim_faults *faults)
{
    uint32_t half = sim->options.session_timeout_ms / 2;
    sim__event_clear(sim, &sim->fault_clock);
    sim->faults = (struct sim_faults){0};
    /* Other faults that are under way, such as cuts, end at their own time. */
    if (faults == NULL) {
        sim__rights_are_back(sim);
        return;
    }
    sim->faults = *faults;
    uint32_t *limits[] = {&sim->faults.delay_max_ms,      &sim->faults.down_max_ms,
                          &sim->faults.pause_max_ms,      &sim->faults.cut_max_ms,
                          &sim->faults.lag_max_ms,        &sim->faults.depose_max_ms,
                          &sim->faults.jump_max_ms,       &sim->faults.throttle_max_ms,
                          &sim->faults.unreadable_max_ms, &sim->faults.forbid_max_ms};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (*limits[i] == 0) {
            *limits[i] = half;
        }
    }
    sim__event_set(sim, &sim->fault_clock, sim->now + FAULT_PERIOD_MS);
}
