/* The children of one znode (watched_children.h). Each reply, event and timer records what
 * has happened, and pump() sends the request that is due. */
#include "membership/watched_children.h"

#include <string.h>

#include "engine/invariant.h"
#include "engine/submission.h"
#include "engine/turn.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__WATCHED_CHILDREN_, IDLE, LISTING, LOOKING),
    UVZK__STATE(UVZK__WATCHED_CHILDREN_, LISTING, IDLE),
    UVZK__STATE(UVZK__WATCHED_CHILDREN_, LOOKING, IDLE),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__watched_children *watched = object;

    return watched->state == UVZK__WATCHED_CHILDREN_IDLE || watched->refs > 0;
}

const struct uvzk__machine uvzk__watched_children_machine =
    UVZK__MACHINE("watched children's request", table, struct uvzk__watched_children,
                  state, invariant_holds);

static struct uvzk__children_listener *listener_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__children_listener, link);
}

/* ------------------------------------------------------------------- what is told */

static void list_after(struct uvzk__watched_children *watched, uint64_t ms)
{
    watched->list_again = true;
    uvzk__growing_pause_begin_once(watched->session, &watched->pause, ms);
}

static void tell_names(struct uvzk__watched_children *watched, const char *const *names,
                       size_t count)
{
    int status = 0;

    uvzk__growing_pause_reset(&watched->pause);
    for (struct uvzk__link *link = watched->listeners.next; link != &watched->listeners;
         link = link->next) {
        int taken = listener_at(link)->listed_cb(listener_at(link), names, count);
        status = taken != 0 ? taken : status;
    }
    if (status != 0) {
        list_after(watched, UVZK__SHORT_PAUSE_MS);
    }
}

static void tell_refusal(struct uvzk__watched_children *watched, int status)
{
    for (struct uvzk__link *link = watched->listeners.next; link != &watched->listeners;
         link = link->next) {
        listener_at(link)->refused_cb(listener_at(link), status);
    }
}

static void no_answer(struct uvzk__watched_children *watched, int status)
{
    watched->list_again = true;
    if (uvzk__growing_pause_begin_after(watched->session, &watched->pause, status)) {
        tell_refusal(watched, status);
    }
}

/* ---------------------------------------------------------------------- requests */

static void pump(struct uvzk__watched_children *watched);

static void free_memory(struct uvzk__watched_children *watched)
{
    uvzk__free(watched->path);
    uvzk__free(watched);
}

static void free_if_over(struct uvzk__watched_children *watched)
{
    if (watched->ended && watched->refs == 0) {
        free_memory(watched);
    }
}

/* Called first for every reply. armed: the request has set the watch. Returns NULL if
 * there are no listeners left; it may be freed then. */
static struct uvzk__watched_children *reply_begins(struct uvzk__rpc *rpc, int status,
                                                   bool armed)
{
    struct uvzk__watched_children *watched =
        UVZK__CONTAINER_OF(rpc, struct uvzk__watched_children, rpc);

    uvzk__answered(watched->session, rpc, status, false);
    uvzk__move(watched->session, &uvzk__watched_children_machine, watched,
               UVZK__WATCHED_CHILDREN_IDLE);
    watched->refs--;
    if (watched->ended) {
        free_if_over(watched);
        return NULL;
    }
    uvzk__watch_answered(&watched->renewed.watcher, armed);
    return watched;
}

/* Sends the request with the watch. Without room it is not sent, because nothing would
 * report the next change. */
static bool submit(struct uvzk__watched_children *watched,
                   enum uvzk__watched_children_state state)
{
    if (!uvzk__watch_join_with(&watched->renewed.watcher, &watched->rpc)) {
        list_after(watched, UVZK__NO_ROOM_PAUSE_MS);
        tell_refusal(watched, UVZK_ELIMIT);
        return false;
    }
    watched->refs++; /* reply_begins() removes this reference */
    uvzk__move(watched->session, &uvzk__watched_children_machine, watched, state);
    uvzk__submit(watched->session, &watched->rpc);
    return true;
}

static void looked(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    bool missing = reply->status == UVZK_ENONODE;
    /* The watch is armed on a path that exists too. The next listing removes it. */
    struct uvzk__watched_children *watched =
        reply_begins(rpc, reply->status, missing || reply->status == 0);

    if (watched == NULL) {
        return;
    }
    if (reply->status == 0) {
        watched->list_again = true; /* created since the listing */
    } else if (!missing) {
        no_answer(watched, reply->status);
    }
    pump(watched);
}

/* The path does not exist. An exists sets a watch on it all the same. */
static void look(struct uvzk__watched_children *watched)
{
    if (!uvzk__may_send(watched->session)) {
        watched->list_again = true;
        return;
    }
    uvzk__rpc_prepare(&watched->rpc, UVZK__RPC_EXISTS, watched->path, looked);
    (void)submit(watched, UVZK__WATCHED_CHILDREN_LOOKING);
}

static void listed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__watched_children *watched =
        reply_begins(rpc, reply->status, reply->status == 0);

    if (watched == NULL) {
        return;
    }
    if (reply->status == 0) {
        tell_names(watched, reply->names, reply->name_count);
    } else if (reply->status == UVZK_ENONODE) {
        tell_names(watched, NULL, 0);
        look(watched);
    } else {
        no_answer(watched, reply->status);
    }
    pump(watched);
}

static bool is_due(const struct uvzk__watched_children *watched)
{
    return watched->list_again || !uvzk__watcher_is_set(&watched->renewed.watcher) ||
           !uvzk__is_of_this_connection(watched->session, watched->list_stamp);
}

static void pump(struct uvzk__watched_children *watched)
{
    if (watched->state != UVZK__WATCHED_CHILDREN_IDLE ||
        uvzk__growing_pause_runs(&watched->pause) ||
        uvzk__session_is_closing(watched->session) || !uvzk__may_send(watched->session) ||
        !is_due(watched)) {
        return;
    }
    uvzk__watch_leave(&watched->renewed.watcher);
    uvzk__rpc_prepare(&watched->rpc, UVZK__RPC_CHILDREN, watched->path, listed);
    if (submit(watched, UVZK__WATCHED_CHILDREN_LISTING)) {
        watched->list_again = false;
        watched->list_stamp = uvzk__stamp(watched->session);
    }
}

/* ------------------------------------------------------------- making, listening */

static void resume(struct uvzk__watched_children *watched)
{
    uvzk__growing_pause_end(watched->session, &watched->pause);
    pump(watched);
}

static void pause_over(struct uvzk__timer *timer)
{
    resume(UVZK__CONTAINER_OF(timer, struct uvzk__watched_children, pause.timer));
}

/* Any news makes a listing due. After a loss nothing may be sent yet. */
static void told(struct uvzk__watcher *watcher, enum uvzk__watch_news news)
{
    if (news != UVZK__NEWS_LOST) {
        pump(UVZK__CONTAINER_OF(watcher, struct uvzk__watched_children, renewed.watcher));
    }
}

static struct uvzk__watched_children *find(const struct uvzk__session *session,
                                           const char *path)
{
    struct uvzk__watched_children *watched;

    HASH_FIND_STR(*uvzk__watched_children(session), path, watched);
    return watched;
}

static struct uvzk__watched_children *make(struct uvzk__session *session,
                                           const char *path)
{
    struct uvzk__watched_children *watched = uvzk__calloc(1, sizeof(*watched));

    if (watched == NULL) {
        return NULL;
    }
    watched->session = session;
    watched->pause.timer.due = pause_over;
    uvzk__renewed_watcher_init(&watched->renewed, session, told);
    uvzk__list_init(&watched->listeners);
    watched->path = uvzk__strdup(path);
    if (watched->path != NULL) {
        HASH_ADD_KEYPTR(hh, *uvzk__watched_children(session), watched->path, strlen(path),
                        watched);
    }
    /* An allocation failed, possibly that of the hash table. */
    if (watched->hh.tbl == NULL) {
        free_memory(watched);
        return NULL;
    }
    return watched;
}

int uvzk__children_listener_begin(struct uvzk__session *session,
                                  struct uvzk__children_listener *listener,
                                  const char *path)
{
    struct uvzk__watched_children *watched = find(session, path);

    if (watched == NULL) {
        watched = make(session, path);
    }
    if (watched == NULL) {
        return UV_ENOMEM;
    }
    listener->watched = watched;
    uvzk__list_init(&listener->link);
    uvzk__list_append(&watched->listeners, &listener->link);
    return 0;
}

void uvzk__children_listener_list(struct uvzk__children_listener *listener)
{
    listener->watched->list_again = true; /* it has not heard the names yet */
    pump(listener->watched);
}

static void end_unused(struct uvzk__watched_children *watched)
{
    if (uvzk__list_empty(&watched->listeners)) {
        HASH_DEL(*uvzk__watched_children(watched->session), watched);
        uvzk__growing_pause_end(watched->session, &watched->pause);
        uvzk__watch_leave(&watched->renewed.watcher);
        watched->ended = true;
        free_if_over(watched);
    }
}

void uvzk__children_listener_end(struct uvzk__children_listener *listener)
{
    struct uvzk__watched_children *watched = listener->watched;

    listener->watched = NULL;
    uvzk__list_remove(&listener->link);
    end_unused(watched);
}

/* ------------------------------------------------------------- all of a session */

void uvzk__watched_children_resume(struct uvzk__session *session)
{
    struct uvzk__watched_children *watched, *next;

    HASH_ITER(hh, *uvzk__watched_children(session), watched, next)
    {
        resume(watched);
    }
}

void uvzk__watched_children_free(struct uvzk__session *session)
{
    while (*uvzk__watched_children(session) != NULL) {
        struct uvzk__children_listener *listener =
            listener_at((*uvzk__watched_children(session))->listeners.next);

        /* The last one ends it, which removes it from the table. */
        uvzk__children_listener_end(listener);
        listener->client_gone_cb(listener);
    }
}
