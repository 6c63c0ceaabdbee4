/* Calls the barriers of a session when something happens to the session (barriers.h).
 * Members and changes may outlive their barriers, so they are in lists of their own. */
#include "barrier/barriers.h"

#include "barrier/distributed_barrier.h"
#include "barrier/double_barrier.h"
#include "barrier/member.h"
#include "barrier/watched_znode.h"
#include "barrier/znode_write.h"
#include "base/path.h"

void uvzk__barriers_init(struct uvzk__barriers *barriers)
{
    uvzk__list_init(&barriers->distributed);
    uvzk__list_init(&barriers->doubles);
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

static struct uvzk__distributed_barrier *distributed_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__distributed_barrier, siblings);
}

static struct uvzk__double_barrier *double_at(struct uvzk__link *link)
{
    return UVZK__CONTAINER_OF(link, struct uvzk__double_barrier, siblings);
}

static void end_distributed(struct uvzk__link *link, int code)
{
    uvzk__distributed_barrier_unreachable(distributed_at(link), code);
}

static void end_double(struct uvzk__link *link, int code)
{
    uvzk__double_barrier_unreachable(double_at(link), code);
}

void uvzk__barriers_session_ended(struct uvzk__session *session, int code)
{
    for_each(&uvzk__barriers(session)->members, end_member, code);
}

void uvzk__barriers_suspended(struct uvzk__session *session)
{
    for_each(&uvzk__barriers(session)->members, suspend_member, 0);
}

/* A write or a member that is pumped only submits a request, so nothing is freed here. */
void uvzk__barriers_resume(struct uvzk__session *session)
{
    struct uvzk__barriers *barriers = uvzk__barriers(session);
    struct uvzk__watched_znode *znode, *next;

    /* First the watches on `ready`: they are set before a member's znode is created. */
    HASH_ITER(hh, barriers->watched, znode, next)
    {
        uvzk__watched_znode_pump(znode);
    }
    for_each(&barriers->writes, pump_write, 0);
    for_each(&barriers->members, pump_member, 0);
}

void uvzk__barriers_unreachable(struct uvzk__session *session, int code)
{
    for_each(&uvzk__barriers(session)->distributed, end_distributed, code);
    for_each(&uvzk__barriers(session)->doubles, end_double, code);
}

bool uvzk__double_barriers_need_below(const struct uvzk__session *session,
                                      const char *path)
{
    const struct uvzk__link *doubles = &uvzk__barriers(session)->doubles;

    for (struct uvzk__link *link = doubles->next; link != doubles; link = link->next) {
        const char *directory = double_at(link)->path;
        if (uvzk__path_is_below(directory, path, true)) {
            return true;
        }
    }
    return false;
}

void uvzk__barriers_free(struct uvzk__session *session)
{
    struct uvzk__barriers *barriers = uvzk__barriers(session);

    while (!uvzk__list_empty(&barriers->distributed)) {
        uvzk__distributed_barrier_free(distributed_at(barriers->distributed.next));
    }
    while (!uvzk__list_empty(&barriers->doubles)) {
        uvzk__double_barrier_free(double_at(barriers->doubles.next));
    }
    while (!uvzk__list_empty(&barriers->members)) {
        uvzk__barrier_member_free(member_at(barriers->members.next));
    }
}
