/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of a port by their paths. A path may have several, which are kept in the
 * order in which they came. */
#ifndef UVZK_WATCHED_PATHS_H
#define UVZK_WATCHED_PATHS_H

#include <stddef.h>

#include "base/list.h"
#include "base/table.h"

struct uvzk__watched_path {
    UT_hash_handle hh;
    struct uvzk__link watches; /* those of the port, each by a link of its own */
    size_t uses;
    char text[];
};

struct uvzk__watched_paths {
    struct uvzk__watched_path *by_text;
};

/* Returns the path with one more use; NULL: out of memory. The text is copied. */
struct uvzk__watched_path *uvzk__watched_path_use(struct uvzk__watched_paths *paths,
                                                  const char *text);
/* Adds a use, while its watches are freed. */
static inline void uvzk__watched_path_keep(struct uvzk__watched_path *path)
{
    path->uses++;
}
/* Removes a use. The path is freed with its last use. */
void uvzk__watched_path_leave(struct uvzk__watched_paths *paths,
                              struct uvzk__watched_path *path);
/* Returns NULL if this path is not in use. */
struct uvzk__watched_path *
uvzk__watched_path_find(const struct uvzk__watched_paths *paths, const char *text,
                        size_t length);

#endif
