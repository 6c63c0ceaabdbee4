/* Sessions: they live as long as they are heard of, and their ephemerals with
 * them.
 *
 *   request ─► follower ── every half tick ──► leader: touched
 *
 * By way of a follower (options.followers) a request counts from the follower's
 * next report on, which it takes with it when it dies or is cut off before. */
#include "sim_inside.h"

#include <inttypes.h>
#include <string.h>

struct sim__session *sim__session_find(const struct sim *sim, int64_t id)
{
    struct sim__session *session = NULL;
    HASH_FIND(hh, sim->server.sessions, &id, sizeof(id), session);
    return session;
}

static uint64_t session_end_at(const struct sim *sim, const struct sim__session *session)
{
    uint64_t tick = sim->options.tick_ms > 0 ? sim->options.tick_ms : 1;
    uint64_t last =
        session->touched > session->report_at ? session->touched : session->report_at;
    return (last + session->timeout_ms + tick - 1) / tick * tick;
}

void sim__session_end(struct sim *sim, struct sim__session *session)
{
    struct sim__link *link = session->link;
    sim__txn_begin(sim);
    while (!uvzk__list_empty(&session->ephemerals)) {
        sim__txn_delete(
            sim, UVZK__CONTAINER_OF(session->ephemerals.next, struct sim__node, group));
    }
    sim__txn_end_session(sim, session->id);
    sim__txn_commit(sim);
    if (link != NULL) {
        link->session = NULL;
        /* Else the follower does not know, or not yet. */
        if (link->follower == NULL && sim__member_leads(sim, link->member)) {
            sim__server_hang_up(sim, link);
        }
    }
    sim__event_clear(sim, &session->expiry);
    HASH_DELETE(hh, sim->server.sessions, session);
    sim__free(session, sizeof(*session));
}

/* The event is not moved at each touch: it looks how things stand. */
static void session_expiry(struct sim *sim, struct sim__event *event)
{
    struct sim__session *session = UVZK__CONTAINER_OF(event, struct sim__session, expiry);
    uint64_t end_at = session_end_at(sim, session);
    if (sim->now < end_at) {
        sim__event_set(sim, event, end_at);
        return;
    }
    sim__trace(sim, "server", "session %" PRIx64 " expires", (uint64_t)session->id);
    sim__session_end(sim, session);
}

void sim__session_touch(struct sim *sim, struct sim__session *session, uint64_t at)
{
    if (at > session->touched) {
        session->touched = at;
    }
    if (session->expiry.place == 0) {
        sim__event_set(sim, &session->expiry, session_end_at(sim, session));
    }
}

void sim__session_heard(struct sim *sim, struct sim__session *session)
{
    uint64_t half = sim->options.tick_ms / 2;
    if (!sim->options.followers || half == 0) {
        sim__session_touch(sim, session, sim->now);
        return;
    }
    if (session->report_at <= sim->now) {
        sim__session_touch(sim, session, session->report_at); /* it got through */
    }
    uint64_t phase = session->report_phase % half;
    session->report_at = (sim->now + phase) / half * half + half - phase;
}

void sim__session_unreported(struct sim *sim, struct sim__session *session)
{
    if (session->report_at > sim->now) {
        session->report_at = 0;
        sim__event_set(sim, &session->expiry, session_end_at(sim, session));
    }
}

struct sim__session *sim__session_new(struct sim *sim, uint32_t timeout_ms)
{
    struct sim__session *session = sim__alloc(sizeof(*session));
    session->id = ++sim->server.next_session;
    session->timeout_ms = timeout_ms;
    session->report_phase = sim__random_word(sim) >> 1;
    session->expiry.fire = session_expiry;
    uvzk__list_init(&session->ephemerals);
    HASH_ADD(hh, sim->server.sessions, id, sizeof(session->id), session);
    sim__txn_begin(sim);
    sim__txn_commit(sim);
    sim__session_touch(sim, session, sim->now);
    return session;
}
