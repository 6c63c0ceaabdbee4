#include "metronome.h"

#include <string.h>

#include "base/list.h"

static void tick(struct uvzk__port_user *user)
{
    struct metronome *metronome = UVZK__CONTAINER_OF(user, struct metronome, user);
    struct uvzk__port *port = metronome->port;

    metronome->ticked = true;
    port->alarm(port, port->now(port) + metronome->period_ms);
}

static void on_session(struct uvzk__port_user *user,
                       const struct uvzk__session_event *event)
{
    (void)user;
    (void)event;
}

static void on_unreached(struct uvzk__port_user *user,
                         const struct uvzk__trouble *trouble)
{
    (void)user;
    (void)trouble;
}

static void on_log(struct uvzk__port_user *user, int level, const char *module,
                   const char *line)
{
    (void)module;
    (void)user;
    (void)level;
    (void)line;
}

static void on_closed(struct uvzk__port_user *user)
{
    struct metronome *metronome = UVZK__CONTAINER_OF(user, struct metronome, user);

    metronome->port = NULL;
}

void metronome_begin(struct metronome *metronome, struct sim *sim, uint64_t period_ms)
{
    memset(metronome, 0, sizeof(*metronome));
    metronome->sim = sim;
    metronome->period_ms = period_ms;
    metronome->port = sim_port_new(sim, "metronome");
    metronome->user.turn = tick;
    metronome->user.session = on_session;
    metronome->user.unreached = on_unreached;
    metronome->user.log = on_log;
    metronome->user.closed = on_closed;
    metronome->port->user = &metronome->user;
    tick(&metronome->user);
}

bool metronome_step(struct metronome *metronome)
{
    metronome->ticked = false;
    (void)sim_step(metronome->sim);
    return !metronome->ticked;
}

void metronome_end(struct metronome *metronome)
{
    metronome->port->close(metronome->port);
    while (metronome->port != NULL && sim_step(metronome->sim)) {
    }
}
