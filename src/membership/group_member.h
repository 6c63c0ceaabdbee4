/* SPDX-License-Identifier: Apache-2.0 */
/* A group member (Curator's GroupMember): an ephemeral persistent node below the path of
 * the group, and what the client knows about the other children of that path.
 *
 *   group member ---- persistent node     its own znode
 *        |     `----- children listener   which znodes there are (watched_children.h)
 *        `----------- group entries       of each other one, a shared value follows the data
 *
 * Each of these parts is in the session of its own path. So when the client ends, they
 * end one after the other; the last one frees the memory. This struct makes no decisions:
 * the persistent node keeps the member's own znode, and the facts about the others are
 * only information. At the end of a turn it is compared with what the user was last told,
 * so a burst of changes is reported once.
 *
 * The other members of a group, as one of them knows them: each has an entry from the listing
 * that shows its znode to the first listing that does not, and a shared value that follows
 * its data. Its znode counts as deleted when that value or a listing shows it, whichever
 * is first.
 *
 * A group may be larger than what a session may watch (watch.h). An entry for which
 * there is no room has no value: its data are not known, and only a listing says that its
 * znode is deleted. */
#ifndef UVZK_GROUP_MEMBER_H
#define UVZK_GROUP_MEMBER_H

#include <stdbool.h>

#include "base/table.h"
#include "engine/session.h"
#include "engine/watched_children.h"

struct uvzk__group_member;

struct uvzk__group_entry {
    struct uvzk__group_member *member; /* that knows it */
    UT_hash_handle hh;                 /* in entries->known, by the id */
    uvzk_shared_value_t value;         /* initialized if there is a home */
    /* The session of the value, in whose budget it has a share; NULL: there was no room. */
    struct uvzk__session *home;
    size_t path_length; /* of the znode, namespace included */
    int64_t told_mzxid; /* what the user was told last; 0: no data */
    bool told;          /* the user was told that it is a member */
    bool listed;        /* in the last listing */
    bool answered;      /* its data were read, or the read was refused, or it was gone */
    bool exists;        /* as far as its data tell */
    bool dropped;       /* it is in no table, and its value closes */
    char id[];
};

/* Part of a group member. */
struct uvzk__group_entries {
    uvzk_client_t *client;
    char *path;                      /* of the group, below the namespace */
    struct uvzk__group_entry *known; /* a uthash by id */
    uvzk_group_entry_t *shown;       /* memory for what uvzk_group_member_list returns */
    size_t capacity; /* of `shown`; always enough for all, and for itself */
    size_t
        unwatched; /* listed members for whose watch there is no room; of the last tell */
};

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

#endif
