/* Znodes of ours that may not be deleted: their directory's ACL has no DELETE for us, be
 * it for a moment. Whoever let go has been told so (UVZK_ENOAUTH), and its claim is over;
 * but the znode blocks others for as long as it stands, so its delete is tried again
 * until it has gone, or its session has.
 *
 * One of a directory's at a time, after pauses that grow (slow_retry.h): the right is
 * the directory's. When one delete succeeds there, of whomever, all others leave at
 * once. First its znode is looked at: a server looks at the right before the znode, so
 * that of one that somebody else has deleted it says UVZK_ENOAUTH for ever; and at a
 * fixed name another one's may stand by now. Who has gone so gives his turn on at
 * once. */
#ifndef UVZK_UNDELETABLE_H
#define UVZK_UNDELETABLE_H

#include <stdbool.h>
#include <stddef.h>

struct uvzk__contender;
struct uvzk__queue;
struct uvzk__undeletable_data;

/* Of a directory. */
struct uvzk__undeletables {
    struct uvzk__undeletable_data *data; /* NULL: there are none */
};

static inline bool uvzk__undeletables_any(const struct uvzk__undeletables *undeletables)
{
    return undeletables->data != NULL;
}

/* The server has refused the delete of its znode, which is DELETING, with UVZK_ENOAUTH. */
void uvzk__undeletable_add(struct uvzk__contender *);

/* The server has carried out a delete in that directory, or would have. */
void uvzk__undeletable_permitted(struct uvzk__queue *);

/* It is undeletable and wants to be deleted: whether that may be tried now. If not,
 * what has to come before is asked for; then it is pumped. */
bool uvzk__undeletable_may_delete(struct uvzk__contender *);

/* It is undeletable, and over. */
void uvzk__undeletable_gone(struct uvzk__contender *);

#endif
