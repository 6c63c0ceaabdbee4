/* SPDX-License-Identifier: Apache-2.0 */
/* One member of a double barrier (member.h): its machine; the requests of its enter and of
 * its leave, and what their replies decide; how they are repeated; and its end. */
#include "barrier/member.h"

#include <stdlib.h>
#include <string.h>

#include "barrier/barriers.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/refusal.h"
#include "engine/submission.h"
#include "engine/znode_owner.h"

static const struct uvzk__state table[] = {
    UVZK__STATE(UVZK__MEMBER_, LISTING, CREATING, CLEARING, WITHDRAWING, GONE),
    UVZK__STATE(UVZK__MEMBER_, CLEARING, LISTING, CREATING, WITHDRAWING, GONE),
    UVZK__STATE(UVZK__MEMBER_, CREATING, CHECKING, LOOKING, WITHDRAWING, GONE),
    UVZK__STATE(UVZK__MEMBER_, CHECKING, CREATING, LOOKING, WITHDRAWING, GONE),
    UVZK__STATE(UVZK__MEMBER_, LOOKING, COUNTING, INSIDE, WITHDRAWING, GONE),
    UVZK__STATE(UVZK__MEMBER_, COUNTING, WAITING, OPENING, INSIDE, WITHDRAWING, GONE),
    UVZK__STATE(UVZK__MEMBER_, WAITING, COUNTING, INSIDE, WITHDRAWING, GONE),
    UVZK__STATE(UVZK__MEMBER_, OPENING, COUNTING, INSIDE, WITHDRAWING, GONE),
    UVZK__STATE(UVZK__MEMBER_, INSIDE, REMAINING, WITHDRAWING, GONE),
    UVZK__STATE(UVZK__MEMBER_, REMAINING, DELETING, OUTLASTING, TIDYING, WITHDRAWING,
                GONE),
    UVZK__STATE(UVZK__MEMBER_, DELETING, REMAINING, OUTLASTING, WITHDRAWING, GONE),
    UVZK__STATE(UVZK__MEMBER_, OUTLASTING, REMAINING, WITHDRAWING, GONE),
    UVZK__STATE(UVZK__MEMBER_, WITHDRAWING, TIDYING, GONE),
    UVZK__STATE(UVZK__MEMBER_, TIDYING, GONE),
    UVZK__FINAL(UVZK__MEMBER_, GONE),
};

static bool invariant_holds(const void *object)
{
    const struct uvzk__barrier_member *member = object;

    switch (member->state) {
    case UVZK__MEMBER_LISTING:
    case UVZK__MEMBER_CLEARING:
    case UVZK__MEMBER_CREATING:
    case UVZK__MEMBER_CHECKING:
        return !member->stands;
    case UVZK__MEMBER_LOOKING:
    case UVZK__MEMBER_COUNTING:
    case UVZK__MEMBER_WAITING:
    case UVZK__MEMBER_OPENING:
    case UVZK__MEMBER_INSIDE:
        return member->stands;
    case UVZK__MEMBER_OUTLASTING:
        return member->other_count > 0;
    case UVZK__MEMBER_TIDYING:
        return member->user == NULL && !member->stands;
    case UVZK__MEMBER_GONE:
        return member->user == NULL;
    default:
        return true;
    }
}

const struct uvzk__machine uvzk__barrier_member_machine =
    UVZK__MACHINE("member of a double barrier", table, struct uvzk__barrier_member, state,
                  invariant_holds);

static const char *own_name(const struct uvzk__barrier_member *member)
{
    return member->path + strlen(member->directory) + 1;
}

/* ----------------------------------------------- freeing, and what its user is told */

/* Frees the list of the other members. */
static void forget_others(struct uvzk__barrier_member *member)
{
    for (size_t i = 0; i < member->other_count; i++) {
        uvzk__free(member->others[i].name);
    }
    uvzk__free(member->others);
    member->others = NULL;
    member->other_count = 0;
}

static void free_memory(struct uvzk__barrier_member *member)
{
    forget_others(member);
    uvzk__free(member->directory);
    uvzk__free(member->path);
    uvzk__free(member->ready);
    uvzk__node_create_free(&member->create);
    uvzk__free(member);
}

void uvzk__barrier_member_free(struct uvzk__barrier_member *member)
{
    uvzk__znode_waiter_end(&member->waiter);
    (void)uvzk__znode_write_stop(&member->write);
    uvzk__list_remove(&member->of_session);
    free_memory(member);
}

static void free_if_over(struct uvzk__barrier_member *member)
{
    if (member->state == UVZK__MEMBER_GONE && !member->asking &&
        member->write.state == UVZK__ZNODE_WRITE_IDLE) {
        uvzk__barrier_member_free(member);
    }
}

/* Tells its user. final: it has no user from now on. */
static void member_tell(struct uvzk__barrier_member *member, int status, bool final)
{
    void *user = member->user;

    if (user != NULL) {
        member->told_cb(member, status);
    }
    if (final) {
        member->user = NULL;
    }
}

/* The member is finished: it is GONE, and freed when nothing is under way. */
static void member_finish(struct uvzk__barrier_member *member)
{
    uvzk__znode_waiter_end(&member->waiter);
    (void)uvzk__znode_write_stop(&member->write);
    uvzk__move(member->session, &uvzk__barrier_member_machine, member, UVZK__MEMBER_GONE);
    free_if_over(member);
}

/* Removes a `ready` that is left over without members, in the background. */
static void member_tidy(struct uvzk__barrier_member *member)
{
    if (!member->may_be_last || uvzk__session_is_closing(member->session)) {
        member_finish(member);
        return;
    }
    uvzk__move(member->session, &uvzk__barrier_member_machine, member,
               UVZK__MEMBER_TIDYING);
    /* Done only if `ready` has no sibling, because a znode with children is not deleted:
     * the server decides it, so the age of the last read does not matter. */
    uvzk__znode_write_delete(&member->write, member->ready, member->directory);
}

/* ------------------------------------------------------------------------ the enter */

/* Other children than `ready` are members, whatever their names are, as in Curator. */
struct counted {
    uint32_t members;
    bool ready, own;
};

static struct counted entry_count(const struct uvzk__barrier_member *member,
                                  const struct uvzk__reply *reply)
{
    const char *own = own_name(member);
    struct counted counted = {0};

    for (size_t i = 0; reply->status == 0 && i < reply->name_count; i++) {
        bool is_ready = strcmp(reply->names[i], UVZK__READY_NAME) == 0;
        counted.ready = counted.ready || is_ready;
        counted.members += !is_ready;
        counted.own = counted.own || strcmp(reply->names[i], own) == 0;
    }
    return counted;
}

static void come_inside(struct uvzk__barrier_member *member)
{
    /* A create of `ready` may still be under way; its reply finds the member inside. */
    (void)uvzk__znode_write_stop(&member->write);
    uvzk__znode_waiter_end(&member->waiter);
    member->may_be_last = true;
    uvzk__move(member->session, &uvzk__barrier_member_machine, member,
               UVZK__MEMBER_INSIDE);
    member_tell(member, 0, false);
}

static void entry_create(struct uvzk__barrier_member *member)
{
    uvzk__move(member->session, &uvzk__barrier_member_machine, member,
               UVZK__MEMBER_CREATING);
    uvzk__znode_write_create(&member->write, &member->create);
}

/* The znode exists: every reading from here on shows the tree with it. */
static void entry_stand(struct uvzk__barrier_member *member)
{
    member->stands = true;
    uvzk__move(member->session, &uvzk__barrier_member_machine, member,
               UVZK__MEMBER_LOOKING);
    uvzk__znode_waiter_look(&member->waiter);
}

static void count_again(struct uvzk__barrier_member *member)
{
    uvzk__move(member->session, &uvzk__barrier_member_machine, member,
               UVZK__MEMBER_COUNTING);
    uvzk__barrier_member_pump(member);
}

static void ready_told(struct uvzk__znode_waiter *waiter, int status)
{
    struct uvzk__barrier_member *member =
        UVZK__CONTAINER_OF(waiter, struct uvzk__barrier_member, waiter);

    switch (member->state) {
    case UVZK__MEMBER_LOOKING:
    case UVZK__MEMBER_COUNTING:
    case UVZK__MEMBER_WAITING:
    case UVZK__MEMBER_OPENING:
        break;
    default: /* `ready` before the create: it is read once more after the create */
        return;
    }
    if (status == 0) {
        come_inside(member);
    } else if (status != UVZK_ENONODE) {
        uvzk__barrier_member_withdraw(member, status);
    } else if (member->state == UVZK__MEMBER_LOOKING ||
               member->state == UVZK__MEMBER_WAITING) {
        count_again(member);
    }
}

/* Begins to watch `ready`. Returns 0 or UV_ENOMEM. */
static int entry_wait_for_ready(struct uvzk__barrier_member *member)
{
    member->waiter.told_cb = ready_told;
    return uvzk__znode_waiter_begin(member->session, &member->waiter, member->ready);
}

/* A `ready` is created only while its creator's own znode exists. So one without
 * members is left over: the members of its round have left, or their sessions have
 * ended. It is deleted together with P, which the server refuses if a member has come
 * meanwhile: then a `ready` may have become that member's. The create makes P again. */
static void entry_listed(struct uvzk__barrier_member *member,
                         const struct uvzk__reply *reply)
{
    struct counted counted = entry_count(member, reply);

    if (counted.ready && counted.members == 0) {
        uvzk__move(member->session, &uvzk__barrier_member_machine, member,
                   UVZK__MEMBER_CLEARING);
        uvzk__znode_write_delete(&member->write, member->ready, member->directory);
    } else {
        entry_create(member);
    }
}

static void entry_cleared(struct uvzk__barrier_member *member, int status)
{
    bool changed = status == UVZK_ENOTEMPTY || status == UVZK_ENONODE;

    if (status == 0) {
        entry_create(member);
    } else if (changed) {
        uvzk__move(member->session, &uvzk__barrier_member_machine, member,
                   UVZK__MEMBER_LISTING);
        uvzk__barrier_member_pump(member);
    } else if (member->write.second != NULL) {
        /* The ACL forbids deleting P. Then only `ready` is deleted, as by Curator's
         * leave. */
        uvzk__znode_write_delete(&member->write, member->ready, NULL);
    } else {
        uvzk__barrier_member_withdraw(member, status);
    }
}

/* No other client knows its name. So a znode of this name is this member's, created by a
 * request whose reply was lost, if it belongs to this session. */
static void entry_checked(struct uvzk__barrier_member *member,
                          const struct uvzk__reply *reply)
{
    if (reply->status == UVZK_ENONODE) {
        entry_create(member);
    } else if (reply->status == 0 &&
               reply->stat.ephemeral_owner == member->session->connection.session_id) {
        entry_stand(member);
    } else {
        uvzk__barrier_member_withdraw(member, reply->status == 0 ? UVZK_ENODEEXISTS
                                                                 : reply->status);
    }
}

static void counted_all(struct uvzk__barrier_member *member,
                        const struct uvzk__reply *reply)
{
    struct counted counted = entry_count(member, reply);

    if (!counted.own) {
        /* Another client has deleted it. */
        member->stands = false;
        uvzk__barrier_member_withdraw(member, UVZK_ENONODE);
    } else if (counted.ready) {
        come_inside(member);
    } else if (counted.members >= member->quantity) {
        member->may_be_last = true;
        uvzk__move(member->session, &uvzk__barrier_member_machine, member,
                   UVZK__MEMBER_OPENING);
        uvzk__znode_write_create(&member->write, &member->create_ready);
    } else {
        uvzk__move(member->session, &uvzk__barrier_member_machine, member,
                   UVZK__MEMBER_WAITING);
    }
}

/* The request of LISTING, COUNTING or CHECKING has been answered. */
static void entry_answered(struct uvzk__barrier_member *member,
                           const struct uvzk__reply *reply)
{
    if (member->state == UVZK__MEMBER_CHECKING) {
        entry_checked(member, reply);
    } else if (reply->status != 0 && reply->status != UVZK_ENONODE) {
        uvzk__barrier_member_withdraw(member, reply->status);
    } else if (member->state == UVZK__MEMBER_LISTING) {
        entry_listed(member, reply);
    } else {
        counted_all(member, reply);
    }
}

static void entry_created(struct uvzk__barrier_member *member, int status)
{
    if (status == 0) {
        entry_stand(member);
    } else if (status == UVZK_ENODEEXISTS) {
        uvzk__move(member->session, &uvzk__barrier_member_machine, member,
                   UVZK__MEMBER_CHECKING);
        uvzk__barrier_member_pump(member);
    } else {
        uvzk__barrier_member_withdraw(member, status);
    }
}

/* The write of CLEARING, CREATING or OPENING is done. */
static void entry_written(struct uvzk__barrier_member *member, int status)
{
    if (member->state == UVZK__MEMBER_CLEARING) {
        entry_cleared(member, status);
    } else if (member->state == UVZK__MEMBER_CREATING) {
        entry_created(member, status);
    } else if (status == 0 || status == UVZK_ENODEEXISTS) {
        come_inside(member);
    } else if (status == UVZK_ENONODE) {
        count_again(member); /* P has gone, and the member's znode with it */
    } else {
        uvzk__barrier_member_withdraw(member, status);
    }
}

/* ------------------------------------------------ the leave: who else is still here */

static bool is_other(const struct uvzk__barrier_member *member, const char *name)
{
    return strcmp(name, UVZK__READY_NAME) != 0 && strcmp(name, own_name(member)) != 0;
}

static int departure_compare(const void *a, const void *b)
{
    const struct uvzk__other_member *one = a, *other = b;

    return strcmp(one->name, other->name);
}

/* Returns false if memory has run out; then nothing is kept. */
static bool note_others(struct uvzk__barrier_member *member,
                        const struct uvzk__reply *reply)
{
    member->others = uvzk__calloc(reply->name_count + 1, sizeof(member->others[0]));
    if (member->others == NULL) {
        return false;
    }
    for (size_t i = 0; i < reply->name_count; i++) {
        if (!is_other(member, reply->names[i])) {
            continue;
        }
        char *copy = uvzk__strdup(reply->names[i]);
        if (copy == NULL) {
            forget_others(member);
            return false;
        }
        member->others[member->other_count++].name = copy;
    }
    qsort(member->others, member->other_count, sizeof(member->others[0]),
          departure_compare);
    member->knows_others = true;
    return true;
}

static bool is_listed(const struct uvzk__reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->name_count; i++) {
        if (strcmp(reply->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* A member that is no longer listed has left. */
static void drop_gone(struct uvzk__barrier_member *member,
                      const struct uvzk__reply *reply)
{
    size_t kept = 0;

    for (size_t i = 0; i < reply->name_count; i++) {
        struct uvzk__other_member wanted = {.name = (char *)(uintptr_t)reply->names[i]};
        struct uvzk__other_member *found =
            bsearch(&wanted, member->others, member->other_count, sizeof(wanted),
                    departure_compare);
        if (found != NULL) {
            found->listed = true;
        }
    }
    for (size_t i = 0; i < member->other_count; i++) {
        struct uvzk__other_member *other = &member->others[i];
        if (other->listed) {
            member->others[kept++] = (struct uvzk__other_member){.name = other->name};
        } else {
            uvzk__free(other->name);
        }
    }
    member->other_count = kept;
}

/* --------------------------------------------------------------- the leave: waiting */

static void other_told(struct uvzk__znode_waiter *waiter, int status)
{
    struct uvzk__barrier_member *member =
        UVZK__CONTAINER_OF(waiter, struct uvzk__barrier_member, waiter);

    if (status == UVZK_ENONODE) {
        uvzk__znode_waiter_end(waiter);
        uvzk__move(member->session, &uvzk__barrier_member_machine, member,
                   UVZK__MEMBER_REMAINING);
        uvzk__barrier_member_pump(member);
    } else if (status != 0) {
        uvzk__barrier_member_withdraw(member, status);
    }
}

/* Waits for another member to go. Out of memory: lists again after a pause. */
static void departure_outlast(struct uvzk__barrier_member *member, const char *name)
{
    char *path = uvzk__path_join(member->directory, name);

    member->waiter.told_cb = other_told;
    if (path != NULL &&
        uvzk__znode_waiter_begin(member->session, &member->waiter, path) == 0) {
        uvzk__move(member->session, &uvzk__barrier_member_machine, member,
                   UVZK__MEMBER_OUTLASTING);
    } else {
        if (member->state != UVZK__MEMBER_REMAINING) {
            uvzk__move(member->session, &uvzk__barrier_member_machine, member,
                       UVZK__MEMBER_REMAINING);
        }
        uvzk__back_off(member->session);
    }
    uvzk__free(path);
}

/* ----------------------------------------------------------------- the leave: going */

static void departure_left(struct uvzk__barrier_member *member)
{
    member_tell(member, 0, true);
    member_tidy(member);
}

static void delete_to_leave(struct uvzk__barrier_member *member, const char *ready)
{
    if (member->state != UVZK__MEMBER_DELETING) {
        uvzk__move(member->session, &uvzk__barrier_member_machine, member,
                   UVZK__MEMBER_DELETING);
    }
    uvzk__znode_write_delete(&member->write, member->path, ready);
}

static void leave_on(struct uvzk__barrier_member *member, const struct uvzk__reply *reply)
{
    bool ready = reply->status == 0 && is_listed(reply, UVZK__READY_NAME);
    /* Other members may have entered since, for which this member does not wait. */
    bool alone = reply->name_count == (size_t)ready + member->stands;
    const struct uvzk__other_member *others = member->others;
    size_t count = member->other_count;

    member->may_be_last = ready && alone && !member->stands;
    if (count == 0 && member->stands) {
        delete_to_leave(member, ready && alone ? member->ready : NULL);
    } else if (count == 0) {
        departure_left(member);
    } else if (member->stands && strcmp(own_name(member), others[0].name) > 0) {
        delete_to_leave(member, NULL);
    } else {
        departure_outlast(member, others[member->stands ? count - 1 : 0].name);
    }
}

void uvzk__barrier_member_leave(struct uvzk__barrier_member *member)
{
    uvzk__move(member->session, &uvzk__barrier_member_machine, member,
               UVZK__MEMBER_REMAINING);
    uvzk__barrier_member_pump(member);
}

/* The getChildren of REMAINING has been answered. */
static void departure_listed(struct uvzk__barrier_member *member,
                             const struct uvzk__reply *reply)
{
    struct uvzk__reply none = {.status = UVZK_ENONODE};

    if (reply->status != 0 && reply->status != UVZK_ENONODE) {
        uvzk__barrier_member_withdraw(member, reply->status);
        return;
    }
    /* A create of `ready` has no reply yet, which comes before the next getChildren. */
    if (member->write.state != UVZK__ZNODE_WRITE_IDLE) {
        return;
    }
    if (reply->status != 0) {
        reply = &none;
    }
    if (member->stands && !is_listed(reply, own_name(member))) {
        /* Another client has deleted it. */
        member->stands = false;
        uvzk__barrier_member_withdraw(member, UVZK_ENONODE);
        return;
    }
    if (member->knows_others) {
        drop_gone(member, reply);
    } else if (!note_others(member, reply)) {
        uvzk__back_off(member->session);
        return;
    }
    leave_on(member, reply);
}

/* The delete of DELETING is done. */
static void departure_deleted(struct uvzk__barrier_member *member, int status)
{
    const struct uvzk__znode_write *write = &member->write;

    if (write->second != NULL && status != 0 &&
        !(status == UVZK_ENONODE && write->refused == 0)) {
        delete_to_leave(member, NULL); /* `ready` no longer exists, or it must stay */
    } else if (status != 0 && status != UVZK_ENONODE) {
        /* The ACL forbids the delete: the znode ends with the session. */
        member->stands = false;
        uvzk__barrier_member_withdraw(member, status);
    } else {
        member->stands = false;
        member->may_be_last = false;
        if (member->other_count == 0) {
            departure_left(member);
        } else {
            departure_outlast(member, member->others[0].name);
        }
    }
}

/* --------------------------------------------------------------------------- making */

/* P/<uuid> identifies the znode of this enter. Returns 0, UV_ENOMEM or UV_EIO; UV_EEXIST:
 * `ready` is another recipe's. */
static int name_znodes(struct uvzk__barrier_member *member, const char *directory)
{
    int status = uvzk__random_path(member->session, directory, &member->path);

    if (status != 0) {
        return status;
    }
    member->directory = uvzk__strdup(directory);
    member->ready = uvzk__path_join(directory, UVZK__READY_NAME);
    bool made = uvzk__node_create_init(&member->create, member->path, UVZK__EPHEMERAL);
    if (member->directory == NULL || member->ready == NULL || !made) {
        return UV_ENOMEM;
    }
    uvzk__node_create_init_alone(&member->create_ready, member->ready, UVZK__PERSISTENT);
    return uvzk__znode_owner_check(member->session, member->ready);
}

static void write_done(struct uvzk__znode_write *write, int status);

int uvzk__barrier_member_enter(struct uvzk__session *session, const char *directory,
                               uint32_t quantity, void *user,
                               void (*told_cb)(struct uvzk__barrier_member *, int),
                               struct uvzk__barrier_member **made)
{
    struct uvzk__barrier_member *member = uvzk__calloc(1, sizeof(*member));

    if (member == NULL) {
        return UV_ENOMEM;
    }
    member->session = session;
    int status = name_znodes(member, directory);
    if (status == 0) {
        status = entry_wait_for_ready(member);
    }
    if (status != 0) {
        free_memory(member);
        return status;
    }
    member->quantity = quantity;
    member->user = user;
    member->told_cb = told_cb;
    uvzk__znode_write_init(&member->write, session, write_done);
    uvzk__list_append(&session->barriers->members, &member->of_session);
    *made = member;
    uvzk__barrier_member_pump(member);
    return 0;
}

/* ---------------------------------------------------------------- the requests */

static void member_answered(struct uvzk__rpc *rpc, const struct uvzk__reply *reply)
{
    struct uvzk__barrier_member *member =
        UVZK__CONTAINER_OF(rpc, struct uvzk__barrier_member, rpc);

    uvzk__answered(member->session, rpc, reply->status, false);
    member->asking = false;
    if (member->state == UVZK__MEMBER_GONE) {
        free_if_over(member);
    } else if (member->state != member->asked_in) {
        uvzk__barrier_member_pump(member); /* the answer is no longer useful */
    } else if (!uvzk__is_transient(reply->status)) {
        if (member->state == UVZK__MEMBER_REMAINING) {
            departure_listed(member, reply);
        } else {
            entry_answered(member, reply);
        }
    } /* otherwise the end of the outage or of the pause sends it again */
}

/* Sends the request that the state needs, if it is not under way. A member of a client
 * that closes needs nothing more: its session is about to end. */
void uvzk__barrier_member_pump(struct uvzk__barrier_member *member)
{
    bool lists = member->state == UVZK__MEMBER_LISTING ||
                 member->state == UVZK__MEMBER_COUNTING ||
                 member->state == UVZK__MEMBER_REMAINING;

    if (member->asking || !(lists || member->state == UVZK__MEMBER_CHECKING) ||
        uvzk__session_is_closing(member->session) || !uvzk__may_send(member->session)) {
        return;
    }
    uvzk__rpc_prepare(&member->rpc, lists ? UVZK__RPC_CHILDREN : UVZK__RPC_EXISTS,
                      lists ? member->directory : member->path, member_answered);
    member->asking = true;
    member->asked_in = member->state;
    uvzk__submit(member->session, &member->rpc);
}

/* ------------------------------------------------------------------------- the end */

static void member_out(struct uvzk__barrier_member *member, int status)
{
    member->stands = false;
    member_tell(member, status, true);
    member_tidy(member);
}

/* Deletes the znode if it may exist. */
static void delete_own(struct uvzk__barrier_member *member)
{
    if (member->stands) {
        uvzk__znode_write_delete(&member->write, member->path, NULL);
    } else {
        member_out(member, member->outcome);
    }
}

/* In WITHDRAWING, the write is the one that was under way, or the delete. */
static void withdrawal_done(struct uvzk__barrier_member *member, int status)
{
    const struct uvzk__znode_write *write = &member->write;
    bool deleted = write->create == NULL && write->path == member->path;

    if (!deleted) {
        member->stands =
            member->stands ||
            (write->create == &member->create &&
             (status == 0 || status == UVZK_ENODEEXISTS || write->attempted));
        delete_own(member);
    } else if (uvzk__is_transient(status) || (write->second != NULL && status != 0)) {
        delete_own(member); /* it was the delete of a leave, and has not been done */
    } else {
        /* Gone; or the ACL forbids the delete: then the znode ends with the session. */
        member_out(member,
                   status == 0 || status == UVZK_ENONODE ? member->outcome : status);
    }
}

static void write_done(struct uvzk__znode_write *write, int status)
{
    struct uvzk__barrier_member *member =
        UVZK__CONTAINER_OF(write, struct uvzk__barrier_member, write);

    switch (member->state) {
    case UVZK__MEMBER_WITHDRAWING:
        withdrawal_done(member, status);
        break;
    case UVZK__MEMBER_DELETING:
        departure_deleted(member, status);
        break;
    case UVZK__MEMBER_TIDYING:
        member_finish(member);
        break;
    case UVZK__MEMBER_CLEARING:
    case UVZK__MEMBER_CREATING:
    case UVZK__MEMBER_OPENING:
        entry_written(member, status);
        break;
    default: /* a create of `ready` that was stopped, because another has made it */
        uvzk__barrier_member_pump(member);
        free_if_over(member);
        break;
    }
}

void uvzk__barrier_member_withdraw(struct uvzk__barrier_member *member, int status)
{
    /* A request was refused, and its user gives it up meanwhile. */
    if (member->state == UVZK__MEMBER_WITHDRAWING) {
        return;
    }
    member->outcome = status;
    uvzk__znode_waiter_end(&member->waiter);
    /* An unanswered create may have been carried out, or may yet be. */
    bool unknown = member->state == UVZK__MEMBER_CHECKING ||
                   (member->state == UVZK__MEMBER_CREATING &&
                    uvzk__znode_write_may_be_done(&member->write));
    member->stands = member->stands || unknown;
    uvzk__move(member->session, &uvzk__barrier_member_machine, member,
               UVZK__MEMBER_WITHDRAWING);
    if (!member->stands) {
        member_out(member, status);
        return;
    }
    if (!uvzk__is_connected(member->session)) {
        member_tell(member, status, true);
    }
    if (uvzk__znode_write_stop(&member->write)) {
        delete_own(member);
    }
}

void uvzk__barrier_member_abandon(struct uvzk__barrier_member *member, int code)
{
    if (member->state == UVZK__MEMBER_WITHDRAWING) {
        code = member->outcome;
    }
    member->stands = false;
    member_tell(member, code, true);
    member_finish(member);
}

void uvzk__barrier_member_suspended(struct uvzk__barrier_member *member)
{
    if (member->state == UVZK__MEMBER_WITHDRAWING) {
        member_tell(member, member->outcome, true);
    }
}

void uvzk__barrier_member_session_ended(struct uvzk__barrier_member *member, int code)
{
    bool unborn = member->state == UVZK__MEMBER_LISTING ||
                  member->state == UVZK__MEMBER_CLEARING ||
                  (member->state == UVZK__MEMBER_CREATING &&
                   !uvzk__znode_write_may_be_done(&member->write));

    if (!unborn && member->state != UVZK__MEMBER_GONE) {
        uvzk__barrier_member_abandon(member, code);
    }
}
