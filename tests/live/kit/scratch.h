/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory for one test, in memory (/dev/shm) if possible. The next test
 * removes the directory of a test that was killed. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stdbool.h>

struct scratch {
    char path[96];
    int lock; /* the locked file, while the directory is in use */
};

/* Creates the directory. Returns false, with a message on stderr, on an error. */
bool scratch_make(struct scratch *scratch);
/* Removes the directory with its contents. */
void scratch_remove(struct scratch *scratch);
/* Removes a directory with its contents. Does nothing if it does not exist. */
void scratch_remove_tree(const char *path);

#endif
