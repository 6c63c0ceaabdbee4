/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of a process (sim_clock). It runs at its own rate, and may jump forward. All
 * ports of a process have the same clock. */
#include "sim_internal.h"

#define MILLION 1000000

/* How late an alarm may be after the clock has jumped, in ms. A libuv timer stands still
 * while the machine is suspended, so zk_port.c compares alarms with the clock this
 * often. */
#define ALARM_STEP_MS 1000

uint64_t sim_clock(const struct uvzk__port *port)
{
    const struct sim__client *client = sim__client_of(port);
    uint64_t passed = client->sim->now - client->clock_set_at;
    return client->clock_ms + passed * (uint64_t)client->clock_rate / MILLION;
}

uint64_t sim__client_when(const struct sim__client *client, uint64_t clock_ms)
{
    uint64_t rate = (uint64_t)client->clock_rate;
    if (clock_ms <= sim_clock(&client->port)) {
        return client->sim->now;
    }
    uint64_t ahead = clock_ms - client->clock_ms;
    /* A time so far ahead would overflow the product below, and no test gets there. */
    if (rate == MILLION || ahead > SIM__NEVER / MILLION - 1) {
        return client->clock_set_at + ahead;
    }
    /* Rounded up: at that time the clock shows at least clock_ms. */
    return client->clock_set_at + (ahead * MILLION + rate - 1) / rate;
}

void sim__client_set_clock(struct sim__client *client, uint64_t clock_ms, int64_t rate)
{
    client->clock_ms = clock_ms;
    client->clock_set_at = client->sim->now;
    client->clock_rate = rate;
    /* An alarm that is set keeps its time by the process's clock. */
    if (client->alarm.place != 0) {
        uint64_t at = sim__client_when(client, client->alarm_ms);
        at += sim__random_between(client->sim, 0, ALARM_STEP_MS);
        sim__event_set(client->sim, &client->alarm, at);
    }
}

/* Sets the clocks of all ports of the client's process. */
static void set_clocks(const struct sim__client *client, uint64_t clock_ms, int64_t rate)
{
    const struct uvzk__link *all = &client->sim->clients;

    for (struct uvzk__link *at = all->next; at != all; at = at->next) {
        struct sim__client *one = UVZK__CONTAINER_OF(at, struct sim__client, all);
        if (one->process == client->process) {
            sim__client_set_clock(one, clock_ms, rate);
        }
    }
}

void sim_set_clock_drift(struct uvzk__port *port, int32_t ppm)
{
    const struct sim__client *client = sim__client_of(port);
    sim__trace(client->sim, client->name, "its clock drifts by %d ppm", (int)ppm);
    set_clocks(client, sim_clock(port), MILLION + ppm);
}

void sim_jump_clock(struct uvzk__port *port, uint64_t ms)
{
    const struct sim__client *client = sim__client_of(port);
    sim__trace(client->sim, client->name, "its clock jumps by %llu ms",
               (unsigned long long)ms);
    set_clocks(client, sim_clock(port) + ms, client->clock_rate);
}
