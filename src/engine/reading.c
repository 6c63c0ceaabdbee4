/* SPDX-License-Identifier: Apache-2.0 */
/* Sends readings when they are due, passes the replies on to their kinds, and repeats what
 * has failed (reading.h). Each reply, event and timer records what has happened, and
 * uvzk__reading_pump sends the request that is due. */
#include "engine/reading.h"

#include <string.h>

#include "base/outcome.h"
#include "engine/invariant.h"
#include "engine/session.h"
#include "engine/submission.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__READING_, IDLE, ASKED, PAUSED, ENDED),
    UVZK__STATE(UVZK__READING_, ASKED, IDLE, ENDED),
    UVZK__STATE(UVZK__READING_, PAUSED, IDLE, ENDED),
    UVZK__FINAL(UVZK__READING_, ENDED),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__reading *reading = object;
    bool pauses = uvzk__growing_pause_runs(&reading->pause);

    switch (reading->state) {
    case UVZK__READING_IDLE:
        return !pauses;
    case UVZK__READING_ASKED:
        return !pauses && reading->pins > 0;
    case UVZK__READING_PAUSED:
        return pauses;
    default:
        return !pauses && !uvzk__watcher_is_set(&reading->renewed.watcher);
    }
}

const struct uvzk__machine uvzk__reading_machine =
    UVZK__MACHINE("reading", table, struct uvzk__reading, state, invariant_holds);

static void reading_enter(struct uvzk__reading *reading, enum uvzk__reading_state state)
{
    uvzk__move(reading->session, &uvzk__reading_machine, reading, state);
}

/* ---------------------------------------------------------- making and ending */

static void pause_over(struct uvzk__timer *timer);
static void reading_told(struct uvzk__watcher *watcher, enum uvzk__watch_news news);

bool uvzk__reading_init(struct uvzk__reading *reading, struct uvzk__session *session,
                        const struct uvzk__reading_kind *kind, const char *path)
{
    struct uvzk__reading **readings = kind->table(session);

    reading->session = session;
    reading->kind = kind;
    reading->pause.timer.due = pause_over;
    uvzk__renewed_watcher_init(&reading->renewed, session, reading_told);
    reading->path = uvzk__strdup(path);
    if (reading->path != NULL) {
        HASH_ADD_KEYPTR(hh, *readings, reading->path, strlen(path), reading);
    }
    /* An allocation failed, possibly that of the hash table. */
    if (reading->hh.tbl == NULL) {
        uvzk__free(reading->path);
        return false;
    }
    return true;
}

struct uvzk__reading *uvzk__reading_find(const struct uvzk__session *session,
                                         const struct uvzk__reading_kind *kind,
                                         const char *path)
{
    struct uvzk__reading *reading;

    HASH_FIND_STR(*kind->table(session), path, reading);
    return reading;
}

void uvzk__reading_pin(struct uvzk__reading *reading)
{
    reading->pins++;
}

void uvzk__reading_unpin(struct uvzk__reading *reading)
{
    reading->pins--;
    if (reading->state == UVZK__READING_ENDED && reading->pins == 0) {
        uvzk__free(reading->path);
        reading->kind->free_memory(reading);
    }
}

void uvzk__reading_end(struct uvzk__reading *reading)
{
    HASH_DEL(*reading->kind->table(reading->session), reading);
    uvzk__growing_pause_end(reading->session, &reading->pause);
    uvzk__watch_leave(&reading->renewed.watcher);
    reading_enter(reading, UVZK__READING_ENDED);
    uvzk__reading_pin(reading);
    uvzk__reading_unpin(reading);
}

/* ------------------------------------------------------------------ the requests */

bool uvzk__reading_may_ask(const struct uvzk__reading *reading)
{
    return reading->state == UVZK__READING_IDLE && uvzk__may_send(reading->session);
}

void uvzk__reading_send(struct uvzk__reading *reading)
{
    uvzk__reading_pin(reading); /* the reply unpins it */
    reading_enter(reading, UVZK__READING_ASKED);
    uvzk__submit(reading->session, &reading->rpc);
}

bool uvzk__reading_ask(struct uvzk__reading *reading, enum uvzk__rpc_kind kind,
                       const char *path, bool watched)
{
    struct uvzk__watcher *watcher = &reading->renewed.watcher;

    if (!uvzk__reading_may_ask(reading)) {
        return false;
    }
    uvzk__rpc_prepare(&reading->rpc, kind, path, uvzk__reading_replied);
    if (watched && !uvzk__watcher_is_set(watcher) &&
        !uvzk__watch_join_with(watcher, &reading->rpc)) {
        reading->kind->failed(reading, UVZK_ELIMIT);
        return false;
    }
    uvzk__reading_send(reading);
    return true;
}

void uvzk__reading_want(struct uvzk__reading *reading)
{
    bool rests = reading->state == UVZK__READING_PAUSED && !reading->again;

    if (rests) {
        uvzk__growing_pause_end(reading->session, &reading->pause);
        reading_enter(reading, UVZK__READING_IDLE);
    }
    reading->again = true;
}

static bool is_due(const struct uvzk__reading *reading)
{
    return reading->again || !uvzk__watcher_is_set(&reading->renewed.watcher) ||
           !uvzk__is_of_this_connection(reading->session, reading->stamp);
}

void uvzk__reading_pump(struct uvzk__reading *reading)
{
    if (uvzk__reading_may_ask(reading) && !uvzk__session_is_closing(reading->session) &&
        is_due(reading) && reading->kind->begin(reading)) {
        reading->again = false;
        reading->stamp = reading->session->submissions.stamp;
    }
}

/* A reading that was refused and is not repeated waits until its kind wants it, or until
 * requests may be sent again: it is not sent at once, although no watch is set. */
static void reading_taken(struct uvzk__reading *reading, const struct uvzk__reply *reply)
{
    bool missing = reply->status == UVZK_ENONODE;

    reading_enter(reading, UVZK__READING_IDLE);
    /* An exists sets a watch on a missing znode too. */
    uvzk__watch_answered(&reading->renewed.watcher,
                         reply->status == 0 ||
                             (missing && reading->rpc.kind == UVZK__RPC_EXISTS));
    if (reply->status == 0 || missing) {
        reading->kind->shown(reading, reply);
        uvzk__reading_pump(reading);
        return;
    }
    reading->kind->failed(reading, reply->status);
    if (reading->again || uvzk__watcher_is_set(&reading->renewed.watcher)) {
        uvzk__reading_pump(reading);
    }
}

void uvzk__reading_replied(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__reading *reading = UVZK__CONTAINER_OF(rpc, struct uvzk__reading, rpc);

    uvzk__answered(reading->session, rpc, reply->status,
                   rpc->kind == UVZK__RPC_CREATE || rpc->kind == UVZK__RPC_MULTI);
    if (reading->state != UVZK__READING_ENDED) {
        reading_taken(reading, reply);
    }
    uvzk__reading_unpin(reading);
}

/* --------------------------------------------------------------------- the pauses */

bool uvzk__reading_repeat(struct uvzk__reading *reading, int status)
{
    bool refused =
        uvzk__growing_pause_begin_after(reading->session, &reading->pause, status);

    reading->again = true;
    reading_enter(reading, UVZK__READING_PAUSED);
    return refused;
}

void uvzk__reading_repeat_soon(struct uvzk__reading *reading)
{
    reading->again = true;
    uvzk__growing_pause_begin_once(reading->session, &reading->pause,
                                   UVZK__SHORT_PAUSE_MS);
    reading_enter(reading, UVZK__READING_PAUSED);
}

void uvzk__reading_rest(struct uvzk__reading *reading, uint64_t ms)
{
    if (reading->again) {
        return;
    }
    uvzk__growing_pause_begin_once(reading->session, &reading->pause, ms);
    reading_enter(reading, UVZK__READING_PAUSED);
}

static void pause_over(struct uvzk__timer *timer)
{
    struct uvzk__reading *reading =
        UVZK__CONTAINER_OF(timer, struct uvzk__reading, pause.timer);

    reading_enter(reading, UVZK__READING_IDLE);
    uvzk__reading_pump(reading);
}

void uvzk__reading_resume(struct uvzk__reading *reading)
{
    if (reading->state == UVZK__READING_PAUSED) {
        uvzk__growing_pause_end(reading->session, &reading->pause);
        reading_enter(reading, UVZK__READING_IDLE);
    }
    uvzk__reading_pump(reading);
}

void uvzk__readings_resume(struct uvzk__session *session,
                           const struct uvzk__reading_kind *kind)
{
    struct uvzk__reading *reading, *next;

    HASH_ITER(hh, *kind->table(session), reading, next)
    {
        uvzk__reading_resume(reading);
    }
}

/* ---------------------------------------------------------------------- the watch */

/* After a loss nothing may be sent yet. */
static void reading_told(struct uvzk__watcher *watcher, enum uvzk__watch_news news)
{
    struct uvzk__reading *reading =
        UVZK__CONTAINER_OF(watcher, struct uvzk__reading, renewed.watcher);

    if (news == UVZK__NEWS_LOST) {
        return;
    }
    uvzk__reading_pin(reading);
    if (reading->kind->changed != NULL) {
        reading->kind->changed(reading, news);
    }
    uvzk__reading_pump(reading);
    uvzk__reading_unpin(reading);
}
