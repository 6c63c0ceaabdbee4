/* SPDX-License-Identifier: Apache-2.0 */
/* When sessions end: a session, and its ephemerals, live as long as the leader hears of
 * the session.
 *
 *   request ─► follower ═► leader: touched      ═► at the next half tick
 *   request ─► observer ═► follower ═► leader   with the option two_hops
 *
 * With the option followers, a request counts only from the follower's next report to the
 * leader. If the follower dies or is cut off before, that report is lost. With the option
 * reads_keep_no_session, the leader hears of pings, writes and syncs at once, and of nothing
 * else. A touch and a report carry the timeout of the connection, and the session lasts that
 * long from then on, whether that is longer or shorter than before. A timeout that is smaller
 * than all before counts from the moment at which the client's I/O thread has read of it,
 * however late the loop is. The proof (src/proof/proof.h) rests on the assumption that no
 * such reply is lost. */
#include "sim_internal.h"

#include <inttypes.h>
#include <string.h>

struct sim__session *sim__session_find(const struct sim *sim, int64_t id)
{
    struct sim__session *session = NULL;
    HASH_FIND(hh, sim->server.sessions, &id, sizeof(id), session);
    return session;
}

/* When the session ends if nothing more is heard of it. A leader ends sessions at
 * multiples of a tick, so the time is rounded up. */
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
        /* A follower learns of it when it applies the transaction (sim_txn.c). One that
         * has lost its leader never learns of it. */
        if (link->follower == NULL && sim__member_leads(sim, link->member)) {
            sim__server_hang_up(sim, link);
        }
    }
    sim__event_clear(sim, &session->expiry);
    HASH_DELETE(hh, sim->server.sessions, session);
    sim__free(session, sizeof(*session));
}

/* Counts the reports that have reached the leader by now. */
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
        settle(sim, session); /* at most once: there is no further report */
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

/* A touch does not move this event to a later time. So when it fires, it computes the end
 * again, and is set anew if that is later. */
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

/* The leader has heard of the session. The event is moved only to an earlier time, which
 * a smaller timeout may require. */
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
    /* Late reports to the old leader do not reach the new one. */
    session->stale_at = 0;
    touch(sim, session, at, session->created_ms);
}

/* The session connects to another server while a report of the old server is due. With
 * late_pings the old server reports it once more, up to two ticks late and with the old
 * timeout. */
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
    /* The report that was due is dropped. With late_pings the late one replaces it.
     * Otherwise settle() would count it with the new timeout. */
    if (waits && (sim->options.late_pings || timeout_ms != session->timeout_ms)) {
        session->report_at = session->next_report_at = 0;
    }
}

void sim__session_connected(struct sim *sim, struct sim__session *session,
                            uint32_t timeout_ms)
{
    settle(sim, session);
    leave_behind(sim, session, timeout_ms);
    /* Not less than what the client knows: it has not read of a smaller timeout yet. */
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

/* A server that applies nothing until then answers the leader's pings only afterwards.
 * Its answer takes one ms to the leader. */
static uint64_t not_before(const struct sim *sim, uint64_t report_at, uint64_t until)
{
    return sim->options.late_pings && report_at <= until ? until + 1 : report_at;
}

/* The next report after that moment. Reports come every half tick, in each session's own
 * phase. */
static uint64_t next_ping(uint64_t moment, uint64_t phase, uint64_t half)
{
    return (moment + phase) / half * half + half - phase;
}

/* two_hops: an observer reports the session to its follower, and that follower reports it
 * to the leader, each at its own time. An earlier report may still be on its way, so
 * there may be two. */
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

void sim__session_heard(struct sim *sim, struct sim__session *session,
                        const struct sim__request *request)
{
    uint64_t half = sim->options.tick_ms / 2;
    bool at_once = !sim->options.followers || half == 0;
    if (sim->options.reads_keep_no_session) {
        if (sim__is_answered_alone(request)) {
            return;
        }
        at_once = true;
    }
    if (at_once) {
        touch(sim, session, sim->now, session->timeout_ms);
        return;
    }
    if (sim->options.two_hops) {
        heard_far_away(sim, session, half);
        return;
    }
    if (session->report_at <= sim->now) { /* the last report has reached the leader */
        touch(sim, session, session->report_at, session->timeout_ms);
    }
    uint64_t at = next_ping(sim->now, session->report_phase % half, half);
    at = not_before(sim, at, session->link->member->lags_until);
    /* A report that is still to come, and not after `at`, covers this request, too. */
    if (session->report_at <= sim->now || at < session->report_at) {
        session->report_at = at;
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
    /* The create of a session is a transaction, but no server keeps an effect of it. */
    sim__txn_begin(sim);
    sim__txn_commit(sim);
    touch(sim, session, sim->now, timeout_ms);
    return session;
}
