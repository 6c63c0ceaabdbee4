/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes a request takes on the wire: what a server compares with its
 * jute.maxbuffer. A server that gets a longer request does not answer it, and closes the
 * connection. */
#ifndef UVZK_REQUEST_SIZE_H
#define UVZK_REQUEST_SIZE_H

#include "engine/port.h"

struct uvzk__session;

/* The longest request that a server with the default jute.maxbuffer accepts, without the
 * 4 bytes of its length. */
#define UVZK__REQUEST_MAX 1048575U

/* What a multi takes besides its ops. */
#define UVZK__MULTI_SIZE 17U

/* Returns the size of a request, and of one op of a multi, with the chroot that the port
 * puts before each path. */
size_t uvzk__request_size(const struct uvzk__session *, const struct uvzk__rpc *);
size_t uvzk__op_size(const struct uvzk__session *, const struct uvzk__op *);

/* Refuses a call whose request would be longer than UVZK__REQUEST_MAX: returns UV_EINVAL,
 * with a sentence that names the size, or 0. what: the part of the call that is too
 * long. */
int uvzk__refuse_size(const char *what, size_t size);

#endif
