/* The futures of the close of a persistent node and of a group member. */
#include "future/future.h"
#include "membership/group_member.h"
#include "membership/persistent_node.h"

static void node_closed(uvzk_persistent_node_t *node, int status)
{
    uvzk__future_over(node->end_future, status);
}

int uvzk_persistent_node_close_future(uvzk_persistent_node_t *node, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &uvzk__future_plain, sizeof(*future), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_persistent_node_close(node, node_closed);
    if (status == 0) {
        node->end_future = future;
    }
    return uvzk__future_begun(future, uvzk__persistent_node_session(node), status);
}

static void member_closed(uvzk_group_member_t *member, int status)
{
    uvzk__future_over(member->end_future, status);
}

int uvzk_group_member_close_future(uvzk_group_member_t *member, uvzk_future_t *shell)
{
    struct uvzk__future *future;
    int status = uvzk__future_new(shell, &uvzk__future_plain, sizeof(*future), &future);

    if (status != 0) {
        return status;
    }
    status = uvzk_group_member_close(member, member_closed);
    if (status == 0) {
        member->end_future = future;
    }
    return uvzk__future_begun(future, uvzk__group_member_session(member), status);
}
