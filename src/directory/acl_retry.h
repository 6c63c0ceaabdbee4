/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that an ACL refuses and that uvzk nevertheless repeats, because a znode of
 * this client would otherwise block other contenders while its session lives. The ACL may
 * change at any time, and no event reports it. So uvzk tries again after growing pauses:
 * from 500 ms, doubled each time, up to 30 s or a session timeout, whichever is less.
 * Each pause is made up to a quarter longer or shorter at random.
 *
 * Undeletable znodes: the delete was refused because the ACL of the directory does not
 * give the client DELETE, perhaps only for a moment. The release has failed with
 * UVZK_ENOAUTH, and the claim has ended. uvzk tries the delete again until the znode or
 * its session is gone. DELETE is a right of the directory. So uvzk tries one znode of a
 * directory at a time. When any delete succeeds in the directory, the deletes of all its
 * other undeletable znodes are sent at once.
 *
 * Before each delete an exists reads the znode, for two reasons. A server checks the
 * right before it looks for the znode, so it would answer UVZK_ENOAUTH forever for a
 * znode that another client has deleted. And a znode of a fixed name may be another
 * client's by now. If the exists shows that the znode is gone, the next znode is tried at
 * once.
 *
 * Unsearchable znodes: they may exist, no acquire still wants them, and uvzk cannot
 * search for them. The reply to the create was lost, the acquire has ended, and the ACL
 * forbids listing the directory. uvzk lists the directory again after each pause. A
 * contender that an acquire still wants does not wait for such a pause, and a listing
 * that succeeds ends the pauses. */
#ifndef UVZK_ACL_RETRY_H
#define UVZK_ACL_RETRY_H

#include <stdbool.h>
#include <stddef.h>

struct uvzk__contender;
struct uvzk__queue;
struct uvzk__undeletable_data;
struct uvzk__unsearchable;

/* The parts of a directory that acl_retry.c keeps. */
struct uvzk__undeletables {
    struct uvzk__undeletable_data *data; /* owned; NULL: no znode is undeletable */
};
struct uvzk__unsearchables {
    struct uvzk__unsearchable *those; /* owned; NULL: no listing was refused */
};

/* Only for an undeletable contender. Returns true if it has the turn to send its delete: the
 * caller sends it now, and the turn is used. Returns false if not; the contender is pumped
 * again when it has. */
bool uvzk__undeletable_take_turn(struct uvzk__contender *);

/* Only for an undeletable contender: its znode is gone, or its session has ended. */
void uvzk__undeletable_gone(struct uvzk__contender *);

/* A listing of the directory was refused. The caller has ended the wanted contenders that
 * the listing would have searched for, so those that are still UNKNOWN are not wanted. */
void uvzk__unsearchable(struct uvzk__queue *);

/* Returns true if the directory may be listed now because of creates that were sent: a
 * contender of one of these creates is wanted, or no pause is running. */
bool uvzk__unsearchable_may(const struct uvzk__queue *);

/* Returns true if the directory must be listed now because the outcome of a create is
 * unknown. */
bool uvzk__queue_wants_search(const struct uvzk__queue *);

/* ------------------------------------------------------------ for this room alone */

/* The server has refused the delete of the contender's znode, which is DELETING, with
 * UVZK_ENOAUTH. */
void uvzk__undeletable_add(struct uvzk__contender *);

/* A delete in the directory was answered with 0 or UVZK_ENONODE, so the client has DELETE
 * there. */
void uvzk__undeletable_permitted(struct uvzk__queue *);

/* The directory has been listed, or does not exist, or no contender is still UNKNOWN. */
void uvzk__unsearchable_no_more(struct uvzk__queue *);

#endif
