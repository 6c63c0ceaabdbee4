/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of one contender: its name, its create, the exists that identifies its
 * znode, and the pauses before a request is repeated. The machine of the contender is in
 * contender.h. */
#ifndef UVZK_CONTENDER_REQUEST_H
#define UVZK_CONTENDER_REQUEST_H

#include "directory/contender.h"

/* The data with which its node is created, borrowed from the claim or from the session. A
 * revocable contender's node has no data. */
void uvzk__contender_data(const struct uvzk__contender *, const void **data,
                          size_t *length);

/* The ACL with which its node is created. The result is storage or the session's own ACL,
 * and storage must stay valid until the reply (uvzk__acl_of). */
const struct uvzk__acl *uvzk__contender_acl(struct uvzk__contender *,
                                            struct uvzk__acl *storage);

/* Writes a new name, without a number, into its path. Returns 0, or UV_EIO if there
 * are no random bytes. */
int uvzk__contender_new_name(struct uvzk__contender *);
/* Its znode has this name, which a lock driver has chosen. */
void uvzk__contender_set_name(struct uvzk__contender *, const char *name);
/* Writes the sequence number after the name in its path. */
void uvzk__contender_set_sequence(struct uvzk__contender *, int32_t sequence);

/* For kinds whose directory creates their nodes when it is settled. */
void uvzk__contender_create_settled(struct uvzk__contender *);

/* Fills in the create of its node as an op of a multi. storage: room for its ACL, which
 * must stay valid until the reply. */
void uvzk__contender_create_op(struct uvzk__contender *, struct uvzk__op *,
                               struct uvzk__acl *storage);

/* Fills in an op that checks its node: the multi fails unless the node exists. The
 * path is borrowed from the contender. */
void uvzk__contender_check_op(const struct uvzk__contender *, struct uvzk__op *);

/* A request that creates its node has just been submitted: requests a listing after it,
 * unless the create will probably need none. The second function: the reply has arrived.
 * path: of the new node; czxid: 0 if it is not known yet. Both are read at status 0 only.
 * The contender may be freed when the second function returns. */
void uvzk__contender_create_sent(struct uvzk__contender *);
void uvzk__contender_create_answered(struct uvzk__contender *, int status,
                                     const char *path, int64_t czxid);

/* The outcome of its create was UNKNOWN, and a listing shows the node, or shows that it
 * does not exist. */
void uvzk__contender_found(struct uvzk__contender *, int32_t sequence);
void uvzk__contender_absent(struct uvzk__contender *);

/* Like uvzk__contender_create_answered, for op i of a multi of `count` ops. czxid: of all
 * nodes that the multi created; 0 if it is not known yet. */
void uvzk__contender_create_op_answered(struct uvzk__contender *,
                                        const struct uvzk__reply *, size_t i,
                                        size_t count, int64_t czxid);

/* Sends the request that its node needs, or puts the contender on the list from which
 * that request is sent, unless nothing may be sent now. If the node needs no request,
 * arms the own watch of a revocable contender. The second function does this for all
 * contenders of the session. */
void uvzk__contender_pump(struct uvzk__contender *);
void uvzk__contenders_pump(struct uvzk__session *);

/* Its node, which is in BACKING_OFF or DELETING, sends no request for `ms` milliseconds.
 * Without memory for the timer the whole session pauses for 100 ms. */
void uvzk__contender_back_off(struct uvzk__contender *, uint64_t ms);

/* Makes it revocable: its own watch is always armed from now on. Returns 0 or
 * UV_ENOMEM. */
int uvzk__contender_make_revocable(struct uvzk__contender *);

/* Only for a revocable contender: records the mzxid of a revocation. Returns true if it is a
 * new one. */
bool uvzk__contender_record_revocation(struct uvzk__contender *, int64_t mzxid);

/* ------------------------------------------------------------ for this room alone */

/* The greatest size of a path in this directory. The session's budget counts this size
 * for each contender. */
size_t uvzk__contender_path_size(const struct uvzk__queue *);

/* The size that is allocated for the path of a contender whose name has this prefix, in a
 * directory of this kind. path_size: the greatest size there. */
size_t uvzk__contender_path_room(const struct uvzk__directory_kind *, size_t path_size,
                                 const char *name_prefix);

/* The UUID in its name: a pointer to the 36 characters in its path, which are not
 * terminated. Not for a contender with a fixed name. */
const char *uvzk__contender_uuid(const struct uvzk__contender *);

/* Like uvzk__contender_create_sent, but no listing is requested before the reply has
 * arrived: the number in the reply shows whether a listing is needed. */
void uvzk__contender_create_sent_unlisted(struct uvzk__contender *);

/* A create batch has created its node; the batch asks for the czxid of one of its nodes.
 * The second function: the answer to that (uvzk__node_identified). shown: the stamp of a
 * request that has shown the node; 0: none has. The contender may be freed when these
 * return. */
void uvzk__contender_create_batch_answered(struct uvzk__contender *, const char *path);
void uvzk__contender_identified(struct uvzk__contender *, int status, int64_t czxid,
                                bool ours, uint64_t shown);

/* Sets its own watch again in about a session timeout (watch.h). It must not be
 * backing off; if it backs off later, the renewal is dropped, because both share one
 * timer. False: out of memory, which cannot happen for a revocable contender. The second
 * function cancels the renewal. */
bool uvzk__contender_renew_watch_later(struct uvzk__contender *);
void uvzk__contender_cancel_watch_renewal(struct uvzk__contender *);

/* Ends a pause early: the contender is no longer wanted. */
void uvzk__contender_cancel_back_off(struct uvzk__contender *);

/* Submits the create of its node in a request of its own. If there is no memory, the
 * session pauses, and the contender is pumped again afterwards. */
void uvzk__contender_create(struct uvzk__contender *);

/* Logs that another client has deleted the contender's node. */
void uvzk__contender_log_deleted(const struct uvzk__contender *);

#endif
