/* InterProcessMultiLock: everybody takes two or three of three locks, in any order,
 * or one of them alone. In half of the histories all are mutexes, taken at once: that
 * nobody waits in a circle shows in that everybody is answered. In the other half
 * they are a mutex, a read-write lock and a semaphore, taken in turn; or some of them have
 * persistent znodes, or all are mutexes, which live in any session. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_parts.h"

enum member { MUTEX, DRIVER, RWLOCK, SEMAPHORE };

#define FIRST_MULTI 2 /* of the numbers of a place's locks; before it its own two */
#define SEMAPHORE_LEASES 2U

struct combination {
    int count;
    int paths[PATHS_MAX];
    bool writes; /* the lock of path 1 */
};

static const struct combination combinations[MULTIS_MAX] = {
    {2, {0, 1}, true},  {2, {1, 0}, false},   {2, {2, 1}, true},
    {2, {2, 0}, false}, {3, {0, 1, 2}, true}, {3, {2, 1, 0}, false},
};

static enum member member_at(const struct history *history, int path)
{
    static const enum member members[PATHS_MAX] = {MUTEX, RWLOCK, SEMAPHORE};

    return !history->in_turn || history->mutexes  ? MUTEX
           : (history->durable >> path & 1U) != 0 ? DRIVER
                                                  : members[path];
}

static const char *const *directories(const struct history *history, int path)
{
    return member_at(history, path) == SEMAPHORE ? semaphore_directories
                                                 : no_directory_below(history, path);
}

static unsigned foreign_locks(const struct history *history, int path)
{
    switch (member_at(history, path)) {
    case RWLOCK:
        return BIT_OF(NEIGHBOUR_READ) | BIT_OF(NEIGHBOUR_WRITE);
    case SEMAPHORE:
        return BIT_OF(NEIGHBOUR_SEMAPHORE);
    default:
        return BIT_OF(NEIGHBOUR_MUTEX);
    }
}

static void prepare(struct history *history)
{
    history->path_count = PATHS_MAX;
    history->in_turn = chance(history, 2) == 0;
    history->max_leases[2] = SEMAPHORE_LEASES;
    if (history->in_turn && (history->kinds & HISTORY_DURABLE) != 0) {
        static const unsigned durable[] = {0, 1, 3, 7};
        history->durable = durable[chance(history, 4)];
        history->mutexes = history->durable == 0;
    }
}

static bool overflows(const struct history *history)
{
    return !history->in_turn || history->mutexes;
}

/* ------------------------------------------------------------------- the locks */

static int open_durable(uvzk_client_t *client, uvzk_lock_t *lock, const char *path)
{
    uvzk_lock_driver_t driver;

    uvzk_lock_driver_init(&driver);
    driver.name = "lock-";
    driver.mode = UVZK_NODE_PERSISTENT_SEQUENTIAL;
    return uvzk_driver_lock_init(client, lock, path, &driver);
}

static int open_lock(struct place *place, int path)
{
    uvzk_client_t *client = place->seat->client;
    const char *text = history_paths[path];

    switch (member_at(place->seat->history, path)) {
    case DRIVER:
        return open_durable(client, &place->as.mutex, text);
    case RWLOCK:
        return uvzk_rwlock_init(client, &place->as.rwlock, text);
    case SEMAPHORE:
        return uvzk_semaphore_init(client, &place->as.semaphore, text, SEMAPHORE_LEASES,
                                   NULL);
    default:
        return uvzk_mutex_init(client, &place->as.mutex, text);
    }
}

/* lock: 1 is the write half, where there is one. */
static uvzk_lock_t *single(struct place *place, int lock)
{
    return lock == 1 ? &place->as.rwlock.write : &place->as.mutex;
}

static uvzk_lock_t *shell(struct place *place, int lock)
{
    return lock < FIRST_MULTI ? single(place, lock)
                              : &place->seat->multis[lock - FIRST_MULTI];
}

static void on_error(uvzk_multilock_t *lock, uvzk_lock_t *member, int status)
{
    const struct seat *seat = lock->data;

    if (member->impl == NULL || status == 0) {
        history_fail(seat->history, "a member failed with %s", uvzk_err_name(status));
    }
}

static int open_multis(struct seat *seat)
{
    bool in_turn = seat->history->in_turn;
    int status = 0;

    for (int i = 0; status == 0 && i < MULTIS_MAX; i++) {
        const struct combination *combination = &combinations[i];
        uvzk_lock_t *members[PATHS_MAX];
        for (int j = 0; j < combination->count; j++) {
            int path = combination->paths[j];
            bool is_writer =
                member_at(seat->history, path) == RWLOCK && combination->writes;
            members[j] = single(&seat->places[path], is_writer);
        }
        seat->multis[i].data = seat;
        status = uvzk_multilock_init(seat->client, &seat->multis[i], members,
                                     (size_t)combination->count,
                                     in_turn ? UVZK_MULTILOCK_IN_TURN : 0, on_error);
    }
    return status;
}

/* ------------------------------------------------------------------ the wishes */

static enum kind kind_of(const struct history *history, int path, bool writes)
{
    switch (member_at(history, path)) {
    case SEMAPHORE:
        return LEASES;
    case RWLOCK:
        return writes ? EXCLUSIVE : SHARED;
    default:
        return EXCLUSIVE;
    }
}

static void want_multi(struct ticket *ticket, int which)
{
    const struct history *history = ticket->actor->history;
    const struct combination *combination = &combinations[which];

    ticket->path = combination->paths[0];
    ticket->lock = FIRST_MULTI + which;
    ticket->in_turn = history->in_turn;
    ticket->share_count = 0;
    for (int i = 0; i < combination->count; i++) {
        int path = combination->paths[i];
        ticket_add(ticket, path, kind_of(history, path, combination->writes), 1);
    }
}

static void want_single(struct ticket *ticket, int path)
{
    struct history *history = ticket->actor->history;
    bool writes = member_at(history, path) == RWLOCK && chance(history, 2) == 0;

    ticket_set(ticket, path, writes, kind_of(history, path, writes),
               1 + (uint32_t)chance(history, SEMAPHORE_LEASES));
}

/* An owner of a mutex takes more of them in turn, and who does that may wait in a
 * circle with others that take them at once. */
static void wish(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    struct history *history = ticket->actor->history;
    bool owned = chance(history, 2) == 0;

    if (chance(history, 3) != 0) {
        want_multi(ticket, (int)chance(history, MULTIS_MAX));
    } else {
        want_single(ticket, (int)chance(history, PATHS_MAX));
        owned = owned && history->in_turn && ticket->path == 0;
        options->leases = ticket->shares[0].kind == LEASES ? ticket->shares[0].leases : 0;
    }
    options->owner = owned ? ticket->actor : NULL;
}

/* The same again, or several locks on top of the mutex among them, or that mutex
 * once more. */
static bool wish_more(struct ticket *ticket, uvzk_acquire_options_t *options)
{
    struct history *history = ticket->actor->history;
    const struct ticket *other = actor_other(ticket, BIT_OF(HOLDING));

    if (other == NULL || chance(history, 2) == 0) {
        return false;
    }
    options->owner = ticket->actor;
    if (history->in_turn && chance(history, 3) == 0) {
        want_single(ticket, 0);
    } else {
        want_multi(ticket, other->lock < FIRST_MULTI ? (int)chance(history, MULTIS_MAX)
                                                     : other->lock - FIRST_MULTI);
    }
    return true;
}

/* ------------------------------------------------------------------ the checks */

static int64_t czxid_of(const struct ticket *ticket, const struct share *share)
{
    struct history *history = ticket->actor->history;
    size_t length = strlen(history_paths[share->path]);
    struct uvzk__stat stat;
    const char *path;

    for (uint32_t i = 0; (path = uvzk_hold_lease_path(ticket->request, i)) != NULL; i++) {
        if (strncmp(path, history_paths[share->path], length) == 0 &&
            path[length] == '/') {
            return sim_stat(history->sim, path, &stat) ? stat.czxid : 0;
        }
    }
    history_fail(history, "a multi lock is held without %s", history_paths[share->path]);
    return 0;
}

/* A semaphore's token is not that of its lease. A znode may be gone by now, deleted by
 * hand and not heard of yet: then those made at once have its token in common, and what
 * was there before has been told its own. */
static int64_t token_of(const struct ticket *ticket, const struct share *share)
{
    if (share->kind == LEASES) {
        return 0;
    }
    int64_t token = czxid_of(ticket, share);
    int64_t unseen = ticket->actor->history->in_turn ? share->joined
                                                     : uvzk_hold_token(ticket->request);
    return token != 0 ? token : unseen;
}

static void granted(struct ticket *ticket)
{
    struct history *history = ticket->actor->history;
    int64_t greatest = 0;

    if (ticket->lock < FIRST_MULTI) {
        return;
    }
    if (uvzk_hold_lease_count(ticket->request) != (uint32_t)ticket->share_count) {
        history_fail(history, "a multi lock is held in part");
    }
    for (int i = 0; i < ticket->share_count; i++) {
        struct share *share = &ticket->shares[i];
        share->token = token_of(ticket, share);
        if (!history->in_turn && share->token != 0 &&
            share->token != uvzk_hold_token(ticket->request)) {
            history_fail(history, "not made at once: %s", history_paths[share->path]);
        }
        greatest = share->token > greatest ? share->token : greatest;
    }
    if (uvzk_hold_token(ticket->request) < greatest) {
        history_fail(history, "the token is not the greatest");
    }
    history->result->several++;
    for (int i = 0; i < ticket->share_count; i++) {
        if (member_at(history, ticket->shares[i].path) == DRIVER) {
            history->result->durable++;
            break;
        }
    }
}

static const char *unseen(const struct history_result *sum)
{
    return sum->losses == 0            ? "a loss"
           : sum->again == 0           ? "a re-entry"
           : sum->beside == 0          ? "holders together"
           : sum->several == 0         ? "several locks"
           : seat_nobody_was_away(sum) ? "a grant in another session"
                                       : NULL;
}

const struct recipe recipe_multilock = {
    .name = "multilock",
    .active_ms = 13000,
    .ticket_count = 2,
    .overflows = overflows,
    .directories = directories,
    .foreign_locks = foreign_locks,
    .prepare = prepare,
    .open = open_lock,
    .open_seat = open_multis,
    .shell = shell,
    .wish = wish,
    .wish_more = wish_more,
    .granted = granted,
    .unseen = unseen,
};
