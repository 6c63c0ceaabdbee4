/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the members and the changes of a session's barriers when something happens to the
 * session (barriers.h). They may outlive their barriers, so they are in lists of their
 * own. */
#include "barrier/barriers.h"

#include "barrier/member.h"
#include "barrier/watched_znode.h"
#include "barrier/znode_write.h"

void uvzk__barriers_init(struct uvzk__barriers *barriers)
{
    uvzk__list_init(&barriers->members);
    uvzk__list_init(&barriers->writes);
}

/* act may remove its link and others. Links that it adds are not visited. */
static void for_each(struct uvzk__link *list, void (*act)(struct uvzk__link *, int code),
                     int code)
{
    struct uvzk__link rest, *link;

    uvzk__list_move(list, &rest);
    while ((link = uvzk__list_take(&rest)) != NULL) {
        uvzk__list_append(list, link);
        act(link, code);
    }
}

static struct uvzk__barrier_member *member_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__barrier_member, of_session);
}

static void end_member(struct uvzk__link *link, int code)
{
    uvzk__barrier_member_session_ended(member_at(link), code);
}

static void suspend_member(struct uvzk__link *link, int code)
{
    (void)code;
    uvzk__barrier_member_suspended(member_at(link));
}

static void pump_member(struct uvzk__link *link, int code)
{
    (void)code;
    uvzk__barrier_member_pump(member_at(link));
}

static void pump_write(struct uvzk__link *link, int code)
{
    (void)code;
    uvzk__znode_write_pump(UVZK__CONTAINER_OF(link, struct uvzk__znode_write, link));
}

void uvzk__barriers_session_ended(struct uvzk__session *session, int code)
{
    for_each(&session->barriers->members, end_member, code);
}

void uvzk__barriers_suspended(struct uvzk__session *session)
{
    for_each(&session->barriers->members, suspend_member, 0);
}

/* A write or a member that is pumped only submits a request, so nothing is freed here. */
void uvzk__barriers_resume(struct uvzk__session *session)
{
    struct uvzk__barriers *barriers = session->barriers;

    /* First the watches on `ready`: they are set before a member's znode is created. */
    uvzk__watched_znodes_resume(session);
    for_each(&barriers->writes, pump_write, 0);
    for_each(&barriers->members, pump_member, 0);
}

void uvzk__barriers_free(struct uvzk__session *session)
{
    struct uvzk__barriers *barriers = session->barriers;

    while (!uvzk__list_empty(&barriers->members)) {
        uvzk__barrier_member_free(member_at(barriers->members.next));
    }
}
