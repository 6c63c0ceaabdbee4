/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the turns of a session: timers, work, notifications (turn.h). Everything that must
 * happen later, in any room, is a timer or a notification here. */
#include "engine/turn.h"

#include "engine/session.h"

/* A turn runs another round while the callbacks make new work. The number of rounds is
 * limited, so that the loop can serve its other handles; the rest is done in the next
 * turn. */
#define ROUNDS_A_TURN 64

/* A port that is closing must not be called, so from then on the time does not
 * advance. */
uint64_t uvzk__now(struct uvzk__session *session)
{
    return uvzk__session_port_is_closing(session) ? session->port_closing_ms
                                                  : session->port->now(session->port);
}

/* The work that a round makes is mostly done in the next round of the turn, so the port is
 * called only if the turn ends before. */
void uvzk__wake(struct uvzk__session *session)
{
    if (session->in_turn) {
        session->turn_wanted = true;
    } else if (!uvzk__session_port_is_closing(session)) {
        session->port->wake(session->port);
    }
}

void uvzk__timer_set(struct uvzk__session *session, struct uvzk__timer *timer,
                     uint64_t at_ms)
{
    uint64_t before = uvzk__deadline_next(&session->deadlines);

    uvzk__deadline_set(&session->deadlines, &timer->deadline, at_ms);
    /* Only an earlier alarm is set here. The end of each turn sets the alarm in any
     * case. */
    if (at_ms < before && !uvzk__session_port_is_closing(session)) {
        session->port->alarm(session->port, at_ms);
    }
}

void uvzk__timer_clear(struct uvzk__session *session, struct uvzk__timer *timer)
{
    uvzk__deadline_clear(&session->deadlines, &timer->deadline);
}

void uvzk__notify_later(struct uvzk__session *session,
                        struct uvzk__notification *notification)
{
    if (uvzk__list_empty(&notification->link)) {
        uvzk__list_append(&session->notifications, &notification->link);
        uvzk__wake(session);
    }
}

static void run_due(struct uvzk__session *session)
{
    uint64_t now = uvzk__now(session);
    struct uvzk__deadline *deadline;

    while (!uvzk__is_broken(session) &&
           (deadline = uvzk__deadline_pop(&session->deadlines, now)) != NULL) {
        struct uvzk__timer *timer =
            UVZK__CONTAINER_OF(deadline, struct uvzk__timer, deadline);
        timer->due(timer);
    }
}

static struct uvzk__notification *notification_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__notification, link);
}

static void turn_notify(struct uvzk__link *link)
{
    struct uvzk__notification *notification = notification_at(link);

    notification->notify_cb(notification);
}

void uvzk__notify_all(struct uvzk__session *session)
{
    struct uvzk__link notifications, *link;

    uvzk__list_move(&session->notifications, &notifications);
    while (!uvzk__is_broken_untold(session) &&
           (link = uvzk__list_take(&notifications)) != NULL) {
        turn_notify(link);
    }
    uvzk__list_put_back(&notifications, &session->notifications);
}

void uvzk__notify_those(struct uvzk__session *session,
                        bool (*is_one)(const struct uvzk__notification *))
{
    struct uvzk__link notifications, others, *link;

    uvzk__list_init(&notifications);
    uvzk__list_init(&others);
    while ((link = uvzk__list_take(&session->notifications)) != NULL) {
        uvzk__list_append(is_one(notification_at(link)) ? &notifications : &others, link);
    }
    uvzk__list_put_back(&others, &session->notifications);
    while ((link = uvzk__list_take(&notifications)) != NULL) {
        turn_notify(link);
    }
}

static bool has_work(const struct uvzk__session *session)
{
    return !uvzk__list_empty(&session->notifications) ||
           uvzk__is_broken_untold(session) ||
           (!uvzk__is_broken(session) && session->turn_hooks->has_work(session));
}

/* A broken client does nothing but report its end. */
static void run_work(struct uvzk__session *session)
{
    if (uvzk__is_broken_untold(session)) {
        session->turn_hooks->broken(session);
    } else if (!uvzk__is_broken(session)) {
        session->turn_hooks->work(session);
    }
}

void uvzk__turn(struct uvzk__session *session)
{
    int rounds = 0;
    bool more;

    session->in_turn = true;
    do {
        session->turn_wanted = false;
        run_due(session);
        run_work(session);
        uvzk__notify_all(session);
        more = has_work(session);
    } while (more && ++rounds < ROUNDS_A_TURN);
    session->in_turn = false;
    if (more || session->turn_wanted) {
        uvzk__wake(session);
    }
    /* A callback may have closed the client, and with it the port. */
    if (!uvzk__session_port_is_closing(session)) {
        session->port->alarm(session->port, uvzk__deadline_next(&session->deadlines));
        session->turn_hooks->turn_ended(session);
    }
}
