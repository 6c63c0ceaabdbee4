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
#include "history_world.h"
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
    struct world *world;
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
static int how_many(const struct world *world, uint64_t seed)
{
    if (world->recipe->foreign_locks == NULL ||
        world->recipe->foreign_locks(world, 0) == 0) {
        return 0;
    }
    return seed % 11 == 4 ? 1 : seed % 11 == 8 ? 2 : 0;
}

/* Those that have nothing but mutexes are only where all locks are. */
static enum neighbour_library some_library(struct world *world)
{
    for (int i = 0; i < world->path_count; i++) {
        if (world->recipe->foreign_locks(world, i) != BIT_OF(NEIGHBOUR_MUTEX)) {
            return CURATOR;
        }
    }
    return (enum neighbour_library)chance(world, 3);
}

static void open_house(struct house *house)
{
    struct world *world = house->world;

    memset(house->residents, 0, sizeof(house->residents));
    house->count = 1 + (int)chance(world, THREADS_MAX);
    for (int i = 0; i < house->count; i++) {
        struct resident *resident = &house->residents[i];
        resident->actor.world = world;
        resident->actor.seat = &house->seat;
        resident->ticket.actor = &resident->actor;
        resident->next_ms = sim_now(world->sim) + chance(world, 1500);
    }
    neighbour_begin(&house->neighbour, world->sim, house->name, some_library(world),
                    world->timeout_ms);
}

void neighbours_begin(struct world *world, uint64_t seed)
{
    int count = how_many(world, seed);

    if (count == 0) {
        return;
    }
    world->neighbours = calloc(1, sizeof(*world->neighbours));
    world->neighbours->count = count;
    world->swift = seed % 2 == 0;
    world->seat_count = world->seat_count > count ? world->seat_count - count : 1;
    for (int i = 0; i < count; i++) {
        struct house *house = &world->neighbours->houses[i];
        house->world = world;
        house->seat.number = world->seat_count + i;
        (void)snprintf(house->name, sizeof(house->name), "n%d", house->seat.number);
        open_house(house);
    }
}

/* --------------------------------------------------------------------- what they do */

static enum neighbour_lock some_lock(struct world *world, int path)
{
    unsigned locks = world->recipe->foreign_locks(world, path);

    if ((locks & BIT_OF(NEIGHBOUR_READ)) != 0) {
        return chance(world, 100) < world->readers ? NEIGHBOUR_READ : NEIGHBOUR_WRITE;
    }
    return locks == BIT_OF(NEIGHBOUR_MUTEX) ? NEIGHBOUR_MUTEX : NEIGHBOUR_SEMAPHORE;
}

static void close_house(struct house *house)
{
    for (int i = 0; i < house->count; i++) {
        house->residents[i].attempt.held = false;
    }
    house->reopen_ms = sim_now(house->world->sim) + 1 + chance(house->world, 3000);
    neighbour_close(&house->neighbour);
}

/* Of a downgrade, too. */
static void told(struct attempt *attempt, int status)
{
    struct resident *resident = attempt->data;
    struct world *world = resident->actor.world;
    struct uvzk__stat stat;
    const struct standing *znode =
        attempt->lock == NEIGHBOUR_SEMAPHORE ? &attempt->leases[0] : &attempt->ticket;

    resident->next_ms = sim_now(world->sim) + chance(world, 1500);
    if (status == 0) {
        world->result->foreign++;
        bool stands = sim_stat(world->sim, znode->path, &stat);
        resident->session_id = stands ? stat.ephemeral_owner : 0;
        resident->ticket.shares[0].token = attempt_token(attempt);
        resident->ticket.shares[0].kind =
            attempt->lock == NEIGHBOUR_READ ? SHARED : resident->ticket.shares[0].kind;
    }
}

static void ask(struct house *house, struct resident *resident)
{
    struct world *world = house->world;
    int path = (int)chance(world, (uint64_t)world->path_count);
    enum neighbour_lock lock = some_lock(world, path);
    uint32_t limit = lock == NEIGHBOUR_SEMAPHORE ? world->max_leases[path] : 1,
             leases = 1;

    if (limit > 1 && chance(world, 4) == 0) {
        leases += (uint32_t)chance(world, limit);
    }
    ticket_set(&resident->ticket, path, 0,
               lock == NEIGHBOUR_SEMAPHORE ? LEASES
               : lock == NEIGHBOUR_READ    ? SHARED
                                           : EXCLUSIVE,
               leases);
    resident->attempt.told = told;
    resident->attempt.data = resident;
    attempt_begin(&resident->attempt, &house->neighbour, lock, history_paths[path],
                  leases, limit, 1 + chance(world, 6000));
}

static void move_resident(struct house *house, struct resident *resident, bool ending)
{
    uint64_t now = sim_now(house->world->sim);

    if (resident->attempt.busy || (resident->next_ms > now && !ending)) {
        return;
    }
    resident->next_ms = now + chance(house->world, 1000);
    if (resident->attempt.held && resident->attempt.lock == NEIGHBOUR_WRITE &&
        !resident->attempt.suspended && chance(house->world, 3) == 0) {
        attempt_downgrade(&resident->attempt);
    } else if (resident->attempt.held) {
        vandal_sees_release(house->world, resident->ticket.path);
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
    struct world *world = house->world;

    if (house->neighbour.port == NULL) {
        if (!ending && house->reopen_ms <= sim_now(world->sim)) {
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
    if (ending ? !any_busy(house) : chance(world, 4000) == 0) {
        close_house(house);
    }
}

void neighbours_move(struct world *world, bool ending)
{
    for (int i = 0; world->neighbours != NULL && i < world->neighbours->count; i++) {
        move_house(&world->neighbours->houses[i], ending);
    }
}

bool neighbours_gone(const struct world *world)
{
    for (int i = 0; world->neighbours != NULL && i < world->neighbours->count; i++) {
        if (world->neighbours->houses[i].neighbour.port != NULL) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ what they hold */

static void check_resident(struct world *world, struct resident *resident)
{
    struct share *share = &resident->ticket.shares[0];
    const struct attempt *attempt = &resident->attempt;
    uint32_t valid = attempt_valid(attempt);

    if (attempt->held && !attempt->suspended && valid < share->leases &&
        !world->vandals && sim_session_alive(world->sim, resident->session_id)) {
        history_fail(world, "client %d: the znode of its hold on %s was deleted",
                     resident->actor.seat->number, history_paths[share->path]);
    }
    if (valid > 0 && world->proof != UVZK_PROOF_NONE) {
        uint32_t leases = share->leases;
        share->leases = valid;
        check_share(world, share);
        share->leases = leases;
    }
}

void neighbours_check(struct world *world)
{
    for (int i = 0; world->neighbours != NULL && i < world->neighbours->count; i++) {
        struct house *house = &world->neighbours->houses[i];
        for (int j = 0; house->neighbour.port != NULL && j < house->count; j++) {
            check_resident(world, &house->residents[j]);
        }
    }
}

bool neighbours_hold(const struct world *world, const char *znode)
{
    for (int i = 0; world->neighbours != NULL && i < world->neighbours->count; i++) {
        const struct house *house = &world->neighbours->houses[i];
        for (int j = 0; j < house->count; j++) {
            if (attempt_is_on(&house->residents[j].attempt, znode)) {
                return true;
            }
        }
    }
    return false;
}

void neighbours_free(struct world *world)
{
    free(world->neighbours);
    world->neighbours = NULL;
}
