/* Sessions: they live as long as they are heard of, and their ephemerals with
 * them.
 *
 *   request ─► follower ── every half tick ──► leader: touched
 *   request ─► observer ── every half tick ──► follower ── likewise ──► leader (two_hops)
 *
 * By way of a follower (options.followers) a request counts from the follower's
 * next report on, which it takes with it when it dies or is cut off before. A touch and a
 * report come with the timeout of the connection, and the session lasts so long from then
 * on, be it more or less than before. A timeout that is less than all before counts from when the
 * client has read of it, however late its loop is: that no such reply is lost is what the proof rests on. */
#include "sim_internal.h"

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
    bool reported = session->report_at > session->touched;
    uint64_t last = reported ? session->report_at : session->touched;
    uint32_t timeout = reported ? session->timeout_ms : session->touched_ms;
    return (last + timeout + tick - 1) / tick * tick;
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

/* The touches and reports that have come by now. */
static void settle(struct sim *sim, struct sim__session *session)
{
    bool stale = session->stale_at != 0 && session->stale_at <= sim->now;
    if (session->report_at <= sim->now && session->report_at > session->touched) {
        session->touched = session->report_at;
        session->touched_ms = session->timeout_ms;
    }
    if (session->report_at <= sim->now && session->next_report_at != 0) {
        session->report_at = session->next_report_at;
        session->next_report_at = 0;
        settle(sim, session);
        return;
    }
    if (stale && session->stale_at > session->touched) {
        session->touched = session->stale_at;
        session->touched_ms = session->stale_ms;
    }
    if (stale) {
        session->stale_at = 0;
    }
}

/* The event is not moved at each touch: it looks how things stand. */
static void session_expiry(struct sim *sim, struct sim__event *event)
{
    struct sim__session *session = UVZK__CONTAINER_OF(event, struct sim__session, expiry);
    settle(sim, session);
    uint64_t end_at = session_end_at(sim, session);
    if (sim->now < end_at) {
        sim__event_set(sim, event, end_at);
        return;
    }
    sim__trace(sim, "server", "session %" PRIx64 " expires", (uint64_t)session->id);
    sim__session_end(sim, session);
}

/* It is looked at when it may end, which may be earlier than it would have been. */
static void touch(struct sim *sim, struct sim__session *session, uint64_t at,
                  uint32_t timeout_ms)
{
    if (at > session->touched) {
        session->touched = at;
        session->touched_ms = timeout_ms;
    }
    uint64_t end_at = session_end_at(sim, session);
    if (session->expiry.place == 0 || session->expiry.at > end_at) {
        sim__event_set(sim, &session->expiry, end_at);
    }
}

void sim__session_inherited(struct sim *sim, struct sim__session *session, uint64_t at)
{
    session->stale_at = 0;
    touch(sim, session, at, session->created_ms);
}

/* What it has left may name it once more, whenever it comes to that. */
static void leave_behind(struct sim *sim, struct sim__session *session,
                         uint32_t timeout_ms)
{
    bool waits = session->report_at > sim->now;
    if (waits && sim->options.late_pings && session->stale_at == 0) {
        session->stale_at =
            session->report_at + sim_random(sim, 2 * (uint64_t)sim->options.tick_ms + 1);
        session->stale_ms = session->timeout_ms;
        if (session->expiry.place == 0 || session->expiry.at > session->stale_at) {
            sim__event_set(sim, &session->expiry, session->stale_at);
        }
    }
    if (waits && (sim->options.late_pings || timeout_ms != session->timeout_ms)) {
        session->report_at = session->next_report_at = 0;
    }
}

void sim__session_connected(struct sim *sim, struct sim__session *session,
                            uint32_t timeout_ms)
{
    settle(sim, session);
    leave_behind(sim, session, timeout_ms);
    session->timeout_ms = timeout_ms < session->told_ms ? session->told_ms : timeout_ms;
    touch(sim, session, sim->now, session->timeout_ms);
}

void sim__session_told(struct sim *sim, const struct sim__client *client, int64_t id,
                       uint32_t timeout_ms)
{
    struct sim__session *session = sim__session_find(sim, id);
    if (session == NULL || timeout_ms >= session->told_ms) {
        return;
    }
    session->told_ms = timeout_ms;
    if (session->link != NULL && session->link->client == client &&
        session->timeout_ms > timeout_ms) {
        session->timeout_ms = timeout_ms;
        session->touched_ms = timeout_ms;
        uint64_t end_at = session_end_at(sim, session);
        sim__event_set(sim, &session->expiry, end_at > sim->now ? end_at : sim->now);
    }
}

/* An answer to a ping takes a ms to the leader. */
static uint64_t not_before(const struct sim *sim, uint64_t report_at, uint64_t until)
{
    return sim->options.late_pings && report_at <= until ? until + 1 : report_at;
}

/* Every half tick, each in its phase. */
static uint64_t next_ping(uint64_t moment, uint64_t phase, uint64_t half)
{
    return (moment + phase) / half * half + half - phase;
}

/* What an observer has heard it tells the follower that feeds it, and that one the
 * leader; the one before may still be on its way. */
static void heard_far_away(struct sim *sim, struct sim__session *session, uint64_t half)
{
    uint64_t at = next_ping(sim->now, session->report_phase / half % half, half);

    settle(sim, session);
    at = next_ping(at, session->report_phase % half, half);
    if (session->report_at <= sim->now) {
        session->report_at = at;
    } else if (at > session->report_at) {
        session->next_report_at = at;
    }
}

void sim__session_heard(struct sim *sim, struct sim__session *session)
{
    uint64_t half = sim->options.tick_ms / 2;
    if (!sim->options.followers || half == 0) {
        touch(sim, session, sim->now, session->timeout_ms);
        return;
    }
    if (sim->options.two_hops) {
        heard_far_away(sim, session, half);
        return;
    }
    if (session->report_at <= sim->now) { /* it got through */
        touch(sim, session, session->report_at, session->timeout_ms);
    }
    uint64_t at = next_ping(sim->now, session->report_phase % half, half);
    at = not_before(sim, at, session->link->member->lags_until);
    if (session->report_at <= sim->now || at < session->report_at) {
        session->report_at =
            at; /* else a late answer, still to come, tells of this, too */
    }
}

void sim__session_delayed(struct sim *sim, struct sim__session *session, uint64_t until)
{
    if (session->report_at > sim->now) {
        session->report_at = not_before(sim, session->report_at, until);
    }
}

void sim__session_unreported(struct sim *sim, struct sim__session *session)
{
    if (sim->options.two_hops) {
        settle(sim, session);
    }
    if (session->report_at > sim->now) {
        session->report_at = session->next_report_at = 0;
        sim__event_set(sim, &session->expiry, session_end_at(sim, session));
    }
}

struct sim__session *sim__session_new(struct sim *sim, uint32_t timeout_ms)
{
    struct sim__session *session = sim__alloc(sizeof(*session));
    session->id = ++sim->server.next_session;
    session->timeout_ms = session->created_ms = session->told_ms = timeout_ms;
    session->report_phase = sim__random_word(sim) >> 1;
    session->expiry.fire = session_expiry;
    uvzk__list_init(&session->ephemerals);
    HASH_ADD(hh, sim->server.sessions, id, sizeof(session->id), session);
    sim__txn_begin(sim);
    sim__txn_commit(sim);
    touch(sim, session, sim->now, timeout_ms);
    return session;
}
