/* SPDX-License-Identifier: Apache-2.0 */
#include "ticker.h"

#include <string.h>

#include "base/list.h"
#include "ignored_events.h"

static void tick(struct uvzk__port_user *user)
{
    struct ticker *ticker = UVZK__CONTAINER_OF(user, struct ticker, user);
    struct uvzk__port *port = ticker->port;

    ticker->ticked = true;
    port->alarm(port, port->now(port) + ticker->period_ms);
}

static void on_session(struct uvzk__port_user *user,
                       const struct uvzk__session_event *event)
{
    (void)user;
    (void)event;
}

static void on_closed(struct uvzk__port_user *user)
{
    struct ticker *ticker = UVZK__CONTAINER_OF(user, struct ticker, user);

    ticker->port = NULL;
}

void ticker_begin(struct ticker *ticker, struct sim *sim, uint64_t period_ms)
{
    memset(ticker, 0, sizeof(*ticker));
    ticker->sim = sim;
    ticker->period_ms = period_ms;
    ticker->port = sim_port_new(sim, "ticker");
    ticker->user.turn = tick;
    ticker->user.session = on_session;
    ticker->user.no_connection = ignore_no_connection;
    ticker->user.log = ignore_log;
    ticker->user.closed = on_closed;
    ticker->port->user = &ticker->user;
    tick(&ticker->user);
}

bool ticker_step(struct ticker *ticker)
{
    ticker->ticked = false;
    /* There always is an event, because the ticker's own alarm is set. */
    (void)sim_step(ticker->sim);
    return !ticker->ticked;
}

void ticker_end(struct ticker *ticker)
{
    ticker->port->close(ticker->port);
    while (ticker->port != NULL && sim_step(ticker->sim)) {
    }
}
