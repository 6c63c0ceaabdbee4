/* SPDX-License-Identifier: Apache-2.0 */
/* The children of one znode (watched_children.h): what the requests of a reading are, and
 * what its listeners are told. */
#include "engine/watched_children.h"

#include "base/memory.h"
#include "engine/session.h"

static struct uvzk__watched_children *watched_of(struct uvzk__reading *reading)
{
    return UVZK__CONTAINER_OF(reading, struct uvzk__watched_children, reading);
}

static struct uvzk__children_listener *listener_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__children_listener, link);
}

/* ------------------------------------------------------------------- what is told */

/* Returns 0 or UV_ENOMEM. */
static int tell_names(struct uvzk__watched_children *watched, const char *const *names,
                      size_t count)
{
    int status = 0;

    for (struct uvzk__link *link = watched->listeners.next; link != &watched->listeners;
         link = link->next) {
        int taken = listener_at(link)->listed_cb(listener_at(link), names, count);
        status = taken != 0 ? taken : status;
    }
    return status;
}

static void tell_refusal(struct uvzk__watched_children *watched, int status)
{
    for (struct uvzk__link *link = watched->listeners.next; link != &watched->listeners;
         link = link->next) {
        listener_at(link)->refused_cb(listener_at(link), status);
    }
}

/* ---------------------------------------------------------------------- requests */

/* For how long all of the listeners accept an old listing, in ms. */
static uint32_t least_rest(const struct uvzk__watched_children *watched)
{
    uint32_t least = UINT32_MAX;

    for (struct uvzk__link *link = watched->listeners.next; link != &watched->listeners;
         link = link->next) {
        uint32_t rest_ms = listener_at(link)->rest_ms;
        least = rest_ms < least ? rest_ms : least;
    }
    return least;
}

static bool watched_children_list(struct uvzk__reading *reading)
{
    uvzk__watch_leave(&reading->renewed.watcher);
    return uvzk__reading_ask(reading, UVZK__RPC_CHILDREN, reading->path, true);
}

static void watched_children_listed(struct uvzk__reading *reading,
                                    const struct uvzk__reply *reply)
{
    bool missing = reply->status == UVZK_ENONODE;

    uvzk__growing_pause_reset(&reading->pause);
    if (tell_names(watched_of(reading), missing ? NULL : reply->names,
                   missing ? 0 : reply->name_count) != 0) {
        uvzk__reading_repeat_soon(reading);
    } else if (missing) {
        (void)uvzk__reading_ask(reading, UVZK__RPC_EXISTS, reading->path, true);
    } else if (least_rest(watched_of(reading)) > 0) {
        uvzk__reading_rest(reading, least_rest(watched_of(reading)));
    }
}

static void watched_children_shown(struct uvzk__reading *reading,
                                   const struct uvzk__reply *reply)
{
    if (reading->rpc.kind == UVZK__RPC_CHILDREN) {
        watched_children_listed(reading, reply);
    } else if (reply->status == 0) {
        /* Created since the listing. The exists has armed the watch on the path, which the
         * next listing removes. */
        uvzk__reading_want(reading);
    }
}

static void watched_children_failed(struct uvzk__reading *reading, int status)
{
    if (uvzk__reading_repeat(reading, status)) {
        tell_refusal(watched_of(reading), status);
    }
}

static void free_memory(struct uvzk__reading *reading)
{
    uvzk__free(watched_of(reading));
}

static struct uvzk__reading **watched_children_table(const struct uvzk__session *session)
{
    return (struct uvzk__reading **)(uintptr_t)&session->watched_children;
}

static const struct uvzk__reading_kind kind = {
    .table = watched_children_table,
    .begin = watched_children_list,
    .shown = watched_children_shown,
    .failed = watched_children_failed,
    .free_memory = free_memory,
};

/* ------------------------------------------------------------- making, listening */

static struct uvzk__watched_children *watched_children_make(struct uvzk__session *session,
                                                            const char *path)
{
    struct uvzk__watched_children *watched = uvzk__calloc(1, sizeof(*watched));

    if (watched == NULL) {
        return NULL;
    }
    uvzk__list_init(&watched->listeners);
    if (!uvzk__reading_init(&watched->reading, session, &kind, path)) {
        uvzk__free(watched);
        return NULL;
    }
    return watched;
}

int uvzk__children_listener_begin(struct uvzk__session *session,
                                  struct uvzk__children_listener *listener,
                                  const char *path, uint32_t rest_ms)
{
    struct uvzk__reading *reading = uvzk__reading_find(session, &kind, path);
    struct uvzk__watched_children *watched =
        reading == NULL ? watched_children_make(session, path) : watched_of(reading);

    if (watched == NULL) {
        return UV_ENOMEM;
    }
    listener->watched = watched;
    listener->rest_ms = rest_ms;
    uvzk__list_init(&listener->link);
    uvzk__list_append(&watched->listeners, &listener->link);
    return 0;
}

void uvzk__children_listener_list(struct uvzk__children_listener *listener)
{
    uvzk__reading_want(&listener->watched->reading); /* it has not heard the names yet */
    uvzk__reading_pump(&listener->watched->reading);
}

void uvzk__children_listener_end(struct uvzk__children_listener *listener)
{
    struct uvzk__watched_children *watched = listener->watched;

    listener->watched = NULL;
    uvzk__list_remove(&listener->link);
    if (uvzk__list_empty(&watched->listeners)) {
        uvzk__reading_end(&watched->reading);
    }
}

/* ------------------------------------------------------------- all of a session */

void uvzk__watched_children_resume(struct uvzk__session *session)
{
    uvzk__readings_resume(session, &kind);
}

void uvzk__watched_children_free(struct uvzk__session *session)
{
    while (session->watched_children != NULL) {
        struct uvzk__watched_children *watched = watched_of(session->watched_children);
        struct uvzk__children_listener *listener = listener_at(watched->listeners.next);

        /* The last one ends it, which removes it from the table. */
        uvzk__children_listener_end(listener);
        listener->client_gone_cb(listener);
    }
}
