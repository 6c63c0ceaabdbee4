/* SPDX-License-Identifier: Apache-2.0 */
/* Other libraries' clients in place of one or two of ours, in a part of the histories.
 * Checked, beside what is checked of ours:
 *
 *   exclusion   holds of theirs that are valid as far as their library promises count as
 *               those of ours do
 *   respect     while their session lives, the znode of such a hold stands, unless
 *               somebody deletes znodes by hand */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foreign_client.h"
#include "history_foreign_clients.h"
#include "history_parts.h"

#define THREADS_MAX 3

/* A thread: it asks, holds, lets go. */
struct foreign_worker {
    struct actor worker; /* for whoever looks at its share */
    struct acquisition acquisition;
    struct foreign_claim claim;
    int64_t session_id; /* its znodes', at the grant; 0: not one session */
    uint64_t next_ms;
};

struct foreign_slot {
    struct history *history;
    struct client_slot slot; /* its number */
    struct foreign_client foreign_client;
    struct foreign_worker foreign_workers[THREADS_MAX];
    int count;
    char name[16];
    uint64_t reopen_ms;
};

struct foreign_clients {
    struct foreign_slot foreign_slots[FOREIGN_CLIENTS_MAX];
    int count;
};

/* By the seed alone: other histories stay as they are. */
static int how_many(const struct history *history, uint64_t seed)
{
    if (history->recipe->foreign_locks == NULL ||
        history->recipe->foreign_locks(history, 0) == 0) {
        return 0;
    }
    return seed % 11 == 4 ? 1 : seed % 11 == 8 ? 2 : 0;
}

/* Those that have nothing but mutexes are only where all locks are. */
static enum foreign_library some_library(struct history *history)
{
    for (int i = 0; i < history->path_count; i++) {
        if (history->recipe->foreign_locks(history, i) != BIT_OF(FOREIGN_MUTEX)) {
            return CURATOR;
        }
    }
    return (enum foreign_library)chance(history, 3);
}

static void open_foreign_slot(struct foreign_slot *foreign_slot)
{
    struct history *history = foreign_slot->history;

    memset(foreign_slot->foreign_workers, 0, sizeof(foreign_slot->foreign_workers));
    foreign_slot->count = 1 + (int)chance(history, THREADS_MAX);
    for (int i = 0; i < foreign_slot->count; i++) {
        struct foreign_worker *foreign_worker = &foreign_slot->foreign_workers[i];
        foreign_worker->worker.history = history;
        foreign_worker->worker.slot = &foreign_slot->slot;
        foreign_worker->acquisition.worker = &foreign_worker->worker;
        foreign_worker->next_ms = sim_now(history->sim) + chance(history, 1500);
    }
    foreign_client_begin(&foreign_slot->foreign_client, history->sim, foreign_slot->name,
                         some_library(history), history->timeout_ms);
}

void foreign_clients_begin(struct history *history, uint64_t seed)
{
    int count = how_many(history, seed);

    if (count == 0) {
        return;
    }
    history->foreign_clients = calloc(1, sizeof(*history->foreign_clients));
    history->foreign_clients->count = count;
    history->near_servers = seed % 2 == 0;
    history->slot_count = history->slot_count > count ? history->slot_count - count : 1;
    for (int i = 0; i < count; i++) {
        struct foreign_slot *foreign_slot = &history->foreign_clients->foreign_slots[i];
        foreign_slot->history = history;
        foreign_slot->slot.number = history->slot_count + i;
        (void)snprintf(foreign_slot->name, sizeof(foreign_slot->name), "n%d",
                       foreign_slot->slot.number);
        open_foreign_slot(foreign_slot);
    }
}

/* --------------------------------------------------------------------- what they do */

static enum foreign_lock some_lock(struct history *history, int path)
{
    unsigned locks = history->recipe->foreign_locks(history, path);

    if ((locks & BIT_OF(FOREIGN_READ)) != 0) {
        return chance(history, 100) < history->readers ? FOREIGN_READ : FOREIGN_WRITE;
    }
    return locks == BIT_OF(FOREIGN_MUTEX) ? FOREIGN_MUTEX : FOREIGN_SEMAPHORE;
}

static void close_house(struct foreign_slot *foreign_slot)
{
    for (int i = 0; i < foreign_slot->count; i++) {
        foreign_slot->foreign_workers[i].claim.held = false;
    }
    foreign_slot->reopen_ms =
        sim_now(foreign_slot->history->sim) + 1 + chance(foreign_slot->history, 3000);
    foreign_client_close(&foreign_slot->foreign_client);
}

/* Of a downgrade, too. */
static void told(struct foreign_claim *claim, int status)
{
    struct foreign_worker *foreign_worker = claim->data;
    struct history *history = foreign_worker->worker.history;

    foreign_worker->next_ms = sim_now(history->sim) + chance(history, 1500);
    if (status == 0) {
        history->result->foreign_grants++;
        foreign_worker->session_id = foreign_claim_session(claim);
        foreign_worker->acquisition.shares[0].token = foreign_claim_token(claim);
        foreign_worker->acquisition.shares[0].kind =
            claim->lock == FOREIGN_READ ? SHARED
                                        : foreign_worker->acquisition.shares[0].kind;
    }
}

static void ask(struct foreign_slot *foreign_slot, struct foreign_worker *foreign_worker)
{
    struct history *history = foreign_slot->history;
    int path = some_path(history);
    enum foreign_lock lock = some_lock(history, path);
    uint32_t limit = lock == FOREIGN_SEMAPHORE ? history->max_leases[path] : 1,
             leases = 1;

    if (limit > 1 && chance(history, 4) == 0) {
        leases += (uint32_t)chance(history, limit);
    }
    acquisition_set(&foreign_worker->acquisition, path, 0,
                    lock == FOREIGN_SEMAPHORE ? LEASES
                    : lock == FOREIGN_READ    ? SHARED
                                              : EXCLUSIVE,
                    leases);
    foreign_worker->claim.told = told;
    foreign_worker->claim.data = foreign_worker;
    foreign_claim_begin(&foreign_worker->claim, &foreign_slot->foreign_client, lock,
                        history_paths[path], leases, limit, 1 + chance(history, 6000));
}

static void move_resident(struct foreign_slot *foreign_slot,
                          struct foreign_worker *foreign_worker, bool ending)
{
    uint64_t now = sim_now(foreign_slot->history->sim);

    if (foreign_worker->claim.busy || (foreign_worker->next_ms > now && !ending)) {
        return;
    }
    foreign_worker->next_ms = now + chance(foreign_slot->history, 1000);
    if (foreign_worker->claim.held && foreign_worker->claim.lock == FOREIGN_WRITE &&
        !foreign_worker->claim.suspended && chance(foreign_slot->history, 3) == 0) {
        foreign_claim_downgrade(&foreign_worker->claim);
    } else if (foreign_worker->claim.held) {
        node_deleter_sees_release(foreign_slot->history,
                                  foreign_worker->acquisition.path);
        foreign_claim_release(&foreign_worker->claim);
    } else if (!ending) {
        ask(foreign_slot, foreign_worker);
    }
}

static bool any_busy(const struct foreign_slot *foreign_slot)
{
    for (int i = 0; i < foreign_slot->count; i++) {
        if (foreign_slot->foreign_workers[i].claim.busy ||
            foreign_slot->foreign_workers[i].claim.held) {
            return true;
        }
    }
    return false;
}

static void move_house(struct foreign_slot *foreign_slot, bool ending)
{
    struct history *history = foreign_slot->history;

    if (foreign_slot->foreign_client.port == NULL) {
        if (!ending && foreign_slot->reopen_ms <= sim_now(history->sim)) {
            open_foreign_slot(foreign_slot);
        }
        return;
    }
    if (foreign_slot->foreign_client.closing) {
        return;
    }
    for (int i = 0; i < foreign_slot->count; i++) {
        move_resident(foreign_slot, &foreign_slot->foreign_workers[i], ending);
    }
    if (ending ? !any_busy(foreign_slot) : chance(history, 4000) == 0) {
        close_house(foreign_slot);
    }
}

void foreign_clients_step(struct history *history, bool ending)
{
    for (int i = 0;
         history->foreign_clients != NULL && i < history->foreign_clients->count; i++) {
        move_house(&history->foreign_clients->foreign_slots[i], ending);
    }
}

bool foreign_clients_gone(const struct history *history)
{
    for (int i = 0;
         history->foreign_clients != NULL && i < history->foreign_clients->count; i++) {
        if (history->foreign_clients->foreign_slots[i].foreign_client.port != NULL) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ what they hold */

static void check_resident(struct history *history, struct foreign_worker *foreign_worker)
{
    struct share *share = &foreign_worker->acquisition.shares[0];
    const struct foreign_claim *claim = &foreign_worker->claim;
    uint32_t valid = foreign_claim_valid(claim);

    if (claim->held && !claim->suspended && valid < share->leases &&
        !history->deletes_nodes && !sim_lost_transaction(history->sim, 0) &&
        sim_session_alive(history->sim, foreign_worker->session_id)) {
        history_fail(history, "client %d: the znode of its hold on %s was deleted",
                     foreign_worker->worker.slot->number, history_paths[share->path]);
    }
    if (valid > 0 && history->proof != UVZK_PROOF_NONE) {
        uint32_t leases = share->leases;
        share->leases = valid;
        check_share(history, share);
        share->leases = leases;
    }
}

void foreign_clients_check(struct history *history)
{
    for (int i = 0;
         history->foreign_clients != NULL && i < history->foreign_clients->count; i++) {
        struct foreign_slot *foreign_slot = &history->foreign_clients->foreign_slots[i];
        for (int j = 0;
             foreign_slot->foreign_client.port != NULL && j < foreign_slot->count; j++) {
            check_resident(history, &foreign_slot->foreign_workers[j]);
        }
    }
}

bool foreign_clients_hold(const struct history *history, const char *znode)
{
    for (int i = 0;
         history->foreign_clients != NULL && i < history->foreign_clients->count; i++) {
        const struct foreign_slot *foreign_slot =
            &history->foreign_clients->foreign_slots[i];
        for (int j = 0; j < foreign_slot->count; j++) {
            if (foreign_claim_is_on(&foreign_slot->foreign_workers[j].claim, znode)) {
                return true;
            }
        }
    }
    return false;
}

void foreign_clients_free(struct history *history)
{
    free(history->foreign_clients);
    history->foreign_clients = NULL;
}
