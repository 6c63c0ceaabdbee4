/* SPDX-License-Identifier: Apache-2.0 */
/* A driver lock (Curator's LockInternals with a LockInternalsDriver): the caller's driver
 * defines the znodes and their order. First the directory: settle.c settles it, and listing.c
 * passes each listing to driver_directory_listed(). driver_claim.c keeps what the drivers
 * have decided. Then the lock: its checks, its claims' contenders, and which participants
 * hold.
 *
 * The directory uses Curator's plain algorithm, each contender for itself,
 * because only the driver knows which contender waits for which. driver_claim.h draws
 * what the drivers decide.
 *
 * A contender is granted only if its znode has just been shown to exist: by a listing
 * after the last event, by a proof that names it, or, with a fixed name, by the reply to
 * its create. A holder is then checked by the proofs, with two exceptions. A proof's
 * check cannot tell one znode of a fixed name from the next one, and a persistent hold
 * needs no proof. Such contenders have a node watch on their own znode instead.
 *
 * The end of a session changes nothing for a contender with a persistent znode: its znode
 * still exists. In the next session, uvzk searches for a znode whose create was lost, and
 * deletes a znode that it still has to delete.
 *
 * A listing is sent while any contender is UNDECIDED. When it arrives, each undecided
 * contender's driver decides by it. This file never compares sequence numbers to decide
 * who is next, and keeps no view of foreign nodes: each listing is used once. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/refusal.h"
#include "claim/acquisition.h"
#include "claim/claim.h"
#include "claim/lock.h"
#include "directory/contender.h"
#include "directory/contender_request.h"
#include "directory/divergence.h"
#include "directory/foreign_nodes.h"
#include "directory/parents.h"
#include "directory/queue.h"
#include "directory/settle/in_order.h"
#include "directory/settle/listing.h"
#include "engine/inflight.h"
#include "engine/log.h"
#include "engine/submission.h"
#include "engine/turn.h"
#include "locks/driver_claim.h"
#include "locks/fixed_name.h"
#include "locks/lock_driver.h"
#include "locks/mutex.h"
#include "locks/node_watch.h"
#include "proof/prover.h"
#include "proof/validity.h"

static bool driver_directory_stands(const struct uvzk__contender *contender)
{
    return contender->node.state == UVZK__NODE_STANDING;
}

/* ------------------------------------------------------------------------- creating */

static void driver_directory_created(struct uvzk__rpc *rpc,
                                     const struct uvzk__reply *reply)
{
    struct uvzk__contender *contender = uvzk__inflight_requester(rpc);
    int status = reply->status;

    uvzk__inflight_done(uvzk__session_of(contender), rpc, status, true);
    if (contender->persistent && status == UVZK_EEXPIRED) {
        /* A znode that the create has made outlives the session: it is searched for. */
        status = UVZK_ECONNLOSS;
    }
    uvzk__contender_create_answered(contender, status, reply->name, reply->stat.czxid);
}

static void driver_directory_create(struct uvzk__contender *contender)
{
    struct uvzk__rpc *rpc =
        uvzk__inflight_new(uvzk__session_of(contender), contender, UVZK__RPC_CREATE,
                           contender->path, driver_directory_created);

    if (rpc == NULL) {
        return;
    }
    rpc->mode =
        contender->persistent ? UVZK__PERSISTENT_SEQUENTIAL : UVZK__EPHEMERAL_SEQUENTIAL;
    rpc->acl = uvzk__contender_acl(contender, uvzk__inflight_acl(rpc));
    uvzk__contender_data(contender, &rpc->data, &rpc->data_length);
    uvzk__submit(uvzk__session_of(contender), rpc);
    uvzk__contender_create_sent(contender);
    uvzk__driver_claim_set_undecided(contender);
}

static const struct uvzk__contender_kind driver_contender = {.create =
                                                                 driver_directory_create};
static const struct uvzk__contender_kind fixed_contender = {
    .name_prefix = "", /* fixed_name.c writes the whole name, and creates the znode */
    .fixed_name = true,
    .create = uvzk__contender_create_settled,
};

/* ------------------------------------------------------------------------- listings */

static bool is_undecided(const struct uvzk__contender *contender)
{
    return driver_directory_stands(contender) &&
           uvzk__driver_claim_of(contender)->decision == UVZK__DRIVER_UNDECIDED;
}

/* Lets the contender's driver decide. A listing that does not show the contender's znode
 * means that another client has deleted it. The contender may have been freed when this
 * returns. */
static void driver_directory_decide(struct uvzk__contender *contender,
                                    const struct uvzk__sorted_children *children)
{
    size_t own = uvzk__sorted_children_find(children, uvzk__path_name(contender->path)),
           watch;

    if (own == SIZE_MAX) {
        uvzk__contender_missing(contender);
        return;
    }
    switch (uvzk__sorted_children_decide(children, own, &watch)) {
    case UVZK__DRIVER_GETS_LOCK:
        uvzk__driver_claim_set_gets_lock(contender);
        break;
    case UVZK__DRIVER_WAITS:
        uvzk__driver_claim_set_waits(contender, children->names[watch], own);
        break;
    case UVZK__DRIVER_UNDECIDED:
        uvzk__log(uvzk__session_of(contender), UVZK_LOG_ERROR, "driver",
                  "the driver has named no child that %s can wait for", contender->path);
        uvzk__contender_end(contender, UV_EINVAL);
        break;
    }
}

/* Replies and events arrive in the order in which things happened. So the listing is
 * newer than every event and every create's reply that made a contender UNDECIDED before
 * it arrived, even if the listing was sent before that. The children are sorted once for
 * successive waiters that have the same driver. */
static int decide_waiters(struct uvzk__queue *queue, const struct uvzk__reply *reply)
{
    struct uvzk__sorted_children children = {0};
    int status = 0;

    for (struct uvzk__contender *contender = uvzk__first_in(&queue->waiters), *next;
         status == 0 && contender != NULL; contender = next) {
        struct uvzk__driver_claim *driver_claim = uvzk__driver_claim_of(contender);
        next = uvzk__next_in(&queue->waiters, contender);
        if (!is_undecided(contender)) {
            continue;
        }
        if (children.driver != &driver_claim->driver->settings) {
            uvzk__sorted_children_free(&children);
            status =
                uvzk__sorted_children_sort(&children, &driver_claim->driver->settings,
                                           reply->names, reply->name_count);
            uvzk__foreign_children(queue, children.ignored);
        }
        if (status == 0) {
            driver_directory_decide(contender, &children);
        }
    }
    uvzk__sorted_children_free(&children);
    return status;
}

/* Returns true if a listing must show whether the znode exists. A fixed name is read
 * instead. */
static bool searched_for(const struct uvzk__contender *contender)
{
    return contender->node.state == UVZK__NODE_UNKNOWN && !contender->kind->fixed_name;
}

/* Returns true if this name is the contender's. While the sequence number is not known,
 * the contender's path ends before it, so the path's last part is a prefix of the
 * name. */
static bool driver_directory_found(struct uvzk__contender *contender, const char *name)
{
    const char *prefix = uvzk__path_name(contender->path);
    struct uvzk__node_name parsed;

    if (strncmp(name, prefix, strlen(prefix)) != 0) {
        return false;
    }
    uvzk__node_name_parse(&parsed, name, uvzk__contender_name_prefix(contender));
    if (parsed.is_contender) {
        uvzk__contender_found(contender, parsed.sequence);
    }
    return parsed.is_contender;
}

/* Tells the UNKNOWN contenders whether the listing shows their znodes. The listing proves
 * that a znode does not exist only if the create was submitted before it. */
static void resolve_unknown(struct uvzk__queue *queue, const struct uvzk__reply *reply)
{
    for (struct uvzk__contender *contender = uvzk__first_in(&queue->unplaced), *next;
         contender != NULL; contender = next) {
        bool is_there = false;
        next = uvzk__next_in(&queue->unplaced, contender);
        if (!searched_for(contender)) {
            continue;
        }
        for (size_t i = 0; i < reply->name_count && !is_there; i++) {
            is_there = driver_directory_found(contender, reply->names[i]);
        }
        if (!is_there && contender->create_stamp < queue->freshness.listing_stamp) {
            uvzk__contender_absent(contender);
        }
    }
}

/* Ends the contenders that wait for a listing. Those that WAIT have a node watch, which
 * reports what happens. */
static void end_undecided(struct uvzk__queue *queue, int status)
{
    for (struct uvzk__contender *contender = uvzk__first_in(&queue->waiters), *next;
         contender != NULL; contender = next) {
        next = uvzk__next_in(&queue->waiters, contender);
        if (is_undecided(contender)) {
            uvzk__contender_end(contender, status);
        }
    }
}

/* A contender has been blocked for a session timeout. Asks whether one child really
 * exists (divergence.h): of the children that look like contenders of uvzk, the one with
 * the lowest sequence number. The driver may order the children in another way. But a
 * znode that should not exist stays while the others go, so in the end it is the
 * oldest. */
static void check_oldest(struct uvzk__queue *queue, const struct uvzk__reply *reply)
{
    const char *oldest = NULL;

    for (size_t i = 0; queue->blocked_long && i < reply->name_count; i++) {
        const char *name = reply->names[i];
        if (uvzk__orphan_number(name) != NULL &&
            (oldest == NULL ||
             strcmp(uvzk__orphan_number(name), uvzk__orphan_number(oldest)) < 0)) {
            oldest = name;
        }
    }
    if (oldest != NULL && !uvzk__driver_node_is_ours(queue, oldest)) {
        uvzk__divergence_ask(queue, oldest);
    }
    uvzk__queue_set_blocked_long(queue, false);
}

/* UVZK_ENONODE, although a contender has a znode in the directory: another client has
 * deleted the directory with all znodes, or the session has ended. The undecided
 * contenders end with UVZK_EDELETED, which also deletes their znodes in case they
 * exist. */
static void driver_directory_listed(struct uvzk__queue *queue,
                                    const struct uvzk__reply *reply)
{
    int status = reply->status;

    uvzk__queue_settle_later(queue);
    if (status == 0 || status == UVZK_ENONODE) {
        uvzk__freshness_listing_answered(queue);
        resolve_unknown(queue, reply);
    }
    if (status == 0) {
        check_oldest(queue, reply);
        status = decide_waiters(queue, reply);
    }
    if (status == UVZK_ENONODE) {
        uvzk__queue_set_blocked_long(queue, false); /* nothing is in the way */
        end_undecided(queue, UVZK_EDELETED);
    } else if (status != 0 && !uvzk__queue_is_transient(queue, status)) {
        end_undecided(queue, status);
        uvzk__end_unplaced(queue, UVZK__NODE_UNKNOWN, status);
        uvzk__queue_set_blocked_long(queue, false);
        uvzk__queue_back_off(queue);
        uvzk__unsearchable(queue); /* creates of unknown outcome must be searched for */
    }
}

static bool driver_directory_any(const struct uvzk__ring *ring,
                                 bool (*which)(const struct uvzk__contender *))
{
    const struct uvzk__contender *each = uvzk__first_in(ring);

    while (each != NULL && !which(each)) {
        each = uvzk__next_in(ring, each);
    }
    return each != NULL;
}

/* Parents come first: without the directory, a listing shows nothing. */
static void send_request(struct uvzk__queue *queue)
{
    if (!uvzk__queue_may_ask(queue)) {
        return;
    }
    if (uvzk__queue_has_unplaced(queue, UVZK__NODE_PARENTS)) {
        uvzk__parents_make(queue);
    } else if ((driver_directory_any(&queue->unplaced, searched_for) &&
                uvzk__unsearchable_may(queue)) ||
               driver_directory_any(&queue->waiters, is_undecided) ||
               queue->blocked_long) {
        uvzk__listing_start(queue);
    }
}

/* ------------------------------------------------------------------------- granting */

/* The decision is GETS_LOCK. Two things are needed for the grant: a proved session,
 * except for a persistent znode, and that the contender's znode has just been shown to
 * exist. If only the second is missing, a contender with a fixed name requests a proof
 * that names its znode, and any other contender becomes UNDECIDED again, so that a
 * listing shows it. */
static void grant_if_shown(struct uvzk__contender *contender)
{
    struct uvzk__session *session = uvzk__session_of(contender);
    bool shown = uvzk__driver_claim_of(contender)->settle_count ==
                     session->directories->settle_count ||
                 uvzk__is_just_seen(contender);

    if (!contender->persistent && !uvzk__may_be_granted(session)) {
        uvzk__contender_request_proof(contender);
    } else if (shown) {
        uvzk__contender_grant(contender, false);
    } else if (contender->kind->fixed_name) {
        uvzk__prover_request(session, &contender->proof_subject);
    } else {
        uvzk__prover_cancel(&contender->proof_subject);
        uvzk__driver_claim_set_undecided(contender);
    }
}

/* Sets the node watch on the contender's own znode for those contenders that no proof
 * checks reliably: with a fixed name, or with a persistent znode. */
static void watch_own_nodes(const struct uvzk__ring *ring)
{
    for (struct uvzk__contender *contender = uvzk__first_in(ring); contender != NULL;
         contender = uvzk__next_in(ring, contender)) {
        struct uvzk__driver_claim *driver_claim = uvzk__driver_claim_of(contender);
        if (driver_directory_stands(contender) &&
            driver_claim->decision == UVZK__DRIVER_GETS_LOCK &&
            driver_claim->node_watch == NULL &&
            (contender->kind->fixed_name || contender->persistent) &&
            !uvzk__node_watch_join(driver_claim, uvzk__path_name(contender->path))) {
            uvzk__queue_back_off(contender->queue);
        }
    }
}

static void grant_waiters(struct uvzk__queue *queue)
{
    for (struct uvzk__contender *contender = uvzk__first_in(&queue->waiters), *next;
         contender != NULL; contender = next) {
        next = uvzk__next_in(&queue->waiters, contender);
        if (driver_directory_stands(contender) &&
            uvzk__driver_claim_of(contender)->decision == UVZK__DRIVER_GETS_LOCK) {
            grant_if_shown(contender);
        }
    }
}

/* The watches on own znodes are joined first, so that uvzk__node_watches_arm sends their
 * requests in the same settling. */
static void driver_directory_settle(struct uvzk__queue *queue)
{
    uvzk__fixed_names_settle(queue);
    watch_own_nodes(&queue->waiters);
    watch_own_nodes(&queue->holders);
    uvzk__node_watches_arm(queue);
    grant_waiters(queue);
    send_request(queue);
}

static const struct uvzk__directory_kind driver_directory = {
    .extra_size = sizeof(struct uvzk__node_watch *),
    .orphan_kind = &uvzk__exclusive,
    .settle = driver_directory_settle,
    .in_use = uvzk__node_watches_any,
    .watches_lost = uvzk__node_watches_lost,
    .listed = driver_directory_listed,
};

/* ------------------------------------------------------------------------- the lock */

static struct uvzk__lock_driver *driver_of(const struct uvzk__lock *lock)
{
    return lock->extra;
}

/* Returns true for the path "/", which has participants and cannot be acquired. */
static bool is_of_root(const struct uvzk__lock *lock)
{
    const char *ns = uvzk__namespace_of(lock->session);

    return strcmp(lock->path->text, ns[0] == '\0' ? "/" : ns) == 0;
}

static int driver_lock_check(struct uvzk__lock *lock,
                             const uvzk_acquire_options_t *options)
{
    if (is_of_root(lock)) {
        return uvzk__refuse(UVZK_EPATH, "path: a lock at \"/\" cannot be acquired");
    }
    return uvzk__refuse_if(
        UV_EINVAL,
        options->leases > 1 ? "options.leases: only a semaphore has several"
        : options->revoke_cb != NULL
            ? "options.revoke_cb: the hold of a lock with a driver cannot be revoked"
            : NULL);
}

/* With sequential names only the driver knows which contender waits for which, so the
 * answer is no. With a fixed name, an acquire waits for any other local contender. */
static bool driver_lock_occupied(struct uvzk__lock *lock,
                                 const uvzk_acquire_options_t *options)
{
    const struct uvzk__lock_driver *driver = driver_of(lock);
    struct uvzk__queue *queue =
        uvzk__queue_find(lock->session, &driver_directory, lock->path->text);

    (void)options;
    return queue != NULL && uvzk__lock_driver_fixed(driver) &&
           uvzk__fixed_name_taken(queue, driver->name);
}

static int driver_lock_prepare(struct uvzk__lock *lock, struct uvzk__claim *claim,
                               const uvzk_acquire_options_t *options)
{
    struct uvzk__lock_driver *driver = driver_of(lock);
    struct uvzk__contender *contender;
    int status = uvzk__driver_claim_new(claim, driver);

    if (status == 0) {
        status = uvzk__claim_add_contender(
            claim, &driver_directory, lock->path,
            uvzk__lock_driver_fixed(driver) ? &fixed_contender : &driver_contender,
            driver->name, options, &contender);
    }
    return status;
}

static void driver_lock_freed(struct uvzk__lock *lock)
{
    uvzk__lock_driver_unref(driver_of(lock));
}

/* -------------------------------------------------------------------- participants */

static size_t driver_lock_directories(const struct uvzk__lock *lock,
                                      struct uvzk__participant_directory *directory)
{
    *directory =
        (struct uvzk__participant_directory){lock->path->text, &driver_directory};
    return 1;
}

/* The client whose znode has the fixed name holds. Waiting contenders have no znode, and
 * other children are not participants. */
static int classify_fixed(const char *name, struct uvzk__participant *participants,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        participants[i].holds = strcmp(uvzk__path_name(participants[i].path), name) == 0;
        participants[i].hidden = !participants[i].holds;
    }
    return 0;
}

static int by_path(const void *left, const void *right)
{
    const struct uvzk__participant *a = left, *b = right;

    return strcmp(a->path, b->path);
}

static int name_to_path(const void *name, const void *participant)
{
    return strcmp(name,
                  uvzk__path_name(((const struct uvzk__participant *)participant)->path));
}

/* Holders first, whatever their position in the driver's order. */
static int by_order(const void *left, const void *right)
{
    const struct uvzk__participant *a = left, *b = right;

    return a->holds != b->holds ? b->holds - a->holds
                                : uvzk__place_compare(a->place, b->place);
}

/* Asks the driver which children are contenders, in which order, and which of them hold.
 * Their indexes in that order replace the sequence numbers. Children that the driver
 * ignores are hidden. */
static void driver_lock_sort(const struct uvzk__sorted_children *children,
                             struct uvzk__participant *participants, size_t count)
{
    size_t watch;

    qsort(participants, count, sizeof(participants[0]), by_path);
    for (size_t i = 0; i < count; i++) {
        participants[i].hidden = true;
        participants[i].place.sequence = INT32_MAX;
    }
    for (size_t i = 0; i < children->count; i++) {
        struct uvzk__participant *participant =
            bsearch(children->names[i], participants, count, sizeof(participants[0]),
                    name_to_path);
        participant->hidden = false;
        participant->place.sequence = (int32_t)i;
        participant->holds =
            uvzk__sorted_children_decide(children, i, &watch) == UVZK__DRIVER_GETS_LOCK;
    }
    qsort(participants, count, sizeof(participants[0]), by_order);
}

static int driver_lock_classify(const struct uvzk__lock *lock,
                                struct uvzk__participant *participants, size_t count)
{
    const struct uvzk__lock_driver *driver = driver_of(lock);
    struct uvzk__sorted_children children;

    if (uvzk__lock_driver_fixed(driver)) {
        return classify_fixed(driver->name, participants, count);
    }
    const char **names = uvzk__calloc(count, sizeof(char *));
    if (names == NULL) {
        return UV_ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = uvzk__path_name(participants[i].path);
    }
    int status = uvzk__sorted_children_sort(&children, &driver->settings, names, count);
    if (status == 0) {
        driver_lock_sort(&children, participants, count);
    }
    uvzk__sorted_children_free(&children);
    uvzk__free(names);
    return status;
}

static const struct uvzk__lock_kind driver_lock = {
    .claim_kind = &uvzk__claim_of_driver,
    .check = driver_lock_check,
    .occupied = driver_lock_occupied,
    .prepare = driver_lock_prepare,
    .directories = driver_lock_directories,
    .classify = driver_lock_classify,
    .freed = driver_lock_freed,
};

static int check_init(const uvzk_client_t *client, const uvzk_lock_t *handle,
                      const char *path)
{
    return path != NULL && strcmp(path, "/") == 0
               ? uvzk__check_handle(client, "the lock", handle,
                                    handle == NULL ? NULL : handle->impl)
               : uvzk__lock_check(client, handle, path);
}

int uvzk_lock_init_with_driver(uvzk_client_t *client, uvzk_lock_t *handle,
                               const char *path, const uvzk_lock_driver_t *settings)
{
    struct uvzk__lock_driver *driver;
    struct uvzk__lock *lock;
    int status = check_init(client, handle, path);

    if (status == 0) {
        status = uvzk__lock_driver_check(settings);
    }
    if (status != 0) {
        return status;
    }
    driver = uvzk__lock_driver_new(settings);
    if (driver == NULL) {
        return UV_ENOMEM;
    }
    status = uvzk__lock_driver_own(driver, client->impl, path);
    lock = status != 0 ? NULL : uvzk__lock_new(client->impl, handle, path, &driver_lock);
    if (lock == NULL) {
        uvzk__lock_driver_unref(driver);
        return status != 0 ? status : UV_ENOMEM;
    }
    lock->extra = driver;
    uvzk__lock_set_persistent(lock, settings->mode == UVZK_NODE_PERSISTENT_SEQUENTIAL);
    return 0;
}
