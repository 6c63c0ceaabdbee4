/* SPDX-License-Identifier: Apache-2.0 */
/* The foreign nodes of a directory: the contenders of other sessions that are before the
 * last local contender, as the last listing showed them. listing.c sets them; watches and
 * divergence queries remove nodes that have gone. A mirrored directory has those behind
 * the last local contender too, and mirror.c adds new ones. */
#ifndef UVZK_FOREIGN_NODES_H
#define UVZK_FOREIGN_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uvzk__contender;
struct uvzk__queue;

/* A contender's node that is not of this session. */
struct uvzk__foreign_node {
    int32_t sequence;
    bool shared; /* it is a reader's node */
    char *name;  /* without the directory's path; owned */
};

/* The part of a directory that foreign_nodes.c keeps, as the last listing showed it. */
struct uvzk__foreign_nodes {
    /* The nodes up to the number of the last local contender, by number. Owned; NULL:
     * none. */
    struct uvzk__foreign_node *list;
    struct uvzk__denied_nodes *denied; /* owned; NULL: none */
    uint32_t count;                    /* of list */
    uint32_t capacity;                 /* of list */
    uint32_t children;                 /* how many children are not contenders */
    uint32_t leases;    /* leases of other sessions, in a lease directory */
    bool others_behind; /* foreign nodes are, or may be, behind the last contender */
};

#define UVZK__FEW_SESSIONS 8U

/* How many foreign nodes are before this contender. A node with the same number counts as
 * before it. */
size_t uvzk__foreign_nodes_before(const struct uvzk__queue *,
                                  const struct uvzk__contender *);

/* The nearest foreign node that this contender has to wait for, or NULL. */
const struct uvzk__foreign_node *uvzk__blocker(const struct uvzk__queue *,
                                               const struct uvzk__contender *);

/* How many children of the directory are not contenders. Logs a warning when the number
 * changes and is not 0. */
void uvzk__foreign_children(struct uvzk__queue *, uint64_t count);

/* ------------------------------------------------------------ for this room alone */

/* A listing has shown these nodes, in the order of their numbers. Takes over the list and
 * its names, even if count is 0. leases: how many leases other sessions have. If count or
 * leases is not 0, the caller has allocated the optional parts
 * (uvzk__queue_need_optional). */
void uvzk__foreign_nodes_set(struct uvzk__queue *, struct uvzk__foreign_node *list,
                             size_t count, uint64_t leases);
/* others_behind: a listing has shown foreign nodes after the last local contender, or,
 * without a listing, such nodes may exist. */
void uvzk__foreign_nodes_set_behind(struct uvzk__queue *, bool others_behind);

/* Frees a list that no directory has taken over. */
void uvzk__foreign_nodes_free(struct uvzk__foreign_node *, size_t count);

/* Returns true if the struct contains anything that must be kept
 * (uvzk__queue_trim_optional). */
bool uvzk__foreign_nodes_known(const struct uvzk__foreign_nodes *);

/* The nearest foreign node before the one that uvzk__blocker returns. NULL: there is
 * none, or the directory has readers: a writer that goes makes the writers behind it list
 * again in any case (predecessor.c). */
const struct uvzk__foreign_node *uvzk__second_blocker(const struct uvzk__queue *,
                                                      const struct uvzk__contender *);

/* Returns true if the contender has to wait for exactly one foreign node. */
bool uvzk__foreign_nodes_single_blocker(const struct uvzk__queue *,
                                        const struct uvzk__contender *);

/* The number of the first foreign writer; INT32_MAX if there is none. */
int32_t uvzk__foreign_nodes_first_writer(const struct uvzk__queue *);

/* Another session has created a node with this name. Its number is greater than that of
 * every foreign node in the list. False: out of memory. */
bool uvzk__foreign_nodes_append(struct uvzk__queue *, int32_t sequence, bool shared,
                                const char *name);
/* Returns true if the nodes are of at most UVZK__FEW_SESSIONS sessions. A name shows
 * which session of uvzk created it. Each node of another library counts as a session. */
bool uvzk__foreign_nodes_are_of_few(const struct uvzk__queue *);

/* The foreign node with this name has gone. Returns whether it was in the list. */
bool uvzk__foreign_nodes_remove(struct uvzk__queue *, const char *name);
/* A foreign node is seen to have gone, so its session has released. Keeps the time of it
 * for an observer. */
void uvzk__foreign_nodes_released(struct uvzk__queue *);
/* A lease that was counted among the foreign ones is an orphan of this client
 * (divergence.h). */
void uvzk__foreign_nodes_lease_is_ours(struct uvzk__queue *);

/* According to the quorum this node does not exist, but the server of this connection shows
 * it. The listings of this connection leave it out from now on. Only for names with a
 * UUID, which no later node can have. Without memory it is found again. */
void uvzk__foreign_nodes_deny(struct uvzk__queue *, const char *name);
bool uvzk__foreign_nodes_is_denied(const struct uvzk__queue *, const char *name);
/* Forgets all denied nodes. */
void uvzk__foreign_nodes_end_denials(struct uvzk__queue *);

/* Empties the list. children, leases and others_behind stay as they are. */
void uvzk__foreign_nodes_clear(struct uvzk__queue *);

#endif
