/* SPDX-License-Identifier: Apache-2.0 */
/* Which server leads. After an election all servers that take part in it have the same
 * znodes, and a new epoch of zxids begins. sim_restart() and sim_depose() hold elections.
 *
 * A leader that is cut off and does not know it, and the followers that are cut off with
 * it, stay as they were for a time (deposed):
 *
 *   reads, sync, pings        are answered from what was committed before
 *   sessions known there      may connect; such a server does not notice that a session
 *                             has moved to another server
 *   writes and new sessions   wait until the old leader gives up
 *   a client that has read a zxid of the new epoch is refused */
#include "sim_internal.h"

#include <stdlib.h>

/* Closes all connections to deposed servers, or all to the other servers. */
static void hang_up_all(struct sim *sim, bool deposed)
{
    for (struct uvzk__link *at = sim->links.next; at != &sim->links; at = at->next) {
        struct sim__link *link = UVZK__CONTAINER_OF(at, struct sim__link, all);
        if (link->member->deposed == deposed) {
            sim__server_hang_up(sim, link);
        }
    }
}

/* The member gets a copy of all that has been committed. No client is connected to it at
 * that moment, so no watch has to fire. */
static void catch_up(struct sim *sim, struct sim__member *member)
{
    sim__member_skip(sim, member);
    member->applied = sim->server.txn_count;
    member->lags_until = 0;
    sim__diverged_copy(sim, member, &sim->server.tree);
}

/* Chooses a leader among the servers that are not cut off. */
static struct sim__member *elect(struct sim *sim)
{
    struct sim__server *server = &sim->server;
    struct sim__member *chosen;
    do {
        chosen = &server->members[sim_random(sim, server->member_count)];
    } while (chosen->deposed);
    return chosen;
}

/* Every session gets the whole timeout of its creation again, counted from when the
 * servers are up. */
static void begin_epoch(struct sim *sim, struct sim__member *leader)
{
    struct sim__server *server = &sim->server;
    struct sim__session *session, *next;
    HASH_ITER(hh, server->sessions, session, next)
    {
        sim__session_inherited(sim, session, server->up_at);
    }
    server->leader = leader;
    sim__diverged_forgets_all(sim);
    /* As in ZooKeeper, the upper half of a zxid is the epoch. */
    server->tree.zxid = ((server->tree.zxid >> 32) + 1) << 32;
    /* Before catch_up(), which copies the ensemble's tree to all. */
    sim__diverged_leads(sim, leader);
    for (size_t i = 0; i < server->member_count; i++) {
        if (!server->members[i].deposed) {
            catch_up(sim, &server->members[i]);
        }
    }
    leader->tree = &server->tree;
    sim__trace(sim, "server", "%zu leads", leader->number);
}

/* The old leader learns that it does not lead any more. It and the followers that were
 * cut off with it become followers of the new leader. */
static void give_up(struct sim *sim, struct sim__event *event)
{
    struct sim__server *server = &sim->server;
    sim__event_clear(sim, event);
    sim__trace(sim, "server", "the old leader gives up");
    hang_up_all(sim, true);
    for (size_t i = 0; i < server->member_count; i++) {
        if (server->members[i].deposed) {
            server->members[i].deposed = false;
            catch_up(sim, &server->members[i]);
        }
    }
    free(server->known);
    server->known = NULL;
    server->known_count = 0;
}

void sim__election(struct sim *sim)
{
    struct sim__server *server = &sim->server;
    if (server->member_count == 1) {
        return;
    }
    if (server->deposed_end.place != 0) {
        give_up(sim, &server->deposed_end);
    }
    hang_up_all(sim, false);
    begin_epoch(sim, elect(sim));
}

/* --------------------------------------------------------------- a leader cut off */

/* The old leader knows the sessions of now, and learns of no other. */
static void remember_sessions(struct sim__server *server)
{
    struct sim__session *session;
    server->known = sim__alloc(HASH_COUNT(server->sessions) * sizeof(*server->known));
    for (session = server->sessions; session != NULL; session = session->hh.next) {
        server->known[server->known_count++] = (struct sim__known_session){
            .id = session->id, .timeout_ms = session->timeout_ms};
    }
}

/* The member keeps its connections. But they are separated from their sessions, because
 * the other servers do not hear of them any more. */
static void cut_off(struct sim *sim, struct sim__member *member)
{
    member->deposed = true;
    for (struct uvzk__link *at = sim->links.next; at != &sim->links; at = at->next) {
        struct sim__link *link = UVZK__CONTAINER_OF(at, struct sim__link, all);
        if (link->member == member && link->session != NULL) {
            link->session->link = NULL;
            link->session = NULL;
        }
    }
}

bool sim_depose(struct sim *sim, uint32_t followers, uint64_t election_ms, uint64_t ms)
{
    struct sim__server *server = &sim->server;
    struct sim__member *old = server->leader;
    /* The other servers must be a majority, or they could not elect a leader. */
    if (server->deposed_end.place != 0 || 2 * (followers + 1) >= server->member_count) {
        return false;
    }
    sim__trace(sim, "server",
               "%zu is cut off with %u followers for %llu ms, and does not know it",
               old->number, followers, (unsigned long long)ms);
    remember_sessions(server);
    for (size_t i = 1; i <= followers; i++) {
        struct sim__member *with =
            &server->members[(old->number + i) % server->member_count];
        /* The old leader still reaches this follower with what was committed so far. */
        while (with->next != NULL) {
            sim__member_apply_next(sim, with);
        }
        sim__event_clear(sim, &with->apply);
        cut_off(sim, with);
    }
    /* The old leader's `tree` is the ensemble's: from here on it needs a copy. */
    catch_up(sim, old);
    cut_off(sim, old);
    hang_up_all(sim, false);
    if (sim->now + election_ms > server->up_at) {
        server->up_at = sim->now + election_ms;
    }
    begin_epoch(sim, elect(sim));
    sim__event_set(sim, &server->deposed_end, sim->now + ms);
    return true;
}

/* ------------------------------------------------------ sessions at the old leader */

static const struct sim__known_session *known(const struct sim *sim, int64_t id)
{
    for (size_t i = 0; i < sim->server.known_count; i++) {
        if (sim->server.known[i].id == id) {
            return &sim->server.known[i];
        }
    }
    return NULL;
}

void sim__deposed_connect(struct sim *sim, struct sim__link *link,
                          const struct sim__request *request)
{
    const struct sim__known_session *session = known(sim, request->session_id);
    if (request->session_id == 0) { /* a new session needs a quorum */
        link->hangs = true;
        return;
    }
    if (session == NULL) { /* it was created in the new epoch */
        sim__link_send_down(sim, link, sim__answer_new(SIM__EXPIRED));
        sim__server_hang_up(sim, link);
        return;
    }
    struct sim__answer *answer = sim__answer_new(SIM__CONNECTED);
    answer->session_id = session->id;
    answer->timeout_ms = sim__member_allows(link->member, session->timeout_ms);
    link->session_id = session->id;
    sim__link_send_down(sim, link, answer);
}

void sim__election_init(struct sim *sim)
{
    sim->server.deposed_end.fire = give_up;
}

void sim__election_free(struct sim *sim)
{
    sim__event_clear(sim, &sim->server.deposed_end);
    free(sim->server.known);
    for (size_t i = 0; i < sim->server.forgotten_count; i++) {
        free(sim->server.forgotten[i].path);
    }
    free(sim->server.forgotten);
}
