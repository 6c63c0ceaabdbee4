/* Znodes of this client whose delete was refused because the ACL of their directory does
 * not give the client DELETE, perhaps only for a moment. The release has failed with
 * UVZK_ENOAUTH, and the claim has ended. But the znode blocks other contenders for as
 * long as it exists. So uvzk tries the delete again until the znode or its session is
 * gone.
 *
 * DELETE is a right of the directory. So uvzk tries one znode of a directory at a time,
 * after growing pauses (slow_retry.h). When any delete succeeds in the directory, the
 * deletes of all its other undeletable znodes are sent at once.
 *
 * Before each delete an exists reads the znode, for two reasons. A server checks the
 * right before it looks for the znode, so it would answer UVZK_ENOAUTH for ever for a
 * znode that another client has deleted. And a znode of a fixed name may be another
 * client's by now. If the exists shows that the znode is gone, the next znode is tried at
 * once. */
#ifndef UVZK_UNDELETABLE_H
#define UVZK_UNDELETABLE_H

#include <stdbool.h>
#include <stddef.h>

struct uvzk__contender;
struct uvzk__queue;
struct uvzk__undeletable_data;

/* The part of a directory that undeletable.c keeps. */
struct uvzk__undeletables {
    struct uvzk__undeletable_data *data; /* owned; NULL: no znode is undeletable */
};

static inline bool uvzk__undeletables_any(const struct uvzk__undeletables *undeletables)
{
    return undeletables->data != NULL;
}

/* The server has refused the delete of the contender's znode, which is DELETING, with
 * UVZK_ENOAUTH. */
void uvzk__undeletable_add(struct uvzk__contender *);

/* A delete in the directory was answered with 0 or UVZK_ENONODE, so the client has DELETE
 * there. */
void uvzk__undeletable_permitted(struct uvzk__queue *);

/* Only for an undeletable contender: whether its delete may be sent now. If it may be,
 * the caller sends it. If not, the contender is pumped again when it may be. */
bool uvzk__undeletable_may_delete(struct uvzk__contender *);

/* Only for an undeletable contender: its znode is gone, or its session has ended. */
void uvzk__undeletable_gone(struct uvzk__contender *);

#endif
