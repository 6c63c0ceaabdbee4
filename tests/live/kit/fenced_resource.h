/* A resource that fencing tokens protect, shared by processes: a file with the
 * largest token it has seen. */
#ifndef FENCED_RESOURCE_H
#define FENCED_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* Shows a token. false: refused, it is not larger than every one before, or the
 * file failed. Blocks while another process shows one. */
bool fenced_resource_accept(const char *path, int64_t token);

#endif
