/* Lock drivers: the simple exclusive lock, one znode for everybody, and the lock with n
 * leases on one directory.
 *
 *   leases   never more than there are. Their tokens tell nothing: who was let in
 *            earlier may hear of it later */
#include "drivers.h"
#include "history_world.h"

#define LEASES_MOST 4U

static const char *const *directories(const struct world *world, int path)
{
    (void)world;
    (void)path;
    return no_directory_below;
}

static uvzk_lock_t *shell(struct place *place, int lock)
{
    (void)lock;
    return &place->as.mutex;
}

/* ------------------------------------------------------------------- one znode */

static int open_exclusive(struct place *place, int path)
{
    uvzk_lock_driver_t driver;

    exclusive_driver(&driver);
    return uvzk_driver_lock_init(place->seat->client, &place->as.mutex,
                                 history_paths[path], &driver);
}

static void wish_exclusive(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    struct world *world = ticket->actor->world;

    ticket_set(ticket, (int)chance(world, (uint64_t)world->path_count), 0, EXCLUSIVE, 0);
    options->owner = chance(world, 2) == 0 ? ticket->actor : NULL;
}

static bool reenter(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    const struct ticket *first = &ticket->actor->tickets[0];

    if (first->state != HOLDING || chance(ticket->actor->world, 3) != 0) {
        return false;
    }
    ticket_set(ticket, first->path, 0, EXCLUSIVE, 0);
    options->owner = ticket->actor;
    return true;
}

static const char *unseen_of_exclusive(const struct history_result *sum)
{
    return sum->losses == 0 ? "a loss" : sum->again == 0 ? "a re-entry" : NULL;
}

const struct recipe recipe_exclusive_driver = {
    .name = "exclusive_driver",
    .active_ms = 20000,
    .lock_count = 1,
    .ticket_count = 2,
    .directories = directories,
    .open = open_exclusive,
    .shell = shell,
    .wish = wish_exclusive,
    .wish_more = reenter,
    .unseen = unseen_of_exclusive,
};

/* -------------------------------------------------------------------- n leases */

/* Where several hold it cannot be told from the directory who does not, yet. */
static void prepare_leases(struct world *world)
{
    uint32_t max = 1 + (uint32_t)chance(world, LEASES_MOST);

    for (int i = 0; i < PATHS_MAX; i++) {
        world->max_leases[i] = max;
    }
    world->vandals = world->vandals && max == 1;
}

static int open_leases(struct place *place, int path)
{
    uvzk_lock_driver_t driver;

    n_leases_driver(&driver, place->seat->world->max_leases[path]);
    return uvzk_driver_lock_init(place->seat->client, &place->as.mutex,
                                 history_paths[path], &driver);
}

static void wish_lease(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    struct world *world = ticket->actor->world;

    (void)options; /* no owner: each ticket is one lease */
    ticket_set(ticket, (int)chance(world, (uint64_t)world->path_count), 0, LEASES, 1);
}

static bool wish_another(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    wish_lease(ticket, options);
    return chance(ticket->actor->world, 2) == 0;
}

static void granted(struct ticket *ticket)
{
    ticket->shares[0].token = 0;
}

static const char *unseen_of_leases(const struct history_result *sum)
{
    return sum->losses == 0       ? "a loss"
           : sum->beside == 0     ? "holders together"
           : sum->vandalised == 0 ? "a waiter whose znode was deleted by hand"
                                  : NULL;
}

const struct recipe recipe_leases_driver = {
    .name = "leases_driver",
    .active_ms = 20000,
    .lock_count = 1,
    .ticket_count = 2,
    .directories = directories,
    .prepare = prepare_leases,
    .open = open_leases,
    .shell = shell,
    .wish = wish_lease,
    .wish_more = wish_another,
    .granted = granted,
    .unseen = unseen_of_leases,
};
