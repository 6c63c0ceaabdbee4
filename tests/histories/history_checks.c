/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/tuning.h"
#include "history_parts.h"

static bool session_alive(const struct acquisition *acquisition)
{
    return client_slot_is_alive(acquisition->worker->slot);
}

bool acquisition_killed(const struct acquisition *acquisition)
{
    return acquisition->worker->history->operator_kills && !session_alive(acquisition);
}

static bool holds(const struct acquisition *acquisition)
{
    return acquisition->worker->history->proof != UVZK_PROOF_NONE &&
           acquisition->state == HOLDING && uvzk_hold_is_valid(acquisition->request) &&
           !acquisition_killed(acquisition);
}

/* A hold that is not valid is told to be lost, as soon as its process runs. Its end
 * may move into the past: it ended when it was last seen to be valid, then. */
static void check_told(struct acquisition *acquisition)
{
    struct history *history = acquisition->worker->history;
    uint64_t now = history_transport.clock(acquisition->worker->slot->port);

    if (acquisition->state != HOLDING || uvzk_hold_is_valid(acquisition->request)) {
        acquisition->ended_ms = UINT64_MAX;
        acquisition->seen_ms = now;
        return;
    }
    if (acquisition->ended_ms == UINT64_MAX) {
        uint64_t until = uvzk_hold_valid_until(acquisition->request);
        acquisition->ended_ms = until == 0                     ? now
                                : until < acquisition->seen_ms ? acquisition->seen_ms
                                                               : until;
    }
    if (acquisition->ended_ms > now) {
        history_fail(history, "is_held and valid_until disagree");
    } else if (now - acquisition->ended_ms > history->told_within_ms) {
        history_fail(history, "a hold of client %d ended %" PRIu64 " ms ago, untold",
                     acquisition->worker->slot->number, now - acquisition->ended_ms);
    }
}

/* Returns the transaction that made the share's znode. It is the token's, except for a
 * reader that was taken under a write hold: its token is the writer's. */
static int64_t made_by(const struct share *share)
{
    const struct sim *sim = share->acquisition->worker->history->sim;
    const char *path =
        share->kind == SHARED ? uvzk_hold_path(share->acquisition->request) : NULL;
    struct uvzk__stat stat;

    if (path == NULL) {
        return share->token;
    }
    if (sim_stat(sim, path, &stat)) {
        return stat.czxid;
    }
    int64_t gone = sim_unread_removal(sim, path);
    gone = gone != 0 ? gone : sim_lost_znode(sim, path);
    return gone != 0 ? gone : share->token;
}

/* Whoever came behind it may hold as well, where a leader has forgotten that it was
 * made; its token tells that it came later. */
static bool is_forgotten(const struct share *share, const struct share *later)
{
    return share->token < later->token &&
           sim_lost_transaction(share->acquisition->worker->history->sim, made_by(share));
}

/* Beyond a session timeout, for clocks that drift. */
static uint64_t silence(const struct history *history)
{
    return history->timeout_ms + history->timeout_ms / 50;
}

/* What a client hands on is checked by the request that deletes the znode before it. While
 * that request waits for a connection, the hold that was handed on stands on the same
 * ground as the hold before it. */
static void note_untold(const struct share *share)
{
    struct history *history = share->acquisition->worker->history;

    if (share->token != 0 &&
        sim_went_unread(history->sim, made_by(share), 2 * silence(history))) {
        share->acquisition->worker->slot->untold_until_ms[share->path] =
            sim_now(history->sim) + silence(history);
    }
}

static bool is_behind_untold(const struct share *share)
{
    const struct actor *worker = share->acquisition->worker;

    return sim_now(worker->history->sim) < worker->slot->untold_until_ms[share->path];
}

/* A8 of docs/promise.md. Whoever came behind it may hold as well, where its znode went
 * and no watch told of it: its own watch is believed for a session timeout, and then
 * its proof. Or whoever came behind it did not know that the directory was another
 * one. */
static bool is_untold(const struct share *share, int64_t later)
{
    const struct history *history = share->acquisition->worker->history;
    uint64_t most = silence(history);

    return share->token != 0 && share->token < later &&
           (is_behind_untold(share) ||
            sim_went_unread(history->sim, made_by(share), 2 * most) ||
            sim_made_behind_unread(history->sim, history_paths[share->path], share->token,
                                   later, most));
}

static bool may_be_beside(const struct share *share, const struct share *later)
{
    return is_forgotten(share, later) || is_untold(share, later->token);
}

static void fail_beside(const struct share *one, const struct share *other)
{
    if (may_be_beside(one, other) || may_be_beside(other, one)) {
        one->acquisition->worker->history->result->lost_txn_overlaps++;
        return;
    }
    history_fail(one->acquisition->worker->history,
                 "two valid holds on %s: client %d token %" PRId64
                 " and client %d token %" PRId64,
                 history_paths[one->path], other->acquisition->worker->slot->number,
                 other->token, one->acquisition->worker->slot->number, one->token);
}

/* Of one owner, and on one znode or on the writer's and its reader's. Its token is not
 * known if somebody has deleted it by hand before a multi lock was granted. */
static bool one_hold(const struct share *one, const struct share *other)
{
    return one->acquisition->worker == other->acquisition->worker &&
           one->acquisition->owner != NULL &&
           one->acquisition->owner == other->acquisition->owner &&
           (one->token == other->token || one->token == 0 || other->token == 0);
}

/* Two of those that hold together are enough: no exclusive one is one with both. */
static void count_shared(struct tally *tally, const struct share *share)
{
    if (tally->shared[0] == NULL) {
        tally->shared[0] = share;
    } else if (tally->shared[1] == NULL && !one_hold(share, tally->shared[0])) {
        tally->shared[1] = share;
    }
}

static void count_exclusive(struct tally *tally, const struct share *share)
{
    for (int i = 0; i < 2; i++) {
        if (tally->shared[i] != NULL && !one_hold(share, tally->shared[i])) {
            fail_beside(share, tally->shared[i]);
        }
    }
    tally->exclusive = share;
}

/* Its maker may not have known of those that were there before. */
static bool is_untold_lease(const struct share *share)
{
    const struct history *history = share->acquisition->worker->history;

    return sim_went_unread(history->sim, share->token, 2 * silence(history)) ||
           sim_made_behind_unread(history->sim, history_paths[share->path],
                                  share->token - 1, share->token, silence(history));
}

void check_share(struct history *history, const struct share *share)
{
    struct tally *tally = &history->tallies[share->path];
    uint32_t max = history->max_leases[share->path];

    if (node_deleter_has_struck(share)) {
        return;
    }
    note_untold(share);
    if (share->kind == LEASES) {
        tally->leases += share->leases;
        tally->untold += is_untold_lease(share) ? share->leases : 0;
        if (max > 0 && tally->leases > max && tally->leases - tally->untold <= max) {
            history->result->lost_txn_overlaps++;
        } else if (max > 0 && tally->leases > max &&
                   !sim_lost_transaction(history->sim, 0)) {
            history_fail(history, "%" PRIu64 " of %" PRIu32 " leases held on %s",
                         tally->leases, max, history_paths[share->path]);
        }
        return;
    }
    if (tally->exclusive != NULL && !one_hold(share, tally->exclusive)) {
        fail_beside(share, tally->exclusive);
    }
    if (share->kind == SHARED) {
        count_shared(tally, share);
    } else {
        count_exclusive(tally, share);
    }
}

/* Several locks that were taken once more are one hold, with the same leases. */
static bool is_again(const struct acquisition *acquisition)
{
    const struct acquisition *first = &acquisition->worker->acquisitions[0];

    return acquisition != first && acquisition->in_turn && acquisition->owner != NULL &&
           first->owner == acquisition->owner && first->lock == acquisition->lock &&
           holds(first);
}

static void check_actor(struct actor *worker)
{
    struct history *history = worker->history;

    for (int i = 0; i < history->recipe->acquisition_count; i++) {
        struct acquisition *acquisition = &worker->acquisitions[i];
        check_told(acquisition);
        int count = holds(acquisition) ? acquisition->share_count : 0;
        for (int j = 0; j < count; j++) {
            if (acquisition->shares[j].kind != LEASES || !is_again(acquisition)) {
                check_share(history, &acquisition->shares[j]);
            }
        }
    }
}

void check_holds(struct history *history)
{
    memset(history->tallies, 0, sizeof(history->tallies));
    for (int i = 0; i < history->slot_count; i++) {
        for (int j = 0; history->slots[i].client != NULL && j < history->worker_count;
             j++) {
            check_actor(&history->slots[i].workers[j]);
        }
    }
    foreign_clients_check(history);
}

uint64_t count_leases(const struct history *history, int path,
                      const struct acquisition *but)
{
    uint64_t leases = 0;

    for (int i = 0; i < history->slot_count; i++) {
        for (int j = 0; history->slots[i].client != NULL && j < history->worker_count;
             j++) {
            const struct acquisition *acquisitions =
                history->slots[i].workers[j].acquisitions;
            for (int k = 0; k < history->recipe->acquisition_count; k++) {
                for (int l = 0; l < acquisitions[k].share_count; l++) {
                    const struct share *share = &acquisitions[k].shares[l];
                    bool counts = &acquisitions[k] != but && share->kind == LEASES &&
                                  share->path == path && holds(&acquisitions[k]) &&
                                  !node_deleter_has_struck(share);
                    leases += counts ? share->leases : 0;
                }
            }
        }
    }
    return leases;
}

/* Of a count that changes it is not known which one they went by. */
static bool exceeds_all_it_excludes(const struct share *share)
{
    const struct history *history = share->acquisition->worker->history;
    const int64_t *last = history->last_leases[share->path];
    uint32_t max = history->max_leases[share->path];

    for (uint32_t leases = 1; max != 0 && leases <= LEASES_MOST; leases++) {
        if (leases + share->leases > max && share->token <= last[leases]) {
            return false;
        }
    }
    return true;
}

/* The token before may be its own too: both may hold together. And if leases may be
 * made without a ticket, as those of a fixed number, two that were asked for at the
 * same time are told in any order. */
static bool may_stand_beside(const struct share *share)
{
    const struct history *history = share->acquisition->worker->history;
    bool in_any_order = history->max_leases[share->path] != 0 &&
                        (history->options->tuning & UVZK__TUNE_DIRECT_LEASE) != 0;
    int64_t least = in_any_order ? share->before : history->last_token[share->path];

    return share->kind == LEASES && share->token >= least &&
           exceeds_all_it_excludes(share);
}

/* The token before may be its own too, if it says so: of one znode that its lock hands
 * on, up to its bound, and of which it is a later hold. */
static bool is_handed_on(const struct share *share)
{
    struct history *history = share->acquisition->worker->history;
    bool later = share->token == history->last_token[share->path] &&
                 share->cohort > history->last_cohort[share->path];

    history->result->cohort_grants += later;
    return history->cohorts && share->kind == EXCLUSIVE && later &&
           share->cohort <= COHORT_HANDOVERS + 1;
}

static void note_leases(const struct share *share)
{
    int64_t *last =
        &share->acquisition->worker->history->last_leases[share->path][share->leases];

    if (share->kind == LEASES && share->token > *last) {
        *last = share->token;
    }
}

void check_token(const struct share *share)
{
    struct history *history = share->acquisition->worker->history;
    int64_t *last = &history->last_token[share->path];
    int64_t *last_exclusive = &history->last_exclusive[share->path];
    int64_t before = share->kind == SHARED ? *last_exclusive : *last;
    int64_t later = before;

    if (share->token == 0 || node_deleter_has_struck(share) ||
        acquisition_killed(share->acquisition) || history->proof == UVZK_PROOF_NONE ||
        (history->deletes_nodes && history->deletes_first_waiter)) {
        return;
    }
    if (share->token == share->joined || worker_joins(share, share->token) != 0) {
        history->result->reentries++;
        before = *last_exclusive - 1;
        later = *last_exclusive;
    }
    bool forgotten =
        sim_lost_transaction(history->sim, share->token) || /* and less, so it tells */
        is_untold(share, later);
    if (share->token <= before && !may_stand_beside(share) && !is_handed_on(share) &&
        !forgotten) {
        history_fail(history, "token %" PRId64 " granted after %" PRId64 " on %s",
                     share->token, before, history_paths[share->path]);
    }
    note_leases(share);
    if (share->token >= *last) {
        *last = share->token;
        history->last_cohort[share->path] = share->cohort;
    }
    if (share->kind == EXCLUSIVE) {
        *last_exclusive = share->token;
    }
}

/* What only some histories have. */
static bool is_of_its_kind(const struct history *history, int status)
{
    switch (status) {
    case UVZK_ETHROTTLED:
        return (history->kinds & HISTORY_THROTTLE) != 0;
    case UVZK_ENOAUTH:
        return (history->kinds & HISTORY_UNREADABLE) != 0;
    case UVZK_EEXHAUSTED:
        history->result->exhausted++;
        return (history->kinds & HISTORY_HIGH_COUNTERS) != 0;
    case UVZK_EKIND:
        history->result->other_kinds++;
        return history->recipe->mixed_kinds;
    case UVZK_EREJECTED: /* several znodes in one request */
        return (history->kinds & HISTORY_SMALL_BUFFER) != 0;
    default:
        return false;
    }
}

void check_refusal(const struct acquisition *acquisition, int status)
{
    const struct history *history = acquisition->worker->history;

    if (acquisition->cancelled && status != UV_ECANCELED) {
        history_fail(acquisition->worker->history, "cancelled, but told %s",
                     uvzk_err_name(status));
    }
    switch (status) {
    case UV_ETIMEDOUT:
    case UV_ECANCELED:
    case UVZK_ECLOSED:
    case UVZK_EEXPIRED:
    case UVZK_ECONNLOSS: /* tried once */
    case UV_ENOMEM:      /* spoilt replies */
    case UV_EIO:         /* no random bytes for a new name */
        return;
    case UVZK_EUNREACHABLE:
    case UVZK_ENOTQUEUED:
        if (acquisition->limited) {
            return;
        }
        break;
    case UVZK_EMAXHOLD:
        if (hold_limit_may_refuse(acquisition)) {
            return;
        }
        break;
    case UVZK_EAUTH:
        if (client_slot_auth_failed(acquisition->worker->slot)) {
            return;
        }
        break;
    case UVZK_ELIMIT: /* of a member: its home is full, the other sessions' credentials refused */
        if (acquisition->in_turn && client_slot_auth_failed(acquisition->worker->slot)) {
            return;
        }
        break;
    case UVZK_EDELETED:
        /* A session's end deletes its nodes, and may be heard of in that order. */
        if (history->deletes_nodes || history->operator_kills ||
            !session_alive(acquisition) || sim_lost_transaction(history->sim, 0)) {
            return;
        }
        break;
    case UVZK_EPROOF:
        /* What it was to share, or had already, was lost before it was told. */
        if (acquisition->limited || acquisition->in_turn ||
            acquisition->shares[0].joined != 0) {
            return;
        }
        break;
    default:
        if (is_of_its_kind(history, status)) {
            return;
        }
        break;
    }
    history_fail(acquisition->worker->history, "refused with %s", uvzk_err_name(status));
}

/* ------------------------------------------------------------------ at the end */

static bool leaves_watches(const struct client_slot *slot)
{
    for (int i = 0; i < slot->sessions; i++) {
        if (!history_transport.removes_watches(slot->ports[i])) {
            return true;
        }
    }
    return false;
}

static void check_clients(struct history *history)
{
    size_t counts = 0;
    bool stay = history->watches_stay;

    for (int i = 0; i < history->slot_count; i++) {
        uvzk_client_metrics_t stats;
        if (history->slots[i].client == NULL || history->slots[i].closing) {
            continue;
        }
        stay = stay || leaves_watches(&history->slots[i]);
        uvzk_client_metrics_init(&stats);
        uvzk_client_metrics(history->slots[i].client, &stats);
        history->result->requests += stats.requests;
        for (int j = 0; j < PATHS_MAX;
             j++) { /* one watch each, for as long as it is open */
            stats.watches -= history->slots[i].counts[j].slot != NULL;
            counts += history->slots[i].counts[j].slot != NULL;
        }
        if (stats.contenders != 0 || stats.watches != 0) {
            history_fail(history,
                         "client %d: %" PRIu64 " contenders and %" PRIu64 " watches left",
                         i, stats.contenders, stats.watches);
        }
    }
    /* Fewer: one is being set anew at this moment (watch.h). */
    if (!stay && sim_watch_count(history->sim) > counts) {
        history_fail(history, "%zu watches left, of %zu counts",
                     sim_watch_count(history->sim), counts);
    }
}

/* The two znodes below the path of a semaphore stay, for the locks of other kinds there. */
static size_t count_semaphores(const char *const *names, size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        found += strcmp(names[i], "locks") == 0 || strcmp(names[i], "leases") == 0;
    }
    return found;
}

static void check_directory(struct history *history, int path, const char *below)
{
    char directory[128];
    const char *names[3] = {""};

    (void)snprintf(directory, sizeof(directory), "%s%s", history_paths[path], below);
    size_t count = sim_children(history->sim, directory, names, 3);
    if (history->recipe->mixed_kinds && count <= 2) {
        count -= count_semaphores(names, count);
    }
    if (count != 0) {
        history_fail(history, "%zu nodes left in %s, the first is %s", count, directory,
                     names[0]);
    }
}

void check_residue(struct history *history)
{
    check_clients(history);
    for (int i = 0; i < history->path_count; i++) {
        const char *const *directory = history->recipe->directories(history, i);
        for (; *directory != NULL; directory++) {
            check_directory(history, i, *directory);
        }
    }
}
