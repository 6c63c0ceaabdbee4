/* A resource that fencing tokens protect, shared by processes: a file with the
 * largest token it has seen. */
#ifndef FENCE_H
#define FENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Shows a token. false: refused, it is not larger than every one before, or the
 * file failed. Blocks while another process shows one. */
bool fence_present(const char *path, int64_t token);

#endif
