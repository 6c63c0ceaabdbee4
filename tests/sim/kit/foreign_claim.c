/* SPDX-License-Identifier: Apache-2.0 */
/* Acquires and releases one lock for one thread of a foreign client. The tests call it.
 * It uses foreign_contender.c for each znode.
 *
 * A mutex, a read lock and a write lock need one znode each. The leases of a semaphore
 * are acquired one after the other, as Curator does it. For each lease, the claim first
 * acquires the ticket (a mutex in `locks`), then creates the lease and lists the leases
 * until there are no more than the limit, then deletes the ticket. As in Curator, nothing
 * checks whether the ticket or its session still exists when the lease is granted. */
#include "foreign_client.h"

#include <stdio.h>
#include <string.h>

#define RESTARTS 3U
#define DIGITS 10U /* of a sequence number */

static struct sim *sim_of(const struct foreign_claim *claim)
{
    return claim->foreign_client->sim;
}

/* Ends the acquire and reports its status. status 0: the claim is now a hold. */
static void over(struct foreign_claim *claim, int status)
{
    claim->busy = false;
    claim->held = status == 0;
    if (claim->held) {
        uvzk__list_append(&claim->foreign_client->holds, &claim->link);
    }
    sim_note(sim_of(claim), "%s: %s", claim->foreign_client->name,
             status == 0 ? "acquired" : uvzk_err_name(status));
    if (claim->told != NULL) {
        claim->told(claim, status);
    }
}

/* Deletes the leases that the claim has. */
static void give_back(struct foreign_claim *claim)
{
    for (uint32_t i = 0; i < claim->got; i++) {
        foreign_contender_end(&claim->leases[i]);
    }
    claim->got = 0;
}

/* Creates the znode for which the claim waits: the ticket of a semaphore, or the only
 * znode of any other lock. */
static void ask_for_ticket(struct foreign_claim *claim)
{
    static const struct foreign_rule *const rules[] = {
        [FOREIGN_MUTEX] = &foreign_mutex_rule,
        [FOREIGN_READ] = &foreign_read_rule,
        [FOREIGN_WRITE] = &foreign_write_rule,
        [FOREIGN_SEMAPHORE] = &foreign_mutex_rule,
    };
    char directory[FOREIGN_PATH_MAX];

    (void)snprintf(directory, sizeof(directory), "%.100s%s", claim->path,
                   claim->lock == FOREIGN_SEMAPHORE ? "/locks" : "");
    foreign_contender_begin(&claim->ticket, claim->foreign_client, rules[claim->lock],
                            directory, claim->deadline_ms);
}

static void on_lease(struct foreign_contender *lease, int status)
{
    struct foreign_claim *claim = lease->data;

    /* The ticket is needed only while a lease is created, whatever became of the
     * lease. */
    foreign_contender_end(&claim->ticket);
    claim->got += status == 0;
    /* The lease was missing in the listing, for example because its session has expired.
     * The claim tries again with a new ticket, up to RESTARTS times. */
    if (status == UVZK_ENONODE && ++claim->starts <= RESTARTS) {
        ask_for_ticket(claim);
    } else if (status != 0) {
        give_back(claim);
        over(claim, status);
    } else if (claim->got < claim->wanted) {
        ask_for_ticket(claim);
    } else {
        over(claim, 0);
    }
}

static void on_ticket(struct foreign_contender *ticket, int status)
{
    struct foreign_claim *claim = ticket->data;
    struct foreign_contender *lease = &claim->leases[claim->got];
    char directory[FOREIGN_PATH_MAX];

    if (status != 0) {
        give_back(claim);
        over(claim, status);
        return;
    }
    if (claim->lock != FOREIGN_SEMAPHORE) {
        over(claim, 0);
        return;
    }
    (void)snprintf(directory, sizeof(directory), "%.100s/leases", claim->path);
    lease->told = on_lease;
    lease->data = claim;
    lease->limit = claim->limit;
    foreign_contender_begin(lease, claim->foreign_client, &foreign_lease_rule, directory,
                            claim->deadline_ms);
}

void foreign_claim_begin(struct foreign_claim *claim,
                         struct foreign_client *foreign_client, enum foreign_lock lock,
                         const char *path, uint32_t leases, uint32_t limit,
                         uint64_t timeout_ms)
{
    claim->foreign_client = foreign_client;
    claim->lock = lock;
    (void)snprintf(claim->path, sizeof(claim->path), "%s", path);
    claim->wanted = leases;
    claim->limit = limit;
    claim->got = 0;
    claim->starts = 0;
    claim->busy = true;
    claim->held = claim->suspended = false;
    claim->deadline_ms = sim_now(foreign_client->sim) + timeout_ms;
    claim->ticket.told = on_ticket;
    claim->ticket.data = claim;
    claim->ticket.number[0] = '\0';
    sim_note(foreign_client->sim, "%s: asks for %s", foreign_client->name, path);
    ask_for_ticket(claim);
}

void foreign_claim_release(struct foreign_claim *claim)
{
    claim->held = false;
    uvzk__list_remove(&claim->link);
    sim_note(sim_of(claim), "%s: releases %s", claim->foreign_client->name, claim->path);
    if (claim->lock == FOREIGN_SEMAPHORE) {
        give_back(claim);
    } else {
        foreign_contender_end(&claim->ticket);
    }
}

static void on_reader(struct foreign_contender *reader, int status)
{
    struct foreign_claim *claim = reader->data;

    claim->busy = false;
    if (status == 0) {
        foreign_contender_end(&claim->ticket);
        /* The reader's znode takes the place of the writer's. */
        claim->ticket = *reader;
        uvzk__list_init(&claim->ticket.link);
        claim->lock = FOREIGN_READ;
    }
    sim_note(sim_of(claim), "%s: reads instead, %s", claim->foreign_client->name,
             status == 0 ? "done" : uvzk_err_name(status));
    claim->told(claim, status);
}

void foreign_claim_downgrade(struct foreign_claim *claim)
{
    struct foreign_contender *reader = &claim->reader;
    const char *path = claim->ticket.path;

    claim->busy = true;
    reader->told = on_reader;
    reader->data = claim;
    (void)snprintf(reader->number, sizeof(reader->number), "%s",
                   path + strlen(path) - DIGITS);
    foreign_contender_begin(reader, claim->foreign_client, &foreign_read_rule,
                            claim->path, UINT64_MAX);
}

/* ------------------------------------------------------------- what a claim holds */

/* The znodes of a hold, counted from 0; NULL after the last one. A semaphore holds by its
 * leases, every other lock by its only znode. */
static const struct foreign_contender *znode_of(const struct foreign_claim *claim,
                                                uint32_t number)
{
    if (claim->lock != FOREIGN_SEMAPHORE) {
        return number == 0 ? &claim->ticket : NULL;
    }
    return number < claim->got ? &claim->leases[number] : NULL;
}

uint32_t foreign_claim_valid(const struct foreign_claim *claim)
{
    const struct foreign_contender *znode;
    uint32_t valid = 0;

    if (!claim->held || claim->suspended) {
        return 0;
    }
    for (uint32_t i = 0; (znode = znode_of(claim, i)) != NULL; i++) {
        valid += sim_exists(sim_of(claim), znode->path);
    }
    return valid;
}

int64_t foreign_claim_session(const struct foreign_claim *claim)
{
    const struct foreign_contender *znode;
    struct uvzk__stat stat;
    int64_t session_id = 0;

    for (uint32_t i = 0; claim->held && (znode = znode_of(claim, i)) != NULL; i++) {
        if (!sim_stat(sim_of(claim), znode->path, &stat) ||
            (i > 0 && stat.ephemeral_owner != session_id)) {
            return 0;
        }
        session_id = stat.ephemeral_owner;
    }
    return session_id;
}

bool foreign_claim_is_on(const struct foreign_claim *claim, const char *path)
{
    const struct foreign_contender *znode;

    for (uint32_t i = 0; claim->held && (znode = znode_of(claim, i)) != NULL; i++) {
        if (strcmp(znode->path, path) == 0) {
            return true;
        }
    }
    return false;
}

int64_t foreign_claim_token(const struct foreign_claim *claim)
{
    struct uvzk__stat stat;
    const struct foreign_contender *znode = znode_of(claim, 0);

    return znode != NULL && sim_stat(sim_of(claim), znode->path, &stat) ? stat.czxid : 0;
}
