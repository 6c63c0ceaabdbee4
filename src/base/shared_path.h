/* A path with a reference count, which several structs share: a lock, and the directory
 * that has its contenders. */
#ifndef UVZK_SHARED_PATH_H
#define UVZK_SHARED_PATH_H

#include <stdint.h>

struct uvzk__shared_path {
    uint32_t refs; /* the path is freed when it reaches 0 */
    uint32_t hash; /* uvzk__path_hash of the text */
    char text[];
};

/* Joins two paths as uvzk__path_join does. The result has one reference, which the caller
 * owns; NULL: out of memory. */
struct uvzk__shared_path *uvzk__shared_path_join(const char *parent, const char *child);

/* Adds a reference; drops a reference (NULL is allowed). */
struct uvzk__shared_path *uvzk__shared_path_ref(struct uvzk__shared_path *);
void uvzk__shared_path_unref(struct uvzk__shared_path *);

#endif
