/* SPDX-License-Identifier: Apache-2.0 */
/* Tells why the library refused a call or an acquire failed, in terms of the command
 * line. The library's own sentences name the fields of its structs. */
#ifndef REFUSAL_H
#define REFUSAL_H

#include "connection.h"

/* Returns uvzk_refusal's sentence, with the option that the user has given instead of the
 * field. Call it right after the refused call. The text is static. */
const char *refusal_text(const struct connection_options *, int status);

/* Returns uvzk_strerror's text; for UVZK_ENONODE it returns that the chroot does not exist,
 * with its name. Call it for a failed acquire, which creates every other znode that is
 * missing, or for a failed read of "/". The text is static. */
const char *refusal_of_chroot(const struct connection_options *, int status);

#endif
