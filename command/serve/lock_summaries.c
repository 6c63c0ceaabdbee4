/* SPDX-License-Identifier: Apache-2.0 */
/* Counts holds and waiters of all connections by lock, when a program asks
 * (lock_summaries.h). The summaries exist only during the call. */
#include "serve/lock_summaries.h"

#include <stdlib.h>

#include <utlist.h>

#include "serve/daemon.h"
#include "serve/served_answer.h"
#include "serve/served_connection.h"
#include "serve/served_hold.h"
#include "serve/served_lock.h"
#include "serve/served_multilock.h"
#include "serve/served_validity.h"
#include "serve/table.h"

#define NS_IN_MS 1000000U

struct lock_summary {
    UT_hash_handle hh;
    const struct served_lock *lock; /* the key */
    size_t holders, waiters;
    const struct served_hold *oldest;  /* that has been held for longest; NULL: none */
    const struct served_hold *longest; /* that has waited for longest; NULL: none */
};

/* Returns false if there is no memory. */
static bool add(struct lock_summary **summaries, const struct served_hold *hold,
                const struct served_lock *lock)
{
    struct lock_summary *summary;
    bool waits = hold->state == SERVED_HOLD_WAITING;

    HASH_FIND_PTR(*summaries, &lock, summary);
    if (summary == NULL) {
        summary = calloc(1, sizeof(*summary));
        if (summary == NULL) {
            return false;
        }
        summary->lock = lock;
        HASH_ADD_PTR(*summaries, lock, summary);
        if (summary->hh.tbl == NULL) {
            free(summary);
            return false;
        }
    }
    if (waits) {
        summary->waiters++;
        if (summary->longest == NULL || hold->received < summary->longest->received) {
            summary->longest = hold;
        }
    } else {
        summary->holders++;
        if (summary->oldest == NULL || hold->granted < summary->oldest->granted) {
            summary->oldest = hold;
        }
    }
    return true;
}

/* Adds a hold to the summary of its lock, or of each of its locks. */
static bool add_hold(struct lock_summary **summaries, const struct served_hold *hold)
{
    const struct served_multilock *multilock = hold->multilock;
    bool added = true;

    if (multilock == NULL) {
        return add(summaries, hold, hold->lock);
    }
    for (size_t i = 0; added && i < multilock->count; i++) {
        added = add(summaries, hold, multilock->members[i].lock);
    }
    return added;
}

static bool add_all(struct lock_summary **summaries, const struct daemon *daemon)
{
    const struct served_connection *connection;
    bool added = true;

    DL_FOREACH(daemon->connections, connection)
    {
        for (const struct served_hold *hold = connection->holds; added && hold != NULL;
             hold = hold->hh.next) {
            added = hold->state >= SERVED_HOLD_RELEASING || add_hold(summaries, hold);
        }
    }
    return added;
}

static void free_all(struct lock_summary **summaries)
{
    struct lock_summary *summary, *next;

    HASH_ITER(hh, *summaries, summary, next)
    {
        HASH_DEL(*summaries, summary);
        free(summary);
    }
}

/* The lock with the most waiters first, then with the most holders. */
static int by_load(const struct lock_summary *one, const struct lock_summary *other)
{
    size_t left = one->waiters == other->waiters ? one->holders : one->waiters;
    size_t right = one->waiters == other->waiters ? other->holders : other->waiters;

    return (left < right) - (left > right);
}

static int64_t ms_since(uint64_t moment, uint64_t now)
{
    return (int64_t)((now - moment) / NS_IN_MS);
}

/* The kind of this lock in a hold. */
static enum served_kind kind_of(const struct served_hold *hold,
                                const struct served_lock *lock)
{
    const struct served_multilock *multilock = hold->multilock;

    for (size_t i = 0; multilock != NULL && i < multilock->count; i++) {
        if (multilock->members[i].lock == lock) {
            return (enum served_kind)multilock->members[i].kind;
        }
    }
    return hold->kind;
}

static json_t *summary_json(const struct lock_summary *summary, uint64_t now)
{
    const struct served_hold *oldest = summary->oldest;
    const struct served_hold *longest = summary->longest;
    json_t *row = json_object();

    served_answer_add_text(row, "path", summary->lock->path);
    served_answer_add_text(
        row, "lock",
        served_kind_name(kind_of(oldest != NULL ? oldest : longest, summary->lock)));
    served_answer_add_number(row, "holders", (int64_t)summary->holders);
    served_answer_add_number(row, "waiters", (int64_t)summary->waiters);
    if (oldest != NULL) {
        served_answer_add_number(row, "token", uvzk_hold_token(&oldest->hold));
        served_answer_add_number(row, "held_ms", ms_since(oldest->granted, now));
        served_answer_add_number(row, "pid", oldest->connection->pid);
    }
    if (longest != NULL) {
        served_answer_add_number(row, "longest_wait_ms",
                                 ms_since(longest->received, now));
    }
    return row;
}

static json_t *answer(int64_t id, const struct lock_summary *summaries, int64_t limit)
{
    uint64_t now = served_validity_now().monotonic;
    json_t *object = served_answer_ok(id), *rows = json_array();
    int64_t left_out = 0;

    for (const struct lock_summary *summary = summaries; summary != NULL;
         summary = summary->hh.next) {
        if (limit > 0) {
            json_array_append_new(rows, summary_json(summary, now));
            limit--;
        } else {
            left_out++;
        }
    }
    json_object_set_new(object, "locks", rows);
    served_answer_add_number(object, "left_out", left_out);
    return object;
}

void lock_summaries_send(struct served_connection *connection,
                         const struct served_request *request)
{
    struct lock_summary *summaries = NULL;
    json_t *object;

    if (add_all(&summaries, connection->daemon)) {
        HASH_SORT(summaries, by_load);
        object = answer(request->id, summaries, request->limit);
    } else {
        object = served_answer_status(request->id, UV_ENOMEM, 0);
    }
    free_all(&summaries);
    served_connection_send(connection, object);
}
