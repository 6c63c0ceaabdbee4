/* What entering, leaving and giving up have in common (member.h): the member's machine,
 * its requests and their repetition, and its end. */
#include "barrier/member.h"

#include <string.h>

#include "barrier/barriers.h"
#include "barrier/departure.h"
#include "barrier/entry.h"
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

/* ---------------------------------------------------------- making and freeing */

static void free_memory(struct uvzk__barrier_member *member)
{
    uvzk__member_forget_others(member);
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

void uvzk__barrier_member_tell(struct uvzk__barrier_member *member, int status,
                               bool final)
{
    void *user = member->user;

    if (user != NULL) {
        member->told_cb(member, status);
    }
    if (final) {
        member->user = NULL;
    }
}

void uvzk__barrier_member_finish(struct uvzk__barrier_member *member)
{
    uvzk__znode_waiter_end(&member->waiter);
    (void)uvzk__znode_write_stop(&member->write);
    uvzk__move(member->session, &uvzk__barrier_member_machine, member, UVZK__MEMBER_GONE);
    free_if_over(member);
}

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
        status = uvzk__member_wait_for_ready(member);
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
            uvzk__member_remaining_listed(member, reply);
        } else {
            uvzk__member_entry_answered(member, reply);
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

void uvzk__barrier_member_tidy(struct uvzk__barrier_member *member)
{
    if (!member->may_be_last || uvzk__session_is_closing(member->session)) {
        uvzk__barrier_member_finish(member);
        return;
    }
    uvzk__move(member->session, &uvzk__barrier_member_machine, member,
               UVZK__MEMBER_TIDYING);
    /* Done only if `ready` has no sibling, because a znode with children is not deleted:
     * the server decides it, so the age of the last read does not matter. */
    uvzk__znode_write_delete(&member->write, member->ready, member->directory);
}

static void member_out(struct uvzk__barrier_member *member, int status)
{
    member->stands = false;
    uvzk__barrier_member_tell(member, status, true);
    uvzk__barrier_member_tidy(member);
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
        uvzk__member_deleted(member, status);
        break;
    case UVZK__MEMBER_TIDYING:
        uvzk__barrier_member_finish(member);
        break;
    case UVZK__MEMBER_CLEARING:
    case UVZK__MEMBER_CREATING:
    case UVZK__MEMBER_OPENING:
        uvzk__member_entry_written(member, status);
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
        uvzk__barrier_member_tell(member, status, true);
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
    uvzk__barrier_member_tell(member, code, true);
    uvzk__barrier_member_finish(member);
}

void uvzk__barrier_member_suspended(struct uvzk__barrier_member *member)
{
    if (member->state == UVZK__MEMBER_WITHDRAWING) {
        uvzk__barrier_member_tell(member, member->outcome, true);
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
