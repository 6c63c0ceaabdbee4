/* SPDX-License-Identifier: Apache-2.0 */
/* The check for contenders of other kinds, before a contender is granted (other_kinds.h). */
#ifndef UVZK_OTHER_KINDS_CHECK_H
#define UVZK_OTHER_KINDS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct uvzk__contender;
struct uvzk__queue;

enum uvzk__kinds_check {
    UVZK__KINDS_NOT_KNOWN, /* a request that shows it is still to be answered, or sent */
    UVZK__KINDS_ALONE,     /* no contender of another kind came before this one */
    UVZK__KINDS_MIXED,     /* one did */
    UVZK__KINDS_UNREADABLE /* the ACL forbids to list where one may be; only if later ones
                              are refused */
};

/* For the directory of a semaphore's leases.
 *
 * read: sends the reading, unless it is under way or was sent after this create of a
 * lease, or is not needed: with a warning only, a session reads once for each path.
 * check_lease: what was found once is kept, so a lease that is handed over needs no
 * reading. has_ticket: its czxid is that of its ticket, because the reply to the multi
 * that created it had none.
 * met: one of the last two was found. Returns the code with which the claim has to end,
 * UVZK_EKIND or UVZK_ENOAUTH; 0: a warning was logged. */
void uvzk__other_kinds_read(struct uvzk__queue *, uint64_t created);
enum uvzk__kinds_check uvzk__other_kinds_check_lease(struct uvzk__contender *lease,
                                                     bool has_ticket);
int uvzk__other_kinds_met(struct uvzk__queue *, enum uvzk__kinds_check);

/* ------------------------------------------------------------ for this room alone */

/* For a directory in order of which uvzk__other_kinds knows. The first function ends the claims of the waiters that came
 * after one of another kind, or warns, and reads what has to be read. The second one
 * returns true if this waiter may be granted. */
void uvzk__other_kinds_settle(struct uvzk__queue *);
bool uvzk__other_kinds_let(const struct uvzk__contender *);

#endif
