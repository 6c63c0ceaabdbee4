/* What a thread asks for. A semaphore's leases are taken one after the other, as Curator
 * does: the ticket is first, the lease is made and the leases are listed until there are
 * no more than allowed; then the ticket goes. Whether the ticket still stands by then,
 * or its session, nobody asks. */
#include "neighbour.h"

#include <stdio.h>
#include <string.h>

#define RESTARTS 3U
#define DIGITS 10U /* of a number */

static struct sim *sim_of(const struct attempt *attempt)
{
    return attempt->neighbour->sim;
}

static void over(struct attempt *attempt, int status)
{
    attempt->busy = false;
    attempt->held = status == 0;
    if (attempt->held) {
        uvzk__list_append(&attempt->neighbour->holds, &attempt->link);
    }
    sim_note(sim_of(attempt), "%s: %s", attempt->neighbour->name,
             status == 0 ? "acquired" : uvzk_err_name(status));
    if (attempt->told != NULL) {
        attempt->told(attempt, status);
    }
}

static void give_back(struct attempt *attempt)
{
    for (uint32_t i = 0; i < attempt->got; i++) {
        standing_end(&attempt->leases[i]);
    }
    attempt->got = 0;
}

static void ask_for_ticket(struct attempt *attempt)
{
    static const struct standing_rule *const rules[] = {
        [NEIGHBOUR_MUTEX] = &neighbour_mutex_rule,
        [NEIGHBOUR_READ] = &neighbour_read_rule,
        [NEIGHBOUR_WRITE] = &neighbour_write_rule,
        [NEIGHBOUR_SEMAPHORE] = &neighbour_mutex_rule,
    };
    char directory[NEIGHBOUR_PATH_MAX];

    (void)snprintf(directory, sizeof(directory), "%.100s%s", attempt->path,
                   attempt->lock == NEIGHBOUR_SEMAPHORE ? "/locks" : "");
    standing_begin(&attempt->ticket, attempt->neighbour, rules[attempt->lock], directory,
                   attempt->deadline_ms);
}

static void on_lease(struct standing *lease, int status)
{
    struct attempt *attempt = lease->data;

    standing_end(&attempt->ticket);
    attempt->got += status == 0;
    if (status == UVZK_ENONODE && ++attempt->starts <= RESTARTS) {
        ask_for_ticket(attempt);
    } else if (status != 0) {
        give_back(attempt);
        over(attempt, status);
    } else if (attempt->got < attempt->wanted) {
        ask_for_ticket(attempt);
    } else {
        over(attempt, 0);
    }
}

static void on_ticket(struct standing *ticket, int status)
{
    struct attempt *attempt = ticket->data;
    struct standing *lease = &attempt->leases[attempt->got];
    char directory[NEIGHBOUR_PATH_MAX];

    if (status != 0) {
        give_back(attempt);
        over(attempt, status);
        return;
    }
    if (attempt->lock != NEIGHBOUR_SEMAPHORE) {
        over(attempt, 0);
        return;
    }
    (void)snprintf(directory, sizeof(directory), "%.100s/leases", attempt->path);
    lease->told = on_lease;
    lease->data = attempt;
    lease->limit = attempt->limit;
    standing_begin(lease, attempt->neighbour, &neighbour_lease_rule, directory,
                   attempt->deadline_ms);
}

void attempt_begin(struct attempt *attempt, struct neighbour *neighbour,
                   enum neighbour_lock lock, const char *path, uint32_t leases,
                   uint32_t limit, uint64_t timeout_ms)
{
    attempt->neighbour = neighbour;
    attempt->lock = lock;
    (void)snprintf(attempt->path, sizeof(attempt->path), "%s", path);
    attempt->wanted = leases;
    attempt->limit = limit;
    attempt->got = 0;
    attempt->starts = 0;
    attempt->busy = true;
    attempt->held = attempt->suspended = false;
    attempt->deadline_ms = sim_now(neighbour->sim) + timeout_ms;
    attempt->ticket.told = on_ticket;
    attempt->ticket.data = attempt;
    attempt->ticket.number[0] = '\0';
    sim_note(neighbour->sim, "%s: asks for %s", neighbour->name, path);
    ask_for_ticket(attempt);
}

void attempt_release(struct attempt *attempt)
{
    attempt->held = false;
    uvzk__list_remove(&attempt->link);
    sim_note(sim_of(attempt), "%s: releases %s", attempt->neighbour->name, attempt->path);
    if (attempt->lock == NEIGHBOUR_SEMAPHORE) {
        give_back(attempt);
    } else {
        standing_end(&attempt->ticket);
    }
}

static void on_reader(struct standing *reader, int status)
{
    struct attempt *attempt = reader->data;

    attempt->busy = false;
    if (status == 0) {
        standing_end(&attempt->ticket);
        attempt->ticket = *reader;
        uvzk__list_init(&attempt->ticket.link);
        attempt->lock = NEIGHBOUR_READ;
    }
    sim_note(sim_of(attempt), "%s: reads instead, %s", attempt->neighbour->name,
             status == 0 ? "done" : uvzk_err_name(status));
    attempt->told(attempt, status);
}

void attempt_downgrade(struct attempt *attempt)
{
    struct standing *reader = &attempt->reader;
    const char *path = attempt->ticket.path;

    attempt->busy = true;
    reader->told = on_reader;
    reader->data = attempt;
    (void)snprintf(reader->number, sizeof(reader->number), "%s",
                   path + strlen(path) - DIGITS);
    standing_begin(reader, attempt->neighbour, &neighbour_read_rule, attempt->path,
                   UINT64_MAX);
}

/* ------------------------------------------------------------------ what it holds */

static const struct standing *znode_of(const struct attempt *attempt, uint32_t number)
{
    if (attempt->lock != NEIGHBOUR_SEMAPHORE) {
        return number == 0 ? &attempt->ticket : NULL;
    }
    return number < attempt->got ? &attempt->leases[number] : NULL;
}

uint32_t attempt_valid(const struct attempt *attempt)
{
    const struct standing *znode;
    uint32_t valid = 0;

    if (!attempt->held || attempt->suspended) {
        return 0;
    }
    for (uint32_t i = 0; (znode = znode_of(attempt, i)) != NULL; i++) {
        valid += sim_exists(sim_of(attempt), znode->path);
    }
    return valid;
}

bool attempt_is_on(const struct attempt *attempt, const char *path)
{
    const struct standing *znode;

    for (uint32_t i = 0; attempt->held && (znode = znode_of(attempt, i)) != NULL; i++) {
        if (strcmp(znode->path, path) == 0) {
            return true;
        }
    }
    return false;
}

int64_t attempt_token(const struct attempt *attempt)
{
    struct uvzk__stat stat;
    const struct standing *znode = znode_of(attempt, 0);

    return znode != NULL && sim_stat(sim_of(attempt), znode->path, &stat) ? stat.czxid
                                                                          : 0;
}
