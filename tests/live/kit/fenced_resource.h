/* SPDX-License-Identifier: Apache-2.0 */
/* A resource that fencing tokens protect: a file that holds the largest token which it
 * has seen. Several processes share it. */
#ifndef FENCED_RESOURCE_H
#define FENCED_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* Shows a token to the resource. Returns false if the token is not larger than all before
 * it, or if the file cannot be used. Blocks while another process shows a token. */
bool fenced_resource_accept(const char *path, int64_t token);

#endif
