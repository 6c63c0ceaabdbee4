/* Znodes of this client that may exist, that no acquire wants any more, and that cannot
 * be searched for: the reply to the create was lost, the acquire has ended, and the ACL
 * does not allow the client to list the directory. Such a znode would block other
 * contenders for as long as its session lives. So the directory is listed again, after
 * growing pauses (slow_retry.h). A contender that an acquire still wants does not wait
 * for such a pause, and a listing that succeeds ends the pauses. */
#ifndef UVZK_UNSEARCHABLE_H
#define UVZK_UNSEARCHABLE_H

#include <stdbool.h>
#include <stddef.h>

struct uvzk__queue;
struct uvzk__unsearchable;

/* The part of a directory that unsearchable.c keeps. */
struct uvzk__unsearchables {
    struct uvzk__unsearchable *those; /* owned; NULL: no listing was refused */
};

static inline bool
uvzk__unsearchables_any(const struct uvzk__unsearchables *unsearchables)
{
    return unsearchables->those != NULL;
}

/* A listing of the directory was refused. The caller has ended the wanted contenders that
 * the listing would have searched for, so those that are still UNKNOWN are not wanted. */
void uvzk__unsearchable(struct uvzk__queue *);

/* The directory has been listed, or does not exist, or no contender is UNKNOWN any
 * more. */
void uvzk__unsearchable_no_more(struct uvzk__queue *);

/* Whether the directory may be listed now because of creates that were sent: a contender
 * of one of these creates is wanted, or no pause is running. */
bool uvzk__unsearchable_may(const struct uvzk__queue *);

#endif
