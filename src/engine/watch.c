/* SPDX-License-Identifier: Apache-2.0 */
/* Moves a watcher between its states and renews it (watch.h). Its owner sends the request
 * that sets the watch. The parts of this file: when a watch is renewed; how much of their
 * budget the watches of a session take; the table of the watchers; one watcher. */
#include "engine/watch.h"

#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "engine/invariant.h"
#include "engine/log.h"
#include "engine/session.h"
#include "engine/size_limit.h"
#include "engine/turn.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__WATCHER_, UNWATCHED, ARMING),
    UVZK__STATE(UVZK__WATCHER_, ARMING, ARMED, UNWATCHED),
    UVZK__STATE(UVZK__WATCHER_, ARMED, UNWATCHED),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__watcher *watcher = object;

    return (watcher->state == UVZK__WATCHER_UNWATCHED) == (watcher->path == NULL);
}

const struct uvzk__machine uvzk__watcher_machine =
    UVZK__MACHINE("watcher", table, struct uvzk__watcher, state, invariant_holds);

/* ------------------------------------------------------------------- the renewal */

void uvzk__watch_renewal_schedule(struct uvzk__session *session,
                                  struct uvzk__timer *timer)
{
    uint64_t period = session->connection.timeout_ms, random = 0;

    /* If random() fails, random is 0: the renewal comes early, which does no harm. */
    (void)uvzk__random(session, &random, sizeof(random));
    uvzk__timer_set(session, timer,
                    uvzk__now(session) + period - period / 4 + random % (period / 2 + 1));
}

/* -------------------------------------------------------------------- the budget */

#define NAME_BYTES 64 /* more than a contender's name in Curator's recipes, with '/' */

/* A path in the request: 4 bytes for its length, and the text without the NUL. */
static uint64_t cost_of(size_t path_length)
{
    return path_length + 4;
}

static uint64_t watch_budget_cost(const char *path)
{
    return cost_of(strlen(path));
}

static bool watch_budget_fits(const struct uvzk__session *session, uint64_t bytes)
{
    return session->watches.bytes + bytes <= UVZK__WATCH_BYTES_MAX;
}

bool uvzk__watch_budget_has_room(const struct uvzk__session *session, const char *path)
{
    return watch_budget_fits(session, watch_budget_cost(path) + NAME_BYTES);
}

/* Warns once. Renewed watches repeatedly take the last room, so the next warning comes
 * only after a tenth has been free. */
static void warn_spent(struct uvzk__session *session)
{
    if (!session->watches.warned) {
        session->watches.warned = true;
        uvzk__log(session, UVZK_LOG_WARN, "session",
                  "the budget of watches, %u bytes of their paths, is spent: set "
                  "options.sessions, or increase it",
                  UVZK__WATCH_BYTES_MAX);
    }
}

/* Reserves room for a watch on this path. Returns false if there is no room. */
static bool watch_budget_take(struct uvzk__session *session, const char *path)
{
    if (!watch_budget_fits(session, watch_budget_cost(path))) {
        warn_spent(session);
        return false;
    }
    session->watches.bytes += watch_budget_cost(path);
    session->watches.count++;
    return true;
}

/* The other two thirds are for watches that are essential. */
bool uvzk__watch_budget_is_ample(const struct uvzk__session *session)
{
    return session->watches.bytes < UVZK__WATCH_BYTES_MAX / 3;
}

/* Gives back the room of a watch that has fired, was not armed or was removed. */
static void watch_budget_give(struct uvzk__session *session, const char *path)
{
    session->watches.bytes -= watch_budget_cost(path);
    session->watches.count--;
    if (session->watches.bytes <= UVZK__WATCH_BYTES_MAX / 10 * 9) {
        session->watches.warned = false;
    }
}

bool uvzk__watch_budget_take_share(struct uvzk__session *session, size_t path_length)
{
    uint64_t bytes = session->watches.shared_bytes + cost_of(path_length);

    if (bytes > UVZK__WATCH_BYTES_SHARE_MAX) {
        return false;
    }
    session->watches.shared_bytes = bytes;
    return true;
}

void uvzk__watch_budget_give_share(struct uvzk__session *session, size_t path_length)
{
    session->watches.shared_bytes -= cost_of(path_length);
}

/* --------------------------------------------------------------------- the table */

/* The table has at least one head for so many watchers, unless memory is short. */
#define WATCHERS_PER_HEAD 2U
#define HEADS_MIN 16U

static struct uvzk__watcher **head_at(struct uvzk__watchers *watchers, uint32_t hash)
{
    return watchers->heads == NULL ? &watchers->sole
                                   : &watchers->heads[hash & (watchers->head_count - 1)];
}

static void watch_put(struct uvzk__watchers *watchers, struct uvzk__watcher *watcher)
{
    struct uvzk__watcher **head = head_at(watchers, watcher->hash);

    watcher->next = *head;
    *head = watcher;
}

/* Without memory the lists at the heads get longer. */
static void watch_grow(struct uvzk__watchers *watchers)
{
    struct uvzk__watchers grown = {
        .head_count = watchers->heads == NULL ? HEADS_MIN : 2 * watchers->head_count,
        .count = watchers->count};
    uint32_t old_count = watchers->heads == NULL ? 1 : watchers->head_count;

    grown.heads = uvzk__calloc(grown.head_count, sizeof(*grown.heads));
    if (grown.heads == NULL) {
        return;
    }
    for (uint32_t i = 0; i < old_count; i++) {
        struct uvzk__watcher *watcher = *head_at(watchers, i);
        while (watcher != NULL) {
            struct uvzk__watcher *next = watcher->next;
            watch_put(&grown, watcher);
            watcher = next;
        }
    }
    uvzk__free(watchers->heads);
    *watchers = grown;
}

static void watch_enter(struct uvzk__watchers *watchers, struct uvzk__watcher *watcher)
{
    uint32_t heads = watchers->heads == NULL ? 1 : watchers->head_count;

    if (watchers->count >= WATCHERS_PER_HEAD * heads) {
        watch_grow(watchers);
    }
    watchers->count++;
    watch_put(watchers, watcher);
}

static void take_out(struct uvzk__watchers *watchers, struct uvzk__watcher *watcher)
{
    struct uvzk__watcher **at = head_at(watchers, watcher->hash);

    while (*at != watcher) {
        at = &(*at)->next;
    }
    *at = watcher->next;
    watchers->count--;
}

#define ANY_KIND (~0U)

/* The first watcher on the path, of one of these kinds (UVZK__BIT); NULL: there is none. */
static struct uvzk__watcher *watch_find(struct uvzk__session *session, const char *path,
                                        uint32_t hash, unsigned kinds)
{
    struct uvzk__watcher *watcher = *head_at(&session->watchers, hash);

    while (watcher != NULL &&
           (watcher->hash != hash || (kinds & UVZK__BIT(watcher->kind)) == 0 ||
            strcmp(watcher->path, path) != 0)) {
        watcher = watcher->next;
    }
    return watcher;
}

void uvzk__watchers_free(struct uvzk__session *session)
{
    uvzk__free(session->watchers.heads);
    session->watchers.heads = NULL;
}

/* ------------------------------------------------------------------- one watcher */

void uvzk__unwatch(struct uvzk__session *session, struct uvzk__watch *watch)
{
    if (!uvzk__session_port_is_closing(session)) {
        uvzk__size_limit_unwatch(session, watch);
        session->port->unwatch(session->port, watch);
    }
}

static struct uvzk__timer *renewal_of(struct uvzk__watcher *watcher)
{
    return &UVZK__CONTAINER_OF(watcher, struct uvzk__renewed_watcher, watcher)->renewal;
}

/* The watch has fired or is gone on the server. */
static void watch_gone(struct uvzk__watcher *watcher)
{
    struct uvzk__session *session = watcher->session;
    const char *path = watcher->path;

    if (watcher->state == UVZK__WATCHER_UNWATCHED) {
        return;
    }
    if (watcher->renewed) {
        uvzk__timer_clear(session, renewal_of(watcher));
    }
    take_out(&session->watchers, watcher);
    watcher->path = NULL;
    uvzk__move(watcher->session, &uvzk__watcher_machine, watcher,
               UVZK__WATCHER_UNWATCHED);
    if (watch_find(session, path, watcher->hash, UVZK__BIT(watcher->kind)) == NULL) {
        watch_budget_give(session, path);
    }
}

bool uvzk__watcher_is_set(const struct uvzk__watcher *watcher)
{
    return watcher->state != UVZK__WATCHER_UNWATCHED;
}

bool uvzk__watcher_is_armed(const struct uvzk__watcher *watcher)
{
    return watcher->state == UVZK__WATCHER_ARMED;
}

void uvzk__watch_leave(struct uvzk__watcher *watcher)
{
    if (watcher->state != UVZK__WATCHER_UNWATCHED) {
        uvzk__unwatch(watcher->session, &watcher->watch);
    }
    watch_gone(watcher);
}

/* [P1] A persistent watch gives its path up. On a server before 3.9.0 it would hear of
 * nothing more. */
static void make_way(struct uvzk__session *session, const char *path, uint32_t hash)
{
    struct uvzk__watcher *watcher;

    while ((watcher = watch_find(session, path, hash,
                                 UVZK__BIT(UVZK__WATCH_PERSISTENT))) != NULL) {
        uvzk__watch_leave(watcher);
        watcher->told_cb(watcher, UVZK__NEWS_YIELDED);
    }
}

bool uvzk__watch_join(struct uvzk__watcher *watcher, const char *path,
                      enum uvzk__watch_kind kind)
{
    struct uvzk__session *session = watcher->session;
    uint32_t hash = uvzk__path_hash(path);

    if (kind != UVZK__WATCH_PERSISTENT) {
        make_way(session, path, hash);
    } else if (watch_find(session, path, hash, ANY_KIND) != NULL) {
        return false;
    }
    if (watch_find(session, path, hash, UVZK__BIT(kind)) == NULL &&
        !watch_budget_take(session, path)) {
        return false;
    }
    watcher->path = path;
    watcher->hash = hash;
    watcher->kind = (uint8_t)kind;
    watch_enter(&session->watchers, watcher);
    uvzk__move(watcher->session, &uvzk__watcher_machine, watcher, UVZK__WATCHER_ARMING);
    return true;
}

bool uvzk__watch_join_with(struct uvzk__watcher *watcher, struct uvzk__rpc *rpc)
{
    enum uvzk__watch_kind kind =
        rpc->kind == UVZK__RPC_CHILDREN ? UVZK__WATCH_OF_CHILDREN : UVZK__WATCH_OF_DATA;

    if (!uvzk__watch_join(watcher, rpc->path, kind)) {
        return false;
    }
    rpc->watch = &watcher->watch;
    return true;
}

void uvzk__watch_answered(struct uvzk__watcher *watcher, bool armed)
{
    if (watcher->state == UVZK__WATCHER_ARMING && armed) {
        uvzk__move(watcher->session, &uvzk__watcher_machine, watcher,
                   UVZK__WATCHER_ARMED);
        if (watcher->renewed) {
            uvzk__watch_renewal_schedule(watcher->session, renewal_of(watcher));
        }
    } else if (watcher->state == UVZK__WATCHER_ARMING) {
        watch_gone(watcher);
    }
}

static void watch_fired(struct uvzk__watch *watch, enum uvzk__watch_event event)
{
    struct uvzk__watcher *watcher =
        UVZK__CONTAINER_OF(watch, struct uvzk__watcher, watch);

    watch_gone(watcher);
    watcher->told_cb(watcher, (enum uvzk__watch_news)event);
}

static void renewal_due(struct uvzk__timer *timer)
{
    struct uvzk__watcher *watcher =
        &UVZK__CONTAINER_OF(timer, struct uvzk__renewed_watcher, renewal)->watcher;

    uvzk__watch_leave(watcher);
    watcher->told_cb(watcher, UVZK__NEWS_RENEWAL);
}

void uvzk__watcher_init(struct uvzk__watcher *watcher, struct uvzk__session *session,
                        void (*told_cb)(struct uvzk__watcher *, enum uvzk__watch_news))
{
    watcher->session = session;
    watcher->watch.watch_cb = watch_fired;
    watcher->told_cb = told_cb;
    watcher->renewed = false;
}

void uvzk__renewed_watcher_init(struct uvzk__renewed_watcher *renewed,
                                struct uvzk__session *session,
                                void (*told_cb)(struct uvzk__watcher *,
                                                enum uvzk__watch_news))
{
    uvzk__watcher_init(&renewed->watcher, session, told_cb);
    renewed->watcher.renewed = true;
    renewed->renewal.due = renewal_due;
}

void uvzk__watches_lost(struct uvzk__session *session)
{
    struct uvzk__watchers *watchers = &session->watchers;
    struct uvzk__watcher *watcher;

    for (uint32_t i = 0; i < (watchers->heads == NULL ? 1 : watchers->head_count); i++) {
        while ((watcher = *head_at(watchers, i)) != NULL) {
            uvzk__watch_leave(watcher);
            watcher->told_cb(watcher, UVZK__NEWS_LOST);
        }
    }
}
