/* The requests of an enter, and what their replies decide (entry.h). member.c passes in
 * the replies and events of a member from LISTING until it is INSIDE. */
#include "barrier/entry.h"

#include <string.h>

/* Other children than `ready` are members, whatever their names are, as in Curator. */
struct counted {
    uint32_t members;
    bool ready, own;
};

static struct counted entry_count(const struct uvzk__barrier_member *member,
                                  const struct uvzk__reply *reply)
{
    const char *own = member->path + strlen(member->directory) + 1;
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
    uvzk__barrier_member_tell(member, 0, false);
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

int uvzk__member_wait_for_ready(struct uvzk__barrier_member *member)
{
    member->waiter.told_cb = ready_told;
    return uvzk__znode_waiter_begin(member->session, &member->waiter, member->ready);
}

/* ------------------------------------------------------------ before its znode exists */

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

/* --------------------------------------------------------------------- afterwards */

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

void uvzk__member_entry_answered(struct uvzk__barrier_member *member,
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

void uvzk__member_entry_written(struct uvzk__barrier_member *member, int status)
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
