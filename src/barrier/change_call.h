/* A call that makes one change to the tree (znode_write.h): a set or a remove. It cannot be
 * cancelled. A change that is made already is made, so a repeated request changes
 * nothing. */
#ifndef UVZK_CHANGE_CALL_H
#define UVZK_CHANGE_CALL_H

#include "barrier/barrier_call.h"

/* Begin a call that creates this persistent znode, with missing ancestors, or deletes it.
 * The path is copied, because a request may be under way after the call. Return 0 or
 * UV_ENOMEM. */
int uvzk__change_call_create(struct uvzk__session *, struct uvzk__link *calls,
                             const char *path, uvzk_req_t *, uvzk_req_cb);
int uvzk__change_call_delete(struct uvzk__session *, struct uvzk__link *calls,
                             const char *path, uvzk_req_t *, uvzk_req_cb);

/* No connection will come, or not soon: all calls of the list end with this code, whatever
 * they are. With UVZK_ENOTSENT a change that may have been made ends with
 * UVZK_ECONNLOSS. */
void uvzk__change_calls_unreachable(struct uvzk__link *calls, int code);

#endif
