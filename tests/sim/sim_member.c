/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of the ensemble, and how far each of them is behind the leader. A
 * transaction is done at the leader at once. Each other server applies it later, in the
 * same order, and answers from what it has applied:
 *
 *   a write        is done at once; its reply waits until this server has applied it
 *   sync           is answered when this server has applied what was committed by then
 *   anything else  of the same connection waits behind these
 *
 * The list link->held keeps what waits on a connection, in order. sim_txn.c calls this
 * file for each transaction, sim_server.c for each request and answer. A server refuses a
 * connection if it is behind the last zxid that the client has read (sim_server.c). */
#include "sim_internal.h"

#include <stdlib.h>

bool sim__member_leads(const struct sim *sim, const struct sim__member *member)
{
    return member == sim->server.leader;
}

/* Servers that were cut off with the old leader do not take part in the election. */
bool sim__member_up(const struct sim *sim, const struct sim__member *member)
{
    return member->deposed || sim->now >= sim->server.up_at;
}

struct sim__member *sim__member_pick(struct sim *sim, struct sim__client *client)
{
    struct sim__server *server = &sim->server;
    const struct sim__member *left = client->left;
    struct sim__member *member;
    /* Only one attempt avoids the server that the client has left. */
    client->left = NULL;
    if (client->server >= 0) {
        return &server->members[client->server];
    }
    do {
        member = &server->members[sim_random(sim, server->member_count)];
    } while (member == left && server->member_count > 1);
    return member;
}

/* From 2 to 6 ticks: every server allows 2 ticks, ZooKeeper's default minimum. */
uint32_t sim__limit(struct sim *sim)
{
    uint32_t tick = sim->options.tick_ms;
    return 2 * tick + (uint32_t)sim_random(sim, 4 * (uint64_t)tick + 1);
}

uint32_t sim__member_allows(const struct sim__member *member, uint32_t timeout_ms)
{
    return member->limit_ms != 0 && member->limit_ms < timeout_ms ? member->limit_ms
                                                                  : timeout_ms;
}

/* The number of the last transaction that the member has applied. */
static uint64_t applied(const struct sim *sim, const struct sim__member *member)
{
    return sim__member_leads(sim, member) ? sim->server.txn_count : member->applied;
}

/* ------------------------------------------------------- waiting for the lag */

void sim__member_answer(struct sim *sim, struct sim__link *link,
                        struct sim__answer *answer, uint64_t until)
{
    /* While let_go() performs a held request, its answer comes before the rest. */
    bool first = link->sending_held || uvzk__list_empty(&link->held);
    if (first && applied(sim, link->member) >= until) {
        sim__link_send_down(sim, link, answer);
        return;
    }
    struct sim__held *held = sim__alloc(sizeof(*held));
    uvzk__list_init(&held->link);
    held->until = until;
    held->answer = answer;
    uvzk__list_append(&link->held, &held->link);
}

bool sim__member_holds(struct sim *sim, struct sim__link *link,
                       struct sim__request *request)
{
    /* The leader performs these at once; only their replies wait. */
    bool passes = (request->kind < UVZK__RPC_KINDS && !sim__is_read(request)) ||
                  request->kind == SIM__END_SESSION;
    if (passes || request->held || uvzk__list_empty(&link->held)) {
        return false;
    }
    struct sim__held *held = sim__alloc(sizeof(*held));
    uvzk__list_init(&held->link);
    request->held = true;
    /* The session counts as heard of when the request arrives, not when it is
     * performed. */
    if (link->session != NULL && link->follower == NULL) {
        sim__session_heard(sim, link->session, request);
    }
    held->request = request;
    uvzk__list_append(&link->held, &held->link);
    return true;
}

static void held_free(struct sim__held *held)
{
    if (held->answer != NULL) {
        sim__answer_free(held->answer);
    }
    free(held->request);
    free(held);
}

void sim__link_drop_held(struct sim__link *link)
{
    struct uvzk__link *taken;
    while ((taken = uvzk__list_take(&link->held)) != NULL) {
        held_free(UVZK__CONTAINER_OF(taken, struct sim__held, link));
    }
}

/* Sends the answers and performs the requests that need not wait any more. A request that
 * is performed may close the connection, which empties the list. */
static void let_go(struct sim *sim, struct sim__link *link)
{
    while (!uvzk__list_empty(&link->held)) {
        struct sim__held *held =
            UVZK__CONTAINER_OF(link->held.next, struct sim__held, link);
        if (held->until > applied(sim, link->member)) {
            return;
        }
        uvzk__list_remove(&held->link);
        if (held->answer != NULL) {
            held->answer->zxid = link->member->tree->zxid;
            sim__link_send_down(sim, link, held->answer);
        } else {
            link->sending_held = true;
            sim__server_receive(sim, link, held->request);
            link->sending_held = false;
        }
        free(held);
    }
}

/* A link whose follower has lost its leader learns of no transaction any more. */
static void let_all_go(struct sim *sim, const struct sim__member *member)
{
    for (struct uvzk__link *at = sim->links.next; at != &sim->links; at = at->next) {
        struct sim__link *link = UVZK__CONTAINER_OF(at, struct sim__link, all);
        if (link->member == member && link->follower == NULL) {
            let_go(sim, link);
        }
    }
}

/* ------------------------------------------------------------------- the lag */

/* Sets the event for the member's next transaction, if there is one. */
static void apply_soon(struct sim *sim, struct sim__member *member)
{
    if (member->next == NULL) {
        return;
    }
    uint64_t at = member->next->at + sim__random_between(sim, 0, sim->options.lag_max_ms);
    sim__event_set(sim, &member->apply,
                   at > member->lags_until ? at : member->lags_until);
}

void sim__member_apply_next(struct sim *sim, struct sim__member *member)
{
    struct sim__txn *txn = member->next;
    member->next = sim__txn_after(sim, txn);
    member->applied = txn->number;
    sim__txn_apply(sim, member, txn);
    sim__txn_done(txn);
    let_all_go(sim, member);
}

/* Cuts the member off from the leader for a random time, at the worst moment: it has
 * received all transactions from the leader and has answered its clients. But its answers
 * to the leader's pings, which name its sessions, do not reach the leader any more. */
static void cut_all_off(struct sim *sim, const struct sim__member *member)
{
    for (struct uvzk__link *at = sim->links.next; at != &sim->links; at = at->next) {
        struct sim__link *link = UVZK__CONTAINER_OF(at, struct sim__link, all);
        if (link->member == member && link->client != NULL) {
            uint64_t most = 2 * (uint64_t)sim->options.session_timeout_ms;
            uint64_t ms = sim_random(sim, most);
            if (sim__client_is_outside(link->client)) {
                sim__link_cut_follower(sim, link, ms);
            } else {
                sim_follower_cut(&link->client->port, ms);
            }
        }
    }
}

static void apply_fires(struct sim *sim, struct sim__event *event)
{
    struct sim__member *member = UVZK__CONTAINER_OF(event, struct sim__member, apply);
    /* sim_lag() does not move the event. */
    if (sim->now < member->lags_until) {
        sim__event_set(sim, event, member->lags_until);
        return;
    }
    sim__member_apply_next(sim, member);
    apply_soon(sim, member);
    if (member->cut_behind_lag && member->next == NULL) {
        member->cut_behind_lag = false;
        cut_all_off(sim, member);
    }
}

void sim__members_committed(struct sim *sim, struct sim__txn *txn)
{
    for (size_t i = 0; i < sim->server.member_count; i++) {
        struct sim__member *member = &sim->server.members[i];
        if (sim__member_leads(sim, member) || member->deposed) {
            sim__txn_done(txn);
        } else if (member->next == NULL) {
            member->next = txn;
            apply_soon(sim, member);
        } /* otherwise the event for an earlier transaction is set already */
    }
}

void sim__member_skip(struct sim *sim, struct sim__member *member)
{
    while (member->next != NULL) {
        struct sim__txn *txn = member->next;
        member->next = sim__txn_after(sim, txn);
        sim__txn_done(txn);
    }
    sim__event_clear(sim, &member->apply);
}

/* ------------------------------------------------------------ beginning, end */

/* Server 0 leads at first. */
void sim__members_init(struct sim *sim)
{
    struct sim__server *server = &sim->server;
    server->member_count = sim->options.servers > 0 ? sim->options.servers : 1;
    server->members = sim__alloc(server->member_count * sizeof(*server->members));
    server->leader = &server->members[0];
    uvzk__list_init(&server->log);
    for (size_t i = 0; i < server->member_count; i++) {
        struct sim__member *member = &server->members[i];
        member->number = i;
        sim__tree_init(&member->own);
        member->tree = i == 0 ? &server->tree : &member->own;
        member->apply.fire = apply_fires;
        if (sim->options.different_limits) {
            member->limit_ms = sim__limit(sim);
        }
        if (sim->options.server_clocks_max_ms > 0) {
            uint64_t most = sim->options.server_clocks_max_ms;
            member->clock_ahead_ms =
                (int64_t)sim__random_between(sim, 0, 2 * most) - (int64_t)most;
        }
    }
}

void sim__members_free(struct sim *sim)
{
    struct sim__server *server = &sim->server;
    for (size_t i = 0; i < server->member_count; i++) {
        struct sim__member *member = &server->members[i];
        sim__member_skip(sim, member);
        sim__tree_free(&member->own);
        sim__diverged_lacks_nothing(member);
    }
    free(server->members);
}
