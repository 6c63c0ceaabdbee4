/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes of the kernel. */
#ifndef UVZK_ENTROPY_H
#define UVZK_ENTROPY_H

#include <stddef.h>

/* Fills the bytes, without blocking. Returns 0, or a code of libuv if the kernel has none
 * (UV_EAGAIN early in its life); then some of the bytes may be set. */
int uvzk__entropy(void *bytes, size_t length);

#endif
