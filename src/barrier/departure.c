/* The requests of a leave, and what their replies decide (departure.h). member.c passes
 * in the replies and events of a member that is REMAINING, DELETING or OUTLASTING. */
#include "barrier/departure.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "engine/submission.h"

/* -------------------------------------------------------- who else is still here */

void uvzk__member_forget_others(struct uvzk__barrier_member *member)
{
    for (size_t i = 0; i < member->other_count; i++) {
        uvzk__free(member->others[i].name);
    }
    uvzk__free(member->others);
    member->others = NULL;
    member->other_count = 0;
}

static const char *own_name(const struct uvzk__barrier_member *member)
{
    return member->path + strlen(member->directory) + 1;
}

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
            uvzk__member_forget_others(member);
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

/* ------------------------------------------------------------------------ waiting */

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

/* ------------------------------------------------------------------------- leaving */

static void departure_left(struct uvzk__barrier_member *member)
{
    uvzk__barrier_member_tell(member, 0, true);
    uvzk__barrier_member_tidy(member);
}

static void delete_own(struct uvzk__barrier_member *member, const char *ready)
{
    if (member->state != UVZK__MEMBER_DELETING) {
        uvzk__move(member->session, &uvzk__barrier_member_machine, member,
                   UVZK__MEMBER_DELETING);
    }
    uvzk__znode_write_delete(&member->write, member->path, ready);
}

static void go_on(struct uvzk__barrier_member *member, const struct uvzk__reply *reply)
{
    bool ready = reply->status == 0 && is_listed(reply, UVZK__READY_NAME);
    /* Other members may have entered since, for which this member does not wait. */
    bool alone = reply->name_count == (size_t)ready + member->stands;
    const struct uvzk__other_member *others = member->others;
    size_t count = member->other_count;

    member->may_be_last = ready && alone && !member->stands;
    if (count == 0 && member->stands) {
        delete_own(member, ready && alone ? member->ready : NULL);
    } else if (count == 0) {
        departure_left(member);
    } else if (member->stands && strcmp(own_name(member), others[0].name) > 0) {
        delete_own(member, NULL);
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

void uvzk__member_remaining_listed(struct uvzk__barrier_member *member,
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
    go_on(member, reply);
}

void uvzk__member_deleted(struct uvzk__barrier_member *member, int status)
{
    const struct uvzk__znode_write *write = &member->write;

    if (write->second != NULL && status != 0 &&
        !(status == UVZK_ENONODE && write->refused == 0)) {
        delete_own(member, NULL); /* `ready` no longer exists, or it must stay */
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
