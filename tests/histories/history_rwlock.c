/* InterProcessReadWriteLock: readers hold together, a writer alone, except for the
 * read lock that its own owner takes under it. */
#include <stdlib.h>

#include "history_parts.h"

#define READ 0
#define WRITE 1

static unsigned foreign_locks(const struct history *history, int path)
{
    (void)history;
    (void)path;
    return BIT_OF(NEIGHBOUR_READ) | BIT_OF(NEIGHBOUR_WRITE);
}

static int open_lock(struct place *place, int path)
{
    return uvzk_rwlock_init(place->seat->client, &place->as.rwlock, history_paths[path]);
}

static uvzk_lock_t *shell(struct place *place, int lock)
{
    return lock == READ ? &place->as.rwlock.read : &place->as.rwlock.write;
}

static void want(struct ticket *ticket, int path, int half)
{
    ticket_set(ticket, path, half, half == READ ? SHARED : EXCLUSIVE, 0);
}

static void wish(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    struct history *history = ticket->actor->history;

    want(ticket, some_path(history),
         chance(history, 100) < history->readers ? READ : WRITE);
    options->owner = chance(history, 3) != 0 ? ticket->actor : NULL;
}

/* Whether the owner waits for this half or holds it, as far as it has been told. */
static bool engaged(const struct actor *actor, int half)
{
    for (int i = 0; i < TICKETS_MAX; i++) {
        const struct ticket *ticket = &actor->tickets[i];
        if (ticket->owner != NULL && ticket->lock == half &&
            (ticket->state == ASKING ||
             (ticket->state == HOLDING && uvzk_hold_is_valid(ticket->request)))) {
            return true;
        }
    }
    return false;
}

static bool wish_more(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    struct history *history = ticket->actor->history;
    const struct ticket *other = actor_other(
        ticket, BIT_OF(HOLDING) | (chance(history, 4) == 0 ? BIT_OF(ASKING) : 0));

    if (other == NULL || chance(history, 2) == 0) {
        return false;
    }
    want(ticket, other->path,
         other->lock == WRITE && chance(history, 3) == 0 ? WRITE : READ);
    options->owner = ticket->actor;
    return ticket->lock == READ || !engaged(ticket->actor, READ);
}

static void on_upgraded(uvzk_hold_t *hold, int status)
{
    if (status == 0) {
        history_fail(hold->data, "an upgrade was granted");
    }
    free(hold);
}

/* The read was lost or refused just before, and that is still to be told. */
static void expect_end_of_reads(struct actor *actor)
{
    for (int i = 0; i < TICKETS_MAX; i++) {
        struct ticket *ticket = &actor->tickets[i];
        ticket->doomed = ticket->owner != NULL && ticket->lock == READ &&
                         (ticket->state == ASKING || ticket->state == HOLDING);
    }
}

static void upgrade(struct actor *actor, uvzk_lock_t *lock)
{
    struct history *history = actor->history;
    uvzk_acquire_options_t options;
    uvzk_hold_t *hold = calloc(1, sizeof(*hold));

    uvzk_acquire_options_init(&options);
    options.owner = actor;
    hold->data = history;
    int status = uvzk_lock_acquire(lock, hold, &options, on_upgraded, on_upgraded);
    if (status == 0) {
        expect_end_of_reads(actor);
        (void)uvzk_hold_cancel(hold);
        return;
    }
    if (status == UVZK_EDEADLOCK) {
        history->result->deadlocks++;
    } else if (status != UV_EIO) {
        history_fail(history, "an upgrade says %s", uvzk_err_name(status));
    }
    free(hold);
}

/* Who reads, or waits for it, and asks to write would wait for itself. */
static void provoke(struct actor *actor)
{
    struct place *place = &actor->seat->places[actor->tickets[0].path];

    if (engaged(actor, READ) && !engaged(actor, WRITE) && !place->closing[READ] &&
        !place->closing[WRITE] && chance(actor->history, 8) == 0) {
        upgrade(actor, shell(place, WRITE));
    }
}

static void released(struct ticket *ticket)
{
    const struct ticket *other = actor_other(ticket, BIT_OF(HOLDING));

    ticket->actor->history->result->kept +=
        ticket->lock == WRITE && other != NULL && other->lock == READ;
}

static const char *unseen(const struct history_result *sum)
{
    return sum->losses == 0      ? "a loss"
           : sum->again == 0     ? "a re-entry"
           : sum->beside == 0    ? "readers together"
           : sum->kept == 0      ? "a downgrade"
           : sum->deadlocks == 0 ? "an upgrade"
                                 : NULL;
}

const struct recipe recipe_rwlock = {
    .name = "rwlock",
    .active_ms = 13000,
    .revocable = true,
    .lock_count = 2,
    .ticket_count = 3,
    .directories = no_directory_below,
    .foreign_locks = foreign_locks,
    .open = open_lock,
    .shell = shell,
    .wish = wish,
    .wish_more = wish_more,
    .provoke = provoke,
    .released = released,
    .unseen = unseen,
};
