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

#include "history_neighbour.h"
#include "history_parts.h"
#include "neighbour.h"

#define THREADS_MAX 3

/* A thread: it asks, holds, lets go. */
struct resident {
    struct actor actor; /* for whoever looks at its share */
    struct ticket ticket;
    struct attempt attempt;
    int64_t session_id; /* its znode's, at the grant */
    uint64_t next_ms;
};

struct house {
    struct history *history;
    struct seat seat; /* its number */
    struct neighbour neighbour;
    struct resident residents[THREADS_MAX];
    int count;
    char name[16];
    uint64_t reopen_ms;
};

struct neighbours {
    struct house houses[NEIGHBOURS_MAX];
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
static enum neighbour_library some_library(struct history *history)
{
    for (int i = 0; i < history->path_count; i++) {
        if (history->recipe->foreign_locks(history, i) != BIT_OF(NEIGHBOUR_MUTEX)) {
            return CURATOR;
        }
    }
    return (enum neighbour_library)chance(history, 3);
}

static void open_house(struct house *house)
{
    struct history *history = house->history;

    memset(house->residents, 0, sizeof(house->residents));
    house->count = 1 + (int)chance(history, THREADS_MAX);
    for (int i = 0; i < house->count; i++) {
        struct resident *resident = &house->residents[i];
        resident->actor.history = history;
        resident->actor.seat = &house->seat;
        resident->ticket.actor = &resident->actor;
        resident->next_ms = sim_now(history->sim) + chance(history, 1500);
    }
    neighbour_begin(&house->neighbour, history->sim, house->name, some_library(history),
                    history->timeout_ms);
}

void neighbours_begin(struct history *history, uint64_t seed)
{
    int count = how_many(history, seed);

    if (count == 0) {
        return;
    }
    history->neighbours = calloc(1, sizeof(*history->neighbours));
    history->neighbours->count = count;
    history->swift = seed % 2 == 0;
    history->seat_count = history->seat_count > count ? history->seat_count - count : 1;
    for (int i = 0; i < count; i++) {
        struct house *house = &history->neighbours->houses[i];
        house->history = history;
        house->seat.number = history->seat_count + i;
        (void)snprintf(house->name, sizeof(house->name), "n%d", house->seat.number);
        open_house(house);
    }
}

/* --------------------------------------------------------------------- what they do */

static enum neighbour_lock some_lock(struct history *history, int path)
{
    unsigned locks = history->recipe->foreign_locks(history, path);

    if ((locks & BIT_OF(NEIGHBOUR_READ)) != 0) {
        return chance(history, 100) < history->readers ? NEIGHBOUR_READ : NEIGHBOUR_WRITE;
    }
    return locks == BIT_OF(NEIGHBOUR_MUTEX) ? NEIGHBOUR_MUTEX : NEIGHBOUR_SEMAPHORE;
}

static void close_house(struct house *house)
{
    for (int i = 0; i < house->count; i++) {
        house->residents[i].attempt.held = false;
    }
    house->reopen_ms = sim_now(house->history->sim) + 1 + chance(house->history, 3000);
    neighbour_close(&house->neighbour);
}

/* Of a downgrade, too. */
static void told(struct attempt *attempt, int status)
{
    struct resident *resident = attempt->data;
    struct history *history = resident->actor.history;
    struct uvzk__stat stat;
    const struct standing *znode =
        attempt->lock == NEIGHBOUR_SEMAPHORE ? &attempt->leases[0] : &attempt->ticket;

    resident->next_ms = sim_now(history->sim) + chance(history, 1500);
    if (status == 0) {
        history->result->foreign++;
        bool stands = sim_stat(history->sim, znode->path, &stat);
        resident->session_id = stands ? stat.ephemeral_owner : 0;
        resident->ticket.shares[0].token = attempt_token(attempt);
        resident->ticket.shares[0].kind =
            attempt->lock == NEIGHBOUR_READ ? SHARED : resident->ticket.shares[0].kind;
    }
}

static void ask(struct house *house, struct resident *resident)
{
    struct history *history = house->history;
    int path = some_path(history);
    enum neighbour_lock lock = some_lock(history, path);
    uint32_t limit = lock == NEIGHBOUR_SEMAPHORE ? history->max_leases[path] : 1,
             leases = 1;

    if (limit > 1 && chance(history, 4) == 0) {
        leases += (uint32_t)chance(history, limit);
    }
    ticket_set(&resident->ticket, path, 0,
               lock == NEIGHBOUR_SEMAPHORE ? LEASES
               : lock == NEIGHBOUR_READ    ? SHARED
                                           : EXCLUSIVE,
               leases);
    resident->attempt.told = told;
    resident->attempt.data = resident;
    attempt_begin(&resident->attempt, &house->neighbour, lock, history_paths[path],
                  leases, limit, 1 + chance(history, 6000));
}

static void move_resident(struct house *house, struct resident *resident, bool ending)
{
    uint64_t now = sim_now(house->history->sim);

    if (resident->attempt.busy || (resident->next_ms > now && !ending)) {
        return;
    }
    resident->next_ms = now + chance(house->history, 1000);
    if (resident->attempt.held && resident->attempt.lock == NEIGHBOUR_WRITE &&
        !resident->attempt.suspended && chance(house->history, 3) == 0) {
        attempt_downgrade(&resident->attempt);
    } else if (resident->attempt.held) {
        vandal_sees_release(house->history, resident->ticket.path);
        attempt_release(&resident->attempt);
    } else if (!ending) {
        ask(house, resident);
    }
}

static bool any_busy(const struct house *house)
{
    for (int i = 0; i < house->count; i++) {
        if (house->residents[i].attempt.busy || house->residents[i].attempt.held) {
            return true;
        }
    }
    return false;
}

static void move_house(struct house *house, bool ending)
{
    struct history *history = house->history;

    if (house->neighbour.port == NULL) {
        if (!ending && house->reopen_ms <= sim_now(history->sim)) {
            open_house(house);
        }
        return;
    }
    if (house->neighbour.closing) {
        return;
    }
    for (int i = 0; i < house->count; i++) {
        move_resident(house, &house->residents[i], ending);
    }
    if (ending ? !any_busy(house) : chance(history, 4000) == 0) {
        close_house(house);
    }
}

void neighbours_move(struct history *history, bool ending)
{
    for (int i = 0; history->neighbours != NULL && i < history->neighbours->count; i++) {
        move_house(&history->neighbours->houses[i], ending);
    }
}

bool neighbours_gone(const struct history *history)
{
    for (int i = 0; history->neighbours != NULL && i < history->neighbours->count; i++) {
        if (history->neighbours->houses[i].neighbour.port != NULL) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ what they hold */

static void check_resident(struct history *history, struct resident *resident)
{
    struct share *share = &resident->ticket.shares[0];
    const struct attempt *attempt = &resident->attempt;
    uint32_t valid = attempt_valid(attempt);

    if (attempt->held && !attempt->suspended && valid < share->leases &&
        !history->vandals && !sim_forgot(history->sim, 0) &&
        sim_session_alive(history->sim, resident->session_id)) {
        history_fail(history, "client %d: the znode of its hold on %s was deleted",
                     resident->actor.seat->number, history_paths[share->path]);
    }
    if (valid > 0 && history->proof != UVZK_PROOF_NONE) {
        uint32_t leases = share->leases;
        share->leases = valid;
        check_share(history, share);
        share->leases = leases;
    }
}

void neighbours_check(struct history *history)
{
    for (int i = 0; history->neighbours != NULL && i < history->neighbours->count; i++) {
        struct house *house = &history->neighbours->houses[i];
        for (int j = 0; house->neighbour.port != NULL && j < house->count; j++) {
            check_resident(history, &house->residents[j]);
        }
    }
}

bool neighbours_hold(const struct history *history, const char *znode)
{
    for (int i = 0; history->neighbours != NULL && i < history->neighbours->count; i++) {
        const struct house *house = &history->neighbours->houses[i];
        for (int j = 0; j < house->count; j++) {
            if (attempt_is_on(&house->residents[j].attempt, znode)) {
                return true;
            }
        }
    }
    return false;
}

void neighbours_free(struct history *history)
{
    free(history->neighbours);
    history->neighbours = NULL;
}
