/* SPDX-License-Identifier: Apache-2.0 */
/* A znode that barriers of this session wait for: until it exists (`ready`), or until it
 * is gone (a barrier, another member). All waiters of a path share it, and its watch. It is
 * a reading (reading.h), of a request that is either an exists, or an empty multi that
 * confirms an absence; after the multi it looks once more. It reads only while it has
 * waiters. A refused reading is reported, and repeated only if a waiter asks for it.
 *
 * How fresh a read is. A server may lag, so a read may show the znode at a moment before
 * its request was sent. It shows at least what was committed before the last reply on
 * this connection (engine/barrier.h).
 *   present  may be out of date, but then the watch fires: no wait is endless.
 *   absent   ends a wait, and no later event would correct it. A waiter that cannot tell
 *            by its own writes how old it is asks for a confirmation: an empty multi,
 *            which a quorum must accept, and then another read. If that shows no znode
 *            either, there was none at a moment after the wait began. */
#ifndef UVZK_WATCHED_ZNODE_H
#define UVZK_WATCHED_ZNODE_H

#include "engine/reading.h"

struct uvzk__watched_znode {
    struct uvzk__reading reading;
    struct uvzk__link waiters;  /* struct uvzk__znode_waiter */
    struct uvzk__timer no_room; /* tells the waiters that there is no room for a watch */
    uint64_t
        quorum_stamp; /* of the last empty multi that a quorum has accepted; 0: none */
    bool confirm;     /* an absence has to be confirmed */
    bool telling;     /* its waiters are being told: some are on no list of it */
};

/* Part of the struct that waits. */
struct uvzk__znode_waiter {
    struct uvzk__link link;            /* in znode->waiters */
    struct uvzk__watched_znode *znode; /* NULL: it does not wait */
    /* Only readings with a greater stamp are reported to it. */
    uint64_t since;
    /* An absence is reported to it only if it is confirmed. */
    bool confirmed;
    /* status 0: the znode exists; UVZK_ENONODE: it does not. This was read, or a watch
     * event has reported that it was created or deleted. Any other status: it cannot be
     * read or watched. Must not call the user. May end the waiting. */
    void (*told_cb)(struct uvzk__znode_waiter *, int status);
};

/* Waits for a znode. Returns 0 or UV_ENOMEM. told_cb is not called inside. The caller has
 * set told_cb and `confirmed`. */
int uvzk__znode_waiter_begin(struct uvzk__session *, struct uvzk__znode_waiter *,
                             const char *path);
/* Ends the waiting, if there is any. The watch of the last waiter is removed. */
void uvzk__znode_waiter_end(struct uvzk__znode_waiter *);
/* Reads the znode once more. Results of reads that were sent before are no longer
 * reported. */
void uvzk__znode_waiter_look(struct uvzk__znode_waiter *);

/* Requests may be sent again: sends what is due. */
void uvzk__watched_znodes_resume(struct uvzk__session *);

#endif
