/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the watch on a contender's own znode (own_watch.h). in_order.c arms it for the
 * next in line, contender_request.c and claim/acquisition.c for revocable contenders.
 *
 * The idea: a get arms the watch and reads the node in one request, and its stamp is the
 * contender's read_stamp. While the watch is silent, the node is known to exist without
 * any further request. The memory is allocated with the request and freed when no watch
 * and no request is left; the contender is referenced while a request is in flight. */
#include "directory/own_watch.h"

#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/queue.h"
#include "engine/inflight.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "engine/watch.h"

struct uvzk__own_watch_data {
    struct uvzk__watcher watcher;
    struct uvzk__contender *contender;
    uint64_t sent_ms;  /* when the get that armed it was submitted, in ms */
    uint32_t requests; /* gets in flight that arm the watch and point to this memory */
    bool refused;      /* in UNWATCHED: the state is REFUSED */
};

enum uvzk__own_watch_state uvzk__own_watch_state(const struct uvzk__contender *contender)
{
    const struct uvzk__own_watch_data *data = contender->own_watch.data;

    if (data == NULL) {
        return UVZK__OWN_WATCH_NONE;
    }
    if (data->watcher.state != UVZK__WATCHER_UNWATCHED) {
        return data->watcher.state == UVZK__WATCHER_ARMED ? UVZK__OWN_WATCH_ARMED
                                                          : UVZK__OWN_WATCH_ARMING;
    }
    return data->refused ? UVZK__OWN_WATCH_REFUSED : UVZK__OWN_WATCH_NONE;
}

void uvzk__own_watch_free(struct uvzk__contender *contender)
{
    uvzk__free(contender->own_watch.data);
    contender->own_watch.data = NULL;
}

/* A get in flight still points to the watch, even after the watch has been given up. */
static void free_if_over(struct uvzk__contender *contender)
{
    if (contender->own_watch.data != NULL &&
        uvzk__own_watch_state(contender) == UVZK__OWN_WATCH_NONE &&
        contender->own_watch.data->requests == 0) {
        uvzk__own_watch_free(contender);
    }
}

static void clear_state(struct uvzk__contender *contender)
{
    struct uvzk__own_watch_data *data = contender->own_watch.data;

    uvzk__contender_cancel_watch_renewal(contender);
    if (data != NULL) {
        uvzk__watch_leave(&data->watcher);
        data->refused = false;
    }
}

static void own_watch_disarm(struct uvzk__contender *contender)
{
    clear_state(contender);
    free_if_over(contender);
}

static void own_watch_told(struct uvzk__watcher *watcher, enum uvzk__watch_news news)
{
    struct uvzk__contender *contender =
        UVZK__CONTAINER_OF(watcher, struct uvzk__own_watch_data, watcher)->contender;

    own_watch_disarm(contender);
    if (news == UVZK__NEWS_DELETED) {
        uvzk__contender_not_shown(contender); /* does nothing in DELETING */
    } else if (news != UVZK__NEWS_LOST) {
        uvzk__queue_settle_later(contender->queue);
        uvzk__contender_pump(contender); /* arms the watch of a revocable one again */
    }
}

/* The get has shown the node. Only a revocable contender renews its watch: the event of a
 * revocation may be lost. A waiter needs no renewal: if its watch is too old at the time
 * of the grant, the waiter is proved instead. */
static void own_watch_stands(struct uvzk__contender *contender,
                             const struct uvzk__reply *reply)
{
    uvzk__watch_answered(&contender->own_watch.data->watcher, true);
    /* Meanwhile another reading did not show the node, and the contender waits to create
     * a new one. */
    if (contender->node.state == UVZK__NODE_BACKING_OFF) {
        uvzk__own_watch_node_gone(contender);
        return;
    }
    if (contender->revocable) {
        (void)uvzk__contender_renew_watch_later(contender);
    }
    uvzk__user_of(contender)->own_node_read(contender, reply);
}

/* False: out of memory. The session then sends nothing for 100 ms, and afterwards every
 * contender asks again for what it needs. */
static bool need_data(struct uvzk__contender *contender)
{
    if (contender->own_watch.data == NULL) {
        contender->own_watch.data = uvzk__calloc(1, sizeof(*contender->own_watch.data));
    }
    if (contender->own_watch.data == NULL) {
        uvzk__back_off(uvzk__session_of(contender));
        return false;
    }
    contender->own_watch.data->contender = contender;
    uvzk__watcher_init(&contender->own_watch.data->watcher, uvzk__session_of(contender),
                       own_watch_told);
    return true;
}

/* There is no watch, for this reason. A contender that stays tries again about once a
 * session timeout. */
static void go_unwatched(struct uvzk__contender *contender, bool stays, int code)
{
    if (!stays) {
        uvzk__contender_end(contender, code);
    } else if (need_data(contender) && uvzk__contender_renew_watch_later(contender)) {
        contender->own_watch.data->refused = true;
    } else {
        free_if_over(contender);
    }
}

/* Returns true if the contender holds, and the user has been told. */
static bool is_told_to_hold(const struct uvzk__contender *contender)
{
    return uvzk__contender_holds(contender) &&
           uvzk__user_of(contender)->grant_notified(contender);
}

static void own_watch_armed(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__inflight_requester(rpc);
    struct uvzk__session *session = uvzk__session_of(contender);
    int status = reply->status;

    uvzk__inflight_done(session, rpc, status, false);
    contender->own_watch.data->requests--;
    if (contender->state != UVZK__CONTENDER_ENDED) {
        if (status == 0) {
            own_watch_stands(contender, reply);
        } else {
            clear_state(contender); /* keeps the memory: the state may become REFUSED */
        }
        if (status == UVZK_ENONODE) {
            uvzk__contender_not_shown(contender);
        } else if (status == UVZK_ENOAUTH) {
            /* A holder keeps its hold, although no revocation reaches it. */
            go_unwatched(contender, uvzk__contender_holds(contender), UVZK_ENOAUTH);
        }
        free_if_over(contender);
    }
    /* The calls above may have ended the contender. */
    if (contender->state != UVZK__CONTENDER_ENDED) {
        uvzk__queue_settle_later(contender->queue);
        uvzk__contender_pump(contender);
    }
    uvzk__contender_unref(contender);
}

bool uvzk__own_watch_is_arming(const struct uvzk__contender *contender)
{
    const struct uvzk__own_watch_data *data = contender->own_watch.data;

    return data != NULL && data->watcher.state == UVZK__WATCHER_ARMING;
}

bool uvzk__own_watch_is_armed(const struct uvzk__contender *contender)
{
    return uvzk__own_watch_state(contender) == UVZK__OWN_WATCH_ARMED;
}

bool uvzk__own_watch_is_allowed(const struct uvzk__contender *contender)
{
    return contender->revocable ||
           uvzk__watch_budget_is_ample(uvzk__session_of(contender));
}

bool uvzk__own_watch_shows_node(const struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);

    /* After a disconnection, the events of what happened meanwhile may arrive late. */
    return uvzk__is_of_this_connection(session, contender->read_stamp) &&
           uvzk__now(session) - contender->own_watch.data->sent_ms <
               session->connection.timeout_ms;
}

void uvzk__own_watch_arm(struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);
    struct uvzk__rpc *rpc;

    if (uvzk__own_watch_state(contender) != UVZK__OWN_WATCH_NONE ||
        !uvzk__may_send(session) || contender->node.state != UVZK__NODE_STANDING ||
        !uvzk__own_watch_is_allowed(contender)) {
        return;
    }
    if (!need_data(contender)) {
        return;
    }
    if (!uvzk__watch_join(&contender->own_watch.data->watcher, contender->path,
                          UVZK__WATCH_OF_DATA)) {
        /* A hold of which the user has been told continues: other paths have used the
         * room since, and will free it. Any other contender is refused, because otherwise
         * it would not notice revocations. */
        go_unwatched(contender, is_told_to_hold(contender), UVZK_ELIMIT);
        return;
    }
    rpc = uvzk__inflight_new(session, contender, UVZK__RPC_GET, contender->path,
                             own_watch_armed);
    if (rpc == NULL) {
        uvzk__watch_leave(&contender->own_watch.data->watcher);
        free_if_over(contender);
        return;
    }
    uvzk__contender_ref(contender);
    contender->own_watch.data->requests++;
    rpc->watch = &contender->own_watch.data->watcher.watch;
    uvzk__submit(session, rpc);
    contender->own_watch.data->sent_ms = rpc->sent_ms;
    contender->read_stamp = session->submissions.stamp;
}

void uvzk__own_watch_end(struct uvzk__contender *contender)
{
    own_watch_disarm(contender);
}

void uvzk__own_watch_node_gone(struct uvzk__contender *contender)
{
    if (uvzk__own_watch_state(contender) != UVZK__OWN_WATCH_ARMING) {
        uvzk__own_watch_end(contender);
    }
}

void uvzk__own_watch_lost(struct uvzk__contender *contender)
{
    own_watch_disarm(contender);
}
