/* One holds, and may re-enter: InterProcessMutex, and the lock driver of the simple
 * exclusive lock, one znode for everybody. */
#include "drivers.h"
#include "history_parts.h"

const char *const *no_directory_below(const struct history *history, int path)
{
    static const char *const itself[] = {"", NULL};

    (void)history;
    (void)path;
    return itself;
}

unsigned foreign_mutexes(const struct history *history, int path)
{
    (void)history;
    (void)path;
    return BIT_OF(NEIGHBOUR_MUTEX);
}

/* A cohort stays at home. */
bool mutexes_overflow(const struct history *history)
{
    return !history->cohorts;
}

static int open_mutex(struct place *place, int path)
{
    if (place->seat->history->cohorts && place->seat->number % 2 == 0) {
        return uvzk_mutex_init_cohort(place->seat->client, &place->as.mutex,
                                      history_paths[path], COHORT_HANDOVERS, COHORT_MS);
    }
    return uvzk_mutex_init(place->seat->client, &place->as.mutex, history_paths[path]);
}

static int open_driver(struct place *place, int path)
{
    uvzk_lock_driver_t driver;

    exclusive_driver(&driver);
    return uvzk_driver_lock_init(place->seat->client, &place->as.mutex,
                                 history_paths[path], &driver);
}

/* Each kind of it begins at the same place of the union. */
uvzk_lock_t *only_lock(struct place *place, int lock)
{
    (void)lock;
    return &place->as.mutex;
}

static void wish(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    struct history *history = ticket->actor->history;

    ticket_set(ticket, some_path(history), 0, EXCLUSIVE, 0);
    options->owner = chance(history, 2) == 0 ? ticket->actor : NULL;
}

/* Where the first has no owner this is no re-entry: it queues behind. */
static bool wish_more(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    const struct ticket *first = &ticket->actor->tickets[0];

    if (first->state != HOLDING || chance(ticket->actor->history, 3) != 0) {
        return false;
    }
    ticket_set(ticket, first->path, 0, EXCLUSIVE, 0);
    options->owner = ticket->actor;
    return true;
}

static const char *unseen(const struct history_result *sum)
{
    return sum->losses == 0 ? "a loss" : sum->again == 0 ? "a re-entry" : NULL;
}

static const char *unseen_of_mutex(const struct history_result *sum)
{
    return sum->handed_on == 0         ? "a znode that is handed on"
           : seat_nobody_was_away(sum) ? "a grant in another session"
                                       : unseen(sum);
}

const struct recipe recipe_mutex = {
    .name = "mutex",
    .active_ms = 20000,
    .revocable = true,
    .lock_count = 1,
    .ticket_count = 2,
    .overflows = mutexes_overflow,
    .directories = no_directory_below,
    .foreign_locks = foreign_mutexes,
    .open = open_mutex,
    .shell = only_lock,
    .wish = wish,
    .wish_more = wish_more,
    .unseen = unseen_of_mutex,
};

/* One whose create was forgotten deletes the next one of that name when it lets go. */
static void prepare_one_name(struct history *history)
{
    history->remembers = true;
}

const struct recipe recipe_exclusive_driver = {
    .prepare = prepare_one_name,
    .name = "exclusive_driver",
    .unnumbered = true,
    .active_ms = 20000,
    .lock_count = 1,
    .ticket_count = 2,
    .directories = no_directory_below,
    .open = open_driver,
    .shell = only_lock,
    .wish = wish,
    .wish_more = wish_more,
    .unseen = unseen,
};
