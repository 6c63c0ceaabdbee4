/* A directory of the test's own, in memory where that can be had. What a killed
 * test could not remove, the next one does. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stdbool.h>

struct scratch {
    char path[96];
    int lock; /* held on a file inside while the directory is in use */
};

/* false: told on stderr. */
bool scratch_make(struct scratch *scratch);
/* With all that is in it. */
void scratch_remove(struct scratch *scratch);
/* Removes a directory with all that is in it; nothing if there is none. */
void scratch_remove_tree(const char *path);

#endif
