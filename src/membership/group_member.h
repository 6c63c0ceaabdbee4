/* A group member (Curator's GroupMember): an ephemeral persistent node below the path of
 * the group, and what the client knows about the other children of that path.
 *
 *   group member ---- persistent node     its own znode
 *        |     `----- children listener   which znodes there are (watched_children.h)
 *        `----------- group entries       of each other one, a shared value follows the data
 *                                         (group_entries.h)
 *
 * Each of these parts is in the session of its own path. So when the client ends, they
 * end one after the other; the last one frees the memory. This struct makes no decisions:
 * the persistent node keeps the member's own znode, and the facts about the others are
 * only information. At the end of a turn it is compared with what the user was last told,
 * so a burst of changes is reported once. */
#ifndef UVZK_GROUP_MEMBER_H
#define UVZK_GROUP_MEMBER_H

#include "engine/session.h"
#include "engine/watched_children.h"
#include "membership/group_entries.h"

struct uvzk__group_member {
    /* The user's struct. It refers to this one until the close callback; then NULL. */
    uvzk_group_member_t *handle;
    struct uvzk__session *session; /* of the group's path */
    uvzk_persistent_node_t node;
    struct uvzk__children_listener children;
    struct uvzk__group_entries entries;
    struct uvzk__notification notification;
    /* All may be NULL. */
    uvzk_group_member_change_cb joined_cb;
    uvzk_group_member_change_cb members_cb;
    uvzk_group_member_close_cb close_cb;
    char *id;
    int status;     /* of the last listing alone; UV_EAGAIN: there was none yet */
    int told;       /* what members_cb was told last; UV_EAGAIN: nothing yet */
    uint32_t parts; /* that use this memory: the node, the listener, each entry */
    bool closing;
};

/* The session of an initialized group member, else NULL. */
struct uvzk__session *uvzk__group_member_session(const uvzk_group_member_t *);

/* ------------------------------------------------------------ for this room alone */

/* The facts about the others have changed: the user is told at the end of the turn, if
 * they then differ from what was told last. */
void uvzk__group_member_note(struct uvzk__group_member *);
/* A part has ended. Frees the memory after the last one. */
void uvzk__group_member_part_ended(struct uvzk__group_member *);

#endif
