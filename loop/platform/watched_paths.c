/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of paths with a count of uses (watched_paths.h). watch_table.c and
 * registration.c keep their watches in it. */
#include "platform/watched_paths.h"

#include <string.h>

#include "base/memory.h"

struct uvzk__watched_path *
uvzk__watched_path_find(const struct uvzk__watched_paths *paths, const char *text,
                        size_t length)
{
    struct uvzk__watched_path *path;

    HASH_FIND(hh, paths->by_text, text, length, path);
    return path;
}

static struct uvzk__watched_path *watched_paths_add(struct uvzk__watched_paths *paths,
                                                    const char *text, size_t length)
{
    struct uvzk__watched_path *path = uvzk__calloc(1, sizeof(*path) + length + 1);

    if (path == NULL) {
        return NULL;
    }
    memcpy(path->text, text, length);
    uvzk__list_init(&path->watches);
    HASH_ADD_KEYPTR(hh, paths->by_text, path->text, length, path);
    if (path->hh.tbl == NULL) {
        uvzk__free(path);
        return NULL;
    }
    return path;
}

struct uvzk__watched_path *uvzk__watched_path_use(struct uvzk__watched_paths *paths,
                                                  const char *text)
{
    size_t length = strlen(text);
    struct uvzk__watched_path *path = uvzk__watched_path_find(paths, text, length);

    if (path == NULL) {
        path = watched_paths_add(paths, text, length);
    }
    if (path != NULL) {
        path->uses++;
    }
    return path;
}

void uvzk__watched_path_leave(struct uvzk__watched_paths *paths,
                              struct uvzk__watched_path *path)
{
    path->uses--;
    if (path->uses == 0) {
        HASH_DELETE(hh, paths->by_text, path);
        uvzk__free(path);
    }
}
