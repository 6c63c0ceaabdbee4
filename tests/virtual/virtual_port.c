/* SPDX-License-Identifier: Apache-2.0 */
#include "virtual_port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "native/native_port.h"
#include "uvzk.h"
#include "virtual_sockets.h"

#define FAULT_PERIOD_MS 100U /* as often as the simulation's own (sim_faults.c) */
#define LATE_MAX_MS 100U /* how late requests arrive that a lost connection has sent */
#define SERVERS_MAX 5U
#define HOSTS_MAX (SERVERS_MAX * 24)

struct process {
    struct virtual_process *virtual;
    size_t ports;
    struct uvzk__link link; /* in `processes` */
};

/* Stands between the port and its user, whose calls it counts. */
struct virtual_port {
    struct uvzk__native_port *native;
    struct process *process;
    void (*submit)(struct uvzk__port *, struct uvzk__rpc *);
    void (*unwatch)(struct uvzk__port *, struct uvzk__watch *);
    uint64_t submitted;
    struct uvzk__link link; /* in `ports` */
};

static struct uvzk__link processes, ports;
static struct outside_settings settings;
static struct sim__event fault_clock;

static struct virtual_port *port_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct virtual_port, link);
}

static struct virtual_port *port_of(const struct uvzk__port *port)
{
    for (struct uvzk__link *at = ports.next; at != &ports; at = at->next) {
        if (&port_at(at)->native->base.port == port) {
            return port_at(at);
        }
    }
    return NULL;
}

static const char *name_of(const struct virtual_port *port)
{
    return virtual_process_name(port->process->virtual);
}

/* --------------------------------------------------------------------------- the faults */

static bool happens(struct sim *sim, uint32_t ppm_per_second)
{
    return sim__random_hit(sim, ppm_per_second / (1000U / FAULT_PERIOD_MS));
}

static void process_faults(struct sim *sim, struct virtual_process *process)
{
    const struct sim_faults *faults = &sim->faults;

    if (happens(sim, faults->reset)) {
        virtual_sockets_reset(process, sim_random(sim, faults->down_max_ms));
    }
    if (happens(sim, faults->silence)) {
        virtual_sockets_silence(process, sim_random(sim, faults->down_max_ms));
    }
    if (happens(sim, faults->pause)) {
        virtual_process_stop(process, sim->now + sim_random(sim, faults->pause_max_ms));
    }
    if (happens(sim, faults->follower_cut)) {
        virtual_sockets_cut_followers(process, sim_random(sim, faults->cut_max_ms));
    }
    if (happens(sim, faults->move)) {
        virtual_sockets_leave(process, sim_random(sim, LATE_MAX_MS));
    }
}

/* NULL: the servers have none. */
static struct sim__session *session_of(const struct virtual_port *port)
{
    return sim__session_find(virtual_time_sim(), port->native->session.id);
}

static void port_faults(struct sim *sim, const struct virtual_port *port)
{
    struct sim__session *session = session_of(port);

    if (session != NULL && happens(sim, sim->faults.expire)) {
        sim__session_end(sim, session);
    }
}

static void fault_tick(struct sim *sim, struct sim__event *event)
{
    sim__event_set(sim, event, sim->now + FAULT_PERIOD_MS);
    for (struct uvzk__link *at = processes.next; at != &processes; at = at->next) {
        process_faults(sim, UVZK__CONTAINER_OF(at, struct process, link)->virtual);
    }
    for (struct uvzk__link *at = ports.next; at != &ports; at = at->next) {
        port_faults(sim, port_at(at));
    }
}

/* ------------------------------------------------------------------------------- the ports */

static void process_left(struct process *process)
{
    process->ports--;
    if (process->ports == 0) {
        uvzk__list_remove(&process->link);
        virtual_process_free(process->virtual);
        free(process);
    }
}

static struct uvzk__transport transport; /* the native one, but for `free` */
static void (*free_native)(struct uvzk__loop_port *);

/* The last thing that happens to a port. */
static void free_port(struct uvzk__loop_port *base)
{
    struct virtual_port *self = port_of(&base->port);

    uvzk__list_remove(&self->link);
    process_left(self->process);
    free(self);
    free_native(base);
}

static struct process *process_new(struct sim *sim, const char *name)
{
    struct process *process = sim__alloc(sizeof(*process));

    process->virtual = virtual_process_new(sim, name);
    uvzk__list_init(&process->link);
    uvzk__list_append(&processes, &process->link);
    return process;
}

static void submit(struct uvzk__port *port, struct uvzk__rpc *rpc)
{
    struct virtual_port *self = port_of(port);

    self->submitted++;
    sim__trace(virtual_time_sim(), name_of(self), "%s %s%s", sim__request_name(rpc->kind),
               rpc->kind == UVZK__RPC_MULTI ? "" : rpc->path,
               rpc->watch != NULL ? ", watched" : "");
    self->submit(port, rpc);
}

static void unwatch(struct uvzk__port *port, struct uvzk__watch *watch)
{
    struct virtual_port *self = port_of(port);

    sim__trace(virtual_time_sim(), name_of(self), "gives up a watch%s",
               watch->armed == NULL ? " that is not armed" : "");
    self->unwatch(port, watch);
}

static void write_hosts(char hosts[HOSTS_MAX])
{
    size_t length = 0, count = virtual_time_sim()->server.member_count;

    for (size_t i = 0; i < count; i++) {
        length += (size_t)snprintf(hosts + length, HOSTS_MAX - length, "%s127.0.0.1:%u",
                                   i == 0 ? "" : ",", VIRTUAL_PORT + (unsigned)i);
    }
}

struct uvzk__port *virtual_port_new(const char *name, const struct uvzk__port *beside,
                                    uint32_t timeout_ms)
{
    struct process *process =
        beside == NULL ? process_new(virtual_time_sim(), name) : port_of(beside)->process;
    struct virtual_port *self = sim__alloc(sizeof(*self));
    uvzk_client_options_t options;
    char hosts[HOSTS_MAX];

    write_hosts(hosts);
    uvzk_client_options_init(&options);
    options.hosts = hosts;
    options.session_timeout_ms = timeout_ms;
    struct uvzk__loop_port *base = uvzk__native_port_new(
        virtual_process_loop(process->virtual), &options, NULL, NULL);
    process->ports++;
    if (base == NULL) {
        process_left(process);
        free(self);
        return NULL;
    }
    self->native = (struct uvzk__native_port *)(void *)base;
    /* 1: each watch is armed again by a request of its own. */
    self->native->watches.rearm_bytes = sim_random(virtual_time_sim(), 2);
    self->process = process;
    self->submit = base->port.submit;
    self->unwatch = base->port.unwatch;
    base->port.submit = submit;
    base->port.unwatch = unwatch;
    transport = *base->transport;
    free_native = transport.free;
    transport.free = free_port;
    base->transport = &transport;
    uvzk__list_init(&self->link);
    uvzk__list_append(&ports, &self->link);
    return &base->port;
}

void virtual_port_start(struct uvzk__port *port)
{
    uvzk__port_loop_start(&port_of(port)->native->base.port_loop);
}

void virtual_port_free(struct uvzk__port *port)
{
    free_port(&port_of(port)->native->base);
}

void virtual_port_set_latency(struct uvzk__port *port, uint32_t min_ms, uint32_t max_ms)
{
    virtual_sockets_set_latency(port_of(port)->process->virtual, min_ms, max_ms);
}

int64_t virtual_port_session_id(const struct uvzk__port *port)
{
    const struct virtual_port *self = port_of(port);

    return self != NULL ? self->native->session.id : 0;
}

uint64_t virtual_port_submitted(const struct uvzk__port *port)
{
    return port_of(port)->submitted;
}

size_t virtual_port_watches(const struct uvzk__port *port)
{
    return port_of(port)->native->watches.count;
}

bool virtual_port_removes_watches(const struct uvzk__port *port)
{
    const struct uvzk__dialect *dialect = &port_of(port)->native->base.dialect;

    return uvzk__dialect_is_settled(dialect) &&
           uvzk__dialect_has(dialect, UVZK__FEATURE_REMOVAL);
}

void virtual_port_reset(const struct uvzk__port *port, uint64_t ms)
{
    virtual_sockets_reset(port_of(port)->process->virtual, ms);
}

void virtual_port_expire(const struct uvzk__port *port)
{
    struct sim__session *session = session_of(port_of(port));

    if (session != NULL) {
        sim__session_end(virtual_time_sim(), session);
    }
}

/* --------------------------------------------------------------------------- begin and end */

void virtual_ports_begin(struct sim *sim)
{
    const struct sim_options *options = &sim->options;

    virtual_time_begin(sim);
    uvzk__list_init(&processes);
    uvzk__list_init(&ports);
    settings = (struct outside_settings){
        .dialect = {.no_create2 = options->no_create2,
                    .no_containers = options->no_containers,
                    .no_removal = options->no_removal,
                    .no_persistent = options->no_persistent_watches,
                    .forgets_sessions = options->forgets_sessions},
        .min_session_ms = 1,
        .max_session_ms = UINT32_MAX};
    virtual_sockets_begin(&settings);
    fault_clock = (struct sim__event){.fire = fault_tick};
    sim__event_set(sim, &fault_clock, sim->now + FAULT_PERIOD_MS);
}

void virtual_ports_end(void)
{
    sim__event_clear(virtual_time_sim(), &fault_clock);
    virtual_time_begin(NULL);
}
